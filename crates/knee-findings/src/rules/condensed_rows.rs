//! A statement that makes few rows of many for each response: a sum, a group, the newest of each.
//!
//! Needs the statements of a PostgreSQL server. One row of a count is `count_per_request`, and a page in a computed order
//! is `computed_order`: they win over this rule. Does not ask whether the result changed between two calls.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::query::{self, Query, Table};
use crate::watched::Watched;

use super::wasted_reads;

pub(super) const RULE: Rule = Rule {
    code: "condensed_rows",
    finds: "a statement that sums up, groups or thins out many rows for each response",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "a SELECT that counts, sums, groups or drops what is the same takes 10 % of the execution time and 30 % of the mean response time, with a call for every twentieth response; it reads 100 blocks per call; scans of a table that it names read 20 rows for each row that all statements on the table return, and 1,000 per call; no other statement on the table reads more blocks. All of them, or nothing",
    source: "The limits are those of `wasted_reads`, which leaves these statements out: they read many rows on purpose, but not for each response. Blocks per row are not asked for: a block has a hundred small rows.",
    cause: "A result of many rows is computed for each request that shows it: a total, a number per group, the newest entry of each group.",
    remedy: "Keep the result where it is written (a column, a table of sums), or for a moment (a materialized view, a cache). The newest row of each group needs no other row: a join LATERAL that reads one row per group, with an index that begins with the group.",
    explains: &["cache_miss", "wasted_reads", "table_growth"],
    check,
};

/// Calls per response: what a timer computes ahead makes no request wait.
const PER_REQUEST: f64 = 0.05;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        for query in query::heavy(&queries).filter(|query| is_condensing(query)) {
            if let Some(part) = large_part(evidence, query)
                && let Some((scanned, table)) = wasted_reads::most_wasted(&server, &queries, query)
            {
                drafts.push(draft(evidence, &server, query, &table, vec![part, scanned]));
            }
        }
    }
    Ok(drafts)
}

fn is_condensing(query: &Query<'_>) -> bool {
    matches!(query.statement.verb.as_str(), "select" | "with")
        && query.blocks >= wasted_reads::BLOCKS
        && query.per_request >= PER_REQUEST
        && query.condenses()
}

/// The time of a statement, if it is a large part of the response time.
fn large_part(evidence: &Evidence<'_>, query: &Query<'_>) -> Option<Signal> {
    Signal::at_least(
        "share of the mean response time",
        Unit::Share,
        wasted_reads::of_response(evidence, query),
        wasted_reads::OF_RESPONSE,
        "pg_stat_statements",
    )
}

fn draft(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    query: &Query<'_>,
    table: &Table<'_>,
    signals: Vec<Signal>,
) -> Draft {
    Draft {
        subject: query.subject(server),
        statement: format!(
            "a statement reads {} blocks to return {} rows, {} times per request and {} of the database's time: it sums up \
             or thins out many rows of {}",
            number(query.blocks),
            number(query.rows),
            number(query.per_request),
            percent(query.time_share),
            table.name,
        ),
        signals,
        remedy: Remedy::advice(
            "keep the result where it is written, or for a moment; for the newest row of each group, read one row per group \
             through an index that begins with the group",
        ),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(query.seconds_per_request()),
            format!("the statement takes {} per request", seconds(query.seconds_per_request())),
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, Scene};

    const NEWEST: &str = "SELECT DISTINCT ON (depot) depot, id, pieces FROM stock ORDER BY depot, id DESC";

    /// A statement with every request or fewer of them, and what scans of its table read per call.
    fn condensing(text: &str, per_request: f64, blocks: f64, read: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs =
            Costs { per_request, seconds: 0.003 / per_request, rows: 50.0, blocks, ..Costs::default() };
        scene.statement(server, "2", text, &costs);
        scene.table(server, "public.stock", 200_000.0, [1_000.0, 1_000.0 * read], [0.0, 0.0]);
        scene
    }

    #[test]
    fn the_newest_row_of_each_group_and_a_sum_per_group_of_many_rows_are_found() {
        for text in [NEWEST, "SELECT depot, sum(pieces) FROM stock GROUP BY depot"] {
            let finding = condensing(text, 1.0, 9_000.0, 200_000.0).found("condensed_rows").unwrap();
            assert_eq!(finding.evidence.len(), 2, "{text}");
            let end = "it sums up or thins out many rows of public.stock";
            assert!(finding.statement.ends_with(end), "one table: {}", finding.statement);
        }
        assert!(condensing(NEWEST, 1.0, 400.0, 40_000.0).found("condensed_rows").is_some(), "small rows");
    }

    #[test]
    fn few_rows_other_statements_and_what_a_timer_computes_are_healthy() {
        assert_eq!(condensing(NEWEST, 1.0, 60.0, 200_000.0).found("condensed_rows"), None, "few blocks");
        assert_eq!(condensing(NEWEST, 1.0, 9_000.0, 900.0).found("condensed_rows"), None, "few rows");
        assert_eq!(condensing(NEWEST, 0.01, 9_000.0, 200_000.0).found("condensed_rows"), None, "a timer");
        let plain = "SELECT id FROM stock WHERE pieces > $1";
        assert_eq!(condensing(plain, 1.0, 9_000.0, 200_000.0).found("condensed_rows"), None);
    }

    #[test]
    fn a_count_with_each_page_is_that_of_its_own_rule() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs = Costs { seconds: 0.008, blocks: 1_200.0, ..Costs::default() };
        scene.statement(server, "2", "SELECT count(*) FROM stock", &costs);
        scene.table(server, "public.stock", 50_000.0, [1_000.0, 5e7], [0.0, 0.0]);
        let codes: Vec<_> = scene.report().findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["count_per_request"]);
    }
}
