//! Calls to other services one after another, which take most of the response time.
//!
//! Needs an observed process of the service. Whether a call needs the answer of the one before it is not in the evidence.
//! Connections that are opened for one call are mostly missed: they live between two looks.

use knee_core::observation::SourceKind;

use crate::calls::{Asked, services};
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "serial_calls",
    finds: "calls to other services one after another, which take most of the response time",
    needs: "a process of the service, whose connections can be seen (Linux), as far as they are not to observed stores or to usual ports of stores and brokers",
    limits: "60 % of the mean response time waits for other services; a response makes 2.5 calls, by the highest number that segments allow; at 5 % of the looks at most, more calls wait than requests are in progress, and the variance of their number within three seconds is 1.7 times their mean number at most. Nothing if the waits, with those that cannot be judged, are longer than 1.1 response times; if for 10 % of the waits a connection has more than 1.5 questions under way, as with HTTP/2, or that is unknown; or if calls at once would take less than 30 % off",
    source: "Little's law: connections that wait per responses per second are the time per response that waits. Calls one after another cannot wait for longer than the response takes, and calls at once do. Of calls one after another, a request waits for one at a time, so the variance of the number that waits is that of a Poisson distribution, its mean, at most; calls at once begin together, and three of them have a variance of two to three times the mean. A call sends a segment and receives one at least, so the lower of both counts bounds the calls from above.",
    cause: "Each call waits for the one before it, although it does not need its answer: `await` in a loop, or one line after another.",
    remedy: "Make calls at the same time that do not need each other's answers, each with a timeout; or ask for all in one call, where the other service has one.",
    explains: &[],
    check,
};

/// Share of the response time.
const WAITS: f64 = 0.6;
/// Calls per response.
const CALLS: f64 = 2.5;
/// Share of the looks.
const AHEAD: f64 = 0.05;
/// Variance of the number of calls that wait, per mean number.
const SPREAD: f64 = 1.7;
/// Response times.
const LONGEST: f64 = 1.1;
/// Segments under way, and the share of the waits with more of them, or with an unknown number.
const UNDER_WAY: f64 = 1.5;
const TOGETHER: f64 = 0.1;
/// Share of the response time that calls at once would save.
const SAVED: f64 = 0.3;

fn check(evidence: &Evidence<'_>) -> Checked {
    let processes = evidence.needed(SourceKind::Process)?;
    if processes.iter().all(|process| process.rise("process.calls.looks", "").is_none()) {
        return Err(Lack::of("the outgoing connections of an observed process (Linux)"));
    }
    Ok(processes.iter().filter_map(|process| serial(evidence, process)).collect())
}

fn serial(evidence: &Evidence<'_>, process: &Watched<'_>) -> Option<Draft> {
    let asked = services(evidence, process);
    let response = evidence.response_mean()?;
    let sum = |figure: fn(&Asked<'_>) -> f64| asked.iter().map(figure).sum::<f64>();
    let (waits, calls) = (sum(|asked| asked.seconds), sum(|asked| asked.calls));
    let longest = asked.iter().map(Asked::each).fold(0.0, f64::max);
    let saved = waits - longest;
    let together = asked.iter().filter(|asked| asked.under_way.is_none_or(|segments| segments > UNDER_WAY));
    let together: f64 = together.map(|asked| asked.seconds).sum();
    let is_at_once = waits + sum(|asked| asked.unsettled) > LONGEST * response || together > TOGETHER * waits;
    if is_at_once || saved < SAVED * response {
        return None;
    }
    let (looks, requests) =
        (process.rise("process.calls.looks", "")?, process.rise("process.calls.requests", ""));
    // Without a request that is seen, as behind a Unix socket, nothing can be ahead of it.
    let sees_requests = requests.is_some_and(|requests| requests.amount > 0.0);
    let ahead = process.rise("process.calls.ahead", "").filter(|_| sees_requests);
    let ahead = ahead.map(|ahead| ahead.amount / looks.amount);
    if ahead.is_some_and(|ahead| ahead > AHEAD) {
        return None;
    }
    if spread(process)? > SPREAD * sum(|asked| asked.waiting) {
        return None;
    }
    let time = Signal::at_least(
        "share of the mean response time that waits for other services",
        Unit::Share,
        Some(waits / response),
        WAITS,
        "sock_diag: when connections sent and received last",
    );
    let often = Signal::at_least(
        "calls per response, at most",
        Unit::Count,
        Some(calls),
        CALLS,
        "sock_diag: segments sent and received",
    );
    let at_once = Signal::at_most(
        "share of the looks with more calls than requests in progress",
        Unit::Share,
        ahead,
        AHEAD,
        "sock_diag: connections of clients",
    );
    Some(Draft {
        subject: Subject::of(SubjectKind::Process, process.name(), Some(&process.source.name)),
        statement: format!(
            "each response makes up to {} calls to {} one after another, which take {} of {}",
            number(calls),
            named(&asked),
            percent(waits / response),
            seconds(response)
        ),
        signals: [time?, often?].into_iter().chain(at_once).collect(),
        remedy: Remedy::advice(
            "make calls at the same time that do not need each other's answers, each with a timeout; or ask for all in one call",
        ),
        gain: Gain::saves(
            Some(response),
            Some(saved),
            format!("all calls but one of {}, if none needs the answer of another", seconds(longest)),
        ),
    })
}

/// The variance of the number of calls that wait, those to observed stores included; `None` without enough looks.
fn spread(process: &Watched<'_>) -> Option<f64> {
    let (groups, variance) =
        (process.rise("process.calls.groups", "")?, process.rise("process.calls.variance", "")?);
    (groups.amount >= 1.0).then(|| variance.amount / groups.amount)
}

/// The endpoint, or how many there are.
fn named(asked: &[Asked<'_>]) -> String {
    match asked {
        [only] if only.is_one() => only.endpoint.to_owned(),
        several if several.iter().all(Asked::is_one) => format!("{} other services", several.len()),
        _ => "many other services".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::{Calling, Scene};

    /// A service that answers in 46 ms and asks five partners, at `seconds` each.
    fn partners(wait: f64, calling: &Calling) -> Scene {
        let mut scene = Scene::with(move |sample, _, _| sample.wait = wait);
        let process = scene.process("shop (pid 7)");
        for port in 1..=5 {
            scene.calling(process, &format!("10.0.0.2:{port}"), calling);
        }
        scene
    }

    fn slow() -> Calling {
        Calling { seconds: 0.008, ..Calling::default() }
    }

    #[test]
    fn a_user_learns_that_five_partners_are_asked_one_after_another() {
        let finding = partners(0.046, &slow()).found("serial_calls").unwrap();
        assert_eq!(finding.confidence, Confidence::Strong);
        let says = "each response makes up to 5 calls to 5 other services one after another, which take 87 %";
        assert!(finding.statement.starts_with(says), "{}", finding.statement);
        assert!((finding.gain.unwrap().share() - 0.032 / 0.046).abs() < 0.02);
    }

    #[test]
    fn the_same_calls_at_once_are_healthy() {
        assert_eq!(
            partners(0.0085, &slow()).found("serial_calls"),
            None,
            "they wait for longer than it takes"
        );
        let ahead = Calling { ahead: 0.3, ..slow() };
        assert_eq!(partners(0.046, &ahead).found("serial_calls"), None, "looks see several per request");
        let together = Calling { spread: 2.4, ..slow() };
        assert_eq!(partners(0.06, &together).found("serial_calls"), None, "they begin and end together");
        let multiplexed = Calling { per_response: 5.0, seconds: 0.008, at_once: 5.0, ..Calling::default() };
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.046);
        let process = scene.process("shop (pid 7)");
        scene.calling(process, "10.0.0.2:80", &multiplexed);
        assert_eq!(scene.found("serial_calls"), None, "several questions are under way on a connection");
    }

    #[test]
    fn one_slow_call_and_quick_ones_beside_it_are_healthy() {
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.022);
        let process = scene.process("shop (pid 7)");
        scene.calling(process, "10.0.0.2:80", &Calling { seconds: 0.02, ..Calling::default() });
        for port in 1..=3 {
            scene.calling(
                process,
                &format!("10.0.0.3:{port}"),
                &Calling { seconds: 0.000_2, ..Calling::default() },
            );
        }
        assert_eq!(scene.found("serial_calls"), None);
    }

    #[test]
    fn calls_that_take_little_of_the_time_or_cannot_be_judged_are_healthy() {
        let quick = Calling { seconds: 0.001, ..Calling::default() };
        assert_eq!(partners(0.046, &quick).found("serial_calls"), None);
        let unsettled = Calling { unsettled: 0.5, ..slow() };
        assert_eq!(partners(0.046, &unsettled).found("serial_calls"), None);
    }

    #[test]
    fn statements_of_a_store_that_is_not_observed_follow_each_other_in_healthy_services() {
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.046);
        let process = scene.process("shop (pid 7)");
        scene.calling(process, "10.0.0.2:3306", &Calling { per_response: 5.0, spread: 0.0, ..slow() });
        assert_eq!(scene.found("serial_calls"), None);
        scene.calling(
            process,
            "10.0.0.2:80",
            &Calling { per_response: 5.0, seconds: 0.008, ..Calling::default() },
        );
        assert!(scene.found("serial_calls").is_some(), "the same calls to a service");
    }

    #[test]
    fn a_process_whose_connections_are_unknown_is_named_as_lacking() {
        let mut scene = Scene::steady();
        scene.process("shop (pid 7)");
        assert!(scene.lacks("serial_calls").unwrap().contains("outgoing connections"));
        assert!(Scene::steady().lacks("serial_calls").unwrap().contains("pid:PID"));
    }
}
