//! Writers of a SQLite database that queue for its one write lock.
//!
//! Needs a SQLite file, watched from outside.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::percent;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};

pub(super) const RULE: Rule = Rule {
    code: "sqlite_writer",
    finds: "writers that queue for the write lock of SQLite",
    needs: "a SQLite file",
    limits: "the write lock is held in 60 % of the samples; the CPUs are busy to 70 % at most; a disk is busy 30 % of the time; a process waits in the kernel for a lock in 5 % of the samples",
    source: "One lock is one server: at 60 % of its time, requests wait longer for it than they hold it (M/M/1).",
    cause: "SQLite has one writer at a time. Each transaction flushes (synchronous=FULL), or stays open while the service does something else; a rollback journal also keeps readers out.",
    remedy: "Use journal_mode=WAL with synchronous=NORMAL, put several changes into a transaction, keep transactions short.",
    explains: &["fixed_places"],
    check,
};

const HELD: f64 = 0.6;
const BUSY: f64 = 0.7;
const DISK: f64 = 0.3;
const WAITING: f64 = 0.05;
/// Fewest samples.
const SAMPLES_MIN: f64 = 50.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let hosts = evidence.sources(SourceKind::Host);
    let disk = hosts.first().and_then(|host| host.rises("host.disk.busy").first()?.1.per_second());
    let mut drafts = Vec::new();
    for file in evidence.needed(SourceKind::Sqlite)? {
        let samples = file.rise("sqlite.lock.samples", "").filter(|rise| rise.amount >= SAMPLES_MIN);
        let share = |name: &str, label: &str| Some(file.rise(name, label)?.amount / samples?.amount);
        let held = ["write", "reserved", "exclusive"]
            .iter()
            .filter_map(|lock| share("sqlite.lock.held", lock))
            .reduce(f64::max);
        let Some(first) = Signal::at_least(
            "share of samples with the write lock held",
            Unit::Share,
            held,
            HELD,
            "/proc/locks",
        ) else {
            continue;
        };
        let signals = [
            Some(first),
            Signal::at_most(
                "share of the CPUs that is busy",
                Unit::Share,
                evidence.host_busy(),
                BUSY,
                "the machine",
            ),
            Signal::at_least(
                "share of the time in which a disk is busy",
                Unit::Share,
                disk,
                DISK,
                "/proc/diskstats",
            ),
            Signal::at_least(
                "share of samples with a process that waits",
                Unit::Share,
                share("sqlite.lock.waiting", ""),
                WAITING,
                "/proc/locks: waiting",
            ),
        ];
        let rollback = file.text("setting", "journal_mode") == Some("rollback");
        let remedy = if rollback {
            Remedy::setting("SQLite", "journal_mode", "WAL, with synchronous=NORMAL")
        } else {
            Remedy::advice(
                "use synchronous=NORMAL, put several changes into a transaction, and keep transactions short",
            )
        };
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Resource, file.name(), None),
            statement: format!(
                "the write lock of {} is held {} of the time",
                file.source.name,
                percent(held.unwrap_or(0.0))
            ),
            signals: signals.into_iter().flatten().collect(),
            remedy,
            gain: None,
        });
    }
    Ok(drafts)
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SourceKind;

    use crate::testing::Scene;
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
}
