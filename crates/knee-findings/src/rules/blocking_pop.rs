//! Commands that wait behind a blocking one on the same connection to Redis.
//!
//! Needs a Redis or Valkey server whose list of connections can be read. Does not know whose connections they are: a
//! consumer that sends one blocking command behind another looks the same, so other commands must be frequent. What the
//! system of the service holds back (Nagle's algorithm) is seen at an observed process of it alone.

use knee_core::observation::SourceKind;

use crate::calls;
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
    needs: "a Redis or Valkey server with 200 connections at most, whose user can list them; for a client with Nagle's algorithm also an observed process of the service (Linux)",
    limits: "in 10 % of the looks, with a certainty of 99 % (Wilson), in 5 looks and between 3 readings at least, a connection waits in a blocking command and has sent more, as the server or the service shows. At the service, the system holds back bytes to the port of the server for longer than a tick of its clock (4 ms at least) and than the shortest answer; then in as many looks at the server a connection waits in a blocking command that sends others as well, and these take at most half of that share of the time. The command is called once per 100 responses, and all other commands twice as often as blocking ones. Both, or nothing",
    source: "The observers look ten times per second, at uneven intervals: of 100 looks, 17 show more than 10 % with that certainty, and at 10 %, a tenth of a request waits in vain at any time (Little's law). Redis reads what a blocked client sends, and executes nothing of it until the client is unblocked (BLPOP; CLIENT LIST has the bytes as qbuf). A connection that is used for blocking commands alone sends nothing meanwhile. Without TCP_NODELAY, the system of the client sends a short command only when the one before is acknowledged (RFC 896), and a server that has no answer yet acknowledges after 40 ms (delayed ACK, RFC 1122), so that Redis sees nothing that waits.",
    cause: "A client library sends the commands of all requests over one connection (multiplexing), and one of them blocks: BLPOP, BRPOP, BLMOVE, XREAD BLOCK, WAIT.",
    remedy: "Give blocking commands connections of their own, from a small pool; or ask without blocking, or subscribe.",
    explains: &["two_populations"],
    check,
};

/// Looks at the connections, and those of them at which others waited behind the command that is the label.
const SAMPLES: &str = "redis.clients.samples";
const BEHIND: &str = "redis.clients.samples.behind";
const OF_LOOKS: f64 = 0.1;
/// Looks at which a client waited in a blocking command that sends others as well.
const MIXED: &str = "redis.clients.samples.mixed";
/// Looks at the connections of a process, and those of them at which the system held back what it had to send.
const LOOKS: &str = "process.calls.looks";
const HELD: &str = "process.calls.held";
const USUAL_PORT: &str = "6379";
/// Time of the commands that do not block, as a share of that in which others are held back: these can be what holds
/// them back, too.
const WORKS: f64 = 0.5;
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

/// The blocking command behind which others wait, in which share of the looks, and what shows it.
struct Behind<'a> {
    command: &'a str,
    share: f64,
    looks_at: &'static str,
    source: &'static str,
}

/// As the server shows it: the bytes of the others have come.
fn at_server<'a>(redis: &Watched<'a>) -> Option<Behind<'a>> {
    let behind = redis.rises(BEHIND);
    let (command, _) = *behind.iter().find(|(command, _)| BLOCKING.contains(command))?;
    let share = share::of_looks(redis, SAMPLES, (BEHIND, command), OF_LOOKS)?;
    Some(Behind { command, share, looks_at: "Redis", source: "CLIENT LIST: qbuf of blocked clients" })
}

/// As the service shows it: its system holds back the bytes of the others. Connections to one server look alike there, so
/// the server must know a client that blocks and sends others, and no other command that can take so long.
fn at_service<'a>(evidence: &Evidence<'_>, redis: &Watched<'a>) -> Option<Behind<'a>> {
    let mixed = redis.rises(MIXED);
    let (command, _) = *mixed.iter().find(|(command, _)| BLOCKING.contains(command))?;
    share::of_looks(redis, SAMPLES, (MIXED, command), OF_LOOKS)?;
    let port = calls::port(&redis.source.name, USUAL_PORT);
    let mut most: Option<f64> = None;
    for process in evidence.sources(SourceKind::Process) {
        for (endpoint, _) in process.rises(HELD) {
            if calls::is_at(endpoint, &port) {
                let share = share::of_looks(&process, LOOKS, (HELD, endpoint), OF_LOOKS);
                most = [most, share].into_iter().flatten().reduce(f64::max);
            }
        }
    }
    let share = most?;
    let works = commands::rises(redis, "redis.command.time").into_iter();
    let works = works.filter(|(name, _)| !BLOCKING.contains(name)).filter_map(|(_, time)| time.per_second());
    let is_slow = works.sum::<f64>() > WORKS * share;
    let source = "sock_diag: bytes that are not sent";
    (!is_slow).then_some(Behind { command, share, looks_at: "the service", source })
}

fn held_up(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Draft> {
    let Behind { command, share, looks_at, source } =
        at_server(redis).or_else(|| at_service(evidence, redis))?;
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
        source,
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
            "in {} of the looks at {looks_at}, commands wait on a connection that {} blocks, which is called {} times per \
             response",
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
    use super::{BEHIND, HELD, LOOKS, MIXED, SAMPLES};
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

    /// A service whose system holds back what it sends behind BLPOP, in so many of ten looks per second, while Redis sees
    /// nothing that waits: a client waits in BLPOP at so many of its looks, which sends others as well.
    fn held_back(held: f64, mixed: f64) -> Scene {
        let mut scene = alone(0.167, 0.833);
        scene.counter(0, MIXED, "blpop", mixed);
        let process = scene.process("shop (pid 7)");
        scene.counter(process, LOOKS, "", 10.0);
        scene.counter(process, HELD, "127.0.0.1:6379", held);
        scene.counter(process, HELD, "127.0.0.1:5432", 0.0);
        scene
    }

    #[test]
    fn commands_that_the_system_of_the_service_holds_back_behind_a_blocking_one_are_found() {
        let finding = held_back(2.5, 4.6).found("blocking_pop").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Likely, "blpop"));
        assert!(finding.statement.contains("25 % of the looks at the service"), "{}", finding.statement);
    }

    #[test]
    fn a_worker_of_its_own_a_slow_command_and_another_server_are_no_blocking_command_on_a_shared_connection()
    {
        assert_eq!(held_back(2.5, 0.0).found("blocking_pop"), None, "it sends nothing else");
        assert_eq!(held_back(0.0, 4.6).found("blocking_pop"), None, "nothing waits, as with a pool");
        assert_eq!(held_back(1.0, 4.6).found("blocking_pop"), None, "10 % of the looks, as chance has it");
        let mut slow = held_back(2.5, 4.6);
        slow.counter(0, "redis.command.time", "keys", 0.2);
        assert_eq!(slow.found("blocking_pop"), None, "others wait behind KEYS");
        let mut elsewhere = held_back(0.0, 4.6);
        elsewhere.counter(1, HELD, "127.0.0.1:5432", 2.5);
        assert_eq!(elsewhere.found("blocking_pop"), None);
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
