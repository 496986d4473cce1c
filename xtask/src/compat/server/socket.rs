//! Sockets: what is answered to a handshake of `/ws/...`, frame by frame.
//!
//! Writes frames by hand, so that neither program is tested against its own library. Checks nothing that clients send.

use std::io::{BufRead, Result};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, FlushCompress};
use sha1::{Digest, Sha1};

use super::Request;

/// What the answer to a key is made with (RFC 6455, section 1.3).
const SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// First bytes of frames: the end of a message, and what they carry.
const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

/// Whether a request asks for a socket that is here.
pub fn is_wanted(request: &Request) -> bool {
    request.steps().first().is_some_and(|step| step == "ws") && request.header("sec-websocket-key").is_some()
}

/// Answers the handshake, sends what the path asks for, and then sends back every message.
pub fn talk<R: BufRead>(
    reader: &mut R,
    mut write: impl FnMut(&mut R, &[u8]) -> Result<()>,
    request: &Request,
) -> Result<()> {
    let steps = request.steps();
    let steps: Vec<&str> = steps.iter().skip(1).map(String::as_str).collect();
    write(reader, &handshake(request, &steps))?;
    for bytes in opening(&steps) {
        write(reader, &bytes)?;
    }
    if steps == ["drop"] {
        return Ok(());
    }
    while let Some((first, payload)) = read(reader)? {
        match first & 0x0f {
            // The echo of a close ends the connection.
            8 => return write(reader, &frame(CLOSE, payload.get(..2).unwrap_or_default())),
            9 => write(reader, &frame(PONG, &payload))?,
            10 => {}
            _ => write(reader, &frame(first, &payload))?,
        }
    }
    Ok(())
}

fn handshake(request: &Request, steps: &[&str]) -> Vec<u8> {
    let key = request.header("sec-websocket-key").unwrap_or_default();
    let accept = STANDARD.encode(Sha1::digest(format!("{key}{SUFFIX}")));
    let extra = match steps {
        ["deflate"] => "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; \
             client_no_context_takeover\r\n"
            .to_owned(),
        ["protocol", name] => format!("Sec-WebSocket-Protocol: {name}\r\n"),
        ["cookie"] => "Set-Cookie: flavour=plain; Path=/\r\n".to_owned(),
        _ => String::new(),
    };
    let accept = if steps == ["wrong_key"] { "AAAA".to_owned() } else { accept };
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{extra}\r\n"
    )
    .into_bytes()
}

/// What is sent unasked.
fn opening(steps: &[&str]) -> Vec<Vec<u8>> {
    match steps {
        ["hello"] => vec![frame(TEXT, b"hello")],
        ["binary"] => vec![frame(BINARY, &[1, 2, 255])],
        ["no_text"] => vec![frame(TEXT, &[b'a', 0xff, 0xfe, b'b', 0xe2, 0x82, b'c'])],
        ["pieces"] => {
            vec![frame(0x01, b"he"), frame(PING, b"p"), frame(0x00, b"ll"), frame(0x80, b"o")]
        }
        ["ping"] => vec![frame(PING, b"hey")],
        ["pong"] => vec![frame(PONG, b"unasked")],
        ["reserved"] => vec![frame(TEXT | 0x20, b"x")],
        ["deflate"] => vec![frame(TEXT | 0x40, &deflated(b"compressed hello"))],
        ["close"] => vec![frame(CLOSE, b"")],
        ["close", code] => {
            let code: u16 = code.parse().unwrap_or(1000);
            vec![frame(CLOSE, &[&code.to_be_bytes()[..], b"bye"].concat())]
        }
        _ => Vec::new(),
    }
}

/// A frame of a server.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match u8::try_from(payload.len()) {
        Ok(short) if short < 126 => bytes.push(short),
        _ => {
            bytes.push(127);
            bytes.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(payload);
    bytes
}

/// The first byte and the payload of a frame of a client; `None` at the end.
fn read(reader: &mut impl BufRead) -> Result<Option<(u8, Vec<u8>)>> {
    let mut head = [0; 2];
    if reader.fill_buf()?.is_empty() {
        return Ok(None);
    }
    reader.read_exact(&mut head)?;
    let length = match head[1] & 0x7f {
        126 => {
            let mut length = [0; 2];
            reader.read_exact(&mut length)?;
            u64::from(u16::from_be_bytes(length))
        }
        127 => {
            let mut length = [0; 8];
            reader.read_exact(&mut length)?;
            u64::from_be_bytes(length)
        }
        short => u64::from(short),
    };
    let mut mask = [0; 4];
    reader.read_exact(&mut mask)?;
    let mut payload = vec![0; usize::try_from(length).unwrap_or(0)];
    reader.read_exact(&mut payload)?;
    payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    Ok(Some((head[0], payload)))
}

/// A payload as RFC 7692 compresses it.
fn deflated(message: &[u8]) -> Vec<u8> {
    let mut compress = flate2::Compress::new(Compression::default(), false);
    let mut out = Vec::with_capacity(1_024);
    // The messages of this server are short, so one call is enough.
    let _ = compress.compress_vec(message, &mut out, FlushCompress::Sync);
    out.truncate(out.len().saturating_sub(4));
    out
}
