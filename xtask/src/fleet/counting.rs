//! A server that notes each request: when it came, from whom, and for what. It answers after a fixed time.
//!
//! Uses no code of the product.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

/// A request that came.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// When.
    pub at: Instant,
    /// From whom.
    pub from: IpAddr,
    /// For what.
    pub path: String,
}

/// A server until the process ends.
pub(super) struct Counting {
    /// Where it listens.
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Counting {
    /// Listens at `address`, and answers `delay` after each request.
    pub(super) fn start(address: IpAddr, delay: Duration) -> Result<Self> {
        let listener = TcpListener::bind((address, 0))?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let notes = seen.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let notes = notes.clone();
                thread::spawn(move || {
                    // A connection that breaks has been counted up to there.
                    let _ = serve(stream, delay, &notes);
                });
            }
        });
        Ok(Self { address, seen })
    }

    fn with<T>(&self, look: impl FnOnce(&mut Vec<Seen>) -> T) -> T {
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Requests so far.
    pub(super) fn count(&self) -> u64 {
        self.with(|seen| seen.len() as u64)
    }

    /// Requests so far from `from`.
    pub(super) fn count_from(&self, from: IpAddr) -> u64 {
        self.with(|seen| seen.iter().filter(|one| one.from == from).count() as u64)
    }

    /// All requests so far.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.with(|seen| seen.clone())
    }

    /// How often each path that begins with `start` was asked for.
    pub(super) fn paths(&self, start: &str) -> BTreeMap<String, u64> {
        let mut paths = BTreeMap::new();
        for one in self.seen() {
            if one.path.starts_with(start) {
                *paths.entry(one.path).or_default() += 1;
            }
        }
        paths
    }

    /// Forgets all requests.
    pub(super) fn forget(&self) {
        self.with(Vec::clear);
    }
}

fn serve(stream: TcpStream, delay: Duration, notes: &Mutex<Vec<Seen>>) -> Result<()> {
    stream.set_nodelay(true)?;
    let from = stream.peer_addr()?.ip();
    let mut to = stream.try_clone()?;
    let mut lines = BufReader::new(stream);
    let (mut line, mut path) = (String::new(), String::new());
    loop {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if path.is_empty() {
            line.split(' ').nth(1).unwrap_or_default().clone_into(&mut path);
        }
        // The empty line ends the head; the requests of the trials have no body.
        if line == "\r\n" {
            let at = Instant::now();
            let one = Seen { at, from, path: std::mem::take(&mut path) };
            notes.lock().unwrap_or_else(PoisonError::into_inner).push(one);
            thread::sleep(delay.saturating_sub(at.elapsed()));
            to.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
    }
}
