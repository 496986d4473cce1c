//! Counts the calls that the target received, in total and per execution.
//!
//! Does not judge whether a repeated call was expected.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::oneshot;
use uuid::Uuid;

/// Most recent lags kept.
const LAGS: usize = 10_000;

/// Calls received by one target.
#[derive(Debug, Default)]
pub struct CallLog {
    calls: AtomicU64,
    answered: AtomicU64,
    refused: AtomicU64,
    errors: AtomicU64,
    connections: AtomicU64,
    handshakes: AtomicU64,
    open: AtomicU64,
    open_max: AtomicU64,
    state: Mutex<LogState>,
    remember: usize,
}

#[derive(Debug, Default)]
struct LogState {
    executions: HashMap<Uuid, Seen>,
    repeated: u64,
    forgotten: u64,
    lags_ms: VecDeque<u64>,
    /// Requests waiting for the first call of an execution.
    waiting: HashMap<Uuid, Vec<oneshot::Sender<()>>>,
}

/// Calls for one execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// Number of calls.
    pub calls: u64,
    /// Time of the first, in ms since 1970.
    pub first_ms: u64,
    /// Time of the last.
    pub last_ms: u64,
}

/// A snapshot of all counts.
#[derive(Debug, Serialize)]
pub struct Counts {
    /// Calls received.
    pub calls: u64,
    /// Of them, answered. Clients do not always wait.
    pub answered: u64,
    /// Of them, answered with a configured error.
    pub errors: u64,
    /// Of them, refused for a bad signature.
    pub refused: u64,
    /// Executions called, as far as remembered.
    pub executions: usize,
    /// Repeated calls for an execution.
    pub repeated: u64,
    /// Calls for executions that are not remembered.
    pub forgotten: u64,
    /// Calls in progress.
    pub open: u64,
    /// Most calls in progress so far.
    pub open_max: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Of them, with TLS.
    pub handshakes: u64,
    /// Lag of the latest calls.
    pub lag: Lag,
}

/// Time from the creation of an execution, read from its id, to its call: the delay of immediate tasks.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lag {
    /// Number of calls measured.
    pub n: usize,
    /// Median.
    pub p50_ms: Option<u64>,
    /// 99th percentile; `None` for fewer than 100 calls.
    pub p99_ms: Option<u64>,
    /// Maximum.
    pub max_ms: Option<u64>,
}

impl CallLog {
    /// An empty log that remembers this many executions.
    pub fn new(remember: usize) -> Self {
        Self { remember, ..Self::default() }
    }

    /// Counts a connection.
    pub fn connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a TLS handshake.
    pub fn handshake(&self) {
        self.handshakes.fetch_add(1, Ordering::Relaxed);
    }

    /// Records a call. It is in progress until the returned guard is dropped.
    pub fn call(&self, execution: Option<Uuid>) -> Open<'_> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.open_max.fetch_max(open, Ordering::Relaxed);
        if let Some(execution) = execution {
            self.state.lock().note(execution, now_ms(), self.remember);
        }
        Open(self)
    }

    /// Counts an answered call.
    pub fn answered(&self, is_error: bool, is_refused: bool) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.errors.fetch_add(is_error.into(), Ordering::Relaxed);
        self.refused.fetch_add(is_refused.into(), Ordering::Relaxed);
    }

    /// Calls for an execution.
    pub fn seen(&self, execution: Uuid) -> Option<Seen> {
        self.state.lock().executions.get(&execution).copied()
    }

    /// Calls for an execution once there is one; `None` after the time-out.
    pub async fn wait(&self, execution: Uuid, timeout: Duration) -> Option<Seen> {
        let called = {
            let mut state = self.state.lock();
            if let Some(seen) = state.executions.get(&execution) {
                return Some(*seen);
            }
            let (call, called) = oneshot::channel();
            state.waiting.entry(execution).or_default().push(call);
            called
        };
        // Either way, read the current state.
        let _ = tokio::time::timeout(timeout, called).await;
        let mut state = self.state.lock();
        if let Entry::Occupied(mut entry) = state.waiting.entry(execution) {
            entry.get_mut().retain(|call| !call.is_closed());
            if entry.get().is_empty() {
                entry.remove();
            }
        }
        state.executions.get(&execution).copied()
    }

    /// A snapshot of all counts.
    pub fn counts(&self) -> Counts {
        let state = self.state.lock();
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            calls: of(&self.calls),
            answered: of(&self.answered),
            errors: of(&self.errors),
            refused: of(&self.refused),
            executions: state.executions.len(),
            repeated: state.repeated,
            forgotten: state.forgotten,
            open: of(&self.open),
            open_max: of(&self.open_max),
            connections: of(&self.connections),
            handshakes: of(&self.handshakes),
            lag: Lag::of(state.lags_ms.iter().copied().collect()),
        }
    }
}

/// A call in progress, ended on drop.
#[derive(Debug)]
pub struct Open<'a>(&'a CallLog);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl LogState {
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
            // The waiting request may be gone.
            let _ = call.send(());
        }
        // Version 7 ids begin with their creation time.
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
    /// Percentiles by nearest rank.
    fn of(mut lags_ms: Vec<u64>) -> Self {
        lags_ms.sort_unstable();
        let n = lags_ms.len();
        let rank = |percent: usize| lags_ms.get((n * percent).div_ceil(100).max(1) - 1).copied();
        Self { n, p50_ms: rank(50), p99_ms: rank(99).filter(|_| n >= 100), max_ms: lags_ms.last().copied() }
    }
}

/// Milliseconds since 1970, the unit of version 7 ids.
#[allow(clippy::disallowed_methods, reason = "a service has a clock of its own; nothing is measured here")]
fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_calls_for_an_execution_are_counted() {
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let mut state = LogState::default();
        for (execution, now_ms) in [(one, 10), (other, 20), (one, 30)] {
            state.note(execution, now_ms, 10);
        }
        assert_eq!(state.executions[&one], Seen { calls: 2, first_ms: 10, last_ms: 30 });
        assert_eq!((state.executions.len(), state.repeated, state.forgotten), (2, 1, 0));
    }

    #[test]
    fn executions_that_are_not_remembered_are_counted() {
        let mut state = LogState::default();
        for id in 1..=5 {
            state.note(Uuid::from_u128(id), 0, 3);
        }
        state.note(Uuid::from_u128(1), 0, 3);
        assert_eq!((state.executions.len(), state.repeated, state.forgotten), (3, 1, 2));
    }

    #[test]
    fn the_lag_is_from_the_time_in_the_id_to_the_call() {
        let made = |ms| uuid::Builder::from_unix_timestamp_millis(ms, &[0; 10]).into_uuid();
        let mut state = LogState::default();
        for lag in 1..=200 {
            state.note(made(5000), 5000 + lag, 1000);
        }
        // Not version 7: has no time.
        state.note(Uuid::from_u128(9), 9000, 1000);
        let lag = Lag::of(state.lags_ms.into());
        assert_eq!(lag, Lag { n: 200, p50_ms: Some(100), p99_ms: Some(198), max_ms: Some(200) });
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_call_returns_it_or_times_out() {
        let (call_log, execution) = (CallLog::new(10), Uuid::from_u128(1));
        assert_eq!(call_log.wait(execution, Duration::from_secs(5)).await, None);
        assert!(call_log.state.lock().waiting.is_empty(), "nothing is left of those who went");
        let (first, second, ()) = tokio::join!(
            call_log.wait(execution, Duration::from_secs(5)),
            call_log.wait(execution, Duration::from_secs(5)),
            async { drop(call_log.call(Some(execution))) },
        );
        assert_eq!((first.unwrap().calls, second.unwrap().calls), (1, 1));
        assert_eq!(call_log.wait(execution, Duration::ZERO).await.unwrap().calls, 1);
    }

    #[test]
    fn few_lags_have_no_high_percentile() {
        assert_eq!(Lag::of(vec![]), Lag::default());
        let few = Lag::of(vec![7]);
        assert_eq!(few, Lag { n: 1, p50_ms: Some(7), p99_ms: None, max_ms: Some(7) });
    }

    #[test]
    fn a_call_is_in_progress_until_its_guard_is_dropped() {
        let call_log = CallLog::new(10);
        let (one, two) = (call_log.call(None), call_log.call(None));
        drop(one);
        call_log.answered(true, false);
        let counts = call_log.counts();
        assert_eq!((counts.calls, counts.open, counts.open_max), (2, 1, 2));
        assert_eq!((counts.answered, counts.errors, counts.refused), (1, 1, 0));
        drop(two);
        assert_eq!(call_log.counts().open, 0);
    }
}
