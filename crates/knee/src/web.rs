//! Pages for the browsers of this machine: HTTP/1.1 on threads of its own. They only read, unless they were opened with
//! a second token.
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
pub use request::{form as form_of, of as request_of};
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

    /// Whether a form can be sent to this path. It must bring the token that controls.
    fn takes_forms(&self, path: &str) -> bool {
        let _ = path;
        false
    }
}

/// The field of a form with the token that controls.
pub const CONTROL: &str = "control";

/// How a site is served.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Longest that a write waits for a reader that takes nothing.
    pub write_time: Duration,
    /// Whether a second token allows its owner to control something.
    pub control: bool,
}

impl Terms {
    /// A site that changes nothing.
    pub const READING: Self = Self { write_time: WRITE_TIME, control: false };
}

/// What a tab needs to be admitted again: the token, in a cookie that is named after the port.
#[derive(Debug)]
pub struct Pass {
    token: Token,
    /// What a form must bring; `None` if nothing can be controlled.
    control: Option<Token>,
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
        Self { token: Token::new().unwrap(), control: None, port: 4711 }
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
    terms: Terms,
    places: Arc<Places>,
}

impl<S: Site> Server<S> {
    /// Serves `site` on `listen`; port 0 is a free port.
    ///
    /// # Errors
    ///
    /// When the address is taken or not of this machine.
    pub fn start(listen: SocketAddr, site: S, terms: Terms) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let served = Arc::new(Served {
            site,
            address,
            pass: Pass {
                token: Token::new()?,
                control: terms.control.then(Token::new).transpose()?,
                port: address.port(),
            },
            guesses: Mutex::default(),
            clock: MonotonicClock::start(),
            terms,
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

    /// What a URL of the owner appends to control something; `None` if nothing can be controlled.
    pub fn control(&self) -> Option<String> {
        self.0.pass.control.as_ref().map(|token| format!("{CONTROL}={}", token.text()))
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

impl<S: Site> Served<S> {
    /// Whether the request can be answered: its host, its origin, its method, its token, in this order.
    fn admit(&self, request: &Request, local: SocketAddr) -> Result<(), Refusal> {
        guard::check(request, local, self.pass.control.is_some() && self.site.takes_forms(&request.path))?;
        if guard::has_token(request, &self.pass.token, self.pass.port) {
            return Ok(());
        }
        Err(self.guessed(Refusal::Token))
    }

    /// Reads the form of an admitted request, which must bring the token that controls.
    fn admit_form(&self, request: &mut Request, stream: &TcpStream) -> Result<(), Refusal> {
        request::read_form(request, stream, REQUEST_TIME)?;
        let given = request.field(CONTROL).unwrap_or_default();
        if self.pass.control.as_ref().is_some_and(|token| token.is(&given)) {
            return Ok(());
        }
        Err(self.guessed(Refusal::Control))
    }

    /// `refusal`, or that there were too many of them.
    fn guessed(&self, refusal: Refusal) -> Refusal {
        let mut guesses = self.guesses.lock().unwrap_or_else(PoisonError::into_inner);
        guesses.refuse(refusal, self.clock.now())
    }
}

/// Answers the one request of a connection. Errors of the connection mean that the browser is gone.
fn converse<S: Site>(stream: &TcpStream, served: &Served<S>, place: &mut Place) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_write_timeout(Some(served.terms.write_time));
    let Ok(local) = stream.local_addr() else { return };
    let admitted = request::read(stream, REQUEST_TIME).and_then(|mut request| {
        served.admit(&request, local)?;
        if request.is_form() {
            served.admit_form(&mut request, stream)?;
        }
        Ok(request)
    });
    let _ = match admitted {
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
