//! A connection to the board's file, opened as the switches say.
//!
//! Knows SQL and nothing of HTTP. How connections are shared between requests is the engine's affair.

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
use write::{Write, Written};

/// The version of the schema that this program writes, kept in the file's `user_version`.
const SCHEMA_VERSION: i64 = 1;

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Another connection writes, and waiting was not possible or took too long.
    #[error("the database is busy")]
    Busy,
    /// SQLite says no for another reason.
    #[error("the database failed: {0}")]
    Sql(rusqlite::Error),
    /// The process is stopping, or the writer died.
    #[error("the writer does not answer")]
    Stopped,
    /// The file was made by a newer program.
    #[error("{path}: schema version {found}, this program knows {SCHEMA_VERSION}")]
    Schema {
        /// The file.
        path: PathBuf,
        /// What it says.
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

/// What a connection may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read and write; the file has to exist.
    Write,
    /// Read; SQLite refuses everything else.
    Read,
}

/// How connections are opened: the switches that concern them, and where they count.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The file.
    pub path: PathBuf,
    /// Whether BEGIN takes the lock.
    pub tx_mode: TxMode,
    /// How to wait for it.
    pub busy_wait: BusyWait,
    /// Whether statements are kept.
    pub statement_cache: bool,
    /// When to wait for the disk.
    pub synchronous: Synchronous,
    /// Units of extra work for each change.
    pub transaction_cost: u32,
    /// Who moves the log into the file; `None` for the connections themselves.
    pub checkpointer: Option<Checkpointer>,
    /// Where busy refusals, waits and commits are counted.
    pub counters: Arc<Counters>,
}

impl Opening {
    /// Connections to the file in `data`, as `switches` say.
    pub fn new(data: &Path, switches: &Switches, counters: Arc<Counters>) -> Self {
        Self {
            path: file_in(data),
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
pub fn file_in(data: &Path) -> PathBuf {
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
    pub fn open(opening: &Opening, access: Access) -> Result<Self, Failure> {
        let flags = match access {
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
        let mut conn = Connection::open_with_flags(&opening.path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        // Without this, a statement is prepared anew whenever a parameter changes that the planner might look at.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        busy::install(&mut conn, opening.busy_wait, &opening.counters)?;
        pragmas(&conn, opening.synchronous, access)?;
        if let Some(checkpointer) = &opening.checkpointer {
            checkpointer.watch(&mut conn)?;
        }
        // A capacity of zero finalizes each statement after its use: it is prepared again the next time.
        conn.set_prepared_statement_cache_capacity(if opening.statement_cache { 128 } else { 0 });
        conn.set_transaction_behavior(match opening.tx_mode {
            TxMode::Deferred => TransactionBehavior::Deferred,
            TxMode::Immediate => TransactionBehavior::Immediate,
        });
        let counters = Arc::clone(&opening.counters);
        Ok(Self { conn, counters, transaction_cost: opening.transaction_cost })
    }

    /// Makes one change in a transaction of its own.
    ///
    /// # Errors
    /// [`Failure::Busy`] when the lock could not be had; nothing was changed then.
    pub fn write(&mut self, write: &Write) -> Result<Written, Failure> {
        let counters = Arc::clone(&self.counters);
        counters.writes.one();
        let result = self.in_transaction(|change| change(write));
        if matches!(result, Err(Failure::Busy)) {
            counters.busy.one();
        }
        result
    }

    /// Makes changes together: all or none of them.
    ///
    /// # Errors
    /// Of the first change that failed.
    pub fn write_all<'a>(
        &mut self,
        writes: impl Iterator<Item = &'a Write>,
    ) -> Result<Vec<Written>, Failure> {
        self.in_transaction(|change| writes.map(change).collect())
    }

    fn in_transaction<R>(
        &mut self,
        changes: impl FnOnce(&mut dyn FnMut(&Write) -> rusqlite::Result<Written>) -> rusqlite::Result<R>,
    ) -> Result<R, Failure> {
        let transaction = self.conn.transaction()?;
        let result = changes(&mut |write| {
            write::apply(&transaction, write, &|| {
                toil(self.transaction_cost);
                self.counters.toil.add(self.transaction_cost.into());
            })
        })?;
        // The write lock is held by now, whatever the mode.
        runtime_lock::turn();
        transaction.commit()?;
        self.counters.commits.one();
        Ok(result)
    }

    /// Runs reads that all see the board as it is at the first of them. It also spares each of them the locks of a
    /// transaction of its own.
    ///
    /// # Errors
    /// Of the reads.
    pub fn in_snapshot<R>(&self, read: impl FnOnce(&Self) -> Result<R, Failure>) -> Result<R, Failure> {
        self.conn.prepare_cached("BEGIN DEFERRED")?.execute([])?;
        let result = read(self);
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        result
    }

    /// Moves the log into the file and empties it, if nobody is reading.
    ///
    /// # Errors
    /// The disk says no.
    pub fn checkpoint(&self) -> Result<(), Failure> {
        Ok(self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }

    /// The connection, for what only this crate asks of it.
    pub(crate) fn conn(&self) -> &Connection {
        &self.conn
    }
}

/// Makes sure that the file exists and has the schema.
///
/// # Errors
/// The file cannot be made, or has a schema of another version.
pub fn prepare(opening: &Opening) -> Result<(), Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut conn = Connection::open_with_flags(&opening.path, flags)?;
    conn.busy_timeout(Duration::from_secs(5))?;
    pragmas(&conn, opening.synchronous, Access::Write)?;
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match transaction.query_row("PRAGMA user_version", [], |row| row.get(0))? {
        SCHEMA_VERSION => Ok(()),
        0 => {
            transaction.execute_batch(include_str!("store/schema.sql"))?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
            Ok(transaction.commit()?)
        }
        found => Err(Failure::Schema { path: opening.path.clone(), found }),
    }
}

/// Works for nothing, while the transaction is open.
fn toil(units: u32) {
    let work = [0_u8; 4096];
    for _ in 0..units {
        std::hint::black_box(Sha256::digest(std::hint::black_box(work)));
        runtime_lock::turn();
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
