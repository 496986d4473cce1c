//! Optimistic transactions of Redis that are in each other's way, and are tried again.
//!
//! Needs a Redis or Valkey server. A transaction that is given up is no error of Redis: it shows in the commands that did
//! not run.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "redis_conflicts",
    finds: "optimistic transactions of Redis that are tried again and again",
    needs: "a Redis or Valkey server",
    limits: "2 EXEC per response, and at least half as many WATCH; commands other than reads ran for half of the EXEC at most. Both, or nothing",
    source: "Redis runs the commands of a transaction only if no watched key has changed, and counts only commands that ran. A transaction has one command at least, so EXEC without commands were given up (Redis documentation, transactions). With as many given up as kept, each change is tried twice.",
    cause: "Many requests read one key, compute, and write it only if it has not changed. One of them succeeds at a time; all others begin again.",
    remedy: "Change the key in one command (INCR, HINCRBY, SET with a condition) or in a script, which Redis runs without others between; do slow work before WATCH; spread the key over several.",
    explains: &["redis_round_trips", "two_populations"],
    check,
};

/// EXEC per response.
const TRIES: f64 = 2.0;
/// WATCH per EXEC: without it, nothing is given up.
const WATCHED: f64 = 0.5;
/// Commands that ran, per EXEC.
const RAN: f64 = 0.5;
/// Commands that change nothing, by their first word: reads, those of a connection, and those of transactions.
const HARMLESS: &[&str] = &[
    "acl",
    "auth",
    "bitcount",
    "client",
    "cluster",
    "command",
    "config",
    "dbsize",
    "discard",
    "echo",
    "exec",
    "exists",
    "get",
    "getrange",
    "hello",
    "hexists",
    "hget",
    "hgetall",
    "hkeys",
    "hlen",
    "hmget",
    "hscan",
    "hvals",
    "info",
    "keys",
    "latency",
    "lindex",
    "llen",
    "lrange",
    "memory",
    "mget",
    "multi",
    "object",
    "ping",
    "psync",
    "pttl",
    "quit",
    "replconf",
    "reset",
    "scan",
    "scard",
    "select",
    "sismember",
    "slowlog",
    "smembers",
    "smismember",
    "sscan",
    "strlen",
    "time",
    "ttl",
    "type",
    "unwatch",
    "watch",
    "zcard",
    "zcount",
    "zrange",
    "zrangebyscore",
    "zrank",
    "zrevrange",
    "zrevrank",
    "zscan",
    "zscore",
];

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Redis)?;
    Ok(servers.iter().filter_map(|redis| retried(evidence, redis)).collect())
}

fn retried(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Draft> {
    let calls = redis.rises("redis.command.calls");
    let of = |command: &str| calls.iter().find(|(name, _)| *name == command).map(|(_, rise)| *rise);
    let (exec, watch) = (of("exec")?, of("watch")?);
    if watch.amount < WATCHED * exec.amount {
        return None;
    }
    let tries = evidence.per_request(exec);
    let changes = calls.iter().filter(|(name, _)| !is_harmless(name)).map(|(_, rise)| rise.amount);
    let ran = changes.sum::<f64>() / exec.amount;
    let signals: Vec<Signal> = [
        Signal::at_least("EXEC per response", Unit::Count, tries, TRIES, "INFO commandstats: exec"),
        Signal::at_most(
            "commands that change something, per EXEC",
            Unit::Count,
            Some(ran),
            RAN,
            "INFO commandstats: the other commands",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    (signals.len() == 2).then(|| Draft {
        subject: Subject::of(SubjectKind::Statement, "exec", Some(&redis.source.name)),
        statement: format!(
            "each response takes {} optimistic transactions: at least {} of them are given up, because a watched key has \
             changed",
            number(tries.unwrap_or(0.0)),
            percent(1.0 - ran)
        ),
        signals,
        remedy: Remedy::advice(
            "change the key in one command or in a script instead of WATCH and EXEC, and do slow work before it",
        ),
        gain: None,
    })
}

fn is_harmless(command: &str) -> bool {
    let first = command.split('|').next().unwrap_or(command);
    HARMLESS.binary_search(&first).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{RATE, Scene};

    /// So many tries per response, of which one succeeds.
    fn tried(tries: f64, watched: f64, changes: f64) -> Scene {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        for (command, calls) in
            [("watch", tries * watched), ("get", tries), ("multi", tries), ("exec", tries), ("set", changes)]
        {
            scene.counter(redis, "redis.command.calls", command, calls * RATE as f64);
        }
        scene.counter(redis, "redis.command.calls", "config|get", 1.0);
        scene
    }

    #[test]
    fn a_watched_key_that_others_change_is_found_by_the_commands_that_did_not_run() {
        let finding = tried(9.0, 1.0, 1.0).found("redis_conflicts").unwrap();
        assert_eq!(finding.evidence.len(), 2);
        let says = "each response takes 9 optimistic transactions: at least 89 % of them are given up, because a watched key \
                    has changed";
        assert_eq!(finding.statement, says);
    }

    #[test]
    fn transactions_that_succeed_and_those_without_watch_are_healthy() {
        assert_eq!(tried(1.0, 1.0, 1.0).found("redis_conflicts"), None);
        assert_eq!(tried(9.0, 1.0, 9.0).found("redis_conflicts"), None);
        assert_eq!(tried(9.0, 0.0, 1.0).found("redis_conflicts"), None, "transactions of reads");
        assert!(Scene::steady().lacks("redis_conflicts").is_some());
    }

    #[test]
    fn the_list_of_commands_that_change_nothing_is_sorted_for_its_search() {
        assert!(HARMLESS.is_sorted());
        assert!(is_harmless("config|get") && is_harmless("watch") && !is_harmless("incr"));
    }
}
