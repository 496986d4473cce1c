//! Pages for the browsers of this machine: HTTP/1.1 on threads of its own, read-only.
//!
//! A connection carries one request. A thread per connection waits, writes and blocks by itself, so that a browser that
//! reads slowly delays nothing else. Every request must come from a tab of the page and carry its token. Does not know
//! what is shown; a [`Site`] does.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use knee_core::clock::MonotonicClock;

pub mod answer;

mod guard;

mod places;

mod protection;

mod refusal;

mod request;

mod token;

pub use answer::Answer;
use guard::Guesses;
use places::{Place, Places};
pub use protection::{COMMON, Policy};
pub use refusal::Refusal;
pub use request::Request;
#[cfg(test)]
pub use request::of as request_of;
use token::Token;

/// Longest that a request can take to arrive.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Longest that a write can wait for a reader that takes nothing.
pub const WRITE_TIME: Duration = Duration::from_secs(10);
/// Memory of a connection's thread, which can lay out a whole result.
const STACK: usize = 2 << 20;

/// What a server shows.
pub trait Site: Send + Sync + 'static {
    /// Answers a request that was admitted. `pass` is what the page gives to its own tabs.
    ///
    /// # Errors
    ///
    /// When the browser is gone or does not read.
    fn respond(&self, request: &Request, pass: &Pass, stream: &TcpStream) -> io::Result<()>;
}

/// What a tab needs to be admitted again: the token, in a cookie that is named after the port.
#[derive(Debug)]
pub struct Pass {
    token: Token,
    port: u16,
}

impl Pass {
    /// The header that sets the cookie. The browser forgets it when it closes, and scripts cannot read it.
    pub fn cookie(&self) -> String {
        let name = guard::cookie_name(self.port);
        format!("set-cookie: {name}={}; Path=/; HttpOnly; SameSite=Strict\r\n", self.token.text())
    }

    /// A pass that no server accepts.
    #[cfg(test)]
    pub fn of_no_page() -> Self {
        Self { token: Token::new().unwrap(), port: 4711 }
    }
}

/// A site that is served until the process ends.
#[derive(Debug)]
pub struct Server<S>(Arc<Served<S>>);

#[derive(Debug)]
struct Served<S> {
    site: S,
    address: SocketAddr,
    pass: Pass,
    guesses: Mutex<Guesses>,
    clock: MonotonicClock,
    write_time: Duration,
    places: Arc<Places>,
}

impl<S: Site> Server<S> {
    /// Serves `site` on `listen`; port 0 is a free port. A write waits for `write_time` at most.
    ///
    /// # Errors
    ///
    /// When the address is taken or not of this machine.
    pub fn start(listen: SocketAddr, site: S, write_time: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let served = Arc::new(Served {
            site,
            address,
            pass: Pass { token: Token::new()?, port: address.port() },
            guesses: Mutex::default(),
            clock: MonotonicClock::start(),
            write_time,
            places: Arc::default(),
        });
        let shared = served.clone();
        thread::Builder::new().name("web".to_owned()).spawn(move || accept(&listener, &shared))?;
        Ok(Self(served))
    }

    /// What is served.
    pub fn site(&self) -> &S {
        &self.0.site
    }

    /// The URL for a browser on this machine, with the token.
    pub fn url(&self) -> String {
        let mut address = self.0.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        format!("http://{address}/?token={}", self.0.pass.token.text())
    }
}

/// Takes connections for as long as the process lives.
fn accept<S: Site>(listener: &TcpListener, served: &Arc<Served<S>>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Out of descriptors, for example: the next attempt can work.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let stream = Arc::new(stream);
        let Some(mut place) = served.places.take(&stream) else { continue };
        let served = served.clone();
        let thread = thread::Builder::new().name("web-connection".to_owned()).stack_size(STACK);
        // Without a thread the connection closes; a browser tries again.
        let _ = thread.spawn(move || converse(&stream, &served, &mut place));
    }
}

impl<S> Served<S> {
    /// Whether the request can be answered: its host, its origin, its method, its token, in this order.
    fn admit(&self, request: &Request, local: SocketAddr) -> Result<(), Refusal> {
        guard::check(request, local)?;
        if guard::has_token(request, &self.pass.token, self.pass.port) {
            return Ok(());
        }
        let mut guesses = self.guesses.lock().unwrap_or_else(PoisonError::into_inner);
        Err(guesses.refuse(self.clock.now()))
    }
}

/// Answers the one request of a connection. Errors of the connection mean that the browser is gone.
fn converse<S: Site>(stream: &TcpStream, served: &Served<S>, place: &mut Place) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_write_timeout(Some(served.write_time));
    let Ok(local) = stream.local_addr() else { return };
    let request = request::read(stream, REQUEST_TIME);
    let _ = match request.and_then(|request| served.admit(&request, local).map(|()| request)) {
        Ok(request) if place.keep() => served.site.respond(&request, &served.pass, stream),
        Ok(_) | Err(Refusal::Closed) => Ok(()),
        Err(refusal) => Answer::refusal(refusal).write(stream, false),
    };
    leave(stream);
}

/// Closes the connection so that the answer arrives: a socket with unread bytes would be reset.
fn leave(mut stream: &TcpStream) {
    const MOST: usize = 64;
    let mut rest = [0; 1_024];
    if stream.shutdown(Shutdown::Write).is_err()
        || stream.set_read_timeout(Some(Duration::from_millis(100))).is_err()
    {
        return;
    }
    for _ in 0..MOST {
        if !matches!(stream.read(&mut rest), Ok(1..)) {
            return;
        }
    }
}

#[cfg(test)]
impl<S: Site> Server<S> {
    /// Sends a request with the token.
    pub fn ask(&self, target: &str, patience: Duration) -> TcpStream {
        let (address, token) = (self.0.address, self.0.pass.token.text());
        self.send(
            &format!("GET {target} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n"),
            patience,
        )
    }

    /// Sends some bytes over a new connection.
    pub fn send(&self, text: &str, patience: Duration) -> TcpStream {
        use std::io::Write;
        let mut stream = TcpStream::connect(self.0.address).unwrap();
        stream.set_read_timeout(Some(patience)).unwrap();
        // A server that refuses can close before it has everything.
        let _ = stream.write_all(text.as_bytes());
        stream
    }
}

#[cfg(test)]
mod tests;
