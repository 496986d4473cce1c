//! A statement that reads far more rows than it returns, for a reason that no other rule knows.
//!
//! Needs the statements of a PostgreSQL server. Rules that know the reason win over this one. Does not look at statements
//! that count, sum or group: they read many rows for few on purpose. Where a text names no observed table, as that of a view,
//! the tables of the plan stand for it.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::plan::{self, Node};
use crate::query::{self, Query, Table};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "wasted_reads",
    finds: "a statement that reads many rows and blocks for few rows, whatever the reason",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "a SELECT, UPDATE or DELETE, also one that begins with WITH, that does not count, sum or group takes 10 % of the execution time and 30 % of the mean response time; it reads 100 blocks per call and 50 per row; scans of a table that it names, or that its plan reads where it names a view, read 20 rows for each row that all statements on the table return, and 1,000 per call. Instead of 50 blocks per row: a sequential scan of the table reads 10,000 rows, and all scans 100 for each row returned. No other statement on the table reads more blocks. All of them, or nothing",
    source: "An index is what planners prefer up to 5 % of the rows of a table, which is one row of 20. 100 and 50 blocks are those of `missing_index`. A nested loop reads four blocks per row and join, so that joins alone seldom need 50. A planner that reads all rows in a row for one of 100 has no index for them; to check 10,000 takes a millisecond. Below 30 %, another part of the response is the larger one.",
    cause: "The path to the rows leads past many others: an index has only a part of the condition, or the order without the condition; the planner walks an index because it expects the first row soon; a function or a cast hides a column; the condition is checked on rows of a join; a common table expression is executed by itself (MATERIALIZED, or used twice), so that a condition outside of it finds no index.",
    remedy: "Compare the rows that each step of EXPLAIN (ANALYZE, BUFFERS) reads with those that it keeps. Where most are filtered out, an index with all compared columns before the columns of the order reads only what is returned. A condition on a common table expression that is executed by itself belongs inside of it.",
    explains: &["cache_miss"],
    check,
};

pub(super) const BLOCKS: f64 = 100.0;
const BLOCKS_PER_ROW: f64 = 50.0;
const ROWS: f64 = 1_000.0;
const TIMES: f64 = 20.0;
/// Rows that a sequential scan reads, and rows read per row returned, from which on few blocks per row are no excuse.
const SCANNED: f64 = 10_000.0;
const SCANNED_TIMES: f64 = 100.0;
/// Share of the mean response time.
pub(super) const OF_RESPONSE: f64 = 0.3;
/// The step of a plan that reads what a common table expression made when it was executed by itself.
const MADE_BEFORE: &str = "CTE Scan";

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        for query in query::heavy(&queries).filter(|query| is_search(query)) {
            if is_large_part(evidence, query)
                && let Some((wasted, table)) = most_wasted(&server, &queries, query)
                && let Some(read) = blocks_per_row(query).or_else(|| read_in_a_row(&table, &wasted))
            {
                drafts.push(draft(evidence, &server, query, &table, vec![read, wasted]));
            }
        }
    }
    Ok(drafts)
}

/// Whether a statement takes a large part of the response time.
fn is_large_part(evidence: &Evidence<'_>, query: &Query<'_>) -> bool {
    of_response(evidence, query).is_some_and(|share| share >= OF_RESPONSE)
}

/// The time of a statement per response, as a share of the mean response time.
pub(super) fn of_response(evidence: &Evidence<'_>, query: &Query<'_>) -> Option<f64> {
    evidence.response_mean().map(|mean| query.seconds_per_request() / mean)
}

/// The table of a statement of which scans read most rows, if that is out of proportion.
pub(super) fn most_wasted<'s>(
    server: &Watched<'s>,
    queries: &[Query<'_>],
    query: &Query<'_>,
) -> Option<(Signal, Table<'s>)> {
    let wasted = tables(server, query)
        .into_iter()
        .filter_map(|table| scanned(server, queries, query, &table).zip(Some(table)));
    wasted.max_by(|(_, one), (_, other)| one.rows_read_per_second().total_cmp(&other.rows_read_per_second()))
}

/// The observed tables that a statement reads: those that it names, or those of its plan if it names none of them.
fn tables<'s>(server: &Watched<'s>, query: &Query<'_>) -> Vec<Table<'s>> {
    let named = query.statement.tables.iter().filter_map(|named| query::table(server, named));
    let named: Vec<Table<'s>> = named.collect();
    if !named.is_empty() {
        return named;
    }
    let steps = server.text("statement.plan", query.id).map_or_else(Vec::new, plan::nodes);
    steps.iter().filter_map(|step| query::table(server, step.table.as_deref()?)).collect()
}

/// Whether a statement looks for rows, all of which it returns or changes.
fn is_search(query: &Query<'_>) -> bool {
    query.searches() && query.blocks >= BLOCKS && !query.condenses()
}

/// The blocks of the statement, if they are out of proportion to its rows.
fn blocks_per_row(query: &Query<'_>) -> Option<Signal> {
    let blocks = Some(query.blocks_per_row());
    Signal::at_least(
        "blocks read per row returned",
        Unit::Count,
        blocks,
        BLOCKS_PER_ROW,
        "pg_stat_statements",
    )
}

/// The rows of a sequential scan, if they are many and nearly all of them are left out.
fn read_in_a_row(table: &Table<'_>, wasted: &Signal) -> Option<Signal> {
    let rows = Some(table.rows_per_seq_scan).filter(|_| wasted.figure >= SCANNED_TIMES);
    let what = format!("rows that a sequential scan of {} reads", table.name);
    Signal::at_least(what, Unit::Count, rows, SCANNED, "pg_stat_user_tables")
}

/// The rows of the table's scans, if they are out of proportion, and if no other statement reads more of the table.
fn scanned(
    server: &Watched<'_>,
    queries: &[Query<'_>],
    query: &Query<'_>,
    table: &Table<'_>,
) -> Option<Signal> {
    let reads = |other: &Query<'_>| tables(server, other).iter().any(|read| read.name == table.name);
    let of_table: Vec<&Query<'_>> = queries.iter().filter(|other| reads(other)).collect();
    let blocks = |query: &Query<'_>| query.blocks * query.per_second;
    if of_table.iter().any(|other| blocks(other) > blocks(query)) {
        return None;
    }
    let calls: f64 = of_table.iter().map(|other| other.per_second).sum();
    let returned: f64 = of_table.iter().map(|other| other.rows_per_second()).sum();
    let read = table.rows_read_per_second();
    Signal::at_least(
        format!("rows that scans of {} read, per row that statements on it return", table.name),
        Unit::Count,
        Some(read / returned).filter(|_| read >= ROWS * calls),
        TIMES,
        "pg_stat_user_tables",
    )
}

fn draft(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    query: &Query<'_>,
    table: &Table<'_>,
    signals: Vec<Signal>,
) -> Draft {
    let steps = server.text("statement.plan", query.id).map_or_else(Vec::new, plan::nodes);
    Draft {
        subject: query.subject(server),
        statement: format!(
            "a statement reads {} blocks to return {} rows, {} of the database's time: most rows of {} that it reads are not \
             in its result{}",
            number(query.blocks),
            number(query.rows),
            percent(query.time_share),
            table.name,
            filtered(&steps).unwrap_or_default(),
        ),
        signals,
        remedy: Remedy::advice(if checked_after(&steps).is_some() {
            "move the condition into the common table expression, or let the planner do it: without MATERIALIZED, and with \
             the expression used once"
        } else {
            "find the step of EXPLAIN (ANALYZE, BUFFERS) that filters out most rows, and give it an index with all compared \
             columns, then those of the order"
        }),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(query.seconds_per_request()),
            format!("the statement takes {} per request", seconds(query.seconds_per_request())),
        ),
    }
}

/// The step of a plan that leaves out rows which a common table expression had made before. Where no step passes many rows
/// on, it had made few, and the rows are left out elsewhere.
fn checked_after(steps: &[Node]) -> Option<&Node> {
    let is_large = steps.iter().any(|node| node.rows >= ROWS);
    steps.iter().find(|node| is_large && node.kind == MADE_BEFORE && node.filter.is_some())
}

/// The step of the plan that leaves out rows it has read: one behind a common table expression, or the first.
fn filtered(steps: &[Node]) -> Option<String> {
    let first = || steps.iter().find(|node| node.filter.is_some() || node.join_filter.is_some());
    let node = checked_after(steps).or_else(first)?;
    let filter = node.filter.as_deref().or(node.join_filter.as_deref())?;
    Some(format!("; its plan checks {filter} on each row of its {}", node.kind))
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::{Costs, Scene};

    const NEAR: &str =
        "SELECT d.id, d.name FROM depots d JOIN stock s ON s.depot = d.id WHERE s.sku = $1 AND d.open";

    /// A statement per request, and what scans of its table read for each.
    fn search(text: &str, rows: f64, blocks: f64, read: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs = Costs { per_request: 1.0, seconds: 0.003, rows, blocks, ..Costs::default() };
        scene.statement(server, "2", text, &costs);
        scene.table(server, "public.stock", 200_000.0, [0.0, 0.0], [1_000.0, 1_000.0 * read]);
        scene
    }

    #[test]
    fn a_statement_that_reads_thousands_of_rows_for_twenty_is_found_with_the_step_that_drops_them() {
        let mut scene = search(NEAR, 20.0, 1_900.0, 30_000.0);
        let plan = r#"[{"Plan": {"Node Type": "Nested Loop", "Plan Rows": 20, "Plans": [
            {"Node Type": "Index Scan", "Relation Name": "stock", "Plan Rows": 20, "Filter": "(sku = $1)"}]}}]"#;
        scene.text(0, "statement.plan", "2", plan);
        let finding = scene.found("wasted_reads").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2));
        assert!(
            finding.statement.ends_with("; its plan checks (sku = $1) on each row of its Index Scan"),
            "{}",
            finding.statement
        );
    }

    #[test]
    fn a_common_table_expression_that_reads_all_rows_for_ten_is_found_with_the_condition_outside_of_it() {
        let text = "WITH open AS MATERIALIZED (SELECT id, sku FROM stock WHERE is_open) \
                    SELECT id FROM open WHERE sku = $1 LIMIT $2";
        let mut scene = search(text, 10.0, 1_900.0, 30_000.0);
        assert!(scene.found("wasted_reads").is_some(), "without a plan");
        let plan = r#"[{"Plan": {"Node Type": "Limit", "Plan Rows": 10, "Plans": [
            {"Node Type": "Seq Scan", "Relation Name": "stock", "Plan Rows": 30000, "Filter": "is_open"},
            {"Node Type": "CTE Scan", "Plan Rows": 10, "Filter": "(sku = $1)"}]}}]"#;
        scene.text(0, "statement.plan", "2", plan);
        let finding = scene.found("wasted_reads").unwrap();
        let end = "; its plan checks (sku = $1) on each row of its CTE Scan";
        assert!(finding.statement.ends_with(end), "{}", finding.statement);
        assert!(finding.remedy.to_string().contains("without MATERIALIZED"), "{}", finding.remedy);
        scene.text(0, "statement.plan", "2", &plan.replace("30000", "30"));
        let finding = scene.found("wasted_reads").unwrap();
        assert!(finding.statement.ends_with("its plan checks is_open on each row of its Seq Scan"));
        assert!(
            !finding.remedy.to_string().contains("MATERIALIZED"),
            "a small expression: {}",
            finding.remedy
        );
        let adds =
            "WITH new AS (INSERT INTO stock (sku) SELECT sku FROM shelves RETURNING id) SELECT id FROM new";
        assert_eq!(search(adds, 10.0, 1_900.0, 30_000.0).found("wasted_reads"), None, "it adds rows");
    }

    #[test]
    fn a_statement_that_returns_what_it_reads_or_that_sums_it_up_is_healthy() {
        assert_eq!(search(NEAR, 2_000.0, 1_900.0, 2_100.0).found("wasted_reads"), None);
        assert_eq!(search(NEAR, 20.0, 1_900.0, 40.0).found("wasted_reads"), None, "a join of many tables");
        assert_eq!(search(NEAR, 20.0, 60.0, 30_000.0).found("wasted_reads"), None, "few blocks");
        for text in [
            "SELECT state, count(*) FROM stock WHERE depot = $1 GROUP BY state",
            "SELECT sum (pieces) FROM stock WHERE depot = $1",
            "SELECT DISTINCT sku FROM stock WHERE depot = $1",
        ] {
            assert_eq!(search(text, 3.0, 1_900.0, 30_000.0).found("wasted_reads"), None, "{text}");
        }
    }

    /// A statement of 60 rows and few blocks, and what a sequential scan of a table reads for each.
    fn scan(text: &str, rows: f64, read: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs = Costs { per_request: 1.0, seconds: 0.003, rows, blocks: 370.0, ..Costs::default() };
        scene.statement(server, "2", text, &costs);
        scene.table(server, "public.recipes", read, [1_000.0, 1_000.0 * read], [0.0, 0.0]);
        scene
    }

    #[test]
    fn a_scan_of_all_rows_for_one_of_five_hundred_is_found_although_its_blocks_are_few() {
        let any = "SELECT id, title FROM recipes WHERE $1 = ANY(tags) ORDER BY id";
        let finding = scan(any, 60.0, 30_000.0).found("wasted_reads").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2));
        assert_eq!(scan(any, 600.0, 30_000.0).found("wasted_reads"), None, "one row of 50");
        assert_eq!(scan(any, 10.0, 3_000.0).found("wasted_reads"), None, "a small table");
    }

    #[test]
    fn what_lies_below_a_view_is_known_from_the_plan() {
        let mut scene = scan("SELECT id, cents FROM recipe_costs WHERE card = $1", 60.0, 30_000.0);
        assert_eq!(scene.found("wasted_reads"), None, "without a plan");
        let plan = r#"[{"Plan": {"Node Type": "Subquery Scan", "Plan Rows": 60, "Filter": "(card = $1)", "Plans": [
            {"Node Type": "Seq Scan", "Relation Name": "recipes", "Plan Rows": 30000}]}}]"#;
        scene.text(0, "statement.plan", "2", plan);
        let finding = scene.found("wasted_reads").unwrap();
        let end = "its plan checks (card = $1) on each row of its Subquery Scan";
        assert!(finding.statement.ends_with(end), "{}", finding.statement);
    }

    #[test]
    fn rows_that_another_statement_reads_are_not_those_of_this_one() {
        let mut scene = search(NEAR, 20.0, 1_900.0, 30_000.0);
        let report = "SELECT depot, sum(pieces) FROM stock GROUP BY depot";
        let costs =
            Costs { per_request: 0.5, seconds: 0.02, rows: 50.0, blocks: 9_000.0, ..Costs::default() };
        scene.statement(0, "3", report, &costs);
        assert_eq!(scene.found("wasted_reads"), None);
    }

    #[test]
    fn a_statement_that_is_a_small_part_of_the_response_is_left_alone() {
        let mut scene = Scene::with(|sample, _, _| sample.wait += 0.02);
        let server = scene.postgres();
        let costs = Costs { seconds: 0.003, rows: 20.0, blocks: 1_900.0, ..Costs::default() };
        scene.statement(server, "2", NEAR, &costs);
        scene.table(server, "public.stock", 200_000.0, [0.0, 0.0], [1_000.0, 3e7]);
        assert_eq!(scene.found("wasted_reads"), None);
    }

    #[test]
    fn a_rule_that_knows_the_reason_wins() {
        let mut scene = search("SELECT id FROM stock WHERE shelf = $1 LIMIT 5", 5.0, 1_900.0, 0.0);
        scene.table(0, "public.stock", 200_000.0, [1_000.0, 2e8], [0.0, 0.0]);
        let codes: Vec<_> = scene.report().findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["missing_index"]);
    }
}
