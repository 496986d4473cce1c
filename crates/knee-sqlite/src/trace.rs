//! What happens at the end of each statement of a connection: its work is read from the counters of SQLite and added.
//!
//! The counters of a statement only grow, as long as it is prepared; this remembers them from call to call. Rows are
//! not counted, because SQLite would call back for each.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::StatementStatus;
use rusqlite::trace::StmtRef;

use crate::clock;
use crate::connections::Recorder;
use crate::counts::Work;
use crate::mask::mask;
use crate::number_map::NumberMap;
use crate::statement::{Kind, kind, shortened};
use crate::transaction::{Ended, Transaction};

/// Most prepared statements and most texts that are remembered; then all are forgotten, and learned again.
const SEEN_MAX: usize = 1_024;
const KNOWN_MAX: usize = 4_096;

/// A statement that changes something begins with `Init` and one `Transaction` per database, which takes the lock. One
/// that ends after so few steps of SQLite's virtual machine was given no lock.
const REFUSED_STEPS: u32 = 3;

/// One connection.
#[derive(Debug)]
pub(crate) struct Trace {
    recorder: Arc<Recorder>,
    /// By address of the text.
    seen: NumberMap<usize, Seen>,
    /// By hash of the text.
    known: NumberMap<u64, Known>,
    hasher: RandomState,
    transaction: Transaction,
}

/// A text.
#[derive(Clone, Copy, Debug)]
struct Known {
    number: usize,
    kind: Kind,
}

/// A prepared statement at the end of its last call.
#[derive(Clone, Copy, Debug)]
struct Seen {
    known: Known,
    status: Status,
}

/// The counters of a prepared statement.
#[derive(Clone, Copy, Debug, Default)]
struct Status {
    runs: u32,
    scan_steps: u32,
    sorts: u32,
    index_rows: u32,
    steps: u32,
}

impl Status {
    fn of(statement: &StmtRef<'_>) -> Self {
        let counter = |status| statement.get_status(status).cast_unsigned();
        Self {
            runs: counter(StatementStatus::Run),
            scan_steps: counter(StatementStatus::FullscanStep),
            sorts: counter(StatementStatus::Sort),
            index_rows: counter(StatementStatus::AutoIndex),
            steps: counter(StatementStatus::VmStep),
        }
    }

    /// What the counters rose by. They start again at zero behind the largest number.
    const fn since(self, before: Self) -> Self {
        Self {
            runs: self.runs.wrapping_sub(before.runs),
            scan_steps: self.scan_steps.wrapping_sub(before.scan_steps),
            sorts: self.sorts.wrapping_sub(before.sorts),
            index_rows: self.index_rows.wrapping_sub(before.index_rows),
            steps: self.steps.wrapping_sub(before.steps),
        }
    }
}

impl Trace {
    /// A connection that adds to these counts.
    pub(crate) fn new(recorder: Arc<Recorder>) -> Self {
        let (seen, known) = (NumberMap::default(), NumberMap::default());
        Self { recorder, seen, known, hasher: RandomState::new(), transaction: Transaction::default() }
    }

    /// Counts a statement that has ended.
    pub(crate) fn ended(&mut self, statement: &StmtRef<'_>, took: Duration) {
        // What is read and written of a blob has no text, and is left out.
        let Cow::Borrowed(text) = statement.sql() else { return };
        let status = Status::of(statement);
        // SQLite holds the text of a statement at one address as long as it is prepared. Another statement at this
        // address begins with its first run.
        let address = text.as_ptr().addr();
        // Most calls are of a statement that stays prepared: one look-up, and nothing that depends on the text.
        if let Some(seen) = self.seen.get_mut(&address).filter(|seen| seen.status.runs < status.runs) {
            let (known, rise) = (seen.known, status.since(seen.status));
            seen.status = status;
            self.add(known, Some(rise), took);
            return;
        }
        let known = self.known(text);
        if self.seen.len() >= SEEN_MAX {
            self.seen.clear();
        }
        self.seen.insert(address, Seen { known, status });
        // What a statement did before it was watched is not known.
        self.add(known, (status.runs == 1).then_some(status), took);
    }

    fn add(&mut self, known: Known, rise: Option<Status>, took: Duration) {
        let counted = rise.unwrap_or_default();
        let work = Work {
            calls: 1,
            time: took,
            scan_steps: u64::from(counted.scan_steps),
            sorts: u64::from(counted.sorts),
            index_rows: u64::from(counted.index_rows),
        };
        let is_write = known.kind == Kind::Write;
        let mut counts = self.recorder.counts();
        counts.add_work(known.number, &work);
        let (waited, has_timed_out) = counts.take_wait();
        let is_refused = has_timed_out || is_write && rise.is_some_and(|rise| rise.steps <= REFUSED_STEPS);
        let took = took.saturating_sub(waited);
        let ended = Ended { kind: known.kind, took, is_refused, has_timed_out };
        self.transaction.step(ended, clock::now, &mut counts.locks);
    }

    /// The number and the kind of a text.
    fn known(&mut self, text: &str) -> Known {
        let hash = self.hasher.hash_one(text);
        if let Some(known) = self.known.get(&hash) {
            return *known;
        }
        let masked = mask(text);
        let known = Known { number: self.recorder.number(&shortened(&masked)), kind: kind(&masked) };
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(hash, known);
        known
    }
}
