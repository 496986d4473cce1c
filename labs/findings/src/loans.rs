//! Books, their loans and their returns, in the file of SQLite.
//!
//! The file is that of [`crate::views`], which makes it. Does not use the other stores.

use std::path::Path;
use std::sync::Arc;

use knee_sqlite::Watch;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::connections::Connections;
use crate::defect::Defect;
use crate::refusal::Refusal;

/// What a connection executes first: commits wait for no disk.
const SETUP: &str = "PRAGMA synchronous = NORMAL";
/// Books, loans of all of them, and returns that are kept.
const BOOKS: u32 = 2000;
const LOANS: u32 = 20_000;
const RETURNS: u32 = 60_000;
/// Loans of a page, which has ten books.
pub const PAGE: usize = 100;

const TABLES: &str = "CREATE TABLE books (number INTEGER PRIMARY KEY, title TEXT NOT NULL) STRICT; \
                      CREATE TABLE loans (number INTEGER PRIMARY KEY, book INTEGER NOT NULL, \
                      member INTEGER NOT NULL) STRICT; \
                      CREATE TABLE returns (number INTEGER PRIMARY KEY, book INTEGER NOT NULL, \
                      note TEXT NOT NULL) STRICT";
/// The index of a healthy shop.
const INDEX: &str = "CREATE INDEX loans_book ON loans (book)";
const FILL_BOOKS: &str = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT ?1) \
                          INSERT INTO books (number, title) SELECT n, 'book ' || n FROM n";
const FILL_LOANS: &str = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT ?1) \
                          INSERT INTO loans (number, book, member) \
                          SELECT n, 1 + n % 2000, n * 7919 % 5000 FROM n";
const FILL_RETURNS: &str = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT ?1) \
                            INSERT INTO returns (number, book, note) \
                            SELECT n, 1 + n % 2000, printf('%0300d', n) FROM n";
/// Ten books with their loans. A book without loans is there, too.
const LENT: &str = "SELECT b.number, b.title, l.member FROM books b LEFT JOIN loans l ON l.book = b.number \
                    WHERE b.number >= ?1 AND b.number < ?1 + 10 ORDER BY b.number, l.number";
const RETURN: &str = "INSERT INTO returns (book, note) VALUES (?1, printf('%0300d', ?1))";
/// Removes the oldest returns.
const TIDY: &str = "DELETE FROM returns WHERE number <= (SELECT max(number) FROM returns) - ?1";
/// Empties the log of changes, which has all rows once.
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(TRUNCATE)";
/// Writes the whole file again, so that it has no free pages.
const SHRINK: &str = "VACUUM";

/// The books and their connections.
pub struct Loans {
    connections: Arc<Connections>,
    defect: Defect,
}

impl Loans {
    /// Books in this file. Only the healthy shop and its defects have them, so that the file of the others has no more
    /// to keep.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(path: &Path, defect: Defect, watch: &Watch) -> Result<Arc<Self>, Refusal> {
        let connections = Connections::new(path, SETUP, watch);
        if matches!(defect, Defect::None | Defect::AutomaticIndex | Defect::VacuumJob) {
            let connection = connections.open()?;
            connection.execute_batch(TABLES)?;
            connection.execute(FILL_BOOKS, [BOOKS])?;
            connection.execute(FILL_LOANS, [LOANS])?;
            connection.execute(FILL_RETURNS, [RETURNS])?;
            if defect != Defect::AutomaticIndex {
                connection.execute_batch(INDEX)?;
            }
            connection.execute_batch(CHECKPOINT)?;
        }
        Ok(Arc::new(Self { connections, defect }))
    }

    /// Ten books from a number on, with those who have borrowed them.
    ///
    /// # Errors
    /// SQLite fails.
    pub async fn lent(self: Arc<Self>, first: i64) -> Result<Value, Refusal> {
        let connections = Arc::clone(&self.connections);
        connections.run(move |connection: &Connection| Ok(lent(connection, first)?)).await
    }

    /// Notes that a book was returned.
    ///
    /// # Errors
    /// SQLite fails.
    pub async fn give_back(self: Arc<Self>, book: i64) -> Result<(), Refusal> {
        let connections = Arc::clone(&self.connections);
        connections
            .run(move |connection: &Connection| {
                connection.prepare_cached(RETURN)?.execute([book])?;
                Ok(())
            })
            .await
    }

    /// Begins to remove the oldest returns. No request waits for the end. With the defect, the file is written again
    /// afterwards, and nothing else is written meanwhile.
    pub fn tidy(self: Arc<Self>) {
        // What fails is left to the next time.
        tokio::spawn(async move { self.tidy_now().await.ok() });
    }

    async fn tidy_now(self: Arc<Self>) -> Result<(), Refusal> {
        let shrinks = self.defect == Defect::VacuumJob;
        let connections = Arc::clone(&self.connections);
        connections
            .run(move |connection: &Connection| {
                connection.execute(TIDY, [RETURNS])?;
                if shrinks {
                    connection.execute_batch(SHRINK)?;
                }
                Ok(())
            })
            .await
    }
}

fn lent(connection: &Connection, first: i64) -> rusqlite::Result<Value> {
    let mut statement = connection.prepare_cached(LENT)?;
    let mut rows = statement.query([first])?;
    let mut loans = Vec::new();
    while let Some(row) = rows.next()? {
        let (book, title, member) =
            (row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<i64>>(2)?);
        loans.push(json!({"book": book, "title": title, "member": member}));
    }
    Ok(loans.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::Views;

    fn opened(defect: Defect) -> (tempfile::TempDir, Watch, Views, Arc<Loans>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("views.sqlite3");
        let watch = Watch::new();
        let views = Views::open(&path, defect, &watch).unwrap();
        let loans = Loans::open(&path, defect, &watch).unwrap();
        (folder, watch, views, loans)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_index_finds_the_loans_of_a_book_only_without_the_defect() {
        let mut pages = Vec::new();
        for (defect, is_found) in [(Defect::None, true), (Defect::AutomaticIndex, false)] {
            let (_folder, _watch, _views, loans) = opened(defect);
            let page = Arc::clone(&loans).lent(7).await.unwrap();
            assert_eq!(page.as_array().unwrap().len(), PAGE, "{defect:?}");
            pages.push(page);
            let file = Connection::open(loans.connections.path()).unwrap();
            let mut plan = file.prepare(&format!("EXPLAIN QUERY PLAN {LENT}")).unwrap();
            let steps = plan.query_map([7], |row| row.get::<_, String>(3)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            let uses = |index: &str| steps.iter().any(|step| step.contains(index));
            assert_eq!(uses("loans_book"), is_found, "{steps:?}");
            assert_eq!(uses("AUTOMATIC"), !is_found, "{steps:?}");
        }
        // The same page, whatever finds it.
        assert_eq!(pages[0], pages[1]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_file_is_written_again_only_with_the_defect() {
        for (defect, shrinks) in [(Defect::None, false), (Defect::VacuumJob, true)] {
            let (_folder, _watch, _views, loans) = opened(defect);
            let file = Connection::open(loans.connections.path()).unwrap();
            let number = |sql: &str| file.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
            // Leaves free pages, as a year of returns does.
            file.execute("DELETE FROM returns WHERE number <= 30000", []).unwrap();
            Arc::clone(&loans).give_back(7).await.unwrap();
            assert!(number("PRAGMA freelist_count") > 100, "{defect:?}");
            Arc::clone(&loans).tidy_now().await.unwrap();
            assert_eq!(number("PRAGMA freelist_count") == 0, shrinks, "{defect:?}");
            assert_eq!(number("SELECT count(*) FROM returns"), 30_001, "{defect:?}");
        }
    }
}
