//! A door that speaks HTTP/2, or HTTP/1.1 to clients that do not offer more.
//!
//! Answers as the other doors do, and some paths below `/h2` break streams: `/h2/reset/CODE`, `/h2/goaway/CODE`, and
//! `/h2/refused`, which refuses the second stream of a connection.

use std::io::BufReader;
use std::net::TcpListener;
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};
use bytes::Bytes;
use h2::Reason;
use h2::server::SendResponse;
use http::Response;
use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{Answer, Journal, Request};

/// What the connections of a door share.
#[derive(Clone)]
struct Door {
    acceptor: TlsAcceptor,
    journal: Journal,
}

/// Opens a port; returns its URL.
pub fn door(mut config: ServerConfig, journal: &Journal) -> Result<String> {
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen on the loopback")?;
    listener.set_nonblocking(true)?;
    let base = format!("https://{}", listener.local_addr()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let door = Door { acceptor, journal: journal.clone() };
    std::thread::spawn(move || {
        runtime.block_on(async {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            while let Ok((stream, _)) = listener.accept().await {
                let door = door.clone();
                // A connection that breaks is the client's business: what it asked is in the journal.
                tokio::spawn(async move { door.serve(stream).await.unwrap_or_default() });
            }
        });
    });
    Ok(base)
}

impl Door {
    async fn serve(&self, stream: TcpStream) -> Result<()> {
        stream.set_nodelay(true)?;
        let stream = self.acceptor.accept(stream).await?;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return self.serve_http1(stream).await;
        }
        let mut connection = h2::server::handshake(stream).await?;
        let mut place = 0;
        while let Some(accepted) = connection.accept().await {
            let (request, respond) = accepted?;
            if let Some(code) = code_of(request.uri().path(), "/h2/goaway/") {
                self.keep(read(request, place).await?);
                connection.abrupt_shutdown(code);
                continue;
            }
            let door = self.clone();
            tokio::spawn(async move {
                let request = read(request, place).await?;
                door.keep(request.clone());
                door.respond(&request, respond).await
            });
            place += 1;
        }
        Ok(())
    }

    async fn respond(&self, request: &Request, mut respond: SendResponse<Bytes>) -> Result<()> {
        if let Some(code) = code_of(request.path(), "/h2/reset/") {
            respond.send_reset(code);
            return Ok(());
        }
        let is_refused = request.path() == "/h2/refused" && request.place == 1;
        let whole = if is_refused { None } else { Answer::to(request).whole() };
        let Some((status, headers, body, pause)) = whole else {
            respond.send_reset(if is_refused { Reason::REFUSED_STREAM } else { Reason::INTERNAL_ERROR });
            return Ok(());
        };
        tokio::time::sleep(pause).await;
        let mut response = Response::builder().status(status);
        for (name, value) in headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("connection")) {
            response = response.header(name, value);
        }
        if !matches!(status, 100..200 | 204 | 304) {
            response = response.header("content-length", body.len());
        }
        let mut stream = respond.send_response(response.body(())?, body.is_empty())?;
        if !body.is_empty() {
            stream.send_data(body.into(), true)?;
        }
        Ok(())
    }

    /// Answers a client of HTTP/1.1. Its requests are small, and come one at a time.
    async fn serve_http1(&self, mut stream: TlsStream<TcpStream>) -> Result<()> {
        let mut inbox = Vec::new();
        for place in 0.. {
            let request = loop {
                // One that is not whole yet cannot be read.
                if let Ok(Some(request)) = Request::read(&mut BufReader::new(&inbox[..]))
                    && inbox.windows(4).any(|window| window == b"\r\n\r\n")
                {
                    break Request { place, ..request };
                }
                if stream.read_buf(&mut inbox).await? == 0 {
                    return Ok(());
                }
            };
            inbox.clear();
            self.keep(request.clone());
            for (pause, bytes) in Answer::to(&request).pieces() {
                tokio::time::sleep(pause).await;
                stream.write_all(&bytes).await?;
            }
        }
        Ok(())
    }

    fn keep(&self, request: Request) {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    }
}

/// A request, with the authority as its host.
async fn read(request: http::Request<h2::RecvStream>, place: usize) -> Result<Request> {
    let (head, mut stream) = request.into_parts();
    let mut body = Vec::new();
    while let Some(bytes) = stream.data().await {
        let bytes = bytes?;
        body.extend_from_slice(&bytes);
        stream.flow_control().release_capacity(bytes.len())?;
    }
    let target = head.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
    let authority = head.uri.authority().map(|host| ("Host".to_owned(), host.to_string()));
    let fields = head.headers.iter().map(|(name, value)| {
        (canonical(name.as_str()), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let headers = authority.into_iter().chain(fields).collect();
    let arrived = Some(SystemTime::now());
    Ok(Request { method: head.method.to_string(), target, headers, body, arrived, place })
}

/// A name of a header as HTTP/1.1 has it: `Content-Type`.
fn canonical(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    name.split('-').map(word).collect::<Vec<_>>().join("-")
}

/// The error code at the end of a path.
fn code_of(path: &str, before: &str) -> Option<Reason> {
    path.strip_prefix(before)?.parse::<u32>().ok().map(Reason::from)
}
