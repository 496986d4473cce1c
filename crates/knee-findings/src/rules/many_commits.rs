//! Many small transactions per request where one would do: a row per commit.
//!
//! Needs a PostgreSQL server. Transactions that only read have no flush; only writers are counted.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "many_commits",
    finds: "many small writing transactions per request",
    needs: "a PostgreSQL server of version 14 or later",
    limits: "5 transactions per response, of which each changes 2 rows at most and at least half of a row; 2 flushes of the WAL per response. Two of them, or nothing",
    source: "Five commits of one row each cost five flushes; together they cost one.",
    cause: "A loop writes row by row, each in a transaction of its own (autocommit).",
    remedy: "Write the rows of a request in one transaction, or with one statement of many rows.",
    explains: &["writes_on_read"],
    check,
};

const COMMITS: f64 = 5.0;
const ROWS_MIN: f64 = 0.5;
const ROWS_MAX: f64 = 2.0;
const FLUSHES: f64 = 2.0;
/// Where flushes of the WAL are counted.
pub(super) const COUNTED: &str = "pg_stat_wal, or pg_stat_io";

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for server in with_flushes(evidence.needed(SourceKind::Postgres)?)? {
        let Some((_, commits)) = server.rises("database.commits").into_iter().next() else { continue };
        let changed: f64 = ["database.rows.inserted", "database.rows.updated", "database.rows.deleted"]
            .iter()
            .flat_map(|name| server.rises(name))
            .map(|(_, rise)| rise.amount)
            .sum();
        let rows = changed / commits.amount;
        let per_request = evidence.per_request(commits).filter(|_| (ROWS_MIN..=ROWS_MAX).contains(&rows));
        let flushes = server.rise("wal.syncs", "").and_then(|syncs| evidence.per_request(syncs));
        let signals: Vec<Signal> = [
            Signal::at_least(
                "writing transactions per response",
                Unit::Count,
                per_request,
                COMMITS,
                "pg_stat_database",
            ),
            Signal::at_least("flushes of the WAL per response", Unit::Count, flushes, FLUSHES, COUNTED),
        ]
        .into_iter()
        .flatten()
        .collect();
        if signals.len() < 2 {
            continue;
        }
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Resource, server.name(), None),
            statement: format!(
                "each request commits {} transactions of {} rows",
                number(per_request.unwrap_or(0.0)),
                number(rows)
            ),
            signals,
            remedy: Remedy::advice(
                "write the rows of a request in one transaction, or with one statement of many rows",
            ),
            gain: None,
        });
    }
    Ok(drafts)
}

/// The servers whose flushes of the WAL are known, at least one.
///
/// # Errors
/// If none is: both signals are needed.
pub(super) fn with_flushes(servers: Vec<Watched<'_>>) -> Result<Vec<Watched<'_>>, Lack> {
    let known: Vec<_> = servers.into_iter().filter(|server| server.rise("wal.syncs", "").is_some()).collect();
    let lack = || Lack::of("counts of WAL flushes: PostgreSQL 14 and later have them");
    (!known.is_empty()).then_some(known).ok_or_else(lack)
}

#[cfg(test)]
mod tests {
    use crate::testing::Scene;

    #[test]
    fn ten_commits_per_request_are_found_and_ten_lookups_are_not() {
        let of = |inserted: f64, syncs: f64| {
            let mut scene = Scene::steady();
            let server = scene.postgres();
            scene.counter(server, "database.commits", "shop", 10_000.0);
            scene.counter(server, "database.rows.inserted", "shop", inserted);
            scene.counter(server, "wal.syncs", "", syncs);
            scene.found("many_commits")
        };
        assert_eq!(of(10_000.0, 6_000.0).unwrap().evidence.len(), 2);
        assert_eq!(of(100.0, 80.0), None);
    }

    #[test]
    fn a_server_that_does_not_count_its_flushes_is_no_healthy_one() {
        let mut scene = Scene::steady();
        scene.postgres();
        let lacks = "counts of WAL flushes: PostgreSQL 14 and later have them";
        assert_eq!(scene.lacks("many_commits").unwrap(), lacks);
    }
}
