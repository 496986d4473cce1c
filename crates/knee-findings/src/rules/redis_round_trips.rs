//! Many small Redis commands per request, one after another.
//!
//! Needs a Redis or Valkey server. From version 6.0 on, the reads of its sockets say that the commands are not sent in a
//! pipeline, and not called by a script; of an older server, that is unknown. Commands of requests that share a connection
//! can be in one read as well: where many requests are in progress at once, a loop looks like a pipeline.

use knee_core::observation::SourceKind;

use crate::commands;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "redis_round_trips",
    finds: "many small Redis commands per request",
    needs: "a Redis or Valkey server",
    limits: "10 calls of one command per response; a command has 512 bytes as a mean; and where the server counts its reads of sockets (6.0 and later), 10 of them per response, and half as many as calls. All of them, or nothing",
    source: "A round trip on one network takes 50 to 200 us, a GET 1 us: ten of them cost more than the work. What a client sends in a pipeline is in the socket at once, so that the server gets it by one read, or by one per 16 KiB.",
    cause: "A loop gets or changes keys one by one, each after the answer to the one before.",
    remedy: "Get or change them together: MGET, HMGET, a pipeline, or one value for all.",
    explains: &[],
    check,
};

const CALLS: f64 = 10.0;
const BYTES: f64 = 512.0;
/// Reads of sockets per response, and per call.
const READS: f64 = 10.0;
const READS_PER_CALL: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Redis)?;
    Ok(servers.iter().filter_map(|redis| one_by_one(evidence, redis)).collect())
}

fn one_by_one(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Draft> {
    let (command, rise) = commands::rises(redis, "redis.command.calls").into_iter().next()?;
    let calls = evidence.per_request(rise)?;
    let bytes = redis.rise("redis.input_bytes", "").zip(redis.rise("redis.commands", ""));
    let bytes = bytes.map(|(bytes, commands)| bytes.amount / commands.amount);
    let reads = redis.rise("redis.reads", "").and_then(|reads| evidence.per_request(reads));
    if Signal::falls_short(reads, READS.max(READS_PER_CALL * calls)) {
        return None;
    }
    let often = Signal::at_least(
        format!("calls of {command} per response"),
        Unit::Count,
        Some(calls),
        CALLS,
        "INFO commandstats",
    );
    let small = Signal::at_most("bytes per command", Unit::Bytes, bytes, BYTES, "INFO stats");
    let singly = Signal::at_least("reads of sockets per response", Unit::Count, reads, READS, "INFO stats");
    let unknown = ", unless they are sent in a pipeline: this server does not count its reads";
    Some(Draft {
        subject: Subject::of(SubjectKind::Statement, command, Some(&redis.source.name)),
        statement: format!(
            "each request sends {} times {command} to Redis{}",
            number(calls),
            if reads.is_some() { ", one after another" } else { unknown }
        ),
        signals: [often?, small?].into_iter().chain(singly).collect(),
        remedy: Remedy::advice(
            "get or change the keys together: MGET, HMGET, a pipeline, or one value for all",
        ),
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::Scene;
    use crate::{Confidence, Finding};

    /// So many calls per response, by so many reads of sockets if the server counts them.
    fn sent(calls: f64, reads: Option<f64>) -> Option<Finding> {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        scene.counter(redis, "redis.command.calls", "get", 1_000.0 * calls);
        scene.counter(redis, "redis.commands", "", 1_000.0 * calls);
        scene.counter(redis, "redis.input_bytes", "", 40_000.0 * calls);
        if let Some(reads) = reads {
            scene.counter(redis, "redis.reads", "", 1_000.0 * reads);
        }
        scene.found("redis_round_trips")
    }

    #[test]
    fn two_hundred_gets_per_request_one_after_another_are_found_and_three_are_healthy() {
        let finding = sent(200.0, Some(200.0)).unwrap();
        assert_eq!(finding.confidence, Confidence::Strong);
        assert_eq!(finding.statement, "each request sends 200 times get to Redis, one after another");
        assert_eq!(sent(3.0, Some(3.0)), None);
    }

    #[test]
    fn a_pipeline_and_a_script_are_read_at_once_and_are_healthy() {
        assert_eq!(sent(120.0, Some(1.0)), None);
        assert_eq!(sent(120.0, Some(13.0)), None, "a pipeline, and twelve other commands");
        assert!(sent(12.0, Some(11.0)).is_some());
    }

    #[test]
    fn of_a_server_that_does_not_count_its_reads_a_pipeline_is_not_excluded() {
        let finding = sent(200.0, None).unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(finding.statement.contains("unless they are sent in a pipeline"), "{}", finding.statement);
        assert_eq!(sent(3.0, None), None);
    }

    #[test]
    fn commands_of_a_transaction_that_are_sent_one_by_one_are_round_trips_too() {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        for (command, calls) in [("multi", 1.0), ("exec", 1.0), ("hincrby", 20.0)] {
            scene.counter(redis, "redis.command.calls", command, 1_000.0 * calls);
        }
        scene.counter(redis, "redis.reads", "", 22_000.0);
        assert_eq!(scene.found("redis_round_trips").unwrap().subject.name, "hincrby");
        scene.counter(redis, "redis.reads", "", 1_000.0);
        assert_eq!(scene.found("redis_round_trips"), None, "all of them in one pipeline");
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
