//! Rows that are inserted one by one in a transaction.
//!
//! Needs the statements of a PostgreSQL server. Where each row has a commit of its own as well, `many_commits` has the
//! larger part of the cost and speaks instead.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::query::{self, Query};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "insert_per_row",
    finds: "rows that are inserted one by one",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "5 calls of one INSERT per response, of one row each; 5 rows inserted into its table per response; at most half as many transactions as calls. All of them, or nothing",
    source: "An INSERT of many rows is parsed, planned and answered once (PostgreSQL documentation, populating a database). With five of the same, a loop stands around it.",
    cause: "The service, or its ORM without batches, sends a statement per row, each with a round trip in which the transaction keeps its locks and its connection.",
    remedy: "Insert them together: VALUES with many rows, `INSERT … SELECT … FROM unnest($1, $2)`, COPY, or the batches of the ORM.",
    explains: &[],
    check,
};

const CALLS: f64 = 5.0;
/// Transactions per call.
const COMMITS: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        let singly = queries.iter().filter(|query| query.statement.verb == "insert" && query.rows <= 1.0);
        let often = singly.filter(|query| query.per_request >= CALLS);
        drafts.extend(often.filter_map(|query| one_by_one(evidence, &server, query)));
    }
    Ok(drafts)
}

fn one_by_one(evidence: &Evidence<'_>, server: &Watched<'_>, query: &Query<'_>) -> Option<Draft> {
    let commits = server.rises("database.commits").into_iter().next()?.1.per_second()?;
    if commits > COMMITS * query.per_second {
        return None;
    }
    let named = query.statement.tables.first()?;
    let table = query::table(server, named)?;
    let inserted = evidence.per_request(server.rise("table.inserted", table.name)?);
    let calls = Signal::at_least(
        "calls per response",
        Unit::Count,
        Some(query.per_request),
        CALLS,
        "pg_stat_statements",
    );
    let rows = Signal::at_least(
        format!("rows inserted into {named} per response"),
        Unit::Count,
        inserted,
        CALLS,
        "pg_stat_user_tables",
    );
    let signals = vec![calls?, rows?];
    let saved = query.seconds_per_request() * (1.0 - 1.0 / query.per_request);
    Some(Draft {
        subject: query.subject(server),
        statement: format!(
            "each request inserts {} rows into {named} one by one, {} in all without round trips",
            number(query.per_request),
            seconds(query.seconds_per_request())
        ),
        signals,
        remedy: Remedy::advice(
            "insert the rows together: VALUES with many rows, `unnest`, COPY, or the batches of the ORM",
        ),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(saved),
            "all but one of these executions; their round trips come on top",
        ),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, RATE, Scene};

    const LINE: &str = "INSERT INTO prices (product, cents) VALUES ($1, $2)";

    /// So many calls per response of so many rows each, in so many transactions.
    fn inserted(calls: f64, rows: f64, commits: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let per_second = |times: f64| times * RATE as f64;
        let costs = Costs { per_request: calls, seconds: 0.000_02, rows, ..Costs::default() };
        scene.statement(server, "2", LINE, &costs);
        scene.table(server, "public.prices", 10_000.0, [0.0, 0.0], [0.0, 0.0]);
        scene.counter(server, "table.inserted", "public.prices", per_second(calls * rows));
        scene.counter(server, "database.commits", "shop", per_second(commits));
        scene
    }

    #[test]
    fn a_transaction_with_an_insert_for_each_row_is_found() {
        let finding = inserted(200.0, 1.0, 1.0).found("insert_per_row").unwrap();
        assert_eq!(finding.evidence.len(), 2);
        let says = "each request inserts 200 rows into prices one by one, 4.00 ms in all without round trips";
        assert_eq!(finding.statement, says);
    }

    #[test]
    fn one_insert_of_many_rows_and_a_few_inserts_are_healthy() {
        assert_eq!(inserted(1.0, 200.0, 1.0).found("insert_per_row"), None);
        assert_eq!(inserted(3.0, 1.0, 1.0).found("insert_per_row"), None);
        assert_eq!(inserted(6.0, 50.0, 1.0).found("insert_per_row"), None, "batches");
    }

    #[test]
    fn a_commit_for_each_row_is_said_by_the_rule_of_commits() {
        assert_eq!(inserted(200.0, 1.0, 200.0).found("insert_per_row"), None);
    }
}
