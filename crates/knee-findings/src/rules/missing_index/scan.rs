//! What shows that a statement scans a table: blocks per row, rows per scan, and the share of them that its plan keeps.
//!
//! Does not know why it does.

use crate::definition::Draft;
use crate::evidence::Evidence;
use crate::figure::seconds;
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::plan;
use crate::query::{Query, Table};
use crate::watched::Watched;

pub(super) const BLOCKS: f64 = 100.0;
const BLOCKS_PER_ROW: f64 = 50.0;
const ROWS: f64 = 10_000.0;
/// Sequential scans per call of the statement.
pub(super) const SCANS_PER_CALL: f64 = 0.5;
const SELECTIVITY: f64 = 0.05;

/// The finding, if two signals show the scan. One alone is ordinary: a report over a whole table reads many blocks, too.
pub(super) fn draft(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    query: &Query<'_>,
    table: &Table<'_>,
    kept: Option<f64>,
    statement: String,
    remedy: Remedy,
) -> Option<Draft> {
    if needs_many(query, table, kept) {
        return None;
    }
    let scans =
        Some(table.rows_per_seq_scan).filter(|_| table.seq_scans >= SCANS_PER_CALL * query.per_second);
    let per_row = Some(query.blocks_per_row());
    let rows = format!("rows per sequential scan of {}", table.name);
    let signals: Vec<Signal> = [
        Signal::at_least(
            "blocks read per row returned",
            Unit::Count,
            per_row,
            BLOCKS_PER_ROW,
            "pg_stat_statements",
        ),
        Signal::at_least(rows, Unit::Count, scans, ROWS, "pg_stat_user_tables"),
        Signal::at_most("share of the rows that the plan keeps", Unit::Share, kept, SELECTIVITY, "EXPLAIN"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (signals.len() >= 2).then(|| Draft {
        subject: query.subject(server),
        statement,
        signals,
        remedy,
        gain: Gain::saves(
            evidence.response_mean(),
            Some(query.seconds_per_request()),
            format!("the statement takes {} per request", seconds(query.seconds_per_request())),
        ),
    })
}

/// Whether a statement needs so many rows that no index would be used for it, as far as its plan says; also if there is no
/// plan, for one that makes few rows of many. A plan for any value does not know that a value is rare, so the rows that a
/// statement returns count more. A page in an order needs its first rows alone, however many have its condition.
fn needs_many(query: &Query<'_>, table: &Table<'_>, kept: Option<f64>) -> bool {
    let statement = &query.statement;
    if query.condenses() {
        return kept.is_none_or(|kept| kept > SELECTIVITY);
    }
    let is_page = statement.limit && !statement.order.is_empty();
    let returns_all = !statement.limit && statement.tables.len() == 1;
    let returns_few = returns_all && query.rows <= SELECTIVITY * table.live_rows;
    kept.is_some_and(|kept| kept > SELECTIVITY) && !is_page && !returns_few
}

/// The share of a table's rows that its sequential scan in the plan keeps.
pub(super) fn kept(server: &Watched<'_>, query: &Query<'_>, table: &Table<'_>) -> Option<f64> {
    let nodes = plan::nodes(server.text("statement.plan", query.id)?);
    let bare = table.name.rsplit('.').next()?;
    let scan = nodes.iter().find(|node| {
        node.kind == "Seq Scan"
            && node.filter.is_some()
            && node.table.as_deref().is_some_and(|read| read == bare)
    })?;
    (table.live_rows > 0.0).then(|| scan.rows / table.live_rows)
}
