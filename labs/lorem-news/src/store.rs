//! A connection to the board's SQLite file, opened as the switches say.
//!
//! Does not know HTTP, and does not share connections between requests; the engine does.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use sha2::{Digest, Sha256};

use crate::config::{BusyWait, Switches, Synchronous, TxMode};
use crate::counter::Counters;
use crate::runtime_lock;

pub mod busy;
pub mod checkpoint;
pub mod group;
pub mod read;
pub mod write;

use checkpoint::Checkpointer;
use write::{Write, WriteOutcome};

/// Schema version of this program, stored in the file's `user_version`.
const SCHEMA_VERSION: i64 = 1;

/// Error of the store.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Another connection holds the write lock, and waiting was impossible or timed out.
    #[error("the database is busy")]
    Busy,
    /// Any other SQLite error.
    #[error("the database failed: {0}")]
    Sql(rusqlite::Error),
    /// The process is stopping, or the writer thread has died.
    #[error("the writer does not answer")]
    Stopped,
    /// The file has the schema of a newer program.
    #[error("{path}: schema version {found}, this program knows {SCHEMA_VERSION}")]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
    },
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            _ => Self::Sql(error),
        }
    }
}

/// Access mode of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read and write; the file must exist.
    Write,
    /// Read only; SQLite refuses everything else.
    Read,
}

/// Options of connections: the switches that affect them, and their counters.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The file.
    pub path: PathBuf,
    /// Whether BEGIN takes the write lock.
    pub tx_mode: TxMode,
    /// How to wait for the write lock.
    pub busy_wait: BusyWait,
    /// Whether prepared statements are cached.
    pub statement_cache: bool,
    /// When commits wait for the disk.
    pub synchronous: Synchronous,
    /// Units of extra work per change.
    pub transaction_cost: u32,
    /// The background checkpointer; `None` if connections checkpoint themselves.
    pub checkpointer: Option<Checkpointer>,
    /// Counters of busy errors, waits and commits.
    pub counters: Arc<Counters>,
}

impl StoreOptions {
    /// Options for the file in `data` and the switches.
    pub fn new(data: &Path, switches: &Switches, counters: Arc<Counters>) -> Self {
        Self {
            path: database_path(data),
            tx_mode: switches.tx_mode,
            busy_wait: switches.busy_wait,
            statement_cache: switches.statement_cache.is_on(),
            synchronous: switches.synchronous,
            transaction_cost: switches.transaction_cost,
            checkpointer: None,
            counters,
        }
    }
}

/// The database file of a data folder.
pub fn database_path(data: &Path) -> PathBuf {
    data.join("lorem.sqlite3")
}

/// One connection.
#[derive(Debug)]
pub struct Store {
    conn: Connection,
    counters: Arc<Counters>,
    transaction_cost: u32,
}

impl Store {
    /// Opens a connection.
    ///
    /// # Errors
    /// The file is missing or unreadable, or not a database.
    pub fn open(options: &StoreOptions, access: Access) -> Result<Self, Failure> {
        let flags = match access {
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
        let mut conn = Connection::open_with_flags(&options.path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        // Without this, SQLite prepares a statement again when a parameter changes that the planner may use.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        busy::install(&mut conn, options.busy_wait, &options.counters)?;
        pragmas(&conn, options.synchronous, access)?;
        if let Some(checkpointer) = &options.checkpointer {
            checkpointer.install_hook(&mut conn)?;
        }
        // With a capacity of zero, each statement is finalized after its use and prepared again.
        conn.set_prepared_statement_cache_capacity(if options.statement_cache { 128 } else { 0 });
        conn.set_transaction_behavior(match options.tx_mode {
            TxMode::Deferred => TransactionBehavior::Deferred,
            TxMode::Immediate => TransactionBehavior::Immediate,
        });
        let counters = Arc::clone(&options.counters);
        Ok(Self { conn, counters, transaction_cost: options.transaction_cost })
    }

    /// Applies one change in a transaction of its own.
    ///
    /// # Errors
    /// [`Failure::Busy`] if the lock was not free in time; then nothing was changed.
    pub fn write(&mut self, write: &Write) -> Result<WriteOutcome, Failure> {
        let counters = Arc::clone(&self.counters);
        counters.writes.increment();
        let result = self.in_transaction(|change| change(write));
        if matches!(result, Err(Failure::Busy)) {
            counters.busy.increment();
        }
        result
    }

    /// Applies changes in one transaction: all or none.
    ///
    /// # Errors
    /// The error of the first change that failed.
    pub fn write_all<'a>(
        &mut self,
        writes: impl Iterator<Item = &'a Write>,
    ) -> Result<Vec<WriteOutcome>, Failure> {
        self.in_transaction(|change| writes.map(change).collect())
    }

    fn in_transaction<R>(
        &mut self,
        changes: impl FnOnce(&mut dyn FnMut(&Write) -> rusqlite::Result<WriteOutcome>) -> rusqlite::Result<R>,
    ) -> Result<R, Failure> {
        let transaction = self.conn.transaction()?;
        let result = changes(&mut |write| {
            write::apply(&transaction, write, &|| {
                busy_work(self.transaction_cost);
                self.counters.extra_work.add(self.transaction_cost.into());
            })
        })?;
        // In every mode, this connection holds the write lock by now.
        runtime_lock::yield_if_due();
        transaction.commit()?;
        self.counters.commits.increment();
        Ok(result)
    }

    /// Runs reads in one snapshot. Also saves the locks of a transaction per read.
    ///
    /// # Errors
    /// An error of the reads.
    pub fn in_snapshot<R>(&self, read: impl FnOnce(&Self) -> Result<R, Failure>) -> Result<R, Failure> {
        self.conn.prepare_cached("BEGIN DEFERRED")?.execute([])?;
        let result = read(self);
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        result
    }

    /// Checkpoints and truncates the log, if there are no readers.
    ///
    /// # Errors
    /// The disk fails.
    pub fn checkpoint(&self) -> Result<(), Failure> {
        Ok(self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }

    /// The connection, for use within this crate.
    pub(crate) fn conn(&self) -> &Connection {
        &self.conn
    }
}

/// Creates the file and the schema if they are missing.
///
/// # Errors
/// The file cannot be created, or has another schema version.
pub fn prepare(options: &StoreOptions) -> Result<(), Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut conn = Connection::open_with_flags(&options.path, flags)?;
    conn.busy_timeout(Duration::from_secs(5))?;
    pragmas(&conn, options.synchronous, Access::Write)?;
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match transaction.query_row("PRAGMA user_version", [], |row| row.get(0))? {
        SCHEMA_VERSION => Ok(()),
        0 => {
            transaction.execute_batch(include_str!("store/schema.sql"))?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
            Ok(transaction.commit()?)
        }
        found => Err(Failure::Schema { path: options.path.clone(), found }),
    }
}

/// Simulates the work of a slower program while the transaction is open.
fn busy_work(units: u32) {
    let work = [0_u8; 4096];
    for _ in 0..units {
        std::hint::black_box(Sha256::digest(std::hint::black_box(work)));
        runtime_lock::yield_if_due();
    }
}

fn pragmas(conn: &Connection, synchronous: Synchronous, access: Access) -> rusqlite::Result<()> {
    conn.pragma_update(None, "foreign_keys", true)?;
    if access == Access::Write {
        conn.pragma_update(None, "journal_mode", "WAL")?;
        conn.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    }
    conn.pragma_update(
        None,
        "synchronous",
        match synchronous {
            Synchronous::Normal => "NORMAL",
            Synchronous::Full => "FULL",
        },
    )?;
    conn.pragma_update(None, "mmap_size", 128 * 1024 * 1024)?;
    conn.pragma_update(None, "cache_size", 2000)
}

#[cfg(test)]
mod tests;
