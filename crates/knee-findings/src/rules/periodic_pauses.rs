//! Pauses that come back at a regular pace: garbage collection, checkpoints, cron.
//!
//! Needs the run alone: the slowest response of each interval, and the responses per interval. Does not name the cause;
//! `checkpoint` does for PostgreSQL.

use knee_core::record::Point;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::{Evidence, answered};
use crate::figure::{number, seconds};
use crate::finding::{Remedy, Signal, Subject, Unit};
use crate::lack::Lack;
use crate::rhythm::{median, rhythm, spikes};

pub(super) const RULE: Rule = Rule {
    code: "periodic_pauses",
    finds: "pauses that come back at a regular pace",
    needs: "the run, with 20 whole intervals, of a load generator that did not pause itself",
    limits: "the slowest response of 5 intervals is 3 times the median of all intervals and 20 ms longer, and their distances vary by 15 % at most; these intervals have 10 % fewer responses than the others",
    source: "Distances of pauses by chance vary by about 100 % (a Poisson process): 5 of them by 15 % come by chance in under 1 of 100 runs.",
    cause: "Something stops the service on a timer or whenever something has filled up: garbage collection, a checkpoint, a flush, a scheduled job.",
    remedy: "Look for what has this period in the logs of the service and its stores; make it smaller and more frequent, or move it away.",
    explains: &[],
    check,
};

const INTERVALS_MIN: usize = 20;
const PAUSES_MIN: usize = 5;
/// Times the median.
const HEIGHT: f64 = 3.0;
/// Seconds beyond the median.
const LONGER: f64 = 0.02;
/// Coefficient of variation of the distances.
const VARIATION: f64 = 0.15;
/// Responses per interval with a pause, as a share of those in the others.
const DIP: f64 = 0.9;

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
    let usual = median(&figures).unwrap_or(0.0);
    if found.variation > VARIATION || usual * (found.height - 1.0) < LONGER || found.period < 2.0 {
        return Ok(Vec::new());
    }
    let width = points[0].to.since(points[0].from);
    let dip = dip(&points, &spikes(&figures, HEIGHT));
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
    ];
    Ok(vec![Draft {
        subject: Subject::service(),
        statement: format!(
            "the service pauses every {}, {} times in this run, for up to {}",
            seconds(found.period * width.as_secs_f64()),
            number(found.pauses as f64),
            seconds(usual * found.height)
        ),
        signals: signals.into_iter().flatten().collect(),
        remedy: Remedy::advice(
            "look for what has this period: garbage collection, checkpoints, flushes, scheduled jobs",
        ),
        gain: None,
    }])
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
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(finding.statement.contains("every 8.00 s"), "{}", finding.statement);
    }

    #[test]
    fn a_rhythm_that_costs_no_responses_is_a_hint() {
        let finding = paused(|second| second % 8 == 3, 1_000).found("periodic_pauses").unwrap();
        assert_eq!(finding.confidence, Confidence::Hint);
    }

    #[test]
    fn pauses_without_a_rhythm_and_a_steady_service_are_healthy() {
        let scattered = paused(|second| [3, 5, 21, 22, 30, 47, 58].contains(&second), 650);
        assert_eq!(scattered.found("periodic_pauses"), None);
        assert_eq!(Scene::steady().found("periodic_pauses"), None);
    }
}
