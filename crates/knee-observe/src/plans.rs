//! Asks SQLite, after a run, for the plans of the statements that took the most time in it, on copies of observed
//! files.
//!
//! The statements are those of pages of `knee-sqlite`, the files those that were read until the end. A page does not
//! say which file a statement belongs to: those that have its tables answer, and where they differ, there is no plan.
//! Does not know how a file is copied and how a statement is planned; see [`crate::sqlite`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::observation::{Observations, SQLITE_SECONDS, SourceState, sqlite_statement};
use knee_core::unit::Nanos;

use crate::sampler::Unreadable;
use crate::sqlite::{self, can_be_planned, is_cut};
use crate::target::Target;

/// How long the end of a run waits for all copies and plans together.
const WITHIN: Nanos = Nanos::from_secs(5);

/// The last part of this time is for the removal of a copy that gets late: one is left behind if knee ends before.
const REMOVED_WITHIN: Nanos = Nanos::from_secs(1);

/// Most statements of a run.
const STATEMENTS_MAX: usize = 10;

/// What was answered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Learned {
    /// The source of the page, the label of the statement, and its plan.
    pub(crate) plans: Vec<(u32, String, String)>,
    /// Sources, and what they could not be asked, in words.
    pub(crate) without: Vec<(u32, String)>,
}

/// A statement of a page.
#[derive(Clone, Debug)]
struct Statement {
    /// The source of the page.
    page: u32,
    label: String,
    text: String,
}

/// The plans of statements by their places, or why a file has none.
type Answer = Result<Vec<Option<String>>, Unreadable>;

/// The plans of a run. Nothing is copied if there is no statement to plan.
pub(crate) fn ask(targets: &[Target], observations: &Observations, clock: MonotonicClock) -> Learned {
    let mut learned = Learned::default();
    let files = files(targets, observations);
    let heaviest = heaviest(observations);
    if files.is_empty() {
        return learned;
    }
    let all = heaviest.len();
    let (cut, whole): (Vec<_>, Vec<_>) = heaviest.into_iter().partition(|one| is_cut(&one.text));
    learned.leave_out(&cut, all, "they are too long for the page, which has their beginnings and their ends");
    if whole.is_empty() {
        return learned;
    }
    let answers = answers(files, &whole, clock);
    let (mut unplanned, mut unclear) = (Vec::new(), Vec::new());
    for (place, statement) in whole.into_iter().enumerate() {
        let found = answers.values().filter_map(|answer| answer.as_ref().ok()?.get(place)?.as_ref());
        let found: BTreeSet<&String> = found.collect();
        match (found.first(), found.len()) {
            (Some(plan), 1) => learned.add(statement, (*plan).clone()),
            (None, _) => unplanned.push(statement),
            (Some(_), _) => unclear.push(statement),
        }
    }
    let reason = "several observed files have their tables, and SQLite plans them differently in each";
    learned.leave_out(&unclear, all, reason);
    // A file without an answer can be the one that they belong to.
    if answers.values().all(Result::is_ok) {
        let reason = "SQLite cannot plan them with an observed file, and without their values and the functions of \
                      the service";
        learned.leave_out(&unplanned, all, reason);
    }
    for (index, answer) in answers {
        if let Err(Unreadable(reason)) = answer {
            learned.without.push((index, format!("plans of statements: {reason}")));
        }
    }
    learned
}

impl Learned {
    fn add(&mut self, statement: Statement, plan: String) {
        // A statement that inserts a row has no steps.
        if !plan.is_empty() {
            self.plans.push((statement.page, statement.label, plan));
        }
    }

    /// Says of each page how many of its statements have no plan. `all` is the number of all that were chosen.
    fn leave_out(&mut self, statements: &[Statement], all: usize, reason: &str) {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for statement in statements {
            *counts.entry(statement.page).or_default() += 1;
        }
        let said = counts.into_iter().map(|(page, count)| {
            (page, format!("plans of {count} of the {all} statements with the most time: {reason}"))
        });
        self.without.extend(said);
    }
}

/// The observed files that were read until the end, by the index of their source.
fn files(targets: &[Target], observations: &Observations) -> Vec<(u32, PathBuf)> {
    let sources = (0_u32..).zip(targets).zip(&observations.sources);
    let read = sources.filter(|(_, source)| source.state == SourceState::Read);
    let files = read.filter_map(|((index, target), _)| match target {
        Target::Sqlite(path) => Some((index, path.clone())),
        _ => None,
    });
    files.collect()
}

/// The statements that took the most time, of all pages together.
fn heaviest(observations: &Observations) -> Vec<Statement> {
    let series = observations.named(SQLITE_SECONDS);
    let statements = series.filter_map(|series| {
        let time = series.rise(Nanos::ZERO, Nanos::MAX)?;
        let text = sqlite_statement(&series.label).filter(|text| can_be_planned(text))?;
        Some((time, Statement { page: series.source as u32, label: series.label.clone(), text }))
    });
    let mut by_time: Vec<(f64, Statement)> = statements.collect();
    by_time.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    by_time.into_iter().take(STATEMENTS_MAX).map(|(_, statement)| statement).collect()
}

/// What each file answers within the time. The thread gives up before, and removes its copy.
fn answers(
    files: Vec<(u32, PathBuf)>,
    statements: &[Statement],
    clock: MonotonicClock,
) -> BTreeMap<u32, Answer> {
    let until = clock.now().saturating_add(WITHIN);
    let late_from = Nanos(until.0.saturating_sub(REMOVED_WITHIN.0));
    let indices: Vec<u32> = files.iter().map(|(index, _)| *index).collect();
    let texts: Vec<String> = statements.iter().map(|statement| statement.text.clone()).collect();
    let (sender, receiver) = channel();
    let work = move || {
        for (index, path) in files {
            let answer = sqlite::plans(&path, &texts, &|| clock.now() >= late_from);
            // After the time is over, no receiver is left.
            if sender.send((index, answer)).is_err() {
                return;
            }
        }
    };
    let late = match thread::Builder::new().name("knee-plans".to_owned()).spawn(work) {
        Ok(_) => "no answer within 5 s".to_owned(),
        Err(error) => error.to_string(),
    };
    let unanswered = indices.into_iter().map(|index| (index, Err(Unreadable(late.clone()))));
    let mut answers: BTreeMap<u32, Answer> = unanswered.collect();
    // Ends when every file has answered.
    while let Ok((index, answer)) = receiver.recv_timeout(Duration::from(until.since(clock.now()))) {
        answers.insert(index, answer);
    }
    answers
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use knee_core::observation::{FigureUnit, Series, SeriesKind, Source};
    use rusqlite::Connection;

    use super::*;

    const FIND: &str = "SELECT title FROM posts WHERE author = ? ORDER BY title";

    fn label(text: &str) -> String {
        format!("statement=\"{}\"", text.replace('"', "\\\""))
    }

    /// A page of a service with these statements and their seconds, behind the files.
    fn seen(files: &[&Path], statements: &[(&str, f64)]) -> (Vec<Target>, Observations) {
        let names = files.iter().map(|path| format!("sqlite:{}", path.display()));
        let names: Vec<String> =
            names.chain(["prometheus:http://127.0.0.1:8080/metrics".to_owned()]).collect();
        let targets: Vec<Target> = names.iter().map(|name| Target::parse(name).unwrap()).collect();
        let sources = targets.iter().map(|target| Source {
            name: target.name(),
            kind: target.kind(),
            version: None,
            state: SourceState::Read,
            without: Vec::new(),
            left_out: 0,
        });
        let series = statements.iter().map(|(text, seconds)| Series {
            source: files.len(),
            name: SQLITE_SECONDS.to_owned(),
            label: label(text),
            unit: FigureUnit::Seconds,
            kind: SeriesKind::Counter,
            points: vec![(Nanos::ZERO, 0.0), (Nanos::from_secs(1), *seconds)],
        });
        let observations =
            Observations { sources: sources.collect(), series: series.collect(), texts: Vec::new() };
        (targets, observations)
    }

    fn ask_of(files: &[&Path], statements: &[(&str, f64)]) -> Learned {
        let (targets, observations) = seen(files, statements);
        ask(&targets, &observations, MonotonicClock::start())
    }

    fn database(path: &Path, script: &str) -> Connection {
        let database = Connection::open(path).unwrap();
        database.execute_batch(script).unwrap();
        database
    }

    #[test]
    fn the_file_that_has_the_tables_answers_and_the_plan_is_beside_the_statement_of_the_page() {
        let folder = tempfile::tempdir().unwrap();
        let (users, posts) = (folder.path().join("users.db"), folder.path().join("posts.db"));
        drop(database(&users, "CREATE TABLE users (name)"));
        let _service = database(&posts, "PRAGMA journal_mode=WAL; CREATE TABLE posts (author, title)");
        let learned = ask_of(&[&users, &posts], &[(FIND, 0.5), ("INSERT INTO posts VALUES (?, ?)", 0.2)]);
        let plan = "SCAN posts\nUSE TEMP B-TREE FOR ORDER BY".to_owned();
        assert_eq!(learned, Learned { plans: vec![(2, label(FIND), plan)], without: Vec::new() });
    }

    #[test]
    fn files_with_the_same_tables_answer_only_where_they_agree() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old.db"), folder.path().join("new.db"));
        let tables = "CREATE TABLE posts (author, title)";
        drop(database(&old, tables));
        drop(database(&new, &format!("{tables}; CREATE INDEX by_author ON posts (author)")));
        let learned = ask_of(&[&old, &new], &[(FIND, 0.5), ("SELECT title FROM posts", 0.2)]);
        let agreed = vec![(2, label("SELECT title FROM posts"), "SCAN posts".to_owned())];
        assert_eq!(learned.plans, agreed);
        assert_eq!(learned.without.len(), 1, "{learned:?}");
        assert!(learned.without[0].1.contains("several observed files have their tables"), "{learned:?}");
    }

    #[test]
    fn the_statements_with_the_most_time_are_planned_and_settings_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("posts.db");
        drop(database(&path, "CREATE TABLE posts (author, title)"));
        let texts: Vec<String> =
            (0..30).map(|number| format!("SELECT a{number}.title FROM posts a{number}")).collect();
        let mut statements: Vec<(&str, f64)> =
            texts.iter().zip(0_u32..).map(|(text, number)| (text.as_str(), f64::from(number))).collect();
        statements.push(("PRAGMA user_version", 100.0));
        let learned = ask_of(&[&path], &statements);
        assert_eq!(learned.plans.len(), STATEMENTS_MAX);
        assert!(learned.plans.iter().any(|(_, _, plan)| plan.contains("a29")), "{learned:?}");
        assert!(learned.without.is_empty(), "{learned:?}");
    }

    #[test]
    fn a_text_that_the_page_has_cut_and_one_that_cannot_be_planned_are_counted_in_words_without_their_texts()
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("posts.db");
        drop(database(&path, "CREATE TABLE posts (author, title)"));
        let cut = "SELECT author, … WHERE author = ?";
        let learned = ask_of(&[&path], &[(FIND, 1.0), (cut, 0.9), ("SELECT \"hunter2\" FROM orders", 0.8)]);
        assert_eq!(learned.plans.len(), 1);
        let words: Vec<&str> = learned
            .without
            .iter()
            .map(|(page, words)| {
                assert_eq!(*page, 1);
                words.as_str()
            })
            .collect();
        assert_eq!(words.len(), 2, "{words:?}");
        assert!(words[0].starts_with("plans of 1 of the 3 statements with the most time: they are too long"));
        assert!(
            words[1].starts_with("plans of 1 of the 3 statements with the most time: SQLite cannot plan")
        );
        assert!(!words.concat().contains("hunter2"), "{words:?}");
    }

    #[test]
    fn a_file_that_cannot_be_copied_says_why_and_its_statements_are_not_blamed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "a note").unwrap();
        let learned = ask_of(&[&path], &[(FIND, 1.0)]);
        let said = "plans of statements: the file is no SQLite 3 database".to_owned();
        assert_eq!(learned, Learned { plans: Vec::new(), without: vec![(0, said)] });
    }

    #[test]
    fn without_statements_and_without_a_file_nothing_is_asked_and_nothing_is_said() {
        let nowhere = Path::new("/nowhere/posts.db");
        assert_eq!(ask_of(&[nowhere], &[]), Learned::default());
        assert_eq!(ask_of(&[], &[(FIND, 1.0)]), Learned::default());
        let (targets, mut observations) = seen(&[nowhere], &[(FIND, 1.0)]);
        observations.sources[0].state = SourceState::Refused { reason: "no such file".to_owned() };
        assert_eq!(ask(&targets, &observations, MonotonicClock::start()), Learned::default());
    }
}
