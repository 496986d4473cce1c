//! Rows that are changed once per row of a batch, by a trigger or a function and not by a statement that a client sent.
//!
//! Needs the statements of a PostgreSQL server, and the triggers of its tables. With `pg_stat_statements.track = top`, which is the default, statements
//! within triggers are not among them; the counters of tables have what they did.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::query::{self, Query, Table};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "row_trigger",
    finds: "a trigger that updates another table once per row",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "a statement with 10 % of the execution time changes two rows or more per call, of a table that has a trigger FOR EACH ROW; as many rows of another table are updated per response, within a fifth, 20 at least, and statements seen explain half of them at most; a call of the statement changes 20 rows; the other table has as many dead rows as live ones. The first two and one more, or nothing",
    source: "A batch of 20 rows pays for a trigger per statement; each update of the same row leaves a version of it that vacuum must remove.",
    cause: "A trigger FOR EACH ROW counts or copies what a batch changes. Each row of the batch is a statement of its own in the database, and often an update of the same row.",
    remedy: "Make the trigger FOR EACH STATEMENT and let it read the changed rows from a transition table (REFERENCING NEW TABLE); or update once, in the statement that the service sends.",
    explains: &["dead_rows"],
    check,
};

const UPDATED: f64 = 20.0;
/// Rows of a call: with one, a trigger for the statement does as much.
const BATCH: f64 = 2.0;
const EXPLAINED: f64 = 0.5;
const DEAD: f64 = 1.0;
/// Rows of the batch and updates differ by this share at most.
const WITHIN: f64 = 0.2;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        for (name, rise) in server.rises("table.updated") {
            let Some(updated) = evidence.per_request(rise).filter(|updated| *updated >= UPDATED) else {
                continue;
            };
            let Some(table) = query::table(&server, name) else { continue };
            drafts.extend(triggered(evidence, &server, &queries, &table, updated));
        }
    }
    Ok(drafts)
}

fn triggered(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    queries: &[Query<'_>],
    table: &Table<'_>,
    updated: f64,
) -> Option<Draft> {
    let names = |query: &&Query<'_>| query.names(server, table);
    let changes = |query: &&Query<'_>| query.changes_rows();
    let seen: f64 =
        queries.iter().filter(changes).filter(names).map(|query| query.rows * query.per_request).sum();
    if seen > EXPLAINED * updated {
        return None;
    }
    let (batch, trigger) = query::heavy(queries).filter(changes).find_map(|query| {
        let rows = query.rows * query.per_request;
        let is_alike = query.rows >= BATCH && !names(&query) && (rows / updated - 1.0).abs() <= WITHIN;
        Some((query, trigger(server, query).filter(|_| is_alike)?))
    })?;
    let signals = signals(server, table, updated - seen, batch);
    (signals.len() >= 2).then(|| Draft {
        subject: Subject::of(SubjectKind::Table, table.name, Some(&server.source.name)),
        statement: format!(
            "{} rows of {} are updated per response, one by one: by the trigger {trigger}, for each of the {} rows of a \
             statement with {} of the database's time",
            number(updated),
            table.name,
            number(batch.rows),
            percent(batch.time_share),
        ),
        signals,
        remedy: Remedy::advice(
            "make the trigger FOR EACH STATEMENT with a transition table, or update once in the statement that the service sends",
        ),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(batch.seconds_per_request()),
            "the time of the statement per request, of which the trigger has a part",
        ),
    })
}

/// What shows it: updates that no statement explains, the size of the batch, and old versions of the rows.
fn signals(server: &Watched<'_>, table: &Table<'_>, unseen: f64, batch: &Query<'_>) -> Vec<Signal> {
    let dead = server.mean("table.dead_rows", table.name).map(|dead| dead / table.live_rows.max(1.0));
    [
        Signal::at_least(
            format!("rows of {} updated per response, by no statement seen", table.name),
            Unit::Count,
            Some(unseen),
            UPDATED,
            "pg_stat_user_tables",
        ),
        Signal::at_least(
            "rows that a statement changes per call",
            Unit::Count,
            Some(batch.rows),
            UPDATED,
            "pg_stat_statements",
        ),
        Signal::at_least(
            format!("dead rows of {} per live one", table.name),
            Unit::Count,
            dead,
            DEAD,
            "pg_stat_user_tables",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A trigger for each row of the table that a statement changes.
fn trigger<'a>(server: &Watched<'a>, query: &Query<'_>) -> Option<&'a str> {
    let changed = query::table(server, query.statement.tables.first()?)?;
    server.text("table.row_triggers", changed.name)?.lines().next()
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, RATE, Scene};

    /// A service that inserts 400 rows per request, and a table of counters that is updated this often per request.
    fn counted(updates: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let text = "INSERT INTO placements (shelf, label) SELECT $1, n FROM generate_series($2, $3) n";
        let costs =
            Costs { per_request: 1.0, seconds: 0.008, rows: 400.0, blocks: 900.0, ..Costs::default() };
        scene.statement(server, "2", text, &costs);
        scene.table(server, "public.placements", 90_000.0, [0.0, 0.0], [0.0, 0.0]);
        scene.text(server, "table.row_triggers", "public.placements", "placements_counted");
        scene.table(server, "public.shelves", 50.0, [0.0, 0.0], [1_000.0, 1_000.0]);
        scene.gauge(server, "table.dead_rows", "public.shelves", if updates > 10.0 { 300.0 } else { 5.0 });
        scene.counter(server, "table.updated", "public.shelves", updates * RATE as f64);
        scene
    }

    #[test]
    fn a_trigger_for_each_row_of_a_batch_is_found_and_one_for_the_batch_is_not() {
        let finding = counted(400.0).found("row_trigger").unwrap();
        assert!(
            finding.statement.starts_with(
                "400 rows of public.shelves are updated per response, one by one: by the trigger placements_counted, \
                 for each of the 400 rows"
            ),
            "{}",
            finding.statement
        );
        assert_eq!(counted(1.0).found("row_trigger"), None);
    }

    #[test]
    fn rows_of_a_partition_or_below_a_view_are_no_trigger_unless_there_is_one() {
        let mut scene = counted(400.0);
        scene.text(0, "table.row_triggers", "public.placements", "");
        assert_eq!(scene.found("row_trigger"), None);
    }

    #[test]
    fn rows_that_have_a_statement_each_are_no_batch() {
        let mut scene = counted(400.0);
        let text = "INSERT INTO placements (shelf, label) VALUES ($1, $2)";
        let costs = Costs { per_request: 400.0, seconds: 0.000_02, rows: 1.0, ..Costs::default() };
        scene.statement(0, "2", text, &costs);
        assert_eq!(scene.found("row_trigger"), None);
    }

    #[test]
    fn updates_that_a_statement_of_the_service_makes_are_no_trigger() {
        let mut scene = counted(400.0);
        let text = "UPDATE shelves SET items = items + 1 WHERE room = $1";
        scene.statement(
            0,
            "3",
            text,
            &Costs { per_request: 1.0, seconds: 0.001, rows: 400.0, ..Costs::default() },
        );
        assert_eq!(scene.found("row_trigger"), None);
    }
}
