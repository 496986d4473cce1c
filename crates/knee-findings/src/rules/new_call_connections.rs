//! Connections to another server that are opened for single calls.
//!
//! Needs an observed process of the service; beside `host` it is more than a hint. Looks see a short connection by chance,
//! so that they say to whom connections are opened, and not how many. The kernel counts those of the whole machine, and not
//! to whom. Where another program of the machine opens connections as often, the two can be about different ones. Does
//! not see handshakes, and leaves out endpoints with so few calls that no look sees them in most intervals, and calls
//! that last for longer than responses: these do not wait for them.

use knee_core::observation::SourceKind;
use knee_core::outcome::Outcome;
use knee_core::unit::Nanos;

use crate::calls::{self, Opened};
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "new_call_connections",
    finds: "connections to another server that are opened again and again",
    needs: "a process of the service, whose connections can be seen (Linux), as far as they are not to observed stores; the machine (`host`), or it is a hint",
    limits: "looks see 0.02 new connections to the endpoint per response, 20 at least, between three quarters of as many readings as by chance (Poisson), and a connection has sent 10 segments at most; this machine opens 0.5 connections per response, 100 at least, without those of the load and to observed stores. Nothing where the machine opens fewer, or where a connection waits for longer, as a mean and with a certainty of 99 % (Poisson), than 90 % of the OK responses take: such calls are beside the requests. Where the machine is not observed, 100 new connections that looks see are a hint",
    source: "Ten looks per second see one in four connections that live for 25 ms, and one in fifty that live for 2 ms. So they tell how long each waits only as well as there are looks that see one wait: 72 of them differ by 12 % from run to run, and a call that is nearly all of its response can look longer than it. A pool that is filled opens none later, and sends hundreds of calls on each. A new connection costs a round trip, with TLS one or two more and the CPU time of a signature; a call on a kept one costs one round trip.",
    cause: "The service makes a client for each call, closes each response's connection, does not read bodies to their end, or has a pool that keeps too few.",
    remedy: "Make one client for the life of the process and keep its connections: raise the number of idle ones that its pool keeps and the time for which it does, and read each body to its end.",
    explains: &[],
    check,
};

/// New connections that looks see, per response, and in all.
const SEEN: f64 = 0.02;
const SEEN_MIN: f64 = 20.0;
/// Readings between which looks see any, of those between which they do by chance.
const CONTINUES: f64 = 0.75;
/// Segments sent per connection.
const SEGMENTS: f64 = 10.0;
/// Share of the OK responses that are faster than those with which calls are compared, and standard deviations by which
/// calls must be longer: 1 % by chance.
const MOST: f64 = 0.9;
const SURE: f64 = 2.33;
/// Connections that the machine opens, per response, and in all.
const OPENED: f64 = 0.5;
const OPENED_MIN: f64 = 100.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let processes = evidence.needed(SourceKind::Process)?;
    if processes.iter().all(|process| process.rise("process.calls.looks", "").is_none()) {
        return Err(Lack::of("the outgoing connections of an observed process (Linux)"));
    }
    let of_machine = of_machine(evidence);
    let found = processes.iter().filter_map(|process| {
        let all = calls::opened(evidence, process).into_iter();
        let mut again = all.filter(|opened| is_again(process, opened));
        again.find_map(|opened| draft(evidence, process, &opened, of_machine))
    });
    Ok(found.collect())
}

/// Whether connections to an endpoint are opened all the time, and few calls are made on each.
fn is_again(process: &Watched<'_>, opened: &Opened<'_>) -> bool {
    let readings = process.readings("process.calls.looks", str::is_empty) as f64;
    let with_new = process.readings("process.calls.opened", |endpoint| endpoint == opened.endpoint) as f64;
    opened.rise.amount >= SEEN_MIN
        && opened.segments <= SEGMENTS * opened.rise.amount
        && with_new >= CONTINUES * by_chance(readings, opened.rise.amount)
}

/// Between how many readings there is one at least of so many that come by chance.
fn by_chance(readings: f64, amount: f64) -> f64 {
    if readings > 0.0 { readings * (1.0 - (-amount / readings).exp()) } else { 0.0 }
}

/// Connections that this machine opens per response, without those of the load and to observed stores; 0 if these are all,
/// or if there are less than 100. `None` if they are not counted.
fn of_machine(evidence: &Evidence<'_>) -> Option<f64> {
    let hosts = evidence.sources(SourceKind::Host);
    let all = hosts.iter().find_map(|host| host.rise("host.tcp.opened_active", ""))?;
    let responses = evidence.answered_within(all.from, all.to);
    // Readings span the measured time and a little of the warm-up: all of its connections are taken off.
    let run = evidence.run;
    let tallies = run.warm_up.endpoints.iter().chain(&run.measured.endpoints);
    let of_load: f64 = tallies.map(|tally| tally.connections as f64).sum();
    let rest = all.amount - of_load - to_stores(evidence) * responses;
    let is_enough = responses >= 1.0 && rest >= OPENED_MIN;
    Some(if is_enough { rest / responses } else { 0.0 })
}

/// Connections to observed stores that were opened per response, from wherever.
fn to_stores(evidence: &Evidence<'_>) -> f64 {
    let of_kind = |kind: SourceKind, counter: &str| {
        let stores = evidence.sources(kind);
        let rises = stores.iter().flat_map(|store| store.rises(counter));
        rises.filter_map(|(_, rise)| evidence.per_request(rise)).sum::<f64>()
    };
    of_kind(SourceKind::Postgres, "database.sessions") + of_kind(SourceKind::Redis, "redis.connections")
}

fn draft(
    evidence: &Evidence<'_>,
    process: &Watched<'_>,
    opened: &Opened<'_>,
    of_machine: Option<f64>,
) -> Option<Draft> {
    let is_enough = of_machine.is_some() || opened.rise.amount >= OPENED_MIN;
    if Signal::falls_short(of_machine, OPENED) || !is_enough {
        return None;
    }
    // Where it is unknown how many there are, one per response is assumed.
    let each = opened.seconds / of_machine.unwrap_or(1.0);
    // Looks see waits by chance, so that few of them say little about how long these are.
    let least = each * (1.0 - SURE / opened.sightings.max(1.0).sqrt());
    let responses = &evidence.all().outcomes[Outcome::Ok as usize].response;
    if least > responses.quantile(MOST).map_or(0.0, Nanos::as_secs_f64) {
        return None;
    }
    let seen = Signal::at_least(
        format!("new connections to {} per response that looks see", opened.endpoint),
        Unit::Count,
        evidence.per_request(opened.rise),
        SEEN,
        "sock_diag: connections",
    )?;
    let counted = Signal::at_least(
        "connections opened from this machine per response, without those of the load and to observed stores",
        Unit::Count,
        of_machine,
        OPENED,
        "/proc/net/snmp: ActiveOpens",
    );
    let how_many = of_machine.map_or_else(
        || format!("{} per response that looks see, which miss most short ones", number(seen.figure)),
        |all| {
            let others = "as many as this machine opens beside those of the load and to observed stores";
            format!("up to {} per response, {others}", number(all))
        },
    );
    Some(Draft {
        subject: Subject::of(SubjectKind::Process, process.name(), Some(&process.source.name)),
        statement: format!(
            "the service opens connections to {} again and again: {how_many}",
            opened.endpoint
        ),
        signals: [seen].into_iter().chain(counted).collect(),
        remedy: Remedy::advice(
            "make one client for the life of the process and let its pool keep connections, with room for all that are in use",
        ),
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Calling, RATE, Scene};
    use crate::{Confidence, Finding};

    const QUOTAS: &str = "10.0.0.2:443";

    /// A call per response to another server; looks see so many new connections per second, on each of which so many
    /// segments were sent.
    fn calling(seen: impl Fn(u64) -> f64, segments: f64) -> Scene {
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.025);
        let process = scene.process("shop (pid 7)");
        scene.calling(process, QUOTAS, &Calling { seconds: 0.02, ..Calling::default() });
        scene.stepped(process, "process.calls.opened", QUOTAS, &seen);
        scene.stepped(process, "process.calls.sent_segments", QUOTAS, |second| seen(second) * segments);
        scene
    }

    /// The same on a machine that opens so many connections per response.
    fn opening(mut scene: Scene, per_response: f64) -> Option<Finding> {
        let host = scene.host(4.0);
        scene.counter(host, "host.tcp.opened_active", "", per_response * RATE as f64);
        scene.found("new_call_connections")
    }

    #[test]
    fn a_user_learns_to_whom_a_connection_is_opened_for_each_call() {
        let finding = opening(calling(|_| 250.0, 2.0), 1.0).unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        let says = "the service opens connections to 10.0.0.2:443 again and again: up to ";
        assert!(finding.statement.starts_with(says), "{}", finding.statement);
    }

    #[test]
    fn connections_that_are_kept_and_pools_that_are_filled_are_healthy() {
        assert_eq!(opening(calling(|_| 0.0, 0.0), 1.0), None, "others of the machine open connections");
        let filled = calling(|second| if second < 10 { 250.0 } else { 0.0 }, 2.0);
        assert_eq!(opening(filled, 1.0), None, "a pool that is filled at the beginning");
        assert_eq!(opening(calling(|_| 250.0, 100.0), 1.0), None, "a hundred calls on each connection");
        assert_eq!(opening(calling(|_| 250.0, 2.0), 0.3), None, "the kernel counts fewer");
        let mut mails = calling(|_| 250.0, 2.0);
        mails.counter(0, "process.calls.waiting", QUOTAS, 10.0 * 120.0);
        assert_eq!(opening(mails, 1.0), None, "120 ms for each, in the background of responses of 25 ms");
    }

    /// Ten seconds of 30 calls per second of 23 ms, in responses of 27 ms. Looks see so many waits per second, of 6.9 that
    /// are to be expected, and new connections in these seconds.
    fn handshakes(waits: f64, seen: impl Fn(u64) -> f64) -> Option<Finding> {
        let users = knee_core::schedule::Curve::constant(10.0);
        let mut scene = Scene::sized(10, |_| 30, users, |sample, _, _| sample.wait = 0.027);
        let process = scene.process("shop (pid 7)");
        scene.counter(process, "process.calls.looks", "", 10.0);
        scene.counter(process, "process.calls.waiting", QUOTAS, waits);
        scene.stepped(process, "process.calls.opened", QUOTAS, &seen);
        scene.stepped(process, "process.calls.sent_segments", QUOTAS, |second| 2.0 * seen(second));
        let host = scene.host(2.0);
        scene.counter(host, "host.tcp.opened_active", "", 30.0);
        scene.found("new_call_connections")
    }

    #[test]
    fn looks_that_see_more_waits_than_usual_do_not_make_calls_longer_than_their_responses() {
        assert!(handshakes(6.9, |_| 7.0).is_some());
        assert!(handshakes(9.0, |_| 7.0).is_some(), "30 ms each, by chance");
        assert_eq!(handshakes(15.0, |_| 7.0), None, "50 ms each");
    }

    #[test]
    fn few_connections_leave_seconds_without_one() {
        assert!(handshakes(6.9, |second| if second < 7 { 3.0 } else { 0.0 }).is_some(), "seven of ten");
        assert_eq!(handshakes(6.9, |second| if second < 2 { 12.0 } else { 0.0 }), None, "a pool is filled");
    }

    #[test]
    fn connections_of_the_load_and_to_observed_stores_are_not_those_of_calls() {
        let mut of_load = calling(|_| 250.0, 2.0);
        of_load.run.measured.endpoint_mut(knee_core::plan::EndpointId(0)).connections += 30 * RATE;
        assert_eq!(opening(of_load.clone(), 1.0), None);
        assert!(opening(of_load, 2.0).is_some(), "one of the load, and one for the call");
        let mut to_redis = calling(|_| 250.0, 2.0);
        let redis = to_redis.redis();
        to_redis.counter(redis, "redis.connections", "", RATE as f64);
        assert_eq!(opening(to_redis, 1.0), None);
        let mut store = Scene::with(|sample, _, _| sample.wait = 0.025);
        store.redis();
        let process = store.process("shop (pid 7)");
        store.calling(process, "10.0.0.3:6379", &Calling::default());
        store.counter(process, "process.calls.opened", "10.0.0.3:6379", 250.0);
        store.counter(process, "process.calls.sent_segments", "10.0.0.3:6379", 500.0);
        assert_eq!(opening(store, 1.0), None, "redis_connections says it");
    }

    #[test]
    fn without_the_count_of_the_machine_it_is_a_hint() {
        let finding = calling(|_| 250.0, 2.0).found("new_call_connections").unwrap();
        assert_eq!(finding.confidence, Confidence::Hint);
        assert!(finding.statement.contains("looks see"), "{}", finding.statement);
        let few = Scene::sized(
            10,
            |_| 20,
            knee_core::schedule::Curve::constant(10.0),
            |sample, _, _| sample.wait = 0.025,
        );
        let rare = |per_second: f64| {
            let mut scene = few.clone();
            let process = scene.process("shop (pid 7)");
            scene.counter(process, "process.calls.looks", "", 10.0);
            scene.counter(process, "process.calls.waiting", QUOTAS, 2.0);
            scene.counter(process, "process.calls.opened", QUOTAS, per_second);
            scene.counter(process, "process.calls.sent_segments", QUOTAS, 2.0 * per_second);
            scene.found("new_call_connections")
        };
        assert!(rare(11.0).is_some());
        assert_eq!(rare(9.0), None, "fewer than a hundred");
    }

    #[test]
    fn a_process_whose_connections_are_unknown_is_named_as_lacking() {
        let mut scene = Scene::steady();
        assert!(scene.lacks("new_call_connections").unwrap().contains("pid:PID"));
        scene.process("shop (pid 7)");
        assert!(scene.lacks("new_call_connections").unwrap().contains("outgoing connections"));
    }
}
