//! Plans made from statistics that the data has left behind.
//!
//! Needs the statements of a PostgreSQL server. Only tables of expensive statements are looked at.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::plan;
use crate::query::{self, Query};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "stale_statistics",
    finds: "a table whose statistics no longer describe it",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "10 % of the rows of a table with 1,000 rows changed since the last ANALYZE; its number of rows is off by a factor of 2; a plan expects 10 times more or fewer rows than its statement returns. Two of them, or nothing; nothing if it is known that fewer rows changed",
    source: "autovacuum analyzes at 10 % of changed rows (autovacuum_analyze_scale_factor).",
    cause: "Rows were loaded or changed, and ANALYZE has not run since: the planner chooses by old numbers.",
    remedy: "Run ANALYZE on the table after loading it, and let autovacuum run.",
    explains: &["wasted_reads", "condensed_rows"],
    check,
};

const ROWS_MIN: f64 = 1_000.0;
const CHANGED: f64 = 0.1;
const OFF: f64 = 2.0;
const WRONG: f64 = 10.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts: Vec<Draft> = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        // An insertion is planned without the statistics of its table.
        for query in query::heavy(&queries).filter(|query| query.statement.verb != "insert") {
            for named in &query.statement.tables {
                let draft = stale(&server, query, named);
                drafts.extend(draft.filter(|new| drafts.iter().all(|known| known.subject != new.subject)));
            }
        }
    }
    Ok(drafts)
}

fn stale(server: &Watched<'_>, query: &Query<'_>, named: &str) -> Option<Draft> {
    let table = query::table(server, named).filter(|table| table.live_rows >= ROWS_MIN)?;
    let changed = server.mean("table.changed_since_analyze", table.name).map(|rows| rows / table.live_rows);
    // Statistics of rows that are still the same can be wrong, but not old.
    if Signal::falls_short(changed, CHANGED) {
        return None;
    }
    let estimate = server.mean("table.rows_estimate", table.name).filter(|rows| *rows > 0.0);
    // The collector counts rows twice that were loaded and analyzed in one transaction; what a scan reads is there.
    let scanned = Some(table.rows_per_seq_scan).filter(|_| table.seq_scans > 0.0);
    let off = estimate.map(|estimate| {
        let by_scans = scanned.map_or(f64::INFINITY, |rows| factor(estimate, rows));
        factor(estimate, table.live_rows).min(by_scans)
    });
    let expected =
        plan::nodes(server.text("statement.plan", query.id).unwrap_or("")).first().map(|node| node.rows);
    let wrong = expected.filter(|_| !query.statement.limit).map(|expected| factor(expected, query.rows));
    let signals: Vec<Signal> = [
        Signal::at_least(
            "share of rows changed since ANALYZE",
            Unit::Share,
            changed,
            CHANGED,
            "pg_stat_user_tables",
        ),
        Signal::at_least("factor between estimated and counted rows", Unit::Count, off, OFF, "pg_class"),
        Signal::at_least("factor between expected and returned rows", Unit::Count, wrong, WRONG, "EXPLAIN"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (signals.len() >= 2).then(|| Draft {
        subject: Subject::of(SubjectKind::Table, table.name, Some(&server.source.name)),
        statement: format!(
            "the planner knows {} rows of {}, which has {}: {} changed since ANALYZE",
            number(estimate.unwrap_or(0.0)),
            table.name,
            number(table.live_rows),
            percent(changed.unwrap_or(0.0))
        ),
        signals,
        remedy: Remedy::Analyze { table: table.name.to_owned() },
        gain: None,
    })
}

/// How many times the larger is the smaller; both count as one row at least.
fn factor(one: f64, other: f64) -> f64 {
    let (one, other) = (one.max(1.0), other.max(1.0));
    (one / other).max(other / one)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, Scene};

    #[test]
    fn a_table_that_was_loaded_and_never_analyzed_is_found_and_an_analyzed_one_is_not() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        assert_eq!(scene.found("stale_statistics"), None);
        scene.gauge(server, "table.changed_since_analyze", "public.products", 49_000.0);
        assert_eq!(scene.found("stale_statistics"), None, "changes alone are ordinary");
        scene.gauge(server, "table.rows_estimate", "public.products", 1_000.0);
        let finding = scene.found("stale_statistics").unwrap();
        assert_eq!((finding.evidence.len(), finding.subject.name.as_str()), (2, "public.products"));
    }

    #[test]
    fn a_table_that_only_grows_by_insertions_needs_no_statistics() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.statement(server, "1", "INSERT INTO products (name) VALUES ($1)", &Costs::default());
        scene.gauge(server, "table.changed_since_analyze", "public.products", 49_000.0);
        scene.gauge(server, "table.rows_estimate", "public.products", 1_000.0);
        assert_eq!(scene.found("stale_statistics"), None);
    }

    #[test]
    fn a_table_whose_rows_have_not_changed_needs_no_other_statistics() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.gauge(server, "table.rows_estimate", "public.products", 1_000.0);
        let plan = r#"[{"Plan": {"Node Type": "Seq Scan", "Relation Name": "products", "Plan Rows": 50}}]"#;
        scene.text(server, "statement.plan", "1", plan);
        assert_eq!(scene.found("stale_statistics"), None);
        scene.gauge(server, "table.changed_since_analyze", "public.products", 49_000.0);
        assert_eq!(scene.found("stale_statistics").unwrap().evidence.len(), 3);
    }

    #[test]
    fn a_table_that_was_analyzed_while_it_was_filled_is_healthy_although_its_rows_were_counted_twice() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.gauge(server, "table.changed_since_analyze", "public.products", 25_000.0);
        scene.gauge(server, "table.rows_estimate", "public.products", 25_000.0);
        assert!(scene.found("stale_statistics").is_some());
        scene.counter(server, "table.seq_scans", "public.products", 10.0);
        scene.counter(server, "table.seq_rows", "public.products", 250_000.0);
        assert_eq!(scene.found("stale_statistics"), None, "each scan read 25,000 rows");
    }
}
