//! A cache in Redis that is asked and written for each request, and finds nothing.
//!
//! Needs a Redis or Valkey server and a load that only reads: a writer asks for what is new on purpose, to recognize
//! what was there before. Looks at the last third of the run, because a cache begins empty. Does not know keys. Keys
//! that are found and dropped for want of memory are `redis_evictions`, and those that are flushed `cache_flushed`; no
//! cache at all is not seen.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::watched::Watched;

use super::no_compression::SAMPLED_MIN;
use super::writes_on_read::reads_only;

pub(super) const RULE: Rule = Rule {
    code: "cache_unanswered",
    finds: "a cache that is asked and written for each request and finds nothing",
    needs: "a load of GET or HEAD alone, by the names of its endpoints, and a Redis or Valkey server",
    limits: "in the last third of the run, 95 % of 40 look-ups find nothing; a value is written for 80 % of them; reads of single keys are called once for every second response; 75 % of 20 sampled responses have a body that an earlier one of their endpoint had. Without such bodies, a hint from 1,000 look-ups on. Nothing if 45 % of all that is found is found in the last third, 10 times and more, because the cache is being filled",
    source: "A cache with a key per content finds what has been answered before: with bodies of which three of four are repeated, three of four look-ups. Of 1,000 look-ups in so many equally frequent keys that 5 % are found, there are 10,000 keys. While a cache of equally frequent keys is being filled, the thirds of a run find 1, 3 and 5 of 9.",
    cause: "The key has more in it than the answer depends on: tracking parameters, a time, a token, the order of parameters. Or values expire before they are asked for again, or are stored under another key than they are looked for.",
    remedy: "Build the key from nothing but what the answer depends on, let values live longer than the time between two requests for them, or leave the cache out.",
    explains: &[],
    check,
};

/// Commands that read, and those that fill a cache.
const READS: [&str; 6] = ["get", "getex", "mget", "hget", "hmget", "hgetall"];
pub(super) const FILLS: [&str; 6] = ["set", "setex", "psetex", "mset", "hset", "hmset"];
/// Calls of reads per response.
const ASKED: f64 = 0.5;
const LOOK_UPS_MIN: f64 = 40.0;
const LOOK_UPS_HINT: f64 = 1_000.0;
const MISSES: f64 = 0.95;
/// Values written per look-up that found nothing.
const WRITTEN: f64 = 0.8;
pub(super) const REPEATED: f64 = 0.75;
/// Share of all hits in the last third, and so many hits there, from which on a cache is being filled.
const FILLING: f64 = 0.45;
const FILLING_MIN: f64 = 10.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Redis)?;
    if !reads_only(evidence) {
        return Err(Lack::of("a load of GET or HEAD alone"));
    }
    Ok(servers.iter().filter_map(|redis| unanswered(evidence, redis)).collect())
}

fn unanswered(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Draft> {
    let last = redis.last_third();
    let in_last = |name: &str| last.rise(name, "").map(|rise| rise.amount);
    let (hits, misses) = (in_last("redis.keyspace.hits")?, in_last("redis.keyspace.misses")?);
    let all_hits = redis.rise("redis.keyspace.hits", "")?.amount;
    let is_filling = hits >= FILLING_MIN && hits >= FILLING * all_hits;
    let calls = redis.rises("redis.command.calls").into_iter();
    let reads = calls.filter(|(command, _)| READS.contains(command));
    let asked: f64 = reads.filter_map(|(_, rise)| evidence.per_request(rise)).sum();
    if is_filling || hits + misses < LOOK_UPS_MIN || asked < ASKED {
        return None;
    }
    let filled = last.rises("redis.command.calls").into_iter();
    let filled: f64 =
        filled.filter(|(command, _)| FILLS.contains(command)).map(|(_, rise)| rise.amount).sum();
    let in_vain = Signal::at_least(
        "share of the look-ups that find nothing, in the last third",
        Unit::Share,
        Some(misses / (hits + misses)),
        MISSES,
        "INFO stats: keyspace_misses",
    )?;
    let written = Signal::at_least(
        "values written per look-up that finds nothing",
        Unit::Count,
        Some(filled / misses),
        WRITTEN,
        "INFO commandstats",
    )?;
    let repeated = Signal::at_least(
        "share of sampled responses whose body an earlier one had",
        Unit::Share,
        repeated(evidence),
        REPEATED,
        "the run: checksums of sampled bodies",
    );
    let (why, signals) = match repeated {
        Some(repeated) => {
            let why = format!("although {} of the responses repeat an earlier one", percent(repeated.figure));
            (why, vec![in_vain, repeated, written])
        }
        None if hits + misses < LOOK_UPS_HINT => return None,
        None => ("or the load asks for too many different things".to_owned(), vec![in_vain]),
    };
    Some(Draft {
        subject: Subject::of(SubjectKind::Resource, redis.name(), None),
        statement: format!(
            "{} of {} look-ups in Redis find nothing in the last third of the run, and what is then written is not asked for \
             again, {why}",
            percent(misses / (hits + misses)),
            number(hits + misses)
        ),
        signals,
        remedy: Remedy::advice(
            "make the key of what the answer depends on alone, and let values live longer than the time between two requests",
        ),
        gain: None,
    })
}

/// The share of the sampled responses whose body an earlier one of their endpoint had; `None` of few.
pub(super) fn repeated(evidence: &Evidence<'_>) -> Option<f64> {
    let endpoints = evidence.run.sampled.endpoints.values();
    let (responses, repeated) = endpoints.fold((0_u64, 0_u64), |(responses, repeated), looks| {
        (responses.saturating_add(looks.responses), repeated.saturating_add(looks.repeated))
    });
    (responses >= SAMPLED_MIN).then(|| repeated as f64 / responses as f64)
}

#[cfg(test)]
mod tests {
    use knee_core::plan::EndpointId;
    use knee_core::sampled::Looks;

    use crate::Confidence;
    use crate::testing::{RATE, Scene};

    /// A page per request from a cache that finds this share of them, and in which so many values are written per
    /// request.
    fn pages(found: f64, written: f64, repeated: u64) -> Scene {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        let per_second = |times: f64| times * RATE as f64;
        scene.counter(redis, "redis.keyspace.hits", "", per_second(found));
        scene.counter(redis, "redis.keyspace.misses", "", per_second(1.0 - found));
        scene.counter(redis, "redis.command.calls", "set", per_second(written));
        let looks = Looks { responses: 100, gets: 100, repeated, bodies_differ: true, ..Looks::default() };
        scene.run.sampled.endpoints.insert(EndpointId(0), looks);
        scene
    }

    #[test]
    fn a_key_that_no_two_requests_share_is_found_by_bodies_that_repeat() {
        let finding = pages(0.0, 1.0, 95).found("cache_unanswered").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Strong, 3));
        let says = "100 % of 10,000 look-ups in Redis find nothing in the last third of the run, and what is then written is \
                    not asked for again, although 95 % of the responses repeat an earlier one";
        assert_eq!(finding.statement, says);
    }

    #[test]
    fn a_load_that_asks_for_different_things_each_time_gets_a_hint() {
        assert_eq!(pages(0.0, 1.0, 70).found("cache_unanswered").unwrap().confidence, Confidence::Hint);
        let mut old = pages(0.0, 1.0, 95);
        old.run.sampled.endpoints.clear();
        assert_eq!(
            old.found("cache_unanswered").unwrap().confidence,
            Confidence::Hint,
            "nothing was sampled"
        );
    }

    #[test]
    fn a_cache_that_answers_some_is_healthy() {
        assert_eq!(pages(0.06, 0.94, 95).found("cache_unanswered"), None);
        assert!(pages(0.04, 0.96, 95).found("cache_unanswered").is_some());
    }

    #[test]
    fn keys_that_are_looked_for_and_not_written_are_no_cache() {
        assert_eq!(pages(0.0, 0.7, 95).found("cache_unanswered"), None, "revoked tokens");
    }

    #[test]
    fn a_cache_that_few_requests_ask_or_that_is_being_filled_is_healthy() {
        let mut seldom = pages(0.0, 1.0, 95);
        seldom.counter(0, "redis.command.calls", "get", 0.4 * RATE as f64);
        assert_eq!(seldom.found("cache_unanswered"), None);
        let mut filling = pages(0.0, 1.0, 20);
        filling.stepped(0, "redis.keyspace.hits", "", |second| second as f64);
        assert_eq!(filling.found("cache_unanswered"), None);
    }

    #[test]
    fn a_few_look_ups_say_nothing() {
        let of = |per_second: f64| {
            let mut scene = pages(0.0, 1.0, 95);
            scene.counter(0, "redis.keyspace.misses", "", per_second);
            scene.counter(0, "redis.command.calls", "set", per_second);
            scene.found("cache_unanswered").map(|finding| finding.confidence)
        };
        assert_eq!((of(3.9), of(4.1)), (None, Some(Confidence::Strong)));
    }

    #[test]
    fn writers_and_records_without_redis_cannot_say() {
        let mut writes = pages(0.0, 1.0, 95);
        writes.run.endpoints[0].name = "POST /orders".into();
        assert_eq!(writes.lacks("cache_unanswered").unwrap(), "a load of GET or HEAD alone");
        let lacks = Scene::steady().lacks("cache_unanswered").unwrap();
        assert_eq!(lacks, "a Redis or Valkey server (`--observe redis://...`)");
    }

    #[test]
    fn a_cache_that_is_too_small_is_said_by_the_rule_of_evictions() {
        let mut scene = pages(0.0, 1.0, 95);
        scene.counter(0, "redis.keys.evicted", "", RATE as f64);
        assert!(scene.found("redis_evictions").is_some());
        assert_eq!(scene.found("cache_unanswered"), None);
    }
}
