//! A service that answers a fixed rate and refuses the rest with 429 or 503.
//!
//! Needs the run alone. Does not tell a limit that was set from one that protects an overloaded service.

use knee_core::outcome::Outcome;
use knee_core::record::Point;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, Unit};
use crate::lack::Lack;
use crate::rhythm::median;

pub(super) const RULE: Rule = Rule {
    code: "rate_limit",
    finds: "a fixed rate beyond which the service refuses requests",
    needs: "the run, with 200 responses",
    limits: "1 % of the responses have status 429 (one signal) or 503; OK responses per interval vary by 5 % at most while others are refused; half of the refusals take half of the median of OK responses at most. 503 needs both of the latter",
    source: "RFC 6585 defines 429. Under a load that is not limited, OK responses vary with the load and with queues.",
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

fn check(evidence: &Evidence<'_>) -> Checked {
    let answered = evidence.answered();
    if answered < RESPONSES_MIN {
        return Err(Lack::of(format!("{RESPONSES_MIN} responses")));
    }
    let status = |code: u16| {
        let known = evidence.all().status.iter().find(|(status, _)| *status == code);
        known.map_or(0.0, |(_, count)| *count as f64 / answered as f64)
    };
    let (limited, unavailable) = (status(429), status(503));
    let (code, share) = if limited >= unavailable { (429, limited) } else { (503, unavailable) };
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
        "median time of a refusal, of that of an OK response",
        Unit::Share,
        speed(evidence),
        FAST,
        "the run: service time",
    );
    if code == 503 && (steady.is_none() || fast.is_none()) {
        return Ok(Vec::new());
    }
    let usual = median(&pace).map_or(String::new(), |pace| {
        format!(" and answers {}/s", number(pace / evidence.run.head.plan.interval.as_secs_f64().max(1e-9)))
    });
    Ok(vec![Draft {
        subject: Subject::service(),
        statement: format!("the service refuses {} of the requests with {code}{usual}", percent(share)),
        signals: [refused, steady, fast].into_iter().flatten().collect(),
        remedy: Remedy::advice(
            "raise the limit of the service, a proxy or a provider for this load, or ask for less",
        ),
        gain: None,
    }])
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

/// The median time of an HTTP error as a share of that of an OK response.
fn speed(evidence: &Evidence<'_>) -> Option<f64> {
    let at = |outcome: Outcome| evidence.all().outcomes[outcome as usize].service.quantile(0.5);
    Some(at(Outcome::HttpError)?.as_secs_f64() / at(Outcome::Ok)?.as_secs_f64())
}

#[cfg(test)]
mod tests {
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
        assert_eq!(limited(503, |_| 500).found("rate_limit").unwrap().confidence, Confidence::Strong);
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
