//! Queueing at a fixed number of places: more users change nothing but the time that they wait.
//!
//! Needs a run whose load has several levels, or the levels of a sweep. Does not name the places; with a database
//! observed, `pool_exhausted` does.

use knee_core::plan::{Executor, Scenario};
use knee_core::record::Point;

use crate::bound;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::{Evidence, answered};
use crate::figure::{number, percent};
use crate::finding::{Finding, Remedy, Signal, Subject, Unit};
use crate::lack::Lack;
use crate::level::level;
use crate::load_level::Level;
use crate::rhythm::median;

/// What a run at one level lacks.
pub(crate) const LACKS_LEVELS: &str = "a closed load of several levels; `knee sweep` makes one";

pub(crate) const RULE: Rule = Rule {
    code: "fixed_places",
    finds: "a fixed number of places for which requests queue",
    needs: "the run of one closed scenario whose virtual users grow threefold, with 4 whole intervals in the lower, middle and upper part; or a sweep whose levels grow threefold, with the CPUs known",
    limits: "from half of the users on, throughput grows by 5 % at most; the median response time grows at least 0.8 times as much as the users; the CPUs, or those that an observed process can use, are busy to 70 % at most. If throughput does not grow from the lowest levels on either, the CPUs must be known. In a sweep of arrival rates, the load that brings no more throughput must grow by 20 %, not twofold",
    source: "Little's law: with a fixed number of busy places, throughput is places / service time, and the response time grows in proportion to the users.",
    cause: "Something admits a fixed number of requests at a time: a pool of connections or workers, a semaphore, a lock.",
    remedy: "Find the pool with this number of places; enlarge it if what lies behind it has capacity, or shorten how long a request holds its place.",
    explains: &[],
    check,
};

const PART_MIN: usize = 4;
const RANGE: f64 = 3.0;
const GROWTH: f64 = 0.05;
const ELASTICITY: f64 = 0.8;
const BUSY: f64 = 0.7;
/// A lowest level that is closer to the plateau has waiting requests, too: then it bounds the places only from above.
const UNFILLED: f64 = 0.7;

/// Medians over a part of the levels.
struct Part {
    users: f64,
    throughput: f64,
    response: f64,
}

fn check(evidence: &Evidence<'_>) -> Checked {
    let lack = || Lack::of(LACKS_LEVELS);
    let scenario = growing(evidence).ok_or_else(lack)?;
    let levels = evidence.steady().into_iter().map(|point| (level(scenario, point), point));
    let levels: Vec<(f64, &Point)> = levels.filter(|(users, _)| *users > 0.0).collect();
    let most = levels.iter().map(|(users, _)| *users).fold(0.0, f64::max);
    let part = |from: f64, to: f64| part(&levels, from * most, to * most);
    let low = part(0.0, 1.0 / RANGE).ok_or_else(lack)?;
    let middle = part(0.4, 0.6).ok_or_else(lack)?;
    let high = part(0.8, 1.01).ok_or_else(lack)?;
    let growth = high.throughput / middle.throughput - 1.0;
    let elasticity = (high.response / middle.response).ln() / (high.users / middle.users).ln();
    let is_flat = growth <= GROWTH && elasticity >= ELASTICITY;
    let busy = bound::cpus_busy(evidence);
    let is_filled = low.throughput >= UNFILLED * high.throughput;
    if !is_flat || busy.map_or(is_filled, |busy| busy > BUSY) {
        return Ok(Vec::new());
    }
    let places = if is_filled { low.users } else { high.throughput * low.response };
    let places = number(places.round().max(1.0));
    let places = format!("{} {places}", if is_filled { "at most" } else { "about" });
    let signals = [
        Signal::at_most(
            "growth of the throughput from half to all users",
            Unit::Share,
            Some(growth),
            GROWTH,
            "the run: responses per interval",
        ),
        Signal::at_least(
            "growth of the median response time per growth of users",
            Unit::Count,
            Some(elasticity),
            ELASTICITY,
            "the run: response time",
        ),
        Signal::at_most("share of the CPUs that is busy", Unit::Share, busy, BUSY, "the machine"),
    ];
    Ok(vec![Draft {
        subject: Subject::service(),
        statement: format!(
            "from {} users on, throughput stays at {}/s and users only wait longer: {places} places (CPUs {})",
            number(if is_filled { low.users } else { middle.users }),
            number(high.throughput),
            busy.map_or("unknown".to_owned(), |busy| format!("{} busy", percent(busy)))
        ),
        signals: signals.into_iter().flatten().collect(),
        remedy: Remedy::advice(format!(
            "find the pool or lock with {places} places; enlarge it, or shorten how long a request holds its place"
        )),
        gain: None,
    }])
}

/// The growth of the load that brings no more throughput, in a sweep of arrival rates and in one of connections.
const RISE: f64 = 1.2;
const RISE_OF_CONNECTIONS: f64 = 2.0;

/// The same over the runs of a sweep, each at one level. The CPUs must be known: a service that fills them has as many
/// places as CPUs.
pub(crate) fn across(levels: &[Level], are_connections: bool) -> Result<Option<Finding>, Lack> {
    let lack = || Lack::of("levels of load, of which the highest is three times the lowest");
    let by_load = |one: &&Level, other: &&Level| one.load.total_cmp(&other.load);
    let (low, high) = levels.iter().min_by(by_load).zip(levels.iter().max_by(by_load)).ok_or_else(lack)?;
    if high.load < RANGE * low.load {
        return Err(lack());
    }
    let busy = high.busy.ok_or_else(|| Lack::of("figures of the machine (`--observe host`)"))?;
    let is_as_much = |level: &&Level| high.throughput <= (1.0 + GROWTH) * level.throughput;
    let Some(first) = levels.iter().filter(is_as_much).min_by(by_load) else { return Ok(None) };
    let rise = if are_connections { RISE_OF_CONNECTIONS } else { RISE };
    let growth = high.throughput / first.throughput - 1.0;
    let elasticity = (high.response / first.response).ln() / (high.load / first.load).ln();
    // Less throughput under more load is `collapse`.
    let is_flat = high.load >= rise * first.load && growth >= -GROWTH && elasticity >= ELASTICITY;
    if !is_flat || busy > BUSY {
        return Ok(None);
    }
    let is_filled = low.throughput >= UNFILLED * high.throughput;
    // A rate is no number of places. By Little's law, the response time of the lowest level says how many there are; if
    // requests wait there already, it bounds them from above.
    let places = if is_filled && are_connections { low.load } else { high.throughput * low.response };
    let places = number(places.round().max(1.0));
    let places = format!("{} {places}", if is_filled { "at most" } else { "about" });
    Ok(Some(RULE.finding(draft(first, high, &places, (growth, elasticity, busy), are_connections))))
}

/// The finding over the runs of a sweep.
fn draft(
    first: &Level,
    high: &Level,
    places: &str,
    (growth, elasticity, busy): (f64, f64, f64),
    are_connections: bool,
) -> Draft {
    let unit = if are_connections { " connections" } else { "/s" };
    let signals = [
        Signal::at_most(
            "growth of the throughput to the highest level",
            Unit::Share,
            Some(growth),
            GROWTH,
            "the sweep: responses per second",
        ),
        Signal::at_least(
            "growth of the mean response time per growth of the load",
            Unit::Count,
            Some(elasticity),
            ELASTICITY,
            "the sweep: response time",
        ),
        Signal::at_most("share of the CPUs that is busy", Unit::Share, Some(busy), BUSY, "the machine"),
    ];
    Draft {
        subject: Subject::service(),
        statement: format!(
            "from {}{unit} to {}{unit}, throughput stays at {}/s and requests only wait longer: {places} places \
             (CPUs {} busy)",
            number(first.load),
            number(high.load),
            number(high.throughput),
            percent(busy)
        ),
        signals: signals.into_iter().flatten().collect(),
        remedy: Remedy::advice(format!(
            "find the pool or lock with {places} places; enlarge it, or shorten how long a request holds its place"
        )),
        gain: None,
    }
}

/// The scenario, if a closed one whose virtual users change is all of the load.
fn growing<'a>(evidence: &Evidence<'a>) -> Option<&'a Scenario> {
    let [only] = evidence.run.head.plan.scenarios.as_slice() else { return None };
    let grows = matches!(&only.executor, Executor::Closed { vus } if !vus.stages.is_empty());
    grows.then_some(only)
}

fn part(levels: &[(f64, &Point)], from: f64, to: f64) -> Option<Part> {
    let inside = || levels.iter().filter(move |(users, _)| *users >= from && *users < to);
    let of = |figure: fn(&Point) -> Option<f64>| {
        let figures: Vec<f64> = inside().filter_map(|(_, point)| figure(point)).collect();
        median(&figures).filter(|figure| figures.len() >= PART_MIN && *figure > 0.0)
    };
    let users: Vec<f64> = inside().map(|(users, _)| *users).collect();
    Some(Part {
        users: median(&users).filter(|users| *users > 0.0)?,
        throughput: of(|point| point.per_second(answered(point)))?,
        response: of(|point| Some(point.response?[0].as_secs_f64()))?,
    })
}

#[cfg(test)]
mod tests {
    use knee_core::schedule::{Curve, Stage};
    use knee_core::unit::Nanos;

    use crate::testing::Scene;

    fn ramp() -> Curve {
        Curve { start: 0.0, stages: vec![Stage { duration: Nanos::from_secs(60), target: 120.0 }] }
    }

    /// `places` places of 10 ms each; users beyond them wait.
    fn served(places: f64) -> Scene {
        let users = |second: u64| 2.0 * (second as f64 + 0.5);
        let rate = move |second| (users(second).min(places) / 0.01) as u64;
        Scene::sized(60, rate, ramp(), move |sample, second, dice| {
            sample.wait = 0.01 * (users(second) / places).max(1.0) * (0.95 + 0.1 * dice.share());
        })
    }

    #[test]
    fn places_are_counted_from_outside() {
        let finding = served(45.0).found("fixed_places").unwrap();
        assert!(finding.statement.contains("about 45 places"), "{}", finding.statement);
    }

    #[test]
    fn places_are_counted_in_a_scenario_that_begins_later_too() {
        let users = |second: u64| 2.0 * (second as f64 - 30.0 + 0.5);
        let rate = move |second| if second < 30 { 0 } else { (users(second).min(45.0) / 0.01) as u64 };
        let mut scene = Scene::sized(90, rate, ramp(), move |sample, second, dice| {
            sample.wait = 0.01 * (users(second) / 45.0).max(1.0) * (0.95 + 0.1 * dice.share());
        });
        scene.run.head.plan.scenarios[0].terms.start = Nanos::from_secs(30);
        let finding = scene.found("fixed_places").unwrap();
        assert!(finding.statement.contains("about 45 places"), "{}", finding.statement);
    }

    #[test]
    fn one_lock_for_all_is_found_although_the_fewest_users_fill_it() {
        let mut scene = served(2.0);
        assert_eq!(scene.found("fixed_places"), None, "the CPUs are unknown");
        scene.host(4.0);
        let finding = scene.found("fixed_places").unwrap();
        assert!(finding.statement.contains("at most"), "{}", finding.statement);
    }

    #[test]
    fn a_service_that_serves_all_users_is_healthy_and_one_level_cannot_say() {
        assert_eq!(served(1_000.0).found("fixed_places"), None);
        assert!(Scene::steady().lacks("fixed_places").unwrap().contains("several levels"));
    }
}
