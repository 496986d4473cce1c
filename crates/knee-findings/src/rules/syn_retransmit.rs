//! Connections that take 1 s or 3 s, because the first packet of the handshake was lost or refused.
//!
//! Needs the run alone. Does not say where the packet was lost; `accept_queue` does.

use knee_core::histogram::Histogram;
use knee_core::outcome::Fault;
use knee_core::tally::Phase;
use knee_core::unit::Nanos;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Gain, Remedy, Signal, Subject, Unit};
use crate::histogram::{count_within, prominence};
use crate::lack::Lack;

pub(super) const RULE: Rule = Rule {
    code: "syn_retransmit",
    finds: "connections that wait 1 s or 3 s for a repeated SYN",
    needs: "the run, with 20 connections",
    limits: "3 connections take 0.98 to 1.25 s, 4 times as many as for 0.71 to 0.98 s; 2 take 2.95 to 3.4 s; one did not open within its time limit",
    source: "Linux repeats a SYN after 1 s, then after twice the time (RFC 6298, section 2).",
    cause: "The SYN was lost, or the queue of accepted connections of the server was full: the service accepts too slowly, or its backlog is short.",
    remedy: "Raise the backlog of the listening socket and net.core.somaxconn, accept in more threads, or keep connections open.",
    explains: &[],
    check,
};

const CONNECTS_MIN: u64 = 20;
const FIRST: [Nanos; 2] = [Nanos::from_millis(980), Nanos::from_millis(1_250)];
const SECOND: [Nanos; 2] = [Nanos::from_millis(2_950), Nanos::from_millis(3_400)];
const FIRST_MIN: f64 = 3.0;
const SECOND_MIN: f64 = 2.0;
const PROMINENCE: f64 = 4.0;

/// Connections that needed a second SYN; `None` if they do not stand out.
pub(super) fn repeated(connects: &Histogram) -> Option<u64> {
    let first = count_within(connects, FIRST[0], FIRST[1]);
    (first as f64 >= FIRST_MIN && prominence(connects, FIRST[0], FIRST[1]) >= PROMINENCE).then_some(first)
}

/// Seconds per response in connections that needed a repeated SYN; `None` if there are none.
pub(super) fn waited(evidence: &Evidence<'_>) -> Option<f64> {
    let connects = evidence.phase(Phase::Connect);
    repeated(connects)?;
    let slow = connects.iter().filter(|(lowest, _, _)| *lowest >= FIRST[0]);
    let seconds: f64 = slow.map(|(lowest, _, count)| lowest.as_secs_f64() * count as f64).sum();
    Some(seconds / evidence.answered().max(1) as f64)
}

fn check(evidence: &Evidence<'_>) -> Checked {
    let connects = evidence.phase(Phase::Connect);
    if connects.count() < CONNECTS_MIN {
        return Err(Lack::of(format!("{CONNECTS_MIN} connections in the measured time")));
    }
    let Some(first) = repeated(connects) else { return Ok(Vec::new()) };
    let second = count_within(connects, SECOND[0], SECOND[1]);
    let faults = evidence.all().faults.iter().filter(|tally| tally.fault == Fault::ConnectTimeout);
    let timeouts: u64 = faults.map(|tally| tally.count).sum();
    let at_least = |what: &str, count: u64, limit| {
        Signal::at_least(what, Unit::Count, Some(count as f64), limit, "the run: connect")
    };
    let signals = [
        at_least("connections that took 0.98 to 1.25 s", first, FIRST_MIN),
        at_least("connections that took 2.95 to 3.4 s", second, SECOND_MIN),
        at_least("connections that did not open in time", timeouts, 1.0),
    ];
    Ok(vec![Draft {
        subject: Subject::service(),
        statement: format!(
            "{} of {} connections waited 1 s or longer for a repeated SYN",
            number((first + second) as f64),
            number(connects.count() as f64)
        ),
        signals: signals.into_iter().flatten().collect(),
        remedy: Remedy::advice("raise the backlog of the listening socket, and keep connections open"),
        gain: Gain::saves(
            evidence.response_mean(),
            waited(evidence),
            "the seconds that these connections waited",
        ),
    }])
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::Scene;

    #[test]
    fn steps_of_one_and_three_seconds_are_repeated_syns() {
        let mut opened = 0;
        let scene = Scene::with(|sample, _, _| {
            opened += 1;
            if opened % 10 == 0 {
                sample.connect = Some(match opened % 1_000 {
                    10 => 1.02,
                    500 => 3.05,
                    _ => 0.000_3,
                });
            }
        });
        assert_eq!(scene.found("syn_retransmit").unwrap().confidence, Confidence::Likely);
    }

    #[test]
    fn slow_connections_of_all_lengths_are_no_step() {
        let scene = Scene::with(|sample, _, dice| sample.connect = Some(0.2 + dice.exponential(0.5)));
        assert_eq!(scene.found("syn_retransmit"), None);
    }

    #[test]
    fn a_run_that_keeps_its_connections_has_too_few_of_them() {
        assert_eq!(Scene::steady().lacks("syn_retransmit").unwrap(), "20 connections in the measured time");
    }
}
