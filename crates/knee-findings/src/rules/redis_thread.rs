//! Redis at its limit: one thread executes all commands.
//!
//! Needs a Redis or Valkey server. A single slow command is `redis_command`.

use knee_core::observation::SourceKind;

use crate::bound;
use crate::commands;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::percent;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;

use super::cpu_full;

pub(super) const RULE: Rule = Rule {
    code: "redis_thread",
    finds: "a Redis whose main thread is full",
    needs: "a Redis or Valkey server of version 6.2 or later",
    limits: "the main thread runs 90 % of the time; commands execute for 30 % of the time, or one command has half of that time",
    source: "Redis executes commands in one thread: its operational bound is one server.",
    cause: "Too many commands per request, or expensive ones. What else the thread does is reading and writing sockets.",
    remedy: "Send fewer commands (MGET, pipelines), cheaper ones (no KEYS, no whole lists), use io-threads, or shard.",
    explains: &["fixed_places"],
    check,
};

const FULL: f64 = 0.9;
const EXECUTING: f64 = 0.3;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut known = false;
    let mut drafts = Vec::new();
    for redis in evidence.needed(SourceKind::Redis)? {
        let used = bound::both(&redis, "redis.cpu.main.user", "redis.cpu.main.system")
            .and_then(crate::watched::Rise::per_second);
        known |= used.is_some();
        let Some(full) = Signal::at_least(
            "share of the time that the main thread runs",
            Unit::Share,
            used,
            FULL,
            "INFO cpu",
        ) else {
            continue;
        };
        let commands = commands::rises(&redis, "redis.command.time");
        let all: f64 = commands.iter().filter_map(|(_, rise)| rise.per_second()).sum();
        let most = commands.first().map_or(String::new(), |(name, rise)| {
            format!(
                "; {name} has {} of the time of commands",
                percent(rise.per_second().unwrap_or(0.0) / all)
            )
        });
        let executing = Signal::at_least(
            "share of the time that commands execute",
            Unit::Share,
            Some(all),
            EXECUTING,
            "INFO commandstats",
        );
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Resource, redis.name(), None),
            statement: format!(
                "the main thread of Redis runs {} of the time{most}",
                percent(used.unwrap_or(0.0))
            ),
            signals: [Some(full), executing].into_iter().flatten().collect(),
            remedy: Remedy::advice(
                "send fewer commands (MGET, pipelines) and cheaper ones, or turn on io-threads",
            ),
            gain: cpu_full::doubled(evidence),
        });
    }
    let lack = || Lack::of("the CPU time of the main thread: Redis 6.2 and later have it");
    known.then_some(drafts).ok_or_else(lack)
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::Scene;

    #[test]
    fn a_redis_that_does_not_tell_the_time_of_its_main_thread_is_no_healthy_one() {
        let mut scene = Scene::steady();
        scene.redis();
        scene.observations.series.retain(|series| !series.name.starts_with("redis.cpu.main"));
        let lacks = "the CPU time of the main thread: Redis 6.2 and later have it";
        assert_eq!(scene.lacks("redis_thread").unwrap(), lacks);
    }

    #[test]
    fn a_full_main_thread_is_found_with_its_command_and_a_busy_one_is_healthy() {
        let of = |user, time| {
            let mut scene = Scene::steady();
            let redis = scene.redis();
            scene.counter(redis, "redis.cpu.main.user", "", user);
            scene.counter(redis, "redis.command.time", "lrange", time);
            scene.found("redis_thread")
        };
        let finding = of(0.92, 0.7).unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(
            finding.statement.ends_with("lrange has 100 % of the time of commands"),
            "{}",
            finding.statement
        );
        assert_eq!(of(0.6, 0.4), None);
    }
}
