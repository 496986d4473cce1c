//! Connections that an nginx accepts and closes at once, because it has no more room for them.
//!
//! Needs the page `stub_status`. Does not know which limit was reached: the error log of nginx names it.

use knee_core::observation::SourceKind;
use knee_core::outcome::Fault;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "dropped_connections",
    finds: "connections that nginx accepts and closes without an answer",
    needs: "the status page of an nginx",
    limits: "nginx handles 5 connections fewer than it accepts; 5 requests of the load end because their connection was reset, or closed before an answer. The second alone is nothing",
    source: "Both counts of nginx are the same unless a limit of it was reached (nginx documentation, ngx_http_stub_status_module). A connection that is between both counts while the page is read is no dropped one.",
    cause: "worker_connections is the limit of each worker process, 512 if it is not set. A connection to the service behind nginx counts as well, so that a request can need two. An open connection without a request counts, too.",
    remedy: "Raise worker_connections, and worker_rlimit_nofile with it. Keep fewer idle connections (keepalive_timeout), and find out why requests stay open.",
    explains: &[],
    check,
};

const DROPPED: f64 = 5.0;
const BROKEN: f64 = 5.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Nginx)?;
    Ok(servers.iter().filter_map(|nginx| dropped(evidence, nginx)).collect())
}

fn dropped(evidence: &Evidence<'_>, nginx: &Watched<'_>) -> Option<Draft> {
    let accepted = nginx.rise("nginx.accepts", "")?.amount;
    let dropped = Signal::at_least(
        "connections that were accepted and not handled",
        Unit::Count,
        Some(accepted - nginx.rise("nginx.handled", "")?.amount),
        DROPPED,
        "stub_status",
    )?;
    let broken = Signal::at_least(
        "requests whose connection was reset, or closed before an answer",
        Unit::Count,
        Some(broken(evidence) as f64),
        BROKEN,
        "the run",
    );
    Some(Draft {
        subject: Subject::of(SubjectKind::Resource, nginx.name(), None),
        statement: format!(
            "of {} connections that nginx accepted, it closed {} without an answer: a limit such as worker_connections was \
             reached",
            number(accepted),
            number(dropped.figure),
        ),
        signals: [Some(dropped), broken].into_iter().flatten().collect(),
        remedy: Remedy::advice(
            "raise worker_connections and worker_rlimit_nofile of nginx, and keep fewer idle connections",
        ),
        gain: None,
    })
}

/// Requests of the load that ended without an answer because of their connection.
fn broken(evidence: &Evidence<'_>) -> u64 {
    let is_broken = |fault: Fault| matches!(fault, Fault::Reset | Fault::ClosedEarly);
    evidence.all().faults.iter().filter(|tally| is_broken(tally.fault)).map(|tally| tally.count).sum()
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SourceKind;
    use knee_core::outcome::Fault;

    use crate::Confidence;
    use crate::testing::Scene;

    /// Ten connections per second, of which so many are dropped, and requests that end without an answer.
    fn behind_nginx(dropped: f64, broken: u64) -> Scene {
        let mut scene = Scene::steady();
        scene.run.measured.endpoints[0].note_fault(Fault::ClosedEarly, broken, None);
        let nginx = scene.source(SourceKind::Nginx, "nginx:http://127.0.0.1/status");
        scene.counter(nginx, "nginx.accepts", "", 10.0);
        scene.counter(nginx, "nginx.handled", "", 10.0 - dropped);
        scene
    }

    #[test]
    fn connections_that_nginx_has_no_room_for_are_found_with_the_requests_that_lost_theirs() {
        let finding = behind_nginx(2.0, 60).found("dropped_connections").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        let begin = "of 300 connections that nginx accepted, it closed 60 without an answer";
        assert!(finding.statement.starts_with(begin), "{}", finding.statement);
        let others = behind_nginx(2.0, 0).found("dropped_connections").unwrap();
        assert_eq!(others.confidence, Confidence::Hint, "connections of other clients");
    }

    #[test]
    fn an_nginx_that_handles_all_connections_is_healthy_whatever_the_service_behind_it_does() {
        assert_eq!(behind_nginx(0.0, 60).found("dropped_connections"), None);
        assert_eq!(behind_nginx(0.03, 0).found("dropped_connections"), None, "one between both counts");
        let lacks = Scene::steady().lacks("dropped_connections").unwrap();
        assert_eq!(lacks, "the status page of an nginx (`--observe nginx:http://...`)");
    }
}
