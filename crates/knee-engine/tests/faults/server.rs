//! A server for tests that responds by a script, well or badly, and counts what it receives.
//!
//! One thread accepts, one thread serves each connection. Kept simple, so that its behaviour is
//! certain. Knows nothing of the engine.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use rustls::{ServerConnection, StreamOwned};
use socket2::SockRef;

use crate::behaviour::{After, Behaviour};
use crate::identity::Greeting;

/// Maximum wait for anything; enough for a busy machine.
pub const WATCHDOG: Duration = Duration::from_secs(90);

/// A request as received.
#[derive(Clone, Debug)]
pub struct Request {
    /// Number of its connection, from 0, in order of acceptance.
    pub connection: u64,
    /// Its index on the connection, from 0.
    pub place: u64,
    /// The head with its empty line.
    pub head: String,
    /// The body as far as it was read.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Method and target.
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1")
    }
}

/// What a server received.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Connections accepted.
    pub connections: u64,
    /// Connections that are open.
    pub open: u64,
    /// Requests in the order in which their heads were complete.
    pub requests: Vec<Request>,
    /// Reads with data on a connection that the client should have closed.
    pub after_fault: u64,
    /// Common names in the clients' certificates.
    pub clients: Vec<String>,
}

/// The behaviour for each request.
pub type Script = dyn Fn(&Request) -> Behaviour + Send + Sync;

/// The greeting of each connection by its number.
pub type Greet = dyn Fn(u64) -> Greeting + Send + Sync;

/// A running server.
pub struct Server {
    /// Its address, unless it is a Unix socket.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    script: Box<Script>,
    greet: Box<Greet>,
    seen: Mutex<Seen>,
    changed: Condvar,
}

impl Server {
    /// A plain server on a free port of 127.0.0.1.
    pub fn start(script: impl Fn(&Request) -> Behaviour + Send + Sync + 'static) -> Self {
        Self::greeting(|_| Greeting::Plain, script)
    }

    /// A server that greets connections by `greet`.
    pub fn greeting(
        greet: impl Fn(u64) -> Greeting + Send + Sync + 'static,
        script: impl Fn(&Request) -> Behaviour + Send + Sync + 'static,
    ) -> Self {
        Self::at("127.0.0.1:0", greet, script).expect("loopback has a free port")
    }

    /// A server on a given address.
    pub fn at(
        address: &str,
        greet: impl Fn(u64) -> Greeting + Send + Sync + 'static,
        script: impl Fn(&Request) -> Behaviour + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let shared = Shared::new(greet, script);
        let accepting = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A response must not wait for the acknowledgement of an earlier one.
                let _ = stream.set_nodelay(true);
                accepting.clone().accept(Link::Plain(stream));
            }
        });
        Ok(Self { address, shared })
    }

    /// A server on a Unix socket.
    pub fn unix(path: &Path, script: impl Fn(&Request) -> Behaviour + Send + Sync + 'static) -> Self {
        let listener = UnixListener::bind(path).expect("the directory of the test can be written");
        let shared = Shared::new(|_| Greeting::Plain, script);
        let accepting = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                accepting.clone().accept(Link::Unix(stream));
            }
        });
        Self { address: ([0, 0, 0, 0], 0).into(), shared }
    }

    /// Its plain URL with `path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Its TLS URL with `path`.
    pub fn secure_url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// Waits until `wanted` is true of what it received.
    pub fn wait(&self, what: &str, wanted: impl Fn(&Seen) -> bool) -> Seen {
        let seen = self.shared.seen.lock().unwrap();
        let (seen, timeout) =
            self.shared.changed.wait_timeout_while(seen, WATCHDOG, |seen| !wanted(seen)).unwrap();
        assert!(!timeout.timed_out(), "waited in vain until {what}: {seen:?}");
        seen.clone()
    }

    /// Waits until every connection is closed; returns what it received.
    pub fn all_closed(&self) -> Seen {
        self.wait("all connections are closed", |seen| seen.open == 0)
    }
}

impl Shared {
    fn new(
        greet: impl Fn(u64) -> Greeting + Send + Sync + 'static,
        script: impl Fn(&Request) -> Behaviour + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            script: Box::new(script),
            greet: Box::new(greet),
            seen: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn note<R>(&self, change: impl FnOnce(&mut Seen) -> R) -> R {
        let result = change(&mut self.seen.lock().unwrap());
        self.changed.notify_all();
        result
    }

    fn accept(self: Arc<Self>, link: Link) {
        let number = self.note(|seen| {
            seen.connections += 1;
            seen.open += 1;
            seen.connections - 1
        });
        thread::spawn(move || {
            // Errors are expected: clients hang up in the middle.
            let _ = self.serve(number, link);
            self.note(|seen| seen.open -= 1);
        });
    }

    fn serve(&self, number: u64, link: Link) -> io::Result<()> {
        let Some(mut link) = (self.greet)(number).open(link)? else { return Ok(()) };
        if let Some(name) = link.client_name() {
            self.note(|seen| seen.clients.push(name));
        }
        let mut inbox = Vec::new();
        for place in 0.. {
            let Some(head) = read_head(&mut link, &mut inbox)? else { return Ok(()) };
            let mut request = Request { connection: number, place, head, body: Vec::new() };
            let behaviour = (self.script)(&request);
            if !behaviour.is_early() {
                let length = request.header("content-length").and_then(|value| value.parse().ok());
                request.body = read_body(&mut link, &mut inbox, length.unwrap_or(0))?;
            }
            self.note(|seen| seen.requests.push(request.clone()));
            match behaviour.act(&mut link, &request)? {
                After::Keep => {}
                After::Hold => return self.hold(link),
                After::Unread(until) => {
                    self.wait_for(until);
                    return self.hold(link);
                }
                After::Close => return link.close(),
                After::HalfClose => {
                    link.close_half()?;
                    return self.hold(link);
                }
                After::Cut => return Ok(()),
                After::Reset => return link.reset(),
            }
        }
        Ok(())
    }

    /// Waits until so many requests were received, without reading: the client must keep or drop the rest of its
    /// request.
    fn wait_for(&self, requests: usize) {
        let seen = self.seen.lock().unwrap();
        let too_few = |seen: &mut Seen| seen.requests.len() < requests;
        drop(self.changed.wait_timeout_while(seen, WATCHDOG, too_few).unwrap());
    }

    /// Waits for the client to close; counts reads with data.
    fn hold(&self, mut link: Link) -> io::Result<()> {
        let mut buffer = [0; 16_384];
        while link.read(&mut buffer)? > 0 {
            self.note(|seen| seen.after_fault += 1);
        }
        Ok(())
    }
}

/// Reads up to the empty line; `None` if the client closed before the first byte.
fn read_head(link: &mut Link, inbox: &mut Vec<u8>) -> io::Result<Option<String>> {
    loop {
        if let Some(end) = inbox.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = inbox.split_off(end + 4);
            let head = std::mem::replace(inbox, rest);
            return Ok(Some(String::from_utf8_lossy(&head).into_owned()));
        }
        let mut buffer = [0; 16_384];
        match link.read(&mut buffer)? {
            0 => return Ok(None),
            count => inbox.extend_from_slice(&buffer[..count]),
        }
    }
}

fn read_body(link: &mut Link, inbox: &mut Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    while inbox.len() < length {
        let mut buffer = [0; 16_384];
        match link.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => inbox.extend_from_slice(&buffer[..count]),
        }
    }
    let rest = inbox.split_off(length);
    Ok(std::mem::replace(inbox, rest))
}

/// The server's end of a connection.
pub enum Link {
    Plain(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Link {
    /// The underlying TCP stream.
    pub fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref(),
            Self::Unix(_) => panic!("a Unix socket has no TCP stream"),
        }
    }

    /// Closes the connection properly.
    fn close(self) -> io::Result<()> {
        if let Self::Tls(mut stream) = self {
            stream.conn.send_close_notify();
            stream.flush()?;
        }
        Ok(())
    }

    /// Ends what is sent; the client can still send.
    fn close_half(&mut self) -> io::Result<()> {
        if let Self::Tls(stream) = self {
            stream.conn.send_close_notify();
            stream.flush()?;
        }
        self.tcp().shutdown(Shutdown::Write)
    }

    /// Ends the connection with a reset.
    pub fn reset(self) -> io::Result<()> {
        // Closing a socket with a linger time of zero sends a reset.
        SockRef::from(self.tcp()).set_linger(Some(Duration::ZERO))
    }

    /// Sends a fatal TLS alert, as a server does that cannot decrypt what it received.
    pub fn alert(&mut self) -> io::Result<()> {
        let Self::Tls(stream) = self else { panic!("alerts are part of TLS") };
        // A record that this session did not encrypt.
        let mut record: &[u8] = b"\x17\x03\x03\x00\x20this is not encrypted, in 32 bytes";
        stream.conn.read_tls(&mut record)?;
        assert!(stream.conn.process_new_packets().is_err());
        while stream.conn.wants_write() {
            stream.conn.write_tls(&mut stream.sock)?;
        }
        Ok(())
    }

    fn client_name(&self) -> Option<String> {
        let Self::Tls(stream) = self else { return None };
        let certificate = stream.conn.peer_certificates()?.first()?;
        // The name is a printable string within the DER; its letters are enough to find it.
        Some(certificate.iter().map(|byte| char::from(*byte)).filter(char::is_ascii_graphic).collect())
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
            Self::Tls(stream) => match stream.read(buffer) {
                // A client can close without a TLS closure alert.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                result => result,
            },
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
