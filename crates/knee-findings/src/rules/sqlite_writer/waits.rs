//! What the service itself counts of the waits for a write lock that is held for long at times: whether it agrees with
//! what was seen from outside.
//!
//! Knows that connections waited for about as long as the slow responses took. Does not know which request each of them
//! served.

use crate::evidence::Evidence;
use crate::finding::{Signal, Subject, Unit};
use crate::histogram::Modes;
use crate::sqlite::{self, Page, SOURCE};

/// Statements that found the lock held: fewer are an incident.
const BUSY_MIN: f64 = 5.0;
/// The share of the time in which the lock is held, as the service has it, and as the samples have it.
const HELD: f64 = 0.02;
const WITHIN: f64 = 1.5;
/// What one of these statements waits, in seconds, and by which factor the upper quartile of the slow responses differs:
/// requests that come later wait for what is left.
const WAIT_MIN: f64 = 0.005;
const OF_WAIT: f64 = 2.0;
/// A statement that changes rows and has this part of the time of the lock is why it is held.
const OF_LOCK: f64 = 0.5;

/// First words of statements that hold the lock.
const WRITING: [&str; 7] = ["insert", "update", "delete", "replace", "vacuum", "reindex", "analyze"];

/// What the page says.
pub(super) struct Waits {
    pub signals: Vec<Signal>,
    /// How long a statement waits that finds the lock held, in seconds.
    pub each: f64,
    /// The statement for which the lock is held.
    pub writer: Option<Subject>,
}

/// What a page of the service says of a lock that is held for this share of the samples, beside responses with such
/// groups; `None` if it says something else, or nothing.
pub(super) fn counted(evidence: &Evidence<'_>, held: f64, slow: &Modes) -> Option<Waits> {
    let pages = sqlite::pages(evidence).ok()?;
    pages.iter().find_map(|page| of_page(evidence, page, held, slow))
}

fn of_page(evidence: &Evidence<'_>, page: &Page<'_>, held: f64, slow: &Modes) -> Option<Waits> {
    let busy = page.rise("busy_total").filter(|busy| busy.amount >= BUSY_MIN)?;
    let wait = page.rise("busy_wait_seconds_total")?.amount / busy.amount;
    let (_, upper) = slow.slow_quartiles;
    if factor(upper, wait) > OF_WAIT {
        return None;
    }
    let by_service = page.per_second("write_seconds_total").filter(|share| factor(*share, held) <= WITHIN);
    let held = Signal::at_least(
        "share of the time in which transactions of the service hold the lock, about that of the samples",
        Unit::Share,
        by_service,
        HELD,
        SOURCE,
    )?;
    let waits = Signal::at_least(
        "time that each statement waits which finds it held, about that of the slow responses",
        Unit::Seconds,
        Some(wait),
        WAIT_MIN,
        SOURCE,
    )?;
    Some(Waits { signals: vec![held, waits], each: wait, writer: writer(evidence, page, wait) })
}

/// The statement that has most of the time for which the lock is held. Times of statements have their waits: one that
/// waits for the lock can have as much in all. But it seldom finds the lock held, so that its mean call is shorter than a
/// wait; a call of the one that holds the lock is not.
pub(in crate::rules) fn writer(evidence: &Evidence<'_>, page: &Page<'_>, wait: f64) -> Option<Subject> {
    let held = evidence.per_request(page.rise("write_seconds_total")?)?;
    let heavy = page.heavy(evidence);
    let writer = heavy.iter().find(|call| {
        let changes = WRITING.contains(&call.statement.verb.as_str());
        let is_long = call.seconds_per_request >= wait * call.per_request;
        changes && is_long && call.seconds_per_request >= OF_LOCK * held
    });
    writer.map(|call| page.subject(call))
}

/// How many times the smaller figure the larger one is.
pub(in crate::rules) fn factor(one: f64, other: f64) -> f64 {
    (one / other).max(other / one)
}
