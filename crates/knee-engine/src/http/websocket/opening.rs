//! Opens a socket: a channel of its own, the request of the handshake and its response.
//!
//! Does not record the handshake and does not choose its fields; its caller does.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;

use super::super::channel::Channel;
use super::super::failure::{Failure, Operation};
use super::super::http1::reader::Progress;
use super::super::network::Network;
use super::super::opening::open;
use super::super::origin::Origin;
use super::super::peer::Peer;
use super::super::prepared::PreparedRequest;
use super::super::response::{ResponseHead, Sink};
use super::handshake::{HandshakeReply, Refusal};
use super::socket::Socket;
use crate::recorder::{Counts, Marks};

/// Most bytes of a head.
const HEAD_MAX: usize = 256 << 10;
/// Bytes of a refusal's body that are kept.
pub const BODY_KEPT: usize = 1_024;

/// A handshake to be done.
#[derive(Clone, Copy)]
pub struct Opening<'a> {
    /// Where the connection goes.
    pub origin: &'a Arc<Origin>,
    /// The request, whose key is `key`.
    pub request: &'a PreparedRequest,
    /// The key of the request.
    pub key: &'a str,
    /// When it must be done, on the run's clock.
    pub limit: Nanos,
}

/// What a handshake came to.
pub struct Opened {
    /// The socket, or why there is none.
    pub result: Result<Socket, OpenError>,
    /// The response, if one came.
    pub reply: Option<HandshakeReply>,
    /// The server; `None` without a connection.
    pub peer: Option<Peer>,
    /// Durations and times of its phases.
    pub marks: Marks,
    /// Bytes and connections.
    pub counts: Counts,
    /// When it ended.
    pub done: Nanos,
}

/// Why there is no socket.
#[derive(Debug)]
pub enum OpenError {
    /// No connection, or no complete response.
    Failed(Failure),
    /// The server answered with something else; its first line.
    NoResponse(String),
    /// The server refused.
    Refused(Refusal),
}

/// A handshake as far as it got.
struct Attempt {
    reply: Option<HandshakeReply>,
    peer: Option<Peer>,
    marks: Marks,
    counts: Counts,
}

/// Opens a connection and does the handshake on it. Calls `on_sent` just before the first byte is handed to the kernel.
pub async fn open_socket(network: &Rc<Network>, opening: Opening<'_>, on_sent: impl FnOnce(Nanos)) -> Opened {
    let mut attempt = Attempt { reply: None, peer: None, marks: Marks::default(), counts: Counts::default() };
    let deadline = network.deadlines.add_user();
    let late = Cell::new(Fault::ConnectTimeout);
    let has_sent = Cell::new(false);
    let note_sent = |at| {
        has_sent.set(true);
        on_sent(at);
    };
    let ended = {
        let working = pin!(attempt.run(network, opening, &late, note_sent));
        deadline.limit(opening.limit, working).await
    };
    let mut done = network.clock.now();
    let result = ended.unwrap_or_else(|_| {
        done = opening.limit;
        let fault = if has_sent.get() { Fault::RequestTimeout } else { late.get() };
        Err(OpenError::Failed(fault.into()))
    });
    let Attempt { reply, peer, marks, counts } = attempt;
    Opened { result, reply, peer, marks, counts, done }
}

impl Attempt {
    async fn run(
        &mut self,
        network: &Rc<Network>,
        opening: Opening<'_>,
        late: &Cell<Fault>,
        on_sent: impl FnOnce(Nanos),
    ) -> Result<Socket, OpenError> {
        let number = network.resolver.next_client();
        let opened = open(network, opening.origin, network.tls_http1(), number, &mut self.marks, late).await;
        let mut channel = opened.map_err(OpenError::Failed)?;
        self.peer = channel.peer();
        self.counts.connections = 1;
        let held = network.count_opened(self.peer.map(|peer| peer.address.ip()));
        // From here on the count goes down with the socket.
        self.send(network, &mut channel, opening.request, on_sent).await.map_err(OpenError::Failed)?;
        let rest = self.receive(network, &mut channel).await?;
        let Some(reply) = &self.reply else { return Err(OpenError::Failed(Fault::ClosedEarly.into())) };
        match reply.verify(opening.key) {
            Ok(is_deflated) => {
                let mut socket = Socket::new(network.clone(), channel, held, is_deflated);
                socket.feed(&rest);
                Ok(socket)
            }
            Err(refusal) => {
                if reply.status != 101 {
                    self.read_body(network, &mut channel, rest).await;
                }
                Err(OpenError::Refused(refusal))
            }
        }
    }

    async fn send(
        &mut self,
        network: &Network,
        channel: &mut Channel,
        request: &PreparedRequest,
        on_sent: impl FnOnce(Nanos),
    ) -> Result<(), Failure> {
        let bytes = request.as_http1();
        channel.begin_send(bytes)?;
        let sent = network.clock.now();
        on_sent(sent);
        (self.marks.sent, self.marks.sent_last) = (sent, sent);
        let mut written = 0;
        poll_fn(|ctx| channel.poll_send(ctx, bytes, &mut written))
            .await
            .map_err(|error| Failure::exchanging(&error, Operation::Write))?;
        self.marks.sent_all = network.clock.now();
        self.counts.bytes_sent = written as u64;
        Ok(())
    }

    /// Reads the head; returns the bytes after it.
    async fn receive(&mut self, network: &Network, channel: &mut Channel) -> Result<Vec<u8>, OpenError> {
        let mut input = Vec::new();
        loop {
            let read = poll_fn(|ctx| {
                channel.poll_take(ctx, &mut network.worker_io().scratch.borrow_mut(), &mut input)
            })
            .await;
            let count = read.map_err(OpenError::Failed)?;
            if self.marks.first_byte == Nanos::ZERO && count > 0 {
                self.marks.first_byte = network.clock.now();
            }
            self.counts.bytes_received += count as u64;
            if let Some((reply, length)) = HandshakeReply::read(&input).map_err(OpenError::NoResponse)? {
                self.reply = Some(reply);
                return Ok(input.split_off(length));
            }
            if count == 0 {
                return Err(OpenError::Failed(Fault::ClosedEarly.into()));
            }
            if input.len() > HEAD_MAX {
                return Err(OpenError::Failed(Fault::HeadTooLarge.into()));
            }
        }
    }

    /// Reads the start of a refusal's body, of which `input` is there. What breaks meanwhile changes nothing.
    async fn read_body(&mut self, network: &Network, channel: &mut Channel, input: Vec<u8>) {
        let Some(reply) = &mut self.reply else { return };
        let mut reader = network.reader();
        reader.expect(false);
        let mut body = Start { bytes: Vec::new() };
        // The reader must see the framing.
        let mut next = head_of(reply);
        next.extend_from_slice(&input);
        loop {
            match reader.feed(&next, &mut body) {
                Ok(Progress::More) if body.bytes.len() < BODY_KEPT => {}
                _ => break,
            }
            next.clear();
            let read = poll_fn(|ctx| {
                channel.poll_take(ctx, &mut network.worker_io().scratch.borrow_mut(), &mut next)
            })
            .await;
            let Ok(1..) = read else { break };
            self.counts.bytes_received += next.len() as u64;
        }
        self.counts.bytes_body = body.bytes.len() as u64;
        reply.body = body.bytes;
    }
}

/// A head as it is read by the reader of responses.
fn head_of(reply: &HandshakeReply) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {}\r\n", reply.status).into_bytes();
    for (name, value) in &reply.fields {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// The start of a body.
struct Start {
    bytes: Vec<u8>,
}

impl Sink for Start {
    fn head(&mut self, _: &ResponseHead<'_>) -> Result<(), Fault> {
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let room = BODY_KEPT.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}
