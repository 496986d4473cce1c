//! Connections that are opened again and again: without TLS as `no_keep_alive`, with TLS as `tls_handshakes`.
//!
//! Needs the run alone. Whether the user turned keep-alive off is not in the record; that the server closes connections unasked
//! is, in sampled responses.

use knee_core::observation::SourceKind;
use knee_core::tally::Phase;

use super::no_compression::SAMPLED_MIN;
use super::syn_retransmit;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Gain, Remedy, Signal, Subject, Unit};
use crate::lack::Lack;

const LIMITS: &str = "0.05 connections per request beyond the first of each virtual user, and those of WebSockets and of streams of events, which need one each; opening them takes 10 % of the response time, without connections of 1 s and more that needed a repeated SYN; 1,000 sockets wait to be reused (needs `host`); the server says of half of 20 sampled responses that it closes the connection, although the request did not ask for that. Connections alone are a hint from 0.5 per request on";
const SOURCE: &str = "A connection that is kept serves hundreds of requests; one in 20 already shows in the CPU time of both sides.";

pub(super) const KEEP_ALIVE: Rule = Rule {
    code: "no_keep_alive",
    finds: "connections without TLS that are not kept",
    needs: "the run, with 200 requests",
    limits: LIMITS,
    source: SOURCE,
    cause: "The service or a proxy closes connections after each response or after few, or keep-alive was turned off for the load.",
    remedy: "Let the service and every proxy keep connections open; raise limits of requests per connection.",
    explains: &[],
    check: check_plain,
};

pub(super) const TLS: Rule = Rule {
    code: "tls_handshakes",
    finds: "TLS handshakes for connections that are not kept",
    needs: "the run, with 200 requests over TLS",
    limits: LIMITS,
    source: SOURCE,
    cause: "Each new connection costs a handshake: one or two round trips, and a signature of the server if no session is resumed.",
    remedy: "Let the service and every proxy keep connections open; allow sessions to be resumed.",
    explains: &["no_keep_alive"],
    check: check_tls,
};

const REQUESTS_MIN: u64 = 200;
const PER_REQUEST: f64 = 0.05;
const PER_REQUEST_ALONE: f64 = 0.5;
const TIME_SHARE: f64 = 0.1;
const WAITING: f64 = 1_000.0;
const CLOSING: f64 = 0.5;

fn check_plain(evidence: &Evidence<'_>) -> Checked {
    let advice = "let the service and every proxy keep connections open, unless keep-alive was turned off for this load";
    check(evidence, "connections", advice)
}

fn check_tls(evidence: &Evidence<'_>) -> Checked {
    if evidence.phase(Phase::Tls).count() == 0 {
        return Err(Lack::of("a load over TLS that opens connections in the measured time"));
    }
    let advice =
        "let the service and every proxy keep connections open, and allow TLS sessions to be resumed";
    check(evidence, "TLS connections", advice)
}

fn check(evidence: &Evidence<'_>, what: &str, advice: &str) -> Checked {
    let all = evidence.all();
    if all.planned < REQUESTS_MIN {
        return Err(Lack::of(format!("{REQUESTS_MIN} requests")));
    }
    let users = evidence.run.head.plan.users_max();
    let of_its_own = evidence.sockets().saturating_add(evidence.phase(Phase::FirstEvent).count());
    let kept = users.saturating_add(of_its_own);
    let beyond = all.connections.saturating_sub(kept) as f64 / all.planned as f64;
    if beyond < PER_REQUEST {
        return Ok(Vec::new());
    }
    let opening: f64 =
        [Phase::Connect, Phase::Tls].iter().map(|phase| evidence.phase(*phase).sum() as f64 / 1e9).sum();
    // What lost packets took is not what opening takes.
    let waited = syn_retransmit::waited(evidence).unwrap_or(0.0);
    let per_response = (opening / evidence.answered().max(1) as f64 - waited).max(0.0);
    let share = evidence.response_mean().map(|mean| per_response / mean);
    let host = evidence.sources(SourceKind::Host);
    let waiting = host.first().and_then(|host| host.mean("host.tcp.sockets", "time_wait"));
    let signals: Vec<Signal> = [
        Signal::at_least(
            "connections per request",
            Unit::Count,
            Some(beyond),
            PER_REQUEST,
            "the run: connections",
        ),
        Signal::at_least(
            "share of the response time for opening them",
            Unit::Share,
            share,
            TIME_SHARE,
            "the run: connect, tls",
        ),
        Signal::at_least(
            "sockets that wait to be reused",
            Unit::Count,
            waiting,
            WAITING,
            "/proc/net/sockstat",
        ),
    ]
    .into_iter()
    .flatten()
    .chain(closing(evidence))
    .collect();
    if signals.len() < 2 && beyond < PER_REQUEST_ALONE {
        return Ok(Vec::new());
    }
    Ok(vec![Draft {
        subject: Subject::service(),
        statement: format!(
            "the load opens {} {what} per request; this takes {} of the response time",
            number(beyond),
            share.map_or("an unknown part".to_owned(), percent)
        ),
        signals,
        remedy: Remedy::advice(advice),
        gain: Gain::saves(evidence.response_mean(), Some(per_response), "the time in which connections open"),
    }])
}

/// That the server closes the connections, as it says in its responses.
fn closing(evidence: &Evidence<'_>) -> Option<Signal> {
    let looks = evidence.sampled().ok()?.endpoints.values();
    let (closing, all) = looks.fold((0.0, 0.0), |(closing, all), looks| {
        (closing + looks.closing as f64, all + looks.responses as f64)
    });
    let share = (all >= SAMPLED_MIN as f64).then(|| closing / all);
    let what = "responses after which the server closes the connection";
    Signal::at_least(what, Unit::Share, share, CLOSING, "the run: sampled responses")
}

#[cfg(test)]
mod tests {
    use knee_core::plan::EndpointId;
    use knee_core::sampled::Looks;

    use crate::Confidence;
    use crate::testing::Scene;

    #[test]
    fn a_connection_per_request_that_takes_time_is_found() {
        let scene = Scene::with(|sample, _, _| sample.connect = Some(0.002));
        assert_eq!(scene.found("no_keep_alive").unwrap().confidence, Confidence::Likely);
        assert_eq!(
            scene.lacks("tls_handshakes").unwrap(),
            "a load over TLS that opens connections in the measured time"
        );
    }

    #[test]
    fn handshakes_explain_the_connections_that_they_belong_to() {
        let scene = Scene::with(|sample, _, _| (sample.connect, sample.tls) = (Some(0.000_5), Some(0.003)));
        assert_eq!(scene.found("tls_handshakes").unwrap().confidence, Confidence::Likely);
        assert_eq!(scene.found("no_keep_alive"), None);
    }

    #[test]
    fn cheap_connections_are_a_hint_if_every_request_opens_one_and_nothing_if_few_do() {
        let every = Scene::with(|sample, _, _| sample.connect = Some(0.000_05));
        assert_eq!(every.found("no_keep_alive").unwrap().confidence, Confidence::Hint);
        let mut closed = every.clone();
        let looks = Looks { responses: 900, closing: 900, ..Looks::default() };
        closed.run.sampled.endpoints.insert(EndpointId(0), looks);
        assert_eq!(
            closed.found("no_keep_alive").unwrap().confidence,
            Confidence::Likely,
            "the server says so"
        );
        let few = Scene::with(|sample, _, dice| sample.connect = (dice.share() < 0.1).then_some(0.000_05));
        assert_eq!(few.found("no_keep_alive"), None);
        assert_eq!(Scene::steady().found("no_keep_alive"), None);
    }
}
