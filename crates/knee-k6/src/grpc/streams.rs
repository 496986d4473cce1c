//! The streams of one VU.
//!
//! Finds them; does not open them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::event::StreamEvent;
use super::stream::Line;

/// The streams of one VU by their numbers.
#[derive(Default)]
pub struct Streams {
    lines: RefCell<HashMap<u64, Rc<Line>>>,
}

impl Streams {
    /// Adds a stream.
    pub fn add(&self, number: u64, line: Rc<Line>) {
        self.lines.borrow_mut().insert(number, line);
    }

    /// A stream that has not been forgotten.
    pub fn find(&self, number: u64) -> Option<Rc<Line>> {
        self.lines.borrow().get(&number).cloned()
    }

    /// The script has taken an event of a stream.
    pub fn heard(&self, number: u64, event: &StreamEvent) {
        if let Some(line) = self.find(number) {
            line.heard(event);
        }
    }

    /// Forgets a stream.
    pub fn forget(&self, number: u64) {
        self.lines.borrow_mut().remove(&number);
    }

    /// Forgets all of them; their numbers.
    pub fn clear(&self) -> Vec<u64> {
        std::mem::take(&mut *self.lines.borrow_mut()).into_keys().collect()
    }
}
