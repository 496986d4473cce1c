//! Views of articles, counted in a SQLite file.
//!
//! A healthy shop has one writer, which writes all waiting views in one transaction, in WAL mode. The defects change the
//! journal, the commits, the readers and a purge. Does not use the other stores.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use knee_sqlite::Watch;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use crate::calls::Calls;
use crate::defect::Defect;
use crate::refusal::Refusal;

/// Most views per transaction.
const GROUP_MAX: usize = 500;

/// How long a connection waits for the write lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long another server takes to look up where a visitor comes from, and from how many places they do.
const LOOKUP: Duration = Duration::from_millis(8);
const PLACES: u64 = 1000;

/// Writers that each commit a view at a time: one per connection of a usual pool.
const SINGLE_WRITERS: usize = 4;

/// Old events of a shop that purges them by day, the pace of the purge, and what it deletes.
const OLD_EVENTS: u32 = 600_000;
const PURGE_PACE: Duration = Duration::from_secs(1);
const PURGE: &str = "BEGIN IMMEDIATE; \
                     DELETE FROM seen WHERE datetime(at, '+30 days') < datetime('2025-01-01'); COMMIT";
const SEEN: &str = "CREATE TABLE seen (id INTEGER PRIMARY KEY, at TEXT NOT NULL, page TEXT NOT NULL) STRICT";
const OLD: &str = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT ?1) \
                   INSERT INTO seen (at, page) SELECT '2025-06-01 12:00:00', '/pages/' || n FROM n";

const TABLES: &str = "CREATE TABLE counts (article INTEGER PRIMARY KEY, views INTEGER NOT NULL) STRICT;
                      CREATE TABLE events (id INTEGER PRIMARY KEY, article INTEGER NOT NULL, details TEXT NOT NULL) STRICT;
                      INSERT INTO events (article, details) VALUES (0, 'first');";
const COUNT: &str = "INSERT INTO counts (article, views) VALUES (?1, 1) \
                     ON CONFLICT (article) DO UPDATE SET views = views + 1";
const EVENT: &str = "INSERT INTO events (article, details) VALUES (?1, ?2)";

/// A view, and where its answer goes.
struct View {
    article: i64,
    /// Of a view that is stored with all that the client sent.
    details: Option<String>,
    /// Where its writer looks something up for it, within the transaction.
    looks_up: Option<Arc<Calls>>,
    done: oneshot::Sender<Result<(), Refusal>>,
}

/// The file and its writers.
pub struct Views {
    queue: Mutex<Sender<View>>,
    defect: Defect,
    /// A reader whose transaction never ends.
    _pinned: Option<Mutex<Connection>>,
}

impl Views {
    /// Replaces the file by an empty one, and starts its writers.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(path: &Path, defect: Defect, watch: &Watch) -> Result<Self, Refusal> {
        for end in ["", "-wal", "-shm", "-journal"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            match fs::remove_file(name) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        let connect = || connect(path, defect, watch);
        connect()?.execute_batch(TABLES)?;
        if defect == Defect::PurgeScan {
            start_purges(connect()?)?;
        }
        let pinned = if defect == Defect::PinnedWal { Some(Mutex::new(pin(connect()?)?)) } else { None };
        let (queue, views) = channel();
        let views = Arc::new(Mutex::new(views));
        let is_single =
            matches!(defect, Defect::RollbackJournal | Defect::CommitPerView | Defect::LookupInTransaction);
        for number in 0..if is_single { SINGLE_WRITERS } else { 1 } {
            let (connection, views) = (connect()?, Arc::clone(&views));
            let group_max = if is_single { 1 } else { GROUP_MAX };
            let writer = thread::Builder::new().name(format!("views-{number}"));
            writer.spawn(move || write_all(connection, &views, group_max))?;
        }
        Ok(Self { queue: Mutex::new(queue), defect, _pinned: pinned })
    }

    /// Counts a view, and stores its details if there are any. Returns when it is committed.
    ///
    /// # Errors
    /// SQLite fails.
    pub async fn add(&self, article: i64, details: Option<String>) -> Result<(), Refusal> {
        self.send(article, details, None).await
    }

    /// Counts a view after a lookup. With the defect, the lookup is within the transaction.
    ///
    /// # Errors
    /// SQLite fails.
    pub async fn visit(&self, article: i64, calls: &Arc<Calls>) -> Result<(), Refusal> {
        if self.defect == Defect::LookupInTransaction {
            return self.send(article, None, Some(Arc::clone(calls))).await;
        }
        // A visit from an unknown place counts as well.
        let _ = calls.ask("visitors", fastrand::u64(..PLACES), LOOKUP).await;
        self.send(article, None, None).await
    }

    async fn send(
        &self,
        article: i64,
        details: Option<String>,
        looks_up: Option<Arc<Calls>>,
    ) -> Result<(), Refusal> {
        let (done, is_done) = oneshot::channel();
        let ended = || Refusal::Sqlite("the writer ended".to_owned());
        {
            let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.send(View { article, details, looks_up, done }).map_err(|_| ended())?;
        }
        is_done.await.map_err(|_| ended())?
    }
}

fn connect(path: &Path, defect: Defect, watch: &Watch) -> Result<Connection, Refusal> {
    let mut connection = Connection::open(path)?;
    watch.connection(&mut connection, BUSY_TIMEOUT)?;
    let journal = if defect == Defect::RollbackJournal { "DELETE" } else { "WAL" };
    let waits = matches!(defect, Defect::RollbackJournal | Defect::CommitPerView);
    connection.pragma_update(None, "journal_mode", journal)?;
    connection.pragma_update(None, "synchronous", if waits { "FULL" } else { "NORMAL" })?;
    Ok(connection)
}

/// Deletes old events again and again. No index has their time, so each purge reads all of them, and it holds the write
/// lock from its beginning, also if there is nothing to delete.
fn start_purges(connection: Connection) -> Result<(), Refusal> {
    connection.execute_batch(SEEN)?;
    connection.execute(OLD, [OLD_EVENTS])?;
    thread::Builder::new().name("purge".to_owned()).spawn(move || {
        loop {
            thread::sleep(PURGE_PACE);
            // A purge that fails is tried again at the next pace.
            let _ = connection.execute_batch(PURGE);
        }
    })?;
    Ok(())
}

/// Opens a read transaction on a connection: a snapshot that no checkpoint can pass.
fn pin(connection: Connection) -> Result<Connection, Refusal> {
    connection.execute_batch("BEGIN")?;
    connection.query_row("SELECT count(*) FROM events", [], |row| row.get::<_, i64>(0))?;
    Ok(connection)
}

/// Writes views until the queue ends, at most `group_max` per transaction.
fn write_all(mut connection: Connection, views: &Mutex<Receiver<View>>, group_max: usize) {
    loop {
        let group = {
            // Writers take views one after another; they write side by side, as far as the write lock lets them.
            let views = views.lock().unwrap_or_else(PoisonError::into_inner);
            let Ok(first) = views.recv() else { return };
            let mut group = vec![first];
            while group.len() < group_max {
                let Ok(next) = views.try_recv() else { break };
                group.push(next);
            }
            group
        };
        let result = write(&mut connection, &group);
        for view in group {
            // The request of a view can have ended.
            let _ = view.done.send(match &result {
                Ok(()) => Ok(()),
                Err(error) => Err(Refusal::Sqlite(error.to_string())),
            });
        }
    }
}

fn write(connection: &mut Connection, group: &[View]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for view in group {
        if let Some(calls) = &view.looks_up {
            let _ = calls.wait("visitors", fastrand::u64(..PLACES), LOOKUP, None);
        }
        add(&transaction, view)?;
    }
    transaction.commit()
}

fn add(transaction: &Transaction<'_>, view: &View) -> rusqlite::Result<()> {
    match &view.details {
        Some(details) => transaction.prepare_cached(EVENT)?.execute((view.article, details)).map(drop),
        None => transaction.prepare_cached(COUNT)?.execute([view.article]).map(drop),
    }
}

/// A figure on the page of the connections, for tests; 0 if it is not there.
#[cfg(test)]
pub fn figure(page: &str, name: &str) -> f64 {
    let mut lines = page.lines().filter_map(|line| line.strip_prefix("knee_sqlite_")?.strip_prefix(name));
    lines.find_map(|rest| rest.strip_prefix(' ')?.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn after_views(defect: Defect, count: i64) -> (tempfile::TempDir, Views, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("views.sqlite3");
        let views = Views::open(&path, defect, &Watch::new()).unwrap();
        for article in 0..count {
            views.add(article % 7, Some("x".repeat(4096))).await.unwrap();
            views.add(article % 7, None).await.unwrap();
        }
        (folder, views, Connection::open(path).unwrap())
    }

    #[tokio::test]
    async fn every_view_that_was_answered_is_counted_with_each_defect() {
        for defect in [Defect::None, Defect::RollbackJournal, Defect::CommitPerView, Defect::PinnedWal] {
            let (_folder, _views, file) = after_views(defect, 20).await;
            let count = |sql: &str| file.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
            assert_eq!(count("SELECT sum(views) FROM counts"), 20, "{defect:?}");
            assert_eq!(count("SELECT count(*) FROM events"), 21, "{defect:?}");
        }
    }

    #[tokio::test]
    async fn only_the_defect_has_a_rollback_journal() {
        for (defect, mode) in [(Defect::None, "wal"), (Defect::RollbackJournal, "delete")] {
            let (_folder, _views, file) = after_views(defect, 1).await;
            let journal: String = file.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
            assert_eq!(journal, mode);
        }
    }

    #[tokio::test]
    async fn a_commit_waits_for_the_disk_only_with_the_defect() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("views.sqlite3");
        for (defect, level) in [(Defect::None, 1), (Defect::CommitPerView, 2), (Defect::RollbackJournal, 2)] {
            let _ = fs::remove_file(&path);
            let connection = connect(&path, defect, &Watch::new()).unwrap();
            let synchronous: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
            assert_eq!(synchronous, level, "{defect:?}");
        }
    }

    #[tokio::test]
    async fn visits_wait_for_the_lookups_of_others_only_with_the_defect() {
        const VISITS: u32 = 50;
        let calls = Calls::in_thread();
        for (defect, waits) in [(Defect::None, false), (Defect::LookupInTransaction, true)] {
            let (_folder, views, file) = after_views(defect, 0).await;
            let start = tokio::time::Instant::now();
            let visits = futures_util::future::join_all((0..VISITS).map(|_| views.visit(1, &calls))).await;
            assert!(visits.iter().all(Result::is_ok), "{visits:?}");
            // One writer at a time: with the defect, the lookups come one after another.
            assert_eq!(start.elapsed() >= LOOKUP * VISITS, waits, "{defect:?}: {:?}", start.elapsed());
            let counted: i64 = file.query_row("SELECT sum(views) FROM counts", [], |row| row.get(0)).unwrap();
            assert_eq!(counted, i64::from(VISITS));
        }
    }

    #[tokio::test]
    async fn a_purge_reads_all_old_events_only_with_the_defect() {
        let (_folder, _views, file) = after_views(Defect::None, 1).await;
        assert!(file.prepare("SELECT count(*) FROM seen").is_err());
        let (_folder, _views, file) = after_views(Defect::PurgeScan, 1).await;
        let text = |sql: &str, column| file.query_row(sql, [], |row| row.get::<_, String>(column)).unwrap();
        assert_eq!(text("SELECT count(*) || ' events' FROM seen", 0), format!("{OLD_EVENTS} events"));
        let delete = PURGE.split(';').nth(1).unwrap();
        assert_eq!(text(&format!("EXPLAIN QUERY PLAN {delete}"), 3), "SCAN seen");
    }

    #[tokio::test]
    async fn the_wal_grows_without_end_only_with_a_pinned_reader() {
        // 1,500 views of two pages each are 3,000 frames; a checkpoint resets the WAL at 1,000.
        for (defect, is_pinned) in [(Defect::None, false), (Defect::PinnedWal, true)] {
            let (folder, _views, _file) = after_views(defect, 1500).await;
            let wal = fs::metadata(folder.path().join("views.sqlite3-wal")).unwrap().len();
            assert_eq!(wal > 8 << 20, is_pinned, "{defect:?}: {wal} bytes");
        }
    }
}
