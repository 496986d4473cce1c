//! A SQLite WAL that grows because a reader pins it, so that no checkpoint can reset it.
//!
//! Needs a SQLite file in WAL mode.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::trend::trend;

pub(super) const RULE: Rule = Rule {
    code: "sqlite_wal",
    finds: "a SQLite WAL that no checkpoint can reset",
    needs: "a SQLite file in WAL mode",
    limits: "the WAL has 16 MiB and grows by 10 % over the run; 4,000 frames are not in the database. Both, or nothing",
    source: "SQLite checkpoints at 1,000 pages (4 MB) by default: four times that is not the usual sawtooth.",
    cause: "A read transaction stays open and pins the WAL, or writers leave no gap for a checkpoint. Readers then search an ever longer WAL.",
    remedy: "End read transactions soon; run PRAGMA wal_checkpoint(TRUNCATE) in a quiet moment.",
    explains: &[],
    check,
};

const BYTES: f64 = 16_777_216.0;
const GROWTH: f64 = 0.1;
const SCORE: f64 = 2.58;
const FRAMES: f64 = 4_000.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for file in evidence.needed(SourceKind::Sqlite)? {
        let levels = file.levels("sqlite.wal.bytes", "");
        let grows = trend(&levels).is_some_and(|trend| trend.growth >= GROWTH && trend.score >= SCORE);
        let bytes = file.most("sqlite.wal.bytes", "").filter(|_| grows);
        let frames = file.mean("sqlite.wal.frames", "").zip(file.mean("sqlite.wal.backfilled", ""));
        let behind = frames.map(|(all, done)| all - done);
        let signals: Vec<Signal> = [
            Signal::at_least("size of the WAL, growing", Unit::Bytes, bytes, BYTES, "the file -wal"),
            Signal::at_least(
                "frames that are not in the database",
                Unit::Count,
                behind,
                FRAMES,
                "the file -shm",
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        if signals.len() < 2 {
            continue;
        }
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Resource, file.name(), None),
            statement: format!(
                "the WAL of {} grew to {} MiB and is not reset",
                file.source.name,
                number(bytes.unwrap_or(0.0) / 1_048_576.0)
            ),
            signals,
            remedy: Remedy::advice(
                "end read transactions soon, and run PRAGMA wal_checkpoint(TRUNCATE) in a quiet moment",
            ),
            gain: None,
        });
    }
    Ok(drafts)
}

#[cfg(test)]
mod tests {
    use knee_core::observation::{SeriesKind, SourceKind};
    use knee_core::unit::Nanos;

    use crate::testing::Scene;

    #[test]
    fn a_pinned_wal_is_found_and_a_sawtooth_is_healthy() {
        let of = |bytes: fn(u64) -> f64, behind: f64| {
            let mut scene = Scene::steady();
            let file = scene.source(SourceKind::Sqlite, "news.db");
            let points = (0..=30).map(|second| (Nanos::from_secs(second), bytes(second))).collect();
            scene.points(file, "sqlite.wal.bytes", "", SeriesKind::Gauge, points);
            scene.gauge(file, "sqlite.wal.frames", "", 9_000.0);
            scene.gauge(file, "sqlite.wal.backfilled", "", 9_000.0 - behind);
            scene.found("sqlite_wal")
        };
        assert_eq!(of(|second| 2e6 * (second + 1) as f64, 8_500.0).unwrap().evidence.len(), 2);
        assert_eq!(of(|second| 1e6 * (second % 5) as f64, 300.0), None);
    }
}
