//! Many small Redis commands per request, one after another.
//!
//! Needs a Redis or Valkey server. Whether they were sent in a pipeline is not in the evidence.

use knee_core::observation::SourceKind;

use crate::commands;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};

pub(super) const RULE: Rule = Rule {
    code: "redis_round_trips",
    finds: "many small Redis commands per request",
    needs: "a Redis or Valkey server",
    limits: "10 calls of one command per response; a command has 512 bytes as a mean. Both, or nothing",
    source: "A round trip on one network takes 50 to 200 us, a GET 1 us: ten of them cost more than the work.",
    cause: "A loop gets keys one by one.",
    remedy: "Get them together: MGET, HMGET, a pipeline, or one value for all.",
    explains: &[],
    check,
};

const CALLS: f64 = 10.0;
const BYTES: f64 = 512.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for redis in evidence.needed(SourceKind::Redis)? {
        let calls = commands::rises(&redis, "redis.command.calls");
        let Some((command, calls)) = calls.into_iter().next() else { continue };
        let per_request = evidence.per_request(calls);
        let bytes = redis.rise("redis.input_bytes", "").zip(redis.rise("redis.commands", ""));
        let bytes = bytes.map(|(bytes, commands)| bytes.amount / commands.amount);
        let signals: Vec<Signal> = [
            Signal::at_least(
                format!("calls of {command} per response"),
                Unit::Count,
                per_request,
                CALLS,
                "INFO commandstats",
            ),
            Signal::at_most("bytes per command", Unit::Bytes, bytes, BYTES, "INFO stats"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if signals.len() < 2 {
            continue;
        }
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Statement, command, Some(&redis.source.name)),
            statement: format!(
                "each request sends {} times {command} to Redis",
                number(per_request.unwrap_or(0.0))
            ),
            signals,
            remedy: Remedy::advice("get the keys together: MGET, HMGET, a pipeline, or one value for all"),
            gain: None,
        });
    }
    Ok(drafts)
}

#[cfg(test)]
mod tests {
    use crate::testing::Scene;

    #[test]
    fn two_hundred_gets_per_request_are_found_and_three_are_healthy() {
        let of = |calls: f64| {
            let mut scene = Scene::steady();
            let redis = scene.redis();
            scene.counter(redis, "redis.command.calls", "get", 1_000.0 * calls);
            scene.counter(redis, "redis.commands", "", 1_000.0 * calls);
            scene.counter(redis, "redis.input_bytes", "", 40_000.0 * calls);
            scene.found("redis_round_trips")
        };
        assert_eq!(of(200.0).unwrap().evidence.len(), 2);
        assert_eq!(of(3.0), None);
    }

    #[test]
    fn commands_of_the_observer_are_none_of_the_service_however_few_responses_there_are() {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        scene.counter(redis, "redis.command.calls", "info", 12_000.0);
        assert_eq!(scene.found("redis_round_trips"), None);
        scene.counter(redis, "redis.command.calls", "hget", 12_000.0);
        assert_eq!(scene.found("redis_round_trips").unwrap().subject.name, "hget");
    }
}
