//! Laws that hold whatever a network and its server do, in thousands of random runs.
//!
//! A failing run prints its seed, as in [`crate::laws`].

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::clock::MonotonicClock;
use knee_core::outcome::{Fault, Outcome};
use knee_core::plan::{EndpointId, Plan, Stop};
use knee_core::tally::{EndpointTally, Tally};
use knee_core::unit::Nanos;
use knee_engine::deadline::Deadlines;
use knee_engine::http::host_rules::Override;
use knee_engine::http::network::Network;
use knee_engine::http::request::Defaults;
use knee_engine::http::settings::{HttpVersion, Settings};
use knee_engine::http::transport::PoolSharing;
use knee_engine::requests::{HttpUser, RequestBody, RequestSet, RequestTemplate};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use url::Url;

use super::behaviour::{Behaviour, PATHS, body_of};
use super::{Conditions, Counted, SimDialer, SimNetwork, http1, http2};
use crate::harness::{Outcomes, StopSignal, closed, millis, run_users};
use crate::laws::{check, random_plan, random_signal, with_seeds};
use crate::world::World;

const RUNS: u64 = 300;

/// What a run over a simulated network left.
struct Ended {
    outcomes: Outcomes,
    counted: Rc<Counted>,
    /// Connections that were open after the run.
    open: u64,
}

/// Runs `plan` over a network. Half of the requests have a body, and cannot be sent twice.
fn run_over(plan: &Plan, conditions: &Conditions, signal: Option<StopSignal>, streams: u32) -> Ended {
    let world = World::new();
    let network = Rc::new(SimNetwork::new(conditions.clone(), world.timer.clone()));
    let version = if conditions.is_http2 { HttpVersion::Two } else { HttpVersion::One };
    let mut settings = Settings {
        connect_timeout: plan.connect_timeout,
        request_timeout: plan.request_timeout,
        version,
        streams,
        ..Settings::default()
    };
    settings.host_rules.overrides.extend(Override::new("simulated", "10.0.0.1"));
    let (settings, defaults, resolver) = (Arc::new(settings), Defaults::default(), Arc::default());
    let templates = (0..PATHS).map(template).collect();
    let set = RequestSet::prepare(templates, &defaults, conditions.seed, true, &[]).expect("there are some");
    let set = Arc::new(set);
    let networks = RefCell::new(Vec::new());
    let (outcomes, _) = run_users(world, plan, signal, |timer, recorder| {
        let deadlines = Rc::new(Deadlines::default());
        let watch = (deadlines.clone(), timer.clone());
        let clock = MonotonicClock::simulated();
        let worker =
            Network::new(clock, settings.clone(), defaults.clone(), Arc::clone(&resolver), None, deadlines);
        let worker = Rc::new(worker.through(Rc::new(SimDialer(network.clone()))));
        networks.borrow_mut().push(worker.clone());
        let (sharing, set, recorder, own) =
            (PoolSharing::default(), set.clone(), recorder.clone(), worker.clone());
        let make = move |id| HttpUser::new(set.clone(), sharing.pool(&own), recorder.clone(), id);
        (make, Some(worker), async move { watch.0.watch(watch.1, millis(10)).await })
    });
    let open = networks.borrow().iter().map(|network| network.connections_open()).sum();
    Ended { outcomes, counted: network.counted.clone(), open }
}

fn template(path: usize) -> RequestTemplate {
    let (method, body) = match path % 2 {
        0 => ("GET", RequestBody::Empty),
        _ => ("POST", RequestBody::Fixed(vec![b'x'; path * path * 100])),
    };
    RequestTemplate {
        method: method.to_owned(),
        url: Url::parse(&format!("http://simulated/{path}")).expect("a URL"),
        headers: Vec::new(),
        body,
        weight: 1.0,
        endpoint: EndpointId(path as u32),
    }
}

fn random_conditions(random: &mut SmallRng) -> Conditions {
    let is_http2 = random.random_range(0..3) == 0;
    let span = |random: &mut SmallRng| {
        let from = millis(random.random_range(0..2_000));
        from..from + millis(random.random_range(1..1_000))
    };
    let some: &[Behaviour] = if is_http2 { &http2::BEHAVIOURS } else { &http1::BEHAVIOURS };
    let is_well = random.random_range(0..4) == 0;
    let behaviours = some.iter().copied().filter(|_| !is_well && random.random_range(0..3) == 0).collect();
    Conditions {
        one_way: Nanos(random.random_range(1..20_000_000)),
        jitter: Nanos(random.random_range(0..20_000_000)),
        piece_max: [1, 7, 100, 1_400, 100_000][random.random_range(0..5)].max(if is_http2 { 100 } else { 1 }),
        window: [64, 1_000, 100_000][random.random_range(0..3)].max(if is_http2 { 1_000 } else { 1 }),
        reset_discards: random.random(),
        refuses: (!is_well && random.random_range(0..4) == 0).then(|| span(random)),
        vanishes: (!is_well && random.random_range(0..4) == 0).then(|| span(random)),
        serves_in: Nanos(random.random_range(0..200_000_000)),
        behaviours,
        rarity: random.random_range(1..8),
        is_http2,
        seed: random.random(),
    }
}

/// The faults that can happen under these conditions.
fn possible_faults(conditions: &Conditions) -> BTreeSet<Fault> {
    let mut possible: BTreeSet<Fault> = [Fault::RequestTimeout, Fault::ConnectTimeout].into();
    possible.extend(conditions.behaviours.iter().flat_map(|behaviour| behaviour.faults()));
    // Before a client knows how many requests a server takes at a time, it can send too many.
    possible.extend(conditions.is_http2.then_some(Fault::H2Refused));
    // The end of a connection cuts the other answers on it.
    let cuts_others = conditions.is_http2 && conditions.behaviours.contains(&Behaviour::ClosesBefore);
    possible.extend(cuts_others.then_some(Fault::ShortBody));
    possible.extend(conditions.refuses.as_ref().map(|_| Fault::Refused));
    possible
}

fn both(outcomes: &Outcomes) -> Tally {
    let mut all = outcomes.warm_up.clone();
    all.merge(&outcomes.measured);
    all
}

#[test]
fn the_laws_hold_over_thousands_of_random_networks() {
    with_seeds(RUNS, one_network);
}

#[test]
fn a_connection_that_fails_after_its_time_limit_is_a_timeout() {
    // A run in which a refusal arrives between the limit and the check that notices it.
    one_network(34_949);
}

fn one_network(seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut plan = random_plan(&mut random);
    plan.connect_timeout = millis(random.random_range(50..1_000));
    let signal = random_signal(&mut random);
    let is_unhurried = signal.is_none();
    let conditions = random_conditions(&mut random);
    let streams = if conditions.is_http2 { random.random_range(1..4) } else { 1 };
    if std::env::var_os("KNEE_SIM_SEED").is_some() {
        println!("{plan:#?}\n{conditions:#?}");
    }
    let ended = run_over(&plan, &conditions, signal, streams);
    check(&plan, &ended.outcomes, is_unhurried);
    check_against_server(&conditions, &ended);
    let tally = both(&ended.outcomes);
    check_bodies(&conditions, &tally);
    check_times(&plan, &conditions, &tally.all());
    let possible = possible_faults(&conditions);
    for fault in tally.all().faults {
        assert!(
            possible.contains(&fault.fault),
            "{:?} cannot happen here: {:?}",
            fault.fault,
            fault.examples
        );
    }
    if seed.is_multiple_of(16) && is_unhurried {
        let again = run_over(&plan, &conditions, None, streams);
        assert!(both(&again.outcomes) == tally, "the same seed gives the same run");
    }
}

/// What this side counted agrees with what the other side counted.
fn check_against_server(conditions: &Conditions, ended: &Ended) {
    let Ended { outcomes, counted, open } = ended;
    let both = both(outcomes);
    let (books, all) = (both.accounting(), both.all());
    let whole = books.count(Outcome::Ok) + books.count(Outcome::HttpError);
    assert!(whole <= counted.responses.get(), "{whole} responses, {counted:?}");
    // What was open at the end can have been sent twice.
    let again = all.resent + books.count(Outcome::Censored);
    let sent = books.planned - books.count(Outcome::Unsent) + again;
    assert!(counted.all_requests() <= sent, "{sent} requests, {counted:?}");
    for (path, endpoint) in both.endpoints.iter().enumerate().filter(|(path, _)| path % 2 == 1) {
        let (sent, seen) = (endpoint.planned - endpoint.count(Outcome::Unsent), counted.requests[path].get());
        // Over HTTP/2 a server can say that it did not process a request.
        assert!(
            seen <= sent || conditions.is_http2,
            "of {sent} requests that cannot be sent twice {seen} came"
        );
    }
    assert!(all.connections <= counted.connections.get(), "{} connections, {counted:?}", all.connections);
    assert!(all.bytes_sent <= counted.sent.get(), "{} bytes sent, {counted:?}", all.bytes_sent);
    assert!(all.bytes_received <= counted.read.get(), "{} bytes received, {counted:?}", all.bytes_received);
    if books.count(Outcome::Censored) == 0 && outcomes.concurrency.at_end == 0 {
        assert_eq!(*open, 0, "every connection is closed after the run");
    }
}

/// Every response is the answer to its own request. Only a server that answers twice can deceive a client of HTTP/1.1,
/// and even that is counted, unless its connection ends before the answer that is left over arrives.
fn check_bodies(conditions: &Conditions, tally: &Tally) {
    let can_deceive = conditions.behaviours.contains(&Behaviour::Repeats);
    for (path, endpoint) in tally.endpoints.iter().enumerate() {
        let own = body_of(path);
        let own = (crc32fast::hash(&own), own.len() as u64);
        let is_own = endpoint.bodies.seen.iter().all(|seen| *seen == own);
        assert!(is_own || can_deceive, "the answer to {path} is another's");
    }
}

/// No time is shorter than the network allows, or longer than the time limit.
fn check_times(plan: &Plan, conditions: &Conditions, all: &EndpointTally) {
    let limit = plan.request_timeout.expect("a time limit");
    let ok = &all.outcomes[Outcome::Ok as usize];
    if let Some(shortest) = ok.service.min() {
        let least = conditions.one_way + conditions.one_way;
        let can_deceive = conditions.behaviours.contains(&Behaviour::Repeats);
        assert!(
            shortest >= least || can_deceive,
            "{shortest:?} is less than two ways of {:?}",
            conditions.one_way
        );
    }
    for outcome in [Outcome::Ok, Outcome::HttpError, Outcome::TransportError] {
        if let Some(longest) = all.outcomes[outcome as usize].service.max() {
            assert!(
                longest <= limit,
                "{outcome:?} after {longest:?}, later than the time limit of {limit:?}"
            );
        }
    }
}

#[test]
fn a_request_that_is_sent_again_has_the_time_limit_of_its_first_send() {
    // A run in which a refused stream is sent again after its first bytes waited for room on the connection.
    one_network(693);
}

#[test]
fn a_network_without_faults_loses_nothing_and_both_sides_count_the_same() {
    for is_http2 in [false, true] {
        for piece_max in [1, 100, 100_000] {
            let conditions = Conditions {
                one_way: millis(2),
                jitter: millis(1),
                piece_max,
                window: 2_000,
                reset_discards: true,
                refuses: None,
                vanishes: None,
                serves_in: millis(10),
                behaviours: Vec::new(),
                rarity: 1,
                is_http2,
                seed: 7,
            };
            let plan = closed(10, Stop::Requests(300));
            let Ended { outcomes, counted, open } = run_over(&plan, &conditions, None, 1);
            let all = outcomes.measured.all();
            assert_eq!(all.count(Outcome::Ok), 300, "{:?}", all.faults);
            assert_eq!((counted.all_requests(), counted.responses.get()), (300, 300));
            assert_eq!((all.connections, all.resent, all.surplus), (counted.connections.get(), 0, 0));
            assert_eq!(open, 0);
            if !is_http2 {
                assert_eq!(all.bytes_sent, counted.sent.get());
                assert_eq!(all.bytes_received, counted.read.get());
            }
        }
    }
}
