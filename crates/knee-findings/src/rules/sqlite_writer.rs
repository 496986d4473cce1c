//! Writers of a SQLite database that queue for its one write lock.
//!
//! Needs a SQLite file, watched from outside.

use knee_core::observation::SourceKind;

use crate::bound;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::Watched;

pub(super) mod lock;
mod long;
pub(super) mod waits;

use lock::{held, share};

pub(super) const RULE: Rule = Rule {
    code: "sqlite_writer",
    finds: "writers that queue for the write lock of SQLite, or commit one by one while the disk flushes",
    needs: "a SQLite file",
    limits: "the write lock is held in 60 % of the samples; the CPUs, or those that an observed process can use, are busy to 70 % at most; a disk is busy 30 % of the time; a process waits in the kernel for a lock in 5 % of the samples. Or, with a lock that is held less: a disk flushes once for every second response, flushes of PostgreSQL's WAL left out; and there is a transaction that changes the database for every second response, or, if these are not counted, the lock is held for 30 % of the mean response time per response, in 5 samples at least. Or: the lock is held in 2 % of the samples, 10 at least; the share of the responses of an endpoint that are a slow group of their own (as `two_populations` has it) is that of these samples within a factor of 1.5, and the quartiles of this group differ by a factor of 2 at least: a hint. It is none if a page of `knee-sqlite` says the same: its transactions hold the lock for this share of the time within a factor of 1.5, and the statements that find it held, 5 at least, wait for 5 ms each, and for the upper quartile of the slow group within a factor of 2. Otherwise two of them, or nothing",
    source: "One lock is one server: at 60 % of its time, requests wait longer for it than they hold it (M/M/1). Of arrivals that do not know of each other, as many find the lock held as is its share of the time (PASTA), and they wait for what is left of it: any part, so that a quarter waits for less than a quarter of it, and a quarter for more than three quarters. SQLite tries again after sleeps of 1 to 100 ms, which makes waits up to twice as long as what is left.",
    cause: "SQLite has one writer at a time. Each transaction flushes (synchronous=FULL), or stays open while the service does something else, or while a statement of it scans a table; a rollback journal also keeps readers out.",
    remedy: "Use journal_mode=WAL with synchronous=NORMAL, put several changes into a transaction, keep transactions short: find rows before the transaction or by an index, and delete few at a time.",
    explains: &["fixed_places", "two_populations"],
    check,
};

const HELD: f64 = 0.6;
const BUSY: f64 = 0.7;
const DISK: f64 = 0.3;
const WAITING: f64 = 0.05;
/// Fewest samples with the lock held for a share of the response time.
const HELD_MIN: f64 = 5.0;
/// Share of the response time in which the request holds the lock.
const OF_RESPONSE: f64 = 0.3;
/// Flushes of a disk per response, and transactions.
const FLUSHES: f64 = 0.5;
const TRANSACTIONS: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Checked {
    let files = evidence.needed(SourceKind::Sqlite)?;
    Ok(files
        .iter()
        .filter_map(|file| {
            queueing(evidence, file)
                .or_else(|| flushing(evidence, file))
                .or_else(|| long::blocking(evidence, file))
        })
        .collect())
}

/// A disk that is busy, and the limit for it.
fn busy_disk(evidence: &Evidence<'_>) -> Option<Signal> {
    let hosts = evidence.sources(SourceKind::Host);
    let busy = hosts.first().and_then(|host| host.rises("host.disk.busy").first()?.1.per_second());
    Signal::at_least("share of the time in which a disk is busy", Unit::Share, busy, DISK, "/proc/diskstats")
}

/// Requests that wait for the lock.
fn queueing(evidence: &Evidence<'_>, file: &Watched<'_>) -> Option<Draft> {
    let held = held(file);
    let first = Signal::at_least(
        "share of samples with the write lock held",
        Unit::Share,
        held,
        HELD,
        "/proc/locks",
    )?;
    let waiting = share(file, "sqlite.lock.waiting", "");
    let busy = bound::cpus_busy(evidence);
    let signals = [
        Some(first),
        Signal::at_most("share of the CPUs that is busy", Unit::Share, busy, BUSY, "the machine"),
        busy_disk(evidence),
        Signal::at_least(
            "share of samples with a process that waits",
            Unit::Share,
            waiting,
            WAITING,
            "/proc/locks: waiting",
        ),
    ];
    let share = percent(held.unwrap_or(0.0));
    Some(Draft {
        subject: Subject::of(SubjectKind::Resource, file.name(), None),
        statement: format!("the write lock of {} is held {share} of the time", file.source.name),
        signals: signals.into_iter().flatten().collect(),
        remedy: remedy(file),
        gain: None,
    })
}

/// Requests that commit one by one, each of which waits for the disk while it holds the lock.
fn flushing(evidence: &Evidence<'_>, file: &Watched<'_>) -> Option<Draft> {
    let flushes = flushes(evidence);
    let transactions = file.rise("sqlite.transactions", "").and_then(|rise| evidence.per_request(rise));
    // Beside few transactions, the disk flushes for something else.
    if Signal::falls_short(transactions, TRANSACTIONS) {
        return None;
    }
    let each = held_per_response(evidence, file);
    let mean = evidence.response_mean().filter(|mean| *mean > 0.0)?;
    let of_response = each.map(|each| each / mean);
    let first =
        Signal::at_least("flushes of a disk per response", Unit::Count, flushes, FLUSHES, "/proc/diskstats")?;
    let signals: Vec<Signal> = [
        Some(first),
        Signal::at_least(
            "transactions that change the database, per response",
            Unit::Count,
            transactions,
            TRANSACTIONS,
            "the file: header or WAL index",
        ),
        Signal::at_least(
            "time that the write lock is held per response, of its time",
            Unit::Share,
            of_response,
            OF_RESPONSE,
            "/proc/locks",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    (signals.len() >= 2).then(|| Draft {
        subject: Subject::of(SubjectKind::Resource, file.name(), None),
        statement: format!(
            "each response commits {} transactions to {}, for which a disk flushes {} times",
            transactions.map_or("an unknown number of".to_owned(), number),
            file.source.name,
            number(flushes.unwrap_or(0.0))
        ),
        signals,
        remedy: remedy(file),
        gain: Gain::saves(
            Some(mean),
            flush_time(evidence).or(each),
            "the time that the disk flushes, per response",
        ),
    })
}

/// How long a response holds the write lock; `None` if too few samples saw it held.
fn held_per_response(evidence: &Evidence<'_>, file: &Watched<'_>) -> Option<f64> {
    let samples = file.rise("sqlite.lock.samples", "")?.amount;
    let held = held(file).filter(|held| held * samples >= HELD_MIN)?;
    Some(held / evidence.throughput().filter(|throughput| *throughput > 0.0)?)
}

/// Flushes of the busiest disk per response, those of the WAL of observed PostgreSQL servers left out.
fn flushes(evidence: &Evidence<'_>) -> Option<f64> {
    let hosts = evidence.sources(SourceKind::Host);
    let all = evidence.per_request(hosts.first()?.rises("host.disk.flushes").first()?.1)?;
    let servers = evidence.sources(SourceKind::Postgres);
    let known = servers.iter().filter_map(|server| evidence.per_request(server.rise("wal.syncs", "")?));
    Some(all - known.sum::<f64>())
}

/// Time that the busiest disk flushes per response, in seconds.
fn flush_time(evidence: &Evidence<'_>) -> Option<f64> {
    let hosts = evidence.sources(SourceKind::Host);
    let time = evidence.per_request(hosts.first()?.rises("host.disk.flush_time").first()?.1)?;
    Some(time).filter(|time| *time > 0.0)
}

fn remedy(file: &Watched<'_>) -> Remedy {
    if file.text("setting", "journal_mode") == Some("rollback") {
        return Remedy::setting("SQLite", "journal_mode", "WAL, with synchronous=NORMAL");
    }
    Remedy::advice(
        "use synchronous=NORMAL, put several changes into a transaction, and keep transactions short",
    )
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SourceKind;
    use knee_core::schedule::Curve;

    use crate::testing::{RATE, Scene};
    use crate::{Confidence, Remedy};

    #[test]
    fn a_write_lock_that_is_nearly_always_held_is_found_and_short_writes_are_healthy() {
        let of = |held| {
            let mut scene = Scene::steady();
            scene.host(4.0);
            let file = scene.source(SourceKind::Sqlite, "news.db");
            scene.counter(file, "sqlite.lock.samples", "", 10.0);
            scene.counter(file, "sqlite.lock.held", "exclusive", 10.0 * held);
            scene.text(file, "setting", "journal_mode", "rollback");
            scene.found("sqlite_writer")
        };
        let finding = of(0.8).unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(matches!(finding.remedy, Remedy::Setting { name, .. } if name == "journal_mode"));
        assert_eq!(of(0.2), None);
    }

    #[test]
    fn a_commit_per_request_that_waits_for_the_disk_is_found_long_before_the_lock_is_full() {
        let of = |flushes: f64, transactions: Option<f64>| {
            // 100 responses per second, of 5 ms as a mean: a fifth of the time is 2 ms of each.
            let mut scene = Scene::sized(30, |_| 100, Curve::constant(10.0), |_, _, _| {});
            let host = scene.host(4.0);
            scene.counter(host, "host.disk.flushes", "vda", flushes * 100.0);
            let file = scene.source(SourceKind::Sqlite, "news.db");
            scene.counter(file, "sqlite.lock.samples", "", 20.0);
            scene.counter(file, "sqlite.lock.held", "write", 20.0 * 0.2);
            if let Some(transactions) = transactions {
                scene.counter(file, "sqlite.transactions", "", transactions * 100.0);
            }
            scene.found("sqlite_writer")
        };
        let finding = of(1.0, None).unwrap();
        assert_eq!((finding.evidence.len(), finding.confidence), (2, Confidence::Likely));
        let says = "each response commits an unknown number of transactions to news.db, for which a disk flushes 1 times";
        assert_eq!(finding.statement, says);
        assert_eq!(of(1.0, Some(1.0)).unwrap().evidence.len(), 3);
        assert_eq!(of(1.0, Some(0.05)), None, "something else flushes");
        assert_eq!(of(0.05, None), None, "many changes share a flush");
    }

    #[test]
    fn a_commit_per_request_is_found_by_the_counters_of_the_file_where_its_lock_is_too_short_to_be_seen() {
        let of = |transactions: f64| {
            let mut scene = Scene::steady();
            let host = scene.host(4.0);
            scene.counter(host, "host.disk.flushes", "vda", 1.0 * RATE as f64);
            let file = scene.source(SourceKind::Sqlite, "news.db");
            scene.counter(file, "sqlite.transactions", "", transactions * RATE as f64);
            scene
        };
        assert!(of(1.0).found("sqlite_writer").unwrap().statement.starts_with("each response commits 1"));
        assert_eq!(of(0.01).found("sqlite_writer"), None, "something else flushes");
        let mut beside = of(1.0);
        let server = beside.postgres();
        beside.counter(server, "wal.syncs", "", 0.9 * RATE as f64);
        assert_eq!(beside.found("sqlite_writer"), None, "PostgreSQL flushes");
    }
}
