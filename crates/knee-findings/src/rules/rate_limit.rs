//! A service that answers a fixed rate and refuses the rest with 429 or 503.
//!
//! Needs the run alone. Does not tell a limit that was set from one that protects an overloaded service.

use knee_core::outcome::Outcome;
use knee_core::record::Point;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::{Evidence, answered};
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, Unit};
use crate::lack::Lack;
use crate::level::offered;
use crate::rhythm::median;

pub(super) const RULE: Rule = Rule {
    code: "rate_limit",
    finds: "a fixed rate beyond which the service refuses requests",
    needs: "the run, with 200 responses",
    limits: "1 % of the responses have status 429 (one signal) or 503; OK responses per interval vary by 5 % at most while others are refused; half of the refusals take half of the median of OK responses at most. 503 needs both of the latter, and the planned rate varies by 20 %; under a rate that stays the same, and under a closed load, it is a hint, and OK responses then vary a quarter as much as by chance at most",
    source: "RFC 6585 defines 429. Under a load that is not limited, OK responses vary with the load and with queues. Failures by chance leave a steady rate of OK responses where the load is steady (binomial distribution).",
    cause: "A rate limit of the service, a proxy or a provider; or an admission control that protects an overloaded service.",
    remedy: "Raise the limit for the load test, or ask for less: responses beyond the limit say nothing about the service.",
    explains: &["two_populations"],
    check,
};

const RESPONSES_MIN: u64 = 200;
const SHARE: f64 = 0.01;
const VARIATION: f64 = 0.05;
const FAST: f64 = 0.5;
const INTERVALS_MIN: usize = 5;
/// A planned rate that varies by less than this stays the same.
const VARIES: f64 = 1.2;
/// Variance of OK responses, of that of failures by chance.
const OF_CHANCE: f64 = 0.25;

fn check(evidence: &Evidence<'_>) -> Checked {
    let answered = evidence.answered();
    if answered < RESPONSES_MIN {
        return Err(Lack::of(format!("{RESPONSES_MIN} responses")));
    }
    let status = |code: u16| {
        let known = evidence.all().status.iter().find(|(status, _)| *status == code);
        known.map_or(0.0, |(_, count)| *count as f64)
    };
    let (limited, unavailable) = (status(429), status(503));
    let (code, refusals) = if limited >= unavailable { (429, limited) } else { (503, unavailable) };
    let share = refusals / answered as f64;
    if share < SHARE {
        return Ok(Vec::new());
    }
    let refusing: Vec<&Point> =
        evidence.steady().into_iter().filter(|point| of(point, Outcome::HttpError) > 0.0).collect();
    let pace: Vec<f64> = refusing.iter().map(|point| of(point, Outcome::Ok)).collect();
    let refused = Signal::at_least(
        format!("share of responses with status {code}"),
        Unit::Share,
        Some(share),
        SHARE,
        "the run: status codes",
    );
    let steady = Signal::at_most(
        "variation of OK responses per interval",
        Unit::Share,
        variation(&pace),
        VARIATION,
        "the run: responses per interval",
    );
    let fast = Signal::at_most(
        "median time of a refusal at most, of that of an OK response",
        Unit::Share,
        speed(evidence, refusals),
        FAST,
        "the run: service time",
    );
    let signals: Vec<Signal> = match code {
        503 => unavailable_by_a_limit(evidence, &refusing, [refused, steady, fast]),
        _ => [refused, steady, fast].into_iter().flatten().collect(),
    };
    if signals.is_empty() {
        return Ok(Vec::new());
    }
    let usual = median(&pace).map_or(String::new(), |pace| {
        format!(" and answers {}/s", number(pace / evidence.run.head.plan.interval.as_secs_f64().max(1e-9)))
    });
    Ok(vec![Draft {
        subject: Subject::service(),
        statement: format!("the service refuses {} of the requests with {code}{usual}", percent(share)),
        signals,
        remedy: Remedy::advice(
            "raise the limit of the service, a proxy or a provider for this load, or ask for less",
        ),
        gain: None,
    }])
}

/// Of the signals of refusals with 503, those that tell a limit from a service that fails: all, the first as a hint,
/// or none. Under a load that stays the same, OK responses are steady whatever refuses the others, and users who wait for
/// their responses ask for what is served: a lock that one request holds at a time refuses the others as steadily.
fn unavailable_by_a_limit(
    evidence: &Evidence<'_>,
    refusing: &[&Point],
    signals: [Option<Signal>; 3],
) -> Vec<Signal> {
    if signals.iter().any(Option::is_none) {
        return Vec::new();
    }
    let scenarios = &evidence.run.head.plan.scenarios;
    let planned: Option<Vec<f64>> = refusing.iter().map(|point| offered(scenarios, point)).collect();
    let varies = planned.as_ref().is_some_and(|levels| {
        let least = levels.iter().copied().fold(f64::INFINITY, f64::min);
        levels.iter().any(|level| *level >= VARIES * least)
    });
    let all = signals.into_iter().flatten();
    match planned {
        _ if varies => all.collect(),
        _ if !is_steadier_than_chance(refusing) => Vec::new(),
        _ => all.take(1).collect(),
    }
}

/// Whether the number of OK responses per interval varies far less than that of responses each of which fails by
/// chance.
fn is_steadier_than_chance(points: &[&Point]) -> bool {
    let ok: Vec<f64> = points.iter().map(|point| of(point, Outcome::Ok)).collect();
    let count = ok.len() as f64;
    let (mean, all) = (ok.iter().sum::<f64>() / count, points.iter().map(|point| answered(point) as f64));
    let share = mean * count / all.sum::<f64>();
    let squares: f64 = ok.iter().map(|ok| (ok - mean).powi(2)).sum();
    squares / (count - 1.0) <= OF_CHANCE * mean * (1.0 - share)
}

fn of(point: &Point, outcome: Outcome) -> f64 {
    point.by_outcome[outcome as usize] as f64
}

/// The coefficient of variation; `None` of too few figures.
fn variation(figures: &[f64]) -> Option<f64> {
    if figures.len() < INTERVALS_MIN {
        return None;
    }
    let count = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / count;
    let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
    (mean > 0.0).then(|| (squares / (count - 1.0)).sqrt() / mean)
}

/// What half of so many refusals take at most, as a share of the median time of OK responses. The times of all errors
/// are in one histogram: that of the refusals is highest if all others are faster.
fn speed(evidence: &Evidence<'_>, refusals: f64) -> Option<f64> {
    let service = |outcome: Outcome| &evidence.all().outcomes[outcome as usize].service;
    let errors = service(Outcome::HttpError);
    let share = (refusals / errors.count().max(1) as f64).min(1.0);
    let refused = errors.quantile(1.0 - share / 2.0)?;
    Some(refused.as_secs_f64() / service(Outcome::Ok).quantile(0.5)?.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use knee_core::plan::Executor;
    use knee_core::schedule::{Arrivals, Curve, Stage};
    use knee_core::unit::Nanos;

    use crate::Confidence;
    use crate::testing::Scene;

    /// Of 1,000 requests per second the first `limit` are answered, the others refused at once.
    fn limited(status: u16, limit: impl Fn(u64) -> u64) -> Scene {
        let (mut now, mut taken) = (u64::MAX, 0);
        Scene::with(move |sample, second, _| {
            if second != now {
                (now, taken) = (second, 0);
            }
            taken += 1;
            if taken > limit(second) {
                (sample.status, sample.wait) = (status, 0.000_4);
            }
        })
    }

    #[test]
    fn a_rate_limit_is_found_by_its_status_its_steadiness_and_its_speed() {
        let finding = limited(429, |_| 500).found("rate_limit").unwrap();
        assert_eq!(finding.confidence, Confidence::Strong);
        assert_eq!(finding.statement, "the service refuses 50 % of the requests with 429 and answers 500/s");
    }

    /// The same with arrivals by this plan.
    fn planned(mut scene: Scene, rate: Curve) -> Scene {
        scene.run.head.plan.scenarios[0].executor =
            Executor::Open { rate, arrivals: Arrivals::Poisson { seed: 1 }, users_max: 1_000 };
        scene
    }

    /// Of each 1,000 requests, a fifth fails at once, by chance.
    fn failing(status: u16) -> Scene {
        Scene::with(move |sample, _, dice| {
            if dice.share() < 0.2 {
                (sample.status, sample.wait) = (status, 0.000_4);
            }
        })
    }

    #[test]
    fn fast_failures_by_chance_are_no_limit_although_as_many_succeed_in_every_second() {
        assert_eq!(planned(failing(503), Curve::constant(1_000.0)).found("rate_limit"), None);
        assert_eq!(failing(503).found("rate_limit"), None);
        assert!(planned(failing(429), Curve::constant(1_000.0)).found("rate_limit").is_some());
    }

    #[test]
    fn a_steady_rate_beside_503_is_a_hint_unless_the_planned_rate_varies() {
        let of = |rate| planned(limited(503, |_| 500), rate).found("rate_limit").unwrap().confidence;
        assert_eq!(of(Curve::constant(1_000.0)), Confidence::Hint);
        let of_users = limited(503, |_| 500).found("rate_limit").unwrap();
        assert_eq!(of_users.confidence, Confidence::Hint, "a lock can refuse as steadily");
        let stages = vec![Stage { duration: Nanos::from_secs(30), target: 1_400.0 }];
        assert_eq!(of(Curve { start: 800.0, stages }), Confidence::Strong);
    }

    #[test]
    fn errors_of_other_kinds_that_are_fast_do_not_make_slow_refusals_fast() {
        let of = |refusals: f64| {
            let mut number = 0;
            Scene::with(move |sample, _, dice| {
                number += 1;
                match number % 10 {
                    0..3 => (sample.status, sample.wait) = (404, 0.000_2),
                    3 => (sample.status, sample.wait) = (429, refusals * (1.0 + 0.1 * dice.share())),
                    _ => {}
                }
            })
        };
        let limit = |scene: Scene| scene.found("rate_limit").unwrap().confidence;
        assert_eq!(limit(of(0.01)), Confidence::Likely, "slower than OK responses");
        assert_eq!(limit(of(0.000_4)), Confidence::Strong);
    }

    #[test]
    fn a_service_that_fails_now_and_then_is_not_limited() {
        let fails = Scene::with(|sample, second, dice| {
            if dice.share() < 0.02 * (second % 7) as f64 {
                sample.status = 503;
            }
        });
        assert_eq!(fails.found("rate_limit"), None);
        assert_eq!(Scene::steady().found("rate_limit"), None);
    }
}
