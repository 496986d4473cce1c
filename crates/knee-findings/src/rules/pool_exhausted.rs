//! Requests that queue for a connection of the pool, while the database could do more.
//!
//! Needs samples of a PostgreSQL server's backends by application. A full server fills the pool as well: where
//! nothing is known of its CPUs, there is a hint.

use knee_core::observation::SourceKind;

use crate::bound;
use crate::database_cpu;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::rhythm::median;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "pool_exhausted",
    finds: "requests that wait for a connection of the service's pool",
    needs: "a PostgreSQL server, with 8 samples of its backends by application",
    limits: "all connections of an application, 2 at least if others have some, are busy in 90 % of the samples, and their number does not change; the youngest of their transactions is usually so short that they can serve a tenth of the responses; the load has 1.5 times as many requests in flight (nothing if it has no more than connections); the CPUs, or those that an observed process can use, are busy to 70 % at most. A hint if the CPUs of the server are not known: it is not seen on the observed machine, and more than 0.7 of its backends compute at a time",
    source: "Little's law: with all of c connections busy, requests beyond c only wait; and c connections whose transactions take t serve c / t of them per second. A session that was forgotten, a dump or a report has one transaction for the whole time. Statements of a full database are slow, and fill a pool that is large enough; 0.7 backends that compute leave room on one CPU.",
    cause: "The pool is smaller than the concurrency that the service needs, or a connection is held longer than its statements take.",
    remedy: "Hold a connection only while a statement runs; then enlarge the pool, up to about twice the CPUs of the database.",
    explains: &["fixed_places"],
    check,
};

/// A load of 10 s has nine or ten, one per second.
const SAMPLES_MIN: usize = 8;
const PINNED: f64 = 0.9;
const IN_FLIGHT: f64 = 1.5;
const BUSY: f64 = 0.7;
/// Connections of an application beside others: one alone is rather a session of an operator or a worker.
const SIZE_MIN: f64 = 2.0;
/// Responses per transaction of the pool, at most.
const RESPONSES: f64 = 10.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    of_each_pool(evidence, |server, application, all, busy| {
        exhausted(evidence, server, application, all, busy)
    })
}

/// What `find` finds in the samples of each application: its connections, and those of them that are busy.
pub(super) fn of_each_pool(
    evidence: &Evidence<'_>,
    find: impl Fn(&Watched<'_>, &str, &[f64], &[f64]) -> Option<Draft>,
) -> Checked {
    let servers = evidence.needed(SourceKind::Postgres)?;
    let mut sampled = false;
    let mut drafts = Vec::new();
    for server in servers {
        for (application, _) in server.means("activity.backends") {
            let (all, busy) = (
                server.levels("activity.backends", application),
                server.levels("activity.backends.busy", application),
            );
            if all.len() < SAMPLES_MIN || busy.len() != all.len() {
                continue;
            }
            sampled = true;
            drafts.extend(find(&server, application, &all, &busy));
        }
    }
    let lack = || Lack::of(format!("{SAMPLES_MIN} samples of the backends by application"));
    sampled.then_some(drafts).ok_or_else(lack)
}

fn exhausted(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    application: &str,
    all: &[f64],
    busy: &[f64],
) -> Option<Draft> {
    let size = all.iter().copied().fold(0.0, f64::max);
    let is_full = |(backends, busy): &(&f64, &f64)| **backends >= size && **busy >= size;
    let full = all.iter().zip(busy).filter(is_full).count() as f64 / all.len() as f64;
    let cpus = bound::cpus_busy(evidence);
    if size < 1.0 || full < PINNED || cpus.is_some_and(|busy| busy > BUSY) {
        return None;
    }
    let (mean, throughput) = (evidence.response_mean()?, evidence.throughput()?);
    if !serves(server, application, size, throughput) {
        return None;
    }
    let in_flight = mean * throughput;
    // With a connection for each, none of them waits.
    if in_flight <= size {
        return None;
    }
    let is_known = database_cpu::is_known(evidence);
    let signals = [
        Signal::at_least(
            format!("share of samples with all {} connections busy", number(size)),
            Unit::Share,
            Some(full),
            PINNED,
            "pg_stat_activity",
        ),
        Signal::at_least(
            "requests in flight per connection",
            Unit::Count,
            Some(in_flight / size),
            IN_FLIGHT,
            "the run: Little's law",
        ),
        Signal::at_most("share of the CPUs that is busy", Unit::Share, cpus, BUSY, "the machine"),
    ];
    let waiting = (in_flight - size) / throughput;
    Some(Draft {
        subject: Subject::of(
            SubjectKind::Resource,
            format!("pool of {application}"),
            Some(&server.source.name),
        ),
        statement: format!(
            "all {} connections of {application} are busy in {} of the samples while {} requests are in flight{}",
            number(size),
            percent(full),
            number(in_flight),
            if is_known { "" } else { database_cpu::UNKNOWN }
        ),
        // Of two causes, neither is likely.
        signals: signals.into_iter().flatten().take(if is_known { usize::MAX } else { 1 }).collect(),
        remedy: Remedy::advice(
            "hold a connection only while a statement runs; then enlarge the pool of the service",
        ),
        gain: Gain::saves(Some(mean), Some(waiting), "the wait for a connection, by Little's law"),
    })
}

/// Whether so many connections can be those that serve the load: their transactions are short enough for it. Of
/// several connections, the youngest transaction tells, because some of a pool can have been lost. Observations of
/// earlier versions do not have it.
fn serves(server: &Watched<'_>, application: &str, size: f64, throughput: f64) -> bool {
    let applications = server.means("activity.backends");
    let alone = applications.iter().all(|(name, mean)| *name == application || *mean <= 0.0);
    let youngest = median(&server.levels("activity.transaction_age.youngest", application));
    let is_short = youngest.is_none_or(|age| age <= RESPONSES * size / throughput);
    is_short && (alone || size >= SIZE_MIN)
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SeriesKind;
    use knee_core::schedule::Curve;
    use knee_core::unit::Nanos;

    use crate::Confidence;
    use crate::testing::{RATE, Scene};

    /// Two connections for 1,000 requests/s of 5 ms: five are in flight.
    fn pool(size: f64, busy: f64) -> Scene {
        pool_during(Scene::steady(), size, busy)
    }

    fn pool_during(mut scene: Scene, size: f64, busy: f64) -> Scene {
        let host = scene.host(4.0);
        scene.busy_host(host, 0.4);
        scene.pool(size, busy);
        scene
    }

    #[test]
    fn two_busy_connections_for_five_requests_in_flight_are_too_few() {
        let finding = pool(2.0, 2.0).found("pool_exhausted").unwrap();
        assert_eq!(finding.confidence, Confidence::Strong);
        assert!(finding.gain.unwrap().share() > 0.5);
    }

    #[test]
    fn eight_busy_connections_for_five_requests_in_flight_are_enough() {
        assert_eq!(pool(8.0, 8.0).found("pool_exhausted"), None);
    }

    #[test]
    fn a_load_of_ten_seconds_with_a_sample_that_came_late_is_long_enough() {
        let of = |seconds| {
            let load = Scene::sized(seconds, |_| RATE, Curve::constant(10.0), |_, _, _| {});
            pool_during(load, 2.0, 2.0)
        };
        assert!(of(8).found("pool_exhausted").is_some());
        assert_eq!(of(5).lacks("pool_exhausted").unwrap(), "8 samples of the backends by application");
    }

    /// Another application with so many connections, whose transactions began before the run.
    fn beside(size: f64) -> Scene {
        let mut scene = pool(10.0, 2.0);
        let server = scene.observations.sources.len() - 1;
        scene.gauge(server, "activity.backends", "psql", size);
        scene.gauge(server, "activity.backends.busy", "psql", size);
        scene
    }

    fn aged(mut scene: Scene, application: &str, age: impl Fn(u64) -> f64) -> Scene {
        let server = scene.observations.sources.len() - 1;
        let ages = (0..=30).map(|second| (Nanos::from_secs(second), age(second))).collect();
        scene.points(server, "activity.transaction_age.youngest", application, SeriesKind::Gauge, ages);
        scene
    }

    #[test]
    fn a_forgotten_session_with_an_open_transaction_is_no_pool() {
        let old = |second: u64| 600.0 + second as f64;
        assert_eq!(beside(1.0).found("pool_exhausted"), None);
        assert_eq!(aged(beside(1.0), "psql", old).found("pool_exhausted"), None);
    }

    #[test]
    fn a_dump_on_several_connections_and_workers_with_long_statements_are_no_pool() {
        let dump = |second: u64| 1.0 + second as f64;
        assert_eq!(aged(beside(2.0), "psql", dump).found("pool_exhausted"), None);
        let reports = |second: u64| (second % 5) as f64;
        assert_eq!(aged(beside(3.0), "psql", reports).found("pool_exhausted"), None);
    }

    #[test]
    fn a_full_pool_of_short_transactions_is_found() {
        let short = aged(pool(2.0, 2.0), "shop", |second| 0.000_5 * (second % 4) as f64);
        assert_eq!(short.found("pool_exhausted").unwrap().confidence, Confidence::Strong);
    }

    #[test]
    fn one_connection_for_the_whole_service_is_a_pool_if_there_is_no_other_one() {
        let one = aged(pool(1.0, 1.0), "shop", |_| 0.000_5);
        assert!(one.found("pool_exhausted").is_some());
    }

    #[test]
    fn a_full_pool_before_a_busy_database_on_another_machine_is_a_hint_that_says_what_is_unknown() {
        let mut scene = pool(2.0, 2.0);
        let server = scene.observations.sources.len() - 1;
        scene.counter(server, "activity.wait", "CPU", 20.0);
        assert!(!scene.found("pool_exhausted").unwrap().is_hint(), "on this machine");
        scene.observations.sources[server].name = "postgres://10.0.0.7/shop".into();
        let finding = scene.found("pool_exhausted").unwrap();
        assert!(finding.is_hint() && finding.statement.ends_with("because its CPUs are not observed"));
        scene.counter(server, "activity.wait", "CPU", 4.0);
        assert!(!scene.found("pool_exhausted").unwrap().is_hint(), "it seldom computes");
    }

    #[test]
    fn a_pool_with_room_is_healthy_and_so_is_one_before_a_database_that_is_busy() {
        assert_eq!(pool(10.0, 2.0).found("pool_exhausted"), None);
        let mut busy = pool(2.0, 2.0);
        busy.busy_host(0, 0.95);
        assert_eq!(busy.found("pool_exhausted"), None);
    }
}
