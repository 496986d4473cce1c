//! What is counted: the work of statements by their text, waits for locks, and transactions that write.
//!
//! Plain sums. Texts have numbers here; [`Texts`] gives the same number to the same text of every connection.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Most texts of statements. All further ones are counted together, so that a service whose statements all differ has a
/// page that ends.
pub(crate) const STATEMENTS_MAX: usize = 200;

/// The number of all texts beyond [`STATEMENTS_MAX`].
pub(crate) const OTHER: usize = 0;

/// What statements of one text did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    pub calls: u64,
    /// From the first step to the last, with waits and with what the service did between two rows.
    pub time: Duration,
    /// Steps from row to row in scans that no condition bounds.
    pub scan_steps: u64,
    pub sorts: u64,
    /// Rows that were put into automatic indexes.
    pub index_rows: u64,
}

impl Work {
    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.time += other.time;
        self.scan_steps += other.scan_steps;
        self.sorts += other.sorts;
        self.index_rows += other.index_rows;
    }
}

/// How much a connection was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub calls: u64,
    pub time: Duration,
}

impl Load {
    /// Adds another one.
    pub(crate) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.time += other.time;
    }
}

/// Waits for locks, and transactions that write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Locks {
    /// Times that a statement found a lock held.
    pub busy: u64,
    pub wait: Duration,
    /// Waits that reached their limit: SQLite then returned `SQLITE_BUSY`.
    pub timeouts: u64,
    /// How long these had waited.
    pub timeout_wait: Duration,
    /// Transactions that held the write lock, and how long they did together.
    pub writes: u64,
    pub write_time: Duration,
    /// Transactions that began with BEGIN, read, and then wrote.
    pub upgrades: u64,
    /// Of these, those whose first write SQLite refused at once.
    pub upgrades_refused: u64,
    /// Of these, those that ended with ROLLBACK.
    pub upgrades_rolled_back: u64,
}

impl Locks {
    fn add(&mut self, other: &Self) {
        self.busy += other.busy;
        self.wait += other.wait;
        self.timeouts += other.timeouts;
        self.timeout_wait += other.timeout_wait;
        self.writes += other.writes;
        self.write_time += other.write_time;
        self.upgrades += other.upgrades;
        self.upgrades_refused += other.upgrades_refused;
        self.upgrades_rolled_back += other.upgrades_rolled_back;
    }
}

/// The counts of one connection, or of several together.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub locks: Locks,
    /// By number of the text.
    works: Vec<Work>,
    /// Waits since the last statement ended.
    waited: Duration,
    has_timed_out: bool,
}

impl Counts {
    /// Adds the work of a statement.
    pub(crate) fn add_work(&mut self, text: usize, work: &Work) {
        if self.works.len() <= text {
            self.works.resize(text + 1, Work::default());
        }
        self.works[text].add(work);
    }

    /// Adds one pause before a lock is tried again. `is_first` if the statement has just found it held.
    pub(crate) fn add_pause(&mut self, is_first: bool, pause: Duration) {
        self.locks.busy += u64::from(is_first);
        self.locks.wait += pause;
        self.waited += pause;
    }

    /// Adds a wait that has reached its limit.
    pub(crate) fn add_timeout(&mut self, is_first: bool) {
        self.locks.busy += u64::from(is_first);
        self.locks.timeouts += 1;
        self.locks.timeout_wait += self.waited;
        self.has_timed_out = true;
    }

    /// How long the statement that has just ended waited, and whether that reached the limit.
    pub(crate) fn take_wait(&mut self) -> (Duration, bool) {
        (std::mem::take(&mut self.waited), std::mem::take(&mut self.has_timed_out))
    }

    /// The statements of all texts together.
    pub(crate) fn load(&self) -> Load {
        let mut load = Load::default();
        for work in &self.works {
            load.add(Load { calls: work.calls, time: work.time });
        }
        load
    }

    /// Adds the counts of another connection.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.locks.add(&other.locks);
        for (text, work) in other.works.iter().enumerate() {
            self.add_work(text, work);
        }
    }

    /// Every text with its work, as far as it was called; those of no number of their own last.
    pub(crate) fn by_text<'a>(&'a self, texts: &'a [Arc<str>]) -> impl Iterator<Item = (&'a str, &'a Work)> {
        let own = texts.iter().map(|text| &**text).zip(self.works.iter().skip(OTHER + 1));
        let other = self.works.get(OTHER).map(|work| ("(other)", work));
        own.chain(other).filter(|(_, work)| work.calls > 0)
    }
}

/// The numbers of texts.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    numbers: HashMap<Arc<str>, usize>,
    texts: Vec<Arc<str>>,
}

impl Texts {
    /// The number of a text: that which it has, or the next one, or [`OTHER`] if there are too many.
    pub(crate) fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        if self.texts.len() >= STATEMENTS_MAX {
            return OTHER;
        }
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, self.texts.len());
        self.texts.len()
    }

    /// The texts by number, from the first behind [`OTHER`] on.
    pub(crate) fn all(&self) -> Vec<Arc<str>> {
        self.texts.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number_and_the_201st_none_of_its_own() {
        let mut texts = Texts::default();
        let numbers: Vec<usize> = (0..250).map(|number| texts.number(&format!("SELECT a{number}"))).collect();
        assert_eq!((numbers[0], numbers[199], numbers[200], numbers[249]), (1, 200, OTHER, OTHER));
        assert_eq!((texts.number("SELECT a7"), texts.all().len()), (8, STATEMENTS_MAX));
    }

    #[test]
    fn only_what_is_waited_before_a_limit_is_reached_counts_as_waited_in_vain() {
        let mut counts = Counts::default();
        counts.add_pause(true, Duration::from_millis(5));
        counts.take_wait();
        counts.add_pause(true, Duration::from_millis(20));
        counts.add_timeout(false);
        assert_eq!(counts.take_wait(), (Duration::from_millis(20), true));
        counts.add_timeout(true);
        let locks = counts.locks;
        assert_eq!((locks.busy, locks.wait, locks.timeouts), (3, Duration::from_millis(25), 2));
        assert_eq!(locks.timeout_wait, Duration::from_millis(20), "the last one did not wait");
    }

    #[test]
    fn merged_counts_are_the_sums_and_texts_that_were_not_called_are_left_out() {
        let work = Work { calls: 2, scan_steps: 9, ..Work::default() };
        let (mut one, mut other) = (Counts::default(), Counts::default());
        one.add_work(3, &work);
        other.add_work(3, &work);
        other.add_work(OTHER, &work);
        other.add_pause(true, Duration::from_millis(1));
        other.add_pause(false, Duration::from_millis(2));
        assert_eq!(other.take_wait(), (Duration::from_millis(3), false));
        one.merge(&other);
        assert_eq!((one.locks.busy, one.locks.wait), (1, Duration::from_millis(3)));
        assert_eq!((one.locks.timeouts, one.locks.timeout_wait), (0, Duration::ZERO));
        let texts: Vec<Arc<str>> = ["a", "b", "c", "d"].map(Arc::<str>::from).to_vec();
        let found: Vec<_> = one.by_text(&texts).map(|(text, work)| (text, work.scan_steps)).collect();
        assert_eq!(found, [("c", 18), ("(other)", 9)]);
    }
}
