//! Large values that a statement reads to return a small part of them.
//!
//! Needs a PostgreSQL server. PostgreSQL keeps values beyond 2 KB outside of the row, in a TOAST table whose blocks it
//! counts apart. Does not know which column is large.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::query::{self, Query, Table};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "large_values",
    finds: "large values that are read for a small part of them",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "a statement with 10 % of the execution time takes a part out of a value (`->`, `#>`, substring); of the large values of its table, 10 blocks are read per response, and the statement reads as many blocks at least; these blocks have 5 times the bytes of a response. All of them, or nothing",
    source: "A value up to 2 KB stays in its row and has no such block (TOAST_TUPLE_THRESHOLD); a block has 8 KiB, as PostgreSQL is built by default.",
    cause: "A document or a text is kept as one value. To read one field of it, PostgreSQL fetches and decompresses the whole value, once for each expression.",
    remedy: "Keep what lists show in columns of their own, or in an index on the expression; read the whole value only where it is shown.",
    explains: &["wasted_reads", "condensed_rows"],
    check,
};

const BLOCKS: f64 = 10.0;
const BLOCK_BYTES: f64 = 8_192.0;
/// Bytes of large values, times those of the response.
const TIMES: f64 = 5.0;
/// What takes a part out of a value.
const PARTS: [&str; 8] =
    ["->", "#>", "jsonb_path", "jsonb_extract", "json_extract", "substr", "left(", "xpath("];

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        let reads = query::heavy(&queries).filter(|query| query.statement.is_read());
        drafts.extend(reads.filter_map(|query| read(evidence, &server, query)));
    }
    Ok(drafts)
}

fn read(evidence: &Evidence<'_>, server: &Watched<'_>, query: &Query<'_>) -> Option<Draft> {
    let named = query.statement.tables.iter().filter_map(|named| query::table(server, named));
    let blocks_of = |table: &Table<'_>| {
        let of = |name: &str| server.rise(name, table.name).and_then(|rise| evidence.per_request(rise));
        Some(of("table.toast_blocks.hit")? + of("table.toast_blocks.read").unwrap_or(0.0))
    };
    let with_blocks = named.filter_map(|table| Some((blocks_of(&table)?, table)));
    let (blocks, table) = with_blocks.max_by(|one, other| one.0.total_cmp(&other.0))?;
    // Blocks of large values are among those of the statement, unless others read them, or writes do.
    if query.blocks * query.per_request < blocks {
        return None;
    }
    let received = evidence.bytes_per_response()?;
    let text = query.text.to_ascii_lowercase();
    let parts = PARTS.iter().map(|part| text.matches(part).count()).sum::<usize>();
    let signals: Vec<Signal> = [
        Signal::at_least(
            format!("blocks of large values of {} per response", table.name),
            Unit::Count,
            Some(blocks),
            BLOCKS,
            "pg_statio_user_tables",
        ),
        Signal::at_least(
            "bytes of these blocks, times those of a response",
            Unit::Count,
            Some(blocks * BLOCK_BYTES / received.max(1.0)),
            TIMES,
            "the run: bytes",
        ),
        Signal::at_least(
            "parts that the statement takes out of values",
            Unit::Count,
            Some(parts as f64),
            1.0,
            "pg_stat_statements",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    (signals.len() == 3).then(|| Draft {
        subject: query.subject(server),
        statement: format!(
            "a statement on {}, with {} of the database's time, reads {} blocks of large values per response of {} bytes",
            table.name,
            percent(query.time_share),
            number(blocks),
            number(received),
        ),
        signals,
        remedy: Remedy::advice(
            "keep what the statement shows in columns of their own, or index the expression, and read the whole value only where it is needed",
        ),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(query.seconds_per_request()),
            "the time of this statement per request",
        ),
    })
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::{Costs, RATE, Scene};

    fn reports(text: &str, blocks: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs = Costs { per_request: 1.0, seconds: 0.004, rows: 20.0, blocks: 90.0, ..Costs::default() };
        scene.statement(server, "2", text, &costs);
        scene.table(server, "public.reports", 2_000.0, [0.0, 0.0], [1_000.0, 20_000.0]);
        scene.counter(server, "table.toast_blocks.hit", "public.reports", blocks * RATE as f64);
        scene
    }

    #[test]
    fn a_field_of_a_large_document_is_found_and_a_column_of_its_own_is_not() {
        let finding = reports("SELECT id, data->>$2 FROM reports WHERE id > $1 LIMIT 20", 80.0);
        let finding = finding.found("large_values").unwrap();
        assert_eq!(finding.confidence, Confidence::Strong);
        assert!(finding.statement.contains("reads 80 blocks of large values per response of"));
        let column = reports("SELECT id, title FROM reports WHERE id > $1 LIMIT 20", 0.0);
        assert_eq!(column.found("large_values"), None);
    }

    #[test]
    fn a_field_that_is_taken_from_a_common_table_expression_is_found_too() {
        let text =
            "WITH r AS (SELECT id, data FROM reports WHERE id > $1) SELECT id, data->>$2 FROM r LIMIT 20";
        assert!(reports(text, 80.0).found("large_values").is_some());
    }

    #[test]
    fn large_values_that_others_write_or_read_are_not_those_of_the_statement() {
        let mut scene = reports("SELECT id, data->>$2 FROM reports WHERE id > $1 LIMIT 20", 80.0);
        let costs = Costs { per_request: 1.0, seconds: 0.004, rows: 20.0, blocks: 12.0, ..Costs::default() };
        scene.statement(0, "2", "SELECT id, data->>$2 FROM reports WHERE id > $1 LIMIT 20", &costs);
        assert_eq!(scene.found("large_values"), None);
        let list = reports("SELECT id, title FROM reports WHERE id > $1 LIMIT 20", 80.0);
        assert_eq!(list.found("large_values"), None);
    }

    #[test]
    fn a_document_that_is_sent_whole_is_healthy() {
        let mut scene = Scene::with(|sample, _, _| sample.body = 700_000);
        let server = scene.postgres();
        let costs = Costs { per_request: 1.0, seconds: 0.004, rows: 1.0, blocks: 90.0, ..Costs::default() };
        scene.statement(server, "2", "SELECT data FROM reports WHERE id = $1", &costs);
        scene.table(server, "public.reports", 2_000.0, [0.0, 0.0], [1_000.0, 1_000.0]);
        scene.counter(server, "table.toast_blocks.hit", "public.reports", 80.0 * RATE as f64);
        assert_eq!(scene.found("large_values"), None);
    }
}
