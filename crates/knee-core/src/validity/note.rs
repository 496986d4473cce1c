//! Facts that do not affect the validity: one entry per note, with its text for `knee explain`.
//!
//! Does not judge; see [`super::rule`].

use super::diagnostics::{Diagnostics, Http2Offer};
use super::figure::count;
use super::rule::lag;
use crate::unit::Nanos;

/// One note.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    /// Short, stable name.
    pub code: &'static str,
    /// What it means, and what can be done.
    pub meaning: &'static str,
    text: fn(&Diagnostics) -> Option<String>,
}

impl Note {
    /// The note as it is shown, with its code, if the diagnostics call for it.
    pub fn of(&self, diagnostics: &Diagnostics) -> Option<String> {
        (self.text)(diagnostics).map(|text| format!("{text} [{}]", self.code))
    }
}

/// Every note, in the order in which they are shown.
pub const NOTES: &[Note] = &[
    Note {
        code: "interrupted",
        meaning: "A signal or a key ended the run before the end of its plan. Rates refer to the time until the run was stopped.",
        text: interrupted,
    },
    Note {
        code: "steered",
        meaning: "A person changed the planned rate during the run, on the live page. The result is that of all rates together. The plan in the report says when the rate changed, and to what. Runs that were steered are not compared with others in trends.",
        text: steered,
    },
    Note {
        code: "co_located",
        meaning: "The target and knee take CPU time from each other, so the result describes both together. The warning `run_delay` appears only if knee's waits for a CPU make the measured times longer. To measure the service alone, load it from another machine, or give each program its own CPUs with `taskset`.",
        text: co_located,
    },
    Note {
        code: "http2",
        meaning: "The target chooses HTTP/2 if a client offers it in the TLS handshake. Browsers and scripts offer it; this load used HTTP/1.1. With HTTP/2, requests share connections, so connections, times and the work of the server differ. Compare the result only with others over HTTP/1.1, or load with `--http2`. knee asked by one more handshake after the load.",
        text: http2,
    },
    Note {
        code: "unmeasured",
        meaning: "This platform does not report CPU use per thread, CPU waits, CPU limits or stolen time. Generator lag and loop lag still show long delays, whatever their cause. On Linux, knee measures all of these figures.",
        text: unmeasured,
    },
    Note {
        code: "small_lag",
        meaning: "Some requests were sent a little late. Either the generator lag is under 1 ms but large compared with the response time, or only a few requests were late. Service times do not contain the lag.",
        text: small_lag,
    },
    Note {
        code: "short",
        meaning: "knee measures its CPU use in complete intervals of 1 s. The run was too short for a complete interval.",
        text: short,
    },
    Note {
        code: "censored",
        meaning: "Requests were still open when the run and its grace period ended. Their age counts in the percentiles as a lower bound. A request counts as stuck if it was open for more than twice the p99 of the answered requests.",
        text: censored,
    },
    Note {
        code: "from_warm_up",
        meaning: "These requests were scheduled in the warm-up and stayed open during the whole measurement. In a closed load, they count as measured, because their virtual users sent no other request that would show the wait.",
        text: from_warm_up,
    },
    Note {
        code: "churn",
        meaning: "knee opened more connections than there are virtual users. If keep-alive is on, the reason is that the server or a proxy closes connections. Response times contain the time to open connections.",
        text: churn,
    },
    Note {
        code: "resent",
        meaning: "The server closed an idle connection while knee was sending a request on it. knee repeated the request on a new connection.",
        text: resent,
    },
    Note {
        code: "redirects",
        meaning: "Redirects led to a host or port that is not under load. knee did not follow them, because otherwise a server could steer the load to another service. The redirect counts as the response. To load its target too, give the target's URL (`--urls-from-file`).",
        text: redirects,
    },
    Note {
        code: "trailing_bytes",
        meaning: "The server sent bytes after the end of a response, although there was no further request. knee closed such connections.",
        text: trailing_bytes,
    },
    Note {
        code: "descriptors",
        meaning: "Few file descriptors are left. For more connections, raise the limit (`ulimit -n`).",
        text: descriptors,
    },
    Note {
        code: "bodies",
        meaning: "The responses have many different bodies. Check whether some of them are error pages.",
        text: different_bodies,
    },
    Note {
        code: "lengths",
        meaning: "Responses of one endpoint have bodies of different lengths. Check whether some of them are error pages.",
        text: different_lengths,
    },
    Note {
        code: "empty",
        meaning: "Some responses have an empty body. If the endpoint should return a body, check it.",
        text: empty_bodies,
    },
];

fn interrupted(diagnostics: &Diagnostics) -> Option<String> {
    diagnostics.run.interrupted.then(|| "the run was interrupted before its plan ended".to_owned())
}

fn steered(diagnostics: &Diagnostics) -> Option<String> {
    let changes = diagnostics.run.changes_of_rate;
    let times = if changes == 1 { "once".to_owned() } else { format!("{} times", count(changes)) };
    (changes > 0).then(|| format!("the rate was changed by hand {times}"))
}

fn co_located(diagnostics: &Diagnostics) -> Option<String> {
    let shared = diagnostics.run.co_located == Some(true);
    shared.then(|| "target and generator share this machine's CPUs".to_owned())
}

fn http2(diagnostics: &Diagnostics) -> Option<String> {
    Some(match diagnostics.run.http2? {
        Http2Offer::OnRequest => "the target also offers HTTP/2; this load used HTTP/1.1".to_owned(),
        Http2Offer::TakenByK6 => "k6 would speak HTTP/2 here; this load used HTTP/1.1".to_owned(),
    })
}

fn unmeasured(diagnostics: &Diagnostics) -> Option<String> {
    let portable = diagnostics.run.intervals > 0 && diagnostics.generator.worker_cpu_max.is_none();
    portable.then(|| "this platform reports no CPU use, CPU waits or stolen time".to_owned())
}

/// A smaller lag is not noted.
const LAG_NOTED: Nanos = Nanos::from_micros(100);

/// A lag too small for a rule can still be much of a very fast response, or affect only a few.
fn small_lag(diagnostics: &Diagnostics) -> Option<String> {
    // What the warning says is not said twice.
    if lag::warns(diagnostics) {
        return None;
    }
    let (lag, response) = (diagnostics.generator.lag?, diagnostics.requests.response?);
    if lag.p99 > LAG_NOTED && lag.p99.0 > response.p99.0 / 4 {
        return Some(format!(
            "generator lag p99 {} is large compared with response time p99 {}",
            lag.p99, response.p99
        ));
    }
    let rare = lag.max > Nanos::from_millis(100) && lag.max > response.p99;
    rare.then(|| format!("a few requests were sent up to {} late", lag.max))
}

fn short(diagnostics: &Diagnostics) -> Option<String> {
    let short = diagnostics.run.intervals == 0 && diagnostics.requests.accounting.planned > 0;
    short.then(|| "the run was too short to measure knee's CPU use".to_owned())
}

fn censored(diagnostics: &Diagnostics) -> Option<String> {
    let requests = &diagnostics.requests;
    let (open, oldest) = requests.censored?;
    let text = match open {
        1 => format!("1 request was open at the end, for {oldest}"),
        open => format!("{} requests were open at the end, the oldest for {oldest}", count(open)),
    };
    Some(match requests.censored_stuck {
        0 => text,
        1 => format!("{text}; 1 is stuck"),
        stuck => format!("{text}; {} are stuck", count(stuck)),
    })
}

fn from_warm_up(diagnostics: &Diagnostics) -> Option<String> {
    match diagnostics.requests.from_warm_up {
        0 => None,
        1 => Some("1 request spanned the measurement".to_owned()),
        spanning => Some(format!("{} requests spanned the measurement", count(spanning))),
    }
}

/// Share of the requests that opened a connection beyond the first of each user.
const CHURN: f64 = 0.01;

/// The plan does not say whether connections should be kept, so this is a note, not a warning.
fn churn(diagnostics: &Diagnostics) -> Option<String> {
    let planned = diagnostics.requests.accounting.planned;
    let opened = diagnostics.requests.connections_opened;
    let share = opened.saturating_sub(diagnostics.load.vus_max) as f64 / planned.max(1) as f64;
    (share > CHURN)
        .then(|| format!("{} connections were opened for {} requests", count(opened), count(planned)))
}

fn resent(diagnostics: &Diagnostics) -> Option<String> {
    let resent = diagnostics.requests.resent;
    (resent > 0).then(|| format!("{} requests were repeated on a new connection", count(resent)))
}

fn redirects(diagnostics: &Diagnostics) -> Option<String> {
    let refused = diagnostics.requests.redirects_refused;
    (refused > 0).then(|| format!("{} redirects to another host or port were not followed", count(refused)))
}

/// Above a thousandth of the requests it is a warning instead.
fn trailing_bytes(diagnostics: &Diagnostics) -> Option<String> {
    let surplus = diagnostics.requests.surplus;
    (surplus > 0).then(|| format!("{} responses had unexpected trailing bytes", count(surplus)))
}

/// Share of the limit.
const DESCRIPTORS: f64 = 0.8;

fn descriptors(diagnostics: &Diagnostics) -> Option<String> {
    let (open, limit) = diagnostics.generator.descriptors?;
    let full = limit > 0 && open as f64 / limit as f64 > DESCRIPTORS;
    full.then(|| format!("{} of {} file descriptors were in use", count(open), count(limit)))
}

/// More different bodies than a page that varies a little.
const BODIES: u64 = 16;

fn different_bodies(diagnostics: &Diagnostics) -> Option<String> {
    let (different, more) = diagnostics.requests.bodies;
    let at_least = if more { "more than " } else { "" };
    (more || different > BODIES).then(|| format!("responses had {at_least}{different} different bodies"))
}

fn different_lengths(diagnostics: &Diagnostics) -> Option<String> {
    let endpoints = diagnostics.requests.endpoints_of_many_lengths;
    (endpoints > 0).then(|| format!("{endpoints} of the endpoints returned bodies of different lengths"))
}

fn empty_bodies(diagnostics: &Diagnostics) -> Option<String> {
    let endpoints = diagnostics.requests.endpoints_of_empty_bodies;
    (endpoints > 0).then(|| format!("{endpoints} of the endpoints returned empty bodies"))
}

#[cfg(test)]
mod tests {
    use super::super::judge::judge;
    use super::super::rule::testing::{healthy, micros};
    use super::super::{Validity, rule::RULES};
    use super::*;

    /// The notes of a healthy run after `change`.
    fn noted(change: impl Fn(&mut Diagnostics)) -> Vec<String> {
        let mut diagnostics = healthy();
        change(&mut diagnostics);
        let report = judge(diagnostics);
        assert_eq!(report.validity, Validity::Valid, "{:?}", report.warnings);
        report.notes
    }

    #[test]
    fn a_code_means_one_note_or_one_rule() {
        let mut codes: Vec<_> = NOTES.iter().map(|note| note.code).collect();
        codes.extend(RULES.iter().map(|rule| rule.code));
        let all = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), all);
    }

    #[test]
    fn an_interruption_and_a_shared_machine_are_notes_and_no_warnings() {
        assert_eq!(
            noted(|d| d.run.interrupted = true),
            ["the run was interrupted before its plan ended [interrupted]"]
        );
        assert_eq!(
            noted(|d| d.run.co_located = Some(true)),
            ["target and generator share this machine's CPUs [co_located]"]
        );
    }

    #[test]
    fn an_offer_of_http_2_that_was_not_taken_is_noted_and_scripts_hear_what_k6_would_do() {
        let offer = |offer| noted(move |d| d.run.http2 = offer);
        assert!(offer(None).is_empty());
        assert_eq!(
            offer(Some(Http2Offer::OnRequest)),
            ["the target also offers HTTP/2; this load used HTTP/1.1 [http2]"]
        );
        assert_eq!(
            offer(Some(Http2Offer::TakenByK6)),
            ["k6 would speak HTTP/2 here; this load used HTTP/1.1 [http2]"]
        );
    }

    #[test]
    fn requests_open_at_the_end_are_noted_with_their_age_and_the_stuck_ones_counted() {
        let open = |stuck| {
            noted(move |d| {
                (d.requests.censored, d.requests.censored_stuck) = (Some((3, Nanos::from_secs(9))), stuck);
            })
        };
        assert_eq!(open(0), ["3 requests were open at the end, the oldest for 9.00 s [censored]"]);
        assert_eq!(
            open(2),
            ["3 requests were open at the end, the oldest for 9.00 s; 2 are stuck [censored]"]
        );
        let one =
            noted(|d| (d.requests.censored, d.requests.censored_stuck) = (Some((1, Nanos::from_secs(9))), 1));
        assert_eq!(one, ["1 request was open at the end, for 9.00 s; 1 is stuck [censored]"]);
    }

    #[test]
    fn connections_beyond_one_a_user_are_noted_above_one_percent_of_the_requests() {
        assert_eq!(noted(|d| d.requests.connections_opened = 664), Vec::<String>::new());
        let told = noted(|d| d.requests.connections_opened = 665);
        assert_eq!(told, ["665 connections were opened for 60,000 requests [churn]"]);
    }

    #[test]
    fn a_lag_too_small_to_judge_is_noted_when_it_is_much_of_a_fast_response() {
        let lag = |us| {
            noted(move |d| {
                d.generator.lag = Some(micros([0, 20, us, 1_000]));
                d.requests.response = Some(micros([50, 200, 800, 900]));
            })
        };
        assert_eq!((lag(200).len(), lag(201).len()), (0, 1));
    }

    #[test]
    fn a_rare_lag_that_no_percentile_shows_is_noted() {
        let most = |us| noted(move |d| d.generator.lag = Some(micros([0, 20, 60, us])));
        assert_eq!((most(100_000).len(), most(100_001).len()), (0, 1));
    }

    #[test]
    fn bodies_of_different_content_or_length_are_noted() {
        assert_eq!(noted(|d| d.requests.bodies = (16, false)).len(), 0);
        let told = noted(|d| d.requests.bodies = (17, false));
        assert_eq!(told, ["responses had 17 different bodies [bodies]"]);
        let told = noted(|d| d.requests.bodies = (64, true));
        assert_eq!(told, ["responses had more than 64 different bodies [bodies]"]);
        assert_eq!(noted(|d| d.requests.endpoints_of_many_lengths = 1).len(), 1);
        assert_eq!(noted(|d| d.requests.endpoints_of_empty_bodies = 1).len(), 1);
        assert_eq!(noted(|d| d.requests.resent = 1).len(), 1);
        assert_eq!(noted(|d| d.requests.surplus = 1).len(), 1);
        assert_eq!(
            noted(|d| d.requests.redirects_refused = 3),
            ["3 redirects to another host or port were not followed [redirects]"]
        );
    }

    #[test]
    fn descriptors_that_run_short_bend_nothing_and_are_noted() {
        let open = |count| noted(move |d| d.generator.descriptors = Some((count, 1_000)));
        assert_eq!((open(800).len(), open(801).len()), (0, 1));
    }

    #[test]
    fn a_run_shorter_than_an_interval_says_that_cpu_use_is_unknown() {
        let notes = noted(|d| (d.run.intervals, d.generator.worker_cpu_max) = (0, None));
        assert_eq!(notes, ["the run was too short to measure knee's CPU use [short]"]);
    }
}
