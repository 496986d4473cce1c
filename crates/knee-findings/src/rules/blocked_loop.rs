//! Requests that all wait now and then while one thread computes: a blocked event loop.
//!
//! Needs the run and a process of the service. A loop that waits without computing (a sleep, a read of a file) takes no CPU
//! time and is not seen; one that always computes is `one_thread`. Does not know what the thread computes.

use knee_core::observation::SourceKind;
use knee_core::plan::Executor;
use knee_core::record::Point;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::{Evidence, answered};
use crate::figure::{number, seconds};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::level::level;
use crate::rhythm::{median, spikes, usual};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "blocked_loop",
    finds: "requests that all wait now and then while one thread computes: a blocked event loop",
    needs: "a process of the service, and the run with 12 whole intervals of a load generator that did not pause itself",
    limits: "in 3 separate intervals, the slowest response is 3 times the lower quartile of all intervals and 100 ms longer, while at most 1.2 times as many requests are answered as elsewhere, and many wait: the p90 (the p99 of 1,000 responses) is 3 times its lower quartile and 20 ms longer, with 10 responses beyond it, or with 4 of them and 30 in all such intervals together; or, with 8 users and more who wait for their responses, 75 % of the responses are missing that fit into the pause. One thread, and the process as a whole, then computes longer than elsewhere by half of the pause, within the interval of it and one beside it; elsewhere are intervals that neither have a pause nor follow one, or, with fewer than 3 of these, all without one, and then it is the difference of both that counts, unless fewer than 95 % as many requests are answered in the pauses: then less is no sign. All of them, or nothing",
    source: "Others wait for an expensive request only if they need the thread on which it computes; that ten of them wait at once is no coincidence, and neither is it that four do so often: of long requests that come by chance, so seldom that a quarter of the intervals has none, one of 20 intervals has four (Poisson distribution), and 8 of 30 such intervals are rarer than 1 in 5,000 runs (binomial distribution). Work on one thread cannot take longer than the pause; if it has at least half of it, it is most of what the others wait for, because the pause also has the requests that follow.",
    cause: "An event loop, or a thread that holds a lock which all requests need, computes something long now and then: a hash, a large JSON, a template, a report, a regular expression, a garbage collection that stops all.",
    remedy: "Take a profile of the process while it is under load; move the work to a pool of threads or another process, or cut it into pieces between which other requests run.",
    explains: &["periodic_pauses"],
    check,
};

const INTERVALS_MIN: usize = 12;
const PAUSES_MIN: f64 = 3.0;
/// Intervals that neither have a pause nor follow one: fewer are too few to compare with.
const FAR_MIN: usize = 3;
/// Times the usual interval.
const HEIGHT: f64 = 3.0;
/// Seconds beyond it: of the slowest response, and of many.
const LONGER: f64 = 0.1;
const MANY_LONGER: f64 = 0.02;
/// Responses per interval of which 10 are beyond the p99; with fewer, the p90 counts.
const FOR_P99: u64 = 1_000;
/// Responses beyond the p90 or the p99 that wait in an interval with a pause; or fewer, if there are as many in all such
/// intervals as with the fewest pauses.
const WAITING: u64 = 10;
const FEW: u64 = 4;
const IN_ALL: u64 = 30;
/// Responses in an interval with a pause, times those elsewhere.
const MORE_LOAD: f64 = 1.2;
/// Users of whom one with a long request of its own is no pause of all.
const USERS_MIN: f64 = 8.0;
/// Share of the responses that fit into the pause.
const MISSING: f64 = 0.75;
/// Responses in intervals with a pause, of those elsewhere: with fewer, less CPU time is what they did not need.
const KEPT: f64 = 0.95;
/// CPU time as a share of the pause.
const OF_PAUSE: f64 = 0.5;
/// Threads that are looked at: those that compute most.
const THREADS: usize = 4;

/// The intervals in which many requests waited.
struct Pauses {
    /// Where they are; of neighbours the first.
    places: Vec<usize>,
    /// The intervals to compare with: those that are near none of them, or, if there are next to none, all without one.
    others: Vec<usize>,
    /// Whether the interval behind a pause is none of the others.
    are_apart: bool,
    /// Whether about as many requests are answered in these intervals as elsewhere.
    are_answered: bool,
    /// How much longer than usual the slowest response took, in seconds: the median.
    seconds: f64,
}

fn check(evidence: &Evidence<'_>) -> Checked {
    let processes = evidence.needed(SourceKind::Process)?;
    if evidence.generator_paused() {
        return Err(Lack::of("a load generator that did not pause or wait for a CPU itself"));
    }
    let points = evidence.steady();
    if points.len() < INTERVALS_MIN {
        return Err(Lack::of(format!("{INTERVALS_MIN} whole intervals")));
    }
    let Some(pauses) = pauses(evidence, &points) else { return Ok(Vec::new()) };
    Ok(processes.iter().filter_map(|process| computing(process, &points, &pauses)).collect())
}

/// The pauses, if there are any.
fn pauses(evidence: &Evidence<'_>, points: &[&Point]) -> Option<Pauses> {
    let slowest = times(points, 3);
    let ordinary = usual(&slowest)?;
    let high = |place: usize| slowest.get(place).is_some_and(|time| *time >= HEIGHT * ordinary);
    let (others, are_apart) = others(points.len(), high);
    let elsewhere: Vec<f64> = others.iter().filter_map(|place| pace(points, *place)).collect();
    let calm = median(&elsewhere)?;
    let most = MORE_LOAD * calm;
    let is_broad = broad(points)?;
    let is_crowd = is_crowd(evidence, points);
    let places = spikes(&slowest, HEIGHT).into_iter().filter(|place| {
        let pause = slowest[*place] - ordinary;
        let is_calm = pace(points, *place).is_some_and(|pace| pace <= most);
        pause >= LONGER && is_calm && (is_broad(*place) || (is_crowd && dips(points, *place, pause)))
    });
    let places: Vec<usize> = places.collect();
    let lengths: Vec<f64> = places.iter().map(|place| slowest[*place] - ordinary).collect();
    let answers: Vec<f64> = places.iter().filter_map(|place| pace(points, *place)).collect();
    let are_answered = median(&answers)? >= KEPT * calm;
    Some(Pauses { seconds: median(&lengths)?, places, others, are_apart, are_answered })
}

/// The intervals to compare with, of so many, and whether those behind a pause are none of them. Readings do not fall on
/// the edges of intervals, so that what follows a pause is better left out; but every other interval can have one.
fn others(count: usize, high: impl Fn(usize) -> bool) -> (Vec<usize>, bool) {
    let low: Vec<usize> = (0..count).filter(|place| !high(*place)).collect();
    let follows = |place: &usize| place.checked_sub(1).is_some_and(&high);
    let far: Vec<usize> = low.iter().copied().filter(|place| !follows(place)).collect();
    if far.len() >= FAR_MIN { (far, true) } else { (low, false) }
}

/// Says whether many requests wait in an interval. Few count if enough wait in all such intervals together.
fn broad(points: &[&Point]) -> Option<impl Fn(usize) -> bool> {
    let fewest = points.iter().map(|point| answered(point)).min()?;
    let (place, part) = if fewest >= FOR_P99 { (2, 100) } else { (1, 10) };
    let many = times(points, place);
    let ordinary = usual(&many)?;
    let beyond = |place: usize| answered(points[place]) / part;
    let is_high = |place: usize| many[place] >= HEIGHT * ordinary && many[place] >= ordinary + MANY_LONGER;
    let high: Vec<usize> =
        (0..points.len()).filter(|place| is_high(*place) && beyond(*place) >= FEW).collect();
    let in_all: u64 = high.iter().map(|place| beyond(*place)).sum();
    let enough: Vec<usize> =
        high.into_iter().filter(|place| in_all >= IN_ALL || beyond(*place) >= WAITING).collect();
    Some(move |place: usize| enough.contains(&place))
}

/// A response time of each interval, by its place among the percentiles; zero without a response.
fn times(points: &[&Point], place: usize) -> Vec<f64> {
    points.iter().map(|point| point.response.map_or(0.0, |times| times[place].as_secs_f64())).collect()
}

/// Responses per second of an interval.
fn pace(points: &[&Point], place: usize) -> Option<f64> {
    points.get(place).and_then(|point| point.per_second(answered(point)))
}

/// Whether all requests are those of users who wait for their responses, and who are many at every moment.
fn is_crowd(evidence: &Evidence<'_>, points: &[&Point]) -> bool {
    let scenarios = &evidence.run.head.plan.scenarios;
    let users = |point: &&Point| scenarios.iter().map(|scenario| level(scenario, point)).sum::<f64>();
    let all_wait = scenarios.iter().all(|scenario| matches!(scenario.executor, Executor::Closed { .. }));
    all_wait && points.iter().map(users).all(|users| users >= USERS_MIN)
}

/// Whether an interval has fewer responses than both of its neighbours, by most of those that fit into the pause.
fn dips(points: &[&Point], place: usize, pause: f64) -> bool {
    let width = points[place].to.since(points[place].from).as_secs_f64();
    let before = place.checked_sub(1).and_then(|before| pace(points, before));
    let beside = before.into_iter().chain(pace(points, place + 1)).reduce(f64::min);
    let kept = 1.0 - MISSING * (pause / width).min(1.0);
    pace(points, place).zip(beside).is_some_and(|(here, beside)| here <= kept * beside)
}

/// How much longer something computes around a pause than in other intervals, in seconds, as a median. The readings next
/// to the edges of an interval are up to half an interval before or behind them, so the interval before a pause belongs
/// to it, or the one behind it. Where these are all that there is to compare with, a pause can have less than they have; but
/// not where responses are missing, because what is not answered needs no CPU time.
fn longer(points: &[&Point], pauses: &Pauses, cpu: impl Fn(&Point) -> Option<f64>) -> Option<f64> {
    let used: Vec<f64> = points.iter().copied().map(cpu).collect::<Option<_>>()?;
    let others: Vec<f64> = pauses.others.iter().map(|place| used[*place]).collect();
    let ordinary = median(&others)?;
    let more =
        |place: Option<usize>| place.and_then(|place| used.get(place)).map_or(0.0, |used| used - ordinary);
    let around = pauses.places.iter().map(|place| {
        let beside = more(place.checked_sub(1)).max(more(Some(place + 1)));
        more(Some(*place)) + if pauses.are_apart { beside } else { 0.0 }
    });
    let longer = median(&around.collect::<Vec<_>>())?;
    Some(if !pauses.are_apart && pauses.are_answered { longer.abs() } else { longer })
}

fn computing(process: &Watched<'_>, points: &[&Point], pauses: &Pauses) -> Option<Draft> {
    let whole = longer(points, pauses, |point| {
        let used = |name: &str| process.rose(name, "", point.from, point.to);
        Some(used("process.cpu.user")? + used("process.cpu.system")?)
    })?;
    let threads = process.rises("process.thread.cpu").into_iter().take(THREADS).filter_map(|(thread, _)| {
        let used = |point: &Point| process.rose("process.thread.cpu", thread, point.from, point.to);
        Some((thread, longer(points, pauses, used)?))
    });
    let (thread, more) = threads.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let name = thread.split_once(' ').map_or(thread, |(_, name)| name);
    // Commands that block Redis have a rule of their own.
    if whole < OF_PAUSE * pauses.seconds || name.contains("redis-server") {
        return None;
    }
    let often = Signal::at_least(
        "intervals in which many requests wait for a pause",
        Unit::Count,
        Some(pauses.places.len() as f64),
        PAUSES_MIN,
        "the run: response times per interval",
    )?;
    let busy = Signal::at_least(
        "CPU time of one thread beyond the ordinary in these intervals, of the pause",
        Unit::Share,
        Some(more / pauses.seconds),
        OF_PAUSE,
        "/proc/PID/task",
    )?;
    Some(Draft {
        subject: Subject::of(SubjectKind::Process, name, Some(&process.source.name)),
        statement: format!(
            "{} times in this run, requests wait for {} while one thread of {} ({name}) computes for {} more than at other \
             times",
            number(often.figure),
            seconds(pauses.seconds),
            process.source.name,
            seconds(more)
        ),
        signals: vec![often, busy],
        remedy: Remedy::advice(
            "find what this thread computes in these moments with a profile, and move it to other threads, or cut it into pieces",
        ),
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use knee_core::schedule::{Arrivals, Curve};
    use knee_core::unit::Nanos;

    use super::*;
    use crate::Confidence;
    use crate::testing::{SECONDS, Scene};

    /// Seconds in which the service pauses for 200 ms.
    const AT: [u64; 5] = [4, 9, 12, 18, 25];

    fn pauses_in(second: u64) -> bool {
        AT.contains(&second)
    }

    /// A run of so many arrivals per second, of which this share waits in seconds with a pause.
    fn arriving(rate: impl Fn(u64) -> u64, waits: f64, is_pause: fn(u64) -> bool) -> Scene {
        let mut scene = Scene::sized(SECONDS, rate, Curve::constant(10.0), move |sample, second, dice| {
            if is_pause(second) && dice.share() < waits {
                sample.wait += 0.2 * dice.share();
            }
        });
        scene.run.head.plan.scenarios[0].executor = Executor::Open {
            rate: Curve::constant(1_000.0),
            arrivals: Arrivals::Poisson { seed: 1 },
            users_max: 500,
        };
        scene
    }

    /// Adds the process: one of its threads computes for so many seconds more in seconds with a pause.
    fn computes(scene: &mut Scene, more: f64, is_pause: fn(u64) -> bool) {
        let process = scene.process("shop (pid 7)");
        let extra = move |second: u64| if is_pause(second) { more } else { 0.0 };
        scene.stepped(process, "process.thread.cpu", "7/0 worker", |second| 0.15 + extra(second));
        scene.stepped(process, "process.cpu.user", "", |second| 0.4 + extra(second));
    }

    fn found(waits: f64, more: f64) -> Option<crate::Finding> {
        let mut scene = arriving(|_| 1_000, waits, pauses_in);
        computes(&mut scene, more, pauses_in);
        scene.found("blocked_loop")
    }

    #[test]
    fn pauses_without_a_rhythm_in_which_one_thread_computes_are_found_with_its_name() {
        let finding = found(0.2, 0.18).unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Likely, "worker"));
        assert!(finding.statement.starts_with("5 times in this run, requests wait for "), "{finding:?}");
        assert!(finding.statement.ends_with("computes for 180 ms more than at other times"), "{finding:?}");
    }

    #[test]
    fn users_who_all_wait_for_the_same_pause_show_it_by_the_responses_that_are_missing() {
        let of = |answered: u64, users: f64| {
            let rate = move |second| if pauses_in(second) { answered } else { 1_000 };
            // Each of some users has one long request in the pause, and hundreds of others in the second.
            let mut scene =
                Scene::sized(SECONDS, rate, Curve::constant(users), move |sample, second, dice| {
                    if pauses_in(second) && dice.share() < 0.01 {
                        sample.wait = 0.22;
                    }
                });
            computes(&mut scene, 0.18, pauses_in);
            scene.found("blocked_loop").is_some()
        };
        assert!(of(820, 10.0));
        assert!(!of(900, 10.0), "most of what fits into the pause was answered");
        assert!(!of(820, 4.0), "a quarter of the users can have a long request of their own");
    }

    #[test]
    fn users_who_wait_for_a_disk_in_every_other_second_need_less_cpu_time_in_it_and_no_thread_blocks_them() {
        let is_pause: fn(u64) -> bool = |second| second % 2 == 1;
        let of = |more: f64| {
            let rate = move |second| if is_pause(second) { 820 } else { 1_000 };
            let mut scene =
                Scene::sized(SECONDS, rate, Curve::constant(10.0), move |sample, second, dice| {
                    if is_pause(second) && dice.share() < 0.01 {
                        sample.wait = 0.22;
                    }
                });
            computes(&mut scene, more, is_pause);
            scene.found("blocked_loop").is_some()
        };
        assert!(of(0.18));
        assert!(!of(-0.12), "what is not answered is not computed");
    }

    #[test]
    fn a_long_request_that_delays_no_others_is_healthy() {
        assert!(found(0.005, 0.18).is_none());
    }

    /// 50 arrivals per second of which every hundredth begins an export, so that every other second has a pause of 140 ms.
    fn export(waits: f64, more: f64) -> Scene {
        let is_pause: fn(u64) -> bool = |second| second % 2 == 1;
        let mut number = 0_u32;
        let mut scene = Scene::sized(
            SECONDS,
            |_| 50,
            Curve::constant(10.0),
            move |sample, second, dice| {
                number = (number + 1) % 50;
                sample.wait = 0.000_3 + dice.exponential(0.000_05);
                if is_pause(second) && f64::from(number) < 50.0 * waits {
                    sample.wait += 0.14 * (1.0 - f64::from(number) / (50.0 * waits));
                }
            },
        );
        scene.run.head.plan.scenarios[0].executor = Executor::Open {
            rate: Curve::constant(50.0),
            arrivals: Arrivals::Poisson { seed: 1 },
            users_max: 500,
        };
        computes(&mut scene, more, is_pause);
        scene
    }

    #[test]
    fn a_user_with_fifty_requests_per_second_learns_what_blocks_the_loop_in_every_other_second() {
        let scene = export(0.14, 0.13);
        let finding = scene.found("blocked_loop").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Likely, "worker"));
        assert!(finding.statement.starts_with("15 times in this run"), "{}", finding.statement);
        assert_eq!(scene.found("periodic_pauses"), None, "it is said once");
    }

    #[test]
    fn readings_that_are_half_an_interval_off_have_the_computing_before_or_behind_the_pause() {
        let before: fn(u64) -> bool = |second| pauses_in(second + 1);
        let behind: fn(u64) -> bool = |second| second > 0 && pauses_in(second - 1);
        for shifted in [before, behind] {
            let mut scene = arriving(|_| 1_000, 0.2, pauses_in);
            computes(&mut scene, 0.18, shifted);
            assert!(scene.found("blocked_loop").is_some());
        }
        let mut scene = export(0.14, 0.0);
        scene.observations = knee_core::observation::Observations::default();
        computes(&mut scene, 0.13, |second| second % 2 != 1);
        assert!(scene.found("blocked_loop").is_some(), "in every other interval");
    }

    #[test]
    fn exports_of_a_thread_of_their_own_and_pauses_without_computing_are_not_blocked_loops() {
        assert_eq!(export(0.04, 0.13).found("blocked_loop"), None, "two of 50 responses");
        assert_eq!(export(0.14, 0.05).found("blocked_loop"), None, "less than half of the pause");
    }

    #[test]
    fn few_responses_that_wait_in_few_pauses_can_be_long_requests() {
        let seldom: fn(u64) -> bool = |second| matches!(second, 5 | 9 | 19 | 25);
        let mut scene = export(0.14, 0.13);
        // Four pauses of the same kind, in which five wait: 20 responses.
        for (place, point) in scene.run.series.iter_mut().enumerate() {
            if !seldom(place as u64) {
                let calm = Nanos::from_millis(1);
                point.response = Some([calm; 4]);
                point.service = Some([calm; 4]);
            }
        }
        assert_eq!(scene.found("blocked_loop"), None);
    }

    #[test]
    fn pauses_in_which_no_thread_computes_have_another_cause() {
        assert!(found(0.2, 0.08).is_none(), "less than half of the pause");
        assert!(found(0.2, 0.0).is_none(), "a lock of the database");
    }

    #[test]
    fn more_arrivals_that_wait_and_cost_more_are_no_pause() {
        let rush = |second| if pauses_in(second) { 1_300 } else { 1_000 };
        let mut scene = arriving(rush, 0.2, pauses_in);
        computes(&mut scene, 0.18, pauses_in);
        assert_eq!(scene.found("blocked_loop"), None);
    }

    #[test]
    fn work_that_moves_between_the_threads_is_not_that_of_one() {
        let mut scene = arriving(|_| 1_000, 0.2, pauses_in);
        computes(&mut scene, 0.18, pauses_in);
        let total = scene.observations.sources.len() - 1;
        scene.stepped(total, "process.cpu.user", "", |_| 0.4);
        assert_eq!(scene.found("blocked_loop"), None);
    }

    #[test]
    fn two_pauses_are_an_incident() {
        let twice: fn(u64) -> bool = |second| matches!(second, 4 | 18);
        let mut scene = arriving(|_| 1_000, 0.2, twice);
        computes(&mut scene, 0.18, twice);
        assert_eq!(scene.found("blocked_loop"), None);
    }

    #[test]
    fn a_pause_at_a_regular_pace_is_said_once_with_its_thread() {
        let regular: fn(u64) -> bool = |second| second % 6 == 3;
        let mut scene = arriving(|_| 1_000, 0.2, regular);
        computes(&mut scene, 0.18, regular);
        assert!(scene.found("blocked_loop").is_some());
        assert_eq!(scene.found("periodic_pauses"), None);
        scene.observations = knee_core::observation::Observations::default();
        assert!(scene.report().findings.iter().any(|finding| finding.code == "periodic_pauses"));
        assert_eq!(scene.lacks("blocked_loop").unwrap(), "a process of the service (`--observe pid:PID`)");
    }
}
