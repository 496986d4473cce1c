//! A cache in Redis that is emptied while the service runs, so that much of what is asked for is not there.
//!
//! Needs a Redis or Valkey server. Sees the commands that flush a database, and falls of the number of keys that
//! neither expired nor were evicted. Does not know why. Keys that are evicted are `redis_evictions`.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "cache_flushed",
    finds: "a cache that is emptied again and again while the service runs",
    needs: "a Redis or Valkey server",
    limits: "FLUSHDB or FLUSHALL is called 3 times, between 3 readings and a quarter of them in the second half of the run at least, and the database with most keys does not keep them; or in 3 intervals the number of keys falls by half, by 100 and by twice what any interval adds at least, without those that expired or were evicted. And 10 % of 40 look-ups find nothing. Both, or nothing",
    source: "A key that is deleted because its value changed is missed once. A flush makes all other values be computed again as well, although they have not changed; three over the whole run are no preparation of it. Keys of what is in progress, such as locks and jobs, become fewer as slowly as they become more; those that are emptied are gone at once.",
    cause: "A change of one object clears the whole cache, or all keys with a prefix: the command to flush it, or a loop that deletes them.",
    remedy: "Delete or overwrite the keys of what changed, and let all others live until they expire. Keep what must be flushed in a database of its own.",
    explains: &["cache_unanswered"],
    check,
};

const FLUSHES: [&str; 2] = ["flushdb", "flushall"];
const TIMES: f64 = 3.0;
const READINGS_MIN: usize = 3;
const LOOK_UPS_MIN: f64 = 40.0;
const MISSES: f64 = 0.1;
/// Share of the keys, and so many of them, that are gone after an interval in which a cache was emptied.
const FALL: f64 = 0.5;
const FALL_MIN: f64 = 100.0;
/// A fall, as a multiple of the largest rise: keys of what is in progress come and go alike.
const STEEP: f64 = 2.0;
/// Share of the flushes in the second half of the run: those of a preparation are at its start.
const LATE: f64 = 0.25;
/// From so many keys on, a database keeps them if it never has less than [`FALL`] of them.
const KEPT_MIN: f64 = 10.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    Ok(evidence.needed(SourceKind::Redis)?.iter().filter_map(|redis| flushed(evidence, redis)).collect())
}

fn flushed(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Draft> {
    let of = |name: &str| redis.rise(name, "").map(|rise| rise.amount);
    let (hits, misses) = (of("redis.keyspace.hits")?, of("redis.keyspace.misses")?);
    if hits + misses < LOOK_UPS_MIN {
        return None;
    }
    let in_vain = Signal::at_least(
        "share of the look-ups that find nothing",
        Unit::Share,
        Some(misses / (hits + misses)),
        MISSES,
        "INFO stats: keyspace_misses",
    )?;
    let (how, emptied) = commands(redis)
        .map(|signal| ("with a command", signal))
        .or_else(|| falls(evidence, redis).map(|signal| ("key by key", signal)))?;
    Some(Draft {
        subject: Subject::of(SubjectKind::Resource, redis.name(), None),
        statement: format!(
            "Redis is emptied {} times during the run {how}, and {} of {} look-ups find nothing",
            number(emptied.figure),
            percent(in_vain.figure),
            number(hits + misses)
        ),
        signals: vec![emptied, in_vain],
        remedy: Remedy::advice("delete or overwrite the keys of what changed, and let all others live"),
        gain: None,
    })
}

/// The calls of commands that flush.
fn commands(redis: &Watched<'_>) -> Option<Signal> {
    let (calls, late) = (flushes(redis), flushes(&redis.second_half()));
    let readings = redis.readings("redis.command.calls", is_flush);
    if readings < READINGS_MIN || late < LATE * calls || keeps_keys(redis) {
        return None;
    }
    Signal::at_least("calls of FLUSHDB and FLUSHALL", Unit::Count, Some(calls), TIMES, "INFO commandstats")
}

fn is_flush(command: &str) -> bool {
    FLUSHES.contains(&command)
}

fn flushes(redis: &Watched<'_>) -> f64 {
    let calls = redis.rises("redis.command.calls").into_iter().filter(|(command, _)| is_flush(command));
    calls.map(|(_, rise)| rise.amount).sum()
}

/// Whether the database with most keys has them all the time, so that another one is flushed.
fn keeps_keys(redis: &Watched<'_>) -> bool {
    let late = redis.second_half();
    let largest = late.means("redis.keys").into_iter().next();
    let levels = largest.map_or_else(Vec::new, |(database, _)| late.levels("redis.keys", database));
    let (least, most) = (levels.iter().copied().reduce(f64::min), levels.iter().copied().reduce(f64::max));
    least.zip(most).is_some_and(|(least, most)| most >= KEPT_MIN && least > FALL * most)
}

/// The intervals in which most keys of a database went away, and did not expire.
fn falls(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Signal> {
    let (from, to) = evidence.window();
    let gone = |name: &str, from, to| redis.within(name, from, to).unwrap_or(0.0);
    let of_database = |database: &str| {
        let points = redis.series("redis.keys", database).map_or(&[][..], |series| &series.points[..]);
        let inside = points.windows(2).filter(|pair| pair[0].0 >= from && pair[1].0 <= to);
        let inside: Vec<_> = inside.collect();
        let rise = inside.iter().map(|pair| pair[1].1 - pair[0].1).fold(0.0, f64::max);
        let falls = inside.iter().filter(|pair| {
            let (before, fall) = (pair[0].1, pair[0].1 - pair[1].1);
            let known = gone("redis.keys.expired", pair[0].0, pair[1].0)
                + gone("redis.keys.evicted", pair[0].0, pair[1].0);
            fall - known >= (FALL * before).max(FALL_MIN).max(STEEP * rise)
        });
        falls.count()
    };
    let most = redis.means("redis.keys").into_iter().map(|(database, _)| of_database(database)).max()?;
    Signal::at_least(
        "intervals in which half of the keys were deleted",
        Unit::Count,
        Some(most as f64),
        TIMES,
        "INFO keyspace",
    )
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SeriesKind;
    use knee_core::unit::Nanos;

    use crate::Confidence;
    use crate::testing::{RATE, Scene};

    /// A cache of which this share of the look-ups find nothing.
    fn cache(misses: f64) -> Scene {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        scene.counter(redis, "redis.keyspace.hits", "", (1.0 - misses) * RATE as f64);
        scene.counter(redis, "redis.keyspace.misses", "", misses * RATE as f64);
        scene
    }

    fn keys(scene: &mut Scene, keys: fn(u64) -> f64) {
        let points = (0..=30).map(|second| (Nanos::from_secs(second), keys(second))).collect();
        scene.points(0, "redis.keys", "db0", SeriesKind::Gauge, points);
    }

    #[test]
    fn a_cache_that_each_change_flushes_is_found() {
        let mut scene = cache(0.39);
        scene.counter(0, "redis.command.calls", "flushdb", 5.0);
        let finding = scene.found("cache_flushed").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2));
        let says = "Redis is emptied 150 times during the run with a command, and 39 % of 30,000 look-ups find nothing";
        assert_eq!(finding.statement, says);
    }

    #[test]
    fn keys_that_are_deleted_together_are_found_and_those_that_expire_or_are_worked_off_are_not() {
        let sawtooth =
            |second: u64| if second.is_multiple_of(5) { 100.0 } else { 100.0 + 400.0 * (second % 5) as f64 };
        let mut scene = cache(0.39);
        keys(&mut scene, sawtooth);
        assert!(
            scene.found("cache_flushed").unwrap().statement.contains("6 times during the run key by key")
        );
        scene.stepped(0, "redis.keys.expired", "", |second| if second % 5 == 4 { 1_600.0 } else { 0.0 });
        assert_eq!(scene.found("cache_flushed"), None, "they expire together");
        let mut queue = cache(0.39);
        keys(&mut queue, |second| 3_000.0 - 100.0 * second as f64);
        assert_eq!(queue.found("cache_flushed"), None);
        let mut locks = cache(0.39);
        keys(&mut locks, |second| if second % 2 == 0 { 400.0 } else { 100.0 });
        assert_eq!(locks.found("cache_flushed"), None, "they come as they go");
    }

    #[test]
    fn another_database_that_is_flushed_and_a_load_that_prepares_itself_are_healthy() {
        let mut other = cache(0.39);
        other.counter(0, "redis.command.calls", "flushdb", 5.0);
        keys(&mut other, |second| 8_000.0 + 50.0 * second as f64);
        assert_eq!(other.found("cache_flushed"), None);
        keys(&mut other, |second| 10.0 * (second % 4) as f64);
        assert!(other.found("cache_flushed").is_some());
        let mut prepares = cache(0.39);
        prepares.stepped(0, "redis.command.calls", "flushall", |second| if second < 5 { 2.0 } else { 0.0 });
        assert_eq!(prepares.found("cache_flushed"), None);
    }

    #[test]
    fn a_flush_before_the_load_and_one_of_keys_that_are_not_looked_for_are_healthy() {
        let mut once = cache(0.39);
        once.stepped(0, "redis.command.calls", "flushall", |second| f64::from(u8::from(second == 0)));
        assert_eq!(once.found("cache_flushed"), None);
        let mut other = cache(0.05);
        other.counter(0, "redis.command.calls", "flushdb", 5.0);
        assert_eq!(other.found("cache_flushed"), None, "95 % are found");
    }
}
