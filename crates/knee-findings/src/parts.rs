//! Where the time of a response goes: the parts of the mean response time that were measured, and what is left.
//!
//! The load generator measures parts that follow each other: before the first byte is sent, while the request is sent,
//! while the service has it, while the response arrives. Observers measure work: statements, commands, CPU time, waiting
//! for other services. Divided by the responses of the same time, work is the mean time that is spent for one response.
//! Waiting that is longer than all of it is something else, at least: a queue, also for the work of other requests, a
//! round trip, a lock, a pool. Does not judge: a large part need not be a defect.

use knee_core::observation::SourceKind;
use knee_core::tally::Phase;

use crate::bound::both;
use crate::breakdown::{Breakdown, Part, PartKind};
use crate::calls::asked;
use crate::commands;
use crate::evidence::Evidence;
use crate::query::{self, Query};
use crate::watched::{Rise, Watched};

/// A part below this share of the response time is not listed by itself.
const LISTED: f64 = 0.01;

/// Less than this share of all is the rounding of their sum.
const ROUNDING: f64 = 1e-9;

/// Most statements, and most commands, of one server that are listed.
const EACH_MAX: usize = 5;

/// The breakdown of a run; `None` if no work was observed, or without a complete response.
pub fn breakdown(evidence: &Evidence<'_>) -> Option<Breakdown> {
    let response_s = evidence.response_mean().filter(|mean| mean.is_finite() && *mean > 0.0)?;
    let (work, unknown) = observed_work(evidence);
    if work.is_empty() {
        return None;
    }
    let waiting_s = per_response(evidence, Phase::Wait).min(response_s);
    let unobserved_s = (waiting_s - work.iter().map(|part| part.seconds).sum::<f64>()).max(0.0);
    let mut parts = measured_from_outside(evidence, response_s);
    parts.extend(work);
    parts.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    Some(Breakdown { response_s, parts, waiting_s, unobserved_s, unknown })
}

/// What the load generator measured, apart from the waiting.
fn measured_from_outside(evidence: &Evidence<'_>, response_s: f64) -> Vec<Part> {
    let opening = [Phase::Dns, Phase::Connect, Phase::Tls].map(|phase| per_response(evidence, phase));
    let opening: f64 = opening.iter().sum();
    let before = response_s - evidence.service_mean().unwrap_or(response_s) - opening;
    let parts = [
        (PartKind::BeforeSending, before),
        (PartKind::OpeningConnections, opening),
        (PartKind::Sending, per_response(evidence, Phase::Send)),
        (PartKind::Receiving, per_response(evidence, Phase::Receive)),
    ];
    let listed = parts.into_iter().filter(|(_, seconds)| *seconds >= LISTED * response_s);
    listed
        .map(|(kind, seconds)| Part { kind, name: String::new(), source: None, seconds, times: None })
        .collect()
}

/// The mean of a phase times its share of the responses. A phase is also counted for requests that fail later, so this
/// is exact only if none did.
fn per_response(evidence: &Evidence<'_>, phase: Phase) -> f64 {
    let (times, answered) = (evidence.phase(phase), evidence.answered());
    if times.count() == 0 || answered == 0 {
        return 0.0;
    }
    let each = (times.count() as f64 / answered as f64).min(1.0);
    times.sum() as f64 / times.count() as f64 / 1e9 * each
}

/// All observed work, in no order, and the servers of which it is not known.
fn observed_work(evidence: &Evidence<'_>) -> (Vec<Part>, Vec<String>) {
    let mut work = Vec::new();
    let servers = query::servers(evidence).unwrap_or_default();
    let mut unknown: Vec<String> = evidence.sources(SourceKind::Postgres).iter().map(Watched::name).collect();
    for (server, queries) in servers.iter().filter(|(_, queries)| !queries.is_empty()) {
        unknown.retain(|name| *name != server.name());
        work.extend(statements(evidence, server, queries));
    }
    for redis in evidence.sources(SourceKind::Redis) {
        work.extend(executed(evidence, &redis));
    }
    for pooler in evidence.sources(SourceKind::PgBouncer) {
        let waits = pooler.rises("pgbouncer.wait_time");
        work.extend(
            waits
                .into_iter()
                .filter_map(|(database, wait)| part(evidence, PartKind::PoolerWait, database, &pooler, wait)),
        );
    }
    for process in evidence.sources(SourceKind::Process) {
        let cpu = both(&process, "process.cpu.user", "process.cpu.system");
        let name = process.name();
        work.extend(cpu.and_then(|cpu| part(evidence, PartKind::Cpu, &name, &process, cpu)));
        let wait = process.rise("process.run_delay", "");
        work.extend(wait.and_then(|wait| part(evidence, PartKind::CpuWait, &name, &process, wait)));
        work.extend(other_services(evidence, &process));
    }
    (work, unknown)
}

fn part(evidence: &Evidence<'_>, kind: PartKind, name: &str, of: &Watched<'_>, rise: Rise) -> Option<Part> {
    let seconds = evidence.per_request(rise).filter(|seconds| seconds.is_finite() && *seconds > 0.0)?;
    Some(Part { kind, name: name.to_owned(), source: Some(of.name()), seconds, times: None })
}

/// The other services for which a process waits: the largest, and all others together. Stores that are observed are known
/// by their work.
fn other_services(evidence: &Evidence<'_>, process: &Watched<'_>) -> Vec<Part> {
    let asked = asked(evidence, process);
    let part = |name: &str, seconds: f64, calls: f64| Part {
        kind: PartKind::OtherService,
        name: name.to_owned(),
        source: Some(process.name()),
        seconds,
        times: Some(calls),
    };
    let named = asked.iter().filter(|asked| asked.is_one());
    let named = named.map(|asked| part(asked.endpoint, asked.seconds, asked.calls)).collect();
    let mut parts = listed(evidence, named);
    let rest = asked.iter().filter(|asked| !parts.iter().any(|part| part.name == asked.endpoint));
    let (seconds, calls) =
        rest.fold((0.0, 0.0), |(seconds, calls), asked| (seconds + asked.seconds, calls + asked.calls));
    parts.extend((seconds > 0.0).then(|| part("other services", seconds, calls)));
    parts
}

/// The statements that are listed, and all others together.
fn statements(evidence: &Evidence<'_>, server: &Watched<'_>, queries: &[Query<'_>]) -> Vec<Part> {
    let parts = queries.iter().map(|query| Part {
        kind: PartKind::Statement,
        name: query.text.to_owned(),
        source: Some(server.name()),
        seconds: query.seconds_per_request(),
        times: Some(query.per_request),
    });
    let mut parts = listed(evidence, parts.collect());
    let all = server.rise("statements.exec_time", "").and_then(|rise| evidence.per_request(rise));
    let shown: f64 = queries.iter().map(Query::seconds_per_request).sum();
    let all = all.unwrap_or(shown).max(shown);
    parts.extend(others(PartKind::OtherStatements, server, all, &parts));
    parts
}

/// What is left of all work of a server beside the parts that are listed.
fn others(kind: PartKind, of: &Watched<'_>, all: f64, listed: &[Part]) -> Option<Part> {
    let seconds = all - listed.iter().map(|part| part.seconds).sum::<f64>();
    let is_left = seconds.is_finite() && seconds > ROUNDING * all;
    is_left.then(|| Part { kind, name: of.name(), source: Some(of.name()), seconds, times: None })
}

fn executed(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Vec<Part> {
    let all = commands::rises(redis, "redis.command.time").into_iter();
    let parts = all.filter_map(|(command, time)| {
        let calls = redis.rise("redis.command.calls", command).and_then(|calls| evidence.per_request(calls));
        Some(Part { times: calls, ..part(evidence, PartKind::Command, command, redis, time)? })
    });
    let parts: Vec<Part> = parts.collect();
    let all = parts.iter().map(|part| part.seconds).sum();
    let mut listed = listed(evidence, parts);
    listed.extend(others(PartKind::OtherCommands, redis, all, &listed));
    listed
}

/// The largest of some parts, as far as they are worth a line.
fn listed(evidence: &Evidence<'_>, mut parts: Vec<Part>) -> Vec<Part> {
    let least = LISTED * evidence.response_mean().unwrap_or_default();
    parts.retain(|part| part.seconds.is_finite() && part.seconds >= least && part.seconds > 0.0);
    parts.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    parts.truncate(EACH_MAX);
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Calling, Costs, RATE, Scene};

    fn of(scene: &Scene) -> Option<Breakdown> {
        breakdown(&Evidence::of(&scene.run, &scene.observations))
    }

    fn seconds(breakdown: &Breakdown, kind: PartKind) -> f64 {
        breakdown.parts.iter().filter(|part| part.kind == kind).map(|part| part.seconds).sum()
    }

    /// Requests wait for 50 ms, of which a statement takes 30 ms.
    fn slow_statement() -> Scene {
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.05);
        let server = scene.postgres();
        let costs = Costs { per_request: 2.0, seconds: 0.015, ..Costs::default() };
        scene.statement(server, "9", "SELECT * FROM orders WHERE customer = $1", &costs);
        scene
    }

    #[test]
    fn a_statement_is_named_with_its_time_per_response_and_the_rest_is_in_nothing_observed() {
        let mut scene = slow_statement();
        let process = scene.process("shop (pid 7)");
        scene.counter(process, "process.cpu.user", "", 4.0);
        scene.counter(process, "process.cpu.system", "", 1.0);
        let breakdown = of(&scene).unwrap();
        let first = &breakdown.parts[0];
        assert_eq!(
            (first.kind, first.name.as_str()),
            (PartKind::Statement, "SELECT * FROM orders WHERE customer = $1")
        );
        assert!((first.seconds - 0.03).abs() < 1e-3, "{first:?}");
        assert!((first.times.unwrap() - 2.0).abs() < 0.1, "{first:?}");
        assert!((breakdown.share(first.seconds) - 0.6).abs() < 0.02, "{breakdown:?}");
        assert!((seconds(&breakdown, PartKind::Cpu) - 5.0 / RATE as f64).abs() < 1e-4);
        assert!((breakdown.unobserved_s - 0.015).abs() < 1e-3 && !breakdown.overlaps(), "{breakdown:?}");
    }

    #[test]
    fn time_that_nothing_explains_is_said_although_all_sources_are_at_ease() {
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.6);
        scene.postgres();
        scene.process("shop (pid 7)");
        let breakdown = of(&scene).unwrap();
        assert!(breakdown.share(breakdown.unobserved_s) > 0.99, "{breakdown:?}");
    }

    #[test]
    fn time_that_waits_for_another_service_is_named_and_not_in_nothing_observed() {
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.05);
        let process = scene.process("shop (pid 7)");
        let calling = Calling { per_response: 2.0, seconds: 0.02, ..Calling::default() };
        scene.calling(process, "10.0.0.2:443", &calling);
        let breakdown = of(&scene).unwrap();
        let first = &breakdown.parts[0];
        assert_eq!((first.kind, first.name.as_str()), (PartKind::OtherService, "10.0.0.2:443"));
        assert!((first.seconds - 0.04).abs() < 1e-3 && (first.times.unwrap() - 2.0).abs() < 0.1, "{first:?}");
        assert!(breakdown.unobserved_s < 0.011, "{breakdown:?}");
    }

    #[test]
    fn the_time_of_services_that_are_not_listed_is_in_one_part_and_not_in_nothing_observed() {
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.05);
        let process = scene.process("shop (pid 7)");
        for port in 1..=8 {
            let calling = Calling { seconds: 0.005, ..Calling::default() };
            scene.calling(process, &format!("10.0.0.2:{port}"), &calling);
        }
        let breakdown = of(&scene).unwrap();
        let parts = breakdown.parts.iter().filter(|part| part.kind == PartKind::OtherService);
        let parts: Vec<&Part> = parts.collect();
        assert_eq!(parts.len(), EACH_MAX + 1, "{parts:?}");
        let rest = parts.iter().find(|part| part.name == "other services").unwrap();
        assert!((rest.seconds - 0.015).abs() < 1e-3 && (rest.times.unwrap() - 3.0).abs() < 0.1, "{rest:?}");
        assert!(breakdown.unobserved_s < 0.011, "{breakdown:?}");
    }

    #[test]
    fn work_in_parallel_leaves_nothing_over_and_says_so() {
        let mut scene = slow_statement();
        let costs = Costs { per_request: 8.0, seconds: 0.04, ..Costs::default() };
        scene.statement(0, "9", "SELECT 1", &costs);
        let breakdown = of(&scene).unwrap();
        assert!(breakdown.overlaps() && breakdown.unobserved_s.abs() < 1e-12);
    }

    #[test]
    fn work_beside_the_sending_and_the_receiving_is_ordinary() {
        let mut scene = Scene::with(|sample, _, _| (sample.wait, sample.receive) = (0.02, 0.02));
        let process = scene.process("shop (pid 7)");
        scene.counter(process, "process.cpu.user", "", 0.03 * RATE as f64);
        let breakdown = of(&scene).unwrap();
        assert!(breakdown.work_s() > breakdown.waiting_s && !breakdown.overlaps(), "{breakdown:?}");
        assert!(breakdown.unobserved_s.abs() < 1e-12);
    }

    #[test]
    fn connections_and_large_bodies_are_parts_of_their_own() {
        let mut scene = Scene::with(|sample, _, _| {
            sample.connect = Some(0.004);
            sample.receive = 0.01;
        });
        scene.postgres();
        let breakdown = of(&scene).unwrap();
        assert!((seconds(&breakdown, PartKind::OpeningConnections) - 0.004).abs() < 1e-4, "{breakdown:?}");
        assert!((seconds(&breakdown, PartKind::Receiving) - 0.01).abs() < 1e-3, "{breakdown:?}");
        assert!(seconds(&breakdown, PartKind::BeforeSending) < 1e-9);
    }

    #[test]
    fn commands_that_are_not_listed_are_counted_together() {
        let mut scene = Scene::with(|sample, _, _| sample.wait = 0.1);
        let redis = scene.redis();
        scene.counter(redis, "redis.command.time", "get", 0.0);
        scene.counter(redis, "redis.command.time", "info", 0.02 * RATE as f64);
        for number in 0..8 {
            let name = format!("command{number}");
            scene.counter(redis, "redis.command.time", &name, 0.005 * RATE as f64);
            scene.counter(redis, "redis.command.calls", &name, RATE as f64);
        }
        let breakdown = of(&scene).unwrap();
        assert_eq!(breakdown.parts.iter().filter(|part| part.kind == PartKind::Command).count(), EACH_MAX);
        assert!((seconds(&breakdown, PartKind::OtherCommands) - 0.015).abs() < 1e-4, "{breakdown:?}");
        assert!((breakdown.unobserved_s - 0.06).abs() < 1e-3, "{breakdown:?}");
    }

    #[test]
    fn a_server_whose_statements_are_not_known_is_named() {
        let mut scene = Scene::steady();
        scene.process("shop (pid 7)");
        scene.source(SourceKind::Postgres, "postgres://127.0.0.1/bare");
        assert_eq!(of(&scene).unwrap().unknown, ["postgres://127.0.0.1/bare"]);
        let mut known = Scene::steady();
        known.postgres();
        assert!(of(&known).unwrap().unknown.is_empty());
    }

    #[test]
    fn without_an_observed_source_there_is_no_breakdown() {
        assert_eq!(of(&Scene::steady()), None);
        let mut scene = Scene::steady();
        scene.host(4.0);
        assert_eq!(of(&scene), None, "the CPU time of a machine is not that of the service");
    }

    proptest! {
        /// Whatever is observed: all times are finite and positive, and what is left is the waiting without the work.
        #[test]
        fn what_is_left_is_the_waiting_without_the_work(
            wait in 0.001f64..0.2, calls in 0.0f64..20.0, each in 0.0f64..0.05, cpu in 0.0f64..8.0,
        ) {
            let mut scene = Scene::sized(3, |_| 100, knee_core::schedule::Curve::constant(10.0), |sample, _, _| {
                sample.wait = wait;
            });
            let server = scene.postgres();
            scene.statement(server, "9", "SELECT 2", &Costs { per_request: calls, seconds: each, ..Costs::default() });
            let process = scene.process("shop (pid 7)");
            scene.counter(process, "process.cpu.user", "", cpu);
            let breakdown = of(&scene).unwrap();
            prop_assert!(breakdown.parts.iter().all(|part| part.seconds.is_finite() && part.seconds > 0.0));
            prop_assert!(breakdown.parts.windows(2).all(|pair| pair[0].seconds >= pair[1].seconds));
            let left = (breakdown.waiting_s - breakdown.work_s()).max(0.0);
            prop_assert!((breakdown.unobserved_s - left).abs() < 1e-9);
        }
    }
}
