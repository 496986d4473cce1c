//! A count of many rows for each page: the total behind "page 1 of 4,713".
//!
//! Needs the statements of a PostgreSQL server.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::query;

pub(super) const RULE: Rule = Rule {
    code: "count_per_request",
    finds: "a count of many rows with many requests",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "a statement counts without grouping, returns one row, takes 10 % of the execution time, and has a call for every tenth response; it reads 100 blocks per call; scans of its table, or of one of its indexes, read 10,000 rows each",
    source: "PostgreSQL counts by reading every visible row; an index alone has some hundred entries per block, so that 10,000 rows are 30 to 100 blocks.",
    cause: "The total number of rows is computed for each page, although few readers need it.",
    remedy: "Ask for one row more than a page shows (has more), keep a counter, or use an estimate.",
    explains: &["cache_miss", "wasted_reads", "condensed_rows", "table_growth"],
    check,
};

const PER_REQUEST: f64 = 0.1;
const BLOCKS: f64 = 100.0;
const ROWS: f64 = 10_000.0;
/// Rows returned per call.
const ONE_ROW: f64 = 1.01;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        for query in query::heavy(&queries) {
            let counts = query.statement.counts && query.rows <= ONE_ROW && query.per_request >= PER_REQUEST;
            let table = query.statement.tables.first().and_then(|named| query::table(&server, named));
            let (true, Some(table)) = (counts, table) else { continue };
            let rows =
                table.rows_per_seq_scan.max(table.entries_per_index_scan).max(table.rows_per_index_scan);
            let signals: Vec<Signal> = [
                Signal::at_least(
                    "blocks read per count",
                    Unit::Count,
                    Some(query.blocks),
                    BLOCKS,
                    "pg_stat_statements",
                ),
                Signal::at_least(
                    format!("rows per scan of {}", table.name),
                    Unit::Count,
                    Some(rows),
                    ROWS,
                    "pg_stat_user_tables",
                ),
            ]
            .into_iter()
            .flatten()
            .collect();
            if signals.len() < 2 {
                continue;
            }
            drafts.push(Draft {
                subject: query.subject(&server),
                statement: format!(
                    "{} counts of {} per request read {} blocks each, {} of the database's time",
                    number(query.per_request),
                    table.name,
                    number(query.blocks),
                    percent(query.time_share)
                ),
                signals,
                remedy: Remedy::advice(
                    "ask for one row more than a page shows, keep a counter, or use an estimate",
                ),
                gain: Gain::saves(
                    evidence.response_mean(),
                    Some(query.seconds_per_request()),
                    format!("the count takes {} per request", seconds(query.seconds_per_request())),
                ),
            });
        }
    }
    Ok(drafts)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, Scene};

    fn counting(blocks: f64, rows: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs = Costs { seconds: 0.008, blocks, ..Costs::default() };
        scene.statement(server, "2", "SELECT count(*) FROM products", &costs);
        scene.table(server, "public.products", rows, [1_000.0, 1_000.0 * rows], [1_000.0, 1_000.0]);
        scene
    }

    #[test]
    fn a_count_with_every_page_is_found_and_a_count_of_few_rows_is_not() {
        assert_eq!(counting(1_200.0, 50_000.0).found("count_per_request").unwrap().evidence.len(), 2);
        assert_eq!(counting(12.0, 500.0).found("count_per_request"), None);
    }

    #[test]
    fn a_count_that_an_index_answers_alone_is_found_too() {
        let mut scene = counting(180.0, 50_000.0);
        scene.table(0, "public.products", 50_000.0, [0.0, 0.0], [1_000.0, 0.0]);
        scene.counter(0, "index.scans", "public.products_pkey", 1_000.0);
        scene.counter(0, "index.rows_read", "public.products_pkey", 50_000.0 * 1_000.0);
        assert_eq!(scene.found("count_per_request").unwrap().evidence.len(), 2);
    }
}
