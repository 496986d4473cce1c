//! The events of all sockets of a VU, in the order in which they happened.
//!
//! Does not call handlers and does not limit how much waits; each socket does.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use super::event::Event;

/// Events that the script has not seen, each with the number of its socket.
#[derive(Debug, Default)]
pub struct Inbox {
    events: RefCell<VecDeque<(u64, Event)>>,
    /// What waits for an event.
    waker: RefCell<Option<Waker>>,
}

impl Inbox {
    /// Adds an event of a socket.
    pub fn push(&self, socket: u64, event: Event) {
        self.events.borrow_mut().push_back((socket, event));
        self.wake();
    }

    /// Wakes what waits.
    pub fn wake(&self) {
        let waker = self.waker.borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The first event.
    pub fn pop(&self) -> Option<(u64, Event)> {
        self.events.borrow_mut().pop_front()
    }

    /// The first event of one socket.
    pub fn pop_of(&self, socket: u64) -> Option<Event> {
        let mut events = self.events.borrow_mut();
        let place = events.iter().position(|(known, _)| *known == socket)?;
        events.remove(place).map(|(_, event)| event)
    }

    /// Forgets the events of one socket.
    pub fn forget(&self, socket: u64) {
        self.events.borrow_mut().retain(|(known, _)| *known != socket);
    }

    /// Ready when `is_enough` holds, which is asked again whenever something happened.
    pub fn poll_until(&self, ctx: &Context<'_>, is_enough: impl Fn() -> bool) -> Poll<()> {
        if is_enough() {
            return Poll::Ready(());
        }
        self.waker.replace(Some(ctx.waker().clone()));
        Poll::Pending
    }

    /// Whether there is an event of any socket, or of this one.
    pub fn has(&self, socket: Option<u64>) -> bool {
        let events = self.events.borrow();
        socket.map_or(!events.is_empty(), |socket| events.iter().any(|(known, _)| *known == socket))
    }
}
