//! The server that both programs are run against: it answers like httpbin, and keeps a journal.
//!
//! One thread per connection, HTTP/1.1 with keep-alive. Every answer is a function of the request alone:
//! no clock and no chance in it, so that two programs that send the same get the same.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

mod answer;
mod auth;
mod body;
mod encode;
mod events;
mod grpc;
mod http2;
mod ntlm;
mod page;
mod proxy;
mod request;
mod secure;
mod socket;

pub use answer::Answer;
pub use encode::decode;
pub use ntlm::shown as shown_ntlm;
pub use request::Request;
use secure::Secure;

/// A connection on which nothing is asked for this long is closed.
const IDLE: Duration = Duration::from_secs(60);

/// A running server. Its threads end with the process.
pub struct Server {
    /// Its URL, without a slash at the end.
    pub base: String,
    /// Its doors that speak TLS.
    pub secure: Secure,
    /// Host and port of its door that is a proxy.
    pub proxy: String,
    journal: Journal,
}

/// What the server was asked, in the order of arrival.
type Journal = Arc<Mutex<Vec<Request>>>;

/// What is answered to a request.
type Respond = fn(&Request) -> Answer;

impl Server {
    /// Starts one on a free port of the loopback.
    pub fn start() -> Result<Self> {
        Self::listen(serve)
    }

    /// Starts one that answers every path of every host with something useful, and speaks TLS to clients that do.
    pub fn catching_all() -> Result<Self> {
        let config = secure::anyone()?;
        Self::listen(move |stream, journal| {
            let mut first = [0];
            if stream.peek(&mut first)? > 0 && first[0] == secure::HANDSHAKE {
                return secure::serve(stream, config.clone(), journal, Answer::to_anything);
            }
            serve_by(stream, journal, Answer::to_anything)
        })
    }

    fn listen<S>(serve: S) -> Result<Self>
    where
        S: Fn(TcpStream, &Journal) -> std::io::Result<()> + Send + Sync + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen on the loopback")?;
        let base = format!("http://{}", listener.local_addr()?);
        let journal = Journal::default();
        let (kept, serve) = (journal.clone(), Arc::new(serve));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (journal, serve) = (kept.clone(), serve.clone());
                // A connection that breaks is the client's business: what it asked is in the journal.
                thread::spawn(move || serve(stream, &journal).unwrap_or_default());
            }
        });
        let secure = secure::open(&journal)?;
        Ok(Self { proxy: proxy::door(&base, &secure, &journal)?, base, secure, journal })
    }

    /// Takes what was asked since the last call.
    pub fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.journal.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Answers one connection until it ends.
fn serve(stream: TcpStream, journal: &Journal) -> std::io::Result<()> {
    serve_by(stream, journal, Answer::to)
}

fn serve_by(stream: TcpStream, journal: &Journal, respond: Respond) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    converse(&mut reader, |_, bytes| writer.write_all(bytes), journal, respond)
}

/// Reads requests and writes answers until one of the two sides has enough, or until one asks for a socket.
fn converse<R: BufRead>(
    reader: &mut R,
    mut write: impl FnMut(&mut R, &[u8]) -> std::io::Result<()>,
    journal: &Journal,
    respond: Respond,
) -> std::io::Result<()> {
    let mut place = 0;
    while let Some(mut request) = Request::read(reader)? {
        request.place = place;
        place += 1;
        if socket::is_wanted(&request) {
            journal.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
            return socket::talk(reader, write, &request);
        }
        let answer = respond(&request);
        journal.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let stays = answer.stays_open();
        for (pause, bytes) in answer.pieces() {
            thread::sleep(pause);
            write(reader, &bytes)?;
        }
        if !stays {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
