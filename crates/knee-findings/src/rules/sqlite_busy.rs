//! Connections to a SQLite database that wait for the locks of each other.
//!
//! Needs the service to count this with `knee-sqlite`. Unlike `sqlite_writer`, which sees the lock from outside, this
//! knows how long was waited. Does not know which requests waited.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, Unit};
use crate::sqlite::{self, Page, SOURCE};

use super::sqlite_writer::{lock, waits};

pub(super) const RULE: Rule = Rule {
    code: "sqlite_busy",
    finds: "requests that wait for a lock of SQLite because the connections of the service write at the same time",
    needs: "a page of metrics with those of the library `knee-sqlite`",
    limits: "connections wait for locks for 30 % of the mean response time per response, and no longer than it, and at least 10 statements wait; the transactions of the service hold the write lock for 10 % of the time, or for 2 %, if of these transactions as many find it held, within a factor of 1.5; the lock is held in 10 % of the samples, if the file is observed; one of 1,000 responses has a wait that reached its limit. The first and one more, or a hint",
    source: "Of arrivals that do not know of each other, as many find the lock held as is its share of the time (PASTA): at 10 %, every tenth writer waits. It sleeps for 1 to 100 ms between two attempts, also if the lock becomes free meanwhile. So transactions of 1.2 ms that hold it for 18 % of the time add some 0.2 ms to a response of 1.7 ms: 12 %, which is healthy. What waits is this share times what is left of a transaction, so that few long ones cost as much as many short ones: one of 70 ms in every other second holds it for 3.5 % of the time, and costs 1.2 ms per response. That writers find the lock held as often as the service holds it says that it is the service for which they wait.",
    cause: "SQLite has one writer at a time. Transactions hold its lock while they flush (synchronous=FULL) or do something else, and several connections write.",
    remedy: "Give one connection or thread all writes and let it commit several together; keep transactions short; use journal_mode=WAL with synchronous=NORMAL.",
    explains: &["sqlite_writer", "fixed_places", "two_populations"],
    check,
};

/// Time that is waited per response, as a share of its time.
const OF_RESPONSE: f64 = 0.3;
/// Statements that wait: fewer are an incident.
const BUSY_MIN: f64 = 10.0;
/// Share of the time, and of the samples, in which the write lock is held.
const HELD: f64 = 0.1;
/// The same where writers find it held as often: both shares differ by this factor at most.
const HELD_OWN: f64 = 0.02;
const WITHIN: f64 = 1.5;
/// Waits per response that reach their limit.
const TIMEOUTS: f64 = 0.001;

fn check(evidence: &Evidence<'_>) -> Checked {
    Ok(sqlite::pages(evidence)?.iter().filter_map(|page| waiting(evidence, page)).collect())
}

fn waiting(evidence: &Evidence<'_>, page: &Page<'_>) -> Option<Draft> {
    let busy = page.rise("busy_total").filter(|busy| busy.amount >= BUSY_MIN)?;
    let mean = evidence.response_mean().filter(|mean| *mean > 0.0)?;
    // A connection that waits for longer than the responses take serves none of them.
    let waited = page.rise("busy_wait_seconds_total")?;
    let wait = evidence.per_request(waited).filter(|wait| *wait <= mean)?;
    let first = Signal::at_least(
        "time that connections wait for locks, per response, of its time",
        Unit::Share,
        Some(wait / mean),
        OF_RESPONSE,
        SOURCE,
    )?;
    let files = evidence.sources(SourceKind::Sqlite);
    let seen = files.iter().filter_map(lock::held).reduce(f64::max);
    let timeouts = page.rise("busy_timeouts_total").and_then(|rise| evidence.per_request(rise));
    let held = held(page, busy.amount);
    // What others hold is not held for a statement of the service.
    let by = held.as_ref().map(|_| held_by(evidence, page, waited.amount / busy.amount));
    let signals = [
        Some(first),
        held,
        Signal::at_least("share of samples with the write lock held", Unit::Share, seen, HELD, "/proc/locks"),
        Signal::at_least(
            "waits per response that reach their limit",
            Unit::Count,
            timeouts,
            TIMEOUTS,
            SOURCE,
        ),
    ];
    let is_rollback = files.iter().any(|file| file.text("setting", "journal_mode") == Some("rollback"));
    Some(Draft {
        subject: Subject::service(),
        statement: format!(
            "connections wait for locks of SQLite for {} per response, {} of its time{}",
            seconds(wait),
            percent(wait / mean),
            by.unwrap_or_default()
        ),
        signals: signals.into_iter().flatten().collect(),
        remedy: if is_rollback {
            Remedy::setting("SQLite", "journal_mode", "WAL, with synchronous=NORMAL")
        } else {
            Remedy::advice(
                "let one connection write and commit several changes together, and keep transactions short",
            )
        },
        gain: Gain::saves(Some(mean), Some(wait), "the time that connections wait for locks, per response"),
    })
}

/// For how much of the time transactions of the service hold the write lock, of which so many statements found it held.
fn held(page: &Page<'_>, busy: f64) -> Option<Signal> {
    let held = page.per_second("write_seconds_total")?;
    let found = page.rise("write_transactions_total").map(|transactions| busy / transactions.amount);
    let is_own = found.is_some_and(|found| waits::factor(held, found) <= WITHIN);
    let least = if is_own { HELD_OWN } else { HELD };
    Signal::at_least(
        "share of the time in which transactions of the service hold the write lock",
        Unit::Share,
        Some(held),
        least,
        SOURCE,
    )
}

/// The statement for which the lock is held, if there is one, as an end of the sentence.
fn held_by(evidence: &Evidence<'_>, page: &Page<'_>, each: f64) -> String {
    let writer = waits::writer(evidence, page, each);
    writer.map_or_else(String::new, |writer| format!(", and the lock is mostly held for {}", writer.name))
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SourceKind;
    use knee_core::schedule::Curve;

    use crate::testing::{RATE, Scene};
    use crate::{Confidence, Remedy};

    /// Waits per response in seconds, and the share of the time in which the lock is held. Responses take 5 ms.
    fn writing(wait: f64, held: f64) -> Scene {
        let mut scene = Scene::steady();
        let page = scene.sqlite_page();
        scene.counter(page, "prometheus.knee_sqlite_busy_total", "", 0.2 * RATE as f64);
        scene.counter(page, "prometheus.knee_sqlite_busy_wait_seconds_total", "", wait * RATE as f64);
        scene.counter(page, "prometheus.knee_sqlite_write_seconds_total", "", held);
        scene
    }

    #[test]
    fn writers_that_wait_for_each_other_are_found_and_rare_waits_are_healthy() {
        let finding = writing(0.003, 0.7).found("sqlite_busy").unwrap();
        assert_eq!((finding.evidence.len(), finding.confidence), (2, Confidence::Likely));
        assert!(finding.statement.contains("for 3.00 ms per response"), "{}", finding.statement);
        assert_eq!(writing(0.000_2, 0.7).found("sqlite_busy"), None, "4 % of the response time");
        assert_eq!(writing(0.001_3, 0.18).found("sqlite_busy"), None, "short transactions of a busy service");
        assert_eq!(writing(0.05, 0.7).found("sqlite_busy"), None, "what waits longer serves no response");
        let mut once = writing(0.003, 0.7);
        once.counter(0, "prometheus.knee_sqlite_busy_total", "", 0.1);
        assert_eq!(once.found("sqlite_busy"), None, "three waits");
    }

    #[test]
    fn waits_for_a_lock_that_the_service_seldom_holds_are_a_hint() {
        assert_eq!(writing(0.003, 0.02).found("sqlite_busy").unwrap().confidence, Confidence::Hint);
    }

    /// 80 responses per second, of which those wait that come while a VACUUM writes the file again, for 70 ms in every
    /// other second. Transactions of the service hold the lock for this share of the time.
    fn vacuum(held: f64) -> Scene {
        let mut scene = Scene::sized(
            30,
            |_| 80,
            Curve::constant(10.0),
            |sample, _, dice| {
                sample.wait = 0.000_5;
                if dice.share() < 0.035 {
                    sample.wait += 0.088 * dice.share();
                }
            },
        );
        let page = scene.sqlite_page();
        for (name, per_second) in [
            ("busy_total", 2.8),
            ("busy_wait_seconds_total", 0.11),
            ("write_transactions_total", 80.5),
            ("write_seconds_total", held),
        ] {
            scene.counter(page, &format!("prometheus.knee_sqlite_{name}"), "", per_second);
        }
        scene.sqlite_statement(page, "VACUUM", 0.5 / RATE as f64, 0.07, 0.0);
        scene
    }

    #[test]
    fn a_user_learns_that_writers_wait_for_a_transaction_that_is_long_and_rare() {
        let finding = vacuum(0.036).found("sqlite_busy").unwrap();
        assert_eq!((finding.evidence.len(), finding.confidence), (2, Confidence::Likely));
        assert!(finding.statement.ends_with("the lock is mostly held for VACUUM"), "{}", finding.statement);
    }

    #[test]
    fn writers_that_find_the_lock_held_more_often_than_the_service_holds_it_wait_for_another_process() {
        for held in [0.02, 0.005] {
            let finding = vacuum(held).found("sqlite_busy").unwrap();
            assert_eq!(finding.confidence, Confidence::Hint, "{held}");
            assert!(!finding.statement.contains("VACUUM"), "{}", finding.statement);
        }
    }

    #[test]
    fn an_observed_file_adds_its_lock_and_the_remedy_and_is_not_found_twice() {
        let mut scene = writing(0.003, 0.7);
        scene.host(4.0);
        let file = scene.source(SourceKind::Sqlite, "news.db");
        scene.counter(file, "sqlite.lock.samples", "", 10.0);
        scene.counter(file, "sqlite.lock.held", "exclusive", 8.0);
        scene.text(file, "setting", "journal_mode", "rollback");
        let finding = scene.found("sqlite_busy").unwrap();
        assert_eq!(finding.confidence, Confidence::Strong);
        assert!(matches!(finding.remedy, Remedy::Setting { name, .. } if name == "journal_mode"));
        assert_eq!(scene.found("sqlite_writer"), None);
    }
}
