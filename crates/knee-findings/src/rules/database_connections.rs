//! Connections to the database that are opened for single requests.
//!
//! Needs a PostgreSQL server of version 14 or later. Looks at the second half of the measured time, because every pool
//! is filled at first. A pool that grows even then keeps its new connections, so these do not count.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::watched::{Rise, Watched};

pub(super) const RULE: Rule = Rule {
    code: "database_connections",
    finds: "connections to the database that are opened again and again",
    needs: "a PostgreSQL server of version 14 or later",
    limits: "0.05 connections opened per response in the second half of the run, without those by which a pool grows; half of the client backends are younger than 10 s; a connection has 10 transactions at most",
    source: "PostgreSQL forks a process for each connection, which takes it milliseconds; one in 20 requests already shows.",
    cause: "The service has no pool, or its pool closes idle connections too early.",
    remedy: "Keep connections in a pool in the service, or put a PgBouncer before the database.",
    explains: &[],
    check,
};

const PER_REQUEST: f64 = 0.05;
const YOUNG: f64 = 0.5;
/// Transactions per connection that was opened.
const TRANSACTIONS: f64 = 10.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut counted = false;
    let mut drafts = Vec::new();
    for server in evidence.needed(SourceKind::Postgres)? {
        let server = server.second_half();
        let Some((_, sessions)) = server.rises("database.sessions").into_iter().next() else { continue };
        counted = true;
        let sessions = without_growth(&server, sessions);
        let opened = evidence.per_request(sessions).filter(|opened| *opened >= PER_REQUEST);
        let Some(opened) = opened else { continue };
        let backends: f64 = server.means("activity.backends").iter().map(|(_, mean)| mean).sum();
        let young = server.mean("activity.backends.young", "").map(|young| young / backends.max(1.0));
        // Connections that live for a request are rarely seen, so that their age says nothing.
        let commits = server.rises("database.commits").into_iter().next();
        let each = commits.map(|(_, commits)| commits.amount / sessions.amount);
        let signals = [
            Signal::at_least(
                "connections opened per response",
                Unit::Count,
                Some(opened),
                PER_REQUEST,
                "pg_stat_database",
            ),
            Signal::at_least(
                "share of backends younger than 10 s",
                Unit::Share,
                young,
                YOUNG,
                "pg_stat_activity",
            ),
            Signal::at_most(
                "transactions per connection opened",
                Unit::Count,
                each,
                TRANSACTIONS,
                "pg_stat_database",
            ),
        ];
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Resource, server.name(), None),
            statement: format!(
                "the service opens {} connections to the database per response",
                number(opened)
            ),
            signals: signals.into_iter().flatten().collect(),
            remedy: Remedy::advice(
                "keep connections in a pool in the service, or put a PgBouncer before the database",
            ),
            gain: None,
        });
    }
    if counted { Ok(drafts) } else { Err(Lack::of("counts of sessions: PostgreSQL 14 and later have them")) }
}

/// The connections that were opened, without those by which a pool grew until it was full. Counts are read seldom, so
/// that the first one of a short run can be older than its second half.
fn without_growth(server: &Watched<'_>, sessions: Rise) -> Rise {
    let kept = server.growth("activity.backends", sessions.from, sessions.to);
    Rise { amount: (sessions.amount - kept).max(0.0), ..sessions }
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SeriesKind;
    use knee_core::schedule::Curve;
    use knee_core::unit::Nanos;

    use crate::testing::Scene;
    use crate::{Confidence, Finding};

    /// A service with 20 requests and transactions per second. From `second` on, its pool opens four connections per
    /// second until it has 50; `more` per second are closed again.
    fn growing_pool(second: u64, more: f64) -> Scene {
        let mut scene = Scene::sized(30, |_| 20, Curve::constant(10.0), |_, _, _| {});
        let server = scene.postgres();
        let size = |at: u64| (at.saturating_sub(second) * 4).min(50);
        let sizes = (0..=30).map(|at| (Nanos::from_secs(at), size(at) as f64)).collect();
        scene.points(server, "activity.backends", "shop", SeriesKind::Gauge, sizes);
        scene.stepped(server, "database.sessions", "shop", |at| (size(at + 1) - size(at)) as f64 + more);
        scene.counter(server, "database.commits", "shop", 20.0);
        scene.gauge(server, "activity.backends.young", "", 25.0);
        scene
    }

    fn found(scene: &Scene) -> Option<Finding> {
        scene.found("database_connections")
    }

    #[test]
    fn a_pool_that_grows_with_the_load_is_no_finding_and_a_connection_per_request_beside_it_is() {
        // 50 connections in the second half, in which there are 300 responses.
        assert_eq!(found(&growing_pool(15, 0.0)), None);
        assert!(found(&growing_pool(15, 20.0)).is_some());
    }

    #[test]
    fn a_pool_that_is_filled_at_the_start_is_no_finding_where_counts_were_read_before_and_after_only() {
        let mut scene = growing_pool(0, 0.0);
        let series = scene.observations.series.iter_mut().find(|series| series.name == "database.sessions");
        let points = &mut series.unwrap().points;
        *points = vec![points[0], points[30]];
        // 50 connections and 600 responses.
        assert_eq!(found(&scene), None);
    }

    #[test]
    fn a_pool_that_is_filled_when_the_load_begins_is_no_finding() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.counter(server, "database.sessions", "shop", 1_000.0);
        let series = scene.observations.series.iter_mut().find(|series| series.name == "database.sessions");
        let points = &mut series.unwrap().points;
        let filled = points[points.len() / 3].1;
        for (_, opened) in points.iter_mut() {
            *opened = opened.min(filled);
        }
        scene.gauge(server, "activity.backends.young", "", 9.0);
        assert_eq!(scene.found("database_connections"), None);
    }

    #[test]
    fn a_connection_per_request_is_found_and_a_pool_that_reconnects_now_and_then_is_not() {
        let opened = |per_second, young| {
            let mut scene = Scene::steady();
            let server = scene.postgres();
            scene.counter(server, "database.sessions", "shop", per_second);
            scene.gauge(server, "activity.backends.young", "", young);
            scene.found("database_connections")
        };
        assert_eq!(opened(1_000.0, 9.0).unwrap().confidence, Confidence::Strong);
        assert_eq!(
            opened(1_000.0, 0.0).unwrap().confidence,
            Confidence::Likely,
            "too short-lived to be seen"
        );
        assert_eq!(opened(2.0, 1.0), None);
    }
}
