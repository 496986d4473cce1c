//! A write transaction that is long at times: as many requests wait for it as its share of the time.
//!
//! Does not know which process has it. Two shares can agree by chance, so this is a hint, unless the service counts the
//! same: then it also knows the statement for which the lock is held.

use knee_core::outcome::Outcome;

use crate::definition::Draft;
use crate::evidence::Evidence;
use crate::figure::{percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::histogram::{Modes, two_modes};
use crate::watched::Watched;

use super::lock::held;
use super::waits::{self, factor};

/// Share of the samples with the lock held, and how many these are.
const HELD: f64 = 0.02;
const HELD_MIN: f64 = 10.0;
/// The share of the slow group and that of the lock differ by this factor at most.
const WITHIN: f64 = 1.5;
/// The slow group, as `two_populations` has it: share, valley, times and seconds.
const LEAST: f64 = 0.01;
const VALLEY: f64 = 0.25;
const APART: f64 = 3.0;
const SLOW_MIN: f64 = 0.005;
const RESPONSES_MIN: u64 = 200;
/// The upper quartile of the slow group, times the lower one.
const SPREAD: f64 = 2.0;

/// Requests that wait for a transaction of another part of the service.
pub(super) fn blocking(evidence: &Evidence<'_>, file: &Watched<'_>) -> Option<Draft> {
    let samples = file.rise("sqlite.lock.samples", "")?.amount;
    let held = held(file).filter(|held| held * samples >= HELD_MIN)?;
    if evidence.generator_paused() {
        return None;
    }
    let (name, slow, responses) =
        slow_groups(evidence).find(|(_, modes, _)| factor(modes.slow_share, held) <= WITHIN)?;
    let seen = Signal::at_least(
        "share of samples with the write lock held, about that of the slow responses",
        Unit::Share,
        Some(held),
        HELD,
        "/proc/locks",
    )?;
    let waits = waits::counted(evidence, held, &slow);
    let (lower, upper) = slow.slow_quartiles;
    let of_all = responses as f64 / evidence.answered() as f64;
    let wait = slow.slow_share * (lower.midpoint(upper) - slow.fast) * of_all;
    let at_a_time = waits.as_ref().map_or_else(
        || "perhaps for long at a time".to_owned(),
        |waits| format!("and what finds it held waits {}", seconds(waits.each)),
    );
    let statement = format!(
        "the write lock of {} is held {} of the time, {at_a_time}: {} of {name} take up to {} longer",
        file.source.name,
        percent(held),
        percent(slow.slow_share),
        seconds(upper)
    );
    let (counted, writer) = waits.map_or((Vec::new(), None), |waits| (waits.signals, waits.writer));
    Some(Draft {
        subject: writer.unwrap_or_else(|| Subject::of(SubjectKind::Resource, file.name(), None)),
        statement,
        signals: [vec![seen], counted].concat(),
        remedy: Remedy::advice(
            "keep the transaction short: find its rows before it or by an index, and change few at a time",
        ),
        gain: Gain::saves(evidence.response_mean(), Some(wait), "the wait of the slow requests, per request"),
    })
}

/// Name, groups and number of responses of all endpoints whose times are spread as what is left of a wait.
fn slow_groups<'a>(evidence: &'a Evidence<'_>) -> impl Iterator<Item = (&'a str, Modes, u64)> {
    let endpoints = evidence.run.measured.endpoints.iter().enumerate();
    let groups = endpoints.filter_map(|(place, tally)| {
        let service = &tally.outcomes[Outcome::Ok as usize].service;
        let modes = two_modes(service, LEAST).filter(|_| service.count() >= RESPONSES_MIN)?;
        let name = evidence.run.endpoints.get(place).map_or("", |endpoint| endpoint.name.as_str());
        Some((name, modes, service.count()))
    });
    groups.filter(|(_, modes, _)| {
        let is_wait = modes.slow >= APART * modes.fast && modes.slow >= SLOW_MIN;
        let is_residual = modes.slow_quartiles.1 >= SPREAD * modes.slow_quartiles.0;
        is_wait && is_residual && modes.valley <= VALLEY && modes.is_certain(VALLEY)
    })
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SourceKind;
    use knee_core::schedule::Curve;

    use crate::Confidence;
    use crate::testing::Scene;

    /// A tenth of the time, a transaction holds the lock for 90 ms. Requests that come meanwhile wait as this says.
    fn purged(held: f64, waits: fn(f64) -> f64) -> Scene {
        let mut scene = Scene::sized(
            30,
            |_| 100,
            Curve::constant(10.0),
            move |sample, _, dice| {
                sample.wait = 0.000_2 + dice.exponential(0.000_05);
                if dice.share() < 0.1 {
                    sample.wait += waits(dice.share());
                }
            },
        );
        scene.host(4.0);
        let file = scene.source(SourceKind::Sqlite, "events.db");
        scene.counter(file, "sqlite.lock.samples", "", 10.0);
        scene.counter(file, "sqlite.lock.held", "write", 10.0 * held);
        scene
    }

    #[test]
    fn a_long_transaction_is_a_hint_by_the_requests_that_come_while_it_holds_the_lock() {
        let finding = purged(0.09, |part| 0.09 * part).found("sqlite_writer").unwrap();
        assert_eq!(finding.confidence, Confidence::Hint);
        assert!(finding.statement.contains("is held 9.0 % of the time, perhaps"), "{}", finding.statement);
    }

    const PURGE: &str = "DELETE FROM seen WHERE datetime(at, ?) < datetime(?)";

    /// What the service counts: once per second, a statement finds the lock held and waits this long.
    fn counted(wait: f64, held: f64) -> Scene {
        let mut scene = purged(0.09, |part| 0.09 * part);
        let page = scene.sqlite_page();
        scene.counter(page, "prometheus.knee_sqlite_busy_total", "", 1.0);
        scene.counter(page, "prometheus.knee_sqlite_busy_wait_seconds_total", "", wait);
        scene.counter(page, "prometheus.knee_sqlite_write_seconds_total", "", held);
        scene.sqlite_statement(page, PURGE, 0.001, 0.09, 600_000.0);
        scene
    }

    #[test]
    fn a_long_transaction_whose_waits_the_service_counts_is_found_with_its_statement() {
        let finding = counted(0.08, 0.1).found("sqlite_writer").unwrap();
        assert_eq!((finding.evidence.len(), finding.confidence), (3, Confidence::Strong));
        assert_eq!(finding.subject.name, PURGE);
        assert!(finding.statement.contains("and what finds it held waits 80.0 ms"), "{}", finding.statement);
    }

    #[test]
    fn a_statement_that_often_waits_for_the_lock_is_not_named_as_the_one_that_holds_it() {
        let mut scene = counted(0.08, 0.1);
        let page = scene.observations.sources.len() - 1;
        scene.sqlite_statement(page, "UPDATE posts SET views = views + ? WHERE id = ?", 0.02, 0.01, 0.0);
        assert_eq!(scene.found("sqlite_writer").unwrap().subject.name, PURGE);
    }

    #[test]
    fn waits_that_the_slow_responses_cannot_come_from_leave_a_hint() {
        for (wait, held) in [(0.005, 0.1), (0.9, 0.1), (0.08, 0.01), (0.08, 0.6)] {
            let finding = counted(wait, held).found("sqlite_writer").unwrap();
            assert_eq!(finding.confidence, Confidence::Hint, "{wait} {held}");
        }
    }

    #[test]
    fn slow_requests_of_another_share_or_of_another_kind_have_nothing_to_do_with_the_lock() {
        assert_eq!(purged(0.3, |part| 0.09 * part).found("sqlite_writer"), None);
        assert_eq!(purged(0.03, |part| 0.09 * part).found("sqlite_writer"), None);
        assert_eq!(purged(0.09, |part| 0.08 + 0.01 * part).found("sqlite_writer"), None);
        assert_eq!(purged(0.09, |_| 0.0).found("sqlite_writer"), None);
    }
}
