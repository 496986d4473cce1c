//! What an observed process asks of other services: calls per response, and the time that they take of it.
//!
//! By Little's law, the mean number of connections that wait, divided by the responses per second, is the time per
//! response that waits. Connections to observed stores are left out, because the stores say themselves what they do. So
//! are those to brokers, which wait for messages, and those whose waits cannot be calls of requests. Does not judge.

use knee_core::observation::SourceKind;
use knee_core::outcome::Outcome;
use knee_core::unit::Nanos;

use crate::evidence::Evidence;
use crate::watched::{Rise, Watched};

/// Fewest looks from which waits are read.
const LOOKS_MIN: f64 = 50.0;

/// Calls per response below which they are work beside the requests.
const CALLS_MIN: f64 = 0.05;

/// Most calls at a time that the observer counts exactly.
const LEVEL_MAX: u32 = 31;

/// Share of the looks at which more calls than the most can be open. A look reads connections one after another, so it can
/// see the end of one call and the begin of the next as two.
const BEYOND: f64 = 0.01;

/// Variance of the number of open calls from which on what changes with it shows: that of one place which is taken for
/// 95 % of the time.
const VARIANCE_MIN: f64 = 0.05;

/// The label of endpoints that were counted together.
const OTHERS: &str = "others";

/// Kinds of sources that processes ask over TCP, and the port of an address without one.
const STORES: [(SourceKind, &str); 3] =
    [(SourceKind::Postgres, "5432"), (SourceKind::PgBouncer, "6432"), (SourceKind::Redis, "6379")];

/// Usual ports of stores: PostgreSQL, PgBouncer, `MySQL`, Redis, memcached, `MongoDB`, Cassandra, SQL Server, Oracle,
/// `CockroachDB`; and the next ports, which a second store on the same machine has. Their statements follow each other
/// in healthy services too.
const STORE_PORTS: [&str; 13] = [
    "5432", "5433", "6432", "3306", "3307", "6379", "6380", "11211", "27017", "9042", "1433", "1521", "26257",
];

/// Usual ports of brokers: AMQP, Kafka, NATS, MQTT. A consumer that has acknowledged a message waits for the next one,
/// and that is no call.
const BROKER_PORTS: [&str; 6] = ["5671", "5672", "9092", "4222", "1883", "8883"];

/// What a process asks of one endpoint, per complete response of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// Its address and port.
    pub endpoint: &'a str,
    /// Seconds that wait for it.
    pub seconds: f64,
    /// Connections that wait for it, on average.
    pub waiting: f64,
    /// Seconds of which the looks cannot say whether they wait.
    pub unsettled: f64,
    /// Calls, at most: each sends a segment and receives one.
    pub calls: f64,
    /// Questions under way on a connection that waits, at most one segment each; `None` if unknown.
    pub under_way: Option<f64>,
    /// Spans between two looks at which a connection was idle, and the share of them with the same bytes per call as
    /// the span before.
    pub spans: f64,
    pub alike: f64,
    /// Bytes sent and received per call.
    pub sent: f64,
    pub received: f64,
    /// How many calls are open at a time; `None` if no look saw one, or at more than 31.
    pub open: Option<Open>,
}

/// How many calls of one endpoint are open at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    /// The most, but for a hundredth of the looks.
    pub most: f64,
    /// Share of the looks at which so many were open.
    pub full: f64,
    /// By how many requests more are in progress for each call more that is open; `None` if their number hardly changes.
    pub requests: Option<f64>,
    /// Requests in progress while no call is open, by a straight line through the looks; `None` as above. Exact where one
    /// call is open at a time. Where requests wait for places, they become more the faster the more calls are open, so
    /// that the line is below the truth at both ends.
    pub idle: Option<f64>,
}

impl Asked<'_> {
    /// Mean seconds of one call.
    pub(crate) fn each(&self) -> f64 {
        self.seconds / self.calls
    }

    /// Whether it stands for one endpoint and not for all that were counted together.
    pub(crate) fn is_one(&self) -> bool {
        self.endpoint != OTHERS
    }
}

/// What a process asks of services that are no observed stores, the longest wait first.
pub(crate) fn asked<'a>(evidence: &Evidence<'_>, process: &Watched<'a>) -> Vec<Asked<'a>> {
    let stores = ports(evidence);
    let all = process.rises("process.calls.received_bytes").into_iter();
    let mut asked: Vec<Asked<'a>> = all
        .filter(|(endpoint, _)| !stores.iter().any(|port| is_at(endpoint, port)))
        .filter(|(endpoint, _)| !BROKER_PORTS.iter().any(|port| is_at(endpoint, port)))
        .filter_map(|(endpoint, received)| one(evidence, process, endpoint, received))
        .collect();
    asked.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    asked
}

/// The same without what is, by its port, a store that is not observed.
pub(crate) fn services<'a>(evidence: &Evidence<'_>, process: &Watched<'a>) -> Vec<Asked<'a>> {
    let mut asked = asked(evidence, process);
    asked.retain(|asked| !STORE_PORTS.iter().any(|port| is_at(asked.endpoint, port)));
    asked
}

/// The connections to one endpoint that looks saw for the first time, as many as a process opened at least.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened<'a> {
    /// Its address and port.
    pub endpoint: &'a str,
    pub rise: Rise,
    /// Segments that all connections to it sent meanwhile, as far as looks saw them.
    pub segments: f64,
    /// Seconds per response that they waited for it, and how often a look saw one of them wait.
    pub seconds: f64,
    pub sightings: f64,
}

/// The endpoints to which a process opened connections, the most first. Not observed stores, which say it themselves, and
/// not all endpoints together that were counted so.
pub(crate) fn opened<'a>(evidence: &Evidence<'_>, process: &Watched<'a>) -> Vec<Opened<'a>> {
    let stores = ports(evidence);
    let all = process.rises("process.calls.opened").into_iter();
    let own =
        all.filter(|(endpoint, _)| *endpoint != OTHERS && !stores.iter().any(|port| is_at(endpoint, port)));
    own.filter_map(|(endpoint, rise)| {
        let Rise { from, to, .. } = rise;
        let looks = process.rose("process.calls.looks", "", from, to).filter(|looks| *looks >= LOOKS_MIN)?;
        let sightings = process.rose("process.calls.waiting", endpoint, from, to)?;
        let segments = process.rose("process.calls.sent_segments", endpoint, from, to)?;
        let responses = evidence.answered_within(from, to);
        let seconds = sightings / looks * to.since(from).as_secs_f64() / responses;
        (responses >= 1.0).then_some(Opened { endpoint, rise, segments, seconds, sightings })
    })
    .collect()
}

/// What is asked of one endpoint; `None` if it is not asked by requests, as far as that shows.
fn one<'a>(
    evidence: &Evidence<'_>,
    process: &Watched<'a>,
    endpoint: &'a str,
    received: Rise,
) -> Option<Asked<'a>> {
    let Rise { from, to, .. } = received;
    let of = |name: &str| process.rose(&format!("process.calls.{name}"), endpoint, from, to);
    let looks = process.rose("process.calls.looks", "", from, to).filter(|looks| *looks >= LOOKS_MIN)?;
    let responses = evidence.answered_within(from, to);
    let seconds = to.since(from).as_secs_f64();
    let (questions, answers) = (of("sent_segments")?, of("received_segments")?);
    let calls = questions.min(answers);
    if responses < 1.0 || seconds <= 0.0 || calls < CALLS_MIN * responses || received.amount <= 0.0 {
        return None;
    }
    let per_response = |waiting: f64| waiting / looks * seconds / responses;
    let waiting = of("waiting")?;
    let pending = of("pending").zip(of("pending_sent")).zip(of("pending_received"));
    let under_way = pending
        .filter(|((pending, _), _)| *pending >= 1.0)
        .map(|((pending, sent), received)| (sent - received * questions / answers) / pending);
    let spans = of("spans")?;
    let asked = Asked {
        endpoint,
        seconds: per_response(waiting),
        waiting: waiting / looks,
        unsettled: per_response(of("unsettled")?),
        calls: calls / responses,
        under_way,
        spans,
        alike: if spans > 0.0 { of("spans_alike")? / spans } else { 0.0 },
        sent: of("sent_bytes")? / calls,
        received: received.amount / calls,
        open: open(process, endpoint, looks, (from, to)),
    };
    // What waits for longer than any response waits for what happens next, as a long poll does.
    (asked.each() <= longest(evidence)).then_some(asked)
}

/// How many calls are open at a time, by so many looks between two moments.
fn open(process: &Watched<'_>, endpoint: &str, looks: f64, (from, to): (Nanos, Nanos)) -> Option<Open> {
    let levels: Vec<(f64, f64)> = (1..=LEVEL_MAX + 1)
        .map(|level| (f64::from(level), looks_at(process, &format!("{endpoint} {level}"), (from, to))))
        .filter(|(_, count)| *count > 0.0)
        .collect();
    let above = |most: f64| {
        let above = levels.iter().filter(|(level, _)| *level > most);
        above.map(|(_, count)| count).sum::<f64>()
    };
    let (most, _) = *levels.iter().find(|(level, _)| above(*level) <= BEYOND * looks)?;
    let moment = |power: i32| {
        let powers = levels.iter().map(|(level, count)| level.powi(power) * count);
        powers.sum::<f64>() / looks
    };
    let (mean, variance) = (moment(1), moment(2) - moment(1) * moment(1));
    let of = |name: &str, label: &str| Some(process.rose(name, label, from, to)? / looks);
    let in_progress = of("process.calls.requests", "").filter(|requests| *requests > 0.0);
    let requests = of("process.calls.waiting_requests", endpoint)
        .zip(in_progress)
        .filter(|_| variance >= VARIANCE_MIN)
        .map(|(product, requests)| (product - mean * requests) / variance);
    let idle = requests.zip(in_progress).map(|(more, requests)| (requests - more * mean).max(0.0));
    let full = levels.iter().filter(|(level, _)| *level >= most).map(|(_, count)| count).sum::<f64>() / looks;
    (most <= f64::from(LEVEL_MAX)).then_some(Open { most, full, requests, idle })
}

/// At how many looks between two moments as many calls were open as the label says. The counter begins with the first
/// such look, and was zero before.
fn looks_at(process: &Watched<'_>, label: &str, (from, to): (Nanos, Nanos)) -> f64 {
    let Some(series) = process.series("process.calls.waiting_looks", label) else { return 0.0 };
    let until = |moment: Nanos| {
        let before = series.points.iter().take_while(|(at, count)| *at <= moment && count.is_finite());
        before.last().map_or(0.0, |(_, count)| *count)
    };
    until(to) - until(from)
}

/// The longest complete response, in seconds.
fn longest(evidence: &Evidence<'_>) -> f64 {
    let of = |outcome: Outcome| evidence.all().outcomes[outcome as usize].response.max();
    of(Outcome::Ok).max(of(Outcome::HttpError)).map_or(0.0, Nanos::as_secs_f64)
}

/// The ports of observed stores. Their hosts have names, and the connections of a process have addresses.
fn ports(evidence: &Evidence<'_>) -> Vec<String> {
    let of = |(kind, usual): (SourceKind, &str)| {
        let sources = evidence.sources(kind).into_iter();
        sources.map(|source| port(&source.source.name, usual)).collect::<Vec<String>>()
    };
    STORES.into_iter().flat_map(of).collect()
}

/// The port of an address such as `postgres://[::1]:5433/shop`.
pub(crate) fn port(address: &str, usual: &str) -> String {
    let behind = address.split_once("://").map_or(address, |(_, behind)| behind);
    let host = behind.split('/').next().unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port);
    let is_port = |port: &&str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    port.filter(is_port).unwrap_or(usual).to_owned()
}

/// Whether an endpoint is at a port.
pub(crate) fn is_at(endpoint: &str, port: &str) -> bool {
    endpoint.rsplit_once(':').is_some_and(|(_, at)| at == port)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Calling, Scene};

    fn asked_in(scene: &Scene) -> Vec<(String, f64, f64)> {
        let evidence = Evidence::of(&scene.run, &scene.observations);
        let processes = evidence.sources(SourceKind::Process);
        let asked = processes.iter().flat_map(|process| asked(&evidence, process));
        asked.map(|asked| (asked.endpoint.to_owned(), asked.seconds, asked.calls)).collect()
    }

    #[test]
    fn the_time_per_response_that_waits_is_that_of_the_calls() {
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.05);
        let process = scene.process("shop (pid 7)");
        let calling = Calling { per_response: 3.0, seconds: 0.01, ..Calling::default() };
        scene.calling(process, "10.0.0.2:80", &calling);
        let asked = asked_in(&scene);
        let [(endpoint, seconds, calls)] = asked.as_slice() else { panic!("{asked:?}") };
        assert_eq!(endpoint, "10.0.0.2:80");
        assert!((seconds - 0.03).abs() < 1e-3 && (calls - 3.0).abs() < 0.05, "{asked:?}");
    }

    #[test]
    fn stores_brokers_long_polls_what_never_answers_and_work_beside_the_requests_are_no_calls() {
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.05);
        scene.postgres();
        scene.redis();
        let process = scene.process("shop (pid 7)");
        let calling = Calling { per_response: 1.0, seconds: 0.01, ..Calling::default() };
        scene.calling(process, "10.0.0.2:5432", &calling);
        scene.calling(process, "[::1]:6379", &calling);
        scene.calling(process, "10.0.0.3:80", &Calling { seconds: 30.0, ..calling });
        scene.calling(process, "10.0.0.4:9200", &Calling { received: 0.0, ..calling });
        scene.calling(process, "10.0.0.4:5672", &calling);
        scene.calling(process, "10.0.0.5:4318", &Calling { per_response: 0.01, ..calling });
        let asked = asked_in(&scene);
        assert!(asked.is_empty(), "{asked:?}");
    }

    #[test]
    fn the_most_calls_at_a_time_are_known_from_their_first_look_on_and_rare_ones_more_do_not_count() {
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.05);
        let process = scene.process("shop (pid 7)");
        let calling = Calling { seconds: 0.01, most: 2, full: 0.6, ..Calling::default() };
        scene.calling(process, "10.0.0.2:80", &calling);
        let open = |scene: &Scene| {
            let evidence = Evidence::of(&scene.run, &scene.observations);
            let processes = evidence.sources(SourceKind::Process);
            let all = asked(&evidence, &processes[0]);
            all[0].open.unwrap()
        };
        let known = open(&scene);
        assert!((known.most - 2.0).abs() < 1e-9 && (known.full - 0.6).abs() < 0.01, "{known:?}");
        assert!((known.requests.unwrap() - calling.follow).abs() < 0.01, "{known:?}");
        // Five requests on average, and 1.2 calls with three requests each.
        assert!((known.idle.unwrap() - 1.4).abs() < 0.02, "{known:?}");
        // Of 300 looks, so many saw three calls, from the second second on.
        let late = |scene: &mut Scene, count: f64| {
            let points = (2..=30).map(|second| (Nanos::from_secs(second), count));
            let kind = knee_core::observation::SeriesKind::Counter;
            scene.points(process, "process.calls.waiting_looks", "10.0.0.2:80 3", kind, points.collect());
        };
        late(&mut scene, 2.0);
        assert!((open(&scene).most - 2.0).abs() < 1e-9, "a look that saw an end and a begin");
        late(&mut scene, 4.0);
        assert!((open(&scene).most - 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_port_of_a_store_is_read_from_its_address() {
        let of =
            ["postgres://db:5433/app", "redis://[::1]:6380/1", "redis://cache", "postgresql://db/app", "x"];
        assert_eq!(of.map(|address| port(address, "1")), ["5433", "6380", "1", "1", "1"]);
        assert_eq!(port("redis://[::1]", "6379"), "6379");
    }

    proptest! {
        /// Whatever is observed: all figures are finite, and none is negative.
        #[test]
        fn what_is_asked_is_finite(
            per_response in 0.0f64..50.0, seconds in 0.0f64..1.0, segments in 0.0f64..4.0,
        ) {
            let users = knee_core::schedule::Curve::constant(10.0);
            let mut scene = Scene::sized(10, |_| 50, users, |_, _, _| {});
            let process = scene.process("shop (pid 7)");
            let calling = Calling { per_response, seconds, segments, ..Calling::default() };
            scene.calling(process, "10.0.0.2:80", &calling);
            for (_, seconds, calls) in asked_in(&scene) {
                prop_assert!(seconds.is_finite() && seconds >= 0.0 && calls.is_finite() && calls > 0.0);
            }
        }
    }
}
