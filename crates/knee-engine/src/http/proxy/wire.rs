//! The exchange with a proxy: bytes there, and bytes back as they are needed.
//!
//! Knows no proxy and has no time limit.

use std::future::poll_fn;
use std::net::SocketAddr;

use knee_core::outcome::Fault;

use super::super::channel::{Channel, WorkerIo};
use super::super::failure::{Failure, Operation};

/// A channel to a proxy, and what was received on it and not read.
pub(super) struct Wire<'a> {
    channel: &'a mut Channel,
    worker_io: WorkerIo<'a>,
    pub(super) input: Vec<u8>,
}

impl<'a> Wire<'a> {
    /// A channel on which nothing was received yet.
    pub(super) const fn new(channel: &'a mut Channel, worker_io: WorkerIo<'a>) -> Self {
        Self { channel, worker_io, input: Vec::new() }
    }

    /// The address of the proxy.
    pub(super) fn proxy(&self) -> Option<SocketAddr> {
        self.channel.peer().map(|peer| peer.address)
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.channel.begin_send(bytes)?;
        let mut written = 0;
        let sent = poll_fn(|ctx| self.channel.poll_send(ctx, bytes, &mut written)).await;
        sent.map_err(|error| Failure::exchanging(&error, Operation::Write))
    }

    /// Waits for more input. Fails with [`Fault::ClosedEarly`] at the end.
    pub(super) async fn receive(&mut self) -> Result<(), Failure> {
        let Self { channel, worker_io, input } = self;
        let read = poll_fn(|ctx| channel.poll_take(ctx, &mut worker_io.scratch.borrow_mut(), input)).await;
        match read? {
            0 => Err(Failure::new(Fault::ClosedEarly, "the proxy closed the connection before it answered")),
            _ => Ok(()),
        }
    }

    /// The next `length` bytes.
    pub(super) async fn take(&mut self, length: usize) -> Result<Vec<u8>, Failure> {
        while self.input.len() < length {
            self.receive().await?;
        }
        let rest = self.input.split_off(length);
        Ok(std::mem::replace(&mut self.input, rest))
    }
}
