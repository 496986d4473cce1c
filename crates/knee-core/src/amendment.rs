//! A change of the planned rate while a run goes on, and the arrivals that follow from it.
//!
//! Arrivals stay arithmetic: from `at` on they are those of a schedule of their own. Does not decide who can ask for a
//! change; see `knee_engine::steering`.

use serde::{Deserialize, Serialize};

use crate::schedule::{Arrivals, Curve, Schedule, Stage};
use crate::unit::Nanos;

/// Most changes of one run.
pub const AMENDMENTS_MAX: usize = 1_000;

/// A change of the planned rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Amendment {
    /// From when on, on the run's clock: where one interval ends and the next begins.
    pub at: Nanos,
    /// The rate that was planned at that moment, in requests per second.
    pub from: f64,
    /// How long the straight line from there to `to` takes; zero is a jump.
    pub over: Nanos,
    /// The rate after that, in requests per second, until the plan ends or is changed again.
    pub to: f64,
    /// Of evenly spaced arrivals: the area under the rate from `at` to the first one, from 0 to 1, so that their spacing
    /// goes on. Without a meaning for others.
    #[serde(default)]
    pub first: f64,
}

impl Amendment {
    /// Whether its rates are rates: a damaged record can contain any number.
    pub fn is_sound(&self) -> bool {
        [self.from, self.to, self.first].iter().all(|rate| rate.is_finite() && *rate >= 0.0)
    }

    /// The rate over time, from `at` on.
    pub fn curve(&self) -> Curve {
        Curve { start: self.from, stages: vec![Stage { duration: self.over, target: self.to }] }
    }

    /// Its arrivals until `end` on the run's clock, spread like those of the plan. `number` is its place among the
    /// changes of the run, from 0: independent arrivals are drawn again for each.
    pub fn arrivals(&self, number: usize, planned: Arrivals, end: Nanos) -> Schedule {
        let arrivals = match planned {
            // What is numbered in advance is so for the plan as it was.
            Arrivals::Uniform | Arrivals::Numbered { .. } => Arrivals::Uniform,
            Arrivals::Poisson { seed } => Arrivals::Poisson { seed: seed.wrapping_add(number as u64 + 1) },
        };
        let schedule = Schedule::new(self.curve(), arrivals, end.since(self.at), u64::MAX).starting(self.at);
        if arrivals == Arrivals::Uniform { schedule.beginning_at(self.first) } else { schedule }
    }
}

/// The rate at `at` of a plan that begins at `start` with `planned` and was changed since; changes are in order.
pub fn rate_at(planned: &Curve, start: Nanos, amendments: &[Amendment], at: Nanos) -> f64 {
    match amendments.iter().rev().find(|amendment| amendment.at <= at) {
        Some(amendment) => amendment.curve().at(at.since(amendment.at)),
        None => planned.at(at.since(start)),
    }
}

/// The area from `at` to the next of evenly spaced arrivals, as [`rate_at`].
pub fn area_to_next(planned: &Curve, start: Nanos, amendments: &[Amendment], at: Nanos) -> f64 {
    match amendments.iter().rev().find(|amendment| amendment.at <= at) {
        Some(amendment) => amendment.curve().area_to_next(amendment.first, at.since(amendment.at)),
        None => planned.area_to_next(0.0, at.since(start)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    fn amendment(at: u64, from: f64, over: u64, to: f64) -> Amendment {
        Amendment { at: seconds(at), from, over: seconds(over), to, first: 0.0 }
    }

    #[test]
    fn arrivals_follow_the_new_rate_from_its_moment_to_the_end_of_the_plan() {
        let jump = amendment(2, 1.0, 0, 4.0);
        let due: Vec<u64> =
            jump.arrivals(0, Arrivals::Uniform, seconds(3)).map(|due| due.0 / 1_000_000).collect();
        assert_eq!(due, [2_000, 2_250, 2_500, 2_750]);
        // 0 to 8 per second in 2 s has area 8, then 8 more in the last second.
        let line = amendment(10, 0.0, 2, 8.0);
        assert_eq!(line.arrivals(0, Arrivals::Uniform, seconds(13)).count(), 16);
    }

    #[test]
    fn changes_to_the_same_rate_change_no_arrival() {
        for rate in [0.2, 1.0 / 3.0, 3.0, 7.7, 1_000.0] {
            let (planned, end) = (Curve::constant(rate), seconds(30));
            let whole: Vec<Nanos> =
                Schedule::new(planned.clone(), Arrivals::Uniform, end, u64::MAX).collect();
            let (mut due, mut changes) = (whole.clone(), Vec::new());
            for second in 1..30 {
                let at = seconds(second);
                let first = area_to_next(&planned, Nanos::ZERO, &changes, at);
                let change = Amendment { at, from: rate, over: Nanos::ZERO, to: rate, first };
                due.retain(|due| *due < at);
                due.extend(change.arrivals(changes.len(), Arrivals::Uniform, end));
                changes.push(change);
            }
            assert_eq!(due.len(), whole.len(), "{rate}/s");
            assert!(due.iter().zip(&whole).all(|(one, other)| one.0.abs_diff(other.0) < 1_000), "{rate}/s");
        }
    }

    #[test]
    fn a_plan_with_more_arrivals_than_can_be_numbered_is_changed_all_the_same() {
        let planned = Curve::constant(1e9);
        let first = area_to_next(&planned, Nanos::ZERO, &[], seconds(300 * 86_400));
        assert!((0.0..=4.0).contains(&first), "{first}");
    }

    #[test]
    fn independent_arrivals_repeat_with_their_seed_and_differ_between_changes() {
        let change = amendment(1, 100.0, 0, 100.0);
        let drawn = |number| change.arrivals(number, Arrivals::Poisson { seed: 7 }, seconds(11));
        assert!(drawn(0).eq(drawn(0)) && !drawn(0).eq(drawn(1)));
        // 1,000 expected, standard deviation 32: five of them.
        assert!(drawn(0).count().abs_diff(1_000) < 160);
    }

    #[test]
    fn the_rate_is_that_of_the_last_change_that_has_begun() {
        let planned = Curve::constant(10.0);
        let changes = [amendment(5, 10.0, 10, 20.0), amendment(10, 15.0, 0, 3.0)];
        let at = |moment| rate_at(&planned, Nanos::ZERO, &changes, seconds(moment));
        for (moment, rate) in [(0, 10.0), (4, 10.0), (5, 10.0), (7, 12.0), (10, 3.0), (99, 3.0)] {
            assert!((at(moment) - rate).abs() < 1e-9, "at {moment} s: {}", at(moment));
        }
    }
}
