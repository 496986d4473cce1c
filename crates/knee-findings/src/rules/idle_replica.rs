//! Reads that the primary does although a replica has nothing to do.
//!
//! Needs samples of the activity of both. Whether a reader can bear rows that are some milliseconds old, and whether the
//! replica is kept free for a failover, is not in the evidence.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::percent;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::query::{self, Query};
use crate::share;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "idle_replica",
    finds: "reads that the primary does although a replica has next to nothing to do",
    needs: "one PostgreSQL primary with pg_stat_statements, and its replica",
    limits: "of the time that both spend on reads, the primary spends 95 %; its active sessions are 0.15 per CPU at a time, and 0.3 at least. Both, or nothing; nothing if reads are less than half of its statement time. Statements that lock rows, take numbers of a sequence, or name no table are no reads",
    source: "A server that is busy for 15 % of the time lets a statement wait for a sixth of its own time (M/M/1); below that, a replica has little to take over. A replica that serves reads has more than a twentieth of them.",
    cause: "The service has one address of the database for everything, or its pool of the replica is not used by the expensive lists.",
    remedy: "Send reads that can be some milliseconds old to the replica, unless it is kept free for a failover. What a client has just written, it reads from the primary.",
    explains: &[],
    check,
};

const OF_PRIMARY: f64 = 0.95;
const READS: f64 = 0.5;
/// Active sessions at a time: per CPU, and at least.
const ACTIVE_OF_CPU: f64 = 0.15;
const ACTIVE: f64 = 0.3;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = query::servers(evidence)?;
    let (replicas, others): (Vec<_>, Vec<_>) =
        servers.into_iter().partition(|(server, _)| query::is_replica(server));
    let lack = || Lack::of("one PostgreSQL primary and its replica");
    // Of two primaries, it is unknown which one has the replica.
    let [(primary, queries)] = others.as_slice() else { return Err(lack()) };
    if replicas.is_empty() || primary.means("replication.behind").is_empty() {
        return Err(lack());
    }
    // A replica without statements has none or does not count them: its sessions show which.
    let active = |(replica, queries): &(Watched<'_>, Vec<Query<'_>>)| {
        Some(reading(queries).max(share::backends(replica, share::ACTIVE)?))
    };
    let by_replicas: Option<f64> = replicas.iter().map(active).sum();
    let by_replicas = by_replicas.ok_or_else(|| Lack::of("samples of the activity of the replica"))?;
    let limit = evidence.cpus().map_or(ACTIVE, |cpus| (cpus * ACTIVE_OF_CPU).max(ACTIVE));
    Ok(alone(primary, queries, by_replicas, limit).into_iter().collect())
}

/// Seconds per second that statements take which only read.
fn reading(queries: &[Query<'_>]) -> f64 {
    queries.iter().filter(|query| query.only_reads()).map(|query| query.seconds * query.per_second).sum()
}

fn alone(primary: &Watched<'_>, queries: &[Query<'_>], by_replicas: f64, limit: f64) -> Option<Draft> {
    let reads = reading(queries);
    let all: f64 = queries.iter().map(|query| query.seconds * query.per_second).sum();
    if reads <= 0.0 || reads < READS * all {
        return None;
    }
    let of_primary = Signal::at_least(
        "time of reads that the primary spends, of that of all servers",
        Unit::Share,
        Some(reads / (reads + by_replicas)),
        OF_PRIMARY,
        "pg_stat_statements of primary and replica",
    )?;
    let active = Signal::at_least(
        "active sessions of the primary at a time",
        Unit::Count,
        share::backends(primary, share::ACTIVE),
        limit,
        "pg_stat_activity",
    )?;
    Some(Draft {
        subject: Subject::of(SubjectKind::Resource, primary.name(), Some(&primary.source.name)),
        statement: format!(
            "the primary does {} of the reads, which are {} of its statement time, and its replica has next to nothing to do",
            percent(of_primary.figure),
            percent(reads / all)
        ),
        signals: vec![of_primary, active],
        remedy: Remedy::advice(
            "send reads that can be some milliseconds old to the replica, and those of a client's own writes to the primary",
        ),
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, Scene};

    const LIST: &str = "SELECT id, title FROM notes WHERE list_id = $1 ORDER BY id DESC LIMIT $2";

    /// A primary that spends this many seconds per second on lists, and a replica that spends as many on its own.
    fn pair(primary: f64, replica: f64) -> Scene {
        let mut scene = Scene::steady();
        for (seconds, is_replica) in [(primary, 0.0), (replica, 1.0)] {
            let server = scene.postgres();
            scene.gauge(server, "replica", "", is_replica);
            let costs = Costs { seconds: seconds / 1_000.0, ..Costs::default() };
            scene.statement(server, "2", LIST, &costs);
            scene.counter(server, "activity.state", "active", 10.0 * seconds);
            if is_replica < 0.5 {
                scene.gauge(server, "replication.behind", "walreceiver", 2e4);
            } else {
                scene.statement(server, "1", "SELECT $1", &Costs { seconds: 1e-9, ..Costs::default() });
            }
        }
        scene
    }

    #[test]
    fn a_primary_that_does_all_reads_beside_an_idle_replica_is_found() {
        let finding = pair(0.6, 0.000_1).found("idle_replica").unwrap();
        assert_eq!(finding.evidence.len(), 2);
        assert!(finding.statement.contains("its replica has next to nothing to do"), "{}", finding.statement);
    }

    #[test]
    fn a_replica_that_reads_and_a_primary_at_ease_are_healthy() {
        assert_eq!(pair(0.6, 0.5).found("idle_replica"), None);
        assert_eq!(pair(0.1, 0.0).found("idle_replica"), None);
    }

    #[test]
    fn a_primary_that_writes_most_of_the_time_is_healthy() {
        let mut scene = pair(0.4, 0.0);
        let text = "UPDATE notes SET title = $1 WHERE id = $2";
        scene.statement(0, "3", text, &Costs { seconds: 0.000_8, ..Costs::default() });
        assert_eq!(scene.found("idle_replica"), None);
    }

    #[test]
    fn a_replica_that_hides_its_sessions_is_not_called_idle() {
        let mut scene = pair(0.6, 0.0);
        scene
            .observations
            .series
            .retain(|series| series.source == 0 || !series.name.starts_with("activity."));
        assert_eq!(scene.lacks("idle_replica").unwrap(), "samples of the activity of the replica");
    }

    #[test]
    fn a_primary_with_many_cpus_is_at_ease_with_one_active_session() {
        let mut scene = pair(0.6, 0.0);
        scene.host(16.0);
        assert_eq!(scene.found("idle_replica"), None);
    }

    #[test]
    fn a_server_without_a_replica_is_not_looked_at() {
        let mut scene = Scene::steady();
        scene.postgres();
        assert_eq!(scene.lacks("idle_replica").unwrap(), "one PostgreSQL primary and its replica");
    }
}
