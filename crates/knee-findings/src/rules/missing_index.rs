//! A statement that reads a large table from end to end for few rows, and has no index for its condition.
//!
//! Needs the statements of a PostgreSQL server. Proposes an index of one table: columns compared for equality, the most
//! selective first, then a range or the order. Does not weigh what the index costs writes.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::plan;
use crate::query::{self, Query, Table};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "missing_index",
    finds: "a statement that scans a large table because no index fits its condition",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "a statement with 10 % of the execution time reads 100 blocks per call and 50 per row; the table has sequential scans of 10,000 rows each, at least half as many as the statement has calls; the plan keeps 5 % of the rows at most. No index begins with a compared column",
    source: "10,000 rows are PgHero's bar for a sequential scan that matters; 5 % is where planners prefer an index.",
    cause: "Each call reads the whole table to return a few rows, so its time grows with the table.",
    remedy: "Create the index (CONCURRENTLY on a live database), run the load again and compare.",
    explains: &["count_per_request", "cache_miss"],
    check,
};

const BLOCKS: f64 = 100.0;
const BLOCKS_PER_ROW: f64 = 50.0;
const ROWS: f64 = 10_000.0;
/// Sequential scans per call of the statement.
const SCANS_PER_CALL: f64 = 0.5;
const SELECTIVITY: f64 = 0.05;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        let candidates =
            query::heavy(&queries).filter(|query| query.blocks >= BLOCKS && !query.statement.either);
        for query in candidates {
            drafts.extend(
                query.statement.tables.iter().find_map(|named| scanned(evidence, &server, query, named)),
            );
        }
    }
    Ok(drafts)
}

fn scanned(evidence: &Evidence<'_>, server: &Watched<'_>, query: &Query<'_>, named: &str) -> Option<Draft> {
    let table = query::table(server, named)?;
    let columns = columns(query, &table, named)?;
    let scans =
        Some(table.rows_per_seq_scan).filter(|_| table.seq_scans >= SCANS_PER_CALL * query.per_second);
    let signals: Vec<Signal> = [
        Signal::at_least(
            "blocks read per row returned",
            Unit::Count,
            Some(query.blocks_per_row()),
            BLOCKS_PER_ROW,
            "pg_stat_statements",
        ),
        Signal::at_least(
            format!("rows per sequential scan of {}", table.name),
            Unit::Count,
            scans,
            ROWS,
            "pg_stat_user_tables",
        ),
        Signal::at_most(
            "share of the rows that the plan keeps",
            Unit::Share,
            kept(server, query, &table),
            SELECTIVITY,
            "EXPLAIN",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    // One signal alone is ordinary: a report over a whole table reads many blocks, too.
    if signals.len() < 2 {
        return None;
    }
    Some(Draft {
        subject: query.subject(server),
        statement: format!(
            "a statement scans {} ({} rows) for {} rows, {} of the database's time; no index begins with {}",
            table.name,
            number(table.live_rows),
            number(query.rows),
            percent(query.time_share),
            columns[0]
        ),
        signals,
        remedy: Remedy::Index { table: table.name.to_owned(), columns },
        gain: Gain::saves(
            evidence.response_mean(),
            Some(query.seconds_per_request()),
            format!("the statement takes {} per request", seconds(query.seconds_per_request())),
        ),
    })
}

/// The columns of the index; `None` if there is nothing to search by, or if an index begins with such a column.
fn columns(query: &Query<'_>, table: &Table<'_>, named: &str) -> Option<Vec<String>> {
    let statement = &query.statement;
    let mut columns = query::equality_columns(statement, table, named);
    let of_table = |of: &Option<String>| of.as_ref().is_none_or(|of| of == named);
    let range = statement.ranges.iter().find(|column| of_table(&column.table) && table.has(&column.name));
    let order = statement
        .order
        .iter()
        .all(|ordered| of_table(&ordered.column.table) && table.has(&ordered.column.name));
    if columns.is_empty() {
        columns.push(range?.name.clone());
    } else if statement.limit && order && !statement.order.is_empty() {
        columns.extend(statement.order.iter().map(crate::statement::Ordered::in_index));
    } else {
        columns.extend(range.map(|column| column.name.clone()));
    }
    let searched =
        |name: &str| statement.equals.iter().chain(&statement.ranges).any(|column| column.name == name);
    let fits = |index: &crate::statement::IndexShape| {
        !index.partial && index.columns.first().is_some_and(|first| searched(&first.column.name))
    };
    (!table.indexes.iter().any(fits)).then_some(columns)
}

/// The share of a table's rows that its sequential scan in the plan keeps.
fn kept(server: &Watched<'_>, query: &Query<'_>, table: &Table<'_>) -> Option<f64> {
    let nodes = plan::nodes(server.text("statement.plan", query.id)?);
    let bare = table.name.rsplit('.').next()?;
    let scan = nodes.iter().find(|node| {
        node.kind == "Seq Scan" && node.filters && node.table.as_deref().is_some_and(|read| read == bare)
    })?;
    (table.live_rows > 0.0).then(|| scan.rows / table.live_rows)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, RATE, Scene};
    use crate::{Confidence, Remedy, SubjectKind};

    const LIST: &str = "SELECT id, name FROM products WHERE shop = $1 ORDER BY name LIMIT 20";

    fn scanning(text: &str) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs =
            Costs { per_request: 0.2, seconds: 0.015, rows: 20.0, blocks: 1_200.0, ..Costs::default() };
        scene.statement(server, "2", text, &costs);
        let calls = 0.2 * RATE as f64;
        scene.table(server, "public.products", 50_000.0, [calls, calls * 50_000.0], [1_000.0, 1_000.0]);
        scene
    }

    #[test]
    fn a_scan_for_twenty_rows_is_found_with_the_index_that_it_needs() {
        let finding = scanning(LIST).found("missing_index").unwrap();
        assert_eq!((finding.confidence, finding.subject.kind), (Confidence::Likely, SubjectKind::Statement));
        let columns = vec!["shop".to_owned(), "name".to_owned()];
        assert_eq!(finding.remedy, Remedy::Index { table: "public.products".into(), columns });
        assert!(finding.gain.unwrap().share() > 0.5);
    }

    #[test]
    fn a_plan_is_one_signal_more() {
        let mut scene = scanning(LIST);
        scene.text(0, "statement.plan", "2", r#"[{"Plan": {"Node Type": "Limit", "Plan Rows": 20, "Plans": [
            {"Node Type": "Seq Scan", "Relation Name": "products", "Plan Rows": 250, "Filter": "(shop = $1)"}]}}]"#);
        assert_eq!(scene.found("missing_index").unwrap().confidence, Confidence::Strong);
    }

    #[test]
    fn with_an_index_on_the_column_nothing_is_missing() {
        let mut scene = scanning(LIST);
        scene.text(
            0,
            "index.definition",
            "public.i",
            "CREATE INDEX i ON public.products USING btree (shop, id)",
        );
        assert_eq!(scene.found("missing_index"), None);
    }

    #[test]
    fn a_report_over_the_whole_table_a_small_table_and_a_rare_statement_are_healthy() {
        assert_eq!(scanning("SELECT sum(price) FROM products").found("missing_index"), None);
        let mut small = scanning(LIST);
        small.table(0, "public.products", 800.0, [200.0, 160_000.0], [1_000.0, 1_000.0]);
        assert_eq!(small.found("missing_index"), None);
        let mut rare = scanning(LIST);
        rare.statement(
            0,
            "2",
            LIST,
            &Costs { per_request: 0.0001, seconds: 0.015, blocks: 1_200.0, ..Costs::default() },
        );
        assert_eq!(rare.found("missing_index"), None);
    }
}
