//! A server that answers correctly and remembers every request it saw.
//!
//! Speaks HTTP/1.1 over TCP, TLS and Unix sockets with a thread a connection. Uses no code of the
//! program under test.
//!
//! | path | answer |
//! |---|---|
//! | `/hang` | none, ever |
//! | `/after` | as soon as another connection has ended; 503 after some seconds |
//! | `/slow` | after a tenth of a second |
//! | `/moved` | 302 to `/` |
//! | `/away.js` | 302 to a place without TLS |
//! | `/module.js`, `/script.js` | a module of JavaScript, and one that imports it |
//! | `/strict.js` | the module, but 404 with a query |
//! | `/sorry` | 503 |
//! | any other | 200 and a few bytes |

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;

/// A request as it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Number of its connection, from 0.
    pub connection: u64,
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

#[derive(Default)]
struct Log {
    connections: AtomicU64,
    seen: Mutex<Vec<Seen>>,
    came: Condvar,
    /// Connections that have ended.
    ended: Mutex<usize>,
    one_ended: Condvar,
}

impl Log {
    /// Whether a connection ends within some seconds, or has ended.
    fn wait_for_an_end(&self) -> bool {
        let ended = self.ended.lock().unwrap();
        let limit = Duration::from_secs(5);
        let (_ended, waited) = self.one_ended.wait_timeout_while(ended, limit, |ended| *ended == 0).unwrap();
        !waited.timed_out()
    }
}

/// A server at work until the tests end.
pub struct Server {
    address: SocketAddr,
    log: Arc<Log>,
}

impl Server {
    /// Over TCP, on a free port of 127.0.0.1.
    pub fn start() -> Self {
        Self::over_tcp(|stream, log| converse(&mut BufReader::new(stream), log))
    }

    /// Over TLS.
    pub fn start_tls(config: Arc<rustls::ServerConfig>) -> Self {
        Self::over_tcp(move |stream, log| {
            let connection = rustls::ServerConnection::new(config.clone()).unwrap();
            converse(&mut BufReader::new(rustls::StreamOwned::new(connection, stream)), log);
        })
    }

    /// Over a Unix socket that appears at `path`.
    pub fn start_unix(path: &Path) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let log = Arc::new(Log::default());
        let shared = log.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, log) = (stream.unwrap(), shared.clone());
                thread::spawn(move || converse(&mut BufReader::new(stream), &log));
            }
        });
        Self { address: SocketAddr::from(([0; 4], 0)), log }
    }

    fn over_tcp(serve: impl Fn(std::net::TcpStream, &Log) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Log::default());
        let (shared, serve) = (log.clone(), Arc::new(serve));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, log, serve) = (stream.unwrap(), shared.clone(), serve.clone());
                stream.set_nodelay(true).unwrap();
                thread::spawn(move || serve(stream, &log));
            }
        });
        Self { address, log }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path on it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Every request so far, in the order in which they came.
    pub fn seen(&self) -> Vec<Seen> {
        self.log.seen.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.log.seen.lock().unwrap().len()
    }

    /// Connections on which a request came.
    pub fn connections(&self) -> usize {
        let mut numbers: Vec<u64> = self.seen().iter().map(|seen| seen.connection).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len()
    }

    /// Waits until `count` requests have come.
    pub fn wait_for(&self, count: usize) {
        let seen = self.log.seen.lock().unwrap();
        let limit = Duration::from_secs(60);
        let (_seen, waited) =
            self.log.came.wait_timeout_while(seen, limit, |seen| seen.len() < count).unwrap();
        assert!(!waited.timed_out(), "the requests never came");
    }
}

/// What a server at 127.0.0.1 proves itself with, in PEM.
pub struct Proof {
    pub authority: String,
    pub certificate: String,
    pub key: String,
}

impl Proof {
    pub fn new() -> Self {
        let (authority, certificate, key) = signed();
        Self { authority, certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// An authority, as PEM, and a certificate for 127.0.0.1 that it signed.
fn signed() -> (String, rcgen::Certificate, KeyPair) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let names = ["127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    (authority.pem(), certificate, key)
}

/// The authority, as PEM, of a server that is 127.0.0.1, and what that server proves it with.
pub fn identity() -> (String, Arc<rustls::ServerConfig>) {
    let (authority, certificate, key) = signed();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    (authority, Arc::new(config))
}

/// Answers the requests of one connection until its end.
fn converse<S: Read + Write>(stream: &mut BufReader<S>, log: &Log) {
    answer_all(stream, log);
    *log.ended.lock().unwrap() += 1;
    log.one_ended.notify_all();
}

fn answer_all<S: Read + Write>(stream: &mut BufReader<S>, log: &Log) {
    // A connection without a request, as the knock at the door is, gets no number.
    let mut number = None;
    while let Some(mut seen) = read_request(stream) {
        seen.connection = *number.get_or_insert_with(|| log.connections.fetch_add(1, Ordering::Relaxed));
        let path = seen.path.clone();
        log.seen.lock().unwrap().push(seen);
        log.came.notify_all();
        // What stands behind the path says who asks for a module.
        let answer: &[u8] = match path.strip_suffix("?_k6=1").unwrap_or(&path) {
            "/hang" => {
                // Until the other side gives up.
                let _ = stream.read(&mut [0]);
                return;
            }
            "/slow" => {
                thread::sleep(Duration::from_millis(100));
                b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nslow"
            }
            "/moved" => b"HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n",
            "/module.js" => {
                b"HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\nexport default 'a text from the network'"
            }
            "/strict.js" if path.contains('?') => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            "/strict.js" => b"HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\nexport default 'a text from the network'",
            "/script.js" => b"HTTP/1.1 200 OK\r\ncontent-length: 71\r\n\r\nimport text from './module.js'; console.log(text); export default text;",
            "/away.js" => b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n",
            "/after" if log.wait_for_an_end() => b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nafter",
            "/sorry" | "/after" => b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 5\r\n\r\nsorry",
            _ => b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        };
        if stream.get_mut().write_all(answer).and_then(|()| stream.get_mut().flush()).is_err() {
            return;
        }
    }
}

/// The next request, or nothing at the end of the connection.
fn read_request(stream: &mut impl BufRead) -> Option<Seen> {
    let mut line = || {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|length| *length > 0)?;
        Some(line.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let line = line()?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut seen = Seen { connection: 0, method, path, headers, body: Vec::new() };
    let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    seen.body = vec![0; length];
    stream.read_exact(&mut seen.body).ok()?;
    Some(seen)
}
