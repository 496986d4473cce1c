//! Checkpoints of PostgreSQL that make requests wait.
//!
//! Needs a PostgreSQL server in whose run there were two checkpoints.

use knee_core::observation::SourceKind;
use knee_core::record::Point;
use knee_core::unit::Nanos;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::rhythm::spikes;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "checkpoint",
    finds: "checkpoints that make requests wait",
    needs: "a PostgreSQL server with two checkpoints during the run, and 20 whole intervals",
    limits: "75 % of the checkpoints are followed within 5 s by an interval whose slowest response is 3 times the lower quartile of all, which has a chance of 1 % without a connection; two checkpoints were requested because the WAL was full; 30 % of the WAL's records carry a page",
    source: "After a checkpoint, the first change of each page writes the whole page into the WAL (full_page_writes).",
    cause: "max_wal_size is too small for the writes, so that checkpoints come one after another, and each writes many blocks at once.",
    remedy: "Raise max_wal_size and checkpoint_timeout, so that a checkpoint comes every 15 minutes or so.",
    explains: &["periodic_pauses"],
    check,
};

const INTERVALS_MIN: usize = 20;
const CHECKPOINTS_MIN: usize = 2;
const FOLLOWED: f64 = 0.75;
const CHANCE: f64 = 0.01;
const WITHIN: Nanos = Nanos::from_secs(5);
const HEIGHT: f64 = 3.0;
const REQUESTED: f64 = 2.0;
const IMAGES: f64 = 0.3;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Postgres)?;
    let points = evidence.steady();
    let with: Vec<_> = servers.iter().map(|server| (server, starts(evidence, server))).collect();
    if points.len() < INTERVALS_MIN || with.iter().all(|(_, starts)| starts.len() < CHECKPOINTS_MIN) {
        return Err(Lack::of("two checkpoints during the measured time, and 20 whole intervals"));
    }
    Ok(with.iter().filter_map(|(server, starts)| stalled(&points, server, starts)).collect())
}

fn stalled(points: &[&Point], server: &Watched<'_>, starts: &[Nanos]) -> Option<Draft> {
    let slowest: Vec<f64> =
        points.iter().map(|point| point.response.map_or(0.0, |times| times[3].as_secs_f64())).collect();
    let slow: Vec<&Point> = spikes(&slowest, HEIGHT).into_iter().map(|place| points[place]).collect();
    let follows = |start: &&Nanos| {
        slow.iter().any(|point| point.to > **start && point.from <= start.saturating_add(WITHIN))
    };
    let hits = starts.iter().filter(follows).count();
    // A moment is near a spike by chance as often as the times before spikes cover the run.
    let covered = points.iter().filter(|point| follows(&&point.from)).count() as f64 / points.len() as f64;
    if starts.len() < CHECKPOINTS_MIN || at_least_by_chance(hits, starts.len(), covered) > CHANCE {
        return None;
    }
    let followed = hits as f64 / starts.len() as f64;
    let requested = server.rise("checkpoint.requested", "").map(|rise| rise.amount);
    let images = server.rise("wal.images", "").zip(server.rise("wal.records", ""));
    let images = images.map(|(images, records)| images.amount / records.amount);
    let slow = Signal::at_least(
        "share of checkpoints that slow responses follow",
        Unit::Share,
        Some(followed),
        FOLLOWED,
        "the run: slowest response per interval",
    )?;
    let signals = [
        Some(slow),
        Signal::at_least(
            "checkpoints because the WAL was full",
            Unit::Count,
            requested,
            REQUESTED,
            "pg_stat_checkpointer",
        ),
        Signal::at_least(
            "share of the WAL's records with a whole page",
            Unit::Share,
            images,
            IMAGES,
            "pg_stat_wal",
        ),
    ];
    let size = server.text("setting", "max_wal_size").map_or(String::new(), |size| format!(" (now {size})"));
    Some(Draft {
        subject: Subject::of(SubjectKind::Resource, server.name(), None),
        statement: format!(
            "slow responses follow {} of {} checkpoints",
            number(hits as f64),
            number(starts.len() as f64)
        ),
        signals: signals.into_iter().flatten().collect(),
        remedy: Remedy::setting(
            "PostgreSQL",
            "max_wal_size",
            format!("four times as much{size}, and a longer checkpoint_timeout"),
        ),
        gain: None,
    })
}

/// When checkpoints began: readings at which their number had risen.
fn starts(evidence: &Evidence<'_>, server: &Watched<'_>) -> Vec<Nanos> {
    let (from, to) = evidence.window();
    let mut starts: Vec<Nanos> = ["checkpoint.timed", "checkpoint.requested"]
        .iter()
        .filter_map(|name| server.series(name, ""))
        .flat_map(|series| series.points.windows(2))
        .filter(|pair| pair[1].1 > pair[0].1 && pair[1].0 >= from && pair[1].0 <= to)
        .map(|pair| pair[0].0)
        .collect();
    starts.sort_unstable();
    starts
}

/// The chance of `hits` or more of `tries`, each with chance `p`: the tail of a binomial distribution.
fn at_least_by_chance(hits: usize, tries: usize, p: f64) -> f64 {
    let term = |k: usize| {
        let ways = (1..=k).fold(1.0, |ways, i| ways * (tries - k + i) as f64 / i as f64);
        ways * p.powi(k as i32) * (1.0 - p).powi((tries - k) as i32)
    };
    (hits..=tries).map(term).sum()
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SeriesKind;
    use knee_core::schedule::Curve;
    use knee_core::unit::Nanos;

    use super::at_least_by_chance;
    use crate::testing::Scene;

    fn run(slow: impl Fn(u64) -> bool + Copy) -> Scene {
        let mut scene = Scene::sized(
            90,
            |_| 300,
            Curve::constant(10.0),
            |sample, second, dice| {
                if slow(second) && dice.share() < 0.05 {
                    sample.wait += 0.8;
                }
            },
        );
        let server = scene.postgres();
        let count = |second: u64| (second / 20) as f64;
        let points = (0..=90).map(|second| (Nanos::from_secs(second), count(second))).collect();
        scene.points(server, "checkpoint.requested", "", SeriesKind::Counter, points);
        scene
    }

    #[test]
    fn slow_seconds_after_each_checkpoint_are_found_and_explain_their_rhythm() {
        let scene = run(|second| second >= 20 && second % 20 < 2);
        let finding = scene.found("checkpoint").unwrap();
        assert_eq!((finding.evidence.len(), finding.code), (2, "checkpoint"));
        assert_eq!(scene.found("periodic_pauses"), None);
    }

    #[test]
    fn checkpoints_that_no_request_notices_are_healthy() {
        assert_eq!(run(|_| false).found("checkpoint"), None);
        assert_eq!(run(|second| second % 7 == 3).found("checkpoint"), None, "slow all the time");
    }

    #[test]
    fn the_tail_of_a_binomial_distribution_is_as_in_tables() {
        assert!((at_least_by_chance(8, 10, 0.5) - 56.0 / 1_024.0).abs() < 1e-12);
        assert!((at_least_by_chance(0, 5, 0.3) - 1.0).abs() < 1e-12);
    }
}
