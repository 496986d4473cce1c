//! A way to NATS that is slow in one direction.
//!
//! Does not change the bytes, nor their order.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

/// Listens at `address`, and passes on to `server`; until the process ends. What the
/// client sends arrives `there` later, what the server sends `back` later. Returns where this listens.
pub(super) fn start(
    address: Ipv4Addr,
    server: SocketAddr,
    there: Duration,
    back: Duration,
) -> Result<SocketAddr> {
    let listener = TcpListener::bind((address, 0))?;
    let place = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // Who cannot be passed on is closed, and tries again.
            let _ = pass_on(stream, server, there, back);
        }
    });
    Ok(place)
}

fn pass_on(client: TcpStream, server: SocketAddr, there: Duration, back: Duration) -> Result<()> {
    let server = TcpStream::connect(server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    direction(client.try_clone()?, server.try_clone()?, there);
    direction(server, client, back);
    Ok(())
}

fn direction(mut from: TcpStream, to: TcpStream, delay: Duration) {
    let (sender, receiver) = channel();
    thread::spawn(move || write(to, &receiver));
    thread::spawn(move || {
        let mut bytes = vec![0; 65_536];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if sender.send((Instant::now() + delay, bytes[..count].to_vec())).is_err() {
                break;
            }
        }
    });
}

/// Writes what comes when it is due.
fn write(mut to: TcpStream, chunks: &Receiver<(Instant, Vec<u8>)>) {
    for (due, bytes) in chunks {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    // The other side learns that this one is gone.
    let _ = to.shutdown(Shutdown::Both);
}
