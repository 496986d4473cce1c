//! Requests that wait for one of few connections to SQLite, although their statements could run at the same time.
//!
//! Needs the service to count this with `knee-sqlite`. Sees a connection as used while it runs a statement: if it is
//! held for other work between two statements, the waits are longer than this knows.

use super::call_places::has_users;
use crate::bound;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::parts::breakdown;
use crate::sqlite::{self, Page, SOURCE, Used};

pub(super) const RULE: Rule = Rule {
    code: "sqlite_pool",
    finds: "requests that wait for one of few connections to SQLite",
    needs: "a page of metrics with those of the library `knee-sqlite`, of a version that counts by connection",
    limits: "all connections that have 1 % of the statements or of their time run one at the same time for 10 % of the time at least, by their times alone; 1.5 times as many requests are in progress; the wait for them, as calculated with statements of one text that take equally long, is 30 % of the time per response that nothing observed explains. All three, or nothing. Nothing if that time is less than 30 % of the response time; if transactions hold the write lock for more than 20 % of the time of the statements; if the users of a scenario are as many; or if the CPUs, or those that an observed process can use, are busy to more than 70 %",
    source: "k connections that run statements for b seconds per second together all do for b - (k - 1) of the time at least. Of arrivals that do not know of each other, as many find all of them taken as is that share (PASTA): at 10 %, every tenth request waits, and a pool that could open another connection would have used it. The mean wait is that of Pollaczek and Khinchine, second moment of the times per second / 2 / (1 - utilization), with k connections as one that is k times as fast; times that vary within a text, and statements of a request that keep the connection, make it longer. SQLite has one writer, so one connection for writes is right.",
    cause: "All requests share one connection behind a lock, or the pool has very few, and a long statement, an export or a report, has it while short reads wait. A connection is also taken while a row of a query that is not finished is sent elsewhere.",
    remedy: "Open a pool of connections for reads, with journal_mode=WAL and one connection for all writes. Read the rows first and finish the query, then call other services.",
    explains: &["fixed_places", "two_populations"],
    check,
};

/// Share of the statements or of their time from which on a connection is one of the pool.
const PART: f64 = 0.01;
/// Share of the time in which all are taken.
const TAKEN: f64 = 0.1;
/// Requests in progress per connection.
const IN_PROGRESS: f64 = 1.5;
/// Calculated wait, as a share of the time that nothing observed explains.
const EXPLAINED: f64 = 0.3;
/// That time as a share of the response time.
const OF_RESPONSE: f64 = 0.3;
/// Time of the write lock per time of statements.
const WRITES: f64 = 0.2;
/// Share of the CPUs.
const BUSY: f64 = 0.7;
/// A connection that is always taken counts as free for so much of the time, so that the wait is finite.
const FREE_MIN: f64 = 0.01;

fn check(evidence: &Evidence<'_>) -> Checked {
    let pages = sqlite::pages(evidence)?;
    let counted: Vec<_> =
        pages.iter().filter_map(|page| Some((page, Pool::of(&page.used(evidence)?)))).collect();
    if counted.is_empty() {
        return Err(Lack::of("the statements by connection on the page of knee-sqlite"));
    }
    Ok(counted.into_iter().filter_map(|(page, pool)| queued(evidence, page, pool?)).collect())
}

/// The connections that the requests use.
#[derive(Clone, Copy, Debug)]
struct Pool {
    /// How many.
    size: f64,
    /// Statements per response.
    per_request: f64,
    /// How many run one, on average.
    busy: f64,
}

impl Pool {
    fn of(used: &[Used]) -> Option<Self> {
        let sum = |figure: fn(&Used) -> f64| used.iter().map(figure).sum::<f64>();
        let (per_request, busy) = (sum(|one| one.per_request), sum(|one| one.busy));
        let is_part = |one: &&Used| one.per_request >= PART * per_request || one.busy >= PART * busy;
        let size = used.iter().filter(is_part).count() as f64;
        (size >= 1.0).then_some(Self { size, per_request, busy })
    }

    /// The share of the time in which all of them run one, at least.
    fn taken(&self) -> f64 {
        (self.busy - (self.size - 1.0)).clamp(0.0, 1.0)
    }

    /// The mean wait per response for one of them, in seconds.
    fn wait(&self, evidence: &Evidence<'_>, page: &Page<'_>, throughput: f64) -> f64 {
        let calls = page.heavy(evidence);
        let squares = calls.iter().filter(|call| call.per_request > 0.0).map(|call| {
            let each = call.seconds_per_request / call.per_request / self.size;
            call.per_request * throughput * each * each
        });
        let free = (1.0 - self.busy / self.size).max(FREE_MIN);
        squares.sum::<f64>() / (2.0 * free) * self.per_request.min(1.0)
    }
}

fn queued(evidence: &Evidence<'_>, page: &Page<'_>, pool: Pool) -> Option<Draft> {
    let response = evidence.response_mean()?;
    let throughput = evidence.throughput().filter(|rate| *rate > 0.0)?;
    let writes = page.per_second("write_seconds_total").unwrap_or(0.0);
    let is_full = bound::cpus_busy(evidence).is_some_and(|busy| busy > BUSY);
    let is_by_users = evidence.run.head.plan.scenarios.iter().any(|scenario| has_users(scenario, pool.size));
    let known = breakdown(evidence).map_or(response, |breakdown| breakdown.unobserved_s);
    let unexplained = known - pool.busy / throughput;
    if writes > WRITES * pool.busy || is_full || is_by_users || unexplained < OF_RESPONSE * response {
        return None;
    }
    let wait = pool.wait(evidence, page, throughput);
    let signals = vec![
        Signal::at_least(
            format!("share of the time in which all of {} run statements, at least", counted(pool.size)),
            Unit::Share,
            Some(pool.taken()),
            TAKEN,
            SOURCE,
        )?,
        Signal::at_least(
            "requests in progress per connection",
            Unit::Count,
            Some(response * throughput / pool.size),
            IN_PROGRESS,
            "the run: Little's law",
        )?,
        Signal::at_least(
            "wait for a connection by the times of the statements, of the time that nothing observed explains",
            Unit::Share,
            Some(wait / unexplained),
            EXPLAINED,
            "the service: knee-sqlite; the run: response time",
        )?,
    ];
    Some(Draft {
        subject: Subject::of(SubjectKind::Resource, "connections to SQLite", Some(page.name())),
        statement: format!(
            "requests share {} to SQLite, which run statements for {} of the time, while {} requests are in progress: \
             they wait for about {} per response",
            counted(pool.size),
            percent((pool.busy / pool.size).min(1.0)),
            number(response * throughput),
            seconds(wait.min(unexplained))
        ),
        signals,
        remedy: Remedy::advice(
            "open a pool of connections for reads beside one for writes, with journal_mode=WAL, and finish a query before \
             other services are called",
        ),
        gain: Gain::saves(
            Some(response),
            Some(wait.min(unexplained)),
            "the wait for a connection, by the times of the statements",
        ),
    })
}

/// "1 connection", "2 connections".
fn counted(connections: f64) -> String {
    if connections < 1.5 { "1 connection".to_owned() } else { format!("{} connections", number(connections)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Confidence;
    use crate::testing::{Dice, RATE, Scene};

    const EXPORT: &str = "SELECT text FROM places ORDER BY number LIMIT ?";

    /// 1,000 requests per second of 5 ms, of which one in 200 has an export of this time; so many connections share it.
    fn exports(time: f64, connections: u32) -> Scene {
        let mut scene = Scene::steady();
        let page = scene.sqlite_page();
        scene.counter(page, "prometheus.knee_sqlite_write_seconds_total", "", 0.001);
        scene.sqlite_statement(page, EXPORT, 0.005, time, 0.0);
        // All statements of the page: a lookup per request, and the exports.
        let share = 1.0 / f64::from(connections);
        let each = (0.005 * time + 0.000_02) / 1.005;
        for number in 1..=connections.max(2) {
            let calls = if number <= connections { 1.005 * share } else { 0.0 };
            scene.sqlite_connection(page, &number.to_string(), calls, each);
        }
        scene
    }

    #[test]
    fn a_user_learns_that_an_export_holds_the_only_connection_of_all_reads() {
        let finding = exports(0.06, 1).found("sqlite_pool").unwrap();
        assert_eq!(finding.confidence, Confidence::Strong);
        let says =
            "requests share 1 connection to SQLite, which run statements for 32 % of the time, while 5.0";
        assert!(finding.statement.starts_with(says), "{}", finding.statement);
        assert!((0.5..1.0).contains(&finding.gain.unwrap().share()));
    }

    #[test]
    fn thirty_connections_and_two_that_are_seldom_taken_both_are_healthy() {
        for connections in [2, 3, 30] {
            assert_eq!(exports(0.06, connections).found("sqlite_pool"), None, "{connections}");
        }
        assert_eq!(exports(0.01, 1).found("sqlite_pool"), None, "taken for 7 % of the time");
        let finding = exports(0.36, 2).found("sqlite_pool").unwrap();
        assert!(
            finding.statement.contains("share 2 connections"),
            "both taken for 82 % at least: {}",
            finding.statement
        );
    }

    #[test]
    fn one_connection_for_writes_is_healthy() {
        let mut scene = exports(0.06, 1);
        scene.counter(0, "prometheus.knee_sqlite_write_seconds_total", "", 0.2);
        assert_eq!(scene.found("sqlite_pool"), None);
    }

    #[test]
    fn requests_that_wait_for_something_else_or_hardly_wait_are_healthy() {
        let mut quick = exports(0.06, 1);
        quick.sqlite_statement(0, EXPORT, 1.0, 0.000_3, 0.0);
        assert_eq!(quick.found("sqlite_pool"), None, "short statements explain 0.06 ms of 5");
        let mut observed = exports(0.06, 1);
        let redis = observed.redis();
        observed.counter(redis, "redis.command.time", "get", 4.0);
        assert_eq!(observed.found("sqlite_pool"), None, "their time is that of commands");
        let mut busy = exports(0.06, 1);
        let host = busy.host(4.0);
        busy.busy_host(host, 0.95);
        assert_eq!(busy.found("sqlite_pool"), None, "the CPUs are busy");
        let users = knee_core::schedule::Curve::constant(1.0);
        let mut alone = Scene::sized(30, |_| RATE, users, |_, _, _| {});
        alone.observations = exports(0.06, 1).observations;
        assert_eq!(alone.found("sqlite_pool"), None, "one user makes one request at a time");
    }

    #[test]
    fn a_page_of_an_earlier_version_is_lacking_the_connections() {
        let mut scene = exports(0.06, 1);
        scene.observations.series.retain(|series| !series.name.contains("connection_"));
        assert!(scene.lacks("sqlite_pool").unwrap().contains("by connection"));
    }

    /// 100 requests per second for one connection: 95 % of them read for 0.1 ms, the others export for 60 ms. Their times,
    /// and the share of the time in which the connection is taken.
    fn waits(seed: u64) -> (Vec<f64>, f64) {
        let mut dice = Dice(seed);
        let (mut now, mut free, mut busy, mut times) = (0.0_f64, 0.0_f64, 0.0, Vec::new());
        while now < 30.0 {
            now += dice.exponential(0.01);
            let takes = if dice.share() < 0.05 { 0.06 } else { 0.000_1 };
            let begin = free.max(now);
            free = begin + takes;
            busy += takes;
            times.push(free - now + 0.001);
        }
        (times, busy / 30.0)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        /// What the rule calculates is about what requests of a simulated queue wait, and they are found.
        #[test]
        fn a_simulated_queue_is_found_with_the_wait_that_it_has(seed in any::<u64>()) {
            let (times, busy) = waits(seed);
            // By chance, some runs have too few exports for a queue.
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            prop_assume!(mean * times.len() as f64 / 30.0 > 1.6);
            let exports = busy / 0.06;
            let mut each = times.iter().copied().cycle();
            let users = knee_core::schedule::Curve::constant(64.0);
            let rate = times.len() as u64 / 30;
            let mut scene = Scene::sized(30, |_| rate, users, |sample, _, _| {
                sample.wait = each.next().unwrap_or(0.0);
            });
            let page = scene.sqlite_page();
            scene.counter(page, "prometheus.knee_sqlite_write_seconds_total", "", 0.0);
            let per_second = 1.0 / RATE as f64;
            scene.sqlite_statement(page, EXPORT, exports * per_second, 0.06, 0.0);
            let calls = rate as f64 * per_second;
            scene.sqlite_connection(page, "1", calls, busy / rate as f64);
            scene.sqlite_connection(page, "2", 0.0, 0.0);
            let finding = scene.found("sqlite_pool");
            prop_assert!(finding.is_some(), "{mean}");
            let saved = finding.and_then(|finding| finding.gain).map_or(0.0, |gain| gain.share());
            prop_assert!(saved > 0.25 && saved <= 1.0, "{saved}");
        }

        /// Whatever is counted, a finding has a gain that is a share, and a connection that is taken.
        #[test]
        fn a_finding_has_connections_that_are_taken(time in 0.0f64..0.5, connections in 1u32..6) {
            if let Some(finding) = exports(time, connections).found("sqlite_pool") {
                prop_assert!(5.0 * time + 0.03 >= TAKEN + f64::from(connections - 1));
                prop_assert!((0.0..=1.0).contains(&finding.gain.unwrap().share()));
            }
        }
    }
}
