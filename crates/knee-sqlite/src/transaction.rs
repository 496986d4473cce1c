//! Follows the transaction of one connection by the statements that end.
//!
//! Pure. Knows transactions by BEGIN, COMMIT and ROLLBACK; one that begins with a savepoint is not seen. A transaction
//! that begins with BEGIN alone has no lock: its first read takes a snapshot, and its first write the write lock. If
//! another connection wrote in between, or writes now, SQLite refuses that write at once, because waiting would not
//! help: it does not call the busy handler (<https://www.sqlite.org/c3ref/busy_handler.html>).

use std::time::{Duration, Instant};

use crate::counts::Locks;
use crate::statement::Kind;

/// Where the transaction of a connection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Transaction {
    /// There is none: each statement is its own.
    #[default]
    None,
    /// It has no lock yet.
    Begun,
    /// It has read, and not written.
    HasRead,
    /// It has read, and its first write was refused.
    Refused,
    /// It holds the write lock.
    Writing { since: Instant, has_read: bool },
}

/// A statement that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub kind: Kind,
    /// Its time without waits for locks.
    pub took: Duration,
    /// Whether SQLite gave it no lock.
    pub is_refused: bool,
    /// Whether it waited for one until its limit.
    pub has_timed_out: bool,
}

impl Transaction {
    /// Goes on by a statement that has ended, and counts.
    pub(crate) fn step(&mut self, ended: Ended, now: impl FnOnce() -> Instant, locks: &mut Locks) {
        *self = match (ended.kind, *self) {
            (Kind::Begin, _) => Self::Begun,
            (Kind::BeginWriting, _) if ended.is_refused => Self::None,
            (Kind::Read, Self::Begun) => Self::HasRead,
            (Kind::Write, Self::HasRead) => {
                locks.upgrades += 1;
                if ended.is_refused {
                    // SQLite lets a write wait only before the transaction has a snapshot: what it read was no table.
                    locks.upgrades_refused += u64::from(!ended.has_timed_out);
                    Self::Refused
                } else {
                    Self::writing(true, ended, now, locks)
                }
            }
            (Kind::Write | Kind::WriteAll | Kind::Commit, state) if ended.is_refused => state,
            // A statement that writes the whole file is refused within a transaction.
            (Kind::Write | Kind::WriteAll, Self::None) => {
                locks.writes += 1;
                locks.write_time += ended.took;
                Self::None
            }
            (Kind::BeginWriting, _) | (Kind::Write, Self::Begun) => Self::writing(false, ended, now, locks),
            (Kind::Write, Self::Refused) => Self::writing(true, ended, now, locks),
            (Kind::Commit | Kind::Rollback, Self::Writing { since, has_read }) => {
                locks.writes += 1;
                locks.write_time += now().saturating_duration_since(since);
                locks.upgrades_rolled_back += u64::from(has_read && ended.kind == Kind::Rollback);
                Self::None
            }
            (Kind::Rollback, Self::Refused) => {
                locks.upgrades_rolled_back += 1;
                Self::None
            }
            (Kind::Commit | Kind::Rollback, _) => Self::None,
            (_, state) => state,
        };
    }

    /// The write lock was taken by a statement that has just ended.
    fn writing(has_read: bool, ended: Ended, now: impl FnOnce() -> Instant, locks: &mut Locks) -> Self {
        locks.write_time += ended.took;
        Self::Writing { since: now(), has_read }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    const STEP: Duration = Duration::from_millis(10);

    /// Counts of these statements, one per 10 ms, each of which takes 1 ms; `true` if SQLite refuses it.
    fn counted(statements: &[(Kind, bool)]) -> Locks {
        let (mut transaction, mut locks) = (Transaction::default(), Locks::default());
        let mut now = clock::now();
        for (kind, is_refused) in statements.iter().copied() {
            now += STEP;
            let took = Duration::from_millis(1);
            let ended = Ended { kind, took, is_refused, has_timed_out: false };
            transaction.step(ended, || now, &mut locks);
        }
        locks
    }

    #[test]
    fn a_transaction_holds_the_write_lock_from_its_first_write_or_its_begin_to_its_end() {
        use Kind::{Begin, BeginWriting, Commit, Read, Write, WriteAll};
        for (statements, milliseconds) in [
            (vec![Write], 1),
            (vec![WriteAll], 1),
            (vec![Begin, WriteAll, Write, Commit], 11),
            (vec![BeginWriting, Read, Write, Commit], 31),
            (vec![Begin, Write, Write, Commit], 21),
            (vec![Begin, Read, Read, Write, Commit], 11),
        ] {
            let statements: Vec<_> = statements.into_iter().map(|kind| (kind, false)).collect();
            let locks = counted(&statements);
            assert_eq!(
                (locks.writes, locks.write_time),
                (1, Duration::from_millis(milliseconds)),
                "{statements:?}"
            );
        }
        assert_eq!(counted(&[(Begin, false), (Read, false), (Commit, false)]), Locks::default());
        assert_eq!(counted(&[(BeginWriting, true), (Commit, false)]), Locks::default(), "it never began");
    }

    #[test]
    fn a_write_after_a_read_that_is_refused_is_counted_with_its_rollback() {
        use Kind::{Begin, Commit, Read, Rollback, Write};
        let upgrades = |statements: &[(Kind, bool)]| {
            let locks = counted(statements);
            (locks.upgrades, locks.upgrades_refused, locks.upgrades_rolled_back)
        };
        let begun = [(Begin, false), (Read, false)];
        assert_eq!(upgrades(&[&begun[..], &[(Write, true), (Rollback, false)]].concat()), (1, 1, 1));
        assert_eq!(
            upgrades(&[&begun[..], &[(Write, true), (Write, true), (Rollback, false)]].concat()),
            (1, 1, 1)
        );
        assert_eq!(upgrades(&[&begun[..], &[(Write, false), (Commit, false)]].concat()), (1, 0, 0));
        assert_eq!(upgrades(&[&begun[..], &[(Write, false), (Rollback, false)]].concat()), (1, 0, 1));
        assert_eq!(upgrades(&[&begun[..], &[(Rollback, false)]].concat()), (0, 0, 0));
        assert_eq!(
            upgrades(&[(Begin, false), (Write, true), (Rollback, false)]),
            (0, 0, 0),
            "it read nothing"
        );
    }

    #[test]
    fn a_write_that_waits_to_its_limit_was_not_refused_at_once() {
        let (mut transaction, mut locks) = (Transaction::HasRead, Locks::default());
        let ended = Ended { kind: Kind::Write, took: STEP, is_refused: true, has_timed_out: true };
        transaction.step(ended, clock::now, &mut locks);
        assert_eq!((locks.upgrades, locks.upgrades_refused, transaction), (1, 0, Transaction::Refused));
    }
}
