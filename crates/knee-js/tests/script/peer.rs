//! A server of sockets that breaks the rules: it answers the handshake and then does what the path says, frame by frame.
//!
//! Writes frames by hand. Keeps the first bytes and the payloads of the frames that it got.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

use super::server::{Journal, Server};

/// What the answer to a key is made with (RFC 6455, section 1.3).
const SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Bytes of each message of `/flood`.
pub const FLOOD_BYTES: usize = 256 << 10;
/// Number of these messages.
pub const FLOOD: usize = 200;

/// Starts one on a free port.
pub fn start() -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("ws://{}", listener.local_addr().unwrap());
    let journal: Journal = Arc::new(Mutex::new(Vec::new()));
    let kept = journal.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let journal = kept.clone();
            thread::spawn(move || drop(serve(stream, &journal)));
        }
    });
    Server { base, journal }
}

/// A frame of a server.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..=125 => bytes.push(short as u8),
        long => {
            bytes.push(127);
            bytes.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(payload);
    bytes
}

fn serve(mut stream: TcpStream, journal: &Journal) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let head = read_head(&mut stream)?;
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    match path.as_str() {
        "/garbage" => return stream.write_all(b"garbage\r\n\r\n"),
        "/eof" => return Ok(()),
        "/silent" => loop {
            thread::park();
        },
        _ => {}
    }
    let accept = accept(&head);
    stream.write_all(
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\n\r\n"
        )
        .as_bytes(),
    )?;
    match path.as_str() {
        "/half" => return stream.write_all(&frame(0x81, b"hello world")[..6]),
        "/huge" => stream.write_all(&[0x82, 127, 0, 0, 1, 0, 0, 0, 0, 0])?,
        "/masked" => stream.write_all(&[0x81, 0x81, 0, 0, 0, 0, b'x'])?,
        "/reset" => {
            // A connection that is closed before all of its bytes were read is reset.
            stream.peek(&mut [0])?;
            return Ok(());
        }
        "/flood" => {
            let mut message = vec![b'x'; FLOOD_BYTES];
            for number in 0..FLOOD {
                let text = format!("{number:06}");
                message[..6].copy_from_slice(text.as_bytes());
                stream.write_all(&frame(0x81, &message))?;
            }
            stream.write_all(&frame(0x88, &1000_u16.to_be_bytes()))?;
        }
        "/many" => {
            for number in 0..FLOOD {
                stream.write_all(&frame(0x81, number.to_string().as_bytes()))?;
            }
        }
        _ => {}
    }
    while let Some((first, payload)) = read_frame(&mut stream)? {
        let shown = format!("{path} {first:02x} {}", payload.escape_ascii());
        journal.lock().unwrap().push(shown);
        match first & 0x0f {
            8 if path == "/deaf" => {}
            8 => {
                stream.write_all(&frame(0x88, payload.get(..2).unwrap_or_default()))?;
                return stream.shutdown(Shutdown::Write);
            }
            9 => stream.write_all(&frame(0x8a, &payload))?,
            1 | 2 => stream.write_all(&frame(first, &payload))?,
            _ => {}
        }
    }
    Ok(())
}

/// The answer to the key in the head of a handshake.
pub fn accept(head: &str) -> String {
    let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap_or_default();
    STANDARD.encode(Sha1::digest(format!("{key}{SUFFIX}")))
}

/// The head of a request.
pub fn read_head(stream: &mut TcpStream) -> std::io::Result<String> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// The first byte and the payload of a frame of a client; `None` at the end.
fn read_frame(stream: &mut TcpStream) -> std::io::Result<Option<(u8, Vec<u8>)>> {
    let mut head = [0; 2];
    if stream.read(&mut head[..1])? == 0 {
        return Ok(None);
    }
    stream.read_exact(&mut head[1..])?;
    let length = match head[1] & 0x7f {
        126 => {
            let mut length = [0; 2];
            stream.read_exact(&mut length)?;
            usize::from(u16::from_be_bytes(length))
        }
        127 => {
            let mut length = [0; 8];
            stream.read_exact(&mut length)?;
            u64::from_be_bytes(length) as usize
        }
        short => usize::from(short),
    };
    let mut mask = [0; 4];
    stream.read_exact(&mut mask)?;
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload)?;
    payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    Ok(Some((head[0], payload)))
}
