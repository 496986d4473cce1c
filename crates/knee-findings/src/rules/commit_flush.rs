//! Commits that wait until the WAL is on the disk.
//!
//! Needs samples of a PostgreSQL server's activity.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::percent;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::share;

use super::lock_wait;

pub(super) const RULE: Rule = Rule {
    code: "commit_flush",
    finds: "commits that wait for the disk",
    needs: "a PostgreSQL server, with 50 samples of active backends",
    limits: "10 % of the active backends wait for the flush of the WAL (IO:WalSync, LWLock:WALWrite); the flushes take 30 % of the time (needs track_wal_io_timing); a disk is busy 50 % of the time; some thread waits for a disk 10 % of the time (PSI). The first and one of the others, or nothing",
    source: "A commit returns only when its WAL is on the disk. Under 10 % of the samples this changes a mean less than runs differ.",
    cause: "Each small transaction waits for a flush of its own: one row per commit, on a disk that flushes slowly.",
    remedy: "Put several changes into a transaction; use a disk that flushes faster; or synchronous_commit=off where the last moments before a crash can be lost.",
    explains: &[],
    check,
};

const SHARE: f64 = 0.1;
const FLUSHING: f64 = 0.3;
const DISK: f64 = 0.5;
const PRESSURE: f64 = 0.1;

fn is_flush(wait: &str) -> bool {
    wait.eq_ignore_ascii_case("IO:WalSync") || wait.eq_ignore_ascii_case("LWLock:WALWrite")
}

fn check(evidence: &Evidence<'_>) -> Checked {
    let hosts = evidence.sources(SourceKind::Host);
    let host = hosts.first();
    let disk = host.and_then(|host| host.rises("host.disk.busy").first()?.1.per_second());
    let pressure = host.and_then(|host| host.per_second("host.pressure.io.some", ""));
    let mut drafts = Vec::new();
    for server in lock_wait::sampled(evidence)? {
        let Some(waiting) = share::waiting(&server, is_flush).filter(|waiting| *waiting >= SHARE) else {
            continue;
        };
        let flushing = server.per_second("wal.sync_time", "");
        let signals = [
            Signal::at_least(
                "share of active backends that wait for the WAL",
                Unit::Share,
                Some(waiting),
                SHARE,
                "pg_stat_activity",
            ),
            Signal::at_least(
                "share of the time in which the WAL is flushed",
                Unit::Share,
                flushing,
                FLUSHING,
                "pg_stat_wal",
            ),
            Signal::at_least(
                "share of the time in which a disk is busy",
                Unit::Share,
                disk,
                DISK,
                "/proc/diskstats",
            ),
            Signal::at_least(
                "share of the time in which a thread waits for a disk",
                Unit::Share,
                pressure,
                PRESSURE,
                "/proc/pressure/io",
            ),
        ];
        let signals: Vec<Signal> = signals.into_iter().flatten().collect();
        // Every database that commits has some backends that wait for a flush.
        if signals.len() < 2 {
            continue;
        }
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Resource, server.name(), None),
            statement: format!("{} of the active backends wait until their commit is on the disk", percent(waiting)),
            signals,
            remedy: Remedy::setting("PostgreSQL", "synchronous_commit", "off, if the last moments before a crash can be lost; else put more changes into a transaction"),
            gain: lock_wait::waits_saved(evidence, &server, waiting),
        });
    }
    Ok(drafts)
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::Scene;

    fn flushing(samples: f64, disk: f64) -> Scene {
        let mut scene = Scene::steady();
        let host = scene.host(4.0);
        scene.counter(host, "host.disk.busy", "vda", disk);
        let server = scene.postgres();
        scene.counter(server, "activity.state", "active", 40.0);
        scene.counter(server, "activity.wait", "IO:WALSync", samples / 2.0);
        scene.counter(server, "activity.wait", "LWLock:WALWrite", samples / 2.0);
        scene
    }

    #[test]
    fn backends_that_wait_for_a_busy_disk_are_found_and_a_few_waits_are_healthy() {
        assert_eq!(flushing(24.0, 0.8).found("commit_flush").unwrap().confidence, Confidence::Likely);
        assert_eq!(flushing(24.0, 0.1).found("commit_flush"), None, "nothing else shows a slow disk");
        assert_eq!(flushing(2.0, 0.8).found("commit_flush"), None);
    }
}
