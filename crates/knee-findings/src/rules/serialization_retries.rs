//! Serializable transactions that PostgreSQL rolls back, and that are tried again.
//!
//! Needs the statements of a PostgreSQL server, with those that begin transactions. Does not see why a transaction was
//! rolled back: many services end transactions that only read with ROLLBACK, so rollbacks alone say nothing.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::query::{self, Query};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "serialization_retries",
    finds: "serializable transactions that are rolled back and tried again",
    needs: "a PostgreSQL server with pg_stat_statements, which has the statements that begin transactions (track_utility)",
    limits: "1.5 transactions begin per response with the level SERIALIZABLE or REPEATABLE READ and without READ ONLY; one of three transactions of the database is rolled back; a statement that changes rows succeeds for every second response. All of them, or nothing",
    source: "PostgreSQL ends a transaction of these levels if another one changed what it read or wrote, and expects the client to try again (PostgreSQL documentation, transaction isolation). With 1.5 transactions per response, every second response tried twice.",
    cause: "Many requests read and write the same rows in serializable transactions. One of them commits; the others are rolled back when they end, and begin again at once.",
    remedy: "Change the row with one statement at READ COMMITTED, or lock it first with SELECT ... FOR UPDATE; spread it over several rows; wait a random time before a transaction is tried again.",
    explains: &[],
    check,
};

/// Transactions that begin, per response.
const BEGUN: f64 = 1.5;
/// Calls per response of a statement that changes rows.
const CHANGED: f64 = 0.5;
/// Share of the transactions that are rolled back.
const ROLLED_BACK: f64 = 1.0 / 3.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = query::servers(evidence)?;
    Ok(servers.iter().filter_map(|(server, queries)| retried(server, queries)).collect())
}

fn retried(server: &Watched<'_>, queries: &[Query<'_>]) -> Option<Draft> {
    let begins = || queries.iter().filter(|query| is_strict(query.text));
    let begun: f64 = begins().map(|query| query.per_request).sum();
    let all = |name: &str| server.rises(name).iter().map(|(_, rise)| rise.amount).sum::<f64>();
    let (commits, rollbacks) = (all("database.commits"), all("database.rollbacks"));
    let share = rollbacks / (commits + rollbacks);
    let signals: Vec<Signal> = [
        Signal::at_least(
            "transactions per response that begin with a strict level of isolation",
            Unit::Count,
            Some(begun),
            BEGUN,
            "pg_stat_statements",
        ),
        Signal::at_least(
            "share of the transactions that are rolled back",
            Unit::Share,
            Some(share),
            ROLLED_BACK,
            "pg_stat_database",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    let text = begins().next()?.text;
    let changes = |query: &&Query<'_>| query.changes_rows();
    // Otherwise they can be readers that end with ROLLBACK. A change that fails does not count as a call.
    let is_writing = queries.iter().filter(changes).any(|query| query.per_request >= CHANGED);
    (is_writing && signals.len() == 2).then(|| Draft {
        subject: Subject::of(SubjectKind::Statement, text, Some(&server.source.name)),
        statement: format!(
            "{} serializable transactions begin per response, and {} of all transactions are rolled back",
            number(begun),
            percent(share)
        ),
        signals,
        remedy: Remedy::advice(
            "change the row with one statement at READ COMMITTED, or lock it first; wait a random time before the next try",
        ),
        gain: None,
    })
}

/// Whether a statement begins a transaction that PostgreSQL can roll back because of others.
fn is_strict(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    (text.starts_with("begin")
        || text.starts_with("start transaction")
        || text.starts_with("set transaction"))
        && (text.contains("serializable") || text.contains("repeatable read"))
        && !text.contains("read only")
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, RATE, Scene};

    fn reservations(text: &str, each: f64, rollbacks: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.statement(server, "2", text, &Costs { per_request: each, seconds: 1e-6, ..Costs::default() });
        scene.statement(server, "3", "UPDATE seats SET free = free - 1 WHERE id = $1", &Costs::default());
        scene.counter(server, "database.rollbacks", "shop", rollbacks * RATE as f64);
        scene
    }

    const STRICT: &str = "START TRANSACTION ISOLATION LEVEL SERIALIZABLE";

    #[test]
    fn transactions_that_are_tried_again_are_found() {
        let finding = reservations(STRICT, 3.0, 2.0).found("serialization_retries").unwrap();
        assert_eq!(finding.subject.name, STRICT);
        assert!(
            finding.statement.ends_with("67 % of all transactions are rolled back"),
            "{}",
            finding.statement
        );
    }

    #[test]
    fn transactions_that_commit_and_those_that_only_read_and_end_with_rollback_are_healthy() {
        assert_eq!(reservations(STRICT, 1.0, 0.02).found("serialization_retries"), None);
        assert_eq!(reservations(STRICT, 3.0, 0.02).found("serialization_retries"), None);
        assert_eq!(reservations("BEGIN", 3.0, 2.0).found("serialization_retries"), None);
        assert_eq!(reservations("BEGIN READ ONLY", 1.0, 1.0).found("serialization_retries"), None);
        let readers = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        assert_eq!(reservations(readers, 3.0, 2.0).found("serialization_retries"), None);
        let mut readers = reservations(STRICT, 3.0, 2.0);
        readers.statement(0, "3", "SELECT free FROM seats WHERE id = $1", &Costs::default());
        assert_eq!(readers.found("serialization_retries"), None);
    }
}
