//! Requests that insert the same key at the same time, wait for each other, and fail.
//!
//! Needs samples of a PostgreSQL server's activity, with the ids of statements. Does not see the error: an INSERT that
//! waits for the end of another transaction waits for a row with the same key, or for a row that it refers to; only the
//! former ends in a transaction that is rolled back, and in a response that says so. A key that clients choose and a
//! service refuses with a status of its own, such as one that makes a request idempotent, is none of them. Deadlocks are
//! `deadlocks`.

use knee_core::observation::SourceKind;
use knee_core::outcome::Outcome;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::percent;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::statement;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "duplicate_keys",
    finds: "requests that insert the same key at the same time, and fail",
    needs: "a PostgreSQL server of version 14 or newer, with samples of active backends",
    limits: "an INSERT without ON CONFLICT waits for another transaction (Lock:transactionid) in 5 samples and between 3 readings at least, and no statement does more often; 10 % of the responses are errors, and the transactions that are rolled back per response are as many, within 25 %; deadlocks are a tenth of these at most; half of the errors have status 500 and above, or a statement with max() or count() of the same table is called for each of them. All of them, or nothing",
    source: "An INSERT whose key another open transaction has inserted waits for its end, and fails if that one commits (PostgreSQL documentation, index uniqueness checks). The number of rollbacks is that of the errors only if each error ends a transaction. A service that expects a key twice answers with a status below 500, or has ON CONFLICT.",
    cause: "The key is read before it is written: the largest number and one more, a count, a name that was looked for and not found. Two requests at the same time read the same.",
    remedy: "Let the database choose the key: a sequence or an identity column; for numbers without gaps, a row per series that is updated with RETURNING. Or INSERT ... ON CONFLICT, where one row is enough.",
    explains: &["lock_wait", "hot_row", "growing_responses"],
    check,
};

const SAMPLES_MIN: f64 = 5.0;
const READINGS_MIN: usize = 3;
const ERRORS: f64 = 0.1;
const WITHIN: f64 = 0.25;
const DEADLOCKS: f64 = 0.1;
/// Share of the errors that say that the service failed.
const FAILED: f64 = 0.5;
/// What an INSERT waits for whose key is in another transaction.
const WAIT: &str = "Lock:transactionid";

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = evidence.needed(SourceKind::Postgres)?;
    Ok(servers.iter().filter_map(|server| duplicated(evidence, server)).collect())
}

fn duplicated(evidence: &Evidence<'_>, server: &Watched<'_>) -> Option<Draft> {
    let (text, samples) = waiting_insert(server)?;
    let errors = evidence.all().count(Outcome::HttpError) as f64 / evidence.answered() as f64;
    if !has_failed(evidence, errors) && !chooses_key(evidence, server, text, errors) {
        return None;
    }
    let of_database = |name: &str| server.rises(name).into_iter().next().map(|(_, rise)| rise);
    let rolled_back = of_database("database.rollbacks")?;
    let deadlocks = of_database("database.deadlocks").map_or(0.0, |rise| rise.amount);
    if deadlocks > DEADLOCKS * rolled_back.amount {
        return None;
    }
    let failed = Signal::at_least(
        "share of the responses that are errors",
        Unit::Share,
        Some(errors),
        ERRORS,
        "the run: status codes",
    )?;
    let agree = Signal::at_most(
        "distance of the transactions that are rolled back per response from that share",
        Unit::Share,
        evidence.per_request(rolled_back).map(|each| (each / errors - 1.0).abs()),
        WITHIN,
        "pg_stat_database",
    )?;
    let waits = Signal::at_least(
        "samples of this INSERT that wait for another transaction",
        Unit::Count,
        Some(samples),
        SAMPLES_MIN,
        "pg_stat_activity",
    )?;
    Some(Draft {
        subject: Subject::of(SubjectKind::Statement, text, Some(&server.source.name)),
        statement: format!(
            "an INSERT waits for transactions with the same key, and {} of the requests fail and roll back",
            percent(errors)
        ),
        signals: vec![waits, failed, agree],
        remedy: Remedy::advice(
            "let the database choose the key: a sequence or an identity column, or INSERT ... ON CONFLICT",
        ),
        gain: None,
    })
}

/// The statement that waits most for other transactions, if it is an INSERT that fails where its key exists: its text,
/// and the samples in which it waits.
fn waiting_insert<'a>(server: &Watched<'a>) -> Option<(&'a str, f64)> {
    let waits = server.rises("activity.statement.wait").into_iter();
    let mut waits = waits.filter_map(|(label, rise)| {
        let (id, _) = label.split_once(' ').filter(|(_, wait)| *wait == WAIT)?;
        Some((id, label, rise.amount))
    });
    let (id, label, samples) = waits.next()?;
    let text = server.text("statement.text", id)?;
    let words = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    let fails = statement::read(text).verb == "insert" && !words.contains("on conflict");
    let readings = server.readings("activity.statement.wait", |other| other == label);
    (fails && samples >= SAMPLES_MIN && readings >= READINGS_MIN).then_some((text, samples))
}

/// Whether most errors say that the service failed, and not that it refuses the request.
fn has_failed(evidence: &Evidence<'_>, errors: f64) -> bool {
    let failed = evidence.all().status.iter().filter(|(status, _)| *status >= 500);
    let failed: f64 = failed.map(|(_, count)| *count as f64).sum();
    failed >= FAILED * errors * evidence.answered() as f64
}

/// Whether the service makes a key of the largest one or of the number of rows: a statement that asks the table of this
/// INSERT for that is called for each error at least.
fn chooses_key(evidence: &Evidence<'_>, server: &Watched<'_>, insert: &str, errors: f64) -> bool {
    let table = statement::read(insert).tables.into_iter().next();
    let is_asked = |(id, text): (&str, &str)| {
        let condensed = text.to_lowercase().replace(" (", "(");
        let counts = condensed.contains("max(") || condensed.contains("count(");
        let calls = server.rise("statement.calls", id).and_then(|calls| evidence.per_request(calls));
        counts
            && calls.is_some_and(|calls| calls >= errors)
            && table.as_ref().is_some_and(|table| statement::read(text).tables.contains(table))
    };
    server.texts("statement.text").any(is_asked)
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::{Costs, RATE, Scene};

    const BILL: &str = "INSERT INTO bills (number, member) VALUES ($1, $2)";

    /// A service of whose requests this share fails, with a statement that waits for transactions, and so many
    /// rollbacks per response.
    fn bills(failing: f64, text: &str, rollbacks: f64) -> Scene {
        answered(500, failing, text, rollbacks)
    }

    fn answered(status: u16, failing: f64, text: &str, rollbacks: f64) -> Scene {
        let mut scene = Scene::with(move |sample, _, dice| {
            if dice.share() < failing {
                sample.status = status;
            }
        });
        let server = scene.postgres();
        scene.text(server, "statement.text", "5", text);
        scene.counter(server, "activity.statement.wait", "5 Lock:transactionid", 3.0);
        scene.counter(server, "database.rollbacks", "shop", rollbacks * RATE as f64);
        scene
    }

    #[test]
    fn numbers_that_two_requests_take_at_the_same_time_are_found() {
        let finding = bills(0.7, BILL, 0.72).found("duplicate_keys").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Strong, 3));
        assert_eq!(finding.subject.name, BILL);
    }

    #[test]
    fn a_wait_for_locks_that_the_same_key_causes_is_said_once() {
        let mut scene = bills(0.7, BILL, 0.72);
        scene.counter(0, "activity.wait", "Lock:transactionid", 3.0);
        scene.counter(0, "activity.blocked", "5 by 5", 3.0);
        let codes: Vec<_> = scene.report().findings.iter().map(|finding| finding.code).collect();
        assert!(codes.contains(&"duplicate_keys") && !codes.contains(&"lock_wait"), "{codes:?}");
    }

    #[test]
    fn a_key_that_the_client_chooses_and_the_service_refuses_is_healthy_and_one_of_the_largest_is_not() {
        let text = "INSERT INTO requests (key, body) VALUES ($1, $2)";
        assert_eq!(answered(409, 0.3, text, 0.3).found("duplicate_keys"), None);
        let mut numbers = answered(409, 0.7, BILL, 0.72);
        let largest = "SELECT coalesce(max(number), 0) + 1 FROM bills";
        numbers.statement(0, "6", largest, &Costs::default());
        assert!(numbers.found("duplicate_keys").is_some());
    }

    #[test]
    fn an_upsert_and_an_insert_that_waits_behind_locked_rows_are_something_else() {
        let upsert = "INSERT INTO stock (id, n) VALUES ($1, $2) ON\n CONFLICT (id) DO UPDATE SET n = $2";
        assert_eq!(bills(0.7, upsert, 0.72).found("duplicate_keys"), None);
        let mut locked = bills(0.7, BILL, 0.72);
        locked.text(0, "statement.text", "7", "SELECT id FROM members WHERE id = $1 FOR UPDATE");
        locked.counter(0, "activity.statement.wait", "7 Lock:transactionid", 9.0);
        assert_eq!(locked.found("duplicate_keys"), None, "it refers to a row that times out");
    }

    #[test]
    fn waits_that_end_well_and_errors_without_rollbacks_are_something_else() {
        assert_eq!(bills(0.0, BILL, 0.0).found("duplicate_keys"), None, "a row that it refers to is locked");
        assert_eq!(bills(0.7, BILL, 0.1).found("duplicate_keys"), None, "refused before the database");
        let update = "UPDATE bills SET paid = true WHERE number = $1";
        assert_eq!(bills(0.7, update, 0.72).found("duplicate_keys"), None);
        let mut circle = bills(0.7, BILL, 0.72);
        circle.counter(0, "database.deadlocks", "shop", 0.5 * RATE as f64);
        assert_eq!(circle.found("duplicate_keys"), None);
    }
}
