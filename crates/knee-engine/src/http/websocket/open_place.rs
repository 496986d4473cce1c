//! The place of a socket in the worker's count of open connections.
//!
//! Does not raise the count.

use std::cell::Cell;
use std::rc::Rc;

/// Counts a connection as open until it is dropped.
#[derive(Debug)]
pub struct OpenPlace {
    open: Rc<Cell<u64>>,
}

impl OpenPlace {
    /// A place in the count `open`, which the caller has raised.
    pub const fn new(open: Rc<Cell<u64>>) -> Self {
        Self { open }
    }
}

impl Drop for OpenPlace {
    fn drop(&mut self) {
        self.open.set(self.open.get() - 1);
    }
}
