//! A client of NATS that hears all messages and sends any: an eavesdropper with every permission.
//!
//! Speaks the protocol in plain text, and uses no code of the product. Does not connect again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, ensure};

use super::world::wait_for;

/// A message as it went over the wire.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// Its subject.
    pub subject: String,
    /// Where its answer goes.
    pub reply: Option<String>,
    /// The block of headers, with its first line; empty without headers.
    pub headers: Vec<u8>,
    /// The rest.
    pub body: Vec<u8>,
}

#[derive(Default)]
struct Heard {
    messages: Vec<Message>,
    errors: Vec<String>,
}

/// A connection that hears everything.
pub(super) struct Broker {
    stream: TcpStream,
    heard: Arc<Mutex<Heard>>,
    asked: u64,
}

impl Broker {
    /// Connects, and hears all messages from now on.
    pub(super) fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        let mut lines = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        lines.read_line(&mut line)?;
        ensure!(line.starts_with("INFO "), "no NATS server: {line}");
        let mut broker = Self { stream, heard: Arc::default(), asked: 0 };
        broker.write(
            b"CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true}\r\nSUB > 1\r\nPING\r\n",
        )?;
        // The answer says that the subscription holds.
        loop {
            line.clear();
            ensure!(lines.read_line(&mut line)? > 0, "NATS ends the connection");
            if line.starts_with("PONG") {
                break;
            }
        }
        let (heard, answers) = (broker.heard.clone(), broker.stream.try_clone()?);
        thread::spawn(move || {
            if let Err(error) = hear(lines, answers, &heard) {
                lock(&heard).errors.push(format!("{error:#}"));
            }
        });
        Ok(broker)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(bytes)?)
    }

    /// Publishes a message with a block of headers, which can be empty.
    pub(super) fn publish(&mut self, subject: &str, reply: &str, headers: &[u8], body: &[u8]) -> Result<()> {
        let all = headers.len() + body.len();
        let mut bytes = if headers.is_empty() {
            format!("PUB {subject} {reply} {all}\r\n").into_bytes()
        } else {
            format!("HPUB {subject} {reply} {} {all}\r\n", headers.len()).into_bytes()
        };
        bytes.extend_from_slice(headers);
        bytes.extend_from_slice(body);
        bytes.extend_from_slice(b"\r\n");
        self.write(&bytes)
    }

    /// Publishes a message, and returns the first answer.
    pub(super) fn ask(&mut self, subject: &str, headers: &[u8], body: &[u8]) -> Result<Message> {
        self.asked += 1;
        let inbox = format!("_INBOX.eavesdropper.{}", self.asked);
        self.publish(subject, &inbox, headers, body)?;
        self.wait(&inbox, |message| message.subject == inbox)
    }

    /// Waits for the first message that `is`.
    pub(super) fn wait(&self, what: &str, is: impl Fn(&Message) -> bool) -> Result<Message> {
        let mut found = None;
        wait_for(what, || {
            found = lock(&self.heard).messages.iter().find(|message| is(message)).cloned();
            let error = self.error();
            ensure!(found.is_some() || error.is_none(), "{what}: {}", error.unwrap_or_default());
            Ok(found.is_some())
        })?;
        found.context("no message")
    }

    /// The first error of the server, if there was one.
    pub(super) fn error(&self) -> Option<String> {
        lock(&self.heard).errors.first().cloned()
    }

    /// All messages so far.
    pub(super) fn messages(&self) -> Vec<Message> {
        lock(&self.heard).messages.clone()
    }

    /// Forgets all messages so far.
    pub(super) fn forget(&self) {
        lock(&self.heard).messages.clear();
    }
}

fn lock(heard: &Mutex<Heard>) -> std::sync::MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hear(mut lines: BufReader<TcpStream>, mut answers: TcpStream, heard: &Mutex<Heard>) -> Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        ensure!(lines.read_line(&mut line)? > 0, "NATS ends the connection");
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["PING"] => answers.write_all(b"PONG\r\n")?,
            ["MSG", subject, _, rest @ .., all] => {
                let all = all.parse()?;
                let message = message(&mut lines, subject, rest, 0, all)?;
                lock(heard).messages.push(message);
            }
            ["HMSG", subject, _, rest @ .., headers, all] => {
                let (headers, all) = (headers.parse()?, all.parse()?);
                let message = message(&mut lines, subject, rest, headers, all)?;
                lock(heard).messages.push(message);
            }
            ["-ERR", ..] => lock(heard).errors.push(line.trim().to_owned()),
            _ => {}
        }
    }
}

/// Reads `all` bytes, of which the first are headers, and the end of the line.
fn message(
    from: &mut impl Read,
    subject: &str,
    rest: &[&str],
    headers: usize,
    all: usize,
) -> Result<Message> {
    let mut bytes = vec![0; all + 2];
    from.read_exact(&mut bytes)?;
    bytes.truncate(all);
    ensure!(headers <= all, "a message has more headers than bytes");
    let body = bytes.split_off(headers);
    let reply = rest.first().map(|reply| (*reply).to_owned());
    Ok(Message { subject: subject.to_owned(), reply, headers: bytes, body })
}
