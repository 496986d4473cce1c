//! A lock in Redis that requests wait for, and ask for again and again.
//!
//! Needs a Redis or Valkey server. A `SET … NX` that finds the key there is no error of Redis: it shows in a keyspace that
//! did not change. Locks that a script takes are not seen.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "redis_lock",
    finds: "a lock in Redis that requests ask for again and again",
    needs: "a Redis or Valkey server",
    limits: "3 SET or SETNX per response; all changes of the keyspace together are half of them at most. Both, or nothing",
    source: "A SET that succeeds counts as a change (INFO persistence, rdb_changes_since_last_save); one with NX or XX whose condition does not hold changes nothing (Redis documentation, SET). With three tries per response, most requests find the lock taken. A SET that is refused once per request is no lock: it recognizes what was there before.",
    cause: "One key locks what need not exclude each other, or the lock is held during slow work. Those who wait poll it, and the next one to get it is a matter of chance.",
    remedy: "Give each thing that is locked a key of its own; hold the lock for the change alone, not for calls of other services; or let the store decide: a unique key, a conditional update.",
    explains: &["redis_round_trips", "two_populations"],
    check,
};

/// The commands that take a lock.
const TAKES: [&str; 2] = ["set", "setnx"];
/// Per response.
const TRIES: f64 = 3.0;
/// Changes of the keyspace per try.
const CHANGES: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Redis)?;
    Ok(servers.iter().filter_map(|redis| polled(evidence, redis)).collect())
}

fn polled(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Draft> {
    let calls = redis.rises("redis.command.calls");
    let (command, most) = *calls.iter().find(|(name, _)| TAKES.contains(name))?;
    let sets: f64 = calls.iter().filter(|(name, _)| TAKES.contains(name)).map(|(_, rise)| rise.amount).sum();
    let tries = evidence.per_request(most);
    let changes = redis.rise("redis.changes", "")?.amount / sets;
    let polls = Signal::at_least(
        format!("{} per response", command.to_uppercase()),
        Unit::Count,
        tries,
        TRIES,
        "INFO commandstats",
    );
    let refusals = Signal::at_most(
        "changes of the keyspace per SET",
        Unit::Count,
        Some(changes),
        CHANGES,
        "INFO persistence",
    );
    Some(Draft {
        subject: Subject::of(SubjectKind::Statement, command, Some(&redis.source.name)),
        statement: format!(
            "each response takes {} tries to set a key, and at least {} of them are refused: requests wait for a lock in Redis",
            number(tries.unwrap_or(0.0)),
            percent(1.0 - changes)
        ),
        signals: vec![polls?, refusals?],
        remedy: Remedy::advice(
            "lock each thing with a key of its own, and hold the lock for the change alone",
        ),
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{RATE, Scene};

    /// So many SET per response, and so many changes of the keyspace.
    fn set(sets: f64, changes: f64) -> Scene {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        let per_second = |times: f64| times * RATE as f64;
        scene.counter(redis, "redis.command.calls", "set", per_second(sets));
        scene.counter(redis, "redis.command.calls", "evalsha", per_second(1.0));
        scene.counter(redis, "redis.changes", "", per_second(changes));
        scene.counter(redis, "redis.commands", "", per_second(sets + 1.0));
        scene.counter(redis, "redis.input_bytes", "", per_second(60.0 * (sets + 1.0)));
        scene
    }

    #[test]
    fn a_key_that_is_set_by_one_of_many_tries_is_a_lock_and_no_matter_of_round_trips() {
        let scene = set(36.0, 2.0);
        let finding = scene.found("redis_lock").unwrap();
        assert_eq!(finding.evidence.len(), 2);
        let says = "each response takes 36 tries to set a key, and at least 94 % of them are refused: requests wait for a lock \
                    in Redis";
        assert_eq!(finding.statement, says);
        assert_eq!(scene.found("redis_round_trips"), None);
    }

    #[test]
    fn keys_that_are_stored_and_requests_that_are_recognized_are_healthy() {
        assert_eq!(set(20.0, 20.0).found("redis_lock"), None, "a cache that is filled");
        assert_eq!(set(1.0, 0.1).found("redis_lock"), None, "requests that were seen before");
        assert_eq!(set(1.2, 2.2).found("redis_lock"), None, "a lock that is mostly free");
    }
}
