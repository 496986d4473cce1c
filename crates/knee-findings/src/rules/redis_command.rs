//! One Redis command that is expensive by itself: KEYS, SMEMBERS, a whole list, a long script, a value of megabytes.
//!
//! Needs a Redis or Valkey server. Does not know which keys are large.

use knee_core::observation::SourceKind;

use crate::bound;
use crate::commands;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::{Rise, Watched};

pub(super) const RULE: Rule = Rule {
    code: "redis_command",
    finds: "a Redis command that takes long by itself, or sends large values",
    needs: "a Redis or Valkey server",
    limits: "a command has half of the time of all commands, executes for 10 % of the time, and a call takes 0.5 ms; the main thread runs 0.5 ms per call of it (nothing if it is known to run less); the server noted one slow command. Or: Redis sends 64 KiB per command as a mean, and its main thread runs 0.1 ms per command. Two of them, or nothing",
    source: "Commands of constant cost take microseconds; 0.5 ms are thousands of elements. A small GET takes the main thread 10 us with its socket; 64 KiB are four times Redis' own buffer of a reply (16 KiB).",
    cause: "The command touches all keys or a whole collection (KEYS, SMEMBERS, HGETALL, LRANGE 0 -1, SORT), or a script loops, or a value is large. All other clients wait meanwhile.",
    remedy: "Ask for single elements, use SCAN outside of requests, split large values.",
    explains: &["redis_thread"],
    check,
};

const OF_ALL: f64 = 0.5;
const EXECUTING: f64 = 0.1;
/// Seconds per call, by the clock of Redis and of its main thread.
const SLOW: f64 = 0.0005;
/// Bytes sent per command.
const LARGE: f64 = 65_536.0;
/// Seconds of the main thread per command.
const SENDING: f64 = 0.0001;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Redis)?;
    let found = servers.iter().filter_map(|redis| slow(evidence, redis).or_else(|| large(evidence, redis)));
    Ok(found.collect())
}

/// CPU time of the main thread.
fn main_thread(redis: &Watched<'_>) -> Option<Rise> {
    bound::both(redis, "redis.cpu.main.user", "redis.cpu.main.system")
}

/// The command that takes most of the time, if a call of it takes long.
fn slow(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Draft> {
    let times = commands::rises(redis, "redis.command.time");
    let all: f64 = times.iter().map(|(_, rise)| rise.amount).sum();
    let (command, time) = times.into_iter().next()?;
    let executing = time.per_second()?;
    if time.amount < OF_ALL * all || executing < EXECUTING {
        return None;
    }
    let calls = redis.rise("redis.command.calls", command)?;
    let each = time.amount / calls.amount;
    let noted = redis.rise("redis.slow", "").map(|rise| rise.amount);
    let used = main_thread(redis).map(|used| used.amount / calls.amount);
    let per_call = format!("time per call of {command}");
    let thread = format!("CPU time of the main thread per call of {command}");
    let signals: Vec<Signal> = [
        Signal::at_least(per_call, Unit::Seconds, Some(each), SLOW, "INFO commandstats"),
        Signal::at_least(thread, Unit::Seconds, used, SLOW, "INFO cpu"),
        Signal::at_least("slow commands that the server noted", Unit::Count, noted, 1.0, "SLOWLOG"),
    ]
    .into_iter()
    .flatten()
    .collect();
    // A call that takes long while the thread runs little waits for something else: a CPU, memory, a disk.
    if signals.len() < 2 || each < SLOW || Signal::falls_short(used, SLOW) {
        return None;
    }
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
            evidence.per_request(time),
            "the time of this command per request, without its queue",
        ),
    })
}

/// Values so large that sending them takes the main thread longer than any small command.
fn large(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Draft> {
    let commands = redis.rise("redis.commands", "").filter(|rise| rise.amount > 0.0)?;
    let each = redis.rise("redis.output_bytes", "")?.amount / commands.amount;
    let used = main_thread(redis)?;
    let thread = Some(used.amount / commands.amount);
    let signals: Vec<Signal> = [
        Signal::at_least("bytes sent per command", Unit::Bytes, Some(each), LARGE, "INFO stats"),
        Signal::at_least(
            "CPU time of the main thread per command",
            Unit::Seconds,
            thread,
            SENDING,
            "INFO cpu",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    let (command, _) = commands::rises(redis, "redis.command.calls").into_iter().next()?;
    (signals.len() == 2).then(|| Draft {
        subject: Subject::of(SubjectKind::Statement, command, Some(&redis.source.name)),
        statement: format!(
            "Redis sends {} bytes per command, mostly {command}, and its main thread runs {} for each",
            number(each),
            seconds(used.amount / commands.amount)
        ),
        signals,
        remedy: Remedy::advice("split large values, and read only the part that a request needs"),
        gain: Gain::saves(
            evidence.response_mean(),
            evidence.per_request(used),
            "the time of the main thread per request; its transfer comes on top",
        ),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{RATE, Scene};

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

    #[test]
    fn a_slow_command_is_found_while_the_main_thread_has_room() {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        scene.counter(redis, "redis.command.calls", "keys", 60.0);
        scene.counter(redis, "redis.command.time", "keys", 0.3);
        scene.counter(redis, "redis.cpu.main.user", "", 0.3);
        assert_eq!(scene.found("redis_command").unwrap().evidence.len(), 2);
    }

    #[test]
    fn a_command_that_takes_long_because_its_thread_waits_is_not_slow_by_itself() {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        scene.counter(redis, "redis.command.calls", "lpush", 60.0);
        scene.counter(redis, "redis.command.time", "lpush", 0.3);
        scene.counter(redis, "redis.slow", "", 2.0);
        scene.counter(redis, "redis.cpu.main.user", "", 0.01);
        scene.counter(redis, "redis.cpu.main.system", "", 0.01);
        assert_eq!(scene.found("redis_command"), None);
        scene.observations.series.retain(|series| !series.name.starts_with("redis.cpu.main"));
        assert!(scene.found("redis_command").is_some(), "the time of the thread is unknown");
    }

    #[test]
    fn values_of_megabytes_are_found_and_pages_of_20_kib_are_healthy() {
        let of = |bytes: f64, thread: f64| {
            let mut scene = Scene::steady();
            let redis = scene.redis();
            scene.counter(redis, "redis.output_bytes", "", bytes * RATE as f64);
            scene.counter(redis, "redis.cpu.main.system", "", thread * RATE as f64);
            scene.found("redis_command")
        };
        assert!(of(2e6, 0.000_4).unwrap().statement.contains("mostly get"));
        assert_eq!(of(20_480.0, 0.000_02), None);
    }
}
