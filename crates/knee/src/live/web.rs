//! The server of the live page: HTTP/1.1 on threads of its own, read-only.
//!
//! A connection carries one request. A thread per connection waits, writes and blocks by itself, so that a browser that
//! reads slowly delays nothing else. Nothing here can slow the engine, which does not wait for the feed. Does not fold
//! events and does not decide what the page shows.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use knee_core::clock::MonotonicClock;

use super::feed::Feed;

mod answer;

mod guard;

mod protection;

mod refusal;

mod request;

mod state;

mod stream;

mod token;

use answer::Answer;
use guard::Guesses;
use refusal::Refusal;
use request::Request;
use token::Token;

/// Longest that a request can take to arrive.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Longest that a write can wait for a reader that takes nothing.
const WRITE_TIME: Duration = Duration::from_secs(10);
/// Longest that the end of the program waits for the last figures to be sent.
const CLOSE_TIME: Duration = Duration::from_secs(1);
/// Most connections at a time; further ones are closed at once.
const CONNECTIONS_MAX: usize = 48;
/// Most watchers at a time.
const WATCHERS_MAX: usize = 16;
/// Bytes that the system keeps for a watcher that does not read.
const SEND_BUFFER: usize = 64 * 1_024;
/// Memory of a connection's thread.
const STACK: usize = 512 * 1_024;

/// A page that is served until the process ends.
#[derive(Debug)]
pub struct Server(Arc<Served>);

#[derive(Debug)]
struct Served {
    feed: Feed,
    /// The command whose load is shown.
    command: &'static str,
    address: SocketAddr,
    token: Token,
    guesses: Mutex<Guesses>,
    clock: MonotonicClock,
    write_time: Duration,
    open: Mutex<Open>,
    one_left: Condvar,
}

/// Connections, and how many of them are watchers.
#[derive(Debug, Default)]
struct Open {
    connections: usize,
    watchers: usize,
}

impl Server {
    /// Serves what `feed` knows on `listen`; port 0 is a free port.
    ///
    /// # Errors
    ///
    /// When the address is taken or not of this machine.
    pub fn start(listen: SocketAddr, command: &'static str, feed: Feed) -> io::Result<Self> {
        Self::start_with(listen, command, feed, WRITE_TIME)
    }

    fn start_with(
        listen: SocketAddr,
        command: &'static str,
        feed: Feed,
        write_time: Duration,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let served = Arc::new(Served {
            feed,
            command,
            address: listener.local_addr()?,
            token: Token::new()?,
            guesses: Mutex::default(),
            clock: MonotonicClock::start(),
            write_time,
            open: Mutex::default(),
            one_left: Condvar::new(),
        });
        let shared = served.clone();
        thread::Builder::new().name("web".to_owned()).spawn(move || accept(&listener, &shared))?;
        Ok(Self(served))
    }

    /// What is shown.
    pub fn feed(&self) -> Feed {
        self.0.feed.clone()
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
        format!("http://{address}/?token={}", self.0.token.text())
    }

    /// Sends the last figures to the watchers, and waits a second for that at most.
    pub fn close(&self) {
        self.0.feed.close();
        let waits = |open: &mut Open| open.watchers > 0;
        // Whether all of them are gone or not, the program ends now.
        drop(self.0.one_left.wait_timeout_while(self.0.lock(), CLOSE_TIME, waits));
    }
}

/// Takes connections for as long as the process lives.
fn accept(listener: &TcpListener, served: &Arc<Served>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Out of descriptors, for example: the next attempt can work.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let Some(place) = Place::take(served) else { continue };
        let thread = thread::Builder::new().name("web-connection".to_owned()).stack_size(STACK);
        // Without a thread the connection closes; a browser tries again.
        let _ = thread.spawn(move || converse(&stream, &place.0));
    }
}

/// A place among the connections; free again when this is dropped.
struct Place(Arc<Served>);

impl Place {
    fn take(served: &Arc<Served>) -> Option<Self> {
        let mut open = served.lock();
        if open.connections >= CONNECTIONS_MAX {
            return None;
        }
        open.connections += 1;
        Some(Self(served.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.lock().connections -= 1;
    }
}

/// A place among the watchers.
struct Watcher<'a>(&'a Served);

impl<'a> Watcher<'a> {
    fn take(served: &'a Served) -> Result<Self, Refusal> {
        let mut open = served.lock();
        if open.watchers >= WATCHERS_MAX {
            return Err(Refusal::Full);
        }
        open.watchers += 1;
        Ok(Self(served))
    }
}

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        self.0.lock().watchers -= 1;
        self.0.one_left.notify_all();
    }
}

impl Served {
    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        // Counters cannot be half changed.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the request can be answered: its host, its origin, its method, its token, in this order.
    fn admit(&self, request: &Request, local: SocketAddr) -> Result<(), Refusal> {
        guard::check(request, local)?;
        if guard::has_token(request, &self.token, self.address.port()) {
            return Ok(());
        }
        let mut guesses = self.guesses.lock().unwrap_or_else(PoisonError::into_inner);
        Err(guesses.refuse(self.clock.now()))
    }

    fn state(&self) -> String {
        let state = state::of(&self.feed.read(), self.command, 0, self.feed.now());
        state.to_string()
    }
}

/// Answers the one request of a connection. Errors of the connection mean that the browser is gone.
fn converse(stream: &TcpStream, served: &Served) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_write_timeout(Some(served.write_time));
    let Ok(local) = stream.local_addr() else { return };
    let request = request::read(stream, REQUEST_TIME);
    let _ = match request.and_then(|request| served.admit(&request, local).map(|()| request)) {
        Ok(request) if request.path == "/api/events" && !request.is_head => watch(stream, served),
        Ok(request) => {
            let answer = answer::of(&request, &served.token, served.address.port(), || served.state());
            answer.write(stream, request.is_head)
        }
        Err(Refusal::Closed) => Ok(()),
        Err(refusal) => Answer::refusal(refusal).write(stream, false),
    };
    leave(stream);
}

fn watch(stream: &TcpStream, served: &Served) -> io::Result<()> {
    match Watcher::take(served) {
        Ok(_place) => {
            rustix::net::sockopt::set_socket_send_buffer_size(stream, SEND_BUFFER)?;
            stream::send(stream, &served.feed, served.command)
        }
        Err(refusal) => Answer::refusal(refusal).write(stream, false),
    }
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
mod tests;
