//! A Redis command that is called seldom and stops all others for long: DEL of a large key, a purge, a script.
//!
//! Needs a Redis or Valkey server. A command that takes a large part of the time is `redis_command`. Does not know which
//! key is large.

use knee_core::observation::SourceKind;
use knee_core::outcome::Outcome;
use knee_core::unit::Nanos;

use crate::commands;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::histogram::share_within;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "redis_pause",
    finds: "a Redis command that is called seldom, and stops Redis for long",
    needs: "a Redis or Valkey server",
    limits: "a command has three calls, of 20 ms and of ten mean response times each; they execute for 0.5 % of the time; of the OK responses, a quarter of this share took as long as half a call or longer. All of them, or nothing. That the server noted slow commands is one signal more",
    source: "Redis executes one command at a time, so requests that arrive during a call wait for the rest of it, half of it as a mean: half of the share of the time that such calls execute is the share of requests that wait for half a call. Half of that is enough here, because not each request asks Redis first. 20 ms are twice the default threshold of SLOWLOG.",
    cause: "A command touches or frees a whole collection now and then: DEL of a large key, FLUSHDB, KEYS or SMEMBERS of a job, a script over many keys.",
    remedy: "UNLINK in place of DEL, FLUSHDB ASYNC, SCAN in steps, or smaller keys. Then no single call takes long.",
    explains: &["periodic_pauses", "two_populations"],
    check,
};

const CALLS: f64 = 3.0;
/// Seconds per call, and mean response times per call.
const LONG: f64 = 0.02;
const TIMES: f64 = 10.0;
/// Least share of the time that the command executes.
const EXECUTING: f64 = 0.005;
/// Least share of responses that take half a call or longer, as a part of the share of the time that calls execute.
const SEEN: f64 = 0.25;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Redis)?;
    Ok(servers.iter().filter_map(|redis| paused(evidence, redis)).collect())
}

/// The command that takes most of the time among those of which each call takes long.
fn paused(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Draft> {
    let mean = evidence.response_mean()?;
    let rare = commands::rises(redis, "redis.command.time").into_iter().filter(|(name, _)| !is_around(name));
    let mut rare = rare.filter_map(|(name, time)| {
        let calls = redis.rise("redis.command.calls", name)?;
        let each = time.amount / calls.amount;
        (calls.amount >= CALLS && each >= LONG && each >= TIMES * mean).then_some((name, time, calls, each))
    });
    let (command, time, calls, each) = rare.next()?;
    let executing = time.per_second()?;
    if executing < EXECUTING {
        return None;
    }
    let slow = slower_than(evidence, each / 2.0)?;
    let signals: Vec<Signal> = [
        Signal::at_least(
            format!("time per call of {command}"),
            Unit::Seconds,
            Some(each),
            LONG.max(TIMES * mean),
            "INFO commandstats",
        )?,
        Signal::at_least(
            "OK responses that take half a call or longer",
            Unit::Share,
            Some(slow),
            executing * SEEN,
            "response times",
        )?,
    ]
    .into_iter()
    .chain(noted(redis))
    .collect();
    Some(Draft {
        subject: Subject::of(SubjectKind::Statement, command, Some(&redis.source.name)),
        statement: format!(
            "{command} stops Redis for {} per call, {} calls in all; {} of the responses take half of that or longer",
            seconds(each),
            number(calls.amount),
            percent(slow),
        ),
        signals,
        remedy: Remedy::advice(
            "use UNLINK in place of DEL, the ASYNC form of a flush, SCAN in steps, or smaller keys",
        ),
        gain: Gain::saves(
            Some(mean),
            Some(executing * each / 2.0),
            "the mean wait of a request for the rest of a call",
        ),
    })
}

/// Whether a command executes others, which have their own time.
fn is_around(command: &str) -> bool {
    command == "exec"
}

/// The share of OK responses that took so many seconds or longer.
fn slower_than(evidence: &Evidence<'_>, least: f64) -> Option<f64> {
    let responses = &evidence.all().outcomes[Outcome::Ok as usize].response;
    share_within(responses, Nanos::from_secs_f64(least), Nanos(u64::MAX))
}

fn noted(redis: &Watched<'_>) -> Option<Signal> {
    let noted = redis.rise("redis.slow", "").map(|rise| rise.amount);
    Signal::at_least("slow commands that the server noted", Unit::Count, noted, 1.0, "SLOWLOG")
}

#[cfg(test)]
mod tests {
    use crate::testing::Scene;

    /// One DEL of so many seconds every third second, in which a request waits for the rest of it; `seen` of them do.
    fn deleting(call: f64, seen: f64) -> Scene {
        let mut scene = Scene::with(|sample, second, dice| {
            if second % 3 == 0 && dice.share() < call * seen {
                sample.wait += call * dice.share();
            }
        });
        let redis = scene.redis();
        scene.counter(redis, "redis.command.calls", "del", 1.0 / 3.0);
        scene.counter(redis, "redis.command.time", "del", call / 3.0);
        scene.counter(redis, "redis.command.calls", "exec", 1.0 / 3.0);
        scene.counter(redis, "redis.command.time", "exec", call / 3.0 + 0.000_1);
        scene.counter(redis, "redis.slow", "", 1.0 / 3.0);
        scene
    }

    #[test]
    fn a_del_that_stops_redis_for_a_tenth_of_a_second_now_and_then_is_found_by_its_own_name() {
        let finding = deleting(0.1, 1.0).found("redis_pause").unwrap();
        assert_eq!((finding.subject.name.as_str(), finding.evidence.len()), ("del", 3));
    }

    #[test]
    fn short_calls_and_calls_that_no_request_waits_for_are_healthy() {
        assert_eq!(deleting(0.01, 1.0).found("redis_pause"), None, "10 ms");
        assert_eq!(deleting(0.1, 0.0).found("redis_pause"), None, "no request waits");
        let mut scene = deleting(0.1, 1.0);
        scene.counter(0, "redis.command.calls", "del", 0.03);
        scene.counter(0, "redis.command.time", "del", 0.003);
        scene.counter(0, "redis.command.calls", "exec", 0.03);
        scene.counter(0, "redis.command.time", "exec", 0.003);
        assert_eq!(scene.found("redis_pause"), None, "one call");
    }
}
