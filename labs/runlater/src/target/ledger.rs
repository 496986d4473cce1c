//! What the target was called for, and how often.
//!
//! Judges nothing: whether a second call for an execution was due is for whoever asks.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::oneshot;
use uuid::Uuid;

/// Lags that are kept: the latest ones.
const LAGS: usize = 10_000;

/// The counts of one target.
#[derive(Debug, Default)]
pub struct Ledger {
    calls: AtomicU64,
    answered: AtomicU64,
    refused: AtomicU64,
    errors: AtomicU64,
    connections: AtomicU64,
    handshakes: AtomicU64,
    open: AtomicU64,
    open_max: AtomicU64,
    book: Mutex<Book>,
    remember: usize,
}

#[derive(Debug, Default)]
struct Book {
    executions: HashMap<Uuid, Seen>,
    repeated: u64,
    forgotten: u64,
    lags_ms: VecDeque<u64>,
    /// Those who wait for the first call for an execution.
    waiting: HashMap<Uuid, Vec<oneshot::Sender<()>>>,
}

/// The calls for one execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// How many.
    pub calls: u64,
    /// When the first one came, in milliseconds since 1970.
    pub first_ms: u64,
    /// When the last one came.
    pub last_ms: u64,
}

/// Everything at a moment.
#[derive(Debug, Serialize)]
pub struct Counts {
    /// Calls that came.
    pub calls: u64,
    /// Of them: those that were answered. Callers do not always wait.
    pub answered: u64,
    /// Of them: those with an error that the target was asked for.
    pub errors: u64,
    /// Of them: those with a bad signature.
    pub refused: u64,
    /// Executions that were called for, as far as they are remembered.
    pub executions: usize,
    /// Calls for an execution that had been called for already.
    pub repeated: u64,
    /// Calls for executions that are not remembered.
    pub forgotten: u64,
    /// Calls that wait for their answer now.
    pub open: u64,
    /// The most that ever did.
    pub open_max: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// Of them: those over TLS.
    pub handshakes: u64,
    /// Of the latest calls.
    pub lag: Lag,
}

/// From the making of an execution, as its id tells, to its call: how late, if it was to be done at once.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lag {
    /// Calls that this is about: the latest ones.
    pub n: usize,
    /// Half of them were earlier.
    pub p50_ms: Option<u64>,
    /// 99 of 100 were earlier; unknown for fewer than 100.
    pub p99_ms: Option<u64>,
    /// The latest.
    pub max_ms: Option<u64>,
}

impl Ledger {
    /// An empty one, for so many executions one by one.
    pub fn new(remember: usize) -> Self {
        Self { remember, ..Self::default() }
    }

    /// A connection was opened.
    pub fn connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection got its TLS.
    pub fn handshake(&self) {
        self.handshakes.fetch_add(1, Ordering::Relaxed);
    }

    /// A call came, for an execution if it says for which. It is open until what is returned is dropped.
    pub fn call(&self, execution: Option<Uuid>) -> Open<'_> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.open_max.fetch_max(open, Ordering::Relaxed);
        if let Some(execution) = execution {
            self.book.lock().note(execution, now_ms(), self.remember);
        }
        Open(self)
    }

    /// A call got its answer: the right one, an error or a refusal.
    pub fn answered(&self, is_error: bool, is_refused: bool) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.errors.fetch_add(is_error.into(), Ordering::Relaxed);
        self.refused.fetch_add(is_refused.into(), Ordering::Relaxed);
    }

    /// The calls for an execution.
    pub fn seen(&self, execution: Uuid) -> Option<Seen> {
        self.book.lock().executions.get(&execution).copied()
    }

    /// The calls for an execution, once there is one; nothing if none comes in time.
    pub async fn wait(&self, execution: Uuid, patience: Duration) -> Option<Seen> {
        let called = {
            let mut book = self.book.lock();
            if let Some(seen) = book.executions.get(&execution) {
                return Some(*seen);
            }
            let (call, called) = oneshot::channel();
            book.waiting.entry(execution).or_default().push(call);
            called
        };
        // Either way what counts is what is in the book then.
        let _ = tokio::time::timeout(patience, called).await;
        let mut book = self.book.lock();
        if let Entry::Occupied(mut entry) = book.waiting.entry(execution) {
            entry.get_mut().retain(|call| !call.is_closed());
            if entry.get().is_empty() {
                entry.remove();
            }
        }
        book.executions.get(&execution).copied()
    }

    /// Everything.
    pub fn counts(&self) -> Counts {
        let book = self.book.lock();
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            calls: of(&self.calls),
            answered: of(&self.answered),
            errors: of(&self.errors),
            refused: of(&self.refused),
            executions: book.executions.len(),
            repeated: book.repeated,
            forgotten: book.forgotten,
            open: of(&self.open),
            open_max: of(&self.open_max),
            connections: of(&self.connections),
            handshakes: of(&self.handshakes),
            lag: Lag::of(book.lags_ms.iter().copied().collect()),
        }
    }
}

/// A call that waits for its answer.
#[derive(Debug)]
pub struct Open<'a>(&'a Ledger);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Book {
    fn note(&mut self, execution: Uuid, now_ms: u64, remember: usize) {
        let is_full = self.executions.len() >= remember;
        match self.executions.entry(execution) {
            Entry::Occupied(mut entry) => {
                let seen = entry.get_mut();
                (seen.calls, seen.last_ms) = (seen.calls + 1, now_ms);
                self.repeated += 1;
            }
            Entry::Vacant(_) if is_full => self.forgotten += 1,
            Entry::Vacant(entry) => {
                entry.insert(Seen { calls: 1, first_ms: now_ms, last_ms: now_ms });
            }
        }
        for call in self.waiting.remove(&execution).into_iter().flatten() {
            // Who waited may have gone.
            let _ = call.send(());
        }
        // Ids of version 7 begin with the time they were made at.
        let made = execution.get_timestamp().filter(|_| execution.get_version_num() == 7);
        if let Some((seconds, nanos)) = made.map(|made| made.to_unix()) {
            let made_ms = seconds * 1000 + u64::from(nanos) / 1_000_000;
            if self.lags_ms.len() == LAGS {
                self.lags_ms.pop_front();
            }
            self.lags_ms.push_back(now_ms.saturating_sub(made_ms));
        }
    }
}

impl Lag {
    /// By nearest rank.
    fn of(mut lags_ms: Vec<u64>) -> Self {
        lags_ms.sort_unstable();
        let n = lags_ms.len();
        let rank = |percent: usize| lags_ms.get((n * percent).div_ceil(100).max(1) - 1).copied();
        Self { n, p50_ms: rank(50), p99_ms: rank(99).filter(|_| n >= 100), max_ms: lags_ms.last().copied() }
    }
}

/// Milliseconds since 1970: ids of executions count so, too.
#[allow(clippy::disallowed_methods, reason = "a service has a clock of its own; nothing is measured here")]
fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_call_for_an_execution_is_told_apart_from_a_first_one() {
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let mut book = Book::default();
        for (execution, now_ms) in [(one, 10), (other, 20), (one, 30)] {
            book.note(execution, now_ms, 10);
        }
        assert_eq!(book.executions[&one], Seen { calls: 2, first_ms: 10, last_ms: 30 });
        assert_eq!((book.executions.len(), book.repeated, book.forgotten), (2, 1, 0));
    }

    #[test]
    fn what_is_beyond_the_memory_is_counted() {
        let mut book = Book::default();
        for id in 1..=5 {
            book.note(Uuid::from_u128(id), 0, 3);
        }
        book.note(Uuid::from_u128(1), 0, 3);
        assert_eq!((book.executions.len(), book.repeated, book.forgotten), (3, 1, 2));
    }

    #[test]
    fn the_lag_is_from_the_time_in_the_id_to_the_call() {
        let made = |ms| uuid::Builder::from_unix_timestamp_millis(ms, &[0; 10]).into_uuid();
        let mut book = Book::default();
        for lag in 1..=200 {
            book.note(made(5000), 5000 + lag, 1000);
        }
        // Not of version 7: says nothing about time.
        book.note(Uuid::from_u128(9), 9000, 1000);
        let lag = Lag::of(book.lags_ms.into());
        assert_eq!(lag, Lag { n: 200, p50_ms: Some(100), p99_ms: Some(198), max_ms: Some(200) });
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_a_call_is_told_of_it_or_that_none_came() {
        let (ledger, execution) = (Ledger::new(10), Uuid::from_u128(1));
        assert_eq!(ledger.wait(execution, Duration::from_secs(5)).await, None);
        assert!(ledger.book.lock().waiting.is_empty(), "nothing is left of those who went");
        let (first, second, ()) = tokio::join!(
            ledger.wait(execution, Duration::from_secs(5)),
            ledger.wait(execution, Duration::from_secs(5)),
            async { drop(ledger.call(Some(execution))) },
        );
        assert_eq!((first.unwrap().calls, second.unwrap().calls), (1, 1));
        assert_eq!(ledger.wait(execution, Duration::ZERO).await.unwrap().calls, 1);
    }

    #[test]
    fn few_lags_have_no_high_percentile() {
        assert_eq!(Lag::of(vec![]), Lag::default());
        let few = Lag::of(vec![7]);
        assert_eq!(few, Lag { n: 1, p50_ms: Some(7), p99_ms: None, max_ms: Some(7) });
    }

    #[test]
    fn a_call_is_open_until_it_is_dropped() {
        let ledger = Ledger::new(10);
        let (one, two) = (ledger.call(None), ledger.call(None));
        drop(one);
        ledger.answered(true, false);
        let counts = ledger.counts();
        assert_eq!((counts.calls, counts.open, counts.open_max), (2, 1, 2));
        assert_eq!((counts.answered, counts.errors, counts.refused), (1, 1, 0));
        drop(two);
        assert_eq!(ledger.counts().open, 0);
    }
}
