//! A change of a row that writes its large values again, after another statement has read them.
//!
//! Needs the statements of a PostgreSQL server, and the bytes that the load sends. Does not know which columns have
//! changed: it compares what a change writes with what a request brings. Leaves values alone that came with a request, and
//! those that a service makes by itself without reading them first.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::query::{self, Query, Table};
use crate::watched::Watched;

use super::wasted_reads::of_response;

pub(super) const RULE: Rule = Rule {
    code: "whole_row_write",
    finds: "a change of a row that reads its large values and writes them again",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "an UPDATE with 10 % of the execution time changes half a row to two rows per call, for every twentieth response or more; it writes 16 KiB of WAL per row, without full-page images, and 10 times the bytes that the load sends; 2 blocks of large values of the table are used per updated row; a SELECT reads rows of the table by the same columns at least 0.9 times as often, with half of the bytes that are written per row, beside 4 blocks for finding it; both statements together take 10 % of the mean response time. All of them, or nothing",
    source: "A row without its large values lies in one block of 8 KiB, so that its new version and the entries of its indexes seldom fill two. PostgreSQL does not write a value beyond 2 KB again if an UPDATE does not set it (documentation, TOAST). What is ten times as large as the request is not from there, even if the request was compressed.",
    cause: "A mapper of objects reads a row as an object, changes a field, and sets all columns. Or a document is one value, and a small part of it changes. The new value is parsed, compressed, logged and copied to replicas, although it is the old one.",
    remedy: "Set only the columns that have changed; mappers of objects have an option for it (partial or dynamic updates). Keep counters and states in columns or a table of their own, beside a large value, and parts of a document that change alone in rows of their own.",
    explains: &[],
    check,
};

/// Bytes of a block, as PostgreSQL is built by default.
const BLOCK: f64 = 8_192.0;
/// Bytes of WAL per changed row.
const WRITTEN: f64 = 2.0 * BLOCK;
/// What is written, per byte that the load sends.
const TIMES: f64 = 10.0;
/// Blocks of large values per changed row.
const LARGE_BLOCKS: f64 = 2.0;
/// Rows per call of a change of one object; less than one row if some calls find none.
const ROWS_MIN: f64 = 0.5;
const ROWS_MAX: f64 = 2.0;
/// Calls per response: what runs more rarely is a job beside the load.
const PER_REQUEST: f64 = 0.05;
/// Rows that are read, per row that is changed.
const AS_OFTEN: f64 = 0.9;
/// Bytes of blocks that are read, per byte that is written; and blocks that a row without large values needs.
const READ: f64 = 0.5;
const LOOK_UP: f64 = 4.0;
/// Share of the mean response time.
const OF_RESPONSE: f64 = 0.1;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        let changes = query::heavy(&queries).filter(|query| is_change(query));
        drafts.extend(changes.filter_map(|change| written_again(evidence, &server, &queries, change)));
    }
    Ok(drafts)
}

/// Whether a statement changes one object per call.
fn is_change(query: &Query<'_>) -> bool {
    query.statement.verb == "update"
        && (ROWS_MIN..=ROWS_MAX).contains(&query.rows)
        && query.per_request >= PER_REQUEST
}

fn written_again(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    queries: &[Query<'_>],
    change: &Query<'_>,
) -> Option<Draft> {
    let table = query::table(server, change.statement.tables.first()?)?;
    let written = written_per_row(server, change)?;
    let read = queries.iter().find(|read| reads_back(server, read, change, &table, written))?;
    let share = of_response(evidence, change)? + of_response(evidence, read)?;
    if share < OF_RESPONSE {
        return None;
    }
    let sent = sent_per_response(evidence)?;
    let signals = signals(server, change, &table, written, sent);
    (signals.len() == 3).then(|| Draft {
        subject: change.subject(server),
        statement: format!(
            "a change of a row of {} writes {} KiB, although a request sends {} bytes: its large values are read by another \
             statement and written again, {} of the database's time",
            table.name,
            number(written / 1024.0),
            number(sent),
            percent(change.time_share),
        ),
        signals,
        remedy: Remedy::advice(
            "set only the columns that have changed, and keep what changes often outside of the large value",
        ),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(change.seconds_per_request()),
            format!("the statement takes {} per request", seconds(change.seconds_per_request())),
        ),
    })
}

/// What shows it: the WAL, the request, and the blocks of large values.
fn signals(
    server: &Watched<'_>,
    change: &Query<'_>,
    table: &Table<'_>,
    written: f64,
    sent: f64,
) -> Vec<Signal> {
    let per_response = written * change.rows * change.per_request;
    [
        Signal::at_least(
            "bytes of WAL per changed row",
            Unit::Bytes,
            Some(written),
            WRITTEN,
            "pg_stat_statements",
        ),
        Signal::at_least(
            "bytes of WAL per byte that the load sends",
            Unit::Count,
            Some(per_response / sent),
            TIMES,
            "the run",
        ),
        Signal::at_least(
            format!("blocks of large values of {} per updated row", table.name),
            Unit::Count,
            large_blocks(server, table),
            LARGE_BLOCKS,
            "pg_statio_user_tables",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Bytes of WAL that a statement writes per row. Full-page images do not count: the first change of a block after a
/// checkpoint writes one, whatever changes.
fn written_per_row(server: &Watched<'_>, query: &Query<'_>) -> Option<f64> {
    let amount = |name: &str| server.rise(name, query.id).map(|rise| rise.amount);
    let images = amount("statement.wal.images").unwrap_or(0.0) * BLOCK;
    let rows = amount("statement.rows").filter(|rows| *rows > 0.0)?;
    Some(((amount("statement.wal.bytes")? - images) / rows).max(0.0))
}

/// Whether a statement reads the rows that another one changes, with their large values.
fn reads_back(
    server: &Watched<'_>,
    read: &Query<'_>,
    change: &Query<'_>,
    table: &Table<'_>,
    written: f64,
) -> bool {
    let rows = |query: &Query<'_>| query.rows * query.per_request;
    let bytes = (read.blocks_per_row() - LOOK_UP) * BLOCK;
    read.statement.verb == "select"
        && rows(read) >= AS_OFTEN * rows(change)
        && bytes >= READ * written
        && is_by_same_columns(server, read, change, table)
}

/// Whether a statement looks for rows of a table by columns by which another one looks for them, too.
fn is_by_same_columns(server: &Watched<'_>, read: &Query<'_>, change: &Query<'_>, table: &Table<'_>) -> bool {
    let (read, change) = (compared(server, read, table), compared(server, change, table));
    !read.is_empty() && read.iter().all(|column| change.contains(column))
}

/// The columns of a table that a statement compares with values; none if it does not name the table.
fn compared(server: &Watched<'_>, query: &Query<'_>, table: &Table<'_>) -> Vec<String> {
    let is_it = |named: &str| query::table(server, named).is_some_and(|found| found.name == table.name);
    let named = query.statement.tables.iter().find(|named| is_it(named));
    named.map_or_else(Vec::new, |named| query::equality_columns(&query.statement, table, named))
}

/// Blocks of large values of a table that all statements read and write, per updated row.
fn large_blocks(server: &Watched<'_>, table: &Table<'_>) -> Option<f64> {
    let amount = |name: &str| server.rise(name, table.name).map(|rise| rise.amount);
    let blocks = amount("table.toast_blocks.hit")? + amount("table.toast_blocks.read").unwrap_or(0.0);
    let updated = amount("table.updated").filter(|updated| *updated > 0.0)?;
    Some(blocks / updated)
}

/// Bytes that the load sends per complete response; `None` if it sends none.
fn sent_per_response(evidence: &Evidence<'_>) -> Option<f64> {
    let (sent, answered) = (evidence.all().bytes_sent, evidence.answered());
    (sent > 0 && answered > 0).then(|| sent as f64 / answered as f64)
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::{Costs, RATE, SECONDS, Scene};

    const READ: &str = "SELECT answers, data::text FROM surveys WHERE id = $1";
    const SAVE: &str = "UPDATE surveys SET answers = $2, data = $3::text::jsonb WHERE id = $1";
    const WAL: f64 = 95_000.0;

    /// A request reads a row in so many blocks, and a change writes so many bytes of WAL.
    fn saving(read: &str, blocks: f64, save: &str, wal: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.statement(server, "2", read, &Costs { seconds: 0.000_5, blocks, ..Costs::default() });
        scene.statement(server, "3", save, &Costs { seconds: 0.002, blocks: 120.0, ..Costs::default() });
        let rate = RATE as f64;
        scene.counter(server, "statement.wal.bytes", "3", wal * rate);
        scene.counter(server, "statement.wal.images", "3", 0.0);
        scene.table(server, "public.surveys", 100.0, [0.0, 0.0], [2.0 * rate, 2.0 * rate]);
        let columns = "id\tbigint\t-1\t0\nanswers\tbigint\t-0.5\t0\ndata\tjsonb\t-1\t0";
        scene.text(server, "table.columns", "public.surveys", columns);
        scene.counter(server, "table.updated", "public.surveys", rate);
        scene.counter(server, "table.toast_blocks.hit", "public.surveys", 100.0 * rate);
        scene
    }

    #[test]
    fn a_counter_whose_change_writes_the_document_beside_it_is_found() {
        let finding = saving(READ, 18.0, SAVE, WAL).found("whole_row_write").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Strong, SAVE));
        let begin = "a change of a row of public.surveys writes 92.8 KiB, although a request sends 80 bytes";
        assert!(finding.statement.starts_with(begin), "{}", finding.statement);
        assert!(finding.gain.unwrap().share() > 0.3);
    }

    #[test]
    fn a_change_of_the_counter_alone_is_healthy() {
        let add = "UPDATE surveys SET answers = answers + 1 WHERE id = $1";
        assert_eq!(saving(READ, 18.0, add, 300.0).found("whole_row_write"), None);
    }

    #[test]
    fn images_of_pages_after_a_checkpoint_are_not_what_a_change_writes() {
        let mut scene = saving(READ, 18.0, SAVE, 17_000.0);
        assert!(scene.found("whole_row_write").is_some());
        scene.counter(0, "statement.wal.images", "3", 2.0 * RATE as f64);
        assert_eq!(scene.found("whole_row_write"), None);
    }

    #[test]
    fn a_document_that_the_client_sends_is_healthy() {
        let mut scene = saving(READ, 18.0, SAVE, WAL);
        scene.run.measured.endpoints[0].bytes_sent = 90_000 * RATE * SECONDS;
        assert_eq!(scene.found("whole_row_write"), None);
    }

    #[test]
    fn a_large_value_that_the_service_makes_without_reading_it_is_healthy() {
        let own = "SELECT id, answers FROM surveys WHERE id = $1";
        assert_eq!(saving(own, 4.0, SAVE, WAL).found("whole_row_write"), None, "the row without its value");
        let other = "SELECT data FROM surveys WHERE answers = $1";
        assert_eq!(saving(other, 18.0, SAVE, WAL).found("whole_row_write"), None, "other rows");
        let elsewhere = "SELECT data FROM drafts WHERE id = $1";
        assert_eq!(saving(elsewhere, 18.0, SAVE, WAL).found("whole_row_write"), None, "another table");
    }

    #[test]
    fn changes_with_many_entries_of_indexes_and_batches_are_healthy() {
        let mut scene = saving(READ, 18.0, SAVE, WAL);
        scene.counter(0, "table.toast_blocks.hit", "public.surveys", 0.0);
        assert_eq!(scene.found("whole_row_write"), None, "no value outside of its row");
        let mut scene = saving(READ, 18.0, SAVE, WAL);
        let batch = Costs { seconds: 0.002, rows: 50.0, blocks: 120.0, ..Costs::default() };
        scene.statement(0, "3", SAVE, &batch);
        scene.counter(0, "statement.wal.bytes", "3", 50.0 * WAL * RATE as f64);
        assert_eq!(scene.found("whole_row_write"), None, "a batch");
    }
}
