//! One statement many times per request: N + 1 queries.
//!
//! Needs the statements of a PostgreSQL server. Where the load varies, executions that do not vary with it are work
//! outside of requests, such as that of a poller of a queue; where it does not, the two look the same. Changes of rows with
//! a commit for each are left to `many_commits`, and INSERT to `insert_per_row`. Commits of reads look like those of
//! changes, so that a service with many of them hides its changes. Rows that a cursor gives one by one by `FETCH` are found
//! by their calls, and without a table, which such a statement does not name. With `pg_stat_statements.track = all`, what a function
//! or a trigger executes looks like what the service sends.

use std::ops::RangeInclusive;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::query::{self, Query};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "many_statements",
    finds: "one short statement many times per request (N + 1), or one FETCH per row",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "5 calls of one SELECT per response, or of one UPDATE or DELETE of 0.5 to 2 rows, of 1 ms each at most; 5 scans of its table per response. Or 5 calls of one FETCH per response, of 2 rows and 1 ms each at most. Nothing about an UPDATE or DELETE with half as many transactions as calls, which is `many_commits`; nothing if responses per second vary by 20 % between readings and the calls less than a quarter as much",
    source: "A page needs a handful of statements. With five of the same, a loop stands around it.",
    cause: "Each row of a list is completed, changed or deleted by a statement of its own, each with a round trip.",
    remedy: "Read them together: a join, `= ANY($1)`, or the eager loading of the ORM. Change them together: `UPDATE … FROM unnest($1, $2)`, `DELETE … WHERE id = ANY($1)`. Fetch hundreds of rows of a cursor at a time.",
    explains: &["many_commits"],
    check,
};

const CALLS: f64 = 5.0;
const SCANS: f64 = 5.0;
/// Seconds.
const SHORT: f64 = 0.001;
/// Rows that a call changes.
const ROWS: RangeInclusive<f64> = 0.5..=2.0;
/// Transactions per call of a statement that changes rows.
const COMMITS: f64 = 0.5;
/// The verb that gets rows from a cursor.
const FETCH: &str = "fetch";
/// How PostgreSQL calls operators in the statements by which it follows foreign keys.
const OF_A_KEY: &str = "OPERATOR(pg_catalog.";
/// Responses per second that vary by this factor show what varies with them.
const VARIES: f64 = 1.2;
/// Growth of the calls per growth of the responses, below which they do not follow the load.
const FOLLOWS: f64 = 0.25;
/// Fewest responses at both paces: of fewer, a few requests more can be chance.
const RESPONSES_MIN: f64 = 200.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        let often = queries.iter().filter(|query| {
            query.per_request >= CALLS && query.seconds < SHORT && is_of_a_loop(&server, query)
        });
        for query in often {
            let growth = growth(evidence, &server, query);
            if growth.is_some_and(|growth| growth < FOLLOWS) {
                continue;
            }
            if query.statement.verb == FETCH {
                drafts.extend(fetched(evidence, &server, query, growth));
                continue;
            }
            let Some(named) = query.statement.stored_tables().next() else { continue };
            let scans = query::table(&server, named).and_then(|table| {
                let per_second = table.seq_scans + table.index_scans;
                evidence.throughput().map(|throughput| per_second / throughput)
            });
            let signals = [
                calls(query),
                Signal::at_least(
                    format!("scans of {named} per response"),
                    Unit::Count,
                    scans,
                    SCANS,
                    "pg_stat_user_tables",
                ),
            ];
            drafts.push(Draft {
                subject: query.subject(&server),
                statement: format!(
                    "the same statement on {named} is executed {} times per response, {} in all without round trips{}",
                    number(query.per_request),
                    seconds(query.seconds_per_request()),
                    if_of_requests(growth)
                ),
                signals: signals.into_iter().flatten().collect(),
                remedy: Remedy::advice(remedy(query)),
                gain: gain(evidence, query),
            });
        }
    }
    Ok(drafts)
}

/// A cursor whose rows are fetched one by one.
fn fetched(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    query: &Query<'_>,
    growth: Option<f64>,
) -> Option<Draft> {
    let rows =
        Signal::at_most("rows per FETCH", Unit::Count, Some(query.rows), *ROWS.end(), "pg_stat_statements")?;
    Some(Draft {
        subject: query.subject(server),
        statement: format!(
            "the rows of a cursor are fetched one by one: {} FETCH per response, {} in all without round trips{}",
            number(query.per_request),
            seconds(query.seconds_per_request()),
            if_of_requests(growth)
        ),
        signals: calls(query).into_iter().chain([rows]).collect(),
        remedy: Remedy::advice(remedy(query)),
        gain: gain(evidence, query),
    })
}

/// The calls per response, which are many.
fn calls(query: &Query<'_>) -> Option<Signal> {
    let calls = Some(query.per_request);
    Signal::at_least("calls per response", Unit::Count, calls, CALLS, "pg_stat_statements")
}

/// What a sentence about calls ends with where they are not known to follow the load.
const fn if_of_requests(growth: Option<f64>) -> &'static str {
    if growth.is_some() { "" } else { ", if all of them belong to requests" }
}

/// What is saved if one call stands for all.
fn gain(evidence: &Evidence<'_>, query: &Query<'_>) -> Option<Gain> {
    let saved = query.seconds_per_request() * (1.0 - 1.0 / query.per_request);
    let bound = "all but one of these executions; their round trips come on top";
    Gain::saves(evidence.response_mean(), Some(saved), bound)
}

/// Whether it reads, or changes about one row of those that its transaction changes.
fn is_of_a_loop(server: &Watched<'_>, query: &Query<'_>) -> bool {
    match query.statement.verb.as_str() {
        "select" => query.statement.is_read(),
        FETCH => query.rows <= *ROWS.end(),
        "update" | "delete" => {
            let commits = server.rises("database.commits").into_iter().next();
            let commits = commits.and_then(|(_, commits)| commits.per_second());
            let is_together = commits.is_some_and(|commits| commits < COMMITS * query.per_second);
            is_together && ROWS.contains(&query.rows) && !query.text.contains(OF_A_KEY)
        }
        _ => false,
    }
}

/// What to do about a statement.
fn remedy(query: &Query<'_>) -> &'static str {
    match query.statement.verb.as_str() {
        "update" => {
            "change the rows together: `UPDATE … FROM unnest($1, $2)`, or `= ANY($1)` if all get the same value"
        }
        FETCH => "fetch the rows in batches: `FETCH 1000 FROM …`, or a fetch size of the driver above 1",
        "delete" => "delete the rows together: `DELETE … WHERE id = ANY($1)`",
        _ => "read the rows together: a join, `= ANY($1)`, or the eager loading of the ORM",
    }
}

/// How much the calls of a statement grow with the responses: 1 in proportion, 0 not at all. Compares the slower half
/// of the time between readings with the faster one. `None` if the responses do not vary enough.
fn growth(evidence: &Evidence<'_>, server: &Watched<'_>, query: &Query<'_>) -> Option<f64> {
    let series = server.series("statement.calls", query.id)?;
    let (from, to) = evidence.window();
    let spans = series.points.windows(2).filter(|pair| pair[1].0 > from && pair[0].0 < to);
    // Seconds, responses and calls.
    let mut spans: Vec<[f64; 3]> = spans
        .map(|pair| {
            let seconds = pair[1].0.since(pair[0].0).as_secs_f64();
            [seconds, evidence.answered_within(pair[0].0, pair[1].0), (pair[1].1 - pair[0].1).max(0.0)]
        })
        .filter(|span| span[0] > 0.0 && span.iter().all(|figure| figure.is_finite()))
        .collect();
    spans.sort_by(|one, other| (one[1] / one[0]).total_cmp(&(other[1] / other[0])));
    let (slow, fast) = spans.split_at(spans.len() / 2);
    let sum = |spans: &[[f64; 3]], place: usize| spans.iter().map(|span| span[place]).sum::<f64>();
    let pace = |spans: &[[f64; 3]], place: usize| sum(spans, place) / sum(spans, 0);
    let grew = |place: usize| pace(fast, place) / pace(slow, place);
    let varies = grew(1) >= VARIES && sum(slow, 1) >= RESPONSES_MIN && sum(fast, 1) >= RESPONSES_MIN;
    let growth = grew(2).ln() / grew(1).ln();
    (varies && !growth.is_nan()).then_some(growth)
}

#[cfg(test)]
mod tests {
    use knee_core::schedule::Curve;

    use crate::Confidence;
    use crate::testing::{Costs, Scene};

    fn called(times: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let text = "SELECT name FROM authors WHERE id = $1";
        scene.statement(server, "2", text, &Costs { per_request: times, ..Costs::default() });
        scene.table(server, "public.authors", 5_000.0, [0.0, 0.0], [1_000.0 * times, 1_000.0 * times]);
        scene
    }

    #[test]
    fn twenty_authors_of_a_page_are_found_and_three_lookups_are_not() {
        let finding = called(20.0).found("many_statements").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        let says = "the same statement on authors is executed 20 times per response, 1.00 ms in all without round \
                    trips, if all of them belong to requests";
        assert_eq!(finding.statement, says);
        assert_eq!(called(3.0).found("many_statements"), None);
    }

    #[test]
    fn a_loop_is_seen_behind_a_comment_and_a_common_table_expression_that_adds_nothing() {
        let found = |text: &str| {
            let mut scene = called(20.0);
            scene.text(0, "statement.text", "2", text);
            scene.found("many_statements").map(|finding| finding.statement)
        };
        let reads = "/* page */ WITH a AS (SELECT * FROM authors WHERE id = $1) SELECT name FROM a";
        assert!(found(reads).unwrap().starts_with("the same statement on authors is executed 20 times"));
        let adds = "WITH a AS (INSERT INTO authors (name) VALUES ($1) RETURNING id) SELECT id FROM a";
        assert_eq!(found(adds), None);
    }

    /// 80 calls of a statement that changes rows per response, of so many rows each, in so many transactions.
    fn changed(text: &str, rows: f64, commits: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs = Costs { per_request: 80.0, seconds: 0.000_02, rows, ..Costs::default() };
        scene.statement(server, "2", text, &costs);
        scene.table(server, "public.songs", 40_000.0, [0.0, 0.0], [80_000.0, 80_000.0 * rows]);
        scene.counter(server, "database.commits", "shop", 1_000.0 * commits);
        scene
    }

    const PLACE: &str = "UPDATE songs SET place = $2 WHERE id = $1";

    #[test]
    fn eighty_songs_that_are_changed_or_deleted_one_by_one_in_a_transaction_are_found() {
        let finding = changed(PLACE, 1.0, 1.0).found("many_statements").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(
            finding.statement.starts_with("the same statement on songs is executed 80 times per response")
        );
        assert!(finding.remedy.to_string().contains("unnest($1, $2)"), "{}", finding.remedy);
        let deleted = changed("DELETE FROM songs WHERE id = $1", 1.0, 1.0).found("many_statements").unwrap();
        assert!(deleted.remedy.to_string().contains("DELETE … WHERE id = ANY($1)"), "{}", deleted.remedy);
    }

    #[test]
    fn changes_with_a_commit_for_each_of_many_rows_or_of_none_are_no_loop_of_one_transaction() {
        assert_eq!(changed(PLACE, 1.0, 80.0).found("many_statements"), None, "each with a commit");
        assert_eq!(changed(PLACE, 50.0, 1.0).found("many_statements"), None, "batches");
        assert_eq!(changed(PLACE, 0.05, 1.0).found("many_statements"), None, "tries that change nothing");
        let cascade = "DELETE FROM ONLY \"public\".\"songs\" WHERE $1 OPERATOR(pg_catalog.=) \"album\"";
        assert_eq!(changed(cascade, 1.0, 1.0).found("many_statements"), None, "a foreign key");
    }

    #[test]
    fn a_cursor_that_gives_row_by_row_is_found_and_one_that_gives_batches_is_not() {
        let fetched = |times: f64, rows: f64| {
            let mut scene = Scene::steady();
            let server = scene.postgres();
            let costs = Costs { per_request: times, seconds: 0.000_01, rows, ..Costs::default() };
            scene.statement(server, "2", "FETCH FORWARD 1 FROM lines", &costs);
            scene.found("many_statements")
        };
        let finding = fetched(300.0, 1.0).unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        let says = "the rows of a cursor are fetched one by one: 300 FETCH per response, 3.00 ms in all \
                    without round trips, if all of them belong to requests";
        assert_eq!(finding.statement, says);
        assert_eq!(fetched(6.0, 1_000.0), None, "batches");
        assert_eq!(fetched(2.0, 1.0), None, "the first row, and the look for a second");
    }

    /// 500 responses per second, and 1,000 from second 15 on; with so many calls in each second.
    fn varying(calls: impl Fn(u64) -> f64) -> Scene {
        let rate = |second: u64| if second < 15 { 500 } else { 1_000 };
        let mut scene = Scene::sized(30, rate, Curve::constant(10.0), |_, _, _| {});
        let server = scene.postgres();
        let text = "SELECT id FROM jobs WHERE state = $1 LIMIT $2";
        scene.statement(server, "2", text, &Costs::default());
        scene.stepped(server, "statement.calls", "2", calls);
        scene.counter(server, "statement.exec_time", "2", 0.4);
        scene.table(server, "public.jobs", 5_000.0, [0.0, 0.0], [9_000.0, 9_000.0]);
        scene
    }

    #[test]
    fn a_poller_that_asks_as_often_under_every_load_is_no_work_of_requests() {
        assert_eq!(varying(|_| 9_000.0).found("many_statements"), None);
    }

    #[test]
    fn executions_that_follow_the_load_belong_to_requests() {
        let finding = varying(|second| if second < 15 { 5_000.0 } else { 10_000.0 });
        let finding = finding.found("many_statements").unwrap();
        assert!(finding.statement.ends_with("in all without round trips"), "{}", finding.statement);
    }
}
