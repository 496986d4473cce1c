//! One endpoint with two kinds of response times: a cache that misses, a slow instance, a timeout.
//!
//! Needs the run alone. What tells the two apart is not in the record, so two groups alone are a hint; a fixed wait of the
//! slow ones is the second signal. Does not look at differences between endpoints.

use knee_core::outcome::Outcome;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::histogram::{Modes, two_modes};
use crate::lack::Lack;

pub(super) const RULE: Rule = Rule {
    code: "two_populations",
    finds: "an endpoint with two separate groups of response times",
    needs: "the run, with 200 OK responses of one endpoint, of a load generator that did not pause itself",
    limits: "each group has 5 % of the responses; the density between them is 25 % of the lower one at most, with a chance of 1 in 10,000 that there is no such valley; the slow group takes 3 times as long and at least 5 ms. The slow group waits 20 ms longer, and its quartiles differ by 5 % of this wait at most: then the wait is fixed. Without a fixed wait, a hint from 2,000 responses on, and nothing below",
    source: "A valley of 50 % is the usual mark of two modes; half of it keeps skewed distributions out. How many responses a valley needs follows from its depth (binomial distribution): an empty one between two groups of some dozens. With fewer than 2,000 responses, one disturbance of some hundred milliseconds can be 5 % of them. Most work varies by more than 5 %; a timer takes the same time again and again, and so does a hash of a fixed cost.",
    cause: "Some requests take another path: a cache that misses, one slow instance of several, another amount of data. If they all wait for the same time, a timeout or a retry ends the wait: of a dead instance, a lookup of a name, a lock that is polled.",
    remedy: "Load the two paths as endpoints of their own, and compare them. For a fixed wait, look for the timeout, the retry or the pause of this length, and for what it waits in vain.",
    explains: &[],
    check,
};

/// Fewest responses that are looked at, and fewest for a hint.
const RESPONSES_MIN: u64 = 200;
const HINT_MIN: u64 = 2_000;
const LEAST: f64 = 0.05;
const VALLEY: f64 = 0.25;
const APART: f64 = 3.0;
/// Seconds.
const SLOW_MIN: f64 = 0.005;
/// A wait of a timer, in seconds, and how much it varies.
const WAIT_MIN: f64 = 0.02;
const FIXED: f64 = 0.05;

fn check(evidence: &Evidence<'_>) -> Checked {
    if evidence.generator_paused() {
        return Err(Lack::of("a load generator that did not pause or wait for a CPU itself"));
    }
    let endpoints = evidence.run.measured.endpoints.iter().enumerate();
    let large: Vec<_> = endpoints
        .map(|(place, tally)| (place, &tally.outcomes[Outcome::Ok as usize].service))
        .filter(|(_, service)| service.count() >= RESPONSES_MIN)
        .collect();
    if large.is_empty() {
        return Err(Lack::of(format!("{RESPONSES_MIN} OK responses of one endpoint")));
    }
    let groups = large.into_iter().filter_map(|(place, service)| {
        let modes = two_modes(service, LEAST).filter(Modes::are_apart)?;
        let name = evidence.run.endpoints.get(place).map_or("", |endpoint| endpoint.name.as_str());
        of_endpoint(evidence, name, &modes, service.count())
    });
    Ok(groups.collect())
}

impl Modes {
    /// Whether the slow group is another matter than the fast one.
    fn are_apart(&self) -> bool {
        self.slow >= APART * self.fast && self.slow >= SLOW_MIN && self.is_certain(VALLEY)
    }
}

fn of_endpoint(evidence: &Evidence<'_>, name: &str, modes: &Modes, responses: u64) -> Option<Draft> {
    let valley = Signal::at_most(
        "density between the two groups, of the lower one",
        Unit::Share,
        Some(modes.valley),
        VALLEY,
        "the run: service time",
    )?;
    let (from, to) = modes.slow_quartiles;
    let wait = from.midpoint(to) - modes.fast;
    let fixed = Signal::at_most(
        "distance of the quartiles of the slow group, of how much longer it takes",
        Unit::Share,
        Some((to - from) / wait).filter(|_| wait >= WAIT_MIN),
        FIXED,
        "the run: quartiles",
    );
    let is_fixed = fixed.is_some();
    let (slow, fast) = (percent(modes.slow_share), seconds(modes.fast));
    (is_fixed || responses >= HINT_MIN).then(|| Draft {
        subject: Subject::of(SubjectKind::Endpoint, name, None),
        statement: if is_fixed {
            format!("{slow} of the requests wait {} longer than the others, always the same: a timeout, a pause, or work of a fixed size", seconds(wait))
        } else {
            format!("{slow} of the requests take about {}, the others about {fast}: two groups", seconds(modes.slow))
        },
        signals: [Some(valley), fixed].into_iter().flatten().collect(),
        remedy: Remedy::advice(if is_fixed {
            "look for the timeout, the retry or the pause of this length, and for what it waits in vain; or for work that takes as long"
        } else {
            "find what the slow requests have in common: a cache that misses, one instance, one path"
        }),
        gain: is_fixed
            .then(|| {
                let of_all = responses as f64 / evidence.answered() as f64;
                let saved = wait * modes.slow_share * of_all;
                Gain::saves(evidence.response_mean(), Some(saved), "the fixed wait, per request of all endpoints")
            })
            .flatten(),
    })
}

#[cfg(test)]
mod tests {
    use knee_core::schedule::Curve;

    use crate::Confidence;
    use crate::testing::Scene;

    #[test]
    fn a_cache_that_misses_for_every_fifth_request_is_a_hint() {
        let scene = Scene::with(|sample, _, dice| {
            sample.wait = if dice.share() < 0.2 {
                0.04 + dice.exponential(0.01)
            } else {
                0.001 + dice.exponential(0.000_5)
            };
        });
        let finding = scene.found("two_populations").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Hint, "GET /a"));
        assert!(finding.statement.starts_with("20 % of the requests"), "{}", finding.statement);
    }

    /// So many responses per second for 10 s, of which a quarter takes this much longer, and as much more by chance.
    fn quarter(rate: u64, longer: f64, more: f64) -> Scene {
        Scene::sized(
            10,
            |_| rate,
            Curve::constant(10.0),
            move |sample, _, dice| {
                sample.wait = 0.005 + dice.exponential(0.001);
                if dice.share() < 0.25 {
                    sample.wait += longer + dice.exponential(more + 1e-6);
                }
            },
        )
    }

    #[test]
    fn a_timeout_of_every_fourth_request_is_found_with_some_hundred_responses() {
        let finding = quarter(60, 0.12, 0.000_5).found("two_populations").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2));
        assert!(finding.statement.contains("% of the requests wait 1"), "{}", finding.statement);
        assert!(finding.gain.unwrap().share() > 0.7);
    }

    #[test]
    fn the_gain_of_a_rare_endpoint_is_a_small_part_of_the_mean_of_all() {
        let scene = Scene::with(|sample, _, dice| {
            sample.wait = 0.005 + dice.exponential(0.001);
            sample.endpoint = u32::from(dice.share() < 0.02);
            if sample.endpoint == 1 && dice.share() < 0.25 {
                sample.wait += 0.12 + dice.exponential(0.000_5);
            }
        });
        let finding = scene.found("two_populations").unwrap();
        assert_eq!(finding.subject.name, "GET /b");
        assert!((0.05..0.15).contains(&finding.gain.unwrap().share()));
    }

    #[test]
    fn slow_work_that_varies_is_a_hint_with_many_responses_and_nothing_with_few() {
        assert_eq!(quarter(60, 0.06, 0.03).found("two_populations"), None);
        let many = quarter(600, 0.06, 0.03).found("two_populations").unwrap();
        assert_eq!(many.confidence, Confidence::Hint);
        assert!(quarter(15, 0.12, 0.0).lacks("two_populations").unwrap().starts_with("200 OK"));
    }

    #[test]
    fn two_endpoints_of_different_speed_are_healthy() {
        let scene = Scene::with(|sample, _, dice| {
            sample.endpoint = u32::from(dice.share() < 0.2);
            sample.wait = if sample.endpoint == 1 { 0.04 } else { 0.001 } + dice.exponential(0.002);
        });
        assert_eq!(scene.found("two_populations"), None);
    }
}
