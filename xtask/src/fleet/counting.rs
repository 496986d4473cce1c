//! A server that counts requests by their path, and answers at once.
//!
//! Uses no code of the product.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::Result;

/// A server until the process ends.
pub(super) struct Counting {
    /// Where it listens.
    pub address: SocketAddr,
    count: Arc<AtomicU64>,
}

impl Counting {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let count = Arc::new(AtomicU64::new(0));
        let counter = count.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let counter = counter.clone();
                thread::spawn(move || {
                    // A connection that breaks has been counted up to there.
                    let _ = serve(stream, &counter);
                });
            }
        });
        Ok(Self { address, count })
    }

    /// Requests so far.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }
}

fn serve(stream: TcpStream, counter: &AtomicU64) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut to = stream.try_clone()?;
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            return Ok(());
        }
        // The empty line ends the head; the requests of the trials have no body.
        if line == "\r\n" {
            counter.fetch_add(1, Ordering::SeqCst);
            to.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
    }
}
