//! Transactions that wait for each other, until PostgreSQL ends one of them.
//!
//! Needs a PostgreSQL server. Transactions that wait in one direction only are `lock_wait` and `hot_row`.

use knee_core::observation::SourceKind;
use knee_core::outcome::Outcome;
use knee_core::unit::Nanos;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::histogram::count_within;
use crate::share;
use crate::watched::Watched;

use super::lock_wait;

pub(super) const RULE: Rule = Rule {
    code: "deadlocks",
    finds: "transactions that wait for each other in a circle",
    needs: "a PostgreSQL server",
    limits: "three deadlocks in the run, and one per 1,000 responses; 10 % of the active backends wait for a lock, with the certainty that `lock_wait` asks for; at least half as many responses as deadlocks take deadlock_timeout or longer. The first two, or nothing",
    source: "PostgreSQL looks for a circle only after deadlock_timeout (1 s by default), and ends one transaction of it: each deadlock costs a request at least this time. One can come by chance; three have a cause that stays.",
    cause: "Transactions lock the same rows in different orders: each holds what another needs. The transaction that is ended is tried again or fails, and all that wait for its rows wait as long.",
    remedy: "Lock rows in one order everywhere: sort their keys first, or lock them together with SELECT ... ORDER BY key FOR UPDATE. Keep transactions short.",
    explains: &["hot_row", "lock_wait", "pool_exhausted", "two_populations"],
    check,
};

const DEADLOCKS: f64 = 3.0;
/// Per response: more seldom, they are no limit of the service.
const OFTEN: f64 = 0.001;
/// Responses that take the timeout, per deadlock.
const SLOW: f64 = 0.5;
/// The default of `deadlock_timeout`.
const TIMEOUT: Nanos = Nanos::from_secs(1);

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Postgres)?;
    Ok(servers.iter().filter_map(|server| deadlocked(evidence, server)).collect())
}

fn deadlocked(evidence: &Evidence<'_>, server: &Watched<'_>) -> Option<Draft> {
    let deadlocks: f64 = server.rises("database.deadlocks").iter().map(|(_, rise)| rise.amount).sum();
    let many = Signal::at_least("deadlocks", Unit::Count, Some(deadlocks), DEADLOCKS, "pg_stat_database")?;
    if deadlocks < OFTEN * evidence.answered() as f64 {
        return None;
    }
    let timeout = server.text("setting", "deadlock_timeout").and_then(duration).unwrap_or(TIMEOUT);
    let slow: u64 = [Outcome::Ok, Outcome::HttpError]
        .iter()
        .map(|outcome| &evidence.all().outcomes[*outcome as usize].service)
        .map(|service| count_within(service, timeout, Nanos(u64::MAX)))
        .sum();
    let waiting = share::certain(server, "activity.wait", lock_wait::SHARE, lock_wait::is_lock);
    let waits_signal = Signal::at_least(
        "share of active backends that wait for a lock",
        Unit::Share,
        waiting,
        lock_wait::SHARE,
        "pg_stat_activity",
    )?;
    // Any overload has slow responses, so these alone are no evidence.
    let slow = Signal::at_least(
        "responses that take deadlock_timeout or longer, per deadlock",
        Unit::Count,
        Some(slow as f64 / deadlocks),
        SLOW,
        "the run: service time",
    );
    let signals: Vec<Signal> = [many, waits_signal].into_iter().chain(slow).collect();
    let (waits, _, _) = lock_wait::pair(server).unwrap_or(("", "", 0.0));
    let subject = server.text("statement.text", waits).map_or_else(
        || Subject::of(SubjectKind::Resource, server.name(), None),
        |text| Subject::of(SubjectKind::Statement, text, Some(&server.source.name)),
    );
    let saved = waiting.and_then(|waiting| lock_wait::waits_saved(evidence, server, waiting));
    Some(Draft {
        subject,
        statement: format!(
            "{} deadlocks: transactions wait for each other, and after {} PostgreSQL ends one of them",
            number(deadlocks),
            seconds(timeout.as_secs_f64())
        ),
        signals,
        remedy: Remedy::advice(
            "lock rows in one order everywhere: sort their keys first, or lock them together with ORDER BY key FOR UPDATE",
        ),
        gain: saved.or_else(|| {
            let each = deadlocks * timeout.as_secs_f64() / evidence.answered() as f64;
            Gain::saves(
                evidence.response_mean(),
                Some(each),
                "deadlock_timeout of each deadlock, per request",
            )
        }),
    })
}

/// A duration as `SHOW` prints it: `1s`, `200ms`, `1min`.
fn duration(text: &str) -> Option<Nanos> {
    let end = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (count, unit) = text.split_at(end);
    let unit = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "min" => 60.0,
        _ => return None,
    };
    Some(Nanos::from_secs_f64(count.parse::<f64>().ok()? * unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::testing::{Costs, Scene};

    /// One request of 100 ends in a deadlock, for each of which as many responses take the timeout.
    fn baskets(deadlocks: f64, slow: f64) -> Scene {
        let mut scene = Scene::with(move |sample, _, dice| {
            if dice.share() < 0.01 * slow {
                sample.wait += 1.0;
            }
        });
        let server = scene.postgres();
        let text = "UPDATE shelves SET items = items - 1 WHERE id = $1";
        scene.statement(server, "9", text, &Costs { seconds: 0.01, blocks: 6.0, ..Costs::default() });
        scene.counter(server, "activity.state", "active", 100.0);
        for (name, label) in
            [("activity.wait", "Lock:transactionid"), ("activity.statement.wait", "9 Lock:transactionid")]
        {
            scene.counter(server, name, label, 80.0);
        }
        scene.counter(server, "activity.blocked", "9 by 9", 80.0);
        scene.counter(server, "database.deadlocks", "shop", deadlocks);
        scene
    }

    #[test]
    fn deadlocks_explain_the_rows_for_which_their_transactions_wait() {
        let report = baskets(10.0, 1.0).report();
        let codes: Vec<_> = report.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["deadlocks"]);
        assert_eq!(report.findings[0].confidence, Confidence::Strong);
        assert!(report.findings[0].statement.starts_with("300 deadlocks"));
    }

    #[test]
    fn waits_in_one_direction_and_a_deadlock_now_and_then_are_not_this() {
        assert_eq!(baskets(0.0, 0.0).found("deadlocks"), None);
        assert_eq!(baskets(1.0 / 30.0, 0.0).found("deadlocks"), None);
        assert_eq!(baskets(0.5, 1.0).found("deadlocks"), None, "one per 2,000 responses");
        let mut beside = baskets(10.0, 0.0);
        beside.counter(0, "activity.wait", "Lock:transactionid", 0.0);
        assert_eq!(beside.found("deadlocks"), None, "another client has them, and no request waits");
    }

    #[test]
    fn the_timeout_is_read_as_postgresql_prints_it() {
        let of = |text| duration(text).map(Nanos::as_secs_f64);
        assert_eq!([of("1s"), of("200ms"), of("2min")], [Some(1.0), Some(0.2), Some(120.0)]);
        assert_eq!([of(""), of("1"), of("s"), of("9 lives")], [None; 4]);
    }
}
