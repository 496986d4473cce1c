//! Transactions that stay open while the service does something else.
//!
//! Needs samples of a PostgreSQL server's activity. Short pauses between statements of a transaction are ordinary, so a
//! share of samples alone says nothing.

use knee_core::observation::SourceKind;

use crate::bound;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::share;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "idle_in_transaction",
    finds: "transactions that are held open across other work",
    needs: "a PostgreSQL server, with 50 samples of backends that have a transaction",
    limits: "20 % of the backends with a transaction, and one at least, are idle in it; a transaction is idle for 5 ms; 20 % of the blockers are idle in transaction. Two of them, or nothing; nothing if the CPUs, or those that an observed process can use, are busy to 90 %",
    source: "5 ms are far more than the round trips between statements of one transaction on one network.",
    cause: "Between BEGIN and COMMIT the service calls another service, computes, or waits. Its connection and its locks are taken meanwhile.",
    remedy: "Do other work before BEGIN or after COMMIT; set idle_in_transaction_session_timeout as a guard.",
    explains: &["pool_exhausted", "lock_wait"],
    check,
};

const SHARE: f64 = 0.2;
const BACKENDS: f64 = 1.0;
/// Seconds per transaction.
const HELD: f64 = 0.005;
const BLOCKERS: f64 = 0.2;
/// With CPUs as busy as this, a transaction is idle because the service waits for a CPU.
const BUSY: f64 = 0.9;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut servers = evidence.needed(SourceKind::Postgres)?;
    servers.retain(|server| share::in_transaction(server) >= share::SAMPLES_MIN);
    if servers.is_empty() {
        return Err(Lack::of(
            "50 samples of backends with a transaction: the database was nearly idle, or the run is short",
        ));
    }
    Ok(servers.iter().filter_map(|server| held(evidence, server)).collect())
}

fn held(evidence: &Evidence<'_>, server: &Watched<'_>) -> Option<Draft> {
    if bound::cpus_busy(evidence).is_some_and(|busy| busy >= BUSY) {
        return None;
    }
    let (active, idle) = (share::backends(server, share::ACTIVE)?, share::backends(server, share::IDLE)?);
    let share = Some(idle / (active + idle)).filter(|_| idle >= BACKENDS);
    let sum = |name: &str| server.rises(name).iter().map(|(_, rise)| rise.amount).sum::<f64>();
    let transactions = sum("database.commits") + sum("database.rollbacks");
    let each = (transactions > 0.0).then(|| sum("database.idle_in_transaction_time") / transactions);
    let all = sum("activity.blocked_by_state");
    let blockers = server.rise("activity.blocked_by_state", share::IDLE).map(|rise| rise.amount / all);
    let signals: Vec<Signal> = [
        Signal::at_least(
            "share of backends with a transaction that are idle in it",
            Unit::Share,
            share,
            SHARE,
            "pg_stat_activity",
        ),
        Signal::at_least("idle time per transaction", Unit::Seconds, each, HELD, "pg_stat_database"),
        Signal::at_least(
            "share of blockers that are idle in transaction",
            Unit::Share,
            blockers,
            BLOCKERS,
            "pg_blocking_pids",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    if signals.len() < 2 {
        return None;
    }
    let last =
        server.rises("activity.idle_after").first().and_then(|(id, _)| server.text("statement.text", id));
    let per_request = evidence.throughput().map(|throughput| idle / throughput);
    Some(Draft {
        subject: last.map_or_else(
            || Subject::of(SubjectKind::Resource, server.name(), None),
            |text| Subject::of(SubjectKind::Statement, text, Some(&server.source.name)),
        ),
        statement: format!(
            "transactions are idle for {} each: {} of the backends with a transaction do nothing in it",
            each.map_or("an unknown time".to_owned(), seconds),
            percent(idle / (active + idle))
        ),
        signals,
        remedy: Remedy::advice(
            "do other work before BEGIN or after COMMIT, so that no transaction is open meanwhile",
        ),
        gain: Gain::saves(
            evidence.response_mean(),
            per_request,
            "the idle time of transactions, per request",
        ),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::Scene;

    #[test]
    fn a_payment_inside_a_transaction_is_found_with_its_last_statement() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.counter(server, "activity.state", "idle in transaction", 40.0);
        scene.counter(server, "activity.idle_after", "9", 40.0);
        scene.counter(server, "database.idle_in_transaction_time", "shop", 20.0);
        scene.text(server, "statement.text", "9", "UPDATE seats SET owner = $1 WHERE id = $2");
        let finding = scene.found("idle_in_transaction").unwrap();
        assert_eq!((finding.evidence.len(), finding.subject.name.starts_with("UPDATE seats")), (2, true));
    }

    #[test]
    fn transactions_that_wait_for_a_full_cpu_are_no_defect_of_their_own() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.counter(server, "activity.state", "idle in transaction", 40.0);
        scene.counter(server, "database.idle_in_transaction_time", "shop", 20.0);
        let host = scene.host(2.0);
        assert!(scene.found("idle_in_transaction").is_some());
        scene.busy_host(host, 0.97);
        assert_eq!(scene.found("idle_in_transaction"), None);
    }

    #[test]
    fn a_service_that_waits_for_the_cpu_to_which_it_is_bound_is_not_idle_by_its_own_choice() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.counter(server, "activity.state", "idle in transaction", 40.0);
        scene.counter(server, "database.idle_in_transaction_time", "shop", 9.0);
        let host = scene.host(2.0);
        let process = scene.process("shop (pid 7)");
        scene.text(process, "process.cpus.allowed", "", "1");
        scene.counter(host, "host.cpu.busy", "1", 0.5);
        assert!(scene.found("idle_in_transaction").is_some());
        scene.counter(host, "host.cpu.busy", "1", 0.97);
        assert_eq!(scene.found("idle_in_transaction"), None);
    }

    #[test]
    fn short_pauses_between_statements_are_healthy() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.counter(server, "activity.state", "idle in transaction", 12.0);
        scene.counter(server, "database.idle_in_transaction_time", "shop", 1.2);
        assert_eq!(scene.found("idle_in_transaction"), None);
    }
}
