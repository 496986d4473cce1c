//! A join that returns every pair of two lists: more rows than its tables have for it.
//!
//! Needs the statements of a PostgreSQL server. Does not look at joins whose product is computed in the database and summed
//! up there.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::query::{self, Query, Table};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "row_product",
    finds: "a join that returns every pair of the rows of two lists",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "a SELECT of two tables or more, without sums or groups, with 10 % of the execution time, joins two of them with one column of another and returns 500 rows per call; they are 5 times the rows that one scan of each table reads; a response has 16 bytes per such row at most; the calls of this statement are at least half of those of all statements on its tables. All of them, or nothing",
    source: "A join of a row with its list returns as many rows as the list has: as one scan of it reads. With two lists, each scan of one comes with every row of the other. A row that is in the response takes more bytes than a number of ten digits with its signs, unless the body is compressed. 500 rows and factor 5 are two lists of 22 entries each.",
    cause: "An object is read together with two of its lists by joins (eager loading, Include, JOIN FETCH): each entry of one list comes with each entry of the other, and the service drops the copies.",
    remedy: "Read each list with a statement of its own (split query, selectinload, preload), or aggregate the lists in subqueries.",
    explains: &["wasted_reads", "condensed_rows"],
    check,
};

const ROWS: f64 = 500.0;
const TIMES: f64 = 5.0;
/// Bytes of a response per row.
const BYTES: f64 = 16.0;
/// Share of the calls on its tables.
const MAIN: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        let joins = query::heavy(&queries).filter(|query| {
            query.statement.is_read()
                && query.statement.stored_tables().count() > 1
                && query.rows >= ROWS
                && !query.condenses()
                && is_product(query.text)
        });
        drafts.extend(joins.filter_map(|query| product(evidence, &server, &queries, query)));
    }
    Ok(drafts)
}

fn product(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    queries: &[Query<'_>],
    query: &Query<'_>,
) -> Option<Draft> {
    let named = query.statement.stored_tables();
    // A table that is not observed could be the one that has the rows.
    let tables = named.map(|named| query::table(server, named)).collect::<Option<Vec<_>>>()?;
    let per_scan = |table: &Table<'_>| table.rows_per_scan().unwrap_or(0.0).max(table.entries_per_index_scan);
    let read: f64 = tables.iter().map(per_scan).sum();
    if !is_main(server, queries, query, &tables) {
        return None;
    }
    let per_response = query.rows * query.per_request;
    let bytes = evidence.bytes_per_response().map(|bytes| bytes / per_response.max(1.0));
    let signals: Vec<Signal> = [
        Signal::at_least(
            "rows returned per row that one scan of each joined table reads",
            Unit::Count,
            Some(query.rows / read).filter(|_| read > 0.0),
            TIMES,
            "pg_stat_user_tables",
        ),
        Signal::at_most("bytes of a response per row returned", Unit::Bytes, bytes, BYTES, "the run: bytes"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (signals.len() == 2).then(|| Draft {
        subject: query.subject(server),
        statement: format!(
            "a join returns {} rows per call, {} of the database's time, from {} rows that one scan of each table reads: \
             every pair of two lists",
            number(query.rows),
            percent(query.time_share),
            number(read),
        ),
        signals,
        remedy: Remedy::advice("read each list with a statement of its own, or aggregate the lists in subqueries"),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(query.seconds_per_request()),
            format!("the statement takes {} per request", seconds(query.seconds_per_request())),
        ),
    })
}

/// Whether most calls of statements on these tables are of this one: lookups by others make the mean of their scans small.
fn is_main(server: &Watched<'_>, queries: &[Query<'_>], query: &Query<'_>, tables: &[Table<'_>]) -> bool {
    tables.iter().all(|table| {
        let others = queries.iter().filter(|other| other.names(server, table));
        query.per_second >= MAIN * others.map(|other| other.per_second).sum::<f64>()
    })
}

/// Whether two tables are compared with one column of another: `l.invoice = i.id` and `p.invoice = i.id`.
fn is_product(text: &str) -> bool {
    let text = text.to_lowercase().replace('=', " = ").replace(['(', ')', ',', '"'], " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let compared = words.windows(3).filter(|three| three[1] == "=");
    let pairs: Vec<(&str, &str)> = compared
        .flat_map(|three| [(three[0], three[2]), (three[2], three[0])])
        .filter(|(one, other)| is_column(one) && is_column(other))
        .collect();
    let alias = |column: &str| column.split('.').next().map(str::to_owned);
    pairs.iter().any(|(column, other)| {
        pairs.iter().any(|(same, another)| same == column && alias(another) != alias(other))
    })
}

/// A column with the name of its table.
fn is_column(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_alphabetic()) && word.contains('.')
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, RATE, Scene};

    const PAIRS: &str = "SELECT i.id, l.id, l.label, p.id, p.label FROM invoices i LEFT JOIN lines l ON l.invoice = i.id \
                         LEFT JOIN payments p ON p.invoice = i.id WHERE i.id = $1 ORDER BY i.id, l.id, p.id";

    /// Invoices with this many lines and payments each, of which a call returns so many rows.
    fn invoices(text: &str, each: f64, rows: f64, body: u64) -> Scene {
        let mut scene = Scene::with(move |sample, _, _| sample.body = body);
        let server = scene.postgres();
        scene.statement(server, "2", text, &Costs { seconds: 0.003, rows, blocks: 12.0, ..Costs::default() });
        for (table, rows) in [("public.invoices", 1.0), ("public.lines", each), ("public.payments", each)] {
            scene.table(server, table, 40_000.0, [0.0, 0.0], [RATE as f64, rows * RATE as f64]);
        }
        scene
    }

    #[test]
    fn every_pair_of_two_lists_is_found() {
        let finding = invoices(PAIRS, 80.0, 6_400.0, 6_000).found("row_product").unwrap();
        assert_eq!(finding.evidence.len(), 2);
        assert!(
            finding
                .statement
                .ends_with("from 161 rows that one scan of each table reads: every pair of two lists"),
            "{}",
            finding.statement
        );
    }

    #[test]
    fn pairs_of_the_rows_of_a_common_table_expression_are_found_too() {
        let text = "-- invoice with lists\nWITH i AS (SELECT id FROM invoices WHERE id = $1) \
                    SELECT i.id, l.id, p.id FROM i LEFT JOIN lines l ON l.invoice = i.id \
                    LEFT JOIN payments p ON p.invoice = i.id";
        assert!(invoices(text, 80.0, 6_400.0, 6_000).found("row_product").is_some());
    }

    #[test]
    fn a_long_list_and_pairs_that_the_response_shows_are_healthy() {
        assert_eq!(invoices(PAIRS, 800.0, 800.0, 6_000).found("row_product"), None);
        assert_eq!(invoices(PAIRS, 80.0, 6_400.0, 200_000).found("row_product"), None);
        // Orders and their lines: each scan reads other rows.
        let chain =
            "SELECT l.id FROM invoices i JOIN lines l ON l.invoice = i.id JOIN payments p ON p.line = l.id";
        assert_eq!(invoices(chain, 80.0, 6_400.0, 6_000).found("row_product"), None);
        let sums = "SELECT i.id, sum(l.cents) FROM invoices i JOIN lines l ON l.invoice = i.id GROUP BY i.id";
        assert_eq!(invoices(sums, 80.0, 6_400.0, 6_000).found("row_product"), None);
    }

    #[test]
    fn rows_of_a_table_that_is_not_observed_can_be_anywhere() {
        let text = PAIRS.replace("payments", "archive");
        assert_eq!(invoices(&text, 80.0, 6_400.0, 6_000).found("row_product"), None);
    }
}
