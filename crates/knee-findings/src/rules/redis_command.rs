//! One Redis command that is expensive by itself: KEYS, SMEMBERS, a whole list, a long script.
//!
//! Needs a Redis or Valkey server.

use knee_core::observation::SourceKind;

use crate::bound;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::{Rise, Watched};

pub(super) const RULE: Rule = Rule {
    code: "redis_command",
    finds: "a Redis command that takes long by itself",
    needs: "a Redis or Valkey server",
    limits: "a command has half of the time of all commands and executes for 10 % of the time; a call takes 0.5 ms; the server noted one slow command; the main thread runs 50 % of the time. Two of the last three, or nothing",
    source: "Commands of constant cost take microseconds; 0.5 ms are thousands of elements.",
    cause: "The command touches all keys or a whole collection (KEYS, SMEMBERS, HGETALL, LRANGE 0 -1, SORT), or a script loops. All other clients wait meanwhile.",
    remedy: "Ask for single elements, use SCAN outside of requests, split large values.",
    explains: &["redis_thread"],
    check,
};

const OF_ALL: f64 = 0.5;
const EXECUTING: f64 = 0.1;
/// Seconds per call.
const SLOW: f64 = 0.0005;
const THREAD: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Checked {
    Ok(evidence.needed(SourceKind::Redis)?.iter().filter_map(|redis| slow(evidence, redis)).collect())
}

fn slow(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Draft> {
    let times = redis.rises("redis.command.time");
    let all: f64 = times.iter().map(|(_, rise)| rise.amount).sum();
    let (command, time) = times.into_iter().next()?;
    let executing = time.per_second()?;
    if time.amount < OF_ALL * all || executing < EXECUTING {
        return None;
    }
    let calls = redis.rise("redis.command.calls", command)?;
    let each = time.amount / calls.amount;
    let noted = redis.rise("redis.slow", "").map(|rise| rise.amount);
    let used = bound::both(redis, "redis.cpu.main.user", "redis.cpu.main.system").and_then(Rise::per_second);
    let signals: Vec<Signal> = [
        Signal::at_least(
            format!("time per call of {command}"),
            Unit::Seconds,
            Some(each),
            SLOW,
            "INFO commandstats",
        ),
        Signal::at_least("slow commands that the server noted", Unit::Count, noted, 1.0, "SLOWLOG"),
        Signal::at_least(
            "share of the time that the main thread runs",
            Unit::Share,
            used,
            THREAD,
            "INFO cpu",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    if signals.len() < 2 || each < SLOW {
        return None;
    }
    let per_request = evidence.per_request(time);
    Some(Draft {
        subject: Subject::of(SubjectKind::Statement, command, Some(&redis.source.name)),
        statement: format!(
            "{command} takes {} per call and {} of the time of Redis, {} calls per response",
            seconds(each),
            percent(executing),
            number(evidence.per_request(calls).unwrap_or(0.0))
        ),
        signals,
        remedy: Remedy::advice("ask for single elements, use SCAN outside of requests, split large values"),
        gain: Gain::saves(
            evidence.response_mean(),
            per_request,
            "the time of this command per request, without its queue",
        ),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::Scene;

    #[test]
    fn keys_with_every_request_are_found_and_explain_the_full_thread() {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        assert_eq!(scene.found("redis_command"), None);
        scene.counter(redis, "redis.command.calls", "keys", 300.0);
        scene.counter(redis, "redis.command.time", "keys", 0.9);
        scene.counter(redis, "redis.cpu.main.user", "", 0.93);
        scene.counter(redis, "redis.slow", "", 2.0);
        let finding = scene.found("redis_command").unwrap();
        assert_eq!((finding.evidence.len(), finding.subject.name.as_str()), (3, "keys"));
        assert_eq!(scene.found("redis_thread"), None);
    }
}
