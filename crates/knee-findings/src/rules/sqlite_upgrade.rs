//! Transactions of SQLite that begin with a read, and whose first write SQLite refuses at once.
//!
//! Needs the service to count this with `knee-sqlite`. Does not see what the service does then: try again, or fail.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, Unit};
use crate::sqlite::{self, Page, SOURCE};

pub(super) const RULE: Rule = Rule {
    code: "sqlite_upgrade",
    finds: "transactions of SQLite that read first, and are then refused to write",
    needs: "a page of metrics with those of the library `knee-sqlite`",
    limits: "of the transactions that begin with BEGIN, read and then write, SQLite refuses 5 % the first write without a wait, 10 at least; and 5 % of them end with ROLLBACK. Both, or nothing",
    source: "A read takes a snapshot. If another connection wrote since, or writes now, waiting cannot help, so SQLite returns SQLITE_BUSY at once and calls no busy handler (SQLite documentation, isolation; sqlite3_busy_handler). With 5 %, one of twenty such requests fails or begins again.",
    cause: "BEGIN takes no lock. Between the read and the write of a transaction, another one wrote. A longer busy_timeout changes nothing.",
    remedy: "Begin transactions that will write with BEGIN IMMEDIATE: they wait for the lock before they read. Read before the transaction what need not be exact.",
    explains: &["two_populations"],
    check,
};

/// Share of the transactions that read and then write which is refused, and which is rolled back.
const REFUSED: f64 = 0.05;
const ROLLED_BACK: f64 = 0.05;
/// Fewest that are refused.
const REFUSED_MIN: f64 = 10.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    Ok(sqlite::pages(evidence)?.iter().filter_map(|page| refused(evidence, page)).collect())
}

fn refused(evidence: &Evidence<'_>, page: &Page<'_>) -> Option<Draft> {
    let all = page.rise("upgrades_total").filter(|all| all.amount > 0.0)?;
    let refused = page.rise("upgrades_refused_total").filter(|refused| refused.amount >= REFUSED_MIN)?;
    let share = refused.amount / all.amount;
    let rolled_back = page.rise("upgrades_rolled_back_total").map(|rise| rise.amount / all.amount);
    let signals: Vec<Signal> = [
        Signal::at_least(
            "share of the transactions that read and then write whose first write is refused at once",
            Unit::Share,
            Some(share),
            REFUSED,
            "the service: knee-sqlite, steps of SQLite",
        ),
        Signal::at_least(
            "share of them that ends with ROLLBACK",
            Unit::Share,
            rolled_back,
            ROLLED_BACK,
            SOURCE,
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    (signals.len() == 2).then(|| Draft {
        subject: Subject::service(),
        statement: format!(
            "SQLite refuses the first write of {} of the transactions that read before it, {} per 100 responses: \
             another one wrote after that read",
            percent(share),
            number(100.0 * evidence.per_request(refused).unwrap_or(0.0))
        ),
        signals,
        remedy: Remedy::advice("begin transactions that will write with BEGIN IMMEDIATE"),
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{RATE, Scene};

    /// A transaction per response, of which these shares are refused and rolled back.
    fn booking(refused: f64, rolled_back: f64) -> Scene {
        let mut scene = Scene::steady();
        let page = scene.sqlite_page();
        for (name, share) in [("", 1.0), ("_refused", refused), ("_rolled_back", rolled_back)] {
            let name = format!("prometheus.knee_sqlite_upgrades{name}_total");
            scene.counter(page, &name, "", share * RATE as f64);
        }
        scene
    }

    #[test]
    fn transactions_whose_write_after_a_read_is_refused_are_found() {
        let finding = booking(0.4, 0.4).found("sqlite_upgrade").unwrap();
        assert_eq!(finding.evidence.len(), 2);
        assert!(
            finding.statement.starts_with("SQLite refuses the first write of 40 %"),
            "{}",
            finding.statement
        );
        assert!(finding.statement.contains("40 per 100 responses"), "{}", finding.statement);
    }

    #[test]
    fn transactions_that_are_seldom_refused_and_those_that_a_service_rolls_back_itself_are_healthy() {
        assert_eq!(booking(0.01, 0.01).found("sqlite_upgrade"), None);
        assert_eq!(booking(0.0, 0.4).found("sqlite_upgrade"), None, "it changed its mind");
        assert_eq!(booking(0.4, 0.0).found("sqlite_upgrade"), None, "nothing was lost");
        assert_eq!(booking(0.0, 0.0).found("sqlite_upgrade"), None);
    }
}
