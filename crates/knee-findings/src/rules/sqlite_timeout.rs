//! Connections to a SQLite database that do not wait until a lock is free that is held for a short time.
//!
//! Needs the service to count this with `knee-sqlite`. Does not know which requests gave up; that as many fail says that
//! the service does not try again.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{percent, seconds};
use crate::finding::{Remedy, Signal, Subject, Unit};
use crate::sqlite::{self, Page, SOURCE};

pub(super) const RULE: Rule = Rule {
    code: "sqlite_timeout",
    finds: "requests that fail because connections to SQLite do not wait for a lock, or not for long enough",
    needs: "a page of metrics with those of the library `knee-sqlite`",
    limits: "per response, 0.01 statements give up the wait for a lock, 10 at least; 1 % of the responses have a status of 500 or more, and half as many as gave up; these had waited for 1 s at most, as a mean; with those that gave up, transactions would hold the write lock for 80 % of the time at most. All of them, or nothing",
    source: "SQLite waits for no lock by itself: without a busy timeout, a statement that finds one held ends with SQLITE_BUSY (SQLite documentation, sqlite3_busy_timeout). Python and rusqlite set 5 s. One lock is one server: a request waits five times as long as it holds the lock if that is held for 80 % of the time (M/M/1), and a longer limit ends with the lock.",
    cause: "busy_timeout is not set, or is set on one connection of several; it belongs to a connection, not to the file. Each request that writes while another one does fails.",
    remedy: "Set a busy timeout of some seconds on every connection (PRAGMA busy_timeout = 5000), and begin transactions that write with BEGIN IMMEDIATE, so that they can wait.",
    explains: &["rate_limit", "two_populations"],
    check,
};

/// Statements that give up the wait, per response, and fewest of them.
const TIMEOUTS: f64 = 0.01;
const TIMEOUTS_MIN: f64 = 10.0;
/// Share of the responses that are errors of the server, and these as a part of the statements that gave up.
const FAILED: f64 = 0.01;
const OF_TIMEOUTS: f64 = 0.5;
/// The longest limit that is short, in seconds.
const LIMIT: f64 = 1.0;
/// Share of the time for which the lock would be held.
const HELD: f64 = 0.8;
/// What rounds to no wait, in seconds.
const NO_WAIT: f64 = 0.000_5;

fn check(evidence: &Evidence<'_>) -> Checked {
    Ok(sqlite::pages(evidence)?.iter().filter_map(|page| impatient(evidence, page)).collect())
}

fn impatient(evidence: &Evidence<'_>, page: &Page<'_>) -> Option<Draft> {
    let gave_up = page.rise("busy_timeouts_total").filter(|rise| rise.amount >= TIMEOUTS_MIN)?;
    let per_response = evidence.per_request(gave_up)?;
    let failed = failed(evidence);
    let waited = page.rise("busy_timeout_wait_seconds_total")?.amount / gave_up.amount;
    let writes = page.rise("write_transactions_total").filter(|writes| writes.amount > 0.0)?;
    let held = page.rise("write_seconds_total")?;
    let of_all = (writes.amount + gave_up.amount) / writes.amount;
    let signals: Vec<Signal> = [
        Signal::at_least(
            "statements that give up the wait for a lock, per response",
            Unit::Count,
            Some(per_response),
            TIMEOUTS,
            SOURCE,
        ),
        Signal::at_least(
            "share of the responses with a status of 500 or more",
            Unit::Share,
            Some(failed).filter(|failed| *failed >= OF_TIMEOUTS * per_response),
            FAILED,
            "the run: status codes",
        ),
        Signal::at_most("time that they had waited", Unit::Seconds, Some(waited), LIMIT, SOURCE),
        Signal::at_most(
            "share of the time in which transactions hold the write lock, with those that gave up",
            Unit::Share,
            held.per_second().map(|held| held * of_all),
            HELD,
            SOURCE,
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    let how = if waited < NO_WAIT {
        "without a wait".to_owned()
    } else {
        format!("after {} of waiting", seconds(waited))
    };
    (signals.len() == 4).then(|| Draft {
        subject: Subject::service(),
        statement: format!(
            "{} of the responses are errors of the server while connections to SQLite give up {how}; a transaction \
             holds the lock for {}",
            percent(failed),
            seconds(held.amount / writes.amount)
        ),
        signals,
        remedy: Remedy::setting("SQLite", "busy_timeout", "5000, on every connection"),
        gain: None,
    })
}

/// The share of the responses that are errors of the server: what a client asks wrongly has nothing to do with locks.
fn failed(evidence: &Evidence<'_>) -> f64 {
    let of_server = evidence.all().status.iter().filter(|(code, _)| *code >= 500);
    of_server.map(|(_, count)| *count).sum::<u64>() as f64 / evidence.answered().max(1) as f64
}

#[cfg(test)]
mod tests {
    use crate::testing::{RATE, Scene};
    use crate::{Confidence, Finding};

    /// This share of the requests fails, this share gives up a lock after this time in seconds, and a transaction holds
    /// it for so long.
    fn failing(failed: f64, gave_up: f64, waited: f64, holds: f64) -> Option<Finding> {
        answering(503, failed, gave_up, (waited, holds))
    }

    /// The same with this status.
    fn answering(status: u16, failed: f64, gave_up: f64, (waited, holds): (f64, f64)) -> Option<Finding> {
        let mut scene = Scene::with(move |sample, _, dice| {
            if dice.share() < failed {
                sample.status = status;
            }
        });
        let page = scene.sqlite_page();
        let per_second = gave_up * RATE as f64;
        for (name, value) in [
            ("busy_timeouts_total", per_second),
            ("busy_timeout_wait_seconds_total", per_second * waited),
            ("write_transactions_total", (1.0 - gave_up) * RATE as f64),
            ("write_seconds_total", (1.0 - gave_up) * RATE as f64 * holds),
        ] {
            scene.counter(page, &format!("prometheus.knee_sqlite_{name}"), "", value);
        }
        scene.found("sqlite_timeout")
    }

    #[test]
    fn requests_that_fail_because_connections_do_not_wait_are_found_with_the_setting() {
        let finding = failing(0.18, 0.18, 0.0, 0.000_2).unwrap();
        assert_eq!((finding.evidence.len(), finding.confidence), (4, Confidence::Strong));
        assert!(finding.statement.contains("give up without a wait;"), "{}", finding.statement);
        assert!(finding.remedy.to_string().contains("busy_timeout"), "{}", finding.remedy);
        let finding = failing(0.05, 0.05, 0.02, 0.000_2).unwrap();
        assert!(finding.statement.contains("give up after 20.0 ms of waiting"), "{}", finding.statement);
    }

    #[test]
    fn a_service_that_tries_again_and_locks_that_are_held_for_long_are_another_matter() {
        assert_eq!(failing(0.0, 0.18, 0.0, 0.000_2), None, "it tries again");
        assert_eq!(failing(0.18, 0.001, 0.0, 0.000_2), None, "something else fails");
        assert_eq!(
            answering(404, 0.18, 0.18, (0.0, 0.000_2)),
            None,
            "it tries again, and clients ask wrongly"
        );
        assert_eq!(failing(0.18, 0.18, 5.0, 0.000_2), None, "5 s are long enough");
        assert_eq!(failing(0.18, 0.18, 0.0, 0.001), None, "the lock has no time left");
    }
}
