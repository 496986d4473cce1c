//! A cache that throws away what will be asked for again.
//!
//! Needs a Redis or Valkey server.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};

pub(super) const RULE: Rule = Rule {
    code: "redis_evictions",
    finds: "a cache that evicts keys and misses them",
    needs: "a Redis or Valkey server with maxmemory",
    limits: "one key is evicted for every 100 responses; 20 % of the lookups miss (nothing if it is known that fewer do); 95 % of maxmemory is in use",
    source: "A cache that fits evicts nothing; keys that expire are no evictions.",
    cause: "The keys that requests need take more than maxmemory.",
    remedy: "Raise maxmemory, store smaller values, or let keys that are seldom needed expire.",
    explains: &["cache_unanswered"],
    check,
};

const EVICTED: f64 = 0.01;
const MISSES: f64 = 0.2;
const FULL: f64 = 0.95;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for redis in evidence.needed(SourceKind::Redis)? {
        let evicted = redis.rise("redis.keys.evicted", "").and_then(|rise| evidence.per_request(rise));
        let Some(first) = Signal::at_least(
            "keys evicted per response",
            Unit::Count,
            evicted,
            EVICTED,
            "INFO stats: evicted_keys",
        ) else {
            continue;
        };
        let lookups = redis.rise("redis.keyspace.misses", "").zip(redis.rise("redis.keyspace.hits", ""));
        let misses = lookups.map(|(misses, hits)| misses.amount / (misses.amount + hits.amount));
        // A cache at its limit that answers nearly all lookups evicts what is not asked for any more.
        if Signal::falls_short(misses, MISSES) {
            continue;
        }
        let full = redis.mean("redis.memory.used", "").zip(redis.mean("redis.memory.max", ""));
        let full = full.map(|(used, most)| used / most);
        let signals = [
            Some(first),
            Signal::at_least(
                "share of lookups that miss",
                Unit::Share,
                misses,
                MISSES,
                "INFO stats: keyspace_misses",
            ),
            Signal::at_least("share of maxmemory in use", Unit::Share, full, FULL, "INFO memory"),
        ];
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Resource, redis.name(), None),
            statement: format!(
                "Redis evicts {} keys per response, and {} of the lookups miss",
                number(evicted.unwrap_or(0.0)),
                misses.map_or("an unknown part".to_owned(), percent)
            ),
            signals: signals.into_iter().flatten().collect(),
            remedy: Remedy::setting("Redis", "maxmemory", "more than the keys that requests need"),
            gain: None,
        });
    }
    Ok(drafts)
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::Scene;

    #[test]
    fn a_cache_that_evicts_and_misses_is_found_and_one_that_only_misses_is_not() {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        scene.counter(redis, "redis.keyspace.misses", "", 800.0);
        assert_eq!(scene.found("redis_evictions"), None);
        scene.counter(redis, "redis.keys.evicted", "", 700.0);
        assert_eq!(scene.found("redis_evictions").unwrap().confidence, Confidence::Likely);
    }

    #[test]
    fn a_full_cache_that_answers_nearly_all_lookups_is_healthy() {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        scene.counter(redis, "redis.keys.evicted", "", 700.0);
        scene.gauge(redis, "redis.memory.used", "", 98e6);
        scene.gauge(redis, "redis.memory.max", "", 100e6);
        assert_eq!(scene.found("redis_evictions"), None, "5 % miss");
        scene.counter(redis, "redis.keyspace.misses", "", 800.0);
        assert_eq!(scene.found("redis_evictions").unwrap().confidence, Confidence::Strong);
    }
}
