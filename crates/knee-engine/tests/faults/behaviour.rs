//! Everything that the server of these tests can do with one request.
//!
//! Defines the bytes it sends and the end of the connection, not what the engine should make of them.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::server::{Link, Request};

/// What the server does with one request.
#[derive(Clone, Debug, PartialEq)]
pub enum Behaviour {
    // Well-behaved.
    /// An ordinary response with a short body.
    Good,
    /// The same, with this body.
    Body(Vec<u8>),
    /// The same, with this content coding.
    Coded(&'static str, Vec<u8>),
    /// An ordinary response with this status.
    Status(u16),
    /// These bytes as they are; the connection is kept.
    Raw(String),
    /// These bytes as they are, and nothing after them.
    Held(Arc<[u8]>),
    /// This text as it is, and then this.
    Sends(&'static str, After),
    /// HTTP/1.0 that keeps the connection.
    OldAndKept,
    /// A body without length, ended by the end of the connection.
    UntilClose,
    /// An interim response before the final one.
    Continue,
    /// Lines that end in a line feed alone.
    BareLineFeeds,
    /// Byte by byte, but in time.
    DripInTime,
    /// Closes after its response without announcing it.
    CloseUnannounced,
    /// A response to the head of a request. Its body is not read until the server received so many requests.
    Early(usize),
    /// The same, and the connection is reset.
    EarlyReset,

    // Hanging up.
    /// A reset instead of a response.
    ResetAtOnce,
    /// A reset within the head.
    ResetInHead,
    /// A reset after the head.
    ResetInBody,
    /// The end of the connection instead of a response.
    EndAtOnce,
    /// The end within the head.
    EndInHead,
    /// The end before as many bytes as announced.
    EndInBody,
    /// The end within a chunk.
    EndInChunk,
    /// The end between two chunks.
    EndBetweenChunks,
    /// The end of the TCP stream, but not of the TLS stream, after a body without length.
    CutUntilClose,
    /// The same before as many bytes as announced.
    CutInBody,
    /// Bytes that are no TLS record in the middle of a body.
    BreakTls,
    /// A fatal TLS alert in the middle of a body.
    AlertInBody,

    // Slowness.
    /// An ordinary response after a pause.
    Delayed(Duration),
    /// No response.
    Silence,
    /// Nothing after the head.
    SilenceAfterHead,
    /// An endless head, byte by byte.
    DripHead,
    /// An endless body, byte by byte.
    DripBody,
    /// Endless interim responses, slowly.
    DripInterim,

    // Not HTTP.
    /// Text that is no head.
    Garbage,
    /// Bytes from a generator with this seed.
    RandomBytes(u64),
    /// A page without a head, as in HTTP/0.9.
    NoHead,
    /// A version that does not exist.
    OtherVersion,
    /// A TLS alert.
    TlsAlert,
    /// Endless empty lines.
    EmptyLines,
    /// A switch to another protocol that was not requested.
    Upgrade,

    // Heads.
    /// More header lines than allowed.
    ManyHeaders,
    /// An endless header line.
    LongHeader,
    /// Endless cookies.
    CookieFlood,
    /// A NUL in a header.
    NulInHeader,
    /// A header line that continues in the next line.
    FoldedHeader,
    /// A header line without a colon.
    NoColon,
    /// Endless interim responses.
    InterimFlood,

    // Framing.
    /// An endless chunk extension.
    EndlessExtension,
    /// An endless trailer.
    EndlessTrailer,
    /// A chunked body as it is written.
    Chunks(&'static str),
    /// These framing headers, and a body of five bytes.
    Framing(&'static str),

    // Bodies.
    /// An endless body in chunks.
    EndlessChunks,
    /// An endless body without length.
    EndlessBody,
    /// A length over every limit, and an endless body.
    HugeLength,

    // Unexpected responses.
    /// A second response in the same write.
    SecondResponse,
    /// A second response in a separate write.
    LateSecondResponse,
    /// A second response after a pause: a client without pauses has sent its next request by then.
    DelayedSecondResponse,
    /// The notice that the idle connection ends, after a pause, and the end.
    IdleNotice,

    // Redirects.
    /// A redirect to this location.
    Redirect(u16, String),
    /// A redirect without location.
    RedirectWithoutLocation,
}

/// What happens to the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It serves the next request.
    Keep,
    /// The client must close it; what it sends instead is counted.
    Hold,
    /// The same, but nothing is read until the server received so many requests.
    Unread(usize),
    /// The server closes it properly.
    Close,
    /// The server closes its half of it.
    HalfClose,
    /// The server ends only the TCP stream.
    Cut,
    /// The server resets it.
    Reset,
}

/// A response with a content length.
pub fn response(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} Said\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
/// Pause between bytes: each is read alone, but the test is fast.
const DRIP: Duration = Duration::from_millis(1);
/// Pause between bytes of endless responses.
const SLOW_DRIP: Duration = Duration::from_millis(20);

impl Behaviour {
    /// Whether it responds before it has read the body of the request.
    pub const fn is_early(&self) -> bool {
        matches!(self, Self::Early(_) | Self::EarlyReset)
    }

    /// Whether it looks to the client like a kept connection that was closed while it was idle.
    pub const fn is_hang_up(&self) -> bool {
        matches!(self, Self::ResetAtOnce | Self::EndAtOnce)
    }

    /// Does it, and returns what happens to the connection.
    pub fn act(&self, link: &mut Link, request: &Request) -> io::Result<After> {
        match self {
            Self::DripInTime => {
                drip(link, &response(200, "", b"slow but sure"), DRIP)?;
                Ok(After::Keep)
            }
            Self::Delayed(pause) => {
                thread::sleep(*pause);
                link.write_all(&response(200, "", b"late"))?;
                Ok(After::Keep)
            }
            Self::DripHead => endless(link, b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x", Some(SLOW_DRIP)),
            Self::DripBody => endless(link, CHUNKED.as_bytes(), b"1\r\nx\r\n", Some(SLOW_DRIP)),
            Self::DripInterim => endless(link, b"", b"HTTP/1.1 102 Processing\r\n\r\n", Some(SLOW_DRIP)),
            Self::EmptyLines => endless(link, b"", b"\r\n", None),
            Self::CookieFlood => endless(link, b"HTTP/1.1 200 OK\r\n", b"Set-Cookie: a=b; Path=/\r\n", None),
            Self::LongHeader => endless(link, b"HTTP/1.1 200 OK\r\nX-Long: ", &[b'x'; 4_096], None),
            Self::InterimFlood => endless(link, b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", None),
            Self::EndlessExtension => endless(link, format!("{CHUNKED}5").as_bytes(), b";name=value", None),
            Self::EndlessTrailer => {
                endless(link, format!("{CHUNKED}2\r\nok\r\n0\r\n").as_bytes(), b"X-Trailer: on\r\n", None)
            }
            Self::EndlessChunks => endless(link, CHUNKED.as_bytes(), &chunk(&[b'x'; 4_096]), None),
            Self::EndlessBody => endless(link, b"HTTP/1.1 200 OK\r\n\r\n", &[b'x'; 4_096], None),
            Self::HugeLength => {
                let head = b"HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\n";
                endless(link, head, &[b'x'; 4_096], None)
            }
            Self::LateSecondResponse => {
                link.write_all(&response(200, "", b"asked for"))?;
                link.flush()?;
                link.write_all(&response(200, "", b"not asked for"))?;
                Ok(After::Keep)
            }
            Self::DelayedSecondResponse => {
                link.write_all(&response(200, "", b"asked for"))?;
                link.flush()?;
                thread::sleep(5 * DRIP);
                link.write_all(&response(200, "", b"not asked for"))?;
                Ok(After::Keep)
            }
            Self::Held(bytes) => {
                link.write_all(bytes)?;
                Ok(After::Hold)
            }
            Self::IdleNotice => {
                link.write_all(&response(200, "", b"asked for"))?;
                link.flush()?;
                // The connection is idle for a moment, as for a proxy's time limit.
                thread::sleep(SLOW_DRIP);
                link.write_all(b"HTTP/1.0 408 Request Time-out\r\nConnection: close\r\n\r\n")?;
                Ok(After::Close)
            }
            Self::Early(seen) => {
                link.write_all(&response(413, "", b"too much"))?;
                Ok(After::Unread(*seen))
            }
            Self::BreakTls | Self::AlertInBody => self.break_tls(link),
            _ => {
                let (bytes, after) = self.said(request);
                link.write_all(&bytes)?;
                link.flush()?;
                Ok(after)
            }
        }
    }

    /// Ends the TLS session in the middle of a body.
    fn break_tls(&self, link: &mut Link) -> io::Result<After> {
        link.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")?;
        link.flush()?;
        if matches!(self, Self::AlertInBody) {
            link.alert()?;
        } else {
            let mut below = link.tcp();
            below.write_all(b"this is no TLS record and never was one")?;
        }
        Ok(After::Hold)
    }

    /// Bytes that are sent at once, and what happens to the connection after them.
    fn said(&self, request: &Request) -> (Vec<u8>, After) {
        let text = |text: &str, after| (text.as_bytes().to_vec(), after);
        match self {
            Self::Good if request.head.starts_with("HEAD ") => {
                text("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", After::Keep)
            }
            Self::Good => (response(200, "", b"fine"), After::Keep),
            Self::Body(body) => (response(200, "", body), After::Keep),
            Self::Coded(coding, body) => {
                (response(200, &format!("Content-Encoding: {coding}\r\n"), body), After::Keep)
            }
            Self::Status(status) => (response(*status, "", b"body"), After::Keep),
            Self::Raw(said) => text(said, After::Keep),
            Self::Sends(said, after) => text(said, *after),
            Self::OldAndKept => {
                text("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nold", After::Keep)
            }
            Self::UntilClose => text("HTTP/1.1 200 OK\r\n\r\nuntil the end", After::Close),
            Self::Continue => text(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                After::Keep,
            ),
            Self::BareLineFeeds => text("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", After::Keep),
            Self::CloseUnannounced => (response(200, "", b"bye"), After::Close),
            Self::EarlyReset => (response(413, "", b"too much"), After::Close),
            Self::ResetAtOnce => text("", After::Reset),
            Self::ResetInHead => text("HTTP/1.1 200 OK\r\nX-Half: ", After::Reset),
            Self::ResetInBody => text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", After::Reset),
            Self::EndAtOnce => text("", After::Close),
            Self::EndInHead => text("HTTP/1.1 200 OK\r\nX-Half: ", After::Close),
            Self::EndInBody => text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", After::Close),
            Self::EndInChunk => text(&format!("{CHUNKED}a\r\nhalf"), After::Close),
            Self::EndBetweenChunks => text(&format!("{CHUNKED}4\r\nhalf\r\n"), After::Close),
            Self::CutUntilClose => text("HTTP/1.1 200 OK\r\n\r\nuntil the end", After::Cut),
            Self::CutInBody => text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", After::Cut),
            Self::Silence => text("", After::Hold),
            Self::SilenceAfterHead => text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", After::Hold),
            Self::Redirect(status, location) => {
                (response(*status, &format!("Location: {location}\r\n"), b""), After::Keep)
            }
            Self::RedirectWithoutLocation => (response(302, "", b""), After::Keep),
            _ => (self.nonsense(), After::Hold),
        }
    }

    /// Bytes that no client can understand. The client must close the connection.
    fn nonsense(&self) -> Vec<u8> {
        let with = |headers: &str| format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\nhello").into_bytes();
        match self {
            Self::RandomBytes(seed) => random_bytes(*seed),
            Self::NoHead => b"<html>It works, in a way</html>\r\n".to_vec(),
            Self::OtherVersion => b"HTTP/7.3 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec(),
            // Fatal, unexpected message, of TLS 1.2.
            Self::TlsAlert => b"\x15\x03\x03\x00\x02\x02\x0a".to_vec(),
            Self::Upgrade => b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n".to_vec(),
            Self::ManyHeaders => with(&"a: b\r\n".repeat(300)),
            Self::NulInHeader => with("X-Nul: a\0b\r\nContent-Length: 5"),
            Self::FoldedHeader => with("X-Folded: a\r\n b\r\nContent-Length: 5"),
            Self::NoColon => with("Content-Length 5"),
            Self::Framing(headers) => with(headers),
            Self::Chunks(chunks) => format!("{CHUNKED}{chunks}").into_bytes(),
            Self::SecondResponse => {
                [response(200, "", b"asked for"), response(200, "", b"not asked for")].concat()
            }
            _ => b"220 mail.example ESMTP ready\r\n".to_vec(),
        }
    }
}

fn chunk(data: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat()
}

/// Random bytes that do not start like a response.
fn random_bytes(seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut noise = || {
        // xorshift64: the same bytes every time.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    let mut bytes: Vec<u8> = (0..4_096).map(|_| noise()).collect();
    bytes[0] |= 0x80;
    bytes
}

/// Writes bytes one by one.
fn drip(link: &mut Link, bytes: &[u8], pause: Duration) -> io::Result<()> {
    for byte in bytes {
        link.write_all(&[*byte])?;
        link.flush()?;
        // The slowness of the server is under test; no test relies on its exact duration.
        thread::sleep(pause);
    }
    Ok(())
}

/// Writes `first`, then `again` as long as the client reads it; ends only with an error.
fn endless(link: &mut Link, first: &[u8], again: &[u8], pause: Option<Duration>) -> io::Result<After> {
    link.write_all(first)?;
    loop {
        match pause {
            Some(pause) => drip(link, again, pause)?,
            None => link.write_all(again)?,
        }
    }
}
