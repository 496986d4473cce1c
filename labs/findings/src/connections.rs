//! Connections to the file of SQLite, of which each request uses one alone.
//!
//! Knows no tables. Does not limit how many there are.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use knee_sqlite::Watch;
use rusqlite::Connection;

use crate::refusal::Refusal;

/// How long a connection waits for the write lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections that are set up in the same way.
pub struct Connections {
    path: PathBuf,
    /// What each executes first. The journal is that which the file has.
    setup: &'static str,
    watch: Watch,
    /// Connections that no request uses now.
    free: Mutex<Vec<Connection>>,
}

impl Connections {
    /// Connections to this file, which open when they are needed.
    pub fn new(path: &Path, setup: &'static str, watch: &Watch) -> Arc<Self> {
        let (path, watch) = (path.to_owned(), watch.clone());
        Arc::new(Self { path, setup, watch, free: Mutex::default() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A new connection.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn open(&self) -> Result<Connection, Refusal> {
        let mut connection = Connection::open(&self.path)?;
        self.watch.connection(&mut connection, BUSY_TIMEOUT)?;
        connection.execute_batch(self.setup)?;
        Ok(connection)
    }

    /// Does something with a connection that no other request uses meanwhile.
    ///
    /// # Errors
    /// SQLite fails, or what is done.
    pub async fn run<T: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let done = tokio::task::spawn_blocking(move || self.run_now(work)).await;
        done.unwrap_or_else(|error| Err(Refusal::Sqlite(error.to_string())))
    }

    fn run_now<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let taken = self.free().pop();
        let connection = taken.map_or_else(|| self.open(), Ok)?;
        let done = work(&connection);
        self.free().push(connection);
        done
    }

    fn free(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
