//! Pages by OFFSET: all rows before the page are read and thrown away.
//!
//! Needs the statements of a PostgreSQL server. Where no index has the order, all rows are read for the first page,
//! too: that is `sort_mismatch`.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::query;

use super::sort_mismatch::is_unordered;

pub(super) const RULE: Rule = Rule {
    code: "deep_offset",
    finds: "pages by OFFSET that read far more rows than they return",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "a statement with OFFSET and 10 % of the execution time reads 20 blocks per row; scans of its table read 20 times the rows that it returns; if it orders by columns of a table, an index begins with them. All, or nothing",
    source: "An offset reads what it skips. 20 times the rows is page 20.",
    cause: "The statement reads all rows before the page, and the deeper the page, the more.",
    remedy: "Page by the last key that was shown: WHERE (order columns) < ($1, $2) ORDER BY ... LIMIT n.",
    explains: &["wasted_reads", "condensed_rows", "table_growth"],
    check,
};

const TIMES: f64 = 20.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        let pages =
            query::heavy(&queries).filter(|query| query.statement.offset && !is_unordered(&server, query));
        for query in pages {
            let Some(table) = query.statement.tables.first().and_then(|named| query::table(&server, named))
            else {
                continue;
            };
            let read = table.rows_per_scan().map(|rows| rows / query.rows.max(1.0));
            let signals: Vec<Signal> = [
                Signal::at_least(
                    "blocks read per row returned",
                    Unit::Count,
                    Some(query.blocks_per_row()),
                    TIMES,
                    "pg_stat_statements",
                ),
                Signal::at_least(
                    format!("rows per scan of {} per row returned", table.name),
                    Unit::Count,
                    read,
                    TIMES,
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
                    "pages by OFFSET read {} rows of {} to return {}, {} of the database's time",
                    number(table.rows_per_scan().unwrap_or(0.0)),
                    table.name,
                    number(query.rows),
                    percent(query.time_share)
                ),
                signals,
                remedy: Remedy::advice("page by the last key that was shown instead of an offset"),
                gain: Gain::saves(
                    evidence.response_mean(),
                    Some(query.seconds_per_request()),
                    format!("the statement takes {} per request", seconds(query.seconds_per_request())),
                ),
            });
        }
    }
    Ok(drafts)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, Scene};

    fn pages(rows_per_scan: f64, blocks: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let text = "SELECT id, title FROM posts ORDER BY id DESC LIMIT $1 OFFSET $2";
        let costs = Costs { seconds: 0.004, rows: 20.0, blocks, ..Costs::default() };
        scene.statement(server, "2", text, &costs);
        scene.table(server, "public.posts", 90_000.0, [0.0, 0.0], [1_000.0, 1_000.0 * rows_per_scan]);
        let key = "CREATE UNIQUE INDEX posts_pkey ON public.posts USING btree (id)";
        scene.text(server, "index.definition", "public.posts_pkey", key);
        scene
    }

    #[test]
    fn deep_pages_are_found_and_first_pages_are_healthy() {
        assert_eq!(pages(40_000.0, 700.0).found("deep_offset").unwrap().evidence.len(), 2);
        assert_eq!(pages(30.0, 5.0).found("deep_offset"), None);
    }
}
