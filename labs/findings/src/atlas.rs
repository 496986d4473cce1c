//! An atlas of places, in the file of SQLite: one place, or an export of many.
//!
//! The file is that of [`crate::views`], which makes it. Does not use the other stores.

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use knee_sqlite::Watch;
use rusqlite::Connection;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::calls::Calls;
use crate::defect::Defect;
use crate::refusal::Refusal;

/// How long a connection waits for another one, which is the default of the library.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Places of the atlas.
const PLACES: u32 = 2000;
/// Connections to the file at most.
const CONNECTIONS: usize = 30;
/// Places of an export, those that another server takes at a time, and how long it takes for them.
pub const EXPORTED: usize = 600;
const PART: usize = 50;
const UPLOAD: Duration = Duration::from_millis(5);

const TABLE: &str = "CREATE TABLE places (number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT";
const FILL: &str = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT ?1) \
                    INSERT INTO places (number, text) SELECT n, 'place ' || n || ' by the sea' FROM n";
const PLACE: &str = "SELECT text FROM places WHERE number = ?1";
const ALL: &str = "SELECT text FROM places ORDER BY number LIMIT ?1";

/// The atlas and its connections.
pub struct Atlas {
    path: PathBuf,
    watch: Watch,
    /// Connections that no request uses now.
    free: Mutex<Vec<Connection>>,
    /// Connections that requests can use at a time.
    places: Semaphore,
}

impl Atlas {
    /// An atlas in this file. Only the healthy shop and its defect have it, so that the file of the others has no more
    /// to keep. With the defect, there is one connection for all requests.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(path: &Path, defect: Defect, watch: &Watch) -> Result<Arc<Self>, Refusal> {
        if matches!(defect, Defect::None | Defect::OneConnection) {
            let connection = connect(path, watch)?;
            connection.execute_batch(TABLE)?;
            connection.execute(FILL, [PLACES])?;
        }
        let count = if defect == Defect::OneConnection { 1 } else { CONNECTIONS };
        let places = Semaphore::new(count);
        Ok(Arc::new(Self { path: path.to_owned(), watch: watch.clone(), free: Mutex::default(), places }))
    }

    /// The text of a place.
    ///
    /// # Errors
    /// SQLite fails; there is no such place.
    pub async fn place(self: Arc<Self>, number: i64) -> Result<String, Refusal> {
        self.read(move |connection: &Connection| text(connection, number)).await
    }

    /// Sends places to another server, part by part while they are read. Returns how many there were.
    ///
    /// # Errors
    /// SQLite or the other server fails.
    pub async fn export(self: Arc<Self>, calls: Arc<Calls>) -> Result<usize, Refusal> {
        self.read(move |connection: &Connection| export(connection, &calls)).await
    }

    /// Reads with a connection that no other request uses meanwhile.
    async fn read<T: Send + 'static>(
        self: Arc<Self>,
        read: impl FnOnce(&Connection) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        // The semaphore is never closed.
        let _place = self.places.acquire().await.ok();
        let atlas = Arc::clone(&self);
        let done = tokio::task::spawn_blocking(move || atlas.read_now(read)).await;
        done.unwrap_or_else(|error| Err(Refusal::Sqlite(error.to_string())))
    }

    fn read_now<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let taken = self.free().pop();
        let connection = taken.map_or_else(|| connect(&self.path, &self.watch), Ok)?;
        let done = read(&connection);
        self.free().push(connection);
        done
    }

    fn free(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn connect(path: &Path, watch: &Watch) -> Result<Connection, Refusal> {
    let mut connection = Connection::open(path)?;
    watch.connection(&mut connection, BUSY_TIMEOUT)?;
    Ok(connection)
}

fn text(connection: &Connection, number: i64) -> Result<String, Refusal> {
    Ok(connection.prepare_cached(PLACE)?.query_row([number], |row| row.get(0))?)
}

fn export(connection: &Connection, calls: &Calls) -> Result<usize, Refusal> {
    let mut statement = connection.prepare_cached(ALL)?;
    let mut rows = statement.query([EXPORTED as i64])?;
    let (mut sent, mut part) = (0, Vec::new());
    while let Some(row) = rows.next()? {
        part.push(row.get::<_, String>(0)?);
        if part.len() == PART {
            sent += part.len();
            calls.wait("parts", sent as u64, UPLOAD, Some(&Value::from(mem::take(&mut part))))?;
        }
    }
    Ok(sent)
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use tokio::time::Instant;

    use super::*;
    use crate::views::Views;

    #[tokio::test(flavor = "multi_thread")]
    async fn exports_wait_for_each_other_only_with_the_defect() {
        let calls = Calls::in_thread();
        for (defect, waits) in [(Defect::None, false), (Defect::OneConnection, true)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("views.sqlite3");
            let watch = Watch::new();
            let _views = Views::open(&path, defect, &watch).unwrap();
            let atlas = Atlas::open(&path, defect, &watch).unwrap();
            assert_eq!(Arc::clone(&atlas).place(7).await.unwrap(), "place 7 by the sea", "{defect:?}");
            assert!(Arc::clone(&atlas).place(0).await.is_err(), "{defect:?}");
            let mut shortest = Duration::MAX;
            for _ in 0..5 {
                let start = Instant::now();
                let exports = (0..4).map(|_| Arc::clone(&atlas).export(Arc::clone(&calls)));
                for sent in join_all(exports).await {
                    assert_eq!(sent.unwrap(), EXPORTED, "{defect:?}");
                }
                shortest = shortest.min(start.elapsed());
            }
            // Four times twelve parts.
            assert_eq!(shortest >= UPLOAD * 48, waits, "{defect:?}: {shortest:?}");
        }
    }
}
