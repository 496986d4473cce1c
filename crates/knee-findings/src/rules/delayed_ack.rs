//! Responses that stand still for 40 ms: Nagle's algorithm at the server and delayed acknowledgements at the client.
//!
//! Needs the run alone. Does not look at times of other lengths.

use knee_core::outcome::Outcome;
use knee_core::tally::Phase;
use knee_core::unit::Nanos;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, Unit};
use crate::histogram::{prominence, share_within};
use crate::lack::Lack;

pub(super) const RULE: Rule = Rule {
    code: "delayed_ack",
    finds: "responses that stand still for 40 ms because of Nagle's algorithm and delayed acknowledgements",
    needs: "the run, with 200 responses",
    limits: "1 % of the responses arrive for 38 to 46 ms, 4 times as many as for 30 to 38 ms; half of the waits for the first byte are under 20 ms; bodies have a mean of 16 KiB at most; with larger ones, which can be on their way for as long, a hint. A step in the wait alone, with 60 % of all that take longer than 30 ms, is a hint",
    source: "Linux acknowledges after 40 ms at the earliest (TCP_DELACK_MIN). Such steps are reported in hyper issue 944 and for many servers.",
    cause: "The server writes head and body apart. Nagle's algorithm holds the second part back until the client has acknowledged the first, and the client waits 40 ms before it acknowledges.",
    remedy: "Write head and body at once, or set TCP_NODELAY on the server's sockets.",
    explains: &["two_populations"],
    check,
};

const FROM: Nanos = Nanos::from_millis(38);
const TO: Nanos = Nanos::from_millis(46);
/// Share of the responses.
const SHARE: f64 = 0.01;
/// Times the density below the band.
const PROMINENCE: f64 = 4.0;
/// The service alone must be far faster than the step: half of the waits, in seconds.
const FAST: f64 = 0.02;
/// Bytes that no network needs 40 ms for.
const SMALL_BODY: f64 = 16_384.0;
/// Share of the requests that must be fast if the step is in the wait itself.
const FAST_SHARE: f64 = 0.1;
/// Share that the step must have of everything from 30 ms on, if it is in the wait itself.
const CONCENTRATED: f64 = 0.6;
const RESPONSES_MIN: u64 = 200;
/// The step in seconds.
const STEP: f64 = 0.04;
/// A round trip that is no part of the step, in seconds.
const NEAR: f64 = 0.01;

fn check(evidence: &Evidence<'_>) -> Checked {
    let answered = evidence.answered();
    if answered < RESPONSES_MIN {
        return Err(Lack::of(format!("{RESPONSES_MIN} responses")));
    }
    let share = standing(evidence);
    if share.is_none() {
        return Ok(step_in_wait(evidence).into_iter().collect());
    }
    let wait = evidence.phase(Phase::Wait).quantile(0.5).map(Nanos::as_secs_f64);
    let body = evidence.all().bytes_body as f64 / answered as f64;
    // A large body can be on its way for as long.
    let is_small = body <= SMALL_BODY;
    let wait = wait.filter(|_| is_small);
    let what = if is_small {
        "stand still for 40 ms after their first byte: delayed acknowledgements"
    } else {
        "arrive for about 40 ms after their first byte: delayed acknowledgements, perhaps"
    };
    let signals = [
        Signal::at_least(
            "share of responses that arrive for 38 to 46 ms",
            Unit::Share,
            share,
            SHARE,
            "the run: receive",
        ),
        Signal::at_most("median wait for the first byte", Unit::Seconds, wait, FAST, "the run: wait"),
        Signal::at_most("mean body", Unit::Bytes, Some(body), SMALL_BODY, "the run: bytes"),
    ];
    Ok(vec![Draft {
        subject: Subject::service(),
        statement: format!("{} of the responses {what}", percent(share.unwrap_or(0.0))),
        signals: signals.into_iter().flatten().collect(),
        remedy: Remedy::advice("write head and body at once, or set TCP_NODELAY on the server's sockets"),
        gain: gain(evidence, share),
    }])
}

/// Seconds per response that it stands still between its first and its last byte, on a network whose round trips are short;
/// zero if nothing says so.
pub(super) fn standing_time(evidence: &Evidence<'_>) -> f64 {
    let near = evidence.round_trip().is_some_and(|seconds| seconds < NEAR);
    standing(evidence).filter(|_| near).unwrap_or(0.0) * STEP
}

/// Share of the responses that stand still between their first and their last byte; `None` if nothing says so.
fn standing(evidence: &Evidence<'_>) -> Option<f64> {
    let receive = evidence.phase(Phase::Receive);
    let share = share_within(receive, FROM, TO).filter(|share| *share >= SHARE);
    share.filter(|_| prominence(receive, FROM, TO) >= PROMINENCE)
}

/// The same step before the first byte: between the service and a store, for example.
fn step_in_wait(evidence: &Evidence<'_>) -> Option<Draft> {
    let service = &evidence.all().outcomes[Outcome::Ok as usize].service;
    let share = share_within(service, FROM, TO).filter(|share| *share >= SHARE);
    let fast = share_within(service, Nanos::ZERO, Nanos::from_secs_f64(FAST))?;
    let slow = share_within(service, Nanos::from_millis(30), Nanos::MAX)?;
    let concentrated = share.is_some_and(|share| share >= CONCENTRATED * slow);
    if prominence(service, FROM, TO) < PROMINENCE || fast < FAST_SHARE || !concentrated {
        return None;
    }
    let what = "share of requests that take 38 to 46 ms";
    let signal = Signal::at_least(what, Unit::Share, share, SHARE, "the run: service time")?;
    let median = service.quantile(0.5).map_or(0.0, Nanos::as_secs_f64);
    Some(Draft {
        subject: Subject::service(),
        statement: format!(
            "{} of the requests take about 40 ms, where half take {} at most: a delayed acknowledgement, perhaps",
            percent(share?),
            seconds(median)
        ),
        signals: vec![signal],
        remedy: Remedy::advice("set TCP_NODELAY on the connections of the service to its stores"),
        gain: gain(evidence, share),
    })
}

fn gain(evidence: &Evidence<'_>, share: Option<f64>) -> Option<Gain> {
    Gain::saves(
        evidence.response_mean(),
        share.map(|share| share * STEP),
        "40 ms for each of these responses",
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::Scene;
    use crate::{Confidence, Gain};

    #[test]
    fn a_server_that_writes_head_and_body_apart_is_found_although_every_response_has_the_step() {
        let scene = Scene::with(|sample, _, dice| sample.receive = 0.040 + 0.003 * dice.share());
        let finding = scene.found("delayed_ack").unwrap();
        assert_eq!(finding.confidence, Confidence::Strong, "{finding:?}");
        let Some(Gain::MeanResponse { from, to, .. }) = finding.gain else { panic!() };
        assert!(from > 0.045 && to < 0.008);
    }

    #[test]
    fn a_step_of_large_bodies_is_a_hint_because_they_can_be_on_their_way_for_as_long() {
        let scene = Scene::with(|sample, _, dice| {
            (sample.receive, sample.body) = (0.040 + 0.003 * dice.share(), 200_000);
        });
        let finding = scene.found("delayed_ack").unwrap();
        assert_eq!(finding.confidence, Confidence::Hint);
        assert!(finding.statement.ends_with("delayed acknowledgements, perhaps"), "{}", finding.statement);
    }

    #[test]
    fn a_step_in_the_wait_alone_is_a_hint() {
        let scene = Scene::with(|sample, _, dice| {
            if dice.share() < 0.05 {
                sample.wait += 0.040;
            }
        });
        assert_eq!(scene.found("delayed_ack").unwrap().confidence, Confidence::Hint);
    }

    #[test]
    fn a_service_that_works_for_40_ms_is_healthy() {
        let spread = Scene::with(|sample, _, dice| sample.wait = 0.020 + dice.exponential(0.020));
        assert_eq!(spread.found("delayed_ack"), None);
        let constant = Scene::with(|sample, _, dice| sample.wait = 0.041 + 0.003 * dice.share());
        assert_eq!(constant.found("delayed_ack"), None);
        assert_eq!(Scene::steady().found("delayed_ack"), None);
    }

    #[test]
    fn large_bodies_that_arrive_for_a_while_are_healthy() {
        let scene = Scene::with(|sample, _, dice| {
            (sample.receive, sample.body) = (0.005 + dice.exponential(0.030), 4_000_000);
        });
        assert_eq!(scene.found("delayed_ack"), None);
    }
}
