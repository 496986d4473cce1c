//! What the fold knows after any run: nothing is lost, whatever is joined or starts anew.

use knee_core::interval::Interval;
use knee_core::outcome::Outcome;
use knee_core::plan::{Endpoint, EndpointId, Executor, Stop};
use knee_core::schedule::Curve;
use proptest::prelude::*;

use super::*;
use crate::live::term::synthetic;

const NOW: Nanos = Nanos(7);

fn after(events: impl IntoIterator<Item = Event>) -> Fold {
    let mut fold = Fold::default();
    events.into_iter().for_each(|event| fold.handle(&event, NOW));
    fold
}

/// An interval with `ok` requests to each of `endpoints`, met in it.
fn second(number: u64, ok: u64, endpoints: u32) -> Interval {
    let mut interval =
        Interval { from: Nanos::from_secs(number), to: Nanos::from_secs(number + 1), ..Interval::default() };
    for id in (0..endpoints).map(EndpointId) {
        let tally = interval.measured.endpoint_mut(id);
        tally.planned = ok;
        let times = &mut tally.outcomes[Outcome::Ok as usize];
        times.response.record_many(Nanos::from_millis(1 + number % 7), ok);
        times.service.record_many(Nanos::from_millis(1), ok);
        if number == 0 {
            interval.endpoints_met.push((id, Endpoint { name: format!("endpoint {}", id.0) }));
        }
    }
    interval
}

fn event(interval: Interval) -> Event {
    Event::Interval(Arc::new(interval))
}

fn begin() -> Event {
    let executor = Executor::Closed { vus: Curve::constant(5.0) };
    let mut head = synthetic::head_with(executor, Stop::Requests(1_000_000));
    head.measured_from = Nanos::ZERO;
    head.plan.endpoints.clear();
    Event::Started(Arc::new(head))
}

proptest! {
    #[test]
    fn every_request_of_every_second_is_counted_once(counts in proptest::collection::vec(0..5_000u64, 0..40)) {
        let seconds = counts.iter().zip(0..).map(|(ok, number)| event(second(number, *ok, 3)));
        let fold = after(std::iter::once(begin()).chain(seconds));
        let sum = counts.iter().sum::<u64>();
        prop_assert_eq!(fold.ended(), 3 * sum);
        prop_assert_eq!(fold.total.accounting().count(Outcome::Ok), 3 * sum);
        prop_assert!(fold.endpoints.iter().all(|endpoint| endpoint.tally.planned == sum));
        prop_assert_eq!(fold.history.moments().iter().map(|moment| moment.ok).sum::<u64>(), 3 * sum);
        prop_assert_eq!(fold.missed, Nanos::ZERO);
        if let Some(goodput) = fold.goodput() {
            prop_assert!((goodput - 3.0 * sum as f64 / counts.len() as f64).abs() < 1e-6);
        }
    }

    #[test]
    fn lost_seconds_are_marked(kept in proptest::collection::vec(any::<bool>(), 1..60)) {
        let seconds = kept.iter().zip(0..).filter(|(kept, _)| **kept);
        let fold = after(std::iter::once(begin()).chain(seconds.map(|(_, number)| event(second(number, 1, 1)))));
        // What is lost after the last second that came is not known yet.
        let until = kept.iter().rposition(|kept| *kept).unwrap_or(0);
        let lost = kept[..until].iter().filter(|kept| !**kept).count() as u64;
        prop_assert_eq!(fold.missed, Nanos::from_secs(lost));
    }
}

#[test]
fn a_long_run_takes_no_more_memory_than_two_hours() {
    let mut fold = after([begin()]);
    for number in 0..20_000 {
        fold.handle(&event(second(number, 1, 1)), NOW);
    }
    assert!(fold.history.moments().len() <= crate::live::history::MOMENTS_MAX);
    assert_eq!(fold.history.moments().iter().map(|moment| moment.ok).sum::<u64>(), 20_000);
    assert_eq!(fold.history.end(), Nanos::from_secs(20_000));
}

#[test]
fn endpoints_beyond_the_limit_are_counted_and_not_kept() {
    let fold = after([begin(), event(second(0, 2, 70)), event(second(1, 2, 70))]);
    assert_eq!((fold.endpoints.len(), fold.endpoints_left_out), (ENDPOINTS_MAX, 20));
    assert_eq!(fold.endpoints[49].name, "endpoint 49");
    assert_eq!(fold.endpoints[49].tally.planned, 4);
}

#[test]
fn a_new_run_starts_anew_and_keeps_the_lines_of_the_command() {
    let mut fold = after([begin(), event(second(0, 2, 1)), Event::Ended]);
    fold.note("step 1: pass");
    assert_eq!((fold.number, fold.phase), (1, Phase::Ended));
    fold.handle(&begin(), NOW);
    assert_eq!((fold.number, fold.phase, fold.ended()), (2, Phase::Loading, 0));
    assert_eq!(fold.lines, ["step 1: pass"]);
}

#[test]
fn the_warm_up_counts_in_no_figure_of_the_answer() {
    let fold = after(synthetic::events(5));
    // 2 s of warm-up and 3 s of 1,000/s.
    assert_eq!((fold.ended(), fold.total.planned), (5_000, 3_000));
    assert_eq!((fold.window(), fold.scheduled_rate()), (Nanos::from_secs(3), Some(1_000.0)));
    assert_eq!(fold.endpoints[0].tally.planned, 3_000);
}

#[test]
fn a_warning_is_shown_once_and_old_lines_give_way_to_new_ones() {
    let mut fold = after([begin(), Event::Warning("the disk is full".to_owned())]);
    fold.note("warning: the disk is full");
    (0..300).for_each(|number| fold.note(&format!("block {number}")));
    assert_eq!(fold.lines.len(), LINES_MAX);
    assert_eq!(fold.lines.back().map(String::as_str), Some("block 299"));
    assert_eq!(fold.warnings, ["the disk is full"]);
}
