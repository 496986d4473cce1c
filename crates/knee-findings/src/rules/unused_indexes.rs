//! A table that the load writes and that has many indexes which nothing reads.
//!
//! Needs the statistics of a PostgreSQL server. They begin with the server or with their last reset, which can be minutes
//! ago, and know only the readers of that time: whether others need an index is not in them, and the text says so. Looks
//! at no server with replicas, whose reads it does not count. Does not look at indexes of constraints, nor at those of
//! foreign keys: nothing reads them until a row is deleted to which others refer.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::query;
use crate::statement::{self, IndexShape};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "unused_indexes",
    finds: "many indexes of a table that is written, which nothing has read since the statistics began",
    needs: "a PostgreSQL server without replicas",
    limits: "one row for every second response is inserted, or updated so that indexes change; 5 indexes of its table that are not unique and do not begin with a foreign key were never scanned, neither in the run nor since the statistics of the server began, or 3 if a tenth of the responses scan the table by another way; half of the blocks of the table and its indexes that are accessed are those of these indexes; a statement that inserts or updates writes one WAL record more per row than there are such indexes. The first three, or nothing",
    source: "Every index of a table is changed with each row that is inserted, and with each update that is no HOT update (PostgreSQL documentation, heap-only tuples), with a WAL record each. Blocks of an index that is never scanned are accessed for this alone. A load that only writes does not read what other loads read: up to four such indexes are ordinary in it.",
    cause: "Indexes were added for queries that are gone, for reports, by a framework for each column, or twice with other names or more columns.",
    remedy: "Look at idx_scan of pg_stat_user_indexes where all readers are, replicas included, and drop the indexes that none of them uses; one index can serve queries on its first columns as well.",
    explains: &[],
    check,
};

/// Rows per response.
const WRITTEN: f64 = 0.5;
/// Indexes, and indexes of a table that the load reads.
const MANY: f64 = 5.0;
const SOME: f64 = 3.0;
/// Scans per response from which on the load reads the table.
const READ: f64 = 0.1;
const OF_BLOCKS: f64 = 0.5;
/// Names in a remedy.
const NAMED_MAX: usize = 5;

/// Blocks of a table and of its indexes that are accessed.
const BLOCKS: [&str; 4] =
    ["table.blocks.hit", "table.blocks.read", "table.index_blocks.hit", "table.index_blocks.read"];

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Postgres)?;
    let known: Vec<_> = servers.iter().filter(|server| !server.rises("index.scans").is_empty()).collect();
    if known.is_empty() {
        return Err(Lack::of("statistics of indexes (pg_stat_user_indexes)"));
    }
    let alone: Vec<_> =
        known.into_iter().filter(|server| server.means("replication.behind").is_empty()).collect();
    if alone.is_empty() {
        return Err(Lack::of("a PostgreSQL server without replicas: what they read is not counted"));
    }
    let tables = alone.into_iter().flat_map(|server| {
        let names = server.rises("table.inserted").into_iter().map(|(table, _)| table);
        names.filter_map(move |table| of_table(evidence, server, table))
    });
    Ok(tables.collect())
}

fn of_table(evidence: &Evidence<'_>, server: &Watched<'_>, table: &str) -> Option<Draft> {
    let per_response =
        |name: &str| server.rise(name, table).and_then(|rise| evidence.per_request(rise)).unwrap_or(0.0);
    let moved = (per_response("table.updated") - per_response("table.hot_updated")).max(0.0);
    let written = per_response("table.inserted") + moved;
    if written < WRITTEN {
        return None;
    }
    let unused = unused(server, table);
    let scans = per_response("table.index_scans") + per_response("table.seq_scans");
    let signals = signals(server, table, &unused, if scans >= READ { SOME } else { MANY })?;
    let share = signals[1].figure;
    let names: Vec<&str> = unused.iter().take(NAMED_MAX).copied().collect();
    let more = unused.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} others") } else { String::new() };
    Some(Draft {
        subject: Subject::of(SubjectKind::Table, table, Some(&server.source.name)),
        statement: format!(
            "{} rows of {table} are written per response, and {} of its indexes were scanned neither in this run nor since \
             the statistics of the server began: {} of the blocks that are accessed for the table are theirs",
            number(written),
            unused.len(),
            percent(share)
        ),
        signals,
        remedy: Remedy::advice(format!(
            "drop those that no other reader of the database uses: {}{more}",
            names.join(", ")
        )),
        gain: None,
    })
}

/// The indexes of a table that are not unique, do not begin with a foreign key, and were never scanned.
fn unused<'a>(server: &Watched<'a>, table: &str) -> Vec<&'a str> {
    let keys = query::foreign_keys(server);
    let is_of_key = |index: &IndexShape| {
        let begins = |columns: &[&str]| {
            let first = index.columns.iter().take(columns.len()).map(|ordered| ordered.column.name.as_str());
            first.eq(columns.iter().copied())
        };
        keys.iter().any(|key| key.table == table && begins(&key.columns))
    };
    let is_unique = |label: &str| {
        let text = server.text("index.definition", label).unwrap_or_default();
        text.get(..13).is_some_and(|start| start.eq_ignore_ascii_case("CREATE UNIQUE"))
    };
    let is_unused = |label: &str| {
        let points = server.series("index.scans", label).map(|series| series.points.as_slice());
        points.is_some_and(|points| !points.is_empty() && points.iter().all(|(_, scans)| *scans < 1.0))
    };
    let indexes = query::indexes(server, table).into_iter().filter(|(_, index)| !is_of_key(index));
    let labels = indexes.map(|(label, _)| label);
    labels.filter(|label| !is_unique(label) && is_unused(label)).collect()
}

/// Their number and their blocks, both beyond their limits, and the WAL of a statement.
fn signals(server: &Watched<'_>, table: &str, unused: &[&str], least: f64) -> Option<Vec<Signal>> {
    let amount = |name: &str, label: &str| server.rise(name, label).map_or(0.0, |rise| rise.amount);
    let all: f64 = BLOCKS.iter().map(|name| amount(name, table)).sum();
    let theirs: f64 = unused
        .iter()
        .map(|index| amount("index.blocks.hit", index) + amount("index.blocks.read", index))
        .sum();
    let many = Signal::at_least(
        "indexes, neither unique nor of a foreign key, that were never scanned",
        Unit::Count,
        Some(unused.len() as f64),
        least,
        "pg_stat_user_indexes",
    )?;
    let blocks = Signal::at_least(
        "their blocks, of all blocks of the table that are accessed",
        Unit::Share,
        Some(theirs / all.max(theirs)),
        OF_BLOCKS,
        "pg_statio_user_indexes",
    )?;
    let wal = Signal::at_least(
        "WAL records per row that a statement writes",
        Unit::Count,
        records_per_row(server, table),
        unused.len() as f64 + 1.0,
        "pg_stat_statements: wal_records",
    );
    Some([Some(many), Some(blocks), wal].into_iter().flatten().collect())
}

/// WAL records per row of the statement that writes most of them into a table.
fn records_per_row(server: &Watched<'_>, table: &str) -> Option<f64> {
    let writes = |id: &str| {
        let Some(statement) = server.text("statement.text", id).map(statement::read) else { return false };
        let named = statement.tables.first().and_then(|named| query::table(server, named));
        matches!(statement.verb.as_str(), "insert" | "update") && named.is_some_and(|of| of.name == table)
    };
    let (id, records) = server.rises("statement.wal.records").into_iter().find(|(id, _)| writes(id))?;
    let rows = server.rise("statement.rows", id)?.amount;
    (rows > 0.0).then(|| records.amount / rows)
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SeriesKind;
    use knee_core::unit::Nanos;

    use crate::testing::{Costs, RATE, SECONDS, Scene};
    use crate::{Confidence, Finding};

    const AUDIT: &str = "INSERT INTO audit (at, actor) SELECT now(), $1 FROM generate_series($2, $3)";

    /// Adds or replaces a counter that stays at this level.
    fn stays(scene: &mut Scene, name: &str, label: &str, level: f64) {
        let points = vec![(Nanos::ZERO, level), (Nanos::from_secs(SECONDS), level)];
        scene.points(0, name, label, SeriesKind::Counter, points);
    }

    /// A table into which each response inserts so many rows, with so many indexes beside its key that nothing reads. For
    /// each row and index two blocks are accessed.
    fn audit(rows: f64, indexes: usize) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let per_second = |times: f64| times * rows * RATE as f64;
        scene.statement(server, "2", AUDIT, &Costs { rows, ..Costs::default() });
        scene.table(server, "public.audit", 30_000.0, [0.0, 0.0], [0.0, 0.0]);
        scene.counter(server, "table.inserted", "public.audit", per_second(1.0));
        scene.counter(server, "table.blocks.hit", "public.audit", per_second(2.0));
        let of_indexes = per_second(2.0 + 2.0 * indexes as f64);
        scene.counter(server, "table.index_blocks.hit", "public.audit", of_indexes);
        let key = "CREATE UNIQUE INDEX audit_pkey ON public.audit USING btree (id)";
        scene.text(server, "index.definition", "public.audit_pkey", key);
        stays(&mut scene, "index.scans", "public.audit_pkey", 0.0);
        scene.counter(server, "index.blocks.hit", "public.audit_pkey", per_second(2.0));
        for number in 0..indexes {
            let label = format!("public.audit_{number}");
            let definition = format!("CREATE INDEX audit_{number} ON public.audit USING btree (actor)");
            scene.text(server, "index.definition", &label, &definition);
            stays(&mut scene, "index.scans", &label, 0.0);
            scene.counter(server, "index.blocks.hit", &label, per_second(2.0));
        }
        scene
    }

    fn found(scene: &Scene) -> Option<Finding> {
        scene.found("unused_indexes")
    }

    #[test]
    fn sixteen_indexes_that_nothing_reads_are_found_with_what_they_cost() {
        let finding = found(&audit(200.0, 16)).unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Likely, "public.audit"));
        let says = "200 rows of public.audit are written per response, and 16 of its indexes were scanned neither in this run \
                    nor since the statistics of the server began: 89 % of the blocks that are accessed for the table are theirs";
        assert_eq!(finding.statement, says);
        assert!(finding.remedy.to_string().ends_with(" and 11 others"), "{}", finding.remedy);
    }

    #[test]
    fn a_statement_that_writes_a_record_for_each_of_them_is_a_third_signal() {
        let mut scene = audit(200.0, 16);
        scene.counter(0, "statement.wal.records", "2", 17.9 * 200.0 * RATE as f64);
        assert_eq!(found(&scene).unwrap().confidence, Confidence::Strong);
        scene.counter(0, "statement.wal.records", "2", 16.9 * 200.0 * RATE as f64);
        assert_eq!(found(&scene).unwrap().confidence, Confidence::Likely);
    }

    #[test]
    fn a_few_indexes_of_a_table_that_is_only_written_are_ordinary_and_of_one_that_is_read_not() {
        assert!(found(&audit(1.0, 5)).is_some());
        let mut scene = audit(1.0, 4);
        assert_eq!(found(&scene), None, "another load reads them");
        scene.table(0, "public.audit", 30_000.0, [0.0, 0.0], [0.2 * RATE as f64, 0.2 * RATE as f64]);
        assert!(found(&scene).is_some());
        scene.table(0, "public.audit", 30_000.0, [0.0, 0.0], [0.05 * RATE as f64, 0.05 * RATE as f64]);
        assert_eq!(found(&scene), None, "a job that reads it now and then");
    }

    #[test]
    fn indexes_that_were_scanned_before_the_run_unique_ones_and_invalid_ones_do_not_count() {
        let mut scanned = audit(1.0, 5);
        stays(&mut scanned, "index.scans", "public.audit_0", 7.0);
        assert_eq!(found(&scanned), None);
        let mut unique = audit(1.0, 5);
        let definition = "CREATE UNIQUE INDEX audit_0 ON public.audit USING btree (actor)";
        unique.text(0, "index.definition", "public.audit_0", definition);
        assert_eq!(found(&unique), None);
        let mut building = audit(1.0, 5);
        let definition = "CREATE INDEX audit_0 ON public.audit USING btree (actor) -- invalid";
        building.text(0, "index.definition", "public.audit_0", definition);
        assert_eq!(found(&building), None);
    }

    #[test]
    fn an_index_of_a_foreign_key_is_for_deletions_elsewhere_and_does_not_count() {
        let mut scene = audit(1.0, 5);
        let definition = "CREATE INDEX audit_0 ON public.audit USING btree (member, at)";
        scene.text(0, "index.definition", "public.audit_0", definition);
        scene.text(0, "table.foreign_keys", "public.audit", "actor,at\tpublic.visits\tactor,at");
        assert!(found(&scene).is_some(), "no index begins with this key");
        scene.text(0, "table.foreign_keys", "public.audit", "member\tpublic.members\tid");
        assert_eq!(found(&scene), None);
    }

    #[test]
    fn a_table_that_is_seldom_written_or_mostly_read_is_healthy() {
        assert_eq!(found(&audit(0.4, 16)), None);
        let mut read = audit(1.0, 16);
        read.counter(0, "table.blocks.hit", "public.audit", 40.0 * RATE as f64);
        assert_eq!(found(&read), None);
    }

    #[test]
    fn updates_that_leave_the_indexes_alone_cost_nothing() {
        let mut scene = audit(0.0, 16);
        for (name, per_second) in [("table.updated", 1.0), ("table.hot_updated", 0.9)] {
            scene.counter(0, name, "public.audit", per_second * RATE as f64);
        }
        assert_eq!(found(&scene), None);
    }

    #[test]
    fn a_server_with_replicas_and_one_without_statistics_cannot_say() {
        let mut scene = audit(200.0, 16);
        scene.gauge(0, "replication.behind", "standby", 0.0);
        let lacks = "a PostgreSQL server without replicas: what they read is not counted";
        assert_eq!(scene.lacks("unused_indexes").unwrap(), lacks);
        let mut bare = Scene::steady();
        bare.postgres();
        let lacks = "statistics of indexes (pg_stat_user_indexes)";
        assert_eq!(bare.lacks("unused_indexes").unwrap(), lacks);
    }
}
