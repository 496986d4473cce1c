//! One row that every request changes: a counter, a stock, a last-used time.
//!
//! Needs samples of a PostgreSQL server's activity.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::percent;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::query::{self, Query};
use crate::share;
use crate::watched::Watched;

use super::lock_wait;

pub(super) const RULE: Rule = Rule {
    code: "hot_row",
    finds: "one row that many transactions change at a time",
    needs: "a PostgreSQL server, with 10 samples of active backends",
    limits: "10 % of the active backends execute one statement that changes rows and wait for a row (Lock:tuple, Lock:transactionid), with the certainty that `lock_wait` asks for; half of the known blockers, if there are any, execute the same statement, or COMMIT; a call reads 100 blocks at most and takes 5 ms",
    source: "A transaction that waits for a row of another shows transactionid, and the next ones in its queue tuple (PostgreSQL documentation, wait events).",
    cause: "All requests update the same row. Each waits until the transaction before it has committed.",
    remedy: "Do not write with every request: gather counts in memory, write only changes, spread a counter over several rows, commit right after the update.",
    explains: &["lock_wait", "pool_exhausted"],
    check,
};

const SAME: f64 = 0.5;
const BLOCKS: f64 = 100.0;
/// Seconds.
const SLOW: f64 = 0.005;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = lock_wait::seen(evidence)?;
    let queries = query::servers(evidence).unwrap_or_default();
    let of = |server: &Watched<'_>| {
        let known = queries.iter().find(|(other, _)| std::ptr::eq(other.source, server.source));
        known.map(|(_, queries)| queries.as_slice()).unwrap_or_default()
    };
    Ok(servers.iter().filter_map(|server| hot(evidence, server, of(server))).collect())
}

fn hot(evidence: &Evidence<'_>, server: &Watched<'_>, queries: &[Query<'_>]) -> Option<Draft> {
    let id = waiting_for_rows(server)?;
    let of_it = |label: &str| waits_for_row(label).is_some_and(|statement| statement == id);
    let waiting = share::certain(server, "activity.statement.wait", lock_wait::SHARE, of_it)?;
    let text = server.text("statement.text", id).unwrap_or("");
    let verb = crate::statement::read(text).verb;
    if !(verb == "update" || verb == "delete" || text.to_lowercase().contains("for update")) {
        return None;
    }
    let blocked = server.rises("activity.blocked");
    let waits_in_it = |label: &str| label.split_once(" by ").is_some_and(|(waits, _)| waits == id);
    let all: f64 = blocked.iter().filter(|(label, _)| waits_in_it(label)).map(|(_, rise)| rise.amount).sum();
    // Who commits has changed the row before; a transaction that does other work meanwhile is another defect.
    let is_short = |blocker: &str| {
        let text = server.text("statement.text", blocker);
        blocker == id || text.is_some_and(|text| text.trim().eq_ignore_ascii_case("commit"))
    };
    let short = |label: &str| label.split_once(" by ").is_some_and(|(_, blocker)| is_short(blocker));
    let same =
        blocked.iter().filter(|(label, _)| waits_in_it(label) && short(label)).map(|(_, rise)| rise.amount);
    let same = (all > 0.0).then(|| same.sum::<f64>() / all);
    // Known blockers that do something else contradict it: `lock_wait` names them.
    if same.is_some_and(|same| same < SAME) {
        return None;
    }
    let query = queries.iter().find(|query| query.id == id);
    let few_blocks = query.filter(|query| query.seconds >= SLOW).map(|query| query.blocks);
    let signals = [
        Signal::at_least(
            "share of active backends that wait for a row in this statement",
            Unit::Share,
            Some(waiting),
            lock_wait::SHARE,
            "pg_stat_activity",
        ),
        Signal::at_least(
            "share of its blockers that execute it, too, or commit",
            Unit::Share,
            same,
            SAME,
            "pg_blocking_pids",
        ),
        Signal::at_most(
            "blocks read per call, although a call takes 5 ms or more",
            Unit::Count,
            few_blocks,
            BLOCKS,
            "pg_stat_statements",
        ),
    ];
    Some(Draft {
        subject: Subject::of(SubjectKind::Statement, text, Some(&server.source.name)),
        statement: format!(
            "{} of the active backends wait for a row{} that others change in the same statement",
            percent(waiting),
            of_table(server, text)
        ),
        signals: signals.into_iter().flatten().collect(),
        remedy: Remedy::advice(
            "do not write this row with every request: gather changes, spread the counter, or commit right after it",
        ),
        gain: lock_wait::waits_saved(evidence, server, waiting),
    })
}

/// ` of TABLE`, if the locks that are waited for say of which table of the statement the row is; else empty.
fn of_table(server: &Watched<'_>, text: &str) -> String {
    let tables = crate::statement::read(text).tables;
    let is_named = |table: &&str| {
        let bare = table.rsplit('.').next();
        tables.iter().any(|named| named == table || bare == Some(named.as_str()))
    };
    let locks = server.rises("activity.blocked.lock");
    let awaited = locks.iter().filter(|(_, rise)| rise.amount > 0.0);
    let mut of_rows = awaited.filter_map(|(label, _)| table_of_row(label));
    of_rows.find(is_named).map_or_else(String::new, |table| format!(" of {table}"))
}

/// The table of a lock on a row, or on the transaction that changed the row.
fn table_of_row(lock: &str) -> Option<&str> {
    let (_, what) = lock.split_once(" on ")?;
    what.strip_prefix("tuple of ").or_else(|| what.strip_prefix("transactionid of "))
}

/// The statement of a label whose samples wait for a row.
fn waits_for_row(label: &str) -> Option<&str> {
    let (id, wait) = label.split_once(' ')?;
    matches!(wait, "Lock:tuple" | "Lock:transactionid").then_some(id)
}

/// The statement with the most samples that wait for a row.
fn waiting_for_rows<'a>(server: &Watched<'a>) -> Option<&'a str> {
    let mut by_statement: Vec<(&str, f64)> = Vec::new();
    for (label, rise) in server.rises("activity.statement.wait") {
        let Some(id) = waits_for_row(label) else { continue };
        match by_statement.iter_mut().find(|(known, _)| *known == id) {
            Some((_, samples)) => *samples += rise.amount,
            None => by_statement.push((id, rise.amount)),
        }
    }
    by_statement.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::{Costs, Scene};

    #[test]
    fn a_counter_that_every_request_updates_is_found_and_explains_its_lock_waits() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let text = "UPDATE organizations SET monthly_count = monthly_count + 1 WHERE id = $1";
        scene.statement(server, "9", text, &Costs { seconds: 0.03, blocks: 6.0, ..Costs::default() });
        scene.counter(server, "activity.state", "active", 200.0);
        scene.counter(server, "activity.wait", "Lock:transactionid", 30.0);
        scene.counter(server, "activity.wait", "Lock:tuple", 140.0);
        scene.counter(server, "activity.statement.wait", "9 Lock:transactionid", 30.0);
        scene.counter(server, "activity.statement.wait", "9 Lock:tuple", 140.0);
        scene.counter(server, "activity.blocked", "9 by 9", 160.0);
        let finding = scene.found("hot_row").unwrap();
        assert_eq!(finding.confidence, Confidence::Strong);
        assert_eq!(finding.subject.name, text);
        assert_eq!(scene.found("lock_wait"), None);
    }

    #[test]
    fn the_table_of_the_row_is_said_if_it_is_one_of_the_statement() {
        let of = |lock: &str| {
            let mut scene = Scene::steady();
            let server = scene.postgres();
            let text = "UPDATE sold SET tickets = tickets + 1 WHERE event = $1";
            scene.statement(server, "9", text, &Costs { seconds: 0.03, blocks: 6.0, ..Costs::default() });
            scene.counter(server, "activity.state", "active", 100.0);
            scene.counter(server, "activity.statement.wait", "9 Lock:transactionid", 60.0);
            scene.counter(server, "activity.blocked", "9 by 9", 55.0);
            scene.counter(server, "activity.blocked.lock", lock, 55.0);
            scene.found("hot_row").unwrap().statement
        };
        for lock in ["ExclusiveLock on tuple of public.sold", "ShareLock on transactionid of public.sold"] {
            assert_eq!(
                of(lock),
                "60 % of the active backends wait for a row of public.sold that others change in the same statement"
            );
        }
        for lock in ["ExclusiveLock on tuple of public.other", "AccessShareLock on public.sold"] {
            assert!(of(lock).contains(" wait for a row that others change"), "{lock}");
        }
    }

    #[test]
    fn a_row_whose_holder_commits_is_hot_and_one_that_is_held_across_other_work_is_not() {
        let of = |blocker: &str| {
            let mut scene = Scene::steady();
            let server = scene.postgres();
            let text = "UPDATE sold SET tickets = tickets + 1 WHERE event = $1";
            scene.statement(server, "9", text, &Costs { seconds: 0.03, blocks: 6.0, ..Costs::default() });
            scene.text(server, "statement.text", "10", blocker);
            scene.counter(server, "activity.state", "active", 100.0);
            scene.counter(server, "activity.statement.wait", "9 Lock:transactionid", 60.0);
            scene.counter(server, "activity.blocked", "9 by 10", 55.0);
            scene.found("hot_row").map(|finding| finding.confidence)
        };
        assert_eq!(of("COMMIT"), Some(Confidence::Strong));
        assert_eq!(of("SELECT pg_sleep($1)"), None);
    }

    #[test]
    fn updates_of_different_rows_are_healthy() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.statement(server, "9", "UPDATE products SET price = $1 WHERE id = $2", &Costs::default());
        scene.counter(server, "activity.statement.wait", "9 Lock:transactionid", 0.1);
        assert_eq!(scene.found("hot_row"), None);
    }
}
