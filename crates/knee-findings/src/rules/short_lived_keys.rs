//! A cache in Redis whose values expire within a fraction of a second, before they are asked for again.
//!
//! Needs a Redis or Valkey server. The life of a key is calculated from the keys that are there and those that expire.
//! A cache that lives so shortly on purpose and still answers is left alone. Does not know keys: one cache of many
//! hides behind others whose values live longer.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{percent, seconds};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "short_lived_keys",
    finds: "a cache whose values expire within a fraction of a second, before they are asked for again",
    needs: "a Redis or Valkey server",
    limits: "100 keys expire during the run, one for every 20 responses; those that can expire live for 0.5 s at most; half of the look-ups find nothing. All of them, or nothing",
    source: "Little's law: keys that can expire, divided by those that expire per second, is the time for which they live. `EX` and `EXPIRE` count whole seconds, so that half a second is written in milliseconds. Below half of the look-ups, a short life is what was meant: it still answers most.",
    cause: "The time to live was given in seconds and taken for milliseconds: `PX` for `EX`, or a library whose unit has changed.",
    remedy: "Check the unit of the time to live, and give values a life that is longer than the time between two requests for them.",
    explains: &["cache_unanswered"],
    check,
};

const EXPIRED_MIN: f64 = 100.0;
/// Keys that expire per response.
const EXPIRED: f64 = 0.05;
/// Seconds.
const LIFE: f64 = 0.5;
const MISSES: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Redis)?;
    Ok(servers.iter().filter_map(|redis| expiring(evidence, redis)).collect())
}

fn expiring(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Draft> {
    let expired = redis.rise("redis.keys.expired", "").filter(|rise| rise.amount >= EXPIRED_MIN)?;
    let can_expire: f64 = redis.means("redis.keys.expiring").into_iter().map(|(_, keys)| keys).sum();
    let life = can_expire / expired.per_second()?;
    let (hits, misses) = (redis.rise("redis.keyspace.hits", "")?, redis.rise("redis.keyspace.misses", "")?);
    let in_vain = misses.amount / (hits.amount + misses.amount);
    let signals = vec![
        Signal::at_most(
            "time for which a key lives that can expire",
            Unit::Seconds,
            Some(life),
            LIFE,
            "INFO keyspace: expires, INFO stats: expired_keys",
        )?,
        Signal::at_least(
            "share of the look-ups that find nothing",
            Unit::Share,
            Some(in_vain),
            MISSES,
            "INFO stats: keyspace_misses",
        )?,
        Signal::at_least(
            "keys that expire per response",
            Unit::Count,
            evidence.per_request(expired),
            EXPIRED,
            "INFO stats: expired_keys",
        )?,
    ];
    Some(Draft {
        subject: Subject::of(SubjectKind::Resource, redis.name(), None),
        statement: format!(
            "values in Redis expire after {} on average, and {} of the look-ups find nothing",
            seconds(life),
            percent(in_vain)
        ),
        signals,
        remedy: Remedy::advice(
            "check the unit of the time to live: `EX` counts seconds, `PX` milliseconds; let values live longer than the \
             time between two requests for them",
        ),
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::Scene;

    /// A cache of so many keys that can expire, of which so many expire per second, and so many look-ups that miss of
    /// 1,000 per second.
    fn cache(keys: f64, expired: f64, misses: f64) -> Scene {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        scene.gauge(redis, "redis.keys.expiring", "db0", keys);
        scene.counter(redis, "redis.keys.expired", "", expired);
        scene.counter(redis, "redis.keyspace.hits", "", 1_000.0 - misses);
        scene.counter(redis, "redis.keyspace.misses", "", misses);
        scene
    }

    #[test]
    fn values_that_live_for_milliseconds_and_are_seldom_found_are_a_finding() {
        let finding = cache(20.0, 250.0, 700.0).found("short_lived_keys").unwrap();
        assert_eq!(finding.confidence, Confidence::Strong);
        let says = "values in Redis expire after 80.0 ms on average, and 70 % of the look-ups find nothing";
        assert_eq!(finding.statement, says);
    }

    #[test]
    fn a_short_life_that_answers_most_and_a_longer_one_are_healthy() {
        assert_eq!(cache(20.0, 250.0, 200.0).found("short_lived_keys"), None, "a small cache for a burst");
        assert_eq!(cache(1_000.0, 250.0, 900.0).found("short_lived_keys"), None, "four seconds");
        assert_eq!(cache(1.0, 2.0, 900.0).found("short_lived_keys"), None, "few keys expire");
        assert_eq!(cache(0.0, 0.0, 900.0).found("short_lived_keys"), None, "no key expires");
    }
}
