//! The counts of all connections of a watch, open or closed.
//!
//! Each connection has a lock of its own, which it holds for some additions at the end of a statement. Locks are taken
//! in one order: the list of the connections, the counts of one, the texts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::counts::{Counts, Load, Texts};

/// Most connections whose use is counted one by one. All further ones are counted together, so that the page of a
/// service with a connection per request ends.
const NUMBERED_MAX: usize = 64;

/// What the connections of a watch share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    connections: Mutex<Connections>,
    texts: Mutex<Texts>,
}

#[derive(Debug, Default)]
struct Connections {
    open: Vec<Open>,
    closed: Counts,
    /// The use of closed connections by their number, from 0 on; at the end, that of all without one.
    used: Vec<Load>,
}

#[derive(Debug)]
struct Open {
    counts: Arc<Mutex<Counts>>,
    number: usize,
}

impl Connections {
    /// The lowest number that no open connection has.
    fn free_number(&self) -> usize {
        let is_free = |number: &usize| self.open.iter().all(|one| one.number != *number);
        (0..NUMBERED_MAX).find(is_free).unwrap_or(NUMBERED_MAX)
    }
}

/// Adds to the use of the connections of one number.
fn add_load(used: &mut Vec<Load>, number: usize, load: Load) {
    if used.len() <= number {
        used.resize(number + 1, Load::default());
    }
    used[number].add(load);
}

/// All counts of one moment.
#[derive(Debug)]
pub(crate) struct Sum {
    pub open: usize,
    pub counts: Counts,
    pub texts: Vec<Arc<str>>,
    /// The use of connections by their number, from 0 on; at place 64, that of all without one.
    pub used: Vec<Load>,
}

impl Sum {
    /// Every connection that was used, by its name on the page.
    pub(crate) fn by_connection(&self) -> impl Iterator<Item = (String, Load)> {
        let name = |number: usize| {
            if number < NUMBERED_MAX { (number + 1).to_string() } else { "(other)".to_owned() }
        };
        let used = self.used.iter().enumerate().filter(|(_, load)| load.calls > 0);
        used.map(move |(number, load)| (name(number), *load))
    }
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
        let mut used = connections.used.clone();
        for one in &connections.open {
            let own = lock(&one.counts);
            add_load(&mut used, one.number, own.load());
            counts.merge(&own);
        }
        // The texts last: every number in the counts has one then.
        Sum { open: connections.open.len(), counts, texts: lock(&self.texts).all(), used }
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
        let mut connections = lock(&shared.connections);
        let open = Open { counts: Arc::clone(&counts), number: connections.free_number() };
        connections.open.push(open);
        drop(connections);
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
        let place = connections.open.iter().position(|one| Arc::ptr_eq(&one.counts, &self.counts));
        let own = lock(&self.counts);
        if let Some(place) = place {
            let number = connections.open.swap_remove(place).number;
            add_load(&mut connections.used, number, own.load());
        }
        connections.closed.merge(&own);
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

    #[test]
    fn a_connection_has_the_number_of_one_that_has_closed_and_the_65th_none_of_its_own() {
        let shared = Arc::new(Shared::default());
        let used = |recorder: &Recorder, calls: u64| {
            recorder.counts().add_work(1, &Work { calls, ..Work::default() });
        };
        let calls = || {
            let sum = shared.sum();
            sum.by_connection().map(|(name, load)| (name, load.calls)).collect::<Vec<_>>()
        };
        let (one, other) = (Recorder::new(&shared), Recorder::new(&shared));
        used(&one, 3);
        used(&other, 5);
        drop(one);
        let next = Recorder::new(&shared);
        used(&next, 10);
        assert_eq!(calls(), [("1".to_owned(), 13), ("2".to_owned(), 5)]);
        let many: Vec<Recorder> = (0..64).map(|_| Recorder::new(&shared)).collect();
        used(&many[62], 7);
        used(&many[63], 8);
        assert_eq!(calls().last(), Some(&("(other)".to_owned(), 15)));
        drop(many);
        assert_eq!(calls().last(), Some(&("(other)".to_owned(), 15)), "they have closed");
        assert_eq!(calls().len(), 3, "of the others, no statement ended");
    }
}
