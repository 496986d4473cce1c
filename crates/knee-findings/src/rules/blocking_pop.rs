//! Commands that wait behind a blocking one on the same connection to Redis.
//!
//! Needs a Redis or Valkey server whose list of connections can be read. Does not know whose connections they are: a
//! consumer that sends one blocking command behind another looks the same, so other commands must be frequent.

use knee_core::observation::SourceKind;

use crate::commands;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::share;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "blocking_pop",
    finds: "commands that wait behind a blocking one on the same connection to Redis",
    needs: "a Redis or Valkey server with 200 connections at most, whose user can list them",
    limits: "in 10 % of the looks, with a certainty of 99 % (Wilson), in 5 looks and between 3 readings at least, a connection waits in a blocking command and has sent more; this command is called once per 100 responses, and all other commands twice as often as blocking ones. Both, or nothing",
    source: "The observer looks ten times per second, at uneven intervals. Redis reads what a blocked client sends, and executes nothing of it until the client is unblocked (BLPOP; CLIENT LIST has the bytes as qbuf). A connection that is used for blocking commands alone sends nothing meanwhile.",
    cause: "A client library sends the commands of all requests over one connection (multiplexing), and one of them blocks: BLPOP, BRPOP, BLMOVE, XREAD BLOCK, WAIT.",
    remedy: "Give blocking commands connections of their own, from a small pool; or ask without blocking, or subscribe.",
    explains: &["two_populations"],
    check,
};

/// Looks at the connections, and those of them at which others waited behind the command that is the label.
const SAMPLES: &str = "redis.clients.samples";
const BEHIND: &str = "redis.clients.samples.behind";
const OF_LOOKS: f64 = 0.1;
/// Calls of the blocking command per response.
const CALLS: f64 = 0.01;
/// Other commands per blocking one.
const OTHERS: f64 = 2.0;

const BLOCKING: [&str; 12] = [
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
    "waitaof",
];

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Redis)?;
    let seen: Vec<_> = servers.iter().filter(|redis| is_seen(redis)).collect();
    if seen.is_empty() {
        return Err(Lack::of(
            "the connections of Redis: more than 200, a user who must not list them, or an old record",
        ));
    }
    Ok(seen.into_iter().filter_map(|redis| held_up(evidence, redis)).collect())
}

/// Whether its connections were looked at, and its user can list them.
fn is_seen(redis: &Watched<'_>) -> bool {
    let is_denied = redis.source.without.iter().any(|without| without.starts_with("CLIENT LIST: "));
    !is_denied && redis.rise(SAMPLES, "").is_some_and(|looks| looks.amount >= 1.0)
}

fn held_up(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Draft> {
    let behind = redis.rises(BEHIND);
    let (command, _) = *behind.iter().find(|(command, _)| BLOCKING.contains(command))?;
    let share = share::of_looks(redis, SAMPLES, (BEHIND, command), OF_LOOKS)?;
    let calls = commands::rises(redis, "redis.command.calls");
    let all: f64 = calls.iter().map(|(_, rise)| rise.amount).sum();
    let blocking = calls.iter().filter(|(name, _)| BLOCKING.contains(name));
    let blocking: f64 = blocking.map(|(_, rise)| rise.amount).sum();
    if all - blocking < OTHERS * blocking {
        return None;
    }
    let per_response = evidence.per_request(redis.rise("redis.command.calls", command)?)?;
    let waiting = Signal::at_least(
        "share of looks in which commands wait behind a blocking one",
        Unit::Share,
        Some(share),
        OF_LOOKS,
        "CLIENT LIST: qbuf of blocked clients",
    )?;
    let often = Signal::at_least(
        format!("calls of {command} per response"),
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
    use super::{BEHIND, SAMPLES};
    use crate::Confidence;
    use crate::testing::{RATE, Scene};

    /// So many calls of BLPOP and of GET per response; in so many of the ten looks of a second, commands wait behind
    /// BLPOP.
    fn quotes(pops: f64, gets: f64, behind: impl Fn(u64) -> f64) -> Scene {
        let mut scene = alone(pops, gets);
        scene.stepped(0, BEHIND, "blpop", behind);
        scene
    }

    /// The same, and no command waits.
    fn alone(pops: f64, gets: f64) -> Scene {
        let mut scene = Scene::steady();
        let redis = scene.redis();
        scene.counter(redis, "redis.command.calls", "blpop", pops * RATE as f64);
        scene.counter(redis, "redis.command.calls", "get", gets * RATE as f64);
        scene.counter(redis, SAMPLES, "", 10.0);
        scene
    }

    #[test]
    fn commands_of_requests_that_share_a_connection_with_a_blocking_one_are_found() {
        let finding = quotes(0.2, 0.8, |_| 5.0).found("blocking_pop").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Likely, "blpop"));
        let says = "in 50 % of the looks at Redis, commands wait on a connection that BLPOP blocks, which is called 0.20 times \
                    per response";
        assert_eq!(finding.statement, says);
    }

    #[test]
    fn a_worker_that_blocks_all_the_time_on_a_connection_of_its_own_is_healthy() {
        assert_eq!(alone(0.2, 0.8).found("blocking_pop"), None);
        assert_eq!(quotes(0.2, 0.8, |_| 0.0).found("blocking_pop"), None);
    }

    #[test]
    fn a_few_looks_and_a_few_blocking_commands_say_nothing() {
        let of = |behind: fn(u64) -> f64| quotes(0.2, 0.8, behind).found("blocking_pop");
        assert_eq!(of(|_| 1.0), None, "10 % of the looks, as chance has it");
        assert_eq!(of(|second| if second.is_multiple_of(5) { 2.0 } else { 1.0 }), None, "12 %");
        assert!(of(|second| if second.is_multiple_of(2) { 2.0 } else { 1.0 }).is_some(), "15 %");
        assert_eq!(of(|second| if second < 2 { 30.0 } else { 0.0 }), None, "one incident");
        assert!(of(|second| if second < 6 { 10.0 } else { 0.0 }).is_some());
        assert_eq!(quotes(0.005, 0.8, |_| 5.0).found("blocking_pop"), None, "a job beside the requests");
    }

    #[test]
    fn a_consumer_that_sends_one_blocking_command_behind_another_delays_no_others() {
        assert_eq!(quotes(0.2, 0.3, |_| 5.0).found("blocking_pop"), None);
        let mut seldom = quotes(0.2, 0.0, |_| 5.0);
        seldom.counter(0, "redis.command.calls", "client|list", RATE as f64);
        seldom.counter(0, "redis.command.calls", "info", RATE as f64);
        assert_eq!(seldom.found("blocking_pop"), None, "commands of the observer are no others");
    }

    #[test]
    fn a_client_that_another_command_blocks_is_none_of_a_blocking_one() {
        let mut scene = alone(0.2, 0.8);
        scene.counter(0, BEHIND, "get", 8.0);
        assert_eq!(scene.found("blocking_pop"), None, "as during CLIENT PAUSE");
    }

    #[test]
    fn a_server_whose_connections_are_not_known_is_no_healthy_one() {
        let lacks =
            "the connections of Redis: more than 200, a user who must not list them, or an old record";
        let mut old = Scene::steady();
        old.redis();
        assert_eq!(old.lacks("blocking_pop").unwrap(), lacks);
        let mut denied = alone(0.2, 0.8);
        denied.observations.sources[0].without = vec!["CLIENT LIST: NOPERM".to_owned()];
        assert_eq!(denied.lacks("blocking_pop").unwrap(), lacks);
        let mut crowded = alone(0.2, 0.8);
        crowded.counter(0, SAMPLES, "", 0.0);
        assert_eq!(crowded.lacks("blocking_pop").unwrap(), lacks);
    }
}
