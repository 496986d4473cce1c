//! Calls to another service that something spaces out, as a client does that makes so many per second at most.
//!
//! Needs an observed process of the service. Does not know the limit: looks do not see when single calls begin. Nor does
//! it tell a limit from a lock that is held for longer than the call, for something that nothing observes: both space the
//! calls. Calls that overlap, because more are allowed per second than one after another can be, show nothing of it.

use super::call_places::{Waits, counted, is_whole, of_each, taken, waits};
use crate::calls::Asked;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "call_rate",
    finds: "requests that wait because calls to another service are spaced out, also while none is open",
    needs: "a process of the service, whose connections can be seen (Linux), as far as they are not to observed stores or to usual ports of stores and brokers",
    limits: "the number of open calls to one endpoint that at most a hundredth of the looks exceed, 31 at most, is reached at half of the looks; 1 request waits while no call is open, as a straight line through requests and calls says, beside those in observed work. Both, or nothing. Nothing if these are half of all requests at most that do something that nothing observed explains, or if all of these are fewer than half as many as such calls; if a place is free for less long per call than all observed work beside the calls takes; if each response does not have a whole number of calls, 1 at least, within 0.02; if the users of a scenario are as many; for fewer than 50 calls; if more than 1.5 questions are under way on a connection, or that is unknown; if for a tenth of the waits it is unclear whether they are; or if the CPUs, or those that an observed process can use, are busy to more than 70 %",
    source: "Calls that know nothing of each other overlap: with 0.8 open on average, two or more are open at 19 % of the looks (Poisson). Where they never do, they wait for a place or for their time. A place that is free is taken at once by a request that waits for it, so none waits while no call is open; for a limit of calls per second, they wait at any moment. Where places are few, requests become more the faster the more calls are open, so that the straight line is below the truth where none is.",
    cause: "The client has a limit of calls per second of its own, often by default (QPS and burst, a token bucket, a pause between calls); or what admits one call after the other is held for longer than the call: a lock, a queue with a timer.",
    remedy: "Look for the limit in the settings of the client, and raise it to what the other service allows, or leave it to that service. Ask for several things in one call. If there is no limit, look for what is held between two calls.",
    explains: &["fixed_places"],
    check,
};

/// Requests that wait while no call is open.
const WITHOUT_CALL: f64 = 1.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    of_each(evidence, spaced)
}

fn spaced(evidence: &Evidence<'_>, process: &Watched<'_>, asked: &Asked<'_>) -> Option<Draft> {
    // Calls of a job beside the requests have no whole number per response.
    let Waits { open, response, seconds, without_call, .. } =
        waits(evidence, asked).filter(|_| is_whole(asked.calls))?;
    let without = Signal::at_least(
        "requests that wait while no call is open",
        Unit::Count,
        without_call,
        WITHOUT_CALL,
        "sock_diag: connections of clients",
    )?;
    let per_second = asked.calls * evidence.throughput()?;
    Some(Draft {
        subject: Subject::of(SubjectKind::Resource, asked.endpoint, Some(&process.source.name)),
        statement: format!(
            "the service asks {} {} times per second, with {} at a time, which are open at {} of the looks; also while \
             none is open, {} requests wait, as for a limit of calls per second",
            asked.endpoint,
            number(per_second),
            counted(open.most),
            percent(open.full),
            number(without.figure)
        ),
        signals: vec![taken(&open)?, without],
        remedy: Remedy::advice(
            "look for a limit of calls per second in the settings of the client, and raise it to what the other service \
             allows, or ask for several things in one call",
        ),
        gain: Gain::saves(
            Some(response),
            Some(seconds),
            "what is in no observed work is the wait until a call can begin, if nothing else is waited for",
        ),
    })
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::{Calling, Scene};

    /// 1,000 requests per second of 5 ms with a call each, one at a time, at three quarters of the looks. While none is
    /// open, as many requests wait as at other times, but for the one with the call.
    fn throttled() -> Calling {
        Calling { seconds: 0.000_75, most: 1, full: 0.75, follow: 1.0, ..Calling::default() }
    }

    /// The service does hardly anything else.
    fn calling(calling: &Calling) -> Scene {
        let mut scene = Scene::steady();
        let process = scene.process("shop (pid 7)");
        scene.counter(process, "process.cpu.user", "", 0.02);
        scene.counter(process, "process.cpu.system", "", 0.01);
        scene.calling(process, "10.0.0.2:80", calling);
        scene
    }

    #[test]
    fn a_user_learns_that_the_client_of_another_service_has_a_limit_of_calls_per_second() {
        let scene = calling(&throttled());
        let finding = scene.found("call_rate").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Likely, "10.0.0.2:80"));
        assert!(finding.statement.contains("with 1 call at a time, which are open at 75 %"), "{finding:?}");
        assert!(finding.statement.contains("also while none is open, 4."), "{}", finding.statement);
        assert!((0.5..1.0).contains(&finding.gain.unwrap().share()));
        assert_eq!(scene.found("call_places"), None, "no request waits for a place that is free");
    }

    #[test]
    fn one_place_for_calls_is_no_limit_of_their_rate() {
        let scene = calling(&Calling { follow: 6.0, ..throttled() });
        assert_eq!(scene.found("call_rate"), None);
        assert!(scene.found("call_places").is_some());
    }

    #[test]
    fn calls_that_overlap_or_are_of_a_job_or_followed_by_other_work_are_healthy() {
        for (calls, why) in [
            (Calling { full: 0.3, ..throttled() }, "most looks see no call"),
            (
                Calling { per_response: 0.9, ..throttled() },
                "a job asks, whose calls are none of the requests",
            ),
            (Calling { at_once: 4.0, ..throttled() }, "several questions on a connection"),
            (Calling { unsettled: 0.5, ..throttled() }, "unclear waits"),
            (Calling { most: 0, ..throttled() }, "an earlier observer did not count"),
        ] {
            assert_eq!(calling(&calls).found("call_rate"), None, "{why}");
        }
        let mut busy = calling(&throttled());
        let host = busy.host(4.0);
        busy.busy_host(host, 0.95);
        assert_eq!(busy.found("call_rate"), None);
        let mut works = calling(&throttled());
        works.counter(0, "process.cpu.user", "", 0.4);
        assert_eq!(
            works.found("call_rate"),
            None,
            "a lock is held for 0.4 ms of work beside a call of 0.75 ms"
        );
        assert!(Scene::steady().lacks("call_rate").unwrap().contains("pid:PID"));
    }
}
