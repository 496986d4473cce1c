//! Connections of a pool that requests hold while they do something else than ask the database.
//!
//! The database sees such connections idle. What shows them is that the service works on as many requests at a time as it
//! has connections. Needs samples of a PostgreSQL server's backends by application. Where the connections are busy,
//! `pool_exhausted` speaks instead.

use knee_core::outcome::Outcome;

use super::pool_exhausted::of_each_pool;
use crate::bound;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "pool_held",
    finds: "connections of the service's pool that are held while the database has nothing to do",
    needs: "a PostgreSQL server, with 8 samples of its backends by application",
    limits: "an application has 3 connections at least, always the same number, of which half are busy at most; requests per second times their shortest service times is that number, within 15 %; 1.5 times as many requests are in flight; 90 % of the service times are 0.7 times their mean at least, so that nearly all requests wait; the CPUs, or those that an observed process can use, are busy to 70 % at most",
    source: "Little's law: c connections that each request holds for its whole service time t allow c / t requests per second. The shortest service time is one without queueing. Times that merely vary begin far below their mean; behind a queue that never empties, all have the wait in them.",
    cause: "A handler takes a connection, or begins a transaction by an annotation or a middleware, and then calls another service or waits for something else.",
    remedy: "Take the connection for the statements only: read first, give it back, call the other service, then write.",
    explains: &["fixed_places"],
    check,
};

const CONNECTIONS: f64 = 3.0;
const BUSY_CONNECTIONS: f64 = 0.5;
const WITHIN: f64 = 0.15;
const IN_FLIGHT: f64 = 1.5;
const QUEUED: f64 = 0.7;
const BUSY: f64 = 0.7;

fn check(evidence: &Evidence<'_>) -> Checked {
    of_each_pool(evidence, |server, application, all, busy| held(evidence, server, application, all, busy))
}

fn held(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    application: &str,
    all: &[f64],
    busy: &[f64],
) -> Option<Draft> {
    let size = all.iter().copied().fold(0.0, f64::max);
    let is_constant = all.iter().all(|backends| *backends >= size);
    let busy = busy.iter().sum::<f64>() / busy.len() as f64;
    let cpus = bound::cpus_busy(evidence);
    let is_full = cpus.is_some_and(|busy| busy > BUSY);
    if size < CONNECTIONS || !is_constant || busy > BUSY_CONNECTIONS * size || is_full {
        return None;
    }
    let (mean, throughput) = (evidence.response_mean()?, evidence.throughput()?);
    let (in_flight, worked_on) = (mean * throughput, worked_on(evidence)?);
    let agrees = Signal::at_most(
        format!(
            "distance of {} requests that are worked on from {} connections",
            number(worked_on),
            number(size)
        ),
        Unit::Share,
        Some((worked_on / size - 1.0).abs()),
        WITHIN,
        "the run: shortest service times; pg_stat_activity",
    )?;
    let service = &evidence.all().outcomes[Outcome::Ok as usize].service;
    let lower = service.quantile(0.1).zip(service.mean()).map(|(lower, mean)| lower.0 as f64 / mean);
    let queue = Signal::at_least(
        "service time that 90 % exceed, of the mean",
        Unit::Share,
        lower,
        QUEUED,
        "the run: service time",
    )?;
    if in_flight < IN_FLIGHT * size {
        return None;
    }
    let waiting = (in_flight - size) / throughput;
    Some(Draft {
        subject: Subject::of(
            SubjectKind::Resource,
            format!("pool of {application}"),
            Some(&server.source.name),
        ),
        statement: format!(
            "each request holds one of the {} connections of {application} for its whole time, {} at least; the database sees {} busy",
            number(size),
            seconds(worked_on / throughput),
            number(busy)
        ),
        signals: vec![agrees, queue],
        remedy: Remedy::advice(
            "give the connection back before another service is asked, and take one again to write",
        ),
        gain: Gain::saves(Some(mean), Some(waiting), "the wait for a connection, by Little's law"),
    })
}

/// How many requests would be worked on at a time if each took the shortest time of its endpoint; `None` without any.
fn worked_on(evidence: &Evidence<'_>) -> Option<f64> {
    let seconds = evidence.seconds();
    let (warm_up, measured) = (&evidence.run.warm_up.endpoints, &evidence.run.measured.endpoints);
    let of_endpoint = |place: usize| {
        let service = |tallies: &[knee_core::tally::EndpointTally]| {
            let times = &tallies.get(place)?.outcomes[Outcome::Ok as usize].service;
            Some((times.count() as f64, times.min()?.as_secs_f64()))
        };
        let (count, shortest) = service(measured)?;
        let shortest = service(warm_up).map_or(shortest, |(_, before)| shortest.min(before));
        Some(count / seconds * shortest)
    };
    let sum: f64 = (0..measured.len()).filter_map(of_endpoint).sum();
    (seconds > 0.0 && sum > 0.0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use knee_core::schedule::Curve;

    use crate::Confidence;
    use crate::testing::Scene;

    /// 150 requests per second of which each takes 200 ms and waits for as long as `queue` says; 30 connections, so many
    /// of them busy.
    fn pool(size: f64, busy: f64, queue: f64) -> Scene {
        let mut number = 0;
        let mut scene = Scene::sized(
            12,
            |_| 150,
            Curve::constant(120.0),
            move |sample, _, dice| {
                number += 1;
                sample.wait = 0.2 + dice.exponential(0.002);
                if number > 30 {
                    sample.wait += queue;
                }
            },
        );
        let host = scene.host(4.0);
        scene.busy_host(host, 0.2);
        scene.pool(size, busy);
        scene
    }

    #[test]
    fn connections_that_are_held_while_another_service_is_asked_are_found_although_the_database_sees_them_idle()
     {
        let finding = pool(30.0, 1.0, 0.4).found("pool_held").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Likely, "pool of shop"));
        let says = "each request holds one of the 30 connections of shop for its whole time, 200 ms at least; the database sees 1 busy";
        assert_eq!(finding.statement, says);
        assert!((0.6..0.7).contains(&finding.gain.unwrap().share()));
    }

    #[test]
    fn pools_with_room_and_those_of_another_size_are_healthy() {
        assert_eq!(pool(30.0, 1.0, 0.0).found("pool_held"), None, "nothing waits");
        assert_eq!(pool(60.0, 1.0, 0.4).found("pool_held"), None, "twice as many as are used");
        let busy = pool(30.0, 30.0, 0.4);
        assert_eq!(busy.found("pool_held"), None);
        assert!(busy.found("pool_exhausted").is_some());
    }

    #[test]
    fn times_that_vary_and_happen_to_fit_the_size_of_an_idle_pool_are_healthy() {
        let mut scene = Scene::sized(
            12,
            |_| 100,
            Curve::constant(20.0),
            |sample, _, dice| {
                sample.wait = 0.1 + dice.exponential(0.1);
            },
        );
        scene.pool(10.0, 0.0);
        assert_eq!(scene.found("pool_held"), None);
    }
}
