//! Responses that wait for the end of a window of fixed length, in which requests are collected.
//!
//! Needs the run and an observed process of the service. Does not see the window itself: a request finds a random part
//! of it still to come, so that its wait is anything up to the whole. What looks for new work at a fixed pace looks the
//! same, and is meant as well.

use knee_core::histogram::Histogram;
use knee_core::observation::SourceKind;
use knee_core::outcome::Outcome;
use knee_core::plan::Executor;
use knee_core::schedule::Arrivals;
use knee_core::unit::Nanos;

use crate::bound;
use crate::calls::services;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::histogram::count_within;
use crate::lack::Lack;
use crate::parts::breakdown;

pub(super) const RULE: Rule = Rule {
    code: "batch_window",
    finds: "requests that are collected for a fixed time before anything is done for them",
    needs: "an open load, with 200 OK responses of the endpoint that has most of them, and a process of the service",
    limits: "the response times of the endpoint are spread evenly between their 1st and their 99th percentile, which are 10 ms apart at least and a factor of 2: in each quarter are half to 1.5 times as many as in the lower three on average, in the highest one also more, and 30 % of all in the lower three. Of a load with an even pace, in place of quarters, what is around each multiple of the time between two requests below the highest, if these are 3 to 9. The 99th percentile is 1.17 times the 90th at most. Nothing observed works for half of the mean response time, or nothing. 0.75 calls per response at most to other services, if any, are a third signal. Nothing if a server of unknown statements is observed, or if the CPUs, or those that an observed process can use, are busy to more than 70 %",
    source: "A request that comes at any moment of a window of length w waits for w at most, and for each shorter time with the same chance; the first one of a window that begins with it waits for the whole. Of evenly spread times, the 90th percentile is 0.9 and the 99th 0.99 of the highest: a factor of 1.1, and of 200 such times 1.17 at most (three standard deviations). Queues, work and networks have a tail: of an exponential distribution the factor is 2, of a normal one with a third of its mean as deviation 1.24. Requests that come at an even pace find the window open for multiples of the time between them. What is collected is asked for together, with fewer calls than responses.",
    cause: "A batcher, a data loader or a write buffer waits for a fixed time for more requests, also when there is one alone; or a worker looks for new work on a timer.",
    remedy: "Begin at once when nothing is under way, and collect while it is: batches then grow with the load, and a single request waits for nothing. If a window must be, make it as short as the work that it saves. Wake a worker in place of letting it look.",
    explains: &["two_populations"],
    check,
};

/// OK responses.
const RESPONSES_MIN: u64 = 200;
/// Quantiles between which times are spread, and the one that is near the upper one where there is no tail.
const LOWEST: f64 = 0.01;
const NEAR: f64 = 0.9;
const HIGHEST: f64 = 0.99;
/// The upper one times that, at most.
const EDGE: f64 = 1.17;
/// Between the lowest and the highest: seconds, and a factor.
const APART: f64 = 0.01;
const FACTOR: f64 = 2.0;
/// Parts without a pace of the load, and the most steps of one.
const PARTS: u32 = 4;
const STEPS_MAX: f64 = 8.0;
/// A number of steps differs from a whole one by this much at most.
const WHOLE: f64 = 0.25;
/// Responses of a part, of those of the others on average; and of all parts but the highest, of all.
const FEWEST: f64 = 0.5;
const MOST: f64 = 1.5;
const SPREAD: f64 = 0.3;
/// Share of the mean response time in which nothing observed works.
const IDLE: f64 = 0.5;
/// Share of the CPUs.
const BUSY: f64 = 0.7;
/// Calls per response.
const CALLS: f64 = 0.75;

fn check(evidence: &Evidence<'_>) -> Checked {
    let processes = evidence.needed(SourceKind::Process)?;
    let scenarios = &evidence.run.head.plan.scenarios;
    if scenarios.iter().any(|scenario| matches!(scenario.executor, Executor::Closed { .. })) {
        return Err(Lack::of("a load whose requests do not wait for the responses before them"));
    }
    let endpoints = evidence.run.measured.endpoints.iter().enumerate();
    let times = endpoints.map(|(place, tally)| (place, &tally.outcomes[Outcome::Ok as usize].service));
    let most =
        times.max_by_key(|(_, times)| times.count()).filter(|(_, times)| times.count() >= RESPONSES_MIN);
    let (place, times) =
        most.ok_or_else(|| Lack::of(format!("{RESPONSES_MIN} OK responses of one endpoint")))?;
    let name = evidence.run.endpoints.get(place).map_or("", |endpoint| endpoint.name.as_str());
    let all = processes.iter().flat_map(|process| services(evidence, process));
    let calls = all.map(|asked| asked.calls).reduce(f64::max);
    Ok(draft(evidence, name, times, calls).into_iter().collect())
}

fn draft(evidence: &Evidence<'_>, endpoint: &str, times: &Histogram, calls: Option<f64>) -> Option<Draft> {
    let of = |quantile: f64| times.quantile(quantile).map(Nanos::as_secs_f64);
    let (low, near, high) = (of(LOWEST)?, of(NEAR)?, of(HIGHEST)?);
    let is_wide = high - low >= APART && high >= FACTOR * low;
    let is_busy = bound::cpus_busy(evidence).is_some_and(|busy| busy > BUSY);
    if !is_wide || is_busy || !is_even(times, low, high, pace(evidence)) {
        return None;
    }
    let known = breakdown(evidence).filter(|known| known.unknown.is_empty())?;
    let edge = Signal::at_most(
        format!(
            "99th percentile of the response times of {endpoint}, which are spread evenly, times the 90th"
        ),
        Unit::Count,
        Some(high / near),
        EDGE,
        "the run: response time",
    )?;
    let idle = Signal::at_least(
        "share of the response time in which nothing observed works",
        Unit::Share,
        Some(known.unobserved_s / known.response_s),
        IDLE,
        "the observed sources",
    )?;
    let shared = Signal::at_most(
        "calls to another service per response",
        Unit::Count,
        calls,
        CALLS,
        "sock_diag: segments",
    );
    Some(Draft {
        subject: Subject::of(SubjectKind::Endpoint, endpoint, None),
        statement: format!(
            "responses of {endpoint} take anything from {} to {}, each as often, and nothing observed works for {} of \
             this time: requests wait for the end of a window",
            seconds(low),
            seconds(high),
            percent(idle.figure)
        ),
        signals: [edge, idle].into_iter().chain(shared).collect(),
        remedy: Remedy::advice(
            "begin at once when nothing is under way and collect requests meanwhile, in place of a wait of fixed length",
        ),
        gain: Gain::saves(
            Some(known.response_s),
            Some(known.unobserved_s),
            "what is in no observed work is the wait for the end of the window, if nothing else is waited for",
        ),
    })
}

/// Seconds between two requests of a load whose only scenario has an even pace.
fn pace(evidence: &Evidence<'_>) -> Option<f64> {
    let [only] = evidence.run.head.plan.scenarios.as_slice() else { return None };
    let Executor::Open { rate, arrivals, .. } = &only.executor else { return None };
    let is_even = !matches!(arrivals, Arrivals::Poisson { .. }) && rate.stages.is_empty() && rate.start > 0.0;
    is_even.then(|| 1.0 / rate.start)
}

/// Whether times are spread evenly between two of them.
fn is_even(times: &Histogram, low: f64, high: f64, pace: Option<f64>) -> bool {
    let steps = pace.map(|pace| (high - low) / pace);
    let steps = steps.filter(|steps| *steps > 2.0 - WHOLE && *steps <= STEPS_MAX + WHOLE);
    let counts: Vec<f64> = match steps {
        Some(steps) if (steps - steps.round()).abs() > WHOLE => return false,
        Some(steps) => {
            let width = (high - low) / steps.round();
            let places = 0..=steps.round() as u32;
            places.map(|place| around(times, low + (f64::from(place) - 0.5) * width, width)).collect()
        }
        None => {
            let width = (high - low) / f64::from(PARTS);
            (0..PARTS).map(|place| around(times, low + f64::from(place) * width, width)).collect()
        }
    };
    let Some((last, others)) = counts.split_last() else { return false };
    let all: f64 = others.iter().sum();
    let mean = all / others.len() as f64;
    let is_like = |count: &f64| *count >= FEWEST * mean && *count <= MOST * mean;
    all >= SPREAD * times.count() as f64 && others.iter().all(is_like) && *last >= FEWEST * mean
}

/// How many times there are from one on, within so many seconds.
fn around(times: &Histogram, from: f64, width: f64) -> f64 {
    let at = |seconds: f64| Nanos::from_secs_f64(seconds.max(0.0));
    count_within(times, at(from), at(from + width)) as f64
}

#[cfg(test)]
mod tests {
    use knee_core::plan::Executor;
    use knee_core::schedule::{Arrivals, Curve};

    use crate::testing::{Calling, Dice, Scene};
    use crate::{Confidence, Finding};

    /// 30 requests per second for so many seconds, each of which waits so long, by its number. The service works for
    /// 1 ms.
    fn hints(seconds: u64, arrivals: Arrivals, wait: impl Fn(u64, &mut Dice) -> f64) -> Scene {
        let mut number = 0;
        let mut scene = Scene::sized(
            seconds,
            |_| 30,
            Curve::constant(10.0),
            |sample, _, dice| {
                number += 1;
                sample.wait = wait(number, dice);
            },
        );
        scene.run.head.plan.scenarios[0].executor =
            Executor::Open { rate: Curve::constant(30.0), arrivals, users_max: 50 };
        let process = scene.process("shop (pid 7)");
        scene.counter(process, "process.cpu.user", "", 0.02);
        scene.counter(process, "process.cpu.system", "", 0.01);
        scene
    }

    /// Of requests that come by chance, the first one of a window waits for all of its 80 ms, the others for the rest.
    fn collected(_: u64, dice: &mut Dice) -> f64 {
        if dice.share() < 0.3 { 0.084 } else { 0.004 + 0.08 * dice.share() }
    }

    const BY_CHANCE: Arrivals = Arrivals::Poisson { seed: 1 };

    fn found(wait: impl Fn(u64, &mut Dice) -> f64) -> Option<Finding> {
        hints(20, BY_CHANCE, wait).found("batch_window")
    }

    #[test]
    fn a_user_learns_that_requests_wait_for_the_end_of_a_window() {
        let mut scene = hints(20, BY_CHANCE, collected);
        let finding = scene.found("batch_window").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(
            finding.statement.ends_with("requests wait for the end of a window"),
            "{}",
            finding.statement
        );
        assert!(finding.gain.unwrap().share() > 0.9);
        // Nine calls per second for 30 responses.
        scene.calling(
            0,
            "10.0.0.2:80",
            &Calling { per_response: 0.009, seconds: 0.004, ..Calling::default() },
        );
        assert_eq!(scene.found("batch_window").unwrap().confidence, Confidence::Strong);
    }

    #[test]
    fn requests_at_an_even_pace_wait_for_multiples_of_it_in_a_window_and_evenly_for_the_ticks_of_a_timer() {
        let steps = |number: u64, dice: &mut Dice| 0.02 + 0.001 * dice.share() + (number % 3) as f64 / 30.0;
        assert!(hints(10, Arrivals::Uniform, steps).found("batch_window").is_some());
        assert!(found(|_, dice| 0.003 + 0.1 * dice.share()).is_some());
        let others = |number: u64, _: &mut Dice| 0.02 + (number % 3) as f64 * 0.05;
        assert_eq!(
            hints(10, Arrivals::Uniform, others).found("batch_window"),
            None,
            "three kinds of requests"
        );
    }

    #[test]
    fn waits_with_a_tail_two_kinds_of_requests_and_fixed_ones_are_no_window() {
        assert_eq!(found(|_, dice| 0.004 + dice.exponential(0.04)), None, "a queue");
        assert_eq!(found(|_, dice| (0..6).map(|_| dice.exponential(0.007_5)).sum()), None, "six steps");
        assert_eq!(found(|number, _| if number.is_multiple_of(3) { 0.08 } else { 0.004 }), None, "two kinds");
        assert_eq!(found(|_, dice| 0.08 + 0.001 * dice.share()), None, "all the same");
        assert_eq!(found(|_, dice| 0.001 + 0.006 * dice.share()), None, "a few milliseconds");
    }

    #[test]
    fn work_that_is_observed_a_busy_machine_and_users_who_wait_are_another_matter() {
        let mut works = hints(20, BY_CHANCE, collected);
        works.counter(0, "process.cpu.user", "", 30.0 * 0.04);
        assert_eq!(works.found("batch_window"), None, "40 ms of CPU time, by the size of the request");
        let mut busy = hints(20, BY_CHANCE, collected);
        let host = busy.host(2.0);
        busy.busy_host(host, 0.9);
        assert_eq!(busy.found("batch_window"), None);
        let mut closed = Scene::steady();
        assert!(closed.lacks("batch_window").unwrap().contains("pid:PID"));
        closed.process("shop (pid 7)");
        assert!(closed.lacks("batch_window").unwrap().contains("do not wait for the responses"));
    }
}
