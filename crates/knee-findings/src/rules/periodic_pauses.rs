//! Pauses that come back at a regular pace: garbage collection, checkpoints, cron.
//!
//! Needs the run alone: the slowest response of each interval, and the responses per interval. A PostgreSQL server that
//! works more in these intervals is a further signal. Does not name the cause; `checkpoint` does for PostgreSQL.

use knee_core::observation::SourceKind;
use knee_core::record::Point;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::{Evidence, answered};
use crate::figure::{number, seconds};
use crate::finding::{Remedy, Signal, Subject, Unit};
use crate::lack::Lack;
use crate::rhythm::{median, rhythm, spikes, usual};

pub(super) const RULE: Rule = Rule {
    code: "periodic_pauses",
    finds: "pauses that come back at a regular pace",
    needs: "the run, with 20 whole intervals, of a load generator that did not pause itself",
    limits: "the slowest response of 5 intervals is 3 times the lower quartile of all intervals and 5 ms longer, and their distances vary by 15 % at most; in 90 % of these intervals, the p99 is 3 times its lower quartile, too (the p90 with fewer than 200 responses per interval), which it must be if every other interval has a pause; these intervals have 10 % fewer responses than the others (without either of the two, some requests wait, and not the service); PostgreSQL reads 3 times as many blocks in them, or in those that follow, as in the others",
    source: "Distances of pauses by chance vary by about 100 % (a Poisson process): 5 of them by 15 % come by chance in under 1 of 100 runs. Counters of PostgreSQL can be a second late (PGSTAT_MIN_INTERVAL).",
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
    // One slow request now and then has a rhythm too, if the load has one.
    if found.period < CLOSE && broad.is_none_or(|broad| broad < BROAD) {
        return Ok(Vec::new());
    }
    let dip = dip(&points, &paused);
    let burst = burst(evidence, &points, &paused);
    let signals = [
        Signal::at_most(
            "variation of the distances between pauses",
            Unit::Share,
            Some(found.variation),
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
        ),
        Signal::at_least(
            "blocks that PostgreSQL reads in intervals with a pause, times those in the others",
            Unit::Count,
            burst,
            BURST,
            "pg_stat_database",
        ),
    ];
    Ok(vec![Draft {
        subject: Subject::service(),
        statement: format!(
            "{} every {}, {} times in this run, for up to {}",
            what_waits(dip, broad),
            seconds(found.period * width.as_secs_f64()),
            number(found.pauses as f64),
            seconds(usual * found.height)
        ),
        signals: signals.into_iter().flatten().collect(),
        remedy: Remedy::advice(
            "look for what has this period: garbage collection, checkpoints, flushes, scheduled jobs, caches that expire",
        ),
        gain: None,
    }])
}

/// What waits in a pause. Where neither many responses wait nor fewer are given, the service goes on.
fn what_waits(dip: Option<f64>, broad: Option<f64>) -> &'static str {
    let goes_on = Signal::falls_short(broad, BROAD) && dip.is_some_and(|dip| dip > DIP);
    if goes_on { "some requests wait" } else { "the service pauses" }
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
    use knee_core::schedule::Curve;

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
