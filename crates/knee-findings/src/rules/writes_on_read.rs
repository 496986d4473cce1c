//! Requests that only read, each of which changes a row or makes a table: when its user was last seen, how often a page
//! was shown, a temporary table for a list of numbers.
//!
//! Needs the statements of a PostgreSQL server. Looks at loads of GET and HEAD alone, by the names of their endpoints; the
//! method is not in the record. Does not weigh what the change is worth. Of a table that is made for each request, the
//! statement that makes it counts: those that name it have another number in `pg_stat_statements` for each such table, up
//! to PostgreSQL 17, so that none of them runs once per response.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Unit};
use crate::lack::Lack;
use crate::query::{self, Query};
use crate::watched::Watched;

use super::many_commits::{COUNTED, with_flushes};

pub(super) const RULE: Rule = Rule {
    code: "writes_on_read",
    finds: "requests that read, each of which changes a row or makes a table",
    needs: "a load of GET or HEAD alone, by the names of its endpoints, and a PostgreSQL server of version 14 or later with pg_stat_statements",
    limits: "a statement changes rows, or makes, empties or drops a table, one to three times per response, each count within 5 %; the WAL is flushed once for every second response. Both, or nothing",
    source: "GET and HEAD are safe: a client asks for no change (RFC 9110, section 9.2.1). A change per response needs a transaction of its own, which waits for the disk; a temporary table has rows in the catalogs, which are written like others; other work of the database comes at a pace of its own, and not once per response.",
    cause: "The time at which a user was last seen or a token last used, a counter of views, a session that is saved again: written to the database with each request. A temporary table for the values of a condition: it is made and dropped in the catalogs with each request.",
    remedy: "Write it at most once per minute and user, gather it in memory or in a cache and write it together, or leave it out. Pass the values of a condition as an array, or as VALUES of the statement itself.",
    explains: &[],
    check,
};

/// Calls per response that count as a whole number.
const MOST: f64 = 3.0;
const WITHIN: f64 = 0.05;
/// Flushes per response.
const FLUSHES: f64 = 0.5;

/// What requests do, and what to do about it.
const CHANGES: &str = "change a row";
const SELDOM: &str =
    "write it once per minute and user at most, or gather it in memory or in a cache and write it together";
const MAKES: &str = "make, empty or drop a table";
const INSTEAD_OF_TABLE: &str =
    "pass the values to the statement as an array or as VALUES, without a table made for each request";

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = query::servers(evidence)?;
    if !reads_only(evidence) {
        return Err(Lack::of("a load of GET or HEAD alone"));
    }
    with_flushes(servers.iter().map(|(server, _)| *server).collect())?;
    Ok(servers.iter().filter_map(|(server, queries)| changed(evidence, server, queries)).collect())
}

/// Whether the names of all endpoints with requests begin with a method that reads.
pub(super) fn reads_only(evidence: &Evidence<'_>) -> bool {
    let used = evidence.run.measured.endpoints.iter().enumerate().filter(|(_, tally)| tally.planned > 0);
    let names = used
        .map(|(place, _)| evidence.run.endpoints.get(place).map_or("", |endpoint| endpoint.name.as_str()));
    let names: Vec<&str> = names.collect();
    !names.is_empty() && names.iter().all(|name| name.starts_with("GET ") || name.starts_with("HEAD "))
}

/// Whether it runs a whole number of times for each response.
fn is_per_response(query: &Query<'_>) -> bool {
    let whole = query.per_request.round();
    (1.0..=MOST).contains(&whole) && (query.per_request / whole - 1.0).abs() <= WITHIN
}

fn changed(evidence: &Evidence<'_>, server: &Watched<'_>, queries: &[Query<'_>]) -> Option<Draft> {
    let makes = queries.iter().find(|query| is_per_response(query) && query.changes_catalogs());
    let changes = |query: &&Query<'_>| {
        is_per_response(query) && query.changes_rows() && query.rows * query.per_request >= FLUSHES
    };
    let query = makes.or_else(|| queries.iter().find(changes))?;
    let (what, remedy) = if makes.is_some() { (MAKES, INSTEAD_OF_TABLE) } else { (CHANGES, SELDOM) };
    let flushes = server.rise("wal.syncs", "").and_then(|syncs| evidence.per_request(syncs));
    let signals: Vec<Signal> = [
        Signal::at_least(
            "calls per response of a statement that writes",
            Unit::Count,
            Some(query.per_request),
            1.0 - WITHIN,
            "pg_stat_statements",
        ),
        Signal::at_least("flushes of the WAL per response", Unit::Count, flushes, FLUSHES, COUNTED),
    ]
    .into_iter()
    .flatten()
    .collect();
    (signals.len() == 2).then(|| Draft {
        subject: query.subject(server),
        statement: format!(
            "requests that only read {what} {} times each, and the WAL is flushed {} times per response",
            number(query.per_request),
            number(flushes.unwrap_or(0.0))
        ),
        signals,
        remedy: Remedy::advice(remedy),
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, RATE, Scene};

    /// Requests that read, and a statement that is executed this often per request.
    fn profiles(name: &str, calls: f64, flushes: f64) -> Scene {
        let mut scene = Scene::steady();
        scene.run.endpoints[0].name = name.into();
        let server = scene.postgres();
        let text = "UPDATE members SET seen_at = now() WHERE id = $1";
        scene.statement(server, "2", text, &Costs { per_request: calls, ..Costs::default() });
        scene.counter(server, "wal.syncs", "", flushes * RATE as f64);
        scene
    }

    #[test]
    fn a_row_that_each_reader_changes_is_found() {
        let finding = profiles("GET /members/{id}", 1.0, 0.9).found("writes_on_read").unwrap();
        assert!(finding.subject.name.starts_with("UPDATE members"));
    }

    #[test]
    fn a_table_that_each_reader_makes_is_found_although_its_statements_have_a_number_per_table() {
        let makes = |per_request: f64, flushes: f64| {
            let mut scene = Scene::steady();
            scene.run.endpoints[0].name = "GET /picks".into();
            let server = scene.postgres();
            let make = "CREATE TEMP TABLE picked (sku bigint PRIMARY KEY) ON COMMIT DROP";
            scene.statement(server, "2", make, &Costs { per_request, rows: 0.0, ..Costs::default() });
            for id in 3..40 {
                let costs = Costs { per_request: 0.001, rows: 100.0, ..Costs::default() };
                let fill = "INSERT INTO picked (sku) SELECT unnest($1::bigint[])";
                scene.statement(server, &id.to_string(), fill, &costs);
            }
            scene.counter(server, "wal.syncs", "", flushes * RATE as f64);
            scene.found("writes_on_read")
        };
        let finding = makes(1.0, 1.0).unwrap();
        assert!(finding.subject.name.starts_with("CREATE TEMP TABLE picked"));
        assert!(finding.statement.starts_with("requests that only read make, empty or drop a table 1 times"));
        assert!(finding.remedy.to_string().contains("as an array"), "{}", finding.remedy);
        assert_eq!(makes(0.02, 0.02), None, "a table for every fiftieth response");
        assert_eq!(makes(1.0, 0.01), None, "the table is there already");
    }

    #[test]
    fn a_server_that_does_not_count_its_flushes_is_no_healthy_one() {
        let mut scene = profiles("GET /members/{id}", 1.0, 0.9);
        scene.observations.series.retain(|series| series.name != "wal.syncs");
        let lacks = "counts of WAL flushes: PostgreSQL 14 and later have them";
        assert_eq!(scene.lacks("writes_on_read").unwrap(), lacks);
    }

    #[test]
    fn writers_jobs_beside_the_load_and_changes_that_are_gathered_are_healthy() {
        assert!(profiles("POST /members", 1.0, 0.9).lacks("writes_on_read").is_some());
        assert_eq!(profiles("GET /a", 0.6, 0.6).found("writes_on_read"), None, "a job beside the load");
        assert_eq!(profiles("GET /a", 1.4, 0.9).found("writes_on_read"), None, "a job beside the load");
        assert_eq!(profiles("GET /a", 1.0, 0.01).found("writes_on_read"), None, "no commit waits");
    }
}
