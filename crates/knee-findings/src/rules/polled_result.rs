//! Requests that look for a result in a store at a fixed pace, and wait for the next look after it is there.
//!
//! Needs an observed process of the service, and a Redis or Valkey server or the statements of a PostgreSQL server. Does
//! not see when the result is there, and not who makes it. A result that is ready at the first look makes no pause, and
//! pauses shorter than 20 ms are left out.

use knee_core::observation::SourceKind;
use knee_core::outcome::Outcome;
use knee_core::unit::Nanos;

use crate::bound;
use crate::calls::{is_at, port};
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::histogram::count_within;
use crate::lack::Lack;
use crate::parts::breakdown;
use crate::query::{self, Query};
use crate::watched::Watched;

use super::cache_unanswered::FILLS;

pub(super) const RULE: Rule = Rule {
    code: "polled_result",
    finds: "requests that look for a result again and again at a fixed pace, which is longer than the result takes",
    needs: "a process of the service, and a Redis or Valkey server or a PostgreSQL server with pg_stat_statements",
    limits: "of the endpoint with most OK responses, 50 at least, 90 % take one pause or two to five of them, within 5 % of a pause below and 10 % above; a pause is the time that a tenth of them do not exceed, 20 ms at least, and not 38 to 46 ms, which is `delayed_ack`; and each response looks in vain 0.9 times at least. Looks are reads of Redis that find nothing, while each response also finds and writes something; or calls of a statement that only reads, without the rows that they return, which are one per response within 10 %. All of them, or nothing. Nothing if there are not as many looks in vain as pauses, within 10 %; if something that is observed, or calls to another service or to a store with their way, explains more than half of the response time; if the statements of an observed PostgreSQL server are unknown; or if the CPUs, or those that an observed process can use, are busy to more than 70 %",
    source: "Work varies, also that of another service; what is woken by a timer takes a whole number of its periods, whatever the load. As many looks in vain as periods say that the timer is that of the looks: a cache that misses once per response, before a service that pauses for another reason, agrees with one pause per response, but does not find what it has missed. A store that is far away also makes times that are alike, but its calls are open meanwhile, and a pause has none. Where Redis has commands that wait, such as BLPOP, that cannot be seen. A result that can be there at any moment waits for half a period, as a mean, until it is looked for.",
    cause: "A request gives its work to a job, a queue or another process, and asks a store for the result, with a sleep between two looks. The sleep is longer than the job.",
    remedy: "Let the end of the job wake the request: a channel in the process, BLPOP or a publish in Redis, NOTIFY in PostgreSQL. Or look again after a short pause first, and after longer ones later.",
    explains: &["two_populations"],
    check,
};

/// The share of the responses that are faster than those of which the pause is read.
const LOWEST: f64 = 0.1;
/// Pauses that a response can have.
const MULTIPLES: u64 = 5;
/// Parts of a pause by which times can be below and above a multiple of it.
const BELOW: u64 = 20;
const ABOVE: u64 = 10;
/// Share of the responses whose time is a multiple.
const SHARE: f64 = 0.9;
const RESPONSES_MIN: u64 = 50;
/// Seconds of a pause, and those of a delayed acknowledgement.
const PAUSE_MIN: f64 = 0.02;
const DELAYED_ACK: std::ops::Range<f64> = 0.038..0.046;
/// Looks per response that find nothing; and that find something, and values written.
const IN_VAIN: f64 = 0.9;
const ONCE: f64 = 0.9;
/// By which part the numbers of looks and pauses, and rows and responses, can differ.
const WITHIN: f64 = 0.1;
/// Share of the response time in which nothing observed works.
const IDLE: f64 = 0.5;
/// Share of the CPUs.
const BUSY: f64 = 0.7;
/// Kinds of stores, and their usual ports.
const STORES: [(SourceKind, &str); 3] =
    [(SourceKind::Redis, "6379"), (SourceKind::Postgres, "5432"), (SourceKind::PgBouncer, "6432")];
/// How the names of commands begin that wait for what happens next.
const BLOCKING: [&str; 4] = ["bl", "br", "bz", "xread"];

/// Response times that are multiples of one pause.
struct Pauses<'a> {
    endpoint: &'a str,
    /// Of one, in seconds.
    seconds: f64,
    /// Share of the responses that take a multiple of it.
    share: f64,
    /// How many these responses have, on average.
    each: f64,
}

/// How often something is looked for.
struct Looks {
    /// Looks per response that find nothing.
    in_vain: f64,
    /// The store.
    store: String,
    source: &'static str,
}

fn check(evidence: &Evidence<'_>) -> Checked {
    let processes = evidence.needed(SourceKind::Process)?;
    let caches = evidence.sources(SourceKind::Redis);
    let servers = query::servers(evidence).unwrap_or_default();
    if caches.is_empty() && servers.is_empty() {
        return Err(Lack::of("a Redis or Valkey server, or the statements of a PostgreSQL server"));
    }
    let Some((pauses, idle)) = pauses(evidence).zip(idle(evidence, &processes)) else {
        return Ok(Vec::new());
    };
    let in_servers = servers
        .iter()
        .flat_map(|(server, queries)| queries.iter().filter_map(move |query| in_postgres(server, query)));
    let mut looks = caches.iter().filter_map(|redis| in_redis(evidence, redis)).chain(in_servers);
    let draft = looks.find_map(|looks| polled(evidence, &pauses, &looks, idle));
    Ok(draft.into_iter().collect())
}

/// The pauses of the endpoint with most OK responses.
fn pauses<'a>(evidence: &Evidence<'a>) -> Option<Pauses<'a>> {
    let run = evidence.run;
    let endpoints = run.measured.endpoints.iter().enumerate();
    let times = endpoints.map(|(place, tally)| (place, &tally.outcomes[Outcome::Ok as usize].service));
    let (place, times) = times.max_by_key(|(_, times)| times.count())?;
    let pause = times.quantile(LOWEST).filter(|_| times.count() >= RESPONSES_MIN)?;
    let around = |multiple: u64| {
        let at = Nanos(pause.0.saturating_mul(multiple));
        let (from, to) = (at.since(Nanos(pause.0 / BELOW)), at.saturating_add(Nanos(pause.0 / ABOVE)));
        count_within(times, from, to) as f64
    };
    let counts: Vec<(f64, f64)> =
        (1..=MULTIPLES).map(|multiple| (multiple as f64, around(multiple))).collect();
    let all: f64 = counts.iter().map(|(_, count)| count).sum();
    let sum: f64 = counts.iter().map(|(multiple, count)| multiple * count).sum();
    Some(Pauses {
        endpoint: run.endpoints.get(place).map_or("", |endpoint| endpoint.name.as_str()),
        seconds: pause.as_secs_f64(),
        share: all / times.count() as f64,
        each: sum / all,
    })
}

/// The seconds per response in which nothing observed works and no call to a store is open, if they are most of its time.
fn idle(evidence: &Evidence<'_>, processes: &[Watched<'_>]) -> Option<f64> {
    let is_busy = bound::cpus_busy(evidence).is_some_and(|busy| busy > BUSY);
    let known = breakdown(evidence).filter(|known| known.unknown.is_empty() && !is_busy)?;
    let open: f64 = processes.iter().filter_map(|process| open_calls(evidence, process)).sum();
    let idle = known.unobserved_s - open;
    (idle >= IDLE * known.response_s).then_some(idle)
}

/// The seconds per response that calls of a process to observed stores are open, also while they are on their way. `None`
/// if its connections cannot be seen.
fn open_calls(evidence: &Evidence<'_>, process: &Watched<'_>) -> Option<f64> {
    let looks = process.per_second("process.calls.looks", "").filter(|looks| *looks > 0.0)?;
    let of_kind = |(kind, usual): (SourceKind, &str)| {
        let stores = evidence.sources(kind).into_iter().filter(|store| !waits_for_more(store));
        stores.map(|store| port(&store.source.name, usual)).collect::<Vec<String>>()
    };
    let ports: Vec<String> = STORES.into_iter().flat_map(of_kind).collect();
    let waiting = process.rises("process.calls.waiting").into_iter();
    let waiting = waiting.filter(|(endpoint, _)| ports.iter().any(|port| is_at(endpoint, port)));
    Some(waiting.filter_map(|(_, rise)| evidence.per_request(rise)).sum::<f64>() / looks)
}

/// Whether a store has calls that are open because nothing has happened yet, such as those of a worker.
fn waits_for_more(store: &Watched<'_>) -> bool {
    let is_blocking = |command: &str| BLOCKING.iter().any(|begin| command.starts_with(*begin));
    let calls = store.rises("redis.command.calls");
    calls.into_iter().any(|(command, calls)| calls.amount > 0.0 && is_blocking(command))
}

/// Reads of a server that find nothing, where each response finds and writes something.
fn in_redis(evidence: &Evidence<'_>, redis: &Watched<'_>) -> Option<Looks> {
    let of_response = |name: &str| evidence.per_request(redis.rise(name, "")?);
    let calls = redis.rises("redis.command.calls").into_iter();
    let writes = calls.filter(|(command, _)| FILLS.contains(command));
    let written: f64 = writes.filter_map(|(_, rise)| evidence.per_request(rise)).sum();
    let in_vain = of_response("redis.keyspace.misses")?;
    let is_found = of_response("redis.keyspace.hits")? >= ONCE && written >= ONCE;
    is_found.then(|| Looks { in_vain, store: redis.name(), source: "INFO stats: keyspace_misses" })
}

/// Calls of a statement that return nothing, where each response gets one row of it.
fn in_postgres(server: &Watched<'_>, query: &Query<'_>) -> Option<Looks> {
    let rows = query.per_request * query.rows;
    let is_found = query.only_reads() && (rows - 1.0).abs() <= WITHIN;
    let in_vain = query.per_request - rows;
    is_found.then(|| Looks { in_vain, store: server.name(), source: "pg_stat_statements: calls and rows" })
}

fn polled(evidence: &Evidence<'_>, pauses: &Pauses<'_>, looks: &Looks, idle: f64) -> Option<Draft> {
    let is_as_many = (looks.in_vain / pauses.each - 1.0).abs() <= WITHIN;
    if !is_as_many || pauses.seconds < PAUSE_MIN || DELAYED_ACK.contains(&pauses.seconds) {
        return None;
    }
    let multiples = Signal::at_least(
        "share of the responses that take one pause, or a multiple of it",
        Unit::Share,
        Some(pauses.share),
        SHARE,
        "the run: service time",
    )?;
    let in_vain = Signal::at_least(
        "looks per response that find nothing, as many as pauses",
        Unit::Count,
        Some(looks.in_vain),
        IN_VAIN,
        looks.source,
    )?;
    Some(Draft {
        subject: Subject::of(SubjectKind::Endpoint, pauses.endpoint, None),
        statement: format!(
            "{} of the responses take {} or a multiple of it, and each looks into {} for something that is not there yet, \
             {} times on average, while nothing else that is observed explains {} of it",
            percent(pauses.share),
            seconds(pauses.seconds),
            looks.store,
            number(looks.in_vain),
            seconds(idle)
        ),
        signals: vec![multiples, in_vain],
        remedy: Remedy::advice(
            "let the end of the job wake the request, or look again after a short pause first, and after longer ones later",
        ),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(idle),
            "what is in no observed work; the job can take a part of it",
        ),
    })
}

#[cfg(test)]
mod tests {
    use knee_core::schedule::Curve;

    use crate::Confidence;
    use crate::testing::{Calling, Costs, Dice, RATE, Scene};

    /// 30 responses per second, and a Redis of which each response writes a value and finds it, after so many looks in
    /// vain.
    fn labels(wait: fn(&mut Dice) -> f64, in_vain: f64) -> Scene {
        let mut scene = waiting(wait);
        let redis = scene.redis();
        scene.counter(redis, "redis.keyspace.hits", "", 30.0);
        scene.counter(redis, "redis.keyspace.misses", "", 30.0 * in_vain);
        scene.counter(redis, "redis.command.calls", "get", 30.0 * (in_vain + 1.0));
        scene.counter(redis, "redis.command.calls", "set", 30.0);
        scene
    }

    fn waiting(wait: fn(&mut Dice) -> f64) -> Scene {
        let users = Curve::constant(10.0);
        let mut scene = Scene::sized(10, |_| 30, users, move |sample, _, dice| sample.wait = wait(dice));
        scene.process("shop (pid 7)");
        scene
    }

    /// A sleep of 100 ms and what is done before and after it.
    fn one_pause(dice: &mut Dice) -> f64 {
        0.101 + 0.002 * dice.share()
    }

    /// One to three of them.
    fn some_pauses(dice: &mut Dice) -> f64 {
        0.1 * (1.0 + (3.0 * dice.share()).floor()) + 0.001 + 0.002 * dice.share()
    }

    #[test]
    fn a_user_learns_that_requests_look_for_a_result_at_a_pace_that_is_longer_than_the_job() {
        let finding = labels(one_pause, 1.0).found("polled_result").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Likely, "GET /a"));
        let says = "100 % of the responses take 101 ms or a multiple of it, and each looks into redis://127.0.0.1:6379";
        assert!(finding.statement.starts_with(says), "{}", finding.statement);
        assert!(finding.gain.unwrap().share() > 0.7);
    }

    #[test]
    fn results_that_are_found_after_one_to_three_pauses_are_looked_for_as_often_in_vain() {
        assert!(labels(some_pauses, 2.0).found("polled_result").is_some());
        assert_eq!(labels(some_pauses, 1.0).found("polled_result"), None, "more pauses than looks");
    }

    #[test]
    fn a_table_of_jobs_that_is_asked_until_one_has_ended_is_found_by_the_rows_of_the_statement() {
        let of = |rows: f64| {
            let mut scene = waiting(one_pause);
            let server = scene.postgres();
            let costs = Costs { per_request: 60.0 / RATE as f64, rows, ..Costs::default() };
            scene.statement(server, "2", "SELECT result FROM jobs WHERE id = $1 AND is_done", &costs);
            scene.found("polled_result")
        };
        assert!(of(0.5).unwrap().statement.contains("looks into postgres://127.0.0.1/shop"));
        assert_eq!(of(1.0), None, "each call finds what it asks for");
    }

    #[test]
    fn a_pause_without_looks_a_cache_that_misses_and_times_that_vary_have_another_cause() {
        assert_eq!(labels(one_pause, 0.1).found("polled_result"), None, "nothing is looked for in vain");
        assert_eq!(labels(|dice| 0.05 + 0.1 * dice.share(), 1.0).found("polled_result"), None, "work varies");
        assert_eq!(labels(|dice| 0.041 + 0.001 * dice.share(), 1.0).found("polled_result"), None, "Nagle");
        assert_eq!(labels(|dice| 0.005 + 0.0001 * dice.share(), 1.0).found("polled_result"), None, "short");
        let mut cache = labels(one_pause, 1.0);
        cache.counter(1, "redis.keyspace.hits", "", 1.0);
        assert_eq!(cache.found("polled_result"), None, "what is missed is not found later");
        let mut read_only = labels(one_pause, 1.0);
        read_only.counter(1, "redis.command.calls", "set", 0.0);
        assert_eq!(read_only.found("polled_result"), None, "nothing is written that could be found");
    }

    #[test]
    fn time_that_is_observed_work_or_a_full_machine_is_no_pause() {
        let mut computes = labels(one_pause, 1.0);
        computes.counter(0, "process.cpu.user", "", 30.0 * 0.09);
        assert_eq!(computes.found("polled_result"), None, "a hash of a fixed cost");
        let mut full = labels(one_pause, 1.0);
        let host = full.host(4.0);
        full.busy_host(host, 0.95);
        assert_eq!(full.found("polled_result"), None);
    }

    #[test]
    fn a_store_that_is_far_away_makes_times_that_are_alike_and_is_no_pause() {
        let mut far = labels(one_pause, 1.0);
        // Three calls of 30 ms for each of 30 responses per second.
        let calls = Calling { per_response: 90.0 / RATE as f64, seconds: 0.03, ..Calling::default() };
        far.calling(0, "10.0.0.2:6379", &calls);
        assert_eq!(far.found("polled_result"), None);
        // Of a worker that waits for jobs on the same store, the calls are open all the time.
        far.counter(1, "redis.command.calls", "blpop", 3.0);
        assert!(far.found("polled_result").is_some());
    }

    #[test]
    fn without_a_process_or_a_store_it_cannot_say() {
        assert!(Scene::steady().lacks("polled_result").unwrap().contains("pid:PID"));
        assert!(waiting(one_pause).lacks("polled_result").unwrap().starts_with("a Redis or Valkey server"));
    }
}
