//! What SQLite plans to do for a statement, as `EXPLAIN QUERY PLAN` says it.
//!
//! Asks copies only, and executes nothing: this form of `EXPLAIN` returns the steps, whatever the statement is. The plan
//! is that of the SQLite within `knee`, for any values; that of the service can be of another version. A statement that
//! needs a function, a collation or a module of the service, or that is none with its values masked, has no plan.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::copy::{BYTES_MAX, copy};
use crate::sampler::Unreadable;
use crate::text::label;

/// Most steps of a plan, and how deep they are indented at most.
const STEPS_MAX: usize = 100;
const DEPTH_MAX: usize = 20;

/// What [`rusqlite::Statement::is_explain`] says of `EXPLAIN QUERY PLAN`.
const QUERY_PLAN: i32 = 2;

/// Where a page has left out the middle of a text.
const CUT: char = '…';

/// Whether a page has only the beginning and the end of this statement. To SQLite, the sign in between is a name.
pub(crate) fn is_cut(statement: &str) -> bool {
    statement.contains(CUT)
}

/// Whether it is one statement, and reads or changes rows.
pub(crate) fn can_be_planned(statement: &str) -> bool {
    let first = statement.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let verbs = ["select", "with", "insert", "replace", "update", "delete"];
    verbs.iter().any(|verb| first.eq_ignore_ascii_case(verb)) && !statement.contains(';')
}

/// The plans of these statements in the same order, on a copy of the database; `None` for one that cannot be planned
/// with this database.
pub(crate) fn plans(
    path: &Path,
    statements: &[String],
    is_late: &dyn Fn() -> bool,
) -> Result<Vec<Option<String>>, Unreadable> {
    let copied = copy(path, BYTES_MAX, is_late).map_err(|error| Unreadable(error.to_string()))?;
    // The messages of SQLite have the path of the copy.
    let unreadable = || Unreadable("SQLite cannot read the copy of the database".to_owned());
    // A connection that cannot write does not bring the WAL into the database when it closes.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(&copied.path, flags).map_err(|_| unreadable())?;
    let schema = database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    schema.map_err(|_| unreadable())?;
    let mut plans = Vec::new();
    for statement in statements {
        if is_late() {
            return Err(Unreadable("the statements were not planned in time".to_owned()));
        }
        plans.push(plan(&database, statement));
    }
    Ok(plans)
}

/// The steps of a plan, a line for each, indented below the step that it belongs to. Empty for a statement without
/// steps, such as one that inserts a row.
fn plan(database: &Connection, statement: &str) -> Option<String> {
    let mut explain = database.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).ok()?;
    if explain.is_explain() != QUERY_PLAN {
        return None;
    }
    let mut depths: BTreeMap<i64, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    // Parameters stay without values.
    let mut rows = explain.raw_query();
    while let Some(row) = rows.next().ok()? {
        let (id, parent): (i64, i64) = (row.get(0).ok()?, row.get(1).ok()?);
        let step: String = row.get(3).ok()?;
        let depth = depths.get(&parent).map_or(0, |depth| (depth + 1).min(DEPTH_MAX));
        depths.insert(id, depth);
        if lines.len() < STEPS_MAX {
            lines.push(format!("{}{}", "  ".repeat(depth), label(&step)));
        }
    }
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Posts with an index on their author, in a file.
    fn posts(folder: &Path) -> Connection {
        let database = Connection::open(folder.join("news.db")).unwrap();
        let script = "PRAGMA journal_mode=WAL; CREATE TABLE posts (id INTEGER PRIMARY KEY, author, title); \
                      CREATE INDEX by_author ON posts (author); CREATE TABLE names (name, author)";
        database.execute_batch(script).unwrap();
        database
    }

    fn planned(statements: &[&str]) -> Vec<Option<String>> {
        let folder = tempfile::tempdir().unwrap();
        let _service = posts(folder.path());
        let statements: Vec<String> = statements.iter().map(|text| (*text).to_owned()).collect();
        plans(&folder.path().join("news.db"), &statements, &|| false).unwrap()
    }

    #[test]
    fn plans_say_scan_search_sort_and_automatic_index() {
        let found = planned(&[
            "SELECT id FROM posts WHERE title = ? ORDER BY title, id LIMIT ?",
            "SELECT title FROM posts WHERE author = ?",
            "SELECT * FROM posts p, names n WHERE p.title = n.name",
            "DELETE FROM posts WHERE title = ?",
            "INSERT INTO names VALUES (?, ?)",
        ]);
        let found: Vec<String> = found.into_iter().map(Option::unwrap).collect();
        assert!(found[0].lines().any(|step| step == "SCAN posts"), "{found:?}");
        assert_eq!(found[1], "SEARCH posts USING INDEX by_author (author=?)");
        assert!(found[2].contains(" USING AUTOMATIC "), "{found:?}");
        assert_eq!(found[3], "SCAN posts");
        assert_eq!(found[4], "");
    }

    #[test]
    fn an_order_without_an_index_is_a_sort_and_a_subquery_is_indented() {
        let found = planned(&[
            "SELECT id FROM posts ORDER BY title",
            "SELECT id FROM posts WHERE author IN (SELECT author FROM names WHERE name = ?)",
        ]);
        assert_eq!(found[0].as_deref(), Some("SCAN posts\nUSE TEMP B-TREE FOR ORDER BY"));
        let nested = found[1].as_deref().unwrap();
        assert!(nested.lines().any(|step| step.starts_with("  ")), "{nested}");
    }

    #[test]
    fn statements_of_other_tables_and_functions_of_the_service_have_no_plan_and_the_others_have_one() {
        let found = planned(&[
            "SELECT id FROM orders",
            "SELECT id FROM posts WHERE rank_of(title) > ?",
            "SELECT id FROM posts WHERE at > now() - interval ?",
            "SELECT id, … WHERE title = ?",
            "SELECT id FROM posts WHERE id = ?",
        ]);
        let is_planned: Vec<bool> = found.iter().map(Option::is_some).collect();
        assert_eq!(is_planned, [false, false, false, false, true], "{found:?}");
    }

    #[test]
    fn nothing_is_executed_not_even_on_the_copy() {
        let folder = tempfile::tempdir().unwrap();
        let service = posts(folder.path());
        service.execute_batch("INSERT INTO names VALUES ('a', 1)").unwrap();
        let found = plan(&service, "DELETE FROM names RETURNING name");
        assert!(found.is_some_and(|plan| plan.contains("SCAN names")));
        let rows: i64 = service.query_row("SELECT count(*) FROM names", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 1);
    }

    #[test]
    fn literals_and_names_that_steer_a_terminal_do_not_reach_a_plan() {
        let folder = tempfile::tempdir().unwrap();
        let service = posts(folder.path());
        service.execute_batch("CREATE TABLE \"a\u{1b}[2J\nb\" (c)").unwrap();
        let plan_of = |text: &str| plan(&service, text).unwrap();
        let secret =
            plan_of("SELECT 'hunter2' FROM posts WHERE title LIKE 'hunter2%' AND author = 'hunter2'");
        assert!(secret.contains("posts") && !secret.contains("hunter2"), "{secret}");
        let odd = plan_of("SELECT c FROM \"a\u{1b}[2J\nb\"");
        assert!(!odd.contains('\u{1b}') && odd.lines().count() == 1, "{odd}");
    }

    #[test]
    fn only_single_statements_that_read_or_change_rows_are_planned() {
        for text in
            ["SELECT ?", "with a AS (SELECT ?) SELECT * FROM a", "Delete FROM a", "REPLACE INTO a VALUES (?)"]
        {
            assert!(can_be_planned(text), "{text}");
        }
        for text in
            ["SELECT ?; DROP TABLE a", "PRAGMA user_version", "(other)", "selected", "ATTACH ? AS b", ""]
        {
            assert!(!can_be_planned(text), "{text}");
        }
        assert!(is_cut("SELECT a, … WHERE b = ?") && !is_cut("SELECT a"));
    }

    #[test]
    fn a_file_with_the_beginning_of_a_database_and_nothing_of_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("broken.db");
        let mut bytes = b"SQLite format 3\0\x10\0\x01\x01".to_vec();
        bytes.resize(4_096, 7);
        std::fs::write(&path, &bytes).unwrap();
        let Unreadable(reason) = plans(&path, &["SELECT 1".to_owned()], &|| false).unwrap_err();
        assert_eq!(reason, "SQLite cannot read the copy of the database");
    }
}
