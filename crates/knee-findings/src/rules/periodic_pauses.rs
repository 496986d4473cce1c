//! Pauses that come back at a regular pace: garbage collection, checkpoints, cron.
//!
//! Needs the run alone: the slowest response of each interval, and the responses per interval. A PostgreSQL server that
//! works more in these intervals is a further signal. Does not name the cause; `checkpoint` does for PostgreSQL.

use knee_core::observation::SourceKind;
use knee_core::outcome::Outcome;
use knee_core::plan::Executor;
use knee_core::record::Point;
use knee_core::unit::Nanos;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::{Evidence, answered};
use crate::figure::{number, seconds};
use crate::finding::{Remedy, Signal, Subject, Unit};
use crate::histogram::count_within;
use crate::lack::Lack;
use crate::rhythm::{median, rhythm, spikes, usual};

pub(super) const RULE: Rule = Rule {
    code: "periodic_pauses",
    finds: "pauses that come back at a regular pace",
    needs: "the run, with 20 whole intervals, of a load generator that did not pause itself",
    limits: "the slowest response of 5 intervals is 3 times the lower quartile of all intervals and 5 ms longer, and their distances vary by 15 % at most; in 90 % of these intervals, the p99 is 3 times its lower quartile, too (the p90 with fewer than 200 responses per interval); or, of an open load, the share of the responses of the endpoint with most of them that take 3 times the lower quartile of the slowest is half to twice the share of the time that the pauses have, and 3 of them wait per pause, 2 of which are seen. Those that wait for less are counted as the part of a pause that they meet, as many as are seen at most. One of the two must be if every other interval has a pause. These intervals have 10 % fewer responses than the others (with none of the three, some requests wait, and not the service); PostgreSQL reads 3 times as many blocks in them, or in those that follow, as in the others",
    source: "Distances of pauses by chance vary by about 100 % (a Poisson process): 5 of them by 15 % come by chance in under 1 of 100 runs. A pause makes those wait for less that come later in it. Of arrivals that do not know of each other, as many meet a pause as is its share of the time (PASTA), and one slow request that a load repeats is one per pause. A pause of 50 ms holds five of 100 requests per second, which the p90 of a second does not show. Counters of PostgreSQL can be a second late (PGSTAT_MIN_INTERVAL).",
    cause: "Something stops the service on a timer or whenever something has filled up: garbage collection, a checkpoint, a flush, a scheduled job, a cached value that expires for all at once.",
    remedy: "Look for what has this period in the logs of the service and its stores; make it smaller and more frequent, or move it away.",
    explains: &[],
    check,
};

const INTERVALS_MIN: usize = 20;
const PAUSES_MIN: usize = 5;
/// Times the usual interval.
const HEIGHT: f64 = 3.0;
/// Seconds beyond it.
const LONGER: f64 = 0.005;
/// Pauses that are nearer than so many intervals must make many responses wait.
const CLOSE: f64 = 3.0;
/// Share of the intervals with a pause in which many responses wait.
const BROAD: f64 = 0.9;
/// Responses that wait, as a share of those that arrive in the pauses, and how many these are per pause.
const MEET: f64 = 0.5;
const MEET_MAX: f64 = 2.0;
const WAITING: f64 = 3.0;
/// Of these, so many are seen, and the least part of a pause in which what arrives is seen.
const SEEN: f64 = 2.0;
const PART: f64 = 0.5;
/// Responses per interval with which the p99 stands for more than one of them.
const FOR_P99: u64 = 200;
/// Coefficient of variation of the distances.
const VARIATION: f64 = 0.15;
/// Responses per interval with a pause, as a share of those in the others.
const DIP: f64 = 0.9;
/// Blocks read in intervals with a pause, times those in the others.
const BURST: f64 = 3.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    if evidence.generator_paused() {
        return Err(Lack::of("a load generator that did not pause or wait for a CPU itself"));
    }
    let points = evidence.steady();
    if points.len() < INTERVALS_MIN {
        return Err(Lack::of(format!("{INTERVALS_MIN} whole intervals")));
    }
    let slowest = |point: &&Point| point.response.map_or(0.0, |times| times[3].as_secs_f64());
    let figures: Vec<f64> = points.iter().map(slowest).collect();
    let Some(found) = rhythm(&figures, HEIGHT, PAUSES_MIN) else { return Ok(Vec::new()) };
    let usual = usual(&figures).unwrap_or(0.0);
    if found.variation > VARIATION || usual * (found.height - 1.0) < LONGER || found.period < 2.0 {
        return Ok(Vec::new());
    }
    let width = points[0].to.since(points[0].from);
    let paused = spikes(&figures, HEIGHT);
    let broad = broad(&points, &paused);
    let length = usual * (found.height - 1.0);
    let meeting = meeting(evidence, HEIGHT * usual, length, paused.len());
    // One slow request now and then has a rhythm too, if the load has one.
    let waits = meeting.is_some() || broad.is_some_and(|broad| broad >= BROAD);
    if found.period < CLOSE && !waits {
        return Ok(Vec::new());
    }
    let dip = dip(&points, &paused);
    let burst = burst(evidence, &points, &paused);
    Ok(vec![Draft {
        subject: Subject::service(),
        statement: format!(
            "{} every {}, {} times in this run, for up to {}",
            what_waits(dip, waits),
            seconds(found.period * width.as_secs_f64()),
            number(found.pauses as f64),
            seconds(usual * found.height)
        ),
        signals: signals(found.variation, dip, broad, meeting, burst),
        remedy: Remedy::advice(
            "look for what has this period: garbage collection, checkpoints, flushes, scheduled jobs, caches that expire",
        ),
        gain: None,
    }])
}

/// What shows the pauses, as far as it reaches its limit.
fn signals(
    variation: f64,
    dip: Option<f64>,
    broad: Option<f64>,
    meeting: Option<Signal>,
    burst: Option<f64>,
) -> Vec<Signal> {
    let all = [
        Signal::at_most(
            "variation of the distances between pauses",
            Unit::Share,
            Some(variation),
            VARIATION,
            "the run: slowest response per interval",
        ),
        Signal::at_most(
            "responses in intervals with a pause, of those in the others",
            Unit::Share,
            dip,
            DIP,
            "the run: responses per interval",
        ),
        Signal::at_least(
            "intervals with a pause in which many responses wait, of all with one",
            Unit::Share,
            broad,
            BROAD,
            "the run: p90 or p99 per interval",
        )
        .or(meeting),
        Signal::at_least(
            "blocks that PostgreSQL reads in intervals with a pause, times those in the others",
            Unit::Count,
            burst,
            BURST,
            "pg_stat_database",
        ),
    ];
    all.into_iter().flatten().collect()
}

/// What waits in a pause. Where neither many responses wait nor fewer are given, the service goes on.
fn what_waits(dip: Option<f64>, many_wait: bool) -> &'static str {
    let goes_on = !many_wait && dip.is_some_and(|dip| dip > DIP);
    if goes_on { "some requests wait" } else { "the service pauses" }
}

/// Whether as many responses wait as arrive in so many pauses of this length, in seconds: of the endpoint with most of
/// them, and of a load that does not wait for its responses. Where more or fewer are slow, it is not because of when they
/// came.
fn meeting(evidence: &Evidence<'_>, slow: f64, length: f64, pauses: usize) -> Option<Signal> {
    let scenarios = &evidence.run.head.plan.scenarios;
    if scenarios.iter().any(|scenario| matches!(scenario.executor, Executor::Closed { .. })) {
        return None;
    }
    let endpoints = evidence.run.measured.endpoints.iter();
    let times = endpoints.map(|endpoint| &endpoint.outcomes[Outcome::Ok as usize].response);
    let times = times.max_by_key(|times| times.count())?;
    let seen = count_within(times, Nanos::from_secs_f64(slow), Nanos::MAX) as f64;
    // Who comes near the end of a pause waits for less than what counts as slow.
    let part = (1.0 - slow / (length + slow / HEIGHT)).max(PART);
    let waiting = seen / part;
    let arrive = times.count() as f64 * pauses as f64 * length / evidence.seconds();
    let is_enough =
        seen >= SEEN * pauses as f64 && waiting >= WAITING * pauses as f64 && waiting <= MEET_MAX * arrive;
    Signal::at_least(
        "slow responses of the endpoint with most of them, of those that arrive in the pauses",
        Unit::Share,
        Some(waiting / arrive).filter(|_| is_enough),
        MEET,
        "the run: response time",
    )
}

/// Responses per second in the intervals `with` a pause as a share of those in the others.
fn dip(points: &[&Point], with: &[usize]) -> Option<f64> {
    let pace = |point: &Point| {
        let seconds = point.to.since(point.from).as_secs_f64();
        answered(point) as f64 / seconds
    };
    let (mut paused, mut others) = (Vec::new(), Vec::new());
    for (place, point) in points.iter().enumerate() {
        if with.contains(&place) { paused.push(pace(point)) } else { others.push(pace(point)) }
    }
    Some(median(&paused)? / median(&others)?)
}

/// The share of the intervals `with` a pause in which many responses wait, and not the slowest alone.
fn broad(points: &[&Point], with: &[usize]) -> Option<f64> {
    let fewest = points.iter().map(|point| answered(point)).min()?;
    let place = if fewest >= FOR_P99 { 2 } else { 1 };
    let of_many = |point: &&Point| point.response.map_or(0.0, |times| times[place].as_secs_f64());
    let figures: Vec<f64> = points.iter().map(of_many).collect();
    let least = HEIGHT * usual(&figures)?;
    let waits = with.iter().filter(|place| figures[**place] >= least).count();
    Some(waits as f64 / with.len() as f64)
}

/// How many times as many blocks PostgreSQL reads around a pause as elsewhere: `None` without a server or without figures
/// for each interval. Its counters can be late, so the interval behind a pause counts, too, if it has more.
fn burst(evidence: &Evidence<'_>, points: &[&Point], with: &[usize]) -> Option<f64> {
    let servers = evidence.sources(SourceKind::Postgres);
    let server = servers.first()?;
    let blocks = |point: &&Point| -> Option<f64> {
        let rise = |name: &str| server.within(name, point.from, point.to);
        Some(rise("database.blocks.hit")? + rise("database.blocks.read").unwrap_or(0.0))
    };
    let blocks: Vec<f64> = points.iter().map(blocks).collect::<Option<_>>()?;
    let near =
        |place: &usize| with.contains(place) || place.checked_sub(1).is_some_and(|one| with.contains(&one));
    let around = |place: &usize| {
        let behind = blocks.get(place + 1).copied().unwrap_or(0.0);
        blocks.get(*place).map(|here| here.max(behind))
    };
    let paused: Vec<f64> = with.iter().filter_map(around).collect();
    let others: Vec<f64> =
        (0..blocks.len()).filter(|place| !near(place)).map(|place| blocks[place]).collect();
    Some(median(&paused)? / median(&others)?.max(1.0))
}

#[cfg(test)]
mod tests {
    use knee_core::plan::Executor;
    use knee_core::schedule::{Arrivals, Curve};

    use crate::Confidence;
    use crate::testing::Scene;

    fn paused(is_pause: impl Fn(u64) -> bool + Copy, answered: u64) -> Scene {
        let rate = |second| if is_pause(second) { answered } else { 1_000 };
        Scene::sized(60, rate, Curve::constant(10.0), |sample, second, dice| {
            if is_pause(second) && dice.share() < 0.1 {
                sample.wait += 0.35;
            }
        })
    }

    #[test]
    fn a_pause_every_eight_seconds_is_found_with_its_period() {
        let finding = paused(|second| second % 8 == 3, 650).found("periodic_pauses").unwrap();
        assert_eq!(finding.confidence, Confidence::Strong);
        assert!(finding.statement.contains("every 8.00 s"), "{}", finding.statement);
    }

    #[test]
    fn a_pause_in_every_other_second_that_costs_no_responses_is_found_too() {
        let finding = paused(|second| second % 2 == 1, 1_000).found("periodic_pauses").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(finding.statement.contains("every 2.00 s"), "{}", finding.statement);
    }

    #[test]
    fn one_slow_request_in_every_eighth_second_is_a_hint_and_in_every_other_second_ordinary() {
        let slow_every = |seconds: u64| {
            let mut last = None;
            let scene = Scene::sized(
                60,
                |_| 100,
                Curve::constant(10.0),
                |sample, second, _| {
                    if second % seconds == 1 && last != Some(second) {
                        last = Some(second);
                        sample.wait = 0.4;
                    }
                },
            );
            scene.found("periodic_pauses").map(|finding| (finding.confidence, finding.statement))
        };
        let (confidence, statement) = slow_every(8).unwrap();
        assert_eq!(confidence, Confidence::Hint);
        assert!(statement.starts_with("some requests wait every 8.00 s"), "{statement}");
        assert_eq!(slow_every(2), None);
    }

    /// 80 arrivals per second of which every 160th begins to save something, so that every other second has a pause of
    /// this length. So many requests are slow in it, of the endpoint with this number.
    fn saves(length: f64, slow: u32, endpoint: u32) -> Scene {
        saves_beside(0.001, length, slow, endpoint)
    }

    /// The same, and one other request of each second takes so long.
    fn saves_beside(slowest: f64, length: f64, slow: u32, endpoint: u32) -> Scene {
        let mut number = 0_u32;
        let mut scene = Scene::sized(
            30,
            |_| 80,
            Curve::constant(10.0),
            move |sample, second, dice| {
                number = (number + 1) % 80;
                sample.wait = 0.000_3 + dice.exponential(0.000_05);
                if number == 70 {
                    sample.wait = slowest;
                }
                if second % 2 == 1 && number < slow {
                    sample.wait += length * (1.0 - f64::from(number) / f64::from(slow));
                    sample.endpoint = endpoint;
                }
            },
        );
        scene.run.head.plan.scenarios[0].executor = Executor::Open {
            rate: Curve::constant(80.0),
            arrivals: Arrivals::Poisson { seed: 1 },
            users_max: 500,
        };
        scene
    }

    #[test]
    fn a_user_learns_of_a_lock_for_which_all_of_the_few_requests_wait_that_come_while_it_is_held() {
        let finding = saves(0.06, 5, 0).found("periodic_pauses").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(finding.statement.starts_with("the service pauses every 2.00 s, 15 times"), "{finding:?}");
    }

    #[test]
    fn those_who_come_near_the_end_of_a_pause_wait_for_it_too_where_another_request_is_slow_now_and_then() {
        // Waits of 60, 48, 36, 24 and 12 ms: two are three times as long as the slowest one elsewhere.
        assert!(saves_beside(0.014, 0.06, 5, 0).found("periodic_pauses").is_some());
        assert_eq!(saves_beside(0.014, 0.06, 1, 0).found("periodic_pauses"), None, "one at a time");
    }

    #[test]
    fn slow_requests_that_a_load_repeats_are_more_or_fewer_than_meet_a_pause_or_an_endpoint_of_their_own() {
        assert_eq!(saves(0.06, 1, 0).found("periodic_pauses"), None, "one at a time");
        assert_eq!(saves(0.06, 2, 0).found("periodic_pauses"), None, "two at a time");
        assert_eq!(saves(0.01, 4, 0).found("periodic_pauses"), None, "four where one arrives");
        assert_eq!(saves(0.2, 4, 0).found("periodic_pauses"), None, "four where 16 arrive");
        assert_eq!(saves(0.06, 5, 1).found("periodic_pauses"), None, "of an endpoint that is always slow");
    }

    #[test]
    fn a_cache_that_expires_for_all_is_found_by_the_bursts_of_its_database() {
        let mut scene = Scene::sized(
            60,
            |_| 40,
            Curve::constant(10.0),
            |sample, second, dice| {
                let expired = second % 4 == 1 && dice.share() < 0.1;
                sample.wait = if expired { 0.04 } else { 0.001 };
            },
        );
        let server = scene.postgres();
        assert_eq!(scene.found("periodic_pauses").unwrap().confidence, Confidence::Hint);
        scene.stepped(
            server,
            "database.blocks.hit",
            "shop",
            |second| if second % 4 == 2 { 9_000.0 } else { 50.0 },
        );
        let finding = scene.found("periodic_pauses").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2));
    }

    #[test]
    fn pauses_without_a_rhythm_and_a_steady_service_are_healthy() {
        let scattered = paused(|second| [3, 5, 21, 22, 30, 47, 58].contains(&second), 650);
        assert_eq!(scattered.found("periodic_pauses"), None);
        assert_eq!(Scene::steady().found("periodic_pauses"), None);
    }
}
