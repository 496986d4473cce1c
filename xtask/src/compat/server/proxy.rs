//! A door that is a proxy: requests with whole URLs, `CONNECT`, and SOCKS version 5. Names lead nowhere but to this
//! server.
//!
//! Looks at no credentials; the journal has them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use anyhow::{Context, Result};

use super::secure::Secure;
use super::{Answer, IDLE, Journal, Request, converse};

/// Where tunnels lead, by the port that is asked for.
#[derive(Clone)]
struct Ways {
    /// Without TLS, and all ports but these two.
    plain: String,
    /// 443.
    secure: String,
    /// 8443, which also speaks HTTP/2.
    http2: String,
}

/// The name of a host that the proxy does not connect to.
const REFUSED: &str = "refused.test";

/// Opens a port; returns its address. `base` is the URL of the server without TLS.
pub fn door(base: &str, secure: &Secure, journal: &Journal) -> Result<String> {
    let place = |url: &str| url.rsplit('/').next().unwrap_or_default().to_owned();
    let of = |name| {
        let found = secure.variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, url)| place(url)).context("no such door")
    };
    let ways = Ways { plain: place(base), secure: of("TLS")?, http2: of("TLS_2")? };
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen on the loopback")?;
    let address = listener.local_addr()?.to_string();
    let journal = journal.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (ways, journal) = (ways.clone(), journal.clone());
            // A connection that breaks is the client's business.
            thread::spawn(move || serve(stream, &ways, &journal).unwrap_or_default());
        }
    });
    Ok(address)
}

fn serve(stream: TcpStream, ways: &Ways, journal: &Journal) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE))?;
    let mut first = [0; 3];
    match stream.peek(&mut first)? {
        0 => Ok(()),
        _ if first[0] == 5 => socks(stream, ways, journal),
        // Nothing else begins with these letters.
        _ if first.starts_with(b"CON") => connect(stream, ways, journal),
        _ => {
            let mut reader = BufReader::new(stream.try_clone()?);
            let mut writer = stream;
            converse(&mut reader, |_, bytes| writer.write_all(bytes), journal, forwarded)
        }
    }
}

/// The answer to a request that names a whole URL.
fn forwarded(request: &Request) -> Answer {
    let path = request.target.splitn(4, '/').nth(3).unwrap_or_default();
    Answer::to(&Request { target: format!("/{path}"), ..request.clone() })
}

fn connect(stream: TcpStream, ways: &Ways, journal: &Journal) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let Some(mut request) = Request::read(&mut reader)? else { return Ok(()) };
    // Go's client has a name of its own here.
    request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("user-agent"));
    let target = request.target.clone();
    note(journal, request);
    let mut writer = stream;
    if target.starts_with(REFUSED) {
        return writer.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
    }
    let server = ways.to(&target)?;
    writer.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    pass(reader, writer, server)
}

fn socks(stream: TcpStream, ways: &Ways, journal: &Journal) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    let [_, count] = read(&mut reader)?;
    let mut methods = vec![0; usize::from(count)];
    reader.read_exact(&mut methods)?;
    let mut headers = Vec::new();
    if methods.contains(&2) {
        writer.write_all(&[5, 2])?;
        let [_, length] = read(&mut reader)?;
        let user = text(&mut reader, length)?;
        let [length] = read(&mut reader)?;
        headers.push(("Login".to_owned(), format!("{user}:{}", text(&mut reader, length)?)));
        writer.write_all(&[1, 0])?;
    } else {
        writer.write_all(&[5, 0])?;
    }
    let [_, _, _, kind] = read(&mut reader)?;
    let host = if kind == 1 {
        std::net::Ipv4Addr::from(read::<4>(&mut reader)?).to_string()
    } else {
        let [length] = read(&mut reader)?;
        text(&mut reader, length)?
    };
    let target = format!("{host}:{}", u16::from_be_bytes(read(&mut reader)?));
    note(
        journal,
        Request { method: "SOCKS".to_owned(), target: target.clone(), headers, ..Request::default() },
    );
    let refused = u8::from(target.starts_with(REFUSED)) * 5;
    writer.write_all(&[5, refused, 0, 1, 0, 0, 0, 0, 0, 0])?;
    if refused > 0 {
        return Ok(());
    }
    pass(reader, writer, ways.to(&target)?)
}

impl Ways {
    fn to(&self, target: &str) -> io::Result<TcpStream> {
        TcpStream::connect(match target.rsplit(':').next() {
            Some("443") => &self.secure,
            Some("8443") => &self.http2,
            _ => &self.plain,
        })
    }
}

/// Passes bytes on in both directions until the client has enough.
fn pass(mut reader: impl BufRead, mut writer: TcpStream, server: TcpStream) -> io::Result<()> {
    let (mut answers, mut requests) = (server.try_clone()?, server);
    thread::spawn(move || {
        // The end of one direction is the end of the other.
        let _ = io::copy(&mut answers, &mut writer);
        let _ = writer.shutdown(std::net::Shutdown::Both);
    });
    let ended = io::copy(&mut reader, &mut requests).map(drop);
    let _ = requests.shutdown(std::net::Shutdown::Both);
    ended
}

fn note(journal: &Journal, request: Request) {
    journal.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(request);
}

fn read<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn text(from: &mut impl Read, length: u8) -> io::Result<String> {
    let mut bytes = vec![0; usize::from(length)];
    from.read_exact(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
