//! Bodies so large that their transfer takes much of the time: without compression, or with too much in them.
//!
//! Needs the run alone. Where text was not compressed, `no_compression` says so instead.

use knee_core::tally::Phase;

use super::delayed_ack;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Gain, Remedy, Signal, Subject, Unit};
use crate::lack::Lack;

pub(super) const RULE: Rule = Rule {
    code: "transfer",
    finds: "large bodies whose transfer takes much of the time",
    needs: "the run, with 50 responses",
    limits: "bodies have a mean of 32 KiB; their arrival takes 30 % of the service time, and 1 ms",
    source: "32 KiB are more than the first flight of a TCP connection (10 segments, RFC 6928), so that the network decides.",
    cause: "The service sends much, perhaps without compression, or the network is slow.",
    remedy: "Compress text (gzip, zstd), send only what is needed, or send it in pages.",
    explains: &[],
    check,
};

/// It compares means, to which one response of 50 adds a fiftieth.
const RESPONSES_MIN: u64 = 50;
const BODY: f64 = 32_768.0;
const SHARE: f64 = 0.3;
/// Seconds.
const RECEIVE_MIN: f64 = 0.001;

fn check(evidence: &Evidence<'_>) -> Checked {
    let answered = evidence.answered();
    if answered < RESPONSES_MIN {
        return Err(Lack::of(format!("{RESPONSES_MIN} responses")));
    }
    let body = evidence.all().bytes_body as f64 / answered as f64;
    // What stands still for an acknowledgement is not on its way.
    let standing = delayed_ack::standing_time(evidence);
    let receive = evidence.phase(Phase::Receive).mean().map(|nanos| (nanos / 1e9 - standing).max(0.0));
    let share = receive.zip(evidence.service_mean()).map(|(receive, service)| receive / service);
    if body < BODY
        || receive.is_none_or(|receive| receive < RECEIVE_MIN)
        || share.is_none_or(|share| share < SHARE)
    {
        return Ok(Vec::new());
    }
    let signals = [
        Signal::at_least("mean body", Unit::Bytes, Some(body), BODY, "the run: bytes"),
        Signal::at_least(
            "share of the service time in which bodies arrive",
            Unit::Share,
            share,
            SHARE,
            "the run: receive",
        ),
    ];
    Ok(vec![Draft {
        subject: Subject::service(),
        statement: format!(
            "bodies of {} KiB take {} of the service time to arrive",
            number(body / 1024.0),
            percent(share.unwrap_or(0.0))
        ),
        signals: signals.into_iter().flatten().collect(),
        remedy: Remedy::advice("compress bodies, if they are not, and send only what is needed"),
        gain: Gain::saves(evidence.response_mean(), receive, "the time in which bodies arrive"),
    }])
}

#[cfg(test)]
mod tests {
    use crate::testing::Scene;

    #[test]
    fn large_bodies_that_arrive_slowly_are_found_and_fast_or_small_ones_are_not() {
        let of = |receive, body| {
            Scene::with(move |sample, _, _| (sample.receive, sample.body) = (receive, body)).found("transfer")
        };
        assert_eq!(of(0.012, 400_000).unwrap().evidence.len(), 2);
        assert_eq!(of(0.000_2, 400_000), None, "a fast network");
        assert_eq!(of(0.012, 2_000), None, "a slow start of a small body");
    }
}
