//! A server of a test: keeps what it gets, and answers when and as the test says. Understands no more of HTTP than that.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// Longest time that a test waits for a request.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its first line.
    pub line: String,
    /// Its other lines, in small letters.
    pub headers: String,
    /// Its body.
    pub body: Vec<u8>,
}

#[derive(Default)]
struct State {
    requests: Vec<Request>,
    is_open: bool,
}

/// The server.
#[derive(Clone)]
pub struct TestServer {
    /// Host and port.
    pub address: String,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl TestServer {
    /// A server that answers every request with this status and body.
    pub fn start(status: u16, body: &'static str) -> Self {
        let server = Self::holding("none", status, body);
        server.open();
        server
    }

    /// A server that answers requests of paths that contain `held` only after [`TestServer::open`].
    pub fn holding(held: &'static str, status: u16, body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = Self { address, state: Arc::default() };
        let taken = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let taken = taken.clone();
                thread::spawn(move || taken.take(stream, held, status, body));
            }
        });
        server
    }

    /// Answers the requests that were held, and does not hold further ones.
    pub fn open(&self) {
        self.state.0.lock().unwrap().is_open = true;
        self.state.1.notify_all();
    }

    /// The requests of paths that contain `part`, as soon as there are `count` of them.
    pub fn requests(&self, part: &str, count: usize) -> Vec<Request> {
        let found = |state: &State| -> Vec<Request> {
            state.requests.iter().filter(|request| request.line.contains(part)).cloned().collect()
        };
        let (lock, change) = &*self.state;
        let state = lock.lock().unwrap();
        let (state, waited) =
            change.wait_timeout_while(state, WAIT_MAX, |state| found(state).len() < count).unwrap();
        assert!(!waited.timed_out(), "{} of {count} requests came", found(&state).len());
        found(&state)
    }

    fn take(&self, mut stream: TcpStream, held: &str, status: u16, body: &str) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some(request) = read(&mut reader) {
            let is_held = request.line.contains(held);
            let (lock, change) = &*self.state;
            lock.lock().unwrap().requests.push(request);
            change.notify_all();
            drop(change.wait_while(lock.lock().unwrap(), |state| is_held && !state.is_open).unwrap());
            let _ = write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        }
    }
}

/// The next request; `None` if there is none.
fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return None;
    }
    let (mut headers, mut length) = (String::new(), 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.to_ascii_lowercase();
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        headers.push_str(&header);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { line, headers, body })
}
