//! Copies of the beginnings of a few long bodies, for what takes too long while requests wait.
//!
//! A worker copies one body at a time, and one per second at most. Once it has [`KEPT_MAX`] of them, it drops every
//! other one and waits twice as long between two, so that those that are left are spread over the run, however long
//! that is. A body of unknown length is copied before it is known to be too short. Does not look into the copies; see
//! [`crate::sampled`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use knee_core::unit::Nanos;

/// Most bytes of a body that are copied.
pub const COPIED_MAX: usize = 256 << 10;

/// Most copies of a worker, with the one that is being made: 2 MiB.
pub const KEPT_MAX: usize = 8;

/// Shortest body whose copy is kept: what a shorter one repeats is too little for a finding.
pub const BODY_MIN: u64 = 32 << 10;

/// Shortest time between two copies.
const PACE: Nanos = Nanos::from_secs(1);

/// The beginning of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyCopy {
    /// Its number in its worker.
    pub number: u32,
    /// Its bytes, before content decoding.
    pub bytes: Vec<u8>,
}

/// A copy in progress. Dropped, it is none, and the next one can begin.
pub struct Copying {
    bytes: Vec<u8>,
    _only: Rc<()>,
}

/// The copies of a worker.
#[derive(Default)]
pub struct Copies {
    /// When a request ended last.
    now: Cell<Nanos>,
    /// When the next copy is due.
    next: Cell<Nanos>,
    /// Time between two copies; zero before it was needed.
    pace: Cell<Nanos>,
    /// How many copies were kept so far.
    numbers: Cell<u32>,
    kept: RefCell<Vec<BodyCopy>>,
    /// Shared with the copy in progress, so that there is only one.
    only: Rc<()>,
}

impl Copies {
    /// The first copy is due at `at`.
    pub fn begin_at(&self, at: Nanos) {
        self.next.set(at);
    }

    /// A request has ended at `at`.
    pub fn passed(&self, at: Nanos) {
        self.now.set(at);
    }

    /// A copy of the next body, whose length can be known, if one is due.
    pub fn begin(&self, length: Option<u64>) -> Option<Copying> {
        let is_short = length.is_some_and(|length| length < BODY_MIN);
        if is_short || self.now.get() < self.next.get() || Rc::strong_count(&self.only) > 1 {
            return None;
        }
        let mut pace = self.pace.get().max(PACE);
        let mut kept = self.kept.borrow_mut();
        if kept.len() >= KEPT_MAX {
            let mut number = 0_usize;
            kept.retain(|_| {
                number += 1;
                !number.is_multiple_of(2)
            });
            pace = pace.saturating_add(pace);
            self.pace.set(pace);
        }
        self.next.set(self.now.get().saturating_add(pace));
        let room = length.map_or(COPIED_MAX, |length| length.min(COPIED_MAX as u64) as usize);
        Some(Copying { bytes: Vec::with_capacity(room), _only: self.only.clone() })
    }

    /// Keeps the copy of a body of this length, unless that is too short. Returns the number of the copy.
    pub fn keep(&self, copying: Copying, length: u64) -> Option<u32> {
        if length < BODY_MIN {
            return None;
        }
        let number = self.numbers.get();
        self.numbers.set(number.wrapping_add(1));
        self.kept.borrow_mut().push(BodyCopy { number, bytes: copying.bytes });
        Some(number)
    }

    /// The copies, the oldest first.
    pub fn take(&self) -> Vec<BodyCopy> {
        self.kept.take()
    }
}

impl Copying {
    /// The next bytes of the body. What does not fit is left out: nothing is allocated here.
    pub fn add(&mut self, bytes: &[u8]) {
        let room = self.bytes.capacity().min(COPIED_MAX).saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}
