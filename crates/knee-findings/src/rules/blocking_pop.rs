//! Commands that wait behind a blocking one on the same connection to Redis.
//!
//! Needs a Redis or Valkey server whose list of connections can be read. Does not know whose connections they are: a
//! consumer that sends one blocking command behind another looks the same, so other commands must be frequent.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "blocking_pop",
    finds: "commands that wait behind a blocking one on the same connection to Redis",
    needs: "a Redis or Valkey server with 200 connections at most, whose user can list them",
    limits: "in 3 looks and 10 % of them, a connection waits in a blocking command and has sent more; blocking commands are called once per 100 responses, and all other commands twice as often. Both, or nothing",
    source: "Redis reads what a blocked client sends, and executes nothing of it until the client is unblocked (BLPOP; CLIENT LIST has the bytes as qbuf). A connection that is used for blocking commands alone sends nothing meanwhile.",
    cause: "A client library sends the commands of all requests over one connection (multiplexing), and one of them blocks: BLPOP, BRPOP, BLMOVE, XREAD BLOCK, WAIT.",
    remedy: "Give blocking commands connections of their own, from a small pool; or ask without blocking, or subscribe.",
    explains: &["two_populations"],
    check,
};

/// The gauge of the observer: blocked connections from which Redis has received more.
const BEHIND: &str = "redis.clients.blocked.behind";
const LOOKS_MIN: f64 = 3.0;
const OF_LOOKS: f64 = 0.1;
/// Calls of blocking commands per response.
const CALLS: f64 = 0.01;
/// Other commands per blocking one.
const OTHERS: f64 = 2.0;

const BLOCKING: [&str; 11] = [
    "blpop",
    "brpop",
    "brpoplpush",
    "blmove",
    "blmpop",
    "bzpopmin",
    "bzpopmax",
    "bzmpop",
    "xread",
    "xreadgroup",
    "wait",
];

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Redis)?;
    let is_denied =
        |redis: &&Watched<'_>| redis.source.without.iter().any(|without| without.starts_with("CLIENT LIST"));
    let listed: Vec<_> =
        servers.iter().filter(|redis| !redis.levels(BEHIND, "").is_empty() && !is_denied(redis)).collect();
    if listed.is_empty() {
        return Err(Lack::of(
            "the connections of Redis: more than 200, a user who must not list them, or an old record",
        ));
    }
    Ok(listed.into_iter().filter_map(|redis| held_up(evidence, redis)).collect())
}

fn held_up(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Draft> {
    let looks = redis.levels(BEHIND, "");
    let behind = looks.iter().filter(|level| **level >= 1.0).count() as f64;
    let calls = redis.rises("redis.command.calls");
    let blocking = || calls.iter().filter(|(command, _)| BLOCKING.contains(command));
    let (command, _) = *blocking().next()?;
    let amount: f64 = blocking().map(|(_, rise)| rise.amount).sum();
    let all: f64 = calls.iter().map(|(_, rise)| rise.amount).sum();
    let per_response: f64 = blocking().filter_map(|(_, rise)| evidence.per_request(*rise)).sum();
    if behind < LOOKS_MIN || all - amount < OTHERS * amount {
        return None;
    }
    let share = behind / looks.len() as f64;
    let waiting = Signal::at_least(
        "share of looks in which commands wait behind a blocking one",
        Unit::Share,
        Some(share),
        OF_LOOKS,
        "CLIENT LIST: qbuf of blocked clients",
    )?;
    let often = Signal::at_least(
        "calls of blocking commands per response",
        Unit::Count,
        Some(per_response),
        CALLS,
        "INFO commandstats",
    )?;
    Some(Draft {
        subject: Subject::of(SubjectKind::Statement, command, Some(&redis.source.name)),
        statement: format!(
            "in {} of the looks at Redis, commands wait on a connection that {} blocks, which is called {} times per response",
            percent(share),
            command.to_uppercase(),
            number(per_response)
        ),
        signals: vec![waiting, often],
        remedy: Remedy::advice("give blocking commands connections of their own, from a small pool"),
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SeriesKind;
    use knee_core::unit::Nanos;

    use super::BEHIND;
    use crate::Confidence;
    use crate::testing::{RATE, SECONDS, Scene};

    /// So many calls of BLPOP and of GET per response; in so many of the looks at the end, commands wait behind it.
    fn quotes(pops: f64, gets: f64, behind: u64) -> Scene {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        scene.counter(redis, "redis.command.calls", "blpop", pops * RATE as f64);
        scene.counter(redis, "redis.command.calls", "get", gets * RATE as f64);
        let level = |second: u64| if SECONDS - second < behind { 1.0 } else { 0.0 };
        let looks = (0..=SECONDS).map(|second| (Nanos::from_secs(second), level(second)));
        scene.points(redis, BEHIND, "", SeriesKind::Gauge, looks.collect());
        scene
    }

    #[test]
    fn commands_of_requests_that_share_a_connection_with_a_blocking_one_are_found() {
        let finding = quotes(0.2, 0.8, 16).found("blocking_pop").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Likely, "blpop"));
        let says = "in 52 % of the looks at Redis, commands wait on a connection that BLPOP blocks, which is called 0.20 times \
                    per response";
        assert_eq!(finding.statement, says);
    }

    #[test]
    fn connections_that_only_block_are_healthy() {
        assert_eq!(quotes(0.2, 0.8, 0).found("blocking_pop"), None);
    }

    #[test]
    fn a_few_looks_and_a_few_blocking_commands_say_nothing() {
        assert_eq!(quotes(0.2, 0.8, 2).found("blocking_pop"), None, "two looks");
        assert_eq!(quotes(0.2, 0.8, 3).found("blocking_pop"), None, "three of 31 looks");
        assert!(quotes(0.2, 0.8, 4).found("blocking_pop").is_some());
        assert_eq!(quotes(0.005, 0.8, 16).found("blocking_pop"), None, "a job beside the requests");
    }

    #[test]
    fn a_consumer_that_sends_one_blocking_command_behind_another_delays_no_others() {
        assert_eq!(quotes(0.2, 0.3, 16).found("blocking_pop"), None);
    }

    #[test]
    fn a_server_whose_connections_are_not_known_is_no_healthy_one() {
        let lacks =
            "the connections of Redis: more than 200, a user who must not list them, or an old record";
        let mut old = Scene::steady();
        old.redis();
        assert_eq!(old.lacks("blocking_pop").unwrap(), lacks);
        let mut denied = quotes(0.2, 0.8, 0);
        denied.observations.sources[0].without = vec!["CLIENT LIST: NOPERM".to_owned()];
        assert_eq!(denied.lacks("blocking_pop").unwrap(), lacks);
    }
}
