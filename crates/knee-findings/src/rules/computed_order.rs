//! A page of rows in an order that is computed for each call: the newest by what other tables say, the best by a sum.
//!
//! Needs the statements of a PostgreSQL server, with plans. An order by columns of one table is `sort_mismatch`.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::query::{self, Query};
use crate::watched::Watched;

use super::sort_mismatch::sorted_rows;

pub(super) const RULE: Rule = Rule {
    code: "computed_order",
    finds: "a page of rows whose order is computed from many rows for each call",
    needs: "a PostgreSQL server with pg_stat_statements, and plans",
    limits: "a statement with ORDER BY, LIMIT and 10 % of the execution time orders by an expression, or by a name that no table of it has as a column; it reads 100 blocks per call, and 20 per row returned; the plan sorts 1,000 rows, and 20 times the rows that it returns; it has a call for every twentieth response, and takes 10 % of the mean service time per response. All of them, or nothing",
    source: "20 rows read for one that is returned are where `sort_mismatch` begins; no index has an order that only a join or a sum of other rows makes.",
    cause: "A list is ordered by the latest, the sum or the number of other rows, which are all read and joined for each page.",
    remedy: "Keep what the order needs in the row itself, written whenever it changes, with an index in this order. If the order is that of a column under another name, an index is enough.",
    explains: &["wasted_reads", "condensed_rows", "deep_offset"],
    check,
};

const BLOCKS: f64 = 100.0;
const BLOCKS_PER_ROW: f64 = 20.0;
const SORTED: f64 = 1_000.0;
const TIMES: f64 = 20.0;
/// Calls per response: what a timer computes ahead makes no request wait.
const PER_REQUEST: f64 = 0.05;
/// Share of the mean service time per response.
const OF_RESPONSE: f64 = 0.1;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        let pages =
            query::heavy(&queries).filter(|query| query.blocks >= BLOCKS && is_computed(&server, query));
        drafts.extend(pages.filter_map(|query| computed(evidence, &server, query)));
    }
    Ok(drafts)
}

/// Whether a page is ordered by something that no table of the statement has as a column.
fn is_computed(server: &Watched<'_>, query: &Query<'_>) -> bool {
    let statement = &query.statement;
    // What is no table is a part of the statement, if it has such parts.
    let has_parts = !statement.parts.is_empty();
    let of_table = |named: &String, column: &str| {
        query::table(server, named).map_or(!has_parts, |table| table.has(column))
    };
    let is_column = |column: &crate::statement::Column| match &column.table {
        Some(table) => statement.tables.contains(table) && of_table(table, &column.name),
        None => statement.tables.iter().any(|named| of_table(named, &column.name)),
    };
    let by_columns =
        !statement.order.is_empty() && statement.order.iter().all(|ordered| is_column(&ordered.column));
    query.is_page() && !by_columns
}

fn computed(evidence: &Evidence<'_>, server: &Watched<'_>, query: &Query<'_>) -> Option<Draft> {
    let of_response = query.seconds_per_request() / evidence.service_mean()?;
    if query.per_request < PER_REQUEST || of_response < OF_RESPONSE {
        return None;
    }
    let rows = sorted_rows(server, query).filter(|rows| *rows >= SORTED)?;
    let per_row = Signal::at_least(
        "blocks read per row returned",
        Unit::Count,
        Some(query.blocks_per_row()),
        BLOCKS_PER_ROW,
        "pg_stat_statements",
    )?;
    let sorted = Signal::at_least(
        "rows that the plan sorts per row returned",
        Unit::Count,
        Some(rows / query.rows.max(1.0)),
        TIMES,
        "EXPLAIN",
    )?;
    Some(Draft {
        subject: query.subject(server),
        statement: format!(
            "a statement computes the order of about {} rows to return {}, {} of the database's time",
            number(rows),
            number(query.rows),
            percent(query.time_share)
        ),
        signals: vec![per_row, sorted],
        remedy: Remedy::advice(
            "keep what the order needs in the row itself, written when it changes, with an index in this order; for a column \
             under another name, the index is enough",
        ),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(query.seconds_per_request()),
            format!("the statement takes {} per request", seconds(query.seconds_per_request())),
        ),
    })
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::{Costs, Scene};

    const LATEST: &str = "SELECT t.id, t.name FROM tasks t LEFT JOIN (SELECT task, max(started) AS last FROM runs \
                          GROUP BY task) r ON r.task = t.id WHERE t.owner = $1 ORDER BY r.last DESC LIMIT $2";
    const OWN: &str = "SELECT t.id, t.name FROM tasks t WHERE t.owner = $1 ORDER BY t.last DESC LIMIT $2";

    fn listing(text: &str, blocks: f64, sorted: u32) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs = Costs { per_request: 0.1, seconds: 0.2, rows: 50.0, blocks, ..Costs::default() };
        scene.statement(server, "2", text, &costs);
        scene.table(server, "public.tasks", 60_000.0, [0.0, 0.0], [100.0, 6e6]);
        scene.text(
            server,
            "table.columns",
            "public.tasks",
            "id\tbigint\t-1\t0\nowner\tbigint\t9\t0\nlast\tdate\t-1\t0",
        );
        let plan = format!(
            r#"[{{"Plan": {{"Node Type": "Limit", "Plan Rows": 3549, "Plans": [{{"Node Type": "Gather Merge",
            "Plan Rows": {sorted}, "Plans": [{{"Node Type": "Sort", "Plan Rows": {sorted}}}]}}]}}}}]"#
        );
        scene.text(server, "statement.plan", "2", &plan);
        scene
    }

    #[test]
    fn a_list_ordered_by_the_latest_of_other_rows_is_found() {
        let finding = listing(LATEST, 5_800.0, 35_000).found("computed_order").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(finding.statement.contains("about 35,000 rows to return 50"), "{}", finding.statement);
    }

    #[test]
    fn few_rows_few_blocks_and_an_order_by_own_columns_are_healthy() {
        assert_eq!(listing(LATEST, 5_800.0, 400).found("computed_order"), None);
        assert_eq!(listing(LATEST, 90.0, 35_000).found("computed_order"), None);
        assert_eq!(listing(OWN, 5_800.0, 35_000).found("computed_order"), None, "that is sort_mismatch");
    }

    #[test]
    fn an_order_by_a_sum_and_by_a_part_of_the_statement_are_computed_too() {
        let sum = "SELECT owner, count(*) FROM tasks GROUP BY owner ORDER BY count(*) DESC LIMIT $1";
        assert!(listing(sum, 5_800.0, 35_000).found("computed_order").is_some());
        let part = "WITH r AS (SELECT owner, count(*) AS n FROM tasks GROUP BY owner) SELECT * FROM r ORDER BY r.n LIMIT 9";
        assert!(listing(part, 5_800.0, 35_000).found("computed_order").is_some());
    }

    #[test]
    fn what_a_timer_computes_ahead_makes_no_request_wait() {
        let mut scene = listing(LATEST, 5_800.0, 35_000);
        let costs =
            Costs { per_request: 0.000_3, seconds: 0.2, rows: 50.0, blocks: 5_800.0, ..Costs::default() };
        scene.statement(0, "2", LATEST, &costs);
        assert_eq!(scene.found("computed_order"), None);
    }

    #[test]
    fn a_report_of_all_groups_is_no_page() {
        let text = "SELECT owner, count(*) AS n FROM tasks GROUP BY owner ORDER BY n DESC";
        assert_eq!(listing(text, 5_800.0, 35_000).found("computed_order"), None);
    }
}
