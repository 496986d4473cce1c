//! Clients that wait at a PgBouncer for a server connection, while PostgreSQL could serve more of them.
//!
//! Needs a PgBouncer, whose console says how many clients wait. A full database makes the same queue: where queries
//! take longer with it, or where nothing is known of the database, there is a hint. Does not say why server
//! connections are busy: long statements and transactions that wait for something else have rules of their own.

use knee_core::observation::SourceKind;

use crate::bound;
use crate::database_cpu;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "pooler_queue",
    finds: "clients that wait at PgBouncer for a server connection",
    needs: "a PgBouncer, with 8 readings of its pools",
    limits: "clients of a pool wait in half of the readings; in 90 % of these, no server connection of the pool is free, and as many as its size allows are busy; clients wait for 10 % of the mean response time, by the statistics of the pooler; PostgreSQL has 90 % of its connections in use at most, and the CPUs, or those that an observed process can use, are busy to 70 % at most, as far as both are known. A hint if queries take 1.5 times as long while clients wait as while none do; or if that is not known, and neither are the CPUs of PostgreSQL: it is not seen on the observed machine, and more than 0.7 of its backends compute at a time, or an unknown number",
    source: "PgBouncer gives a free server connection to the client that waits longest, so clients wait only while none is free (PgBouncer documentation, pool_size and SHOW POOLS). Below 10 %, another part of the response is the larger one. A database that is full makes the same queue, but its queries take longer with it; 0.7 backends that compute leave room on one CPU.",
    cause: "default_pool_size is 20 if it is not set, for each pair of a database and a user. A transaction holds its server connection also while the service does something else, and in the pool mode `session` the whole session does.",
    remedy: "Shorten the transactions, and use the pool mode `transaction` if the service allows it. Then raise default_pool_size, or pool_size of this database, up to about twice the CPUs of PostgreSQL; max_connections must have room for all pools together.",
    explains: &["fixed_places", "pool_exhausted"],
    check,
};

const READINGS_MIN: usize = 8;
/// Share of the readings in which clients wait.
const OFTEN: f64 = 0.5;
/// Of these, share in which all server connections are busy.
const FULL: f64 = 0.9;
/// Share of the mean response time.
const WAIT: f64 = 0.1;
/// Share of the connections of PostgreSQL that are in use, and of the CPUs that are busy.
const CONNECTIONS: f64 = 0.9;
const BUSY: f64 = 0.7;
/// Times that a query takes as long while clients wait as while none do, and the fewest queries of both.
const SLOWED: f64 = 1.5;
const QUERIES_MIN: f64 = 100.0;

/// The queue of one pool over all readings.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Share of the readings in which clients wait.
    often: f64,
    /// Of these, share in which all server connections are busy.
    full: f64,
    /// Clients that wait, on average.
    clients: f64,
    /// Server connections of the pool.
    size: f64,
}

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut was_read = false;
    let mut drafts = Vec::new();
    for pooler in evidence.needed(SourceKind::PgBouncer)? {
        for pool in pools(&pooler) {
            let Some(queue) = queue(&pooler, pool) else { continue };
            was_read = true;
            drafts.extend(queued(evidence, &pooler, pool, queue));
        }
    }
    let lack = || Lack::of(format!("{READINGS_MIN} readings of the pools of a PgBouncer"));
    was_read.then_some(drafts).ok_or_else(lack)
}

/// The names of all pools: `DATABASE/USER`.
fn pools<'a>(pooler: &Watched<'a>) -> Vec<&'a str> {
    let clients = pooler.means("pgbouncer.clients").into_iter();
    clients.filter_map(|(label, _)| label.strip_suffix(" waiting")).collect()
}

/// The queue of a pool; `None` with too few readings.
fn queue(pooler: &Watched<'_>, pool: &str) -> Option<Queue> {
    let waiting = pooler.levels("pgbouncer.clients", &format!("{pool} waiting"));
    let servers = |state: &str| pooler.levels("pgbouncer.servers", &format!("{pool} {state}"));
    let (active, idle, used) = (servers("active"), servers("idle"), servers("used"));
    if waiting.len() < READINGS_MIN || active.len() != waiting.len() {
        return None;
    }
    let most = active.iter().copied().fold(0.0, f64::max);
    let size = allowed(pooler, pool).unwrap_or(most);
    let at = |levels: &[f64], place: usize| levels.get(place).copied().unwrap_or(0.0);
    let is_full =
        |place: usize| at(&active, place) >= size.max(1.0) && at(&idle, place) + at(&used, place) < 1.0;
    let places: Vec<usize> = (0..waiting.len()).filter(|place| at(&waiting, *place) >= 1.0).collect();
    let full = places.iter().filter(|place| is_full(**place)).count();
    Some(Queue {
        often: places.len() as f64 / waiting.len() as f64,
        full: full as f64 / places.len().max(1) as f64,
        clients: waiting.iter().sum::<f64>() / waiting.len() as f64,
        size,
    })
}

/// Whether a pool is one of this database.
fn is_of(database: &str, pool: &str) -> bool {
    pool.strip_prefix(database).is_some_and(|user| user.starts_with('/'))
}

/// The server connections that a pool can have.
fn allowed(pooler: &Watched<'_>, pool: &str) -> Option<f64> {
    let sizes = pooler.means("pgbouncer.pool_size");
    let (database, _) = sizes.iter().find(|(database, _)| is_of(database, pool))?;
    pooler.most("pgbouncer.pool_size", database).filter(|allowed| *allowed > 0.0)
}

/// How long clients of a pool's database wait per response, in seconds.
fn wait_per_response(evidence: &Evidence<'_>, pooler: &Watched<'_>, pool: &str) -> Option<f64> {
    let waits = pooler.rises("pgbouncer.wait_time");
    let (_, wait) = waits.iter().find(|(database, _)| is_of(database, pool))?;
    evidence.per_request(*wait)
}

fn queued(evidence: &Evidence<'_>, pooler: &Watched<'_>, pool: &str, queue: Queue) -> Option<Draft> {
    let mean = evidence.response_mean()?;
    let wait = wait_per_response(evidence, pooler, pool);
    let share = wait.map(|wait| wait / mean);
    let (cpus, connections) = (bound::cpus_busy(evidence), connections_used(evidence));
    let is_queue = queue.often >= OFTEN && queue.full >= FULL && !Signal::falls_short(share, WAIT);
    let has_room = cpus.is_none_or(|busy| busy <= BUSY) && connections.is_none_or(|used| used <= CONNECTIONS);
    if !is_queue || !has_room {
        return None;
    }
    let doubt = doubt(evidence, pooler, pool);
    let mut signals: Vec<Signal> = signals(queue, share, connections, cpus);
    if doubt.is_some() {
        // Of two causes, neither is likely.
        signals.truncate(1);
    }
    Some(Draft {
        subject: Subject::of(SubjectKind::Resource, format!("pool {pool}"), Some(&pooler.source.name)),
        statement: format!(
            "{} clients wait at a time for one of the {} server connections of the pool {pool}, which are all busy{}{}",
            number(queue.clients),
            number(queue.size),
            longest(pooler, pool).unwrap_or_default(),
            doubt.as_deref().unwrap_or_default(),
        ),
        signals,
        remedy: Remedy::advice(if doubt.is_some() {
            "look whether the database is full, and why its statements take long; only if it has room, raise \
             default_pool_size, or pool_size of this database, in PgBouncer"
        } else {
            "shorten the transactions; then raise default_pool_size, or pool_size of this database, in PgBouncer"
        }),
        gain: Gain::saves(
            Some(mean),
            wait,
            "the wait for a server connection, by the statistics of PgBouncer",
        ),
    })
}

/// What shows the queue: first that there is one.
fn signals(queue: Queue, share: Option<f64>, connections: Option<f64>, cpus: Option<f64>) -> Vec<Signal> {
    let signals = [
        Signal::at_least(
            "share of the readings in which clients wait while all server connections are busy",
            Unit::Share,
            Some(queue.often),
            OFTEN,
            "SHOW POOLS",
        ),
        Signal::at_least(
            "share of the response time that clients wait at the pooler",
            Unit::Share,
            share,
            WAIT,
            "SHOW STATS",
        ),
        Signal::at_most(
            "share of the connections of PostgreSQL that are in use",
            Unit::Share,
            connections,
            CONNECTIONS,
            "pg_stat_activity",
        ),
        Signal::at_most("share of the CPUs that is busy", Unit::Share, cpus, BUSY, "the machine"),
    ];
    signals.into_iter().flatten().collect()
}

/// What speaks against a pool that is too small: the database can be full.
fn doubt(evidence: &Evidence<'_>, pooler: &Watched<'_>, pool: &str) -> Option<String> {
    match slowed(evidence, pooler, pool) {
        Some(times) if times >= SLOWED => Some(format!(
            "; but queries take {} times as long while clients wait as while none do, so that the database can be full",
            number(times)
        )),
        Some(_) => None,
        None => (!database_cpu::is_known(evidence)).then(|| database_cpu::UNKNOWN.to_owned()),
    }
}

/// How many times as long a query of the pool's database takes while clients wait as while none do, by the statistics
/// between readings. `None` with too few queries of either kind.
fn slowed(evidence: &Evidence<'_>, pooler: &Watched<'_>, pool: &str) -> Option<f64> {
    let (from, to) = evidence.window();
    let waiting = pooler.series("pgbouncer.clients", &format!("{pool} waiting"))?;
    let times = pooler.rises("pgbouncer.query_time");
    let (database, _) = times.iter().find(|(database, _)| is_of(database, pool))?;
    // Queries and their time, of spans at both ends of which clients wait, and of those at which none do.
    let (mut queued, mut quiet) = ([0.0; 2], [0.0; 2]);
    for pair in waiting.points.windows(2).filter(|pair| pair[0].0 >= from && pair[1].0 <= to) {
        let rose = |name: &str| pooler.rose(name, database, pair[0].0, pair[1].0);
        let Some((queries, time)) = rose("pgbouncer.queries").zip(rose("pgbouncer.query_time")) else {
            continue;
        };
        let sums = match (pair[0].1 >= 1.0, pair[1].1 >= 1.0) {
            (true, true) => &mut queued,
            (false, false) => &mut quiet,
            _ => continue,
        };
        sums[0] += queries;
        sums[1] += time;
    }
    let is_enough = queued[0] >= QUERIES_MIN && quiet[0] >= QUERIES_MIN && quiet[1] > 0.0;
    is_enough.then(|| (queued[1] / queued[0]) / (quiet[1] / quiet[0]))
}

/// How long the first client of the queue waited at most.
fn longest(pooler: &Watched<'_>, pool: &str) -> Option<String> {
    let longest = pooler.most("pgbouncer.wait", pool).filter(|longest| *longest > 0.0)?;
    Some(format!("; the longest wait seen is {}", seconds(longest)))
}

/// The share of its connections that a PostgreSQL has in use at most; of several servers, the largest.
fn connections_used(evidence: &Evidence<'_>) -> Option<f64> {
    let servers = evidence.sources(SourceKind::Postgres).into_iter();
    let used = servers.filter_map(|server| {
        let max = server.most("connections.max", "").filter(|max| *max > 0.0)?;
        Some(server.most("connections.used", "")? / max)
    });
    used.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SeriesKind;
    use knee_core::schedule::Curve;
    use knee_core::unit::Nanos;

    use crate::Confidence;
    use crate::testing::{RATE, Scene};

    /// A pool of five server connections, so many of them busy; clients that wait, and for how long per request.
    fn pooled_during(mut scene: Scene, waiting: f64, active: f64, wait: f64) -> Scene {
        let host = scene.host(4.0);
        scene.counter(host, "host.program.cpu", "postgres", 0.5);
        let pooler = scene.pgbouncer();
        for (state, clients) in [("active", active), ("waiting", waiting)] {
            scene.gauge(pooler, "pgbouncer.clients", &format!("shop/reader {state}"), clients);
        }
        for (state, servers) in [("active", active), ("idle", 5.0 - active)] {
            scene.gauge(pooler, "pgbouncer.servers", &format!("shop/reader {state}"), servers);
        }
        scene.gauge(pooler, "pgbouncer.wait", "shop/reader", 0.012);
        scene.counter(pooler, "pgbouncer.wait_time", "shop", wait * RATE as f64);
        scene
    }

    fn pooled(waiting: f64, active: f64, wait: f64) -> Scene {
        pooled_during(Scene::steady(), waiting, active, wait)
    }

    #[test]
    fn clients_that_wait_for_busy_server_connections_are_found_with_their_number_and_the_longest_wait() {
        let finding = pooled(3.0, 5.0, 0.003).found("pooler_queue").unwrap();
        assert_eq!(finding.confidence, Confidence::Strong);
        assert_eq!(finding.subject.name, "pool shop/reader");
        let statement = "3 clients wait at a time for one of the 5 server connections of the pool shop/reader, which are \
                         all busy; the longest wait seen is 12.0 ms";
        assert_eq!(finding.statement, statement);
        assert!(finding.gain.unwrap().share() > 0.4);
    }

    #[test]
    fn a_pool_without_a_queue_with_free_connections_or_with_short_waits_is_healthy() {
        assert_eq!(pooled(0.0, 5.0, 0.0).found("pooler_queue"), None, "busy, and no client waits");
        assert_eq!(pooled(3.0, 3.0, 0.003).found("pooler_queue"), None, "connections that are being opened");
        assert_eq!(pooled(3.0, 5.0, 0.000_1).found("pooler_queue"), None, "short waits");
    }

    #[test]
    fn a_pool_before_a_server_that_is_full_is_not_too_small() {
        let mut busy = pooled(3.0, 5.0, 0.003);
        busy.busy_host(0, 0.95);
        assert_eq!(busy.found("pooler_queue"), None);
        let mut full = pooled(3.0, 5.0, 0.003);
        let server = full.postgres();
        full.gauge(server, "connections.max", "", 100.0);
        full.gauge(server, "connections.used", "", 40.0);
        assert!(full.found("pooler_queue").is_some());
        full.gauge(server, "connections.used", "", 98.0);
        assert_eq!(full.found("pooler_queue"), None);
    }

    /// The same pool of a database on another machine, without a queue in every third stretch of three readings. Its
    /// queries take so long while clients wait, and 2 ms while none do.
    fn elsewhere(queued: f64, is_steady: bool) -> Scene {
        let mut scene = pooled(3.0, 5.0, 0.003);
        scene.observations.series.retain(|series| series.name != "host.program.cpu");
        let is_quiet = move |second: u64| !is_steady && second % 9 < 3;
        let waiting = |second| (Nanos::from_secs(second), if is_quiet(second) { 0.0 } else { 3.0 });
        let levels = (0..=30).map(waiting).collect();
        scene.points(1, "pgbouncer.clients", "shop/reader waiting", SeriesKind::Gauge, levels);
        scene.counter(1, "pgbouncer.queries", "shop", RATE as f64);
        let time = |second| RATE as f64 * if is_quiet(second) { 0.002 } else { queued };
        scene.stepped(1, "pgbouncer.query_time", "shop", time);
        scene
    }

    #[test]
    fn a_queue_before_a_database_of_which_nothing_is_known_is_a_hint_that_says_so() {
        let finding = elsewhere(0.002, true).found("pooler_queue").unwrap();
        assert_eq!(finding.confidence, Confidence::Hint);
        assert!(
            finding.statement.ends_with("is not known, because its CPUs are not observed"),
            "{}",
            finding.statement
        );
        assert!(finding.remedy.to_string().starts_with("look whether the database is full"));
    }

    #[test]
    fn queries_that_take_longer_while_clients_wait_are_a_full_database_rather_than_a_small_pool() {
        let slowed = elsewhere(0.006, false).found("pooler_queue").unwrap();
        assert_eq!(slowed.confidence, Confidence::Hint);
        assert!(slowed.statement.contains("queries take 3 times as long while clients wait"), "{slowed:?}");
        let steady = elsewhere(0.002, false).found("pooler_queue").unwrap();
        assert_eq!(steady.confidence, Confidence::Strong);
    }

    #[test]
    fn a_database_elsewhere_whose_backends_seldom_compute_has_room() {
        let mut scene = elsewhere(0.002, true);
        let server = scene.postgres();
        scene.observations.sources[server].name = "postgres://10.0.0.7/shop".into();
        assert!(!scene.found("pooler_queue").unwrap().is_hint());
        scene.counter(server, "activity.wait", "CPU", 40.0);
        assert!(scene.found("pooler_queue").unwrap().is_hint());
    }

    #[test]
    fn a_pooler_without_statistics_of_waits_gives_no_more_than_its_pools_say() {
        let mut scene = pooled(3.0, 5.0, 0.003);
        scene.observations.series.retain(|series| series.name != "pgbouncer.wait_time");
        let finding = scene.found("pooler_queue").unwrap();
        assert_eq!((finding.confidence, finding.gain), (Confidence::Likely, None));
    }

    #[test]
    fn the_pool_that_postgres_sees_is_that_of_the_pooler() {
        let mut scene = pooled(3.0, 5.0, 0.003);
        scene.pool(2.0, 2.0);
        let codes: Vec<_> = scene.report().findings.iter().map(|finding| finding.code).collect();
        assert!(codes.contains(&"pooler_queue") && !codes.contains(&"pool_exhausted"), "{codes:?}");
        scene.observations.series.retain(|series| !series.name.starts_with("pgbouncer."));
        assert!(scene.found("pool_exhausted").is_some(), "without the pooler");
    }

    #[test]
    fn without_a_pooler_or_with_few_readings_it_says_what_is_missing() {
        let lacks = Scene::steady().lacks("pooler_queue").unwrap();
        assert_eq!(lacks, "a PgBouncer (`--observe pgbouncer://...`)");
        let short = Scene::sized(5, |_| RATE, Curve::constant(10.0), |_, _, _| {});
        let lacks = pooled_during(short, 3.0, 5.0, 0.003).lacks("pooler_queue").unwrap();
        assert_eq!(lacks, "8 readings of the pools of a PgBouncer");
    }
}
