//! Calls to another service that wait for each other, because few of them can be under way at a time.
//!
//! Needs an observed process of the service. Does not know what limits the calls: a lock, the pool of a client, threads
//! that do nothing else. Connections that are opened for one call are mostly missed, as in all that is known of calls.
//! Leaves calls for which requests wait while none is open to `call_rate`.

use knee_core::observation::SourceKind;
use knee_core::plan::{Executor, Scenario};

use crate::bound;
use crate::calls::{Asked, Open, services};
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::parts::breakdown;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "call_places",
    finds: "requests that wait for each other because few calls to another service can be under way at a time",
    needs: "a process of the service, whose connections can be seen (Linux), as far as they are not to observed stores or to usual ports of stores and brokers",
    limits: "the number of open calls to one endpoint that at most a hundredth of the looks exceed, 31 at most, is reached at half of the looks; 1.5 times as many requests are in progress; per call that is open more, 1.5 requests more are in progress. The first two, or nothing; where the number of open calls hardly changes (a variance of less than 0.05), a hint, unless each response has a whole number of calls, 1 at least, within 0.02. Nothing if fewer than half as many requests as such calls do something that nothing observed explains; if the number of requests does not follow that of the calls (below 0.5); if more than half of these requests wait while no call is open, and a place is free for longer per call than all observed work beside the calls takes; if the users of a scenario are as many; for fewer than 50 calls; if more than 1.5 questions are under way on a connection, or that is unknown; if for a tenth of the waits it is unclear whether they are; or if the CPUs, or those that an observed process can use, are busy to more than 70 %",
    source: "A number of calls that nothing limits is seldom as high as at its most: of a Poisson distribution, the value that 1 % exceed has a few percent. Where calls wait for one of k places, k is the most, and as many calls find all of them taken as is their share of the time (PASTA). By Little's law, requests in progress are throughput times response time; those that are in none of the observed work wait, and with half as many of them as places, a call waits for at least half as long as it takes. While a place is free, no request waits for one, so requests are more where calls are more, by the waiting ones, too; those of a background job do not follow. Requests that wait while no call is open wait for something else, as for a limit of the rate; a lock that is held for a little work beside the call looks so, too, for as long as this work takes. Where the calls are always as many, that cannot be seen: a job that asks all the time looks the same. It has no whole number of calls per response, though, but by chance, at 4 %.",
    cause: "A lock is held while the other service is asked; or the client has a small pool, with 1, 2, 5 or 10 connections per host by default; or a few threads make all calls.",
    remedy: "Hold no lock across the call: look into the cache, give the lock back, call, then take it again to store the answer. Let requests for the same thing wait for one call together. Raise the connections per host of the client, as far as the other service has capacity.",
    explains: &["fixed_places"],
    check,
};

/// Share of the looks.
const FULL: f64 = 0.5;
/// Requests in progress per place.
const IN_PROGRESS: f64 = 1.5;
/// Requests per place that are in nothing observed.
const QUEUED: f64 = 0.5;
/// Requests more per open call more: as a signal, and where it contradicts.
const FOLLOW: f64 = 1.5;
const FOLLOW_MIN: f64 = 0.5;
/// Calls per response differ from a whole number by this much at most.
const WHOLE: f64 = 0.02;
/// Calls of the measured time: fewer are an incident.
const CALLS_MIN: f64 = 50.0;
/// Segments under way per connection that waits.
const UNDER_WAY: f64 = 1.5;
/// Waits that cannot be judged, per wait.
const UNSETTLED: f64 = 0.1;
/// Share of the CPUs.
const BUSY: f64 = 0.7;

const LOOKS: &str = "sock_diag: when connections sent and received last";

/// Waiting requests that are there while no call is open: with more, they do not wait for one.
const WITHOUT_CALL: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Checked {
    of_each(evidence, full)
}

/// What `draft` says of each endpoint that an observed process asks.
pub(super) fn of_each(
    evidence: &Evidence<'_>,
    draft: fn(&Evidence<'_>, &Watched<'_>, &Asked<'_>) -> Option<Draft>,
) -> Checked {
    let processes = evidence.needed(SourceKind::Process)?;
    if processes.iter().all(|process| process.rise("process.calls.looks", "").is_none()) {
        return Err(Lack::of("the outgoing connections of an observed process (Linux)"));
    }
    let mut drafts = Vec::new();
    for process in &processes {
        let asked = services(evidence, process);
        drafts.extend(asked.iter().filter_map(|asked| draft(evidence, process, asked)));
    }
    Ok(drafts)
}

/// Requests that wait for something that nothing observed explains, beside the calls of one endpoint.
pub(super) struct Waits {
    pub open: Open,
    /// Mean response time, and that part of it, in seconds.
    pub response: f64,
    pub seconds: f64,
    /// Requests in progress, on average.
    pub in_progress: f64,
    /// Those of them that wait while no call is open. `None` if these are the fewer ones, or if the time between the
    /// calls is that of other work.
    pub without_call: Option<f64>,
}

/// What waits beside the calls of an endpoint; `None` if these are not clear, if hardly anything waits, or if the CPUs or
/// the users of the load can be what limits them.
pub(super) fn waits(evidence: &Evidence<'_>, asked: &Asked<'_>) -> Option<Waits> {
    let open = asked.open.filter(|_| asked.is_one() && is_clear(evidence, asked))?;
    let is_busy = bound::cpus_busy(evidence).is_some_and(|busy| busy > BUSY);
    let is_by_users = evidence.run.head.plan.scenarios.iter().any(|scenario| has_users(scenario, open.most));
    let (response, throughput) = (evidence.response_mean()?, evidence.throughput()?);
    let seconds = breakdown(evidence)?.unobserved_s;
    let waiting = seconds * throughput;
    if is_busy || is_by_users || waiting < QUEUED * open.most {
        return None;
    }
    let other = (response - seconds - asked.seconds).max(0.0);
    let without_call = open.idle.map(|idle| idle - other * throughput);
    // Where few responses have a call, those with one have as much other work as all others have, at most.
    let free = (open.most - asked.waiting) / (asked.calls * throughput);
    let is_idle = free > other / asked.calls.max(1.0);
    let without_call = without_call.filter(|without| is_idle && *without > WITHOUT_CALL * waiting);
    Some(Waits { open, response, seconds, in_progress: response * throughput, without_call })
}

/// The signal that the most calls there are at a time are often open.
pub(super) fn taken(open: &Open) -> Option<Signal> {
    Signal::at_least(
        format!("share of the looks with {} calls open, which is the most", number(open.most)),
        Unit::Share,
        Some(open.full),
        FULL,
        LOOKS,
    )
}

fn full(evidence: &Evidence<'_>, process: &Watched<'_>, asked: &Asked<'_>) -> Option<Draft> {
    let Waits { open, response, seconds, in_progress, without_call } = waits(evidence, asked)?;
    if without_call.is_some() || Signal::falls_short(open.requests, FOLLOW_MIN) {
        return None;
    }
    let taken = taken(&open)?;
    let in_flight = Signal::at_least(
        "requests in progress per call that can be open",
        Unit::Count,
        Some(in_progress / open.most),
        IN_PROGRESS,
        "the run: Little's law",
    )?;
    let follow = Signal::at_least(
        "requests in progress more, per call more that is open",
        Unit::Count,
        open.requests,
        FOLLOW,
        "sock_diag: connections of clients",
    );
    // Of calls that are always as many, only their number per response can say that they are those of the requests.
    let is_of_requests = open.requests.is_some() || is_whole(asked.calls);
    let further = [Some(in_flight), follow].into_iter().flatten().filter(|_| is_of_requests);
    Some(Draft {
        subject: Subject::of(SubjectKind::Resource, asked.endpoint, Some(&process.source.name)),
        statement: format!(
            "the service asks {} with {} at most at a time, and that many are open at {} of the looks, while {} requests \
             are in progress",
            asked.endpoint,
            counted(open.most),
            percent(open.full),
            number(in_progress)
        ),
        signals: std::iter::once(taken).chain(further).collect(),
        remedy: Remedy::advice(
            "hold no lock while another service is asked, let requests for the same thing wait for one call, or raise the \
             connections per host of the client",
        ),
        gain: Gain::saves(
            Some(response),
            Some(seconds),
            "what is in no observed work is the wait for a call, if nothing else is waited for",
        ),
    })
}

/// Whether there are enough calls, one at a time on each connection, and it is known when they are open.
fn is_clear(evidence: &Evidence<'_>, asked: &Asked<'_>) -> bool {
    let is_single = asked.under_way.is_some_and(|segments| segments <= UNDER_WAY);
    let is_settled = asked.unsettled <= UNSETTLED * asked.seconds;
    is_single && is_settled && asked.calls * evidence.answered() as f64 >= CALLS_MIN
}

/// Whether each response has the same number of calls, one at least.
pub(super) fn is_whole(calls: f64) -> bool {
    let whole = calls.round();
    whole >= 1.0 && (calls - whole).abs() <= WHOLE
}

/// Whether a scenario has as many users as there are calls at a time: then they can be what limits these.
pub(super) fn has_users(scenario: &Scenario, most: f64) -> bool {
    let Executor::Closed { vus } = &scenario.executor else { return false };
    let users = vus.stages.iter().map(|stage| stage.target).fold(vus.start, f64::max);
    (users - most).abs() < 0.5
}

/// "1 call", "2 calls".
pub(super) fn counted(calls: f64) -> String {
    if calls < 1.5 { "1 call".to_owned() } else { format!("{} calls", number(calls)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Calling, Dice, RATE, SECONDS, Scene};
    use crate::{Confidence, Finding};

    /// 1,000 requests per second of 5 ms, of which a tenth calls another service.
    fn calling(calling: &Calling) -> Scene {
        let mut scene = Scene::steady();
        let process = scene.process("shop (pid 7)");
        scene.calling(process, "10.0.0.2:80", calling);
        scene
    }

    /// One call at a time, under way for three quarters of the time. While none is, half a request is in progress.
    fn locked() -> Calling {
        Calling {
            per_response: 0.1,
            seconds: 0.007_5,
            most: 1,
            full: 0.75,
            follow: 6.0,
            ..Calling::default()
        }
    }

    #[test]
    fn a_user_learns_that_a_lock_is_held_while_another_service_is_asked() {
        let finding = calling(&locked()).found("call_places").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Strong, "10.0.0.2:80"));
        let says = "the service asks 10.0.0.2:80 with 1 call at most at a time, and that many are open at 75 % of the looks, \
                    while 5.0";
        assert!(finding.statement.starts_with(says), "{}", finding.statement);
        assert!((0.5..0.9).contains(&finding.gain.unwrap().share()));
    }

    #[test]
    fn calls_that_are_full_all_the_time_are_found_by_two_signals_where_each_response_has_one() {
        let full = Calling { per_response: 1.0, seconds: 0.002, most: 2, full: 1.0, ..locked() };
        let finding = calling(&full).found("call_places").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely, "{:?}", finding.evidence);
    }

    #[test]
    fn a_job_that_asks_all_the_time_is_no_more_than_a_hint_because_nothing_says_that_requests_wait_for_it() {
        for (full, per_response) in [(1.0, 0.1), (0.96, 0.1), (0.96, 1.4)] {
            let job = Calling { per_response, seconds: 0.002 / per_response, most: 1, full, ..locked() };
            let finding = calling(&job).found("call_places").unwrap();
            assert_eq!(finding.confidence, Confidence::Hint, "{full}: {:?}", finding.evidence);
        }
    }

    #[test]
    fn calls_with_room_or_of_a_job_beside_the_requests_are_healthy() {
        for (calls, why) in [
            (Calling { full: 0.3, ..locked() }, "most looks see a free place"),
            (Calling { most: 4, ..locked() }, "hardly more requests than calls"),
            (Calling { follow: 0.0, ..locked() }, "requests do not follow the calls"),
            (Calling { follow: 2.0, ..locked() }, "3.5 requests are in progress while no call is open"),
            (Calling { at_once: 4.0, ..locked() }, "several questions on a connection"),
            (Calling { unsettled: 0.5, ..locked() }, "unclear waits"),
            (Calling { most: 0, ..locked() }, "an earlier observer did not count"),
        ] {
            assert_eq!(calling(&calls).found("call_places"), None, "{why}");
        }
    }

    #[test]
    fn one_user_who_waits_for_each_response_makes_one_call_at_a_time() {
        let found = |users: f64| {
            let users = knee_core::schedule::Curve::constant(users);
            let mut scene = Scene::sized(SECONDS, |_| RATE, users, |_, _, _| {});
            let process = scene.process("shop (pid 7)");
            scene.calling(process, "10.0.0.2:80", &locked());
            scene.found("call_places")
        };
        assert_eq!(found(1.0), None);
        assert!(found(8.0).is_some());
    }

    #[test]
    fn requests_whose_time_is_observed_work_do_not_wait_for_a_call() {
        let mut scene = calling(&locked());
        let redis = scene.redis();
        scene.counter(redis, "redis.command.time", "get", 3.9);
        assert_eq!(scene.found("call_places"), None);
    }

    #[test]
    fn a_machine_without_room_and_a_store_at_its_usual_port_are_another_matter() {
        let mut scene = calling(&locked());
        let host = scene.host(4.0);
        scene.busy_host(host, 0.95);
        assert_eq!(scene.found("call_places"), None);
        let mut scene = Scene::steady();
        let process = scene.process("shop (pid 7)");
        scene.calling(process, "10.0.0.2:3306", &locked());
        assert_eq!(scene.found("call_places"), None);
        assert!(Scene::steady().lacks("call_places").unwrap().contains("pid:PID"));
    }

    /// Calls that arrive by chance, one per request. The service does nothing else.
    struct Queue {
        /// Begin of the request, begin and end of its call.
        calls: Vec<[f64; 3]>,
    }

    impl Queue {
        /// So many calls per second, of 18 ms on average, with so many places.
        fn with(places: usize, per_second: f64, dice: &mut Dice) -> Self {
            let (mut free, mut now, mut calls) = (vec![0.0_f64; places], 0.0, Vec::new());
            while now < SECONDS as f64 {
                now += dice.exponential(1.0 / per_second);
                let first = (0..places).min_by(|one, other| free[*one].total_cmp(&free[*other]));
                let first = first.unwrap_or(0);
                let begin = free[first].max(now);
                free[first] = begin + 0.008 + dice.exponential(0.01);
                calls.push([now, begin, free[first]]);
            }
            Self { calls }
        }

        /// 39 calls per second of 20 to 22 ms, of which 40 can begin per second.
        fn spaced(dice: &mut Dice) -> Self {
            let (mut next, mut now, mut calls) = (0.0_f64, 0.0, Vec::new());
            while now < SECONDS as f64 {
                now += dice.exponential(1.0 / 39.0);
                let begin = next.max(now);
                next = begin + 0.025;
                calls.push([now, begin, begin + 0.02 + 0.002 * dice.share()]);
            }
            Self { calls }
        }

        /// Calls and requests in progress at ten moments per second.
        fn looks(&self, dice: &mut Dice) -> Vec<(u32, u32)> {
            let moments = (0..SECONDS * 10).map(|tenth| (tenth as f64 + dice.share()) / 10.0);
            let at = |moment: f64| {
                let begun = self.calls.iter().filter(|[request, _, end]| *request <= moment && moment < *end);
                begun.fold((0, 0), |(calls, requests), [_, begin, _]| {
                    (calls + u32::from(*begin <= moment), requests + 1)
                })
            };
            moments.map(at).collect()
        }
    }

    /// A shop with such calls, so many per second.
    fn shop(queue: &Queue, per_second: u64, dice: &mut Dice) -> Scene {
        let looks = queue.looks(dice);
        let mut times = queue.calls.iter().map(|[request, _, end]| end - request).cycle();
        let users = knee_core::schedule::Curve::constant(64.0);
        let mut scene = Scene::sized(
            SECONDS,
            |_| per_second,
            users,
            |sample, _, _| {
                sample.wait = times.next().unwrap_or(0.0);
            },
        );
        let process = scene.process("shop (pid 7)");
        scene.counter(process, "process.cpu.user", "", 0.01);
        scene.counter(process, "process.cpu.system", "", 0.01);
        let open: u32 = looks.iter().map(|look| look.0).sum();
        let seconds = f64::from(open) / looks.len() as f64 / per_second as f64;
        // Calls are per 1,000 requests per second there.
        let per_response = per_second as f64 / RATE as f64;
        scene.calling(process, "10.0.0.2:80", &Calling { per_response, seconds, most: 0, ..locked() });
        let each_second = |count: f64| count / SECONDS as f64;
        let sum =
            |of: fn(&(u32, u32)) -> u32| each_second(looks.iter().map(|look| f64::from(of(look))).sum());
        scene.counter(process, "process.calls.requests", "", sum(|look| look.1));
        let product = sum(|look| look.0 * look.1);
        scene.counter(process, "process.calls.waiting_requests", "10.0.0.2:80", product);
        for level in 1..=32 {
            let count = each_second(looks.iter().filter(|look| look.0 == level).count() as f64);
            let points = (0..=SECONDS).map(|at| (knee_core::unit::Nanos::from_secs(at), count * at as f64));
            let label = format!("10.0.0.2:80 {level}");
            let kind = knee_core::observation::SeriesKind::Counter;
            scene.points(process, "process.calls.waiting_looks", &label, kind, points.collect());
        }
        scene
    }

    /// What the rule says of calls that wait for so many places.
    fn queued(places: usize, seed: u64) -> Option<Finding> {
        let mut dice = Dice(seed);
        let queue = Queue::with(places, 100.0, &mut dice);
        shop(&queue, 100, &mut dice).found("call_places")
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        /// 1.8 calls are under way on average: two places are too few for them, and twelve are never filled.
        #[test]
        fn few_places_are_found_in_a_queue_and_many_are_healthy(seed in any::<u64>(), many in 12usize..40) {
            let found = queued(2, seed);
            prop_assert!(found.is_some_and(|finding| finding.statement.contains("with 2 calls at most")));
            prop_assert_eq!(queued(many, seed), None);
        }

        /// Both have one call open at most looks, and requests that wait.
        #[test]
        fn one_place_and_a_limit_of_the_rate_are_not_taken_for_each_other(seed in any::<u64>()) {
            let mut dice = Dice(seed);
            let one = shop(&Queue::with(1, 45.0, &mut dice), 45, &mut dice);
            prop_assert_eq!(one.found("call_rate"), None);
            let spaced = shop(&Queue::spaced(&mut dice), 39, &mut dice);
            prop_assert_eq!(spaced.found("call_places"), None);
        }

        /// Whatever is observed, a finding has full places, requests that wait, and a gain that is a share.
        #[test]
        fn a_finding_has_full_places_and_more_requests_than_these(
            most in 0u32..40, full in 0.0f64..1.0, seconds in 0.0f64..0.02, follow in -5.0f64..10.0,
        ) {
            let calls = Calling { seconds, most, full, follow, ..locked() };
            if let Some(finding) = calling(&calls).found("call_places") {
                prop_assert!(full >= FULL - 0.01 && f64::from(most) * IN_PROGRESS <= 5.3);
                // Calls that are open at nearly all looks are followed by nothing that can be seen.
                prop_assert!(follow > 0.4 || full > 0.9);
                prop_assert!((0.0..=1.0).contains(&finding.gain.unwrap().share()));
            }
        }
    }
}
