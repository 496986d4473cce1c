//! One endpoint with two kinds of response times: a cache that misses, a slow instance, a slow path.
//!
//! Needs the run alone, and so gives hints only: what tells the two apart is not in the record. Does not look at
//! differences between endpoints.

use knee_core::outcome::Outcome;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{percent, seconds};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::histogram::two_modes;
use crate::lack::Lack;

pub(super) const RULE: Rule = Rule {
    code: "two_populations",
    finds: "an endpoint with two separate groups of response times",
    needs: "the run, with 2,000 OK responses of one endpoint, of a load generator that did not pause itself",
    limits: "each group has 5 % of the responses; the density between them is 25 % of the lower one at most; the slow group takes 3 times as long and at least 5 ms. Always a hint",
    source: "A valley of 50 % is the usual mark of two modes; half of it keeps skewed distributions out.",
    cause: "Some requests take another path: a cache that misses, one slow instance of several, another amount of data.",
    remedy: "Load the two paths as endpoints of their own, and compare them.",
    explains: &[],
    check,
};

const RESPONSES_MIN: u64 = 2_000;
const LEAST: f64 = 0.05;
const VALLEY: f64 = 0.25;
const APART: f64 = 3.0;
/// Seconds.
const SLOW_MIN: f64 = 0.005;

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
        return Err(Lack::of("2,000 OK responses of one endpoint"));
    }
    let mut drafts = Vec::new();
    for (place, service) in large {
        let Some(modes) = two_modes(service, LEAST) else { continue };
        let valley = Signal::at_most(
            "density between the two groups, of the lower one",
            Unit::Share,
            Some(modes.valley),
            VALLEY,
            "the run: service time",
        );
        if modes.slow < APART * modes.fast || modes.slow < SLOW_MIN {
            continue;
        }
        let name = evidence.run.endpoints.get(place).map_or("", |endpoint| endpoint.name.as_str());
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Endpoint, name, None),
            statement: format!(
                "{} of the requests take about {}, the others about {}: two groups",
                percent(modes.slow_share),
                seconds(modes.slow),
                seconds(modes.fast)
            ),
            signals: valley.into_iter().collect(),
            remedy: Remedy::advice(
                "find what the slow requests have in common: a cache that misses, one instance, one path",
            ),
            gain: None,
        });
    }
    Ok(drafts)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn two_endpoints_of_different_speed_are_healthy() {
        let scene = Scene::with(|sample, _, dice| {
            sample.endpoint = u32::from(dice.share() < 0.2);
            sample.wait = if sample.endpoint == 1 { 0.04 } else { 0.001 } + dice.exponential(0.002);
        });
        assert_eq!(scene.found("two_populations"), None);
    }
}
