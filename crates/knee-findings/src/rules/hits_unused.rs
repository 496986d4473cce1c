//! A cache in Redis that answers, while the same empty result is computed and stored again for each request.
//!
//! Needs a Redis or Valkey server, the statements of a PostgreSQL server, and a load that only reads. A result without
//! rows is what code takes for a miss: an empty list, zero, nothing. Does not know keys: a session that is read and
//! written for each request beside a search that is never cached has the same counts, so the commands must be as short
//! as those of an empty value, and the statement must be most of the work.

use knee_core::observation::SourceKind;

use super::cache_unanswered::{FILLS, REPEATED, repeated};
use super::writes_on_read::reads_only;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::lack::Lack;
use crate::query::{self, Query};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "hits_unused",
    finds: "an empty result that is computed for each request, although the cache answers",
    needs: "a load of GET or HEAD alone, by the names of its endpoints, a Redis or Valkey server, a PostgreSQL server with pg_stat_statements, and 20 sampled responses",
    limits: "in the second half of the run, 95 % of 40 look-ups find something, and 0.8 of them per response; a value is stored 0.8 times per response, and Redis receives 200 bytes per stored value at most. A SELECT that returns no row and reads 50 blocks is called as often as values are stored, within 20 %, and takes half of the mean service time per response. 75 % of 20 sampled responses have a body that an earlier one of their endpoint had. All of them, or nothing",
    source: "What is found in a cache need not be computed. A look-up by a key reads fewer blocks than 50, so that it is worth no cache; what returns no row and reads more is a search, and its result is the same until its rows change. GET and SET of an empty value with a key of 60 bytes are shorter than 200 bytes; those of a session are not.",
    cause: "The code asks whether the cached value is true, and an empty list, zero or an empty text is not; or it takes every cached value for outdated.",
    remedy: "Ask whether the key exists (`is None`, `=== null`), and store a mark for an empty result.",
    explains: &[],
    check,
};

const LOOK_UPS_MIN: f64 = 40.0;
const HITS: f64 = 0.95;
/// Per response.
const OFTEN: f64 = 0.8;
const ROWS: f64 = 0.01;
const BLOCKS: f64 = 50.0;
const WITHIN: f64 = 0.2;
const OF_SERVICE: f64 = 0.5;
/// Bytes of all commands per stored value: a look-up and an empty value, with keys of 60 bytes.
const SHORT: f64 = 200.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let caches = evidence.needed(SourceKind::Redis)?;
    let servers = query::servers(evidence)?;
    if !reads_only(evidence) {
        return Err(Lack::of("a load of GET or HEAD alone"));
    }
    let stored = caches.iter().filter_map(|redis| stored_again(evidence, redis)).max_by(f64::total_cmp);
    let Some(stored) = stored else { return Ok(Vec::new()) };
    let computed = servers.iter().find_map(|(server, queries)| {
        let query = queries.iter().find(|query| is_in_vain(query, stored))?;
        unused(evidence, server, query, stored)
    });
    Ok(computed.into_iter().collect())
}

/// The values that are stored per response in a cache that answers nearly all look-ups.
fn stored_again(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<f64> {
    let late = redis.second_half();
    let (hits, misses) = (late.rise("redis.keyspace.hits", "")?, late.rise("redis.keyspace.misses", "")?);
    let all = hits.amount + misses.amount;
    if all < LOOK_UPS_MIN || hits.amount < HITS * all || evidence.per_request(hits)? < OFTEN {
        return None;
    }
    let fills = late.rises("redis.command.calls").into_iter().filter(|(command, _)| FILLS.contains(command));
    let stored: f64 = fills.filter_map(|(_, rise)| evidence.per_request(rise)).sum();
    let bytes = evidence.per_request(late.rise("redis.input_bytes", "")?)?;
    (stored >= OFTEN && bytes <= SHORT * stored).then_some(stored)
}

/// Whether a statement searches, finds nothing, and is called as often as values are stored.
fn is_in_vain(query: &Query<'_>, stored: f64) -> bool {
    query.only_reads()
        && query.rows <= ROWS
        && query.blocks >= BLOCKS
        && (query.per_request / stored - 1.0).abs() <= WITHIN
}

fn unused(evidence: &Evidence<'_>, server: &Watched<'_>, query: &Query<'_>, stored: f64) -> Option<Draft> {
    let each = query.seconds_per_request();
    let computed = Signal::at_least(
        "time of a statement without rows per response, of the mean service time",
        Unit::Share,
        evidence.service_mean().map(|mean| each / mean),
        OF_SERVICE,
        "pg_stat_statements",
    )?;
    let again = Signal::at_least(
        "values stored per response, although nearly all look-ups find one",
        Unit::Count,
        Some(stored),
        OFTEN,
        "INFO commandstats",
    )?;
    let same = Signal::at_least(
        "share of sampled responses whose body an earlier one had",
        Unit::Share,
        repeated(evidence),
        REPEATED,
        "the run: checksums of sampled bodies",
    )?;
    Some(Draft {
        subject: query.subject(server),
        statement: format!(
            "Redis finds what is asked for, and nevertheless a statement that returns no row is executed {} times per response, \
             {} each, and as many short values are stored, while {} of the responses repeat an earlier one",
            number(query.per_request),
            seconds(query.seconds),
            percent(same.figure)
        ),
        signals: vec![computed, again, same],
        remedy: Remedy::advice("take an empty value in the cache for an answer: ask whether the key exists"),
        gain: Gain::saves(evidence.response_mean(), Some(each), "the executions of this statement"),
    })
}

#[cfg(test)]
mod tests {
    use knee_core::plan::EndpointId;
    use knee_core::sampled::Looks;

    use crate::testing::{Costs, RATE, Scene};
    use crate::{Confidence, Gain};

    const ALERTS: &str =
        "SELECT product, sum(amount) FROM purchases GROUP BY product HAVING sum(amount) > $1";

    /// A cache that answers, into which so many values are stored per response, and a statement that is called once per
    /// response, returns so many rows and reads so many blocks.
    fn alerts(stored: f64, rows: f64, blocks: f64) -> Scene {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        scene.counter(redis, "redis.keyspace.hits", "", RATE as f64);
        scene.counter(redis, "redis.keyspace.misses", "", 0.0);
        scene.counter(redis, "redis.command.calls", "set", stored * RATE as f64);
        let server = scene.postgres();
        scene.statement(server, "2", ALERTS, &Costs { seconds: 0.003, rows, blocks, ..Costs::default() });
        repeats(&mut scene, 95);
        scene
    }

    fn repeats(scene: &mut Scene, repeated: u64) {
        let looks = Looks { responses: 100, gets: 100, repeated, ..Looks::default() };
        scene.run.sampled.endpoints.insert(EndpointId(0), looks);
    }

    #[test]
    fn an_empty_list_that_is_computed_for_each_request_beside_a_cache_that_has_it_is_found() {
        let finding = alerts(1.0, 0.0, 900.0).found("hits_unused").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Strong, 3));
        assert!(finding.subject.name.starts_with("SELECT product"));
        assert!(finding.gain.as_ref().map_or(0.0, Gain::share) > 0.5);
    }

    #[test]
    fn a_cache_that_saves_the_work_and_a_list_that_is_not_empty_are_healthy() {
        assert_eq!(alerts(0.01, 0.0, 900.0).found("hits_unused"), None, "nothing is stored");
        assert_eq!(alerts(1.0, 3.0, 900.0).found("hits_unused"), None, "its rows are used");
    }

    #[test]
    fn a_session_that_is_written_back_beside_a_cheap_look_up_is_healthy() {
        assert_eq!(alerts(1.0, 0.0, 4.0).found("hits_unused"), None, "a row by its key that does not exist");
        assert_eq!(
            alerts(2.0, 0.0, 900.0).found("hits_unused"),
            None,
            "stored more often than it is computed"
        );
        let mut session = alerts(1.0, 0.0, 900.0);
        session.counter(0, "redis.input_bytes", "", 320.0 * RATE as f64);
        assert_eq!(session.found("hits_unused"), None, "a session, beside a search that is never cached");
        let mut part = alerts(1.0, 0.0, 900.0);
        let costs = Costs { seconds: 0.001, rows: 0.0, blocks: 900.0, ..Costs::default() };
        part.statement(1, "2", ALERTS, &costs);
        assert_eq!(part.found("hits_unused"), None, "a small part of the work");
    }

    #[test]
    fn a_search_for_something_else_each_time_is_healthy_and_a_load_that_writes_cannot_say() {
        let mut search = alerts(1.0, 0.0, 900.0);
        repeats(&mut search, 60);
        assert_eq!(search.found("hits_unused"), None);
        let mut writes = alerts(1.0, 0.0, 900.0);
        writes.run.endpoints[0].name = "POST /orders".into();
        assert_eq!(writes.lacks("hits_unused").unwrap(), "a load of GET or HEAD alone");
    }
}
