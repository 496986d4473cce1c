//! Tables full of dead rows that statements must step over.
//!
//! Needs the statements of a PostgreSQL server. Only tables of expensive statements are looked at.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::query::{self, Query};
use crate::rhythm::median;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "dead_rows",
    finds: "dead rows that no vacuum removes",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "a table with 1,000 dead rows has one for every 5 live ones; an expensive statement on it reads 50 blocks per row; a snapshot is older than 10,000 transactions, in half of the readings. The first and one of the others, or nothing; nothing if the dead rows fall by half during the run; that statements step over them is said only with such blocks",
    source: "autovacuum begins at 20 % of dead rows (autovacuum_vacuum_scale_factor), and looks once per minute (autovacuum_naptime): a small table that changes often has many between two vacuums. A report of some seconds is older than 10,000 transactions of a fast service, and keeps nothing for long.",
    cause: "Rows are updated and deleted faster than autovacuum removes them, it is off, or an old transaction forbids it.",
    remedy: "Let autovacuum run more often on this table (autovacuum_vacuum_scale_factor), and end transactions that stay open.",
    explains: &["wasted_reads", "condensed_rows"],
    check,
};

const DEAD_MIN: f64 = 1_000.0;
const DEAD: f64 = 0.2;
const BLOCKS_PER_ROW: f64 = 50.0;
const AGE: f64 = 10_000.0;
/// What is left of the dead rows after a vacuum that can remove them.
const LEFT: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts: Vec<Draft> = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        for query in query::heavy(&queries) {
            for named in &query.statement.tables {
                let draft = bloated(&server, query, named);
                drafts.extend(draft.filter(|new| drafts.iter().all(|known| known.subject != new.subject)));
            }
        }
    }
    Ok(drafts)
}

fn bloated(server: &Watched<'_>, query: &Query<'_>, named: &str) -> Option<Draft> {
    let table = query::table(server, named)?;
    let dead = server.mean("table.dead_rows", table.name).filter(|dead| *dead >= DEAD_MIN)?;
    if is_vacuumed(server, table.name) {
        return None;
    }
    let share = Signal::at_least(
        "dead rows per live row",
        Unit::Share,
        Some(dead / table.live_rows.max(1.0)),
        DEAD,
        "pg_stat_user_tables",
    )?;
    let blocks = Signal::at_least(
        "blocks read per row returned",
        Unit::Count,
        Some(query.blocks_per_row()),
        BLOCKS_PER_ROW,
        "pg_stat_statements",
    );
    // A statement that reads few blocks meets few of them; what keeps them is the other signal then.
    let is_in_the_way = blocks.is_some();
    let signals: Vec<Signal> = [
        Some(share),
        blocks,
        Signal::at_least(
            "transactions since the oldest snapshot",
            Unit::Count,
            median(&server.levels("activity.xmin_age", "")),
            AGE,
            "pg_stat_activity",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    let off = server.text("setting", "autovacuum").is_some_and(|value| value == "off");
    let remedy = if off {
        Remedy::setting("PostgreSQL", "autovacuum", "on")
    } else if is_in_the_way {
        Remedy::advice(format!(
            "run VACUUM {}, and lower autovacuum_vacuum_scale_factor of this table",
            table.name
        ))
    } else {
        Remedy::advice(format!("end transactions that stay open, then run VACUUM {}", table.name))
    };
    let what = if is_in_the_way {
        "over which its statements step"
    } else {
        "which are kept for a transaction that stays open"
    };
    (signals.len() >= 2).then(|| Draft {
        subject: Subject::of(SubjectKind::Table, table.name, Some(&server.source.name)),
        statement: format!(
            "{} has {} dead rows ({} of its live ones), {what}{}",
            table.name,
            number(dead),
            percent(dead / table.live_rows.max(1.0)),
            if off { "; autovacuum is off" } else { "" }
        ),
        signals,
        remedy,
        gain: None,
    })
}

/// Whether a vacuum removed much of the dead rows of a table during the run: those that come until the next one are
/// ordinary.
fn is_vacuumed(server: &Watched<'_>, table: &str) -> bool {
    let mut most = 0.0_f64;
    server.levels("table.dead_rows", table).into_iter().any(|level| {
        most = most.max(level);
        most >= DEAD_MIN && level <= LEFT * most
    })
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SeriesKind;
    use knee_core::unit::Nanos;

    use crate::Remedy;
    use crate::testing::{Costs, Scene};

    #[test]
    fn dead_rows_that_a_queue_leaves_behind_are_found_and_a_few_are_healthy() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let text = "SELECT id FROM jobs WHERE state = 'ready' ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED";
        scene.statement(server, "2", text, &Costs { seconds: 0.003, blocks: 900.0, ..Costs::default() });
        scene.table(server, "public.jobs", 5_000.0, [0.0, 0.0], [1_000.0, 1_000.0]);
        assert_eq!(scene.found("dead_rows"), None);
        scene.gauge(server, "table.dead_rows", "public.jobs", 90_000.0);
        scene.text(server, "setting", "autovacuum", "off");
        let finding = scene.found("dead_rows").unwrap();
        assert_eq!(
            finding.remedy,
            Remedy::Setting { of: "PostgreSQL".into(), name: "autovacuum".into(), value: "on".into() }
        );
        assert!(finding.statement.contains("over which its statements step"), "{}", finding.statement);
    }

    #[test]
    fn dead_rows_over_which_no_statement_steps_are_kept_for_an_open_transaction() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.gauge(server, "table.dead_rows", "public.products", 20_000.0);
        assert_eq!(scene.found("dead_rows"), None);
        scene.gauge(server, "activity.xmin_age", "", 50_000.0);
        let finding = scene.found("dead_rows").unwrap();
        let says = "public.products has 20,000 dead rows (40 % of its live ones), which are kept for a transaction that \
                    stays open";
        assert_eq!(finding.statement, says);
    }

    /// Levels of a gauge by the second.
    fn levels(of: impl Fn(u64) -> f64) -> Vec<(Nanos, f64)> {
        (0..=30).map(|second| (Nanos::from_secs(second), of(second))).collect()
    }

    #[test]
    fn a_small_table_between_two_vacuums_and_a_short_report_are_healthy() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.gauge(server, "activity.xmin_age", "", 50_000.0);
        let rows = levels(|second| 12_000.0 + 1_000.0 * ((second + 15) % 30) as f64);
        scene.points(server, "table.dead_rows", "public.products", SeriesKind::Gauge, rows);
        assert_eq!(scene.found("dead_rows"), None, "a vacuum in the middle of the run removes them");
        scene.gauge(server, "table.dead_rows", "public.products", 20_000.0);
        assert!(scene.found("dead_rows").is_some());
        let report = levels(|second| if second % 10 < 3 { 12_000.0 } else { 5.0 });
        scene.points(server, "activity.xmin_age", "", SeriesKind::Gauge, report);
        assert_eq!(scene.found("dead_rows"), None, "a report of three seconds keeps no rows for long");
    }
}
