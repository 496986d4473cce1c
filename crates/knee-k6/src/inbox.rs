//! What happened beside the script of a VU, in the order in which it happened: on its sockets, on its streams, and to
//! the calls that it does not wait for.
//!
//! Does not call handlers and does not limit how much waits; each socket and each stream does.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use crate::account::Charge;
use crate::grpc::event::StreamEvent;
use crate::grpc::reply::Reply;
use crate::redis::command::{Answer, CommandError};
use crate::sse::event::StreamNews;
use crate::websocket::event::Event;

/// Something that happened beside the script.
#[derive(Debug)]
pub enum Happening {
    /// On a socket.
    Socket(Event),
    /// On a stream of gRPC.
    Stream(StreamEvent),
    /// On a stream of server-sent events.
    Events(StreamNews),
    /// A call of gRPC is over; or k6's words for why its response cannot be shown.
    Called(Box<Result<Reply, String>>),
    /// A command of Redis is over; its answer comes with the memory that it takes.
    Answered(Box<Result<(Answer, Charge), CommandError>>),
}

/// What the script has not seen, each with the number of the socket, stream or call that it belongs to.
#[derive(Debug, Default)]
pub struct Inbox {
    waiting: RefCell<VecDeque<(u64, Happening)>>,
    /// What waits for something to happen.
    waker: RefCell<Option<Waker>>,
    last: Cell<u64>,
}

impl Inbox {
    /// A number for a socket, stream, request, call or command; no other one of the VU has it.
    pub fn number(&self) -> u64 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }

    /// Adds what happened to a number.
    pub fn push(&self, number: u64, happening: Happening) {
        self.waiting.borrow_mut().push_back((number, happening));
        self.wake();
    }

    /// Wakes what waits.
    pub fn wake(&self) {
        let waker = self.waker.borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// What happened first.
    pub fn pop(&self) -> Option<(u64, Happening)> {
        self.waiting.borrow_mut().pop_front()
    }

    /// What happened first to one number.
    pub fn pop_of(&self, number: u64) -> Option<Happening> {
        let mut waiting = self.waiting.borrow_mut();
        let place = waiting.iter().position(|(known, _)| *known == number)?;
        waiting.remove(place).map(|(_, happening)| happening)
    }

    /// Forgets what happened to one number.
    pub fn forget(&self, number: u64) {
        self.waiting.borrow_mut().retain(|(known, _)| *known != number);
    }

    /// Ready when `is_enough` holds, which is asked again whenever something happened.
    pub fn poll_until(&self, ctx: &Context<'_>, is_enough: impl Fn() -> bool) -> Poll<()> {
        if is_enough() {
            return Poll::Ready(());
        }
        self.waker.replace(Some(ctx.waker().clone()));
        Poll::Pending
    }

    /// Whether something happened at all, or to this number.
    pub fn has(&self, number: Option<u64>) -> bool {
        let waiting = self.waiting.borrow();
        number.map_or(!waiting.is_empty(), |number| waiting.iter().any(|(known, _)| *known == number))
    }
}
