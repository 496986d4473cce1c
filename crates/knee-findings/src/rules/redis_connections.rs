//! Connections to Redis that are opened for each request.
//!
//! Needs a Redis or Valkey server. TLS makes each of them dearer; that is not in the evidence.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "redis_connections",
    finds: "connections to Redis that are opened again and again",
    needs: "a Redis or Valkey server",
    limits: "0.05 connections opened per response in the second half of the run; one connection opened for every 20 commands. Both, or nothing",
    source: "A connection that is kept serves thousands of commands. Opening one is a round trip or more: as much as a command.",
    cause: "The service opens a connection per request or per job: no pool, a pool that is too small and opens more, or a client that is made anew.",
    remedy: "Keep one connection with pipelines, or a pool, for the life of the process.",
    explains: &[],
    check,
};

const OPENED: f64 = 0.05;
/// Connections per command.
const PER_COMMAND: f64 = 0.05;

fn check(evidence: &Evidence<'_>) -> Checked {
    Ok(evidence.needed(SourceKind::Redis)?.iter().filter_map(|redis| reopened(evidence, *redis)).collect())
}

fn reopened(evidence: &Evidence<'_>, redis: Watched<'_>) -> Option<Draft> {
    // A pool that is filled when the load begins is no defect.
    let late = redis.second_half();
    let rise = late.rise("redis.connections", "")?;
    let opened = evidence.per_request(rise)?;
    let commands = late.rise("redis.commands", "").map(|commands| rise.amount / commands.amount);
    let signals: Vec<Signal> = [
        Signal::at_least("connections opened per response", Unit::Count, Some(opened), OPENED, "INFO stats"),
        Signal::at_least("connections opened per command", Unit::Count, commands, PER_COMMAND, "INFO stats"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (signals.len() == 2).then(|| Draft {
        subject: Subject::of(SubjectKind::Resource, redis.name(), None),
        statement: format!("the service opens {} connections to Redis per response", number(opened)),
        signals,
        remedy: Remedy::advice("keep connections to Redis: one with pipelines, or a pool"),
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{RATE, Scene};

    #[test]
    fn a_connection_per_request_is_found_and_a_client_that_reconnects_now_and_then_is_not() {
        let of = |per_second: f64| {
            let mut scene = Scene::steady();
            let redis = scene.redis();
            scene.counter(redis, "redis.connections", "", per_second);
            scene.found("redis_connections")
        };
        assert_eq!(of(RATE as f64).unwrap().evidence.len(), 2);
        assert_eq!(of(2.0), None);
    }
}
