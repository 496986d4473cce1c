//! A service that answers less the more it works on: nothing limits how many requests are in progress.
//!
//! Needs the run alone, with a load of one scenario: a burst of arrivals and an equal rate before and after it, or users
//! that become more. Does not name what waits. A service that is overloaded from the beginning, or by a rate that only
//! grows, shows no other state to compare with.

use knee_core::observation::SourceKind;
use knee_core::outcome::Outcome;
use knee_core::plan::{Executor, Scenario};
use knee_core::record::Point;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::{Evidence, answered};
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, Unit};
use crate::lack::Lack;
use crate::level::{curve, level};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "collapse",
    finds: "a service that answers less the more requests it has in progress",
    needs: "the run, with 12 whole intervals of a load of one scenario whose users grow twofold, or whose rate falls back after a burst of 1.5 times as much that 3 intervals precede, of a load generator that did not pause itself",
    limits: "OK responses per second in the last quarter of the run are 70 % at most of those of the best quarter before it, in which as many arrived, while twice as many requests are in flight or wait for a connection, and 10 more; the processes of the service take 1.5 times as much CPU time per response. The first two, or nothing; nothing if refusals make up for them, or if less than 5 % is left. Of users, the best quarter has half as many at most",
    source: "Up to its limit a service answers what arrives, and beyond it the same number for any number that waits; fewer means that waiting requests cost work (retrograde throughput: N. J. Gunther, Universal Scalability Law). A quarter of the run is no stall, and 30 % no noise between quarters.",
    cause: "Every request that arrives is taken in at once. They wait for a lock by asking for it again and again, push each other out of caches and memory, or are worked on until after their clients have gone.",
    remedy: "Limit how many requests are in progress, and let the others wait in a queue in front of it; refuse what would wait too long with 503 and Retry-After.",
    explains: &[],
    check,
};

const INTERVALS_MIN: usize = 12;
/// Fewest intervals before the burst.
const BEFORE_MIN: usize = 3;
const KEPT: f64 = 0.7;
/// Below this share of the best quarter the service stands still, which is another matter.
const STANDS: f64 = 0.05;
const CROWD: f64 = 2.0;
const CROWD_MORE: f64 = 10.0;
const COSTLIER: f64 = 1.5;
/// Rates that differ by this share are alike.
const ALIKE: f64 = 0.1;
const BURST: f64 = 1.5;

/// A quarter of the run.
struct Stretch<'p, 'a> {
    points: &'p [&'a Point],
    /// OK and complete responses per second.
    ok: f64,
    answered: f64,
    /// Requests in flight or waiting for a connection.
    in_flight: f64,
    /// Users, or iterations per second, as planned.
    level: f64,
}

impl<'p, 'a> Stretch<'p, 'a> {
    fn of(points: &'p [&'a Point], scenario: &Scenario) -> Self {
        let seconds: f64 = points.iter().map(|point| point.to.since(point.from).as_secs_f64()).sum();
        let sum = |of: fn(&Point) -> u64| points.iter().map(|point| of(point) as f64).sum::<f64>();
        let count = points.len().max(1) as f64;
        let waiting = sum(|point| point.in_flight.saturating_add(point.backlog));
        Self {
            points,
            ok: sum(|point| point.by_outcome[Outcome::Ok as usize]) / seconds.max(1e-9),
            answered: sum(answered) / seconds.max(1e-9),
            in_flight: waiting / count,
            level: points.iter().map(|point| level(scenario, point)).sum::<f64>() / count,
        }
    }

    /// CPU time of a process per complete response.
    fn cpu(&self, process: &Watched<'_>) -> Option<f64> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        let rise = |name: &str| process.within(name, first.from, last.to);
        let responses: u64 = self.points.iter().map(|point| answered(point)).sum();
        Some((rise("process.cpu.user")? + rise("process.cpu.system")?) / responses.max(1) as f64)
    }
}

fn check(evidence: &Evidence<'_>) -> Checked {
    if evidence.generator_paused() {
        return Err(Lack::of("a load generator that did not pause or wait for a CPU itself"));
    }
    let lack = || Lack::of("a load of one scenario with a burst, or whose users grow");
    let [scenario] = evidence.run.head.plan.scenarios.as_slice() else { return Err(lack()) };
    if curve(scenario).stages.is_empty() {
        return Err(lack());
    }
    let points = evidence.steady();
    if points.len() < INTERVALS_MIN {
        return Err(Lack::of(format!("{INTERVALS_MIN} whole intervals")));
    }
    let quarter = points.len() / 4;
    let (before, last) = points.split_at(points.len() - quarter);
    let last = Stretch::of(last, scenario);
    let is_closed = matches!(scenario.executor, Executor::Closed { .. });
    let before = if is_closed { before } else { before_burst(scenario, before, &last) };
    let width = quarter.min(before.len());
    if width < BEFORE_MIN {
        return Err(lack());
    }
    let stretches = before.windows(width).map(|points| Stretch::of(points, scenario));
    let fits = |stretch: &Stretch<'_, '_>| {
        if is_closed { stretch.level * CROWD <= last.level } else { is_alike(stretch.level, last.level) }
    };
    let best = stretches.filter(fits).max_by(|one, other| one.ok.total_cmp(&other.ok));
    Ok(best.and_then(|best| collapsed(evidence, &best, &last)).into_iter().collect())
}

fn is_alike(one: f64, other: f64) -> bool {
    (one - other).abs() <= ALIKE * other
}

/// The intervals before the first in which far more arrives than at the end; none without one.
fn before_burst<'p, 'a>(
    scenario: &Scenario,
    before: &'p [&'a Point],
    last: &Stretch<'_, '_>,
) -> &'p [&'a Point] {
    let burst = before.iter().position(|point| level(scenario, point) >= BURST * last.level);
    &before[..burst.unwrap_or(0)]
}

fn collapsed(evidence: &Evidence<'_>, best: &Stretch<'_, '_>, last: &Stretch<'_, '_>) -> Option<Draft> {
    if last.ok < STANDS * best.ok || last.answered > KEPT * best.answered {
        return None;
    }
    let fewer = Signal::at_most(
        "OK responses per second at the end, of the best quarter of the run",
        Unit::Share,
        (best.ok > 0.0).then(|| last.ok / best.ok),
        KEPT,
        "the run: responses per interval",
    )?;
    let crowd = Signal::at_least(
        "requests in flight at the end, times those of the best quarter",
        Unit::Count,
        Some(last.in_flight / best.in_flight.max(1.0)),
        CROWD,
        "the run: requests in flight",
    )
    .filter(|_| last.in_flight >= best.in_flight + CROWD_MORE)?;
    let processes = evidence.sources(SourceKind::Process);
    let costs = |stretch: &Stretch<'_, '_>| {
        let costs: Option<Vec<f64>> = processes.iter().map(|process| stretch.cpu(process)).collect();
        costs.map(|costs| costs.iter().sum::<f64>()).filter(|cost| *cost > 0.0)
    };
    let costlier = Signal::at_least(
        "CPU time per response at the end, times that of the best quarter",
        Unit::Count,
        costs(last).zip(costs(best)).map(|(last, best)| last / best),
        COSTLIER,
        "/proc/PID/stat",
    );
    Some(Draft {
        subject: Subject::service(),
        statement: format!(
            "with {} requests in flight the service answers {}/s OK, {} of the {}/s that it answered with {}",
            number(last.in_flight),
            number(last.ok),
            percent(last.ok / best.ok),
            number(best.ok),
            // Counted at the ends of intervals, where fast responses leave none.
            if best.in_flight < 1.0 { "hardly any".to_owned() } else { number(best.in_flight) }
        ),
        signals: [Some(fewer), Some(crowd), costlier].into_iter().flatten().collect(),
        remedy: Remedy::advice(
            "limit how many requests are in progress: the others wait in a queue, or are refused early with 503",
        ),
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use knee_core::schedule::{Arrivals, Curve, Stage};
    use knee_core::unit::Nanos;

    use super::*;
    use crate::Confidence;
    use crate::testing::Scene;

    /// Levels that are held for so many seconds each.
    fn steps(levels: &[(u64, f64)]) -> Curve {
        let stage = |duration: u64, target: f64| Stage { duration: Nanos::from_secs(duration), target };
        let stages = levels.iter().flat_map(|(seconds, level)| [stage(0, *level), stage(*seconds, *level)]);
        Curve { start: levels[0].1, stages: stages.collect() }
    }

    /// 20 seconds of arrivals by a plan; in each second so many are answered and left in flight.
    fn arriving(rate: Curve, of: fn(u64) -> (u64, u64)) -> Scene {
        let mut scene = Scene::sized(20, move |second| of(second).0, Curve::constant(10.0), |_, _, _| {});
        for (second, point) in scene.run.series.iter_mut().enumerate() {
            point.in_flight = of(second as u64).1;
        }
        scene.run.head.plan.scenarios[0].executor =
            Executor::Open { rate, arrivals: Arrivals::Poisson { seed: 1 }, users_max: 5_000 };
        scene
    }

    /// 200 per second with a burst of 800 from second 5 to 7.
    fn burst() -> Curve {
        steps(&[(5, 200.0), (2, 800.0), (13, 200.0)])
    }

    const COLLAPSES: fn(u64) -> (u64, u64) = |second| match second {
        0..5 => (200, 4),
        5..7 => (260, 500),
        _ => (80, 500 + 120 * (second - 7)),
    };

    #[test]
    fn a_service_that_does_not_recover_from_a_burst_is_found() {
        let finding = arriving(burst(), COLLAPSES).found("collapse").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(
            finding.statement.ends_with("answers 80/s OK, 40 % of the 200/s that it answered with 4"),
            "{finding:?}"
        );
    }

    #[test]
    fn a_service_whose_requests_were_too_fast_to_be_seen_in_flight_had_hardly_any() {
        let of: fn(u64) -> (u64, u64) = |second| match COLLAPSES(second) {
            (ok, 4) => (ok, 0),
            other => other,
        };
        let finding = arriving(burst(), of).found("collapse").unwrap();
        assert!(finding.statement.ends_with("200/s that it answered with hardly any"), "{finding:?}");
    }

    #[test]
    fn cpu_time_that_waiting_requests_cost_is_a_third_signal() {
        let mut scene = arriving(burst(), COLLAPSES);
        let process = scene.process("shop (pid 7)");
        scene.counter(process, "process.cpu.user", "", 0.9);
        assert_eq!(scene.found("collapse").unwrap().confidence, Confidence::Strong);
    }

    #[test]
    fn a_service_that_works_a_burst_off_or_never_saw_one_is_healthy() {
        let works_off: fn(u64) -> (u64, u64) = |second| match second {
            5..7 => (400, 800),
            7..11 => (400, 800 - 200 * (second - 7)),
            _ => (200, 4),
        };
        assert_eq!(arriving(burst(), works_off).found("collapse"), None);
        let constant = arriving(Curve::constant(200.0), COLLAPSES);
        assert!(constant.lacks("collapse").is_some(), "it can have become slower for another reason");
    }

    #[test]
    fn a_rush_that_ends_with_slower_requests_is_healthy_as_long_as_they_are_answered() {
        let rush = steps(&[(5, 100.0), (5, 500.0), (10, 100.0)]);
        let of: fn(u64) -> (u64, u64) = |second| match second {
            0..5 => (100, 2),
            5..10 => (500, 5),
            _ => (100, 40),
        };
        assert_eq!(arriving(rush, of).found("collapse"), None);
    }

    #[test]
    fn refusals_and_a_service_that_stands_still_are_not_meant() {
        let mut refuses = arriving(burst(), |second| (200, if second < 7 { 4 } else { 50 }));
        for point in refuses.run.series.iter_mut().skip(7) {
            point.by_outcome[Outcome::Ok as usize] = 60;
            point.by_outcome[Outcome::HttpError as usize] = 140;
        }
        assert_eq!(refuses.found("collapse"), None);
        let stands: fn(u64) -> (u64, u64) = |second| if second < 7 { (200, 4) } else { (2, 1_200) };
        assert_eq!(arriving(burst(), stands).found("collapse"), None);
    }

    #[test]
    fn a_few_more_requests_in_flight_are_no_crowd() {
        let of: fn(u64) -> (u64, u64) = |second| if second < 7 { (200, 2) } else { (100, 11) };
        assert_eq!(arriving(burst(), of).found("collapse"), None);
    }

    /// Users that grow from 10 to 100 after 10 s.
    fn more_users(of: fn(u64) -> (u64, u64)) -> Scene {
        let mut scene = arriving(burst(), of);
        let vus = steps(&[(10, 10.0), (10, 100.0)]);
        scene.run.head.plan.scenarios[0].executor = Executor::Closed { vus };
        scene
    }

    #[test]
    fn more_users_that_get_less_together_are_found_and_those_that_get_as_much_are_healthy() {
        let found = more_users(|second| if second < 10 { (500, 10) } else { (300, 100) }).found("collapse");
        assert!(found.is_some());
        let found = more_users(|second| if second < 10 { (500, 10) } else { (480, 100) }).found("collapse");
        assert_eq!(found, None);
    }
}
