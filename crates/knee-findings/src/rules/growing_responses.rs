//! Responses that grow over the run: a list without a limit, to which the load itself adds.
//!
//! Needs the run alone.

use knee_core::outcome::Outcome;
use knee_core::record::Point;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::{Evidence, answered};
use crate::figure::percent;
use crate::finding::{Remedy, Signal, Subject, Unit};
use crate::lack::Lack;
use crate::trend::{Trend, trend};

pub(super) const RULE: Rule = Rule {
    code: "growing_responses",
    finds: "responses that grow over the run",
    needs: "the run, with 8 whole intervals of 10 responses each",
    limits: "bytes per response grow by 10 % over the run, and the median response time grows by 10 %, each with a Mann-Kendall score of 2.58 (1 % by chance). Nothing if 5 % of the responses are errors",
    source: "The slope is Theil and Sen's; Mann and Kendall's test needs no distribution. Errors have bodies of another length, so that where their share changes, the mean of all bodies does.",
    cause: "The load creates data, and a response contains all of it: a list without a limit.",
    remedy: "Limit and page the list; or reset the data before each run, so that runs stay comparable.",
    explains: &["growing_cpu"],
    check,
};

const INTERVALS_MIN: usize = crate::trend::FIGURES_MIN;
const RESPONSES_MIN: u64 = 10;
const GROWTH: f64 = 0.1;
const SCORE: f64 = 2.58;
const ERRORS: f64 = 0.05;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut points = evidence.steady();
    points.retain(|point| answered(point) >= RESPONSES_MIN);
    if points.len() < INTERVALS_MIN {
        return Err(Lack::of(format!("{INTERVALS_MIN} whole intervals of 10 responses each")));
    }
    if evidence.all().count(Outcome::HttpError) as f64 >= ERRORS * evidence.answered() as f64 {
        return Ok(Vec::new());
    }
    let of = |figure: fn(&Point) -> f64| {
        let figures: Vec<f64> = points.iter().map(|point| figure(point)).collect();
        trend(&figures).filter(|trend| trend.score >= SCORE).map(|trend: Trend| trend.growth)
    };
    let bytes = of(|point| point.bytes_received as f64 / answered(point) as f64);
    let time = of(|point| point.response.map_or(0.0, |times| times[0].as_secs_f64()));
    let Some(grown) =
        Signal::at_least("growth of bytes per response", Unit::Share, bytes, GROWTH, "the run: bytes")
    else {
        return Ok(Vec::new());
    };
    let slower = Signal::at_least(
        "growth of the median response time",
        Unit::Share,
        time,
        GROWTH,
        "the run: response time",
    );
    Ok(vec![Draft {
        subject: Subject::service(),
        statement: format!("responses grew by {} during the run", percent(grown.figure)),
        signals: [Some(grown), slower].into_iter().flatten().collect(),
        remedy: Remedy::advice("limit and page the list that grows, or reset the data before each run"),
        gain: None,
    }])
}

#[cfg(test)]
mod tests {
    use knee_core::schedule::Curve;

    use crate::Confidence;
    use crate::testing::Scene;

    #[test]
    fn a_list_that_grows_and_slows_down_is_found() {
        let scene = Scene::with(|sample, second, _| {
            sample.body = 2_000 + 100 * second;
            sample.wait *= 1.0 + second as f64 / 30.0;
        });
        assert_eq!(scene.found("growing_responses").unwrap().confidence, Confidence::Likely);
    }

    #[test]
    fn ten_seconds_are_enough_for_growth_that_every_second_shows() {
        let scene = Scene::sized(
            10,
            |_| 100,
            Curve::constant(10.0),
            |sample, second, _| {
                sample.body = 2_000 + 100 * second;
                sample.wait *= 1.0 + second as f64 / 5.0;
            },
        );
        assert!(scene.found("growing_responses").is_some());
    }

    #[test]
    fn errors_with_long_bodies_that_become_more_are_no_growth() {
        let errors = |most: f64| {
            Scene::with(move |sample, second, dice| {
                sample.wait *= 1.0 + second as f64 / 30.0;
                if dice.share() < most * second as f64 / 30.0 {
                    (sample.status, sample.body) = (500, 4_000);
                }
            })
        };
        assert_eq!(errors(0.9).found("growing_responses"), None);
        assert_eq!(errors(0.2).found("growing_responses"), None);
    }

    #[test]
    fn growth_alone_is_a_hint_and_bodies_that_vary_are_healthy() {
        let grows = Scene::with(|sample, second, _| sample.body = 2_000 + 100 * second);
        assert_eq!(grows.found("growing_responses").unwrap().confidence, Confidence::Hint);
        let varies = Scene::with(|sample, _, dice| sample.body = (4_000.0 * dice.share()) as u64);
        assert_eq!(varies.found("growing_responses"), None);
    }
}
