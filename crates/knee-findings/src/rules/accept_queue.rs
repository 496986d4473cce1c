//! Connections that the kernel refused because the service accepts too slowly, or its backlog is short.
//!
//! Needs figures of the machine on which the service runs. The kernel counts overflows and repeated SYNs of all
//! programs together, so that only slow connections of the run itself show that they concern the service.

use knee_core::observation::SourceKind;
use knee_core::tally::Phase;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::Watched;

use super::syn_retransmit;

pub(super) const RULE: Rule = Rule {
    code: "accept_queue",
    finds: "a queue of accepted connections that overflows",
    needs: "figures of the machine on which the service runs (`host`)",
    limits: "one overflow of a listen queue; 3 connections of 1 s in the run; one SYN sent again from this machine. Without the connections of the run, a hint",
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
        let slow = Signal::at_least(
            "connections that took 0.98 to 1.25 s",
            Unit::Count,
            repeated,
            3.0,
            "the run: connect",
        );
        let again = Signal::at_least(
            "SYNs sent again",
            Unit::Count,
            rise("host.tcp.syn_retransmits"),
            1.0,
            "/proc/net/netstat: TCPSynRetrans",
        )
        .filter(|_| slow.is_some());
        let (whose, consequence) = match slow {
            Some(_) => ("", ": connections wait a second or longer"),
            None => (" of an unknown program", ""),
        };
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Resource, "listen queue", Some(&host.source.name)),
            statement: format!(
                "a listen queue{whose} overflowed {} times{consequence}{}",
                number(overflows.unwrap_or(0.0)),
                fullest(&host).unwrap_or_default()
            ),
            signals: [Some(full), again, slow].into_iter().flatten().collect(),
            remedy: Remedy::setting(
                "Linux",
                "net.core.somaxconn",
                "4096 or more, with the same backlog in the service",
            ),
            gain: Gain::saves(
                evidence.response_mean(),
                syn_retransmit::waited(evidence),
                "the seconds that connections waited for a repeated SYN",
            ),
        });
    }
    Ok(drafts)
}

/// The port at which most connections were seen waiting to be accepted.
fn fullest(host: &Watched<'_>) -> Option<String> {
    let ports = host.means("host.tcp.accept_queue").into_iter();
    let most = ports.filter_map(|(port, _)| Some((port, host.most("host.tcp.accept_queue", port)?)));
    let (port, waiting) = most.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (waiting >= 1.0).then(|| format!("; up to {} connections waited at port {port}", number(waiting)))
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
        let codes: Vec<&str> = scene.report().findings.iter().map(|finding| finding.code).collect();
        assert_eq!(
            codes,
            ["accept_queue"],
            "what lost packets take is not what it takes to open connections"
        );
        assert_eq!(scene.found("accept_queue").unwrap().confidence, Confidence::Strong);
        assert_eq!(scene.found("syn_retransmit"), None);
    }

    #[test]
    fn overflows_of_the_machine_alone_are_a_hint_because_they_can_be_those_of_another_program() {
        let mut scene = Scene::steady();
        let host = scene.host(4.0);
        scene.counter(host, "host.tcp.listen_overflows", "", 9.0);
        scene.counter(host, "host.tcp.syn_retransmits", "", 9.0);
        let finding = scene.found("accept_queue").unwrap();
        assert_eq!(finding.confidence, Confidence::Hint);
        assert_eq!(finding.statement, "a listen queue of an unknown program overflowed 270 times");
    }

    #[test]
    fn the_port_with_the_fullest_queue_is_named() {
        let mut scene = Scene::steady();
        let host = scene.host(4.0);
        scene.counter(host, "host.tcp.listen_overflows", "", 9.0);
        for (port, waiting) in [("22", 0.0), ("8080", 129.0)] {
            scene.gauge(host, "host.tcp.accept_queue", port, waiting);
        }
        let finding = scene.found("accept_queue").unwrap();
        assert!(
            finding.statement.ends_with("; up to 129 connections waited at port 8080"),
            "{}",
            finding.statement
        );
    }

    #[test]
    fn a_queue_that_never_overflows_is_healthy() {
        let mut scene = Scene::steady();
        scene.host(4.0);
        assert_eq!(scene.found("accept_queue"), None);
    }
}
