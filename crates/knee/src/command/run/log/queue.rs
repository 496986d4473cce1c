//! Lines that wait to be written by a thread of their own, so that no virtual user ever waits for a reader of them.
//!
//! Bounded in bytes: a line that finds no room is dropped and counted. Does not write.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Most bytes that wait; as much as some 300,000 lines of the usual length.
const BYTES_MAX: usize = 32 << 20;

/// Lines on their way to `T`, a kind of place.
pub struct Queue<T> {
    inner: Mutex<Inner<T>>,
    changed: Condvar,
}

struct Inner<T> {
    lines: VecDeque<(T, String)>,
    bytes: usize,
    /// Lines that found no room.
    lost: u64,
    /// Lines that were taken out.
    taken: u64,
    closed: bool,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It waits.
    Kept,
    /// It was dropped, as the first one.
    FirstLost,
    /// It was dropped.
    Lost,
}

impl<T> Queue<T> {
    /// An empty queue.
    pub fn new() -> Self {
        let inner = Inner { lines: VecDeque::new(), bytes: 0, lost: 0, taken: 0, closed: false };
        Self { inner: Mutex::new(inner), changed: Condvar::new() }
    }

    /// Adds a line, or drops it if there is no room. Never waits for the writer.
    pub fn push(&self, place: T, line: String) -> Pushed {
        let mut inner = self.inner();
        if inner.bytes + line.len() > BYTES_MAX {
            inner.lost += 1;
            return if inner.lost == 1 { Pushed::FirstLost } else { Pushed::Lost };
        }
        inner.bytes += line.len();
        inner.lines.push_back((place, line));
        drop(inner);
        self.changed.notify_one();
        Pushed::Kept
    }

    /// The next line, when there is one; `None` after the last of a closed queue.
    pub fn next(&self) -> Option<(T, String)> {
        let mut inner = self.inner();
        loop {
            if let Some((place, line)) = inner.lines.pop_front() {
                inner.bytes -= line.len();
                inner.taken += 1;
                return Some((place, line));
            }
            if inner.closed {
                return None;
            }
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// No line will come any more.
    pub fn close(&self) {
        self.inner().closed = true;
        self.changed.notify_all();
    }

    /// Number of lines that the writer took so far.
    pub fn taken(&self) -> u64 {
        self.inner().taken
    }

    /// Drops what still waits; returns the number of all lines that were dropped.
    pub fn give_up(&self) -> u64 {
        let mut inner = self.inner();
        let waiting = inner.lines.len() as u64;
        inner.lines.clear();
        inner.bytes = 0;
        inner.lost + waiting
    }

    fn inner(&self) -> MutexGuard<'_, Inner<T>> {
        // Every change of it is a single step.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_in_their_order_and_the_last_one_of_a_closed_queue_is_the_end() {
        let queue = Queue::new();
        queue.push(1, "a".to_owned());
        queue.push(2, "b".to_owned());
        queue.close();
        assert_eq!(queue.next(), Some((1, "a".to_owned())));
        assert_eq!(queue.next(), Some((2, "b".to_owned())));
        assert_eq!((queue.next(), queue.taken(), queue.give_up()), (None, 2, 0));
    }

    #[test]
    fn lines_that_are_not_read_are_dropped_and_counted() {
        let queue = Queue::new();
        let line = "x".repeat(BYTES_MAX / 2);
        let pushed: Vec<_> = (0..5).map(|_| queue.push((), line.clone())).collect();
        assert_eq!(pushed[1..4], [Pushed::Kept, Pushed::FirstLost, Pushed::Lost]);
        assert_eq!(queue.give_up(), 5, "three found no room and two were never read");
    }
}
