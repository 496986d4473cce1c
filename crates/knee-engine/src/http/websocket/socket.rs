//! One open socket: messages of the script to bytes of the channel, and back.
//!
//! Sends at once as much as the kernel takes; the rest waits for [`Socket::poll_flush`]. Has no time limit, answers
//! nothing by itself but a server that breaks the protocol, and does not say when a message is handled.

use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use knee_core::outcome::Fault;

use super::super::channel::Channel;
use super::super::failure::{Failure, Operation};
use super::super::memory::{BODY_FREE, MemoryShare};
use super::super::network::Network;
use super::super::open_place::OpenPlace;
use super::super::tls::SessionState;
use super::assembler::{Assembler, Incoming};
use super::close;
use super::deflate::deflate;
use super::frame::{self, CONTROL_MAX, Opcode};
use super::trouble::Trouble;

/// The code of a close that says that the other side broke the protocol.
const PROTOCOL_ERROR: u16 = 1002;

/// An open socket. Closes its connection when it is dropped.
pub struct Socket {
    network: Rc<Network>,
    channel: Channel,
    /// The place in the worker's count of open connections.
    _open: OpenPlace,
    assembler: Assembler,
    is_deflated: bool,
    /// Frames to be sent; the bytes before `written` are done. Without TLS alone: TLS keeps them itself.
    outgoing: Vec<u8>,
    written: usize,
    /// Whether a close was sent, after which nothing else can be.
    is_closing: bool,
    traffic: SocketTraffic,
}

/// Bytes of a socket since its handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketTraffic {
    /// Bytes of frames to the server.
    pub sent: u64,
    /// Bytes of frames from it.
    pub received: u64,
}

/// Why a message was not sent.
#[derive(Debug)]
pub enum SendError {
    /// A close was sent before.
    Closing,
    /// The connection is broken.
    Broken(Failure),
}

/// Why nothing more comes.
#[derive(Debug)]
pub enum ReceiveError {
    /// The connection ended without a close.
    Ended,
    /// The server broke the protocol, and was sent a close that says so.
    Protocol(String),
    /// A compressed message is broken.
    Inflate(String),
    /// The connection is broken, or a message is too large.
    Broken(Failure),
}

impl Socket {
    /// A socket on a channel whose handshake is done.
    pub(super) fn new(network: Rc<Network>, channel: Channel, open: OpenPlace, is_deflated: bool) -> Self {
        let memory = MemoryShare::new(network.memory().clone(), BODY_FREE);
        Self {
            network,
            channel,
            _open: open,
            assembler: Assembler::new(is_deflated, memory),
            is_deflated,
            outgoing: Vec::new(),
            written: 0,
            is_closing: false,
            traffic: SocketTraffic::default(),
        }
    }

    /// Takes bytes that came with the handshake.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.traffic.received += bytes.len() as u64;
        self.assembler.feed(bytes);
    }

    /// Bytes since the handshake.
    pub const fn traffic(&self) -> SocketTraffic {
        self.traffic
    }

    /// The ends of the connection, this one first; `None` for Unix sockets.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        Some((self.channel.local()?, self.channel.peer()?.address))
    }

    /// Whether all bytes were handed to the kernel.
    pub fn is_flushed(&self) -> bool {
        self.waiting() == 0
    }

    /// Bytes that wait to be sent.
    pub fn waiting(&self) -> usize {
        self.outgoing.len() + self.channel.waiting()
    }

    /// Makes a frame of a message and keeps it for [`Self::poll_flush`].
    pub fn send(&mut self, opcode: Opcode, payload: &[u8]) -> Result<(), SendError> {
        if self.is_closing {
            return Err(SendError::Closing);
        }
        self.is_closing = opcode == Opcode::Close;
        let is_compressed = self.is_deflated && !opcode.is_control();
        let compressed;
        let payload = if is_compressed {
            compressed = deflate(payload);
            &compressed
        } else {
            payload
        };
        // The mask keeps intermediaries from reading requests into frames; it need not be secret from this machine.
        let mask = rand::random::<[u8; 4]>();
        let start = self.outgoing.len();
        frame::write(&mut self.outgoing, opcode, is_compressed, payload, mask);
        self.traffic.sent += (self.outgoing.len() - start) as u64;
        if self.channel.is_secure() {
            let frame = self.outgoing.split_off(start);
            self.channel.begin_send(&frame).map_err(SendError::Broken)?;
        }
        Ok(())
    }

    /// Hands frames to the kernel until there are none.
    pub fn poll_flush(&mut self, ctx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if self.is_flushed() {
            return Poll::Ready(Ok(()));
        }
        let sent = ready!(self.channel.poll_send(ctx, &self.outgoing, &mut self.written));
        self.outgoing.clear();
        self.written = 0;
        Poll::Ready(sent.map_err(|error| Failure::exchanging(&error, Operation::Write)))
    }

    /// What the server sent next. After a close or an error nothing more comes.
    pub fn poll_next(&mut self, ctx: &mut Context<'_>) -> Poll<Result<Incoming, ReceiveError>> {
        loop {
            match self.assembler.take_next() {
                Ok(Some(incoming)) => return Poll::Ready(Ok(incoming)),
                Ok(None) => {}
                Err(trouble) => return Poll::Ready(Err(self.refuse(ctx, trouble))),
            }
            if ready!(self.poll_read(ctx))? {
                return Poll::Ready(Err(ReceiveError::Ended));
            }
        }
    }

    /// Reads what has arrived; whether the stream has ended.
    fn poll_read(&mut self, ctx: &mut Context<'_>) -> Poll<Result<bool, ReceiveError>> {
        let Self { network, channel, assembler, traffic, .. } = self;
        let worker_io = network.worker_io();
        let mut scratch = worker_io.scratch.borrow_mut();
        let read = ready!(channel.poll_read(ctx, &mut scratch));
        let count = match read {
            Ok(0) => return Poll::Ready(Ok(true)),
            Ok(count) => count,
            Err(error) => {
                return Poll::Ready(Err(ReceiveError::Broken(Failure::exchanging(&error, Operation::Read))));
            }
        };
        let before = traffic.received;
        let state = channel.receive(&mut scratch[..count], |plain| {
            traffic.received += plain.len() as u64;
            assembler.feed(plain);
            Ok(())
        });
        let state = state.map_err(ReceiveError::Broken)?;
        Poll::Ready(Ok(state == SessionState::Closed && traffic.received == before))
    }

    /// Says to a server that broke the protocol what it did.
    fn refuse(&mut self, ctx: &mut Context<'_>, trouble: Trouble) -> ReceiveError {
        match trouble {
            Trouble::Protocol(words) => {
                let mut payload = close::payload(PROTOCOL_ERROR, &words);
                payload.truncate(CONTROL_MAX);
                // A connection that is broken too is reported by the next operation.
                let _ = self.send(Opcode::Close, &payload);
                let _ = self.poll_flush(ctx);
                ReceiveError::Protocol(words)
            }
            Trouble::Inflate(words) => ReceiveError::Inflate(words),
            Trouble::TooLarge => ReceiveError::Broken(Fault::BodyLimit.into()),
        }
    }
}
