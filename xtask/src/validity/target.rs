//! The service that the trials load: a thread per connection, a fixed time per response.
//!
//! Ordinary on purpose: it blocks, sleeps and wakes as services do. Understands just enough of
//! HTTP/1.1 for requests without a body. Ends with its standard input.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\r\nok\n";

/// Serves at `address` until standard input ends; prints the port, padded to five places.
pub fn serve(address: &str, millis: u64) -> Result<()> {
    let listener = TcpListener::bind((address, 0)).context("the target cannot listen")?;
    println!("{:>5}", listener.local_addr()?.port());
    std::io::stdout().flush()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream, Duration::from_millis(millis)));
        }
    });
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    Ok(())
}

/// Answers every request of a connection; a connection that breaks is over.
fn answer(mut stream: TcpStream, span: Duration) {
    let _ = stream.set_nodelay(true);
    let (mut head, mut bytes) = (Vec::new(), [0; 4_096]);
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        head.extend_from_slice(&bytes[..count]);
        while let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            head.drain(..end + 4);
            if !span.is_zero() {
                thread::sleep(span);
            }
            if stream.write_all(RESPONSE).is_err() {
                return;
            }
        }
    }
}
