//! A replica that replays later than readers expect.
//!
//! Needs a PostgreSQL primary with a replica. Whether a reader saw old rows is not in the evidence.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::seconds;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;

pub(super) const RULE: Rule = Rule {
    code: "replica_behind",
    finds: "a replica that is behind its primary",
    needs: "a PostgreSQL primary with a replica",
    limits: "the replica replays 1 s late as a mean; it is 16 MiB of WAL behind",
    source: "16 MiB are one segment of WAL; a replica that keeps up is milliseconds late.",
    cause: "The replica replays with one process, or has less CPU or a slower disk than the primary; long queries on it hold the replay up.",
    remedy: "Read what was just written from the primary; give the replica more, or write less WAL.",
    explains: &[],
    check,
};

const LATE: f64 = 1.0;
const BEHIND: f64 = 16_777_216.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut any = false;
    let mut drafts = Vec::new();
    for server in evidence.needed(SourceKind::Postgres)? {
        for (replica, late) in server.means("replication.replay_lag") {
            any = true;
            let behind = server.mean("replication.behind", replica);
            let Some(first) = Signal::at_least(
                "mean delay of the replay",
                Unit::Seconds,
                Some(late),
                LATE,
                "pg_stat_replication: replay_lag",
            ) else {
                continue;
            };
            let second = Signal::at_least(
                "WAL that was not replayed",
                Unit::Bytes,
                behind,
                BEHIND,
                "pg_stat_replication: replay_lsn",
            );
            drafts.push(Draft {
                subject: Subject::of(SubjectKind::Resource, replica, Some(&server.source.name)),
                statement: format!("the replica {replica} replays {} late", seconds(late)),
                signals: [Some(first), second].into_iter().flatten().collect(),
                remedy: Remedy::advice("read what was just written from the primary, and give the replica more CPU or a faster disk"),
                gain: None,
            });
        }
    }
    if any { Ok(drafts) } else { Err(Lack::of("a primary with a replica")) }
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::Scene;

    #[test]
    fn a_replica_seconds_late_is_found_and_one_that_keeps_up_is_healthy() {
        let of = |late, behind| {
            let mut scene = Scene::steady();
            let server = scene.postgres();
            scene.gauge(server, "replication.replay_lag", "walreceiver", late);
            scene.gauge(server, "replication.behind", "walreceiver", behind);
            scene.found("replica_behind")
        };
        assert_eq!(of(4.0, 3e8).unwrap().confidence, Confidence::Likely);
        assert_eq!(of(0.004, 2e4), None);
    }
}
