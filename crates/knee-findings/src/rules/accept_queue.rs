//! Connections that the kernel refused because the service accepts too slowly, or its backlog is short.
//!
//! Needs figures of the machine on which the service runs.

use knee_core::observation::SourceKind;
use knee_core::tally::Phase;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};

use super::syn_retransmit;

pub(super) const RULE: Rule = Rule {
    code: "accept_queue",
    finds: "a queue of accepted connections that overflows",
    needs: "figures of the machine on which the service runs (`host`)",
    limits: "one overflow of a listen queue; one SYN sent again from this machine; 3 connections of 1 s in the run",
    source: "The kernel counts an overflow only when a connection found the queue full (ListenOverflows).",
    cause: "More connections arrive at a time than the service accepts, or than its backlog holds: too few threads that accept, a small backlog, net.core.somaxconn.",
    remedy: "Raise the backlog of the listening socket and net.core.somaxconn; accept in more threads; keep connections open.",
    explains: &["syn_retransmit"],
    check,
};

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for host in evidence.needed(SourceKind::Host)? {
        let rise = |name: &str| host.rise(name, "").map(|rise| rise.amount);
        let overflows = rise("host.tcp.listen_overflows");
        let Some(full) =
            Signal::at_least("overflows of listen queues", Unit::Count, overflows, 1.0, "/proc/net/netstat")
        else {
            continue;
        };
        let repeated = syn_retransmit::repeated(evidence.phase(Phase::Connect)).map(|count| count as f64);
        let signals = [
            Some(full),
            Signal::at_least(
                "SYNs sent again",
                Unit::Count,
                rise("host.tcp.syn_retransmits"),
                1.0,
                "/proc/net/netstat: TCPSynRetrans",
            ),
            Signal::at_least(
                "connections that took 0.98 to 1.25 s",
                Unit::Count,
                repeated,
                3.0,
                "the run: connect",
            ),
        ];
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Resource, "listen queue", Some(&host.source.name)),
            statement: format!(
                "a listen queue overflowed {} times: connections wait a second or longer",
                number(overflows.unwrap_or(0.0))
            ),
            signals: signals.into_iter().flatten().collect(),
            remedy: Remedy::setting(
                "Linux",
                "net.core.somaxconn",
                "4096 or more, with the same backlog in the service",
            ),
            gain: None,
        });
    }
    Ok(drafts)
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::Scene;

    #[test]
    fn overflows_explain_connections_of_one_second() {
        let mut opened = 0;
        let mut scene = Scene::with(|sample, _, _| {
            opened += 1;
            if opened % 10 == 0 {
                sample.connect = Some(if opened % 100 == 0 { 1.02 } else { 0.000_3 });
            }
        });
        let host = scene.host(4.0);
        scene.counter(host, "host.tcp.listen_overflows", "", 9.0);
        scene.counter(host, "host.tcp.syn_retransmits", "", 9.0);
        assert_eq!(scene.found("accept_queue").unwrap().confidence, Confidence::Strong);
        assert_eq!(scene.found("syn_retransmit"), None);
    }

    #[test]
    fn a_queue_that_never_overflows_is_healthy() {
        let mut scene = Scene::steady();
        scene.host(4.0);
        assert_eq!(scene.found("accept_queue"), None);
    }
}
