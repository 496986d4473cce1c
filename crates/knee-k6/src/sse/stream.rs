//! One stream of events, between its VU and the task that waits for the network ([`super::conversation`]).
//!
//! Keeps the server waiting while the script is behind. Does not read.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::event::StreamNews;
use super::session::Session;
use crate::account::Account;
use crate::inbox::{Happening, Inbox};

/// Bytes that wait for the script before no more are read.
const UNHEARD_MAX: usize = 1 << 20;
/// Bytes that each event counts for, in addition to its texts: they are allocated one by one.
pub const EVENT_BYTES: usize = 256;

/// One stream of a script.
pub struct EventStream {
    number: u64,
    inbox: Rc<Inbox>,
    account: Account,
    session: Session,
    unheard: Cell<usize>,
    is_closed: Cell<bool>,
    is_over: Cell<bool>,
    /// The task that waits for the network.
    waker: RefCell<Option<Waker>>,
}

impl EventStream {
    /// A stream that is about to be opened.
    pub fn new(number: u64, inbox: Rc<Inbox>, account: &Account, session: Session) -> Self {
        Self {
            number,
            inbox,
            account: account.clone(),
            session,
            unheard: Cell::default(),
            is_closed: Cell::default(),
            is_over: Cell::default(),
            waker: RefCell::default(),
        }
    }

    /// Its samples.
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The memory of its VU.
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// Something happened.
    pub fn push(&self, news: StreamNews) {
        self.is_over.set(matches!(news, StreamNews::Ended | StreamNews::Refused(_)));
        self.unheard.set(self.unheard.get() + EVENT_BYTES + news.bytes());
        self.inbox.push(self.number, Happening::Events(news));
    }

    /// What happened first that the script has not seen.
    pub fn take(&self) -> Option<StreamNews> {
        let Happening::Events(news) = self.inbox.pop_of(self.number)? else { return None };
        let was_full = self.unheard.get() > UNHEARD_MAX;
        self.unheard.set(self.unheard.get().saturating_sub(EVENT_BYTES + news.bytes()));
        if was_full {
            self.wake();
        }
        Some(news)
    }

    /// Whether nothing more happens on it.
    pub fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// The script wants nothing more.
    pub fn close(&self) {
        self.is_closed.set(true);
        self.wake();
    }

    /// Whether more is to be read: not once the script has closed the stream, and not now while it is far behind.
    pub fn poll_wants(&self, ctx: &Context<'_>) -> Poll<bool> {
        self.waker.replace(Some(ctx.waker().clone()));
        match (self.is_closed.get(), self.unheard.get() > UNHEARD_MAX) {
            (true, _) => Poll::Ready(false),
            (false, true) => Poll::Pending,
            (false, false) => Poll::Ready(true),
        }
    }

    fn wake(&self) {
        let waker = self.waker.borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The streams of one VU by their numbers: one, and more where a handler opens another.
#[derive(Default)]
pub struct EventStreams {
    all: RefCell<HashMap<u64, Rc<EventStream>>>,
}

impl EventStreams {
    /// Adds a stream.
    pub fn add(&self, stream: Rc<EventStream>) {
        self.all.borrow_mut().insert(stream.number, stream);
    }

    /// A stream that has not been forgotten.
    pub fn find(&self, number: u64) -> Option<Rc<EventStream>> {
        self.all.borrow().get(&number).cloned()
    }

    /// Forgets a stream, and what happened on it.
    pub fn forget(&self, number: u64) {
        let stream = self.all.borrow_mut().remove(&number);
        if let Some(stream) = stream {
            stream.close();
            stream.inbox.forget(number);
        }
    }

    /// Forgets all of them.
    pub fn clear(&self) {
        let numbers: Vec<u64> = self.all.borrow().keys().copied().collect();
        for number in numbers {
            self.forget(number);
        }
    }
}
