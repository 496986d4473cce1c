//! The load that a plan asks for in an interval: users, or arrivals per second.
//!
//! Does not say what arrived, nor what was answered.

use knee_core::plan::{Executor, Scenario};
use knee_core::record::Point;
use knee_core::schedule::Curve;
use knee_core::unit::Nanos;

/// The users of a scenario, or its arrivals per second, over the time since its start.
pub(crate) const fn curve(scenario: &Scenario) -> &Curve {
    match &scenario.executor {
        Executor::Closed { vus } => vus,
        Executor::Open { rate, .. } => rate,
    }
}

/// The level of a scenario in the middle of an interval; 0 before its start.
pub(crate) fn level(scenario: &Scenario, point: &Point) -> f64 {
    let (middle, start) = (middle(point), scenario.terms.start);
    if middle < start { 0.0 } else { curve(scenario).at(middle.since(start)) }
}

/// Arrivals per second of all scenarios together in the middle of an interval; `None` if users of one of them wait for
/// their responses, so that the service decides how many arrive.
pub(crate) fn offered(scenarios: &[Scenario], point: &Point) -> Option<f64> {
    let of = |scenario: &Scenario| match scenario.executor {
        Executor::Closed { .. } => None,
        Executor::Open { .. } if scenario.ends().is_some_and(|end| middle(point) >= end) => Some(0.0),
        Executor::Open { .. } => Some(level(scenario, point)),
    };
    scenarios.iter().map(of).sum()
}

fn middle(point: &Point) -> Nanos {
    point.from.saturating_add(Nanos(point.to.since(point.from).0 / 2))
}

#[cfg(test)]
mod tests {
    use knee_core::plan::Stop;
    use knee_core::schedule::{Arrivals, Stage};

    use super::*;

    /// 100 arrivals per second that become 200 within 10 s, from second 20 on.
    fn late() -> Scenario {
        let stages = vec![Stage { duration: Nanos::from_secs(10), target: 200.0 }];
        let rate = Curve { start: 100.0, stages };
        let executor = Executor::Open { rate, arrivals: Arrivals::Poisson { seed: 1 }, users_max: 100 };
        let mut scenario = Scenario::new("late", executor, Stop::At(Nanos::from_secs(10)));
        scenario.terms.start = Nanos::from_secs(20);
        scenario
    }

    fn second(from: u64) -> Point {
        Point { from: Nanos::from_secs(from), to: Nanos::from_secs(from + 1), ..Point::default() }
    }

    #[test]
    fn a_scenario_that_begins_later_has_its_levels_later() {
        let scenario = late();
        assert!(level(&scenario, &second(5)).abs() < 1e-9);
        assert!((level(&scenario, &second(24)) - 145.0).abs() < 1e-9);
        let of = |from| offered(std::slice::from_ref(&scenario), &second(from)).unwrap();
        assert!(of(5).abs() < 1e-9 && (of(24) - 145.0).abs() < 1e-9 && of(40).abs() < 1e-9);
    }

    #[test]
    fn what_arrives_under_a_closed_load_is_not_planned() {
        let vus = Curve::constant(5.0);
        let closed = Scenario::new("users", Executor::Closed { vus }, Stop::At(Nanos::from_secs(60)));
        assert_eq!(offered(&[late(), closed], &second(24)), None);
    }
}
