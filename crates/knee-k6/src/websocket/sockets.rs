//! The sockets of one VU.
//!
//! Numbers them and finds them; does not open them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use knee_core::clock::MonotonicClock;
use knee_engine::http::websocket::close;

use super::event::Event;
use super::line::{Line, NORMAL};
use super::session::Session;
use crate::account::Account;
use crate::inbox::{Happening, Inbox};

/// The sockets of one VU.
pub struct Sockets {
    lines: RefCell<HashMap<u64, Rc<Line>>>,
    inbox: Rc<Inbox>,
}

impl Sockets {
    /// No sockets yet. What happens on them goes to `inbox`.
    pub fn new(inbox: Rc<Inbox>) -> Self {
        Self { lines: RefCell::default(), inbox }
    }

    /// Adds a socket that is about to be opened; its number.
    pub fn add(&self, session: Session, clock: MonotonicClock, account: &Account) -> u64 {
        let id = self.inbox.number();
        let line = Line::new(id, session, clock, account, self.inbox.clone());
        self.lines.borrow_mut().insert(id, Rc::new(line));
        id
    }

    /// A socket that has not been forgotten.
    pub fn find(&self, id: u64) -> Option<Rc<Line>> {
        self.lines.borrow().get(&id).cloned()
    }

    /// The first event of one socket.
    pub fn take_of(&self, id: u64) -> Option<Event> {
        let Happening::Socket(event) = self.inbox.pop_of(id)? else { return None };
        self.heard(id, &event);
        Some(event)
    }

    /// The script has taken an event of a socket.
    pub fn heard(&self, id: u64, event: &Event) {
        if let Some(line) = self.find(id) {
            line.heard(event);
        }
    }

    /// Closes a connection and forgets the socket.
    pub fn forget(&self, id: u64) {
        let line = self.lines.borrow_mut().remove(&id);
        if let Some(line) = line {
            line.drop_socket();
        }
        self.inbox.forget(id);
    }

    /// Closes all sockets, as k6 does when the script has thrown. Those whose handshake is under way are forgotten;
    /// returns their numbers.
    pub fn close_all(&self) -> Vec<u64> {
        let lines: Vec<Rc<Line>> = self.lines.borrow().values().cloned().collect();
        let mut forgotten = Vec::new();
        for line in lines {
            if line.is_connecting() {
                forgotten.push(line.id());
                self.forget(line.id());
            } else {
                // What cannot be sent is broken already, and ends by itself.
                let _ = line.close(&close::payload(NORMAL, ""));
            }
        }
        forgotten
    }

    /// The run ends all sockets.
    pub fn cut(&self) {
        let lines = std::mem::take(&mut *self.lines.borrow_mut());
        for (id, line) in lines {
            line.cut();
            self.inbox.forget(id);
        }
    }
}
