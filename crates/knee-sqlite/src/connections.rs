//! The counts of all connections of a watch, open or closed.
//!
//! Each connection has a lock of its own, which it holds for some additions at the end of a statement. Locks are taken
//! in one order: the list of the connections, the counts of one, the texts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::counts::{Counts, Texts};

/// What the connections of a watch share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    connections: Mutex<Connections>,
    texts: Mutex<Texts>,
}

#[derive(Debug, Default)]
struct Connections {
    open: Vec<Arc<Mutex<Counts>>>,
    closed: Counts,
}

/// All counts of one moment.
#[derive(Debug)]
pub(crate) struct Sum {
    pub open: usize,
    pub counts: Counts,
    pub texts: Vec<Arc<str>>,
}

impl Shared {
    /// The number of a masked text.
    pub(crate) fn number(&self, text: &str) -> usize {
        lock(&self.texts).number(text)
    }

    /// The counts of all connections together.
    pub(crate) fn sum(&self) -> Sum {
        let connections = lock(&self.connections);
        let mut counts = Counts::default();
        counts.merge(&connections.closed);
        for one in &connections.open {
            counts.merge(&lock(one));
        }
        // The texts last: every number in the counts has one then.
        Sum { open: connections.open.len(), counts, texts: lock(&self.texts).all() }
    }
}

/// The counts of one connection. They stay when the connection closes.
#[derive(Debug)]
pub(crate) struct Recorder {
    counts: Arc<Mutex<Counts>>,
    shared: Arc<Shared>,
}

impl Recorder {
    /// A connection more.
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        let counts: Arc<Mutex<Counts>> = Arc::default();
        lock(&shared.connections).open.push(Arc::clone(&counts));
        Self { counts, shared: Arc::clone(shared) }
    }

    /// The counts of this connection.
    pub(crate) fn counts(&self) -> MutexGuard<'_, Counts> {
        lock(&self.counts)
    }

    /// The number of a masked text.
    pub(crate) fn number(&self, text: &str) -> usize {
        self.shared.number(text)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let mut connections = lock(&self.shared.connections);
        connections.open.retain(|one| !Arc::ptr_eq(one, &self.counts));
        connections.closed.merge(&lock(&self.counts));
    }
}

/// A lock, also after a panic of its holder: sums are whole at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Work;

    #[test]
    fn the_counts_of_a_closed_connection_stay() {
        let shared = Arc::new(Shared::default());
        let (one, other) = (Recorder::new(&shared), Recorder::new(&shared));
        let number = one.number("SELECT ?");
        for recorder in [&one, &other] {
            recorder.counts().add_work(number, &Work { calls: 2, ..Work::default() });
        }
        assert_eq!(shared.sum().open, 2);
        drop(one);
        let sum = shared.sum();
        let calls: Vec<_> = sum.counts.by_text(&sum.texts).map(|(text, work)| (text, work.calls)).collect();
        assert_eq!((sum.open, calls), (1, vec![("SELECT ?", 4)]));
    }
}
