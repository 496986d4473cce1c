//! Every way in which the server of these tests can answer one request.
//!
//! Says what is sent and what becomes of the connection; not what the engine should make of it.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use crate::server::{Link, Request};

/// What the server does about one request.
#[derive(Clone, Debug, PartialEq)]
pub enum Behaviour {
    // Well-behaved.
    /// An ordinary answer with a short body.
    Good,
    /// The same, with this body.
    Body(Vec<u8>),
    /// The same, with this content coding.
    Coded(&'static str, Vec<u8>),
    /// An ordinary answer with this status.
    Status(u16),
    /// These bytes as they are; the connection is kept.
    Raw(String),
    /// HTTP/1.0 that keeps the connection.
    OldAndKept,
    /// A body without length that the end of the connection ends.
    UntilClose,
    /// An interim answer before the final one.
    Continue,
    /// Lines that end in a line feed alone.
    BareLineFeeds,
    /// One byte after the other, but in time.
    DripInTime,
    /// Closes after its answer without having said so.
    CloseUnannounced,
    /// An answer to the head of a request, whose body is not read before the server has seen so many requests.
    Early(usize),
    /// The same, and the connection is reset.
    EarlyReset,

    // Hanging up.
    /// A reset instead of an answer.
    ResetAtOnce,
    /// A reset within the head.
    ResetInHead,
    /// A reset after the head.
    ResetInBody,
    /// The end of the connection instead of an answer.
    EndAtOnce,
    /// The end within the head.
    EndInHead,
    /// The end before as many bytes as announced.
    EndInBody,
    /// The end within a chunk.
    EndInChunk,
    /// The end between two chunks.
    EndBetweenChunks,
    /// The end of the TCP stream, but not of the TLS stream, behind a body without length.
    CutUntilClose,
    /// The same before as many bytes as announced.
    CutInBody,
    /// Bytes that are no TLS record in the middle of a body.
    BreakTls,

    // Slowness.
    /// An ordinary answer after a pause.
    Delayed(Duration),
    /// No answer at all.
    Silence,
    /// A head, and then nothing.
    SilenceAfterHead,
    /// A head that never ends, one byte after the other.
    DripHead,
    /// A body that never ends, one byte after the other.
    DripBody,
    /// Interim answers, one after the other, for ever.
    DripInterim,

    // Not HTTP.
    /// Text that is no head.
    Garbage,
    /// Bytes from a generator with this seed.
    RandomBytes(u64),
    /// A page without a head, as HTTP/0.9 had it.
    NoHead,
    /// A version that does not exist.
    OtherVersion,
    /// A TLS alert.
    TlsAlert,
    /// Empty lines without end.
    EmptyLines,
    /// Another protocol, unasked.
    Upgrade,

    // Heads.
    /// More header lines than anybody reads.
    ManyHeaders,
    /// One header line that is longer than any head.
    LongHeader,
    /// Cookies without end.
    CookieFlood,
    /// A NUL in a header.
    NulInHeader,
    /// A header line that goes on in the next line.
    FoldedHeader,
    /// A header line without a colon.
    NoColon,
    /// Interim answers without end.
    InterimFlood,

    // Framing.
    /// A chunk size that is no number.
    BadChunkSize,
    /// A chunk size that no number holds.
    HugeChunkSize,
    /// A chunk that is longer than it says.
    LongChunk,
    /// A chunk extension without end.
    EndlessExtension,
    /// A trailer without end.
    EndlessTrailer,
    /// These headers of framing, and a body of five bytes.
    Framing(&'static str),

    // Bodies.
    /// A body of chunks without end.
    EndlessChunks,
    /// A body without length and without end.
    EndlessBody,
    /// A length beyond every limit, and a body without end.
    HugeLength,

    // More than was asked for.
    /// A second answer in the same write.
    SecondAnswer,
    /// A second answer in a write of its own.
    LateSecondAnswer,

    // Redirects.
    /// A redirect to this location.
    Redirect(u16, String),
    /// A redirect to nowhere.
    RedirectWithoutLocation,
}

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It serves the next request.
    Keep,
    /// The client has to close it; whatever else it sends is counted.
    Hold,
    /// The same, but nothing is read before the server has seen so many requests.
    Unread(usize),
    /// The server ends it in order.
    Close,
    /// The server ends the TCP stream alone.
    Cut,
    /// The server resets it.
    Reset,
}

/// An answer that says its body's length.
pub fn answer(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} Said\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
/// Slow enough that every byte is read alone, quick enough for a test.
const DRIP: Duration = Duration::from_millis(1);
/// How slowly drips without end come.
const SLOW_DRIP: Duration = Duration::from_millis(20);

impl Behaviour {
    /// Whether it answers before it has read the body of the request.
    pub const fn is_early(&self) -> bool {
        matches!(self, Self::Early(_) | Self::EarlyReset)
    }

    /// Whether a client that had its connection kept until now cannot tell it from a connection
    /// that was closed while it was idle.
    pub const fn is_hang_up(&self) -> bool {
        matches!(self, Self::ResetAtOnce | Self::EndAtOnce)
    }

    /// Does it.
    pub fn act(&self, link: &mut Link, request: &Request) -> io::Result<After> {
        match self {
            Self::DripInTime => {
                drip(link, &answer(200, "", b"slow but sure"), DRIP)?;
                Ok(After::Keep)
            }
            Self::Delayed(pause) => {
                thread::sleep(*pause);
                link.write_all(&answer(200, "", b"late"))?;
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
            Self::LateSecondAnswer => {
                link.write_all(&answer(200, "", b"asked for"))?;
                link.flush()?;
                link.write_all(&answer(200, "", b"not asked for"))?;
                Ok(After::Keep)
            }
            Self::Early(seen) => {
                link.write_all(&answer(413, "", b"too much"))?;
                Ok(After::Unread(*seen))
            }
            Self::BreakTls => {
                link.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")?;
                link.flush()?;
                let mut below = link.tcp();
                below.write_all(b"this is no TLS record and never was one")?;
                Ok(After::Hold)
            }
            _ => {
                let (bytes, after) = self.said(request);
                link.write_all(&bytes)?;
                link.flush()?;
                Ok(after)
            }
        }
    }

    /// What is said in one piece, and what comes after it.
    fn said(&self, request: &Request) -> (Vec<u8>, After) {
        let text = |text: &str, after| (text.as_bytes().to_vec(), after);
        match self {
            Self::Good if request.head.starts_with("HEAD ") => {
                text("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", After::Keep)
            }
            Self::Good => (answer(200, "", b"fine"), After::Keep),
            Self::Body(body) => (answer(200, "", body), After::Keep),
            Self::Coded(coding, body) => {
                (answer(200, &format!("Content-Encoding: {coding}\r\n"), body), After::Keep)
            }
            Self::Status(status) => (answer(*status, "", b"body"), After::Keep),
            Self::Raw(said) => text(said, After::Keep),
            Self::OldAndKept => {
                text("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nold", After::Keep)
            }
            Self::UntilClose => text("HTTP/1.1 200 OK\r\n\r\nuntil the end", After::Close),
            Self::Continue => text(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                After::Keep,
            ),
            Self::BareLineFeeds => text("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", After::Keep),
            Self::CloseUnannounced => (answer(200, "", b"bye"), After::Close),
            Self::EarlyReset => (answer(413, "", b"too much"), After::Close),
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
                (answer(*status, &format!("Location: {location}\r\n"), b""), After::Keep)
            }
            Self::RedirectWithoutLocation => (answer(302, "", b""), After::Keep),
            _ => (self.nonsense(), After::Hold),
        }
    }

    /// What no client can make sense of. It has to give the connection up by itself.
    fn nonsense(&self) -> Vec<u8> {
        let with = |headers: &str| format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\nhello").into_bytes();
        let chunks = |chunks: &str| format!("{CHUNKED}{chunks}").into_bytes();
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
            Self::BadChunkSize => chunks("five\r\nhello\r\n0\r\n\r\n"),
            Self::HugeChunkSize => chunks("fffffffffffffffff\r\nhello"),
            Self::LongChunk => chunks("5\r\nhello and more\r\n0\r\n\r\n"),
            Self::SecondAnswer => [answer(200, "", b"asked for"), answer(200, "", b"not asked for")].concat(),
            _ => b"220 mail.example ESMTP ready\r\n".to_vec(),
        }
    }
}

fn chunk(data: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat()
}

/// Noise that does not begin as an answer does.
fn random_bytes(seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut noise = || {
        // xorshift64: any noise will do, as long as it is the same noise every time.
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
        // This server's slowness is what is tested; no test waits for it to be exact.
        thread::sleep(pause);
    }
    Ok(())
}

/// Writes `first`, then `again` for as long as the client reads it; ends only with an error.
fn endless(link: &mut Link, first: &[u8], again: &[u8], pause: Option<Duration>) -> io::Result<After> {
    link.write_all(first)?;
    loop {
        match pause {
            Some(pause) => drip(link, again, pause)?,
            None => link.write_all(again)?,
        }
    }
}
