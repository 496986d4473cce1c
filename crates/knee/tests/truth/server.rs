//! A server in the test's own process that can be slow in known ways and counts what it did.
//!
//! One thread a connection; understands requests without a body.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

/// How it serves.
#[derive(Clone, Copy)]
pub enum Pace {
    /// Each request takes so long, side by side.
    Each(Duration),
    /// One request after the other takes so long.
    InTurn(Duration),
    /// The same, and a request that finds so many others is turned away with 503.
    Sheds(Duration, u64),
}

/// What its threads share.
struct Shared {
    pace: Pace,
    /// Held for writing while it stands still.
    gate: RwLock<()>,
    turn: Mutex<()>,
    came: AtomicU64,
    /// Requests that are served or wait for their turn.
    present: AtomicU64,
    /// How long each answered request was held, from its head being read to its answer going out.
    held: Mutex<Vec<Duration>>,
}

/// The server. Its threads end with their connections.
pub struct Server {
    shared: Arc<Shared>,
    pub url: String,
}

impl Server {
    pub fn start(pace: Pace) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            pace,
            gate: RwLock::new(()),
            turn: Mutex::new(()),
            came: AtomicU64::new(0),
            present: AtomicU64::new(0),
            held: Mutex::new(Vec::new()),
        });
        let serving = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = serving.clone();
                thread::spawn(move || shared.serve(stream));
            }
        });
        Self { shared, url }
    }

    /// Stands still for `span` as soon as `count` requests have come; returns for how long it did.
    pub fn stand_still(&self, count: u64, span: Duration) -> Duration {
        while self.shared.came.load(Ordering::Relaxed) < count {
            thread::sleep(Duration::from_millis(1));
        }
        let still = self.shared.gate.write().unwrap_or_else(PoisonError::into_inner);
        let begun = Instant::now();
        thread::sleep(span);
        let stood = begun.elapsed();
        drop(still);
        stood
    }

    /// Requests that have come.
    pub fn came(&self) -> u64 {
        self.shared.came.load(Ordering::Relaxed)
    }

    /// How long each answered request was held, ascending.
    pub fn held(&self) -> Vec<Duration> {
        let mut held = self.shared.held.lock().unwrap().clone();
        held.sort_unstable();
        held
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) {
        let mut head = Vec::new();
        let mut buffer = [0; 1_024];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(count) => head.extend_from_slice(&buffer[..count]),
            }
            if !head.ends_with(b"\r\n\r\n") {
                continue;
            }
            head.clear();
            let begun = Instant::now();
            self.came.fetch_add(1, Ordering::Relaxed);
            let status = if self.works() { "200 OK" } else { "503 Service Unavailable" };
            self.held.lock().unwrap().push(begun.elapsed());
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\nok");
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }

    /// Works on a request, unless it is turned away.
    fn works(&self) -> bool {
        drop(self.gate.read().unwrap_or_else(PoisonError::into_inner));
        match self.pace {
            Pace::Each(span) => thread::sleep(span),
            Pace::InTurn(span) => self.in_turn(span),
            Pace::Sheds(span, room) => {
                let others = self.present.fetch_add(1, Ordering::Relaxed);
                if others < room {
                    self.in_turn(span);
                }
                self.present.fetch_sub(1, Ordering::Relaxed);
                return others < room;
            }
        }
        true
    }

    fn in_turn(&self, span: Duration) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        thread::sleep(span);
    }
}
