//! Connections of a pool that a path of the code does not give back, for a while or for good.
//!
//! The database sees such connections idle, as those of a pool with room. What shows them is how they are used: in
//! turn, each of them would be asked again soon; the last one first, those to spare would never be asked. Needs samples
//! of a PostgreSQL server's backends by application, with the times since their last statements. Does not know the
//! code. Connections that each request holds for its whole time are `pool_held`.

use knee_core::histogram::Histogram;
use knee_core::outcome::Outcome;
use knee_core::record::{Point, Run};
use knee_core::tally::EndpointTally;

use super::pool_exhausted::of_each_pool;
use crate::bound;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::{Evidence, ok};
use crate::figure::{number, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::rhythm::median;
use crate::watched::{Rise, Watched};

pub(super) const RULE: Rule = Rule {
    code: "leaked_connections",
    finds: "connections of the service's pool that a path of the code does not give back",
    needs: "a PostgreSQL server with pg_stat_statements, and 8 samples of its backends by application",
    limits: "an application has 3 connections at least, always the same number in the second half of the run, of which a fifth are busy at most; a statement is called once per OK response, within 10 %; the CPUs, or those that an observed process can use, are busy to 70 % at most. Then either: half of the connections have been idle for 1.2 turns of the pool (connections / OK responses per second) at least, each of them for 5 s and half of the measured time at most; the longest idle time is 1.3 to 3 times the median, and no statement that fewer requests send is called so often that it could use half of the connections; more requests are in flight than half of the connections; and 90 % of the service times are 10 ms, 5 times the time of all statements per response, and 5 times the shortest of their endpoint at least. Or, where all are lost and come back together: the longest idle time is at most 5 s, half of the measured time and 3 times the median; other statements and the requests in flight as before; the mean service time is 10 ms, 5 times the time of all statements per response and 5 times the shortest at least; and in two samples no connection has been used for half a turn, while a turn at least is between the last uses of the oldest and of the youngest one, 1.4 to 3 times what is between those of the median and of the youngest one. Or: at the end no connection has been used for 2 s in two samples, half of them since 1.2 turns earlier than the last one, and not all at the same time; and the last third of the run has a tenth of the OK responses of the first third at most, while as many requests are in flight. All of them, or nothing",
    source: "With c connections and x requests per second, a pool that takes its connections in turn uses each of them every c / x seconds, so that half are idle for half of that time. One that takes the last one first never uses those to spare. Only connections that are missing are all used, and idle for longer. Requests that wait for one do not wait at the start, when none is missing, and there are more of them than connections are left. Where all are lost within a short time, all come back within a short time, and are lost again: most requests are quick, and the others wait for all of the pause. A pool that pauses for another reason has used each connection in its last c requests, which is less than c / x before the pause.",
    cause: "A path of the code does not give its connection back: an early return, an error, a result that is not read to its end. The connection is missing until it is collected or times out, or for good, and requests wait for the others.",
    remedy: "Give the connection back on every path: `defer`, `finally`, `with`, a guard. Let the pool log connections that are out for long (leak detection), and find the path by the statement that ran last.",
    explains: &["fixed_places"],
    check,
};

const CONNECTIONS: f64 = 3.0;
const WORKING: f64 = 0.2;
const BUSY: f64 = 0.7;
/// Calls of a statement per OK response differ from one by this much at most.
const WITHIN: f64 = 0.1;
/// Turns of the pool: in turn, half of the connections are idle for 0.5, and at random for 0.69.
const TURNS: f64 = 1.2;
/// Share of the measured time, and seconds, within which each connection is used if none of them is to spare. Pools
/// test those to spare less often.
const USED: f64 = 0.5;
const USED_MAX: f64 = 5.0;
/// The longest idle time at a moment, of the median: 2 for connections that are missing for the same time each. With
/// some that are asked more than others it is longer, and 1 where a pool tests all that are to spare at the same time.
const SPREAD: std::ops::RangeInclusive<f64> = 1.3..=3.0;
/// Service times that are a wait, as a multiple of the time of the statements and of the shortest one, and in seconds.
const WAITS: f64 = 5.0;
const WAITS_MIN: f64 = 0.01;
/// Seconds without any use at the end.
const QUIET: f64 = 2.0;
/// The longest idle time, of the median, both since the last use of any: 1 if the pool has connections to spare, which
/// were last used at its start, 2 if one after the other was lost.
const ONE_BY_ONE: std::ops::RangeInclusive<f64> = 1.4..=3.0;
/// Turns of the pool without any use, and between the last uses of the oldest and the youngest connection before that: in
/// turn, all of them are used within one, at the pace of the whole run, and a pool works faster when it does not pause.
const PAUSE: f64 = 0.5;
const APART: f64 = 1.0;
/// Samples of such pauses.
const PAUSES_MIN: usize = 2;
/// OK responses of the last third, of those of the first.
const LEFT: f64 = 0.1;

fn check(evidence: &Evidence<'_>) -> Checked {
    of_each_pool(evidence, |server, application, all, busy| leaked(evidence, server, application, all, busy))
}

/// For how long the sessions of an application have been without a statement, at each reading.
struct Idle {
    youngest: Vec<f64>,
    median: Vec<f64>,
    oldest: Vec<f64>,
}

impl Idle {
    fn of(server: &Watched<'_>, application: &str) -> Option<Self> {
        let [youngest, median, oldest] = ["youngest", "median", "oldest"]
            .map(|which| server.levels(&format!("activity.idle_age.{which}"), application));
        let is_whole = !median.is_empty() && youngest.len() == median.len() && oldest.len() == median.len();
        is_whole.then_some(Self { youngest, median, oldest })
    }
}

fn leaked(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    application: &str,
    all: &[f64],
    busy: &[f64],
) -> Option<Draft> {
    let size = all.iter().copied().fold(0.0, f64::max);
    let half = all.len() / 2;
    let is_constant = all.iter().skip(half).all(|backends| *backends >= size);
    let working = busy.iter().skip(half).sum::<f64>() / (busy.len() - half) as f64;
    let is_full = bound::cpus_busy(evidence).is_some_and(|busy| busy > BUSY);
    if size < CONNECTIONS || !is_constant || working > WORKING * size || is_full {
        return None;
    }
    if !is_asked_by_each(evidence, server) {
        return None;
    }
    let idle = Idle::of(server, application)?;
    let good = evidence.all().count(Outcome::Ok) as f64;
    let turn = size * evidence.seconds() / good;
    let subject =
        Subject::of(SubjectKind::Resource, format!("pool of {application}"), Some(&server.source.name));
    let remedy = Remedy::advice(
        "give the connection back on every path, also after errors and early returns, and let the pool log those that are \
         out for long",
    );
    let all_used = AllUsed::of(evidence, server, &idle, size);
    let lost = all_used
        .and_then(|used| {
            lost_for_a_while(evidence, server, &idle, &used, turn)
                .or_else(|| lost_together(evidence, server, &idle, &used, turn))
        })
        .or_else(|| lost_for_good(evidence, &idle, turn))?;
    let statement = format!(
        "{} of the {} connections of {application} {}",
        number((size / 2.0).ceil()),
        number(size),
        lost.says
    );
    Some(Draft { subject, statement, signals: lost.signals, remedy, gain: lost.gain })
}

/// What shows that connections are missing.
struct Lost {
    says: String,
    signals: Vec<Signal>,
    gain: Option<Gain>,
}

/// Connections of which none is to spare, in the second half of the samples: each is used again and again, and more
/// requests are in flight than half of them.
struct AllUsed {
    /// Where the second half begins.
    half: usize,
    /// The idle time of the median connection, in seconds.
    typical: f64,
    in_flight: f64,
}

impl AllUsed {
    fn of(evidence: &Evidence<'_>, server: &Watched<'_>, idle: &Idle, size: f64) -> Option<Self> {
        let half = idle.median.len() / 2;
        let typical = median(&idle.median[half..])?;
        let oldest = idle.oldest[half..].iter().copied().fold(0.0, f64::max);
        let longest = (USED * evidence.seconds()).min(USED_MAX).min(*SPREAD.end() * typical);
        let in_flight = evidence.response_mean()? * evidence.throughput()?;
        let is_used = oldest <= longest && !is_used_by_others(evidence, server, size / 2.0 / oldest);
        (is_used && in_flight > size / 2.0).then_some(Self { half, typical, in_flight })
    }
}

/// Connections that are missing until they are collected: all of them are used, and each is idle for long between.
fn lost_for_a_while(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    idle: &Idle,
    used: &AllUsed,
    turn: f64,
) -> Option<Lost> {
    let AllUsed { half, typical, .. } = *used;
    let both = idle.oldest[half..].iter().zip(&idle.median[half..]);
    let spread = median(&both.map(|(oldest, typical)| oldest / typical).collect::<Vec<f64>>())?;
    if !SPREAD.contains(&spread) || !is_wait(evidence)? {
        return None;
    }
    let unused = Signal::at_least(
        "idle time of the median connection, as a multiple of a turn of the pool",
        Unit::Count,
        Some(typical / turn),
        TURNS,
        "pg_stat_activity: state_change",
    )?;
    let lower = evidence.all().outcomes[Outcome::Ok as usize].service.quantile(0.1)?.as_secs_f64();
    if lower < WAITS_MIN {
        return None;
    }
    let waits = Signal::at_least(
        "service time that 90 % exceed, as a multiple of the time of all statements per response",
        Unit::Count,
        statements(evidence, server).map(|each| lower / each),
        WAITS,
        "the run: service time",
    )?;
    let says = format!(
        "are idle for {} at a time, and all are used, while requests wait for {} and more: some are not given back",
        seconds(typical),
        seconds(lower)
    );
    let gain =
        Gain::saves(evidence.response_mean(), Some(lower), "the wait of nine of ten responses, at least");
    Some(Lost { says, signals: vec![unused, waits], gain })
}

/// Connections that are missing until they are collected, all at about the same time: while they are there, requests are
/// quick, and the more of them there are the sooner all are lost. This keeps them together.
fn lost_together(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    idle: &Idle,
    used: &AllUsed,
    turn: f64,
) -> Option<Lost> {
    let AllUsed { half, typical, in_flight } = *used;
    let mean = evidence.service_mean()?;
    // What was between the last uses before each pause: to the median connection, and to the oldest one.
    let ages = idle.youngest[half..].iter().zip(&idle.median[half..]).zip(&idle.oldest[half..]);
    let paused = ages.filter(|((youngest, _), _)| **youngest >= PAUSE * turn);
    let (middles, wholes): (Vec<f64>, Vec<f64>) =
        paused.map(|((youngest, middle), oldest)| (middle - youngest, oldest - youngest)).unzip();
    let (middle, whole) = (median(&middles)?, median(&wholes)?);
    if wholes.len() < PAUSES_MIN || middle <= 0.0 || !ONE_BY_ONE.contains(&(whole / middle)) {
        return None;
    }
    let shortest = shortest(evidence)?;
    if mean < WAITS_MIN || mean < WAITS * shortest {
        return None;
    }
    let apart = Signal::at_least(
        "time between the last uses of the oldest and the youngest connection before a pause, as a multiple of a turn of the \
         pool",
        Unit::Count,
        Some(whole / turn),
        APART,
        "pg_stat_activity: state_change",
    )?;
    let waits = Signal::at_least(
        "mean service time, as a multiple of the time of all statements per response",
        Unit::Count,
        statements(evidence, server).map(|each| mean / each),
        WAITS,
        "the run: service time",
    )?;
    let says = format!(
        "are idle for {} at a time, and all are used, one after the other, until none is left for {} and more, while {} \
         requests wait: some are not given back",
        seconds(typical),
        seconds(PAUSE * turn),
        number(in_flight)
    );
    let gain = Gain::saves(
        evidence.response_mean(),
        Some(mean - shortest),
        "the mean service time but for the shortest one",
    );
    Some(Lost { says, signals: vec![apart, waits], gain })
}

/// Connections that never come back: one after the other was used for the last time, and then none is left.
fn lost_for_good(evidence: &Evidence<'_>, idle: &Idle, turn: f64) -> Option<Lost> {
    let quiet = idle.youngest.iter().rev().take_while(|age| **age >= QUIET).count();
    let last = |ages: &[f64]| ages.last().copied();
    let (youngest, typical, oldest) = (last(&idle.youngest)?, last(&idle.median)?, last(&idle.oldest)?);
    let (middle, whole) = (typical - youngest, oldest - youngest);
    if quiet < 2 || middle <= 0.0 || !ONE_BY_ONE.contains(&(whole / middle)) {
        return None;
    }
    let unused = Signal::at_least(
        "time between the last use of the median connection and of the last one, as a multiple of a turn of the pool",
        Unit::Count,
        Some(middle / turn),
        TURNS,
        "pg_stat_activity: state_change",
    )?;
    let points = evidence.steady();
    let third = points.len() / 3;
    let (first, ending) = (points.get(..third)?, points.get(points.len() - third..)?);
    let waiting = |points: &[&Point]| points.iter().map(|point| point.in_flight as f64).sum::<f64>();
    let is_over = ending.iter().any(|point| point.in_flight == 0) || waiting(ending) < waiting(first);
    if third == 0 || is_over {
        return None;
    }
    let sum = |points: &[&Point]| points.iter().map(|point| ok(point) as f64).sum::<f64>();
    let left = Signal::at_most(
        "OK responses of the last third of the run, of those of the first",
        Unit::Share,
        Some(sum(ending) / sum(first)),
        LEFT,
        "the run: outcomes",
    )?;
    let says = format!(
        "were used for the last time {} and more before the last one, and no connection has been used for {} at the end, \
         while requests wait: they are not given back",
        seconds(middle),
        seconds(youngest)
    );
    Some(Lost { says, signals: vec![unused, left], gain: None })
}

/// Whether a statement is called once per OK response, so that each request needs a connection.
fn is_asked_by_each(evidence: &Evidence<'_>, server: &Watched<'_>) -> bool {
    server.rises("statement.calls").into_iter().any(|(_, rise)| {
        let good = evidence.counted_within(rise.from, rise.to, ok);
        good >= 1.0 && (rise.amount / good - 1.0).abs() <= WITHIN
    })
}

/// Whether statements that fewer requests send are called so often per second that they can be what uses connections:
/// tests of those to spare, or the jobs of another service with the same name.
fn is_used_by_others(evidence: &Evidence<'_>, server: &Watched<'_>, uses: f64) -> bool {
    let calls = server.rises("statement.calls").into_iter().map(|(_, rise)| rise);
    let of_some =
        calls.filter(|rise| rise.amount < (1.0 - WITHIN) * evidence.counted_within(rise.from, rise.to, ok));
    of_some.filter_map(Rise::per_second).sum::<f64>() >= uses
}

/// Whether nine of ten requests take several times as long as the fastest one, which waited for no connection. Of the
/// endpoint with most responses: another service that each request asks has a shortest time, too.
fn is_wait(evidence: &Evidence<'_>) -> Option<bool> {
    let (_, endpoint) = busiest(evidence)?;
    let lower = service(endpoint).quantile(0.1)?;
    Some(lower.as_secs_f64() >= WAITS * shortest(evidence)?)
}

/// The shortest service time of the endpoint with most responses, in seconds, that of the warm-up as well.
fn shortest(evidence: &Evidence<'_>) -> Option<f64> {
    let (place, endpoint) = busiest(evidence)?;
    let before = evidence.run.warm_up.endpoints.get(place).and_then(|endpoint| service(endpoint).min());
    let shortest = before.into_iter().chain(service(endpoint).min()).min()?;
    Some(shortest.as_secs_f64())
}

/// The endpoint with most responses, and its place.
fn busiest<'a>(evidence: &Evidence<'a>) -> Option<(usize, &'a EndpointTally)> {
    let run: &'a Run = evidence.run;
    let measured = run.measured.endpoints.iter().enumerate();
    measured.max_by_key(|(_, endpoint)| service(endpoint).count())
}

fn service(endpoint: &EndpointTally) -> &Histogram {
    &endpoint.outcomes[Outcome::Ok as usize].service
}

/// The time of all statements per complete response; `None` if there is none.
fn statements(evidence: &Evidence<'_>, server: &Watched<'_>) -> Option<f64> {
    let times = server.rises("statement.exec_time").into_iter();
    let sum: f64 = times.filter_map(|(_, rise)| evidence.per_request(rise)).sum();
    (sum > 0.0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SeriesKind;
    use knee_core::schedule::Curve;
    use knee_core::unit::Nanos;

    use crate::testing::{Costs, RATE, Scene};
    use crate::{Confidence, Gain};

    const VOUCHER: &str = "SELECT cents, is_used FROM vouchers WHERE code = $1";

    /// A service that answers so many requests per second, each of which, but for the first few, waits for so many
    /// seconds and sends a statement on one of 30 connections.
    fn service(rate: fn(u64) -> u64, wait: f64) -> Scene {
        let mut number = 0;
        let mut scene = Scene::sized(12, rate, Curve::constant(24.0), move |sample, _, dice| {
            number += 1;
            let usual = if number > 10 { wait } else { 0.004 };
            sample.wait = usual * (0.5 + dice.share());
        });
        let server = scene.postgres();
        scene.gauge(server, "activity.backends", "shop", 30.0);
        scene.gauge(server, "activity.backends.busy", "shop", 0.0);
        let costs = Costs { per_request: 60.0 / RATE as f64, ..Costs::default() };
        scene.statement(server, "1", VOUCHER, &costs);
        scene
    }

    fn idle(scene: &mut Scene, which: &str, age: impl Fn(u64) -> f64) {
        let ages = (0..=12).map(|second| (Nanos::from_secs(second), age(second))).collect();
        scene.points(0, &format!("activity.idle_age.{which}"), "shop", SeriesKind::Gauge, ages);
    }

    /// 60 requests per second, and these idle times of the connections.
    fn ages(youngest: f64, median: f64, oldest: f64) -> Scene {
        let mut scene = service(|_| 60, 0.3);
        for (which, age) in [("youngest", youngest), ("median", median), ("oldest", oldest)] {
            idle(&mut scene, which, |_| age);
        }
        scene
    }

    #[test]
    fn connections_that_come_back_after_two_seconds_are_found_although_all_are_idle() {
        let finding = ages(0.01, 1.0, 2.0).found("leaked_connections").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Likely, "pool of shop"));
        assert!(
            finding.statement.starts_with(
                "15 of the 30 connections of shop are idle for 1.00 s at a time, and all are used"
            ),
            "{}",
            finding.statement
        );
        assert!(finding.gain.as_ref().map_or(0.0, Gain::share) > 0.3);
    }

    #[test]
    fn a_pool_in_turn_one_at_random_and_one_with_room_are_healthy_before_a_slow_service() {
        assert_eq!(ages(0.01, 0.25, 0.5).found("leaked_connections"), None, "in turn");
        assert_eq!(ages(0.01, 0.35, 2.0).found("leaked_connections"), None, "at random");
        assert_eq!(ages(0.01, 9.0, 9.5).found("leaked_connections"), None, "the last one first");
        assert_eq!(ages(0.01, 1.0, 4.0).found("leaked_connections"), None, "some are asked more than others");
    }

    #[test]
    fn requests_that_wait_for_nothing_or_for_another_service_contradict_it() {
        let waits = |scene: Scene| {
            let mut beside = ages(0.01, 1.0, 2.0);
            beside.run = scene.run;
            beside.found("leaked_connections")
        };
        assert!(waits(service(|_| 60, 0.3)).is_some());
        assert_eq!(waits(service(|_| 60, 0.004)), None);
        assert_eq!(waits(service(|_| 60, 0.1)), None, "fewer are in flight than connections are left");
        let elsewhere = Scene::sized(
            12,
            |_| 60,
            Curve::constant(24.0),
            |sample, _, dice| sample.wait = 0.3 * (0.5 + dice.share()),
        );
        assert_eq!(waits(elsewhere), None, "the first requests take as long");
    }

    #[test]
    fn connections_to_spare_that_are_tested_and_those_of_jobs_with_the_same_name_are_used() {
        assert_eq!(ages(0.01, 1.0, 1.05).found("leaked_connections"), None, "tested at the same time");
        let mut tested = ages(0.01, 1.0, 2.0);
        let costs = Costs { per_request: 8.0 / RATE as f64, ..Costs::default() };
        tested.statement(0, "2", "SELECT 1", &costs);
        assert_eq!(tested.found("leaked_connections"), None, "half of 30 connections in 2 s");
        let mut seldom = ages(0.01, 1.0, 2.0);
        let costs = Costs { per_request: 5.0 / RATE as f64, ..Costs::default() };
        seldom.statement(0, "2", "SELECT id FROM jobs WHERE done = $1", &costs);
        assert!(seldom.found("leaked_connections").is_some());
    }

    #[test]
    fn a_pool_that_grows_one_that_works_and_requests_without_statements_cannot_show_it() {
        let mut grows = ages(0.01, 1.0, 2.0);
        let sizes = (0..=12).map(|second| (Nanos::from_secs(second), 18.0 + second as f64)).collect();
        grows.points(0, "activity.backends", "shop", SeriesKind::Gauge, sizes);
        assert_eq!(grows.found("leaked_connections"), None);
        let mut works = ages(0.01, 1.0, 2.0);
        works.gauge(0, "activity.backends.busy", "shop", 8.0);
        assert_eq!(works.found("leaked_connections"), None);
        let mut seldom = ages(0.01, 1.0, 2.0);
        let costs = Costs { per_request: 20.0 / RATE as f64, ..Costs::default() };
        seldom.statement(0, "1", VOUCHER, &costs);
        assert_eq!(seldom.found("leaked_connections"), None, "a third of the requests");
    }

    /// A service that answers for five seconds and then no more, while 24 requests are in flight.
    fn ends(median: f64, oldest: f64) -> Scene {
        let mut scene = service(|second| if second < 5 { 144 } else { 0 }, 0.004);
        let quiet = |second: u64| second.saturating_sub(5) as f64;
        idle(&mut scene, "youngest", quiet);
        idle(&mut scene, "median", |second| quiet(second) + median);
        idle(&mut scene, "oldest", |second| quiet(second) + oldest);
        for point in &mut scene.run.series {
            point.in_flight = 24;
        }
        scene
    }

    /// The idle times of 30 connections of which each fourth use loses one for 2 s, at 24 users, as a simulation of them has
    /// them at each second: in every second one all are lost. Of the 62 requests per second, one in five waits for 1.4 s.
    const TOGETHER: [[f64; 3]; 13] = [
        [0.0, 0.0, 0.0],
        [0.55, 0.84, 0.98],
        [0.01, 1.62, 1.92],
        [0.53, 0.83, 1.04],
        [0.04, 1.64, 1.94],
        [0.55, 0.85, 1.06],
        [0.07, 1.67, 2.06],
        [0.57, 0.87, 1.08],
        [0.09, 1.69, 1.99],
        [0.50, 0.70, 1.11],
        [0.01, 1.61, 1.91],
        [0.51, 0.73, 1.13],
        [0.03, 1.63, 1.94],
    ];

    /// Such a service, with these idle times, whose waits take so long.
    fn together(ages: &[[f64; 3]; 13], wait: f64) -> Scene {
        let mut number = 0;
        let mut scene = service(|_| 62, 0.3);
        scene.run = Scene::sized(
            12,
            |_| 62,
            Curve::constant(24.0),
            move |sample, _, _| {
                number += 1;
                sample.wait = if number % 5 == 0 { wait } else { 0.001 };
            },
        )
        .run;
        for (place, which) in ["youngest", "median", "oldest"].into_iter().enumerate() {
            idle(&mut scene, which, |second| ages[second as usize][place]);
        }
        let costs = Costs { per_request: 62.0 / RATE as f64, ..Costs::default() };
        scene.statement(0, "1", VOUCHER, &costs);
        scene
    }

    #[test]
    fn connections_that_are_lost_together_and_come_back_together_are_found_although_most_requests_are_quick()
    {
        let finding = together(&TOGETHER, 1.4).found("leaked_connections").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2));
        assert!(
            finding.statement.contains("one after the other, until none is left"),
            "{}",
            finding.statement
        );
        assert!(finding.gain.as_ref().map_or(0.0, Gain::share) > 0.9);
    }

    #[test]
    fn a_service_that_pauses_has_used_its_pool_in_turn_or_at_once_before_and_a_quick_one_does_not_wait() {
        let paused = |ages: fn([f64; 3]) -> [f64; 3]| {
            let scene = together(&TOGETHER.map(ages), 1.4);
            scene.found("leaked_connections")
        };
        // The requests before the pause went to all connections within a fourth of a turn.
        assert_eq!(paused(|[_, middle, _]| [middle, middle + 0.06, middle + 0.12]), None, "in turn");
        // All were used at its beginning, for those that had waited, and then the last one again and again.
        assert_eq!(
            paused(|[youngest, _, oldest]| [youngest, oldest - 0.02, oldest]),
            None,
            "the last one first"
        );
        assert_eq!(paused(|[_, middle, oldest]| [0.01, middle, oldest]), None, "one is always used");
        assert_eq!(
            together(&TOGETHER, 0.9).found("leaked_connections"),
            None,
            "fewer are in flight than are left"
        );
        assert_eq!(together(&TOGETHER, 0.004).found("leaked_connections"), None);
    }

    #[test]
    fn connections_that_are_lost_one_by_one_until_none_is_left_are_found() {
        let finding = ends(2.2, 4.5).found("leaked_connections").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2));
        assert!(
            finding.statement.contains("no connection has been used for 7.00 s"),
            "{}",
            finding.statement
        );
    }

    #[test]
    fn another_service_that_stops_is_no_leak_and_neither_is_a_load_that_ends() {
        assert_eq!(ends(0.15, 0.3).found("leaked_connections"), None, "all were used until then");
        assert_eq!(ends(4.4, 4.5).found("leaked_connections"), None, "connections to spare");
        let mut over = ends(2.2, 4.5);
        for point in &mut over.run.series {
            point.in_flight = 0;
        }
        assert_eq!(over.found("leaked_connections"), None);
        let mut fewer = ends(2.2, 4.5);
        for point in &mut fewer.run.series[8..] {
            point.in_flight = 2;
        }
        assert_eq!(fewer.found("leaked_connections"), None, "the load becomes smaller");
    }
}
