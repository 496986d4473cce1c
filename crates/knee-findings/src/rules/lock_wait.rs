//! Statements that wait for locks of other transactions.
//!
//! Needs samples of a PostgreSQL server's activity. A lock on one row is `hot_row`.

use knee_core::observation::SourceKind;

use crate::bound;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::percent;
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::share;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "lock_wait",
    finds: "statements that wait for locks",
    needs: "a PostgreSQL server, with 10 samples of active backends",
    limits: "10 % of the active backends wait for a lock, with a certainty of 99 % (Wilson; backends of one look count as one sample), in 5 samples and between 3 readings at least; half of these have a known blocker; the CPUs, or those that an observed process can use, are busy to 70 % at most; one deadlock",
    source: "Below 10 % of the samples, lock waits change a mean response time less than runs differ. How many samples are needed follows from the share: 5 of 10 are more than 10 %, and so are 9 of 40.",
    cause: "Transactions change the same rows, or hold locks for long: work of the service inside a transaction, DDL, SELECT FOR UPDATE without SKIP LOCKED.",
    remedy: "Shorten transactions, take locks late and in one order, use SKIP LOCKED for queues.",
    explains: &["pool_exhausted"],
    check,
};

pub(super) const SHARE: f64 = 0.1;
const KNOWN: f64 = 0.5;
const BUSY: f64 = 0.7;
/// Share of the samples with a known blocker from which on one statement blocks most of them.
const MOST: f64 = 0.5;

/// The servers with enough samples of activity.
pub(super) fn sampled<'s>(evidence: &'s Evidence<'_>) -> Result<Vec<Watched<'s>>, Lack> {
    let mut servers = evidence.needed(SourceKind::Postgres)?;
    servers.retain(|server| share::active(server).is_some());
    if servers.is_empty() {
        return Err(Lack::of(
            "50 samples of active backends: the database was nearly idle, or the run is short",
        ));
    }
    Ok(servers)
}

/// The servers with some samples of activity, for rules that count how sure a share is.
pub(super) fn seen<'s>(evidence: &'s Evidence<'_>) -> Result<Vec<Watched<'s>>, Lack> {
    let mut servers = evidence.needed(SourceKind::Postgres)?;
    servers.retain(|server| share::some_active(server).is_some());
    if servers.is_empty() {
        return Err(Lack::of(
            "10 samples of active backends: the database was nearly idle, or the run is short",
        ));
    }
    Ok(servers)
}

/// The statement that waits most and the one that blocks it, with the samples of the pair.
pub(super) fn pair<'a>(server: &Watched<'a>) -> Option<(&'a str, &'a str, f64)> {
    let blocked = server.rises("activity.blocked");
    let (label, rise) = blocked.first()?;
    let (waits, blocks) = label.split_once(" by ")?;
    (rise.amount > 0.0).then_some((waits, blocks, rise.amount))
}

/// The lock for which most backends wait, as `MODE on RELATION`, with its share of those that are known.
fn awaited<'a>(server: &Watched<'a>) -> Option<(&'a str, f64)> {
    let locks = server.rises("activity.blocked.lock");
    let all: f64 = locks.iter().map(|(_, rise)| rise.amount).sum();
    let (lock, rise) = locks.first()?;
    (rise.amount > 0.0).then_some((*lock, rise.amount / all))
}

/// The same for a sentence; empty if it is not known.
fn awaited_in_words(server: &Watched<'_>) -> String {
    awaited(server).map_or_else(String::new, |(lock, share)| {
        let part = if share >= MOST { "most" } else { "some" };
        format!(" ({part} for {lock})")
    })
}

pub(super) fn is_lock(wait: &str) -> bool {
    wait.starts_with("Lock:")
}

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for server in seen(evidence)? {
        let Some(waiting) = share::certain(&server, "activity.wait", SHARE, is_lock) else { continue };
        let all: f64 = server.rises("activity.blocked").iter().map(|(_, rise)| rise.amount).sum();
        let known = share::some_active(&server).map(|active| all / (active * waiting));
        let deadlocks: f64 = server.rises("database.deadlocks").iter().map(|(_, rise)| rise.amount).sum();
        let text = |id: &str| server.text("statement.text", id).unwrap_or("an unknown statement");
        let (subject, blocker) = pair(&server).map_or(("", String::new()), |(waits, blocks, _)| {
            let part = if blocks_most(&server, blocks, all) { "most" } else { "some" };
            (text(waits), format!(", {part} of them for: {}", text(blocks)))
        });
        let signals = [
            Signal::at_least(
                "share of active backends that wait for a lock",
                Unit::Share,
                Some(waiting),
                SHARE,
                "pg_stat_activity",
            ),
            Signal::at_least(
                "share of these with a known blocker",
                Unit::Share,
                known,
                KNOWN,
                "pg_blocking_pids",
            ),
            Signal::at_most(
                "share of the CPUs that is busy",
                Unit::Share,
                bound::cpus_busy(evidence),
                BUSY,
                "the machine",
            ),
            Signal::at_least("deadlocks", Unit::Count, Some(deadlocks), 1.0, "pg_stat_database"),
        ];
        let name = if subject.is_empty() { server.name() } else { subject.to_owned() };
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Statement, name, Some(&server.source.name)),
            statement: format!(
                "{} of the active backends wait for locks{}{blocker}",
                percent(waiting),
                awaited_in_words(&server)
            ),
            signals: signals.into_iter().flatten().collect(),
            remedy: Remedy::advice(
                "shorten the transactions that hold the locks, and take locks late and in one order",
            ),
            gain: waits_saved(evidence, &server, waiting),
        });
    }
    Ok(drafts)
}

/// Whether most of `all` samples with a known blocker are blocked by this statement.
fn blocks_most(server: &Watched<'_>, blocker: &str, all: f64) -> bool {
    let is_by_it = |label: &str| label.split_once(" by ").is_some_and(|(_, by)| by == blocker);
    let samples = server.rises("activity.blocked").into_iter().filter(|(label, _)| is_by_it(label));
    samples.map(|(_, rise)| rise.amount).sum::<f64>() >= MOST * all
}

/// What waits of this share of the active backends cost per request: backends x share / throughput.
pub(super) fn waits_saved(evidence: &Evidence<'_>, server: &Watched<'_>, waiting: f64) -> Option<Gain> {
    let active = share::backends(server, "active")?;
    let per_request = active * waiting / evidence.throughput()?;
    Gain::saves(evidence.response_mean(), Some(per_request), "the time that backends wait, per request")
}

#[cfg(test)]
mod tests {
    use knee_core::schedule::Curve;

    use crate::Confidence;
    use crate::testing::Scene;

    #[test]
    fn backends_that_wait_for_locks_are_found_with_the_statement_that_blocks_them() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.counter(server, "activity.state", "active", 60.0);
        scene.counter(server, "activity.wait", "Lock:relation", 40.0);
        scene.counter(server, "activity.blocked", "1 by 9", 40.0);
        scene.text(server, "statement.text", "9", "LOCK TABLE products");
        let finding = scene.found("lock_wait").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert_eq!(
            finding.statement,
            "67 % of the active backends wait for locks, most of them for: LOCK TABLE products"
        );
    }

    #[test]
    fn the_lock_that_most_of_them_wait_for_is_said_with_its_table() {
        let locks = |advisory: f64| {
            let mut scene = Scene::steady();
            let server = scene.postgres();
            scene.counter(server, "activity.state", "active", 60.0);
            scene.counter(server, "activity.wait", "Lock:relation", 40.0);
            scene.counter(server, "activity.blocked", "1 by 9", 40.0);
            scene.text(server, "statement.text", "9", "ALTER TABLE tasks ADD note text");
            scene.counter(server, "activity.blocked.lock", "AccessShareLock on public.tasks", 30.0);
            for place in 0..4 {
                let label = format!("ExclusiveLock on advisory {place}");
                scene.counter(server, "activity.blocked.lock", &label, advisory);
            }
            scene.found("lock_wait").unwrap().statement
        };
        assert_eq!(
            locks(2.0),
            "67 % of the active backends wait for locks (most for AccessShareLock on public.tasks), most of them for: \
             ALTER TABLE tasks ADD note text"
        );
        assert!(locks(10.0).contains("(some for AccessShareLock on public.tasks)"));
    }

    #[test]
    fn a_statement_that_blocks_a_third_of_them_does_not_block_most() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.counter(server, "activity.state", "active", 60.0);
        scene.counter(server, "activity.wait", "Lock:relation", 40.0);
        for (pair, samples) in [("1 by 9", 15.0), ("1 by 8", 14.0), ("1 by 7", 11.0)] {
            scene.counter(server, "activity.blocked", pair, samples);
        }
        scene.text(server, "statement.text", "9", "LOCK TABLE products");
        let finding = scene.found("lock_wait").unwrap();
        assert!(
            finding.statement.ends_with("some of them for: LOCK TABLE products"),
            "{}",
            finding.statement
        );
    }

    /// Looks with few active backends, of which some wait for a table.
    fn few(active: f64, waits: f64) -> Scene {
        let mut scene = Scene::sized(10, |_| 40, Curve::constant(4.0), |_, _, _| {});
        let server = scene.postgres();
        scene.counter(server, "activity.state", "active", active / 10.0);
        scene.counter(server, "activity.wait", "Lock:relation", waits / 10.0);
        scene.counter(server, "activity.blocked", "1 by 9", waits / 10.0);
        scene.text(server, "statement.text", "9", "REFRESH MATERIALIZED VIEW best_sellers");
        scene
    }

    #[test]
    fn few_samples_are_enough_where_most_of_them_wait() {
        let finding = few(30.0, 14.0).found("lock_wait").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(finding.statement.ends_with("for: REFRESH MATERIALIZED VIEW best_sellers"));
        assert_eq!(few(30.0, 6.0).found("lock_wait"), None, "20 % of 30 can be chance");
        assert_eq!(few(12.0, 4.0).found("lock_wait"), None, "four samples");
    }

    #[test]
    fn one_incident_is_not_what_limits_a_service() {
        let mut scene = few(100.0, 0.0);
        scene.stepped(0, "activity.wait", "Lock:relation", |second| if second == 4 { 60.0 } else { 0.0 });
        scene.stepped(0, "activity.blocked", "1 by 9", |second| if second == 4 { 60.0 } else { 0.0 });
        assert_eq!(scene.found("lock_wait"), None);
    }

    #[test]
    fn a_lock_now_and_then_is_healthy_and_an_idle_server_cannot_say() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.counter(server, "activity.wait", "Lock:relation", 0.2);
        assert_eq!(scene.found("lock_wait"), None);
        scene.counter(server, "activity.state", "active", 0.1);
        assert!(scene.lacks("lock_wait").unwrap().contains("nearly idle"));
    }
}
