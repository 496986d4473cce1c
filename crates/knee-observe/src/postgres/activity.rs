//! What the client backends of a database do, counted at each look.
//!
//! A counter divided by the number of looks is a mean number of backends. The observer's own sessions do not count.
//! Which locks backends wait for is asked in a question of its own, only after a look that saw some wait.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use tokio_postgres::{Row, Statement};

use crate::figures::{Count, Counter, Figures, Gauge, Seconds};
use crate::session::{Answer, Refusal, Session};
use crate::text::label;

/// Most labels of each counter and of each gauge.
const LABELS_MAX: usize = 200;

/// Backends that are younger than this, in seconds, are young.
const YOUNG: f64 = 10.0;

/// If more backends waited for locks at the last look, only the blockers of this many are asked for: to find them locks
/// the table of locks.
const ASKED_MAX: usize = 4;

/// A client backend at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
struct Backend {
    pid: i32,
    application: String,
    state: String,
    /// `TYPE:EVENT`.
    wait: Option<String>,
    statement: Option<i64>,
    /// Seconds since it was started.
    age: f64,
    transaction_age: Option<f64>,
    /// Seconds since its last statement ended; none while one runs. `None` if it is hidden from the observer.
    idle_age: Option<f64>,
    xmin_age: Option<f64>,
    blockers: Vec<i32>,
}

/// The question, as it is asked while few backends wait for locks, and while many do; and the one about these locks,
/// unless the server refuses it.
#[derive(Debug)]
struct Questions {
    few: Statement,
    many: Statement,
    locks: Option<Statement>,
}

/// A lock that a backend waits for, or one of a row that it got.
#[derive(Clone, Debug, PartialEq)]
struct Lock {
    pid: i32,
    granted: bool,
    /// `relation`, `tuple`, `transactionid`, `advisory`, …
    kind: String,
    mode: String,
    /// Schema and name, unquoted.
    relation: Option<String>,
}

/// Counts of all looks, and the levels of the last one.
#[derive(Debug, Default)]
pub(super) struct Activity {
    questions: Option<Questions>,
    /// Whether many backends waited for locks at the last look, or there was no answer to it.
    is_crowded: bool,
    samples: f64,
    /// Counter and label.
    counts: BTreeMap<(&'static str, String), f64>,
    /// Labels of each counter.
    labels: BTreeMap<&'static str, usize>,
    last: Vec<Backend>,
    /// Applications that were seen: a gauge goes back to 0 when they leave.
    applications: BTreeSet<String>,
}

impl Activity {
    /// Prepares the questions for a session with a database.
    pub(super) fn prepare(&mut self, session: &Session, version: u32, database: &str) -> Answer<()> {
        self.questions = None;
        let Ok(database) = database.parse() else {
            return Err(Refusal::Never("the database has no number".to_owned()));
        };
        let few = session.prepare(&question(version, database, ALL_BLOCKERS))?;
        let many = session.prepare(&question(version, database, &some_blockers()))?;
        let locks = session.prepare(&locks_question(database));
        self.questions = Some(Questions { few, many, locks: locks.as_ref().ok().cloned() });
        // Asked once, so that the statements are known as the observer's own from the first reading on.
        self.is_crowded = true;
        self.look(session)?;
        locks.map_err(about_locks)?;
        self.look_at_locks(session, &[])
    }

    /// Looks once.
    pub(super) fn look(&mut self, session: &Session) -> Answer<()> {
        let Some(questions) = &self.questions else { return Ok(()) };
        let question = if self.is_crowded { &questions.many } else { &questions.few };
        match session.rows(question) {
            Ok(rows) => {
                let backends: Vec<Backend> = rows.iter().map(backend).collect();
                let mut waiting: Vec<i32> =
                    backends.iter().filter(|one| one.waits_for_lock()).map(|one| one.pid).collect();
                self.is_crowded = waiting.len() > ASKED_MAX;
                self.count(backends);
                if waiting.is_empty() {
                    return Ok(());
                }
                // Those whose blockers are asked for, too.
                waiting.sort_unstable();
                waiting.truncate(ASKED_MAX);
                self.look_at_locks(session, &waiting)
            }
            // It took too long: the next question is the one that asks for less.
            Err(Refusal::Now(_)) => {
                self.is_crowded = true;
                Ok(())
            }
            Err(refusal) => {
                if matches!(refusal, Refusal::Never(_)) {
                    self.questions = None;
                }
                Err(refusal)
            }
        }
    }

    /// Counts the locks that these backends wait for. One that has got its lock meanwhile has none.
    fn look_at_locks(&mut self, session: &Session, waiting: &[i32]) -> Answer<()> {
        let question = self.questions.as_ref().and_then(|questions| questions.locks.as_ref());
        let Some(question) = question else { return Ok(()) };
        match session.rows_with(question, &[&waiting]) {
            Ok(rows) => {
                let locks: Vec<Lock> = rows.iter().filter_map(lock).collect();
                for label in awaited(&locks) {
                    self.add("activity.blocked.lock", &label);
                }
                Ok(())
            }
            // Asked again after the next look.
            Err(Refusal::Now(_)) => Ok(()),
            Err(refusal) => {
                if let (Refusal::Never(_), Some(questions)) = (&refusal, &mut self.questions) {
                    questions.locks = None;
                }
                Err(about_locks(refusal))
            }
        }
    }

    /// Adds the figures until now.
    pub(super) fn take(&self, figures: &mut Figures) {
        if self.questions.is_none() {
            return;
        }
        figures.counter("activity.samples", Count, self.samples);
        for ((name, of), count) in &self.counts {
            figures.put(name, of, Count, Counter, *count);
        }
        self.put_applications(figures);
        let young = self.last.iter().filter(|backend| backend.age < YOUNG).count();
        figures.gauge("activity.backends.young", Count, young as f64);
        let oldest = |age: fn(&Backend) -> Option<f64>| {
            self.last.iter().filter_map(age).reduce(f64::max).unwrap_or(0.0)
        };
        figures.gauge("activity.transaction_age", Seconds, oldest(|backend| backend.transaction_age));
        figures.gauge("activity.xmin_age", Count, oldest(|backend| backend.xmin_age));
    }

    /// Adds the levels of each application at the last look.
    fn put_applications(&self, figures: &mut Figures) {
        for application in &self.applications {
            let own = || self.last.iter().filter(|backend| backend.application == *application);
            let busy = || own().filter(|backend| backend.is_busy());
            figures.put("activity.backends", application, Count, Gauge, own().count() as f64);
            figures.put("activity.backends.busy", application, Count, Gauge, busy().count() as f64);
            let youngest = busy().filter_map(|backend| backend.transaction_age).reduce(f64::min);
            figures.put("activity.transaction_age.youngest", application, Seconds, Gauge, youngest);
            let Some(ages) = idle_ages(own()) else { continue };
            for (name, place) in [
                ("activity.idle_age.youngest", 0),
                ("activity.idle_age.median", ages.len() / 2),
                ("activity.idle_age.oldest", ages.len().saturating_sub(1)),
            ] {
                figures.put(name, application, Seconds, Gauge, ages.get(place).copied());
            }
        }
    }

    /// The statements that were seen most and that `wanted` accepts.
    pub(super) fn most_active(&self, wanted: impl Fn(i64) -> bool) -> Vec<i64> {
        let of_statements = self.counts.iter().filter(|((name, _), _)| *name == "activity.statement");
        let ids = of_statements.filter_map(|((_, id), count)| Some((id.parse().ok()?, *count)));
        let mut ids: Vec<(i64, f64)> = ids.filter(|(id, _)| wanted(*id)).collect();
        ids.sort_by(|one, other| other.1.total_cmp(&one.1));
        ids.into_iter().take(20).map(|(id, _)| id).collect()
    }

    fn count(&mut self, backends: Vec<Backend>) {
        self.samples += 1.0;
        for backend in &backends {
            if self.applications.len() < LABELS_MAX {
                self.applications.insert(backend.application.clone());
            }
            self.add("activity.state", state_name(&backend.state));
            self.count_work(backend);
            let blocker = backends.iter().find(|other| backend.blockers.contains(&other.pid));
            if let Some(blocker) = blocker {
                let id = |backend: &Backend| backend.statement.unwrap_or_default();
                self.add("activity.blocked", &format!("{} by {}", id(backend), id(blocker)));
                self.add("activity.blocked_by_state", state_name(&blocker.state));
            }
        }
        self.last = backends;
    }

    fn count_work(&mut self, backend: &Backend) {
        if backend.state == "active" {
            let wait = backend.wait.as_deref().unwrap_or("CPU");
            self.add("activity.wait", wait);
            if let Some(id) = backend.statement {
                self.add("activity.statement", &id.to_string());
                self.add("activity.statement.wait", &format!("{id} {wait}"));
            }
        } else if let Some(id) = backend.statement.filter(|_| backend.is_busy()) {
            self.add("activity.idle_after", &id.to_string());
        }
    }

    fn add(&mut self, name: &'static str, of: &str) {
        let key = (name, of.to_owned());
        if let Some(count) = self.counts.get_mut(&key) {
            *count += 1.0;
            return;
        }
        let labels = self.labels.entry(name).or_default();
        if *labels < LABELS_MAX {
            *labels += 1;
            self.counts.insert(key, 1.0);
        }
    }
}

impl Backend {
    /// Whether it works or holds a transaction open.
    fn is_busy(&self) -> bool {
        self.state == "active" || self.state.starts_with("idle in transaction")
    }

    fn waits_for_lock(&self) -> bool {
        self.wait.as_deref().is_some_and(|wait| wait.starts_with("Lock:"))
    }
}

/// For how long these backends have been without a statement, the shortest time first; `None` if one of them is hidden.
fn idle_ages<'a>(backends: impl Iterator<Item = &'a Backend>) -> Option<Vec<f64>> {
    let mut ages: Vec<f64> = backends.map(|backend| backend.idle_age).collect::<Option<_>>()?;
    ages.sort_by(f64::total_cmp);
    Some(ages)
}

/// The blockers of every backend that waits for a lock.
const ALL_BLOCKERS: &str = "wait_event_type = 'Lock'";

/// Those of the first few: to number the backends costs more than the rest of the question.
fn some_blockers() -> String {
    let number = "row_number() OVER (PARTITION BY wait_event_type = 'Lock' ORDER BY pid)";
    format!("{ALL_BLOCKERS} AND {number} <= {ASKED_MAX}")
}

/// Asks the function behind `pg_stat_activity`: the view joins databases and roles, which costs more than the function.
/// Calculates nothing there that can be calculated here: the question is asked up to ten times per second.
fn question(version: u32, database: u32, blockers: &str) -> String {
    let query_id = if version >= 14 { "query_id" } else { "NULL::int8" };
    format!(
        "SELECT /* knee-observe */ pid, application_name, state, wait_event_type, wait_event, {query_id}, \
         clock_timestamp(), backend_start, xact_start, age(backend_xmin), \
         CASE WHEN {blockers} THEN pg_blocking_pids(pid) END, state_change \
         FROM pg_stat_get_activity(NULL) WHERE datid = {database} AND backend_type = 'client backend' \
         AND application_name <> 'knee-observe'"
    )
}

/// Asks for the locks for which some backends wait, and for the locks of rows that they got: a backend that waits for
/// the transaction which changed a row has locked the row, and only that lock knows the table.
fn locks_question(database: u32) -> String {
    format!(
        "SELECT /* knee-observe */ l.pid, l.granted, l.locktype, l.mode, n.nspname::text, c.relname::text \
         FROM pg_locks l LEFT JOIN pg_class c ON c.oid = l.relation AND l.database IN (0, {database}) \
         LEFT JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE l.pid = ANY($1::int4[]) AND (NOT l.granted OR l.locktype = 'tuple')"
    )
}

/// A refusal that says that it is one of this question alone.
fn about_locks(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Never(reason) => Refusal::Never(format!("the locks that are waited for: {reason}")),
        other => other,
    }
}

fn lock(row: &Row) -> Option<Lock> {
    let text = |place: usize| row.try_get::<_, Option<String>>(place).ok().flatten();
    Some(Lock {
        pid: row.try_get(0).ok()?,
        granted: row.try_get(1).ok()?,
        kind: text(2)?,
        mode: text(3)?,
        relation: text(4).zip(text(5)).map(|(schema, name)| format!("{schema}.{name}")),
    })
}

/// What is waited for, each as `MODE on RELATION`. Where that is no table itself, its kind stands before: `tuple of
/// RELATION`.
fn awaited(locks: &[Lock]) -> Vec<String> {
    let label_of = |lock: &Lock| {
        let of_row = || locks.iter().find(|other| other.granted && other.pid == lock.pid)?.relation.as_ref();
        let is_of_row = lock.kind == "transactionid";
        let relation = lock.relation.as_ref().or_else(|| if is_of_row { of_row() } else { None });
        label(&match relation {
            Some(relation) if lock.kind == "relation" => format!("{} on {relation}", lock.mode),
            Some(relation) => format!("{} on {} of {relation}", lock.mode, lock.kind),
            None => format!("{} on {}", lock.mode, lock.kind),
        })
    };
    locks.iter().filter(|lock| !lock.granted).map(label_of).collect()
}

fn backend(row: &Row) -> Backend {
    let text = |place: usize| row.try_get::<_, Option<String>>(place).unwrap_or_default();
    let time = |place: usize| row.try_get::<_, Option<SystemTime>>(place).unwrap_or_default();
    let (now, application) = (time(6), text(1).filter(|name| !name.is_empty()));
    let age = |place: usize| Some(seconds(time(place)?, now?));
    let state = text(2).unwrap_or_default();
    Backend {
        pid: row.try_get(0).unwrap_or_default(),
        application: label(&application.unwrap_or_else(|| "(none)".to_owned())),
        idle_age: if state == "active" { Some(0.0) } else { age(11).map(|age| age.max(0.0)) },
        state,
        wait: text(3).zip(text(4)).map(|(kind, event)| label(&format!("{kind}:{event}"))),
        statement: row.try_get::<_, Option<i64>>(5).unwrap_or_default().filter(|id| *id != 0),
        age: age(7).unwrap_or(f64::MAX),
        transaction_age: age(8),
        xmin_age: row.try_get::<_, Option<i32>>(9).unwrap_or_default().map(f64::from),
        blockers: row.try_get::<_, Option<Vec<i32>>>(10).unwrap_or_default().unwrap_or_default(),
    }
}

/// Seconds between two times of the server; less than nothing where its clock was set.
fn seconds(from: SystemTime, to: SystemTime) -> f64 {
    to.duration_since(from).map_or_else(|error| -error.duration().as_secs_f64(), |span| span.as_secs_f64())
}

fn state_name(state: &str) -> &'static str {
    match state {
        "active" => "active",
        "idle" => "idle",
        "idle in transaction" => "idle in transaction",
        "idle in transaction (aborted)" => "idle in transaction (aborted)",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(pid: i32, state: &str, wait: Option<&str>, blockers: &[i32]) -> Backend {
        Backend {
            pid,
            application: "app".to_owned(),
            state: state.to_owned(),
            wait: wait.map(str::to_owned),
            statement: Some(100 + i64::from(pid)),
            age: f64::from(pid) * 5.0,
            transaction_age: Some(f64::from(pid)),
            idle_age: Some(if state == "active" { 0.0 } else { f64::from(pid) }),
            blockers: blockers.to_vec(),
            ..Backend::default()
        }
    }

    #[test]
    fn backends_are_counted_by_state_wait_statement_and_blocker() {
        let mut activity = Activity::default();
        for _ in 0..2 {
            activity.count(vec![
                backend(1, "active", None, &[]),
                backend(2, "active", Some("Lock:transactionid"), &[3, 1]),
                backend(3, "idle in transaction", None, &[]),
            ]);
        }
        let count = |name: &'static str, of: &str| activity.counts.get(&(name, of.to_owned())).copied();
        assert!((activity.samples - 2.0).abs() < 1e-9);
        assert_eq!(count("activity.state", "active"), Some(4.0));
        assert_eq!(count("activity.wait", "CPU"), Some(2.0));
        assert_eq!(count("activity.wait", "Lock:transactionid"), Some(2.0));
        assert_eq!(count("activity.statement.wait", "102 Lock:transactionid"), Some(2.0));
        assert_eq!(count("activity.idle_after", "103"), Some(2.0));
        assert_eq!(
            count("activity.blocked", "102 by 101"),
            Some(2.0),
            "the first of its blockers that is seen"
        );
        assert_eq!(activity.most_active(|id| id != 101), [102]);
        assert_eq!(activity.applications.len(), 1);
    }

    #[test]
    fn each_application_has_the_age_of_its_youngest_transaction_while_it_has_one() {
        let mut activity = Activity::default();
        let of = |application: &str, pid, state| Backend {
            application: application.to_owned(),
            ..backend(pid, state, None, &[])
        };
        activity.count(vec![
            of("shop", 2, "active"),
            of("shop", 1, "idle in transaction"),
            Backend { transaction_age: None, ..of("shop", 3, "idle") },
            of("dump", 900, "active"),
            Backend { transaction_age: None, ..of("jobs", 4, "idle") },
        ]);
        let mut figures = Figures::default();
        activity.put_applications(&mut figures);
        let youngest = |application| figures.value("activity.transaction_age.youngest", application);
        assert_eq!([youngest("shop"), youngest("dump"), youngest("jobs")], [Some(1.0), Some(900.0), None]);
        assert_eq!(figures.value("activity.backends.busy", "shop"), Some(2.0));
    }

    #[test]
    fn each_application_has_the_times_for_which_its_sessions_had_no_statement_unless_some_are_hidden() {
        let mut activity = Activity::default();
        let hidden = Backend { application: "dump".to_owned(), idle_age: None, ..backend(9, "", None, &[]) };
        activity.count(vec![
            backend(8, "idle", None, &[]),
            backend(2, "active", None, &[]),
            backend(3, "idle in transaction", None, &[]),
            hidden,
        ]);
        let mut figures = Figures::default();
        activity.put_applications(&mut figures);
        let age = |which: &str, of: &str| figures.value(&format!("activity.idle_age.{which}"), of);
        assert_eq!(
            ["youngest", "median", "oldest"].map(|which| age(which, "app")),
            [Some(0.0), Some(3.0), Some(8.0)]
        );
        assert_eq!(age("median", "dump"), None);
    }

    #[test]
    fn locks_are_named_by_mode_and_table_and_a_transaction_by_the_table_of_the_row_that_it_changed() {
        let of = |pid, granted, kind: &str, mode: &str, relation: Option<&str>| Lock {
            pid,
            granted,
            kind: kind.to_owned(),
            mode: mode.to_owned(),
            relation: relation.map(str::to_owned),
        };
        let locks = [
            of(1, false, "relation", "AccessExclusiveLock", Some("public.tasks")),
            of(2, true, "tuple", "ExclusiveLock", Some("public.items")),
            of(2, false, "transactionid", "ShareLock", None),
            of(3, false, "tuple", "ExclusiveLock", Some("public.items")),
            of(4, false, "transactionid", "ShareLock", None),
            of(5, false, "advisory", "ExclusiveLock", None),
            of(6, false, "relation", "RowShareLock", Some("public.\u{1b}[2J")),
        ];
        assert_eq!(
            awaited(&locks),
            [
                "AccessExclusiveLock on public.tasks",
                "ShareLock on transactionid of public.items",
                "ExclusiveLock on tuple of public.items",
                "ShareLock on transactionid",
                "ExclusiveLock on advisory",
                "RowShareLock on public.\\u{1b}[2J",
            ]
        );
    }

    #[test]
    fn labels_without_end_are_bounded() {
        let mut activity = Activity::default();
        for pid in 0..1_000 {
            activity.count(vec![backend(pid, "active", None, &[])]);
        }
        assert!(activity.counts.len() < 4 * LABELS_MAX);
    }

    #[test]
    fn a_version_without_ids_of_statements_is_asked_without() {
        let question = |version| question(version, 5, ALL_BLOCKERS);
        assert!(!question(13).contains("query_id") && question(14).contains("query_id"));
    }
}
