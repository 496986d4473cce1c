//! The same question to another service for each request: keys, a configuration, a document that says where things are.
//!
//! Needs an observed process of the service, and a script whose responses differ. That two answers are the same is not
//! seen: they have the same number of bytes, of each call of a whole run. Connections that are opened for one call are
//! missed.

use knee_core::observation::SourceKind;

use super::no_compression::SAMPLED_MIN;
use crate::calls::{Asked, services};
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "same_answer",
    finds: "calls to another service that most likely get the same answer each time",
    needs: "a process of the service, whose connections can be seen (Linux), as far as they are not to observed stores or to usual ports of stores and brokers, and the load of a script",
    limits: "0.9 calls of one endpoint per response; of 50 spans between two looks at which a connection was at rest, or waited at both, 98 % have the same bytes per call as the span before, sent and received, 400 received at least; the calls take 10 % of the mean response time. Half of 20 sampled responses differ from all before them; if not, a hint where the calls take 30 %, because the load can be what is always the same. Nothing for the load of a URL",
    source: "Numbers of bytes are exact (tcpi_bytes_sent, tcpi_bytes_received): one that varies by a byte in one of 50 spans is seen. Answers of 400 bytes with names, amounts or texts in them vary. Those with nothing but identifiers or numbers of one length, as a signature or a vector, do not, and neither do questions: check what is asked.",
    cause: "Something that rarely changes is fetched for each request: the keys that verify tokens, a configuration, a discovery document, a list of currencies.",
    remedy: "Look at what is asked there. If the answer does not depend on the request, keep it for as long as it is valid, and renew it beside the requests.",
    explains: &[],
    check,
};

/// Per response.
const CALLS: f64 = 0.9;
const SPANS_MIN: f64 = 50.0;
/// Share of the spans.
const ALIKE: f64 = 0.98;
/// Bytes of an answer.
const RECEIVED: f64 = 400.0;
/// Shares of the response time.
const TAKES: f64 = 0.1;
const TAKES_MOST: f64 = 0.3;
/// Share of the sampled responses.
const DIFFERENT: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Checked {
    let processes = evidence.needed(SourceKind::Process)?;
    if processes.iter().all(|process| process.rise("process.calls.looks", "").is_none()) {
        return Err(Lack::of("the outgoing connections of an observed process (Linux)"));
    }
    if evidence.is_of_url() {
        return Err(Lack::of("the load of a script: a URL asks the same each time"));
    }
    let mut drafts = Vec::new();
    for process in &processes {
        drafts.extend(services(evidence, process).iter().filter_map(|asked| same(evidence, process, asked)));
    }
    Ok(drafts)
}

fn same(evidence: &Evidence<'_>, process: &Watched<'_>, asked: &Asked<'_>) -> Option<Draft> {
    let response = evidence.response_mean()?;
    let takes = asked.seconds / response;
    let is_small = asked.received < RECEIVED || asked.spans < SPANS_MIN || takes < TAKES;
    if is_small || asked.calls < CALLS || !asked.is_one() {
        return None;
    }
    let alike = Signal::at_least(
        "share of the spans with the same bytes per call as the one before",
        Unit::Share,
        Some(asked.alike),
        ALIKE,
        "sock_diag: bytes sent and received",
    )?;
    let differ = Signal::at_least(
        "share of sampled responses that no earlier one is like",
        Unit::Share,
        different(evidence),
        DIFFERENT,
        "the run: checksums of sampled bodies",
    );
    if differ.is_none() && takes < TAKES_MOST {
        return None;
    }
    let but = if differ.is_some() {
        "although the responses differ"
    } else {
        "unless all requests ask for the same"
    };
    Some(Draft {
        subject: Subject::of(SubjectKind::Resource, asked.endpoint, Some(&process.source.name)),
        statement: format!(
            "each response makes {} calls to {} that most likely get the same answer, {but}: about {} bytes sent and {} \
             received each, {} of the response time",
            number(asked.calls),
            asked.endpoint,
            number(asked.sent),
            number(asked.received),
            percent(takes)
        ),
        signals: [alike].into_iter().chain(differ).collect(),
        remedy: Remedy::advice(
            "look at what is asked there; if the answer does not depend on the request, keep it for as long as it is valid",
        ),
        gain: Gain::saves(
            Some(response),
            Some(asked.seconds),
            format!("the calls take {} per response", seconds(asked.seconds)),
        ),
    })
}

/// The share of the sampled responses whose body no earlier one of their endpoint had; `None` of few.
fn different(evidence: &Evidence<'_>) -> Option<f64> {
    let endpoints = evidence.run.sampled.endpoints.values();
    let (responses, repeated) = endpoints.fold((0_u64, 0_u64), |(responses, repeated), looks| {
        (responses.saturating_add(looks.responses), repeated.saturating_add(looks.repeated))
    });
    (responses >= SAMPLED_MIN).then(|| 1.0 - repeated as f64 / responses as f64)
}

#[cfg(test)]
mod tests {
    use knee_core::plan::EndpointId;
    use knee_core::sampled::Looks;

    use crate::Confidence;
    use crate::testing::{Calling, Scene};

    /// Responses of 26 ms, of which a call takes 25; of 100 sampled responses, so many repeat an earlier one.
    fn tokens(calling: &Calling, repeated: u64) -> Scene {
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.026);
        scene.script();
        let process = scene.process("shop (pid 7)");
        scene.calling(process, "10.0.0.2:443", calling);
        let looks = Looks { responses: 100, gets: 100, repeated, bodies_differ: true, ..Looks::default() };
        scene.run.sampled.endpoints.insert(EndpointId(0), looks);
        scene
    }

    fn keys() -> Calling {
        Calling { seconds: 0.025, alike: 1.0, ..Calling::default() }
    }

    #[test]
    fn a_user_learns_that_the_keys_of_tokens_are_fetched_for_each_request() {
        let finding = tokens(&keys(), 0).found("same_answer").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(finding.statement.contains("most likely") && finding.statement.contains("10.0.0.2:443"));
        assert!(finding.gain.unwrap().share() > 0.9);
    }

    #[test]
    fn keys_that_are_fetched_over_two_connections_which_hardly_rest_are_a_hint_where_all_requests_are_the_same()
     {
        // 60 requests/s, each with a call of 26 ms, over two connections: at ten looks per second, one is idle at 4 of
        // ten looks, and both have whole calls between two looks at which they wait.
        let mut scene = tokens(&keys(), 99);
        for (per_second, is_said) in [(4.0 * 10.0 / 30.0, false), (15.0 * 10.0 / 30.0, true)] {
            scene.counter(0, "process.calls.spans", "10.0.0.2:443", per_second);
            scene.counter(0, "process.calls.spans_alike", "10.0.0.2:443", per_second);
            let hint = scene.found("same_answer").map(|finding| finding.confidence);
            assert_eq!(hint, is_said.then_some(Confidence::Hint), "{per_second}");
        }
    }

    #[test]
    fn calls_whose_bytes_vary_or_that_are_rare_small_or_quick_are_healthy() {
        for calling in [
            Calling { alike: 0.9, ..keys() },
            Calling { per_response: 0.5, ..keys() },
            Calling { received: 180.0, ..keys() },
            Calling { seconds: 0.001, ..keys() },
        ] {
            assert_eq!(tokens(&calling, 0).found("same_answer"), None, "{calling:?}");
        }
    }

    #[test]
    fn the_same_call_for_the_same_request_is_a_hint_and_for_a_url_nothing() {
        assert_eq!(tokens(&keys(), 99).found("same_answer").unwrap().confidence, Confidence::Hint);
        let shorter = Calling { seconds: 0.005, ..keys() };
        assert_eq!(tokens(&shorter, 99).found("same_answer"), None);
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.026);
        let process = scene.process("shop (pid 7)");
        scene.calling(process, "10.0.0.2:443", &keys());
        assert!(scene.lacks("same_answer").unwrap().contains("a script"));
    }
}
