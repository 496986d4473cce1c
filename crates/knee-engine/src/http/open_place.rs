//! The place of a connection in the worker's count of open connections.
//!
//! Opens and closes nothing.

use std::cell::Cell;
use std::rc::Rc;

/// Counts a connection as open until it is dropped.
#[derive(Debug)]
pub struct OpenPlace {
    open: Rc<Cell<u64>>,
    number: u32,
}

impl OpenPlace {
    /// Raises the count `open`. `number` is that of the connection.
    pub(super) fn take(open: &Rc<Cell<u64>>, number: u32) -> Self {
        open.set(open.get() + 1);
        Self { open: open.clone(), number }
    }

    /// The number of the connection, in the order in which its worker opened them; from 0, and again after 2^32.
    pub const fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for OpenPlace {
    fn drop(&mut self) {
        self.open.set(self.open.get() - 1);
    }
}
