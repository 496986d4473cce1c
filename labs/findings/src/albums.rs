//! Albums with their photos, and what is counted on shelves, in the file of SQLite.
//!
//! The file is that of [`crate::views`], which makes it. Does not use the other stores.

use std::path::Path;
use std::sync::Arc;

use knee_sqlite::Watch;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::connections::Connections;
use crate::defect::Defect;
use crate::refusal::Refusal;

/// Albums, and photos of all of them.
const ALBUMS: u32 = 4000;
const PHOTOS: u32 = 80_000;
/// Lines of a stocktaking.
pub const LINES: i64 = 20;

/// What a connection executes first: deletions remove what refers to their rows, and commits wait for no disk.
const SETUP: &str = "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL";
/// The same, but each commit waits for the disk, which is the default of SQLite.
const SETUP_FULL: &str = "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL";

const TABLES: &str = "CREATE TABLE albums (number INTEGER PRIMARY KEY, title TEXT NOT NULL) STRICT; \
                      CREATE TABLE photos (number INTEGER PRIMARY KEY, \
                      album INTEGER NOT NULL REFERENCES albums ON DELETE CASCADE, \
                      file TEXT NOT NULL) STRICT; \
                      CREATE TABLE counted (number INTEGER PRIMARY KEY, shelf INTEGER NOT NULL, \
                      item INTEGER NOT NULL, pieces INTEGER NOT NULL) STRICT";
/// The index of a healthy shop.
const INDEX: &str = "CREATE INDEX photos_album ON photos (album)";
const FILL_ALBUMS: &str = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT ?1) \
                           INSERT INTO albums (number, title) SELECT n, 'album ' || n FROM n";
const FILL_PHOTOS: &str = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT ?1) \
                           INSERT INTO photos (number, album, file) \
                           SELECT n, 1 + n % 4000, 'photos/' || n || '.jpeg' FROM n";
/// Empties the log of changes, which has all rows once.
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(TRUNCATE)";
const DELETE: &str = "DELETE FROM albums WHERE number = ?1";
const LINE: &str = "INSERT INTO counted (shelf, item, pieces) VALUES (?1, ?2, ?3)";

/// The albums and their connections.
pub struct Albums {
    connections: Arc<Connections>,
    defect: Defect,
}

impl Albums {
    /// Albums in this file. Only the healthy shop and its defects have them, so that the file of the others has no more
    /// to keep.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(path: &Path, defect: Defect, watch: &Watch) -> Result<Self, Refusal> {
        let setup = if defect == Defect::CommitPerLine { SETUP_FULL } else { SETUP };
        let connections = Connections::new(path, setup, watch);
        if matches!(defect, Defect::None | Defect::CascadeScan | Defect::CommitPerLine) {
            let connection = connections.open()?;
            connection.execute_batch(TABLES)?;
            connection.execute(FILL_ALBUMS, [ALBUMS])?;
            connection.execute(FILL_PHOTOS, [PHOTOS])?;
            if defect != Defect::CascadeScan {
                connection.execute_batch(INDEX)?;
            }
            connection.execute_batch(CHECKPOINT)?;
        }
        Ok(Self { connections, defect })
    }

    /// Deletes an album with its photos, for which SQLite looks.
    ///
    /// # Errors
    /// SQLite fails; there is no such album.
    pub async fn delete(&self, album: i64) -> Result<(), Refusal> {
        let connections = Arc::clone(&self.connections);
        connections
            .run(move |connection: &Connection| {
                let deleted = connection.prepare_cached(DELETE)?.execute([album])?;
                if deleted == 1 { Ok(()) } else { Err(Refusal::Missing) }
            })
            .await
    }

    /// Notes what was counted on the shelf with a number: in one transaction, or in one per line with the defect.
    ///
    /// # Errors
    /// SQLite fails.
    pub async fn take_stock(&self, number: i64) -> Result<(), Refusal> {
        let is_single = self.defect == Defect::CommitPerLine;
        let connections = Arc::clone(&self.connections);
        connections.run(move |connection: &Connection| Ok(note(connection, number, is_single)?)).await
    }
}

fn note(connection: &Connection, shelf: i64, is_single: bool) -> rusqlite::Result<()> {
    let all = if is_single {
        None
    } else {
        Some(Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?)
    };
    let mut line = connection.prepare_cached(LINE)?;
    for item in 0..LINES {
        line.execute([shelf, item, item * 7919 % 97])?;
    }
    all.map_or(Ok(()), Transaction::commit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::Views;

    fn opened(defect: Defect) -> (tempfile::TempDir, Watch, Views, Albums) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("views.sqlite3");
        let watch = Watch::new();
        let views = Views::open(&path, defect, &watch).unwrap();
        let albums = Albums::open(&path, defect, &watch).unwrap();
        (folder, watch, views, albums)
    }

    fn number(file: &Connection, sql: &str) -> i64 {
        file.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_index_finds_the_photos_of_a_deleted_album_only_without_the_defect() {
        for (defect, is_found) in [(Defect::None, true), (Defect::CascadeScan, false)] {
            let (_folder, _watch, _views, albums) = opened(defect);
            albums.delete(7).await.unwrap();
            assert!(matches!(albums.delete(7).await, Err(Refusal::Missing)), "{defect:?}");
            let file = Connection::open(albums.connections.path()).unwrap();
            // All photos of the album are gone, whatever finds them.
            assert_eq!(number(&file, "SELECT count(*) FROM photos"), 79_980, "{defect:?}");
            assert_eq!(number(&file, "SELECT count(*) FROM photos WHERE album = 7"), 0, "{defect:?}");
            // What SQLite does for a deleted album.
            let mut plan = file.prepare("EXPLAIN QUERY PLAN DELETE FROM photos WHERE album = 8").unwrap();
            let steps = plan.query_map([], |row| row.get::<_, String>(3)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            assert_eq!(steps.iter().any(|step| step.contains("photos_album")), is_found, "{steps:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn each_line_of_a_stocktaking_is_a_transaction_that_waits_for_the_disk_only_with_the_defect() {
        for (defect, transactions, synchronous) in [(Defect::None, 1, 1), (Defect::CommitPerLine, LINES, 2)] {
            let (_folder, watch, _views, albums) = opened(defect);
            let series = "knee_sqlite_write_transactions_total ";
            let written = || -> i64 {
                let page = watch.page();
                let mut values = page.lines().filter_map(|line| line.strip_prefix(series));
                values.next().map_or(0, |value| value.parse().unwrap())
            };
            let before = written();
            albums.take_stock(7).await.unwrap();
            assert_eq!(written() - before, transactions, "{defect:?}");
            let connection = albums.connections.open().unwrap();
            assert_eq!(
                number(&connection, "SELECT count(*) FROM counted WHERE shelf = 7"),
                LINES,
                "{defect:?}"
            );
            assert_eq!(number(&connection, "PRAGMA synchronous"), synchronous, "{defect:?}");
        }
    }
}
