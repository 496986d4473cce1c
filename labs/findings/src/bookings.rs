//! Bookings of days, in the file of SQLite.
//!
//! The file is that of [`crate::views`], which makes it. Connections open when they are first needed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use knee_sqlite::Watch;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Transaction, TransactionBehavior};

use crate::defect::Defect;
use crate::refusal::Refusal;

/// How long the price of a day takes, which depends on the seats that are booked.
const PRICE: Duration = Duration::from_millis(4);
/// How long a connection waits for the write lock, and a request until it tries again.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(25);
/// How often a booking is tried.
const TRIES: usize = 40;

const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS bookings (day INTEGER PRIMARY KEY, seats INTEGER NOT NULL) STRICT";
const SEATS: &str = "SELECT seats FROM bookings WHERE day = ?1";
const BOOK: &str = "INSERT INTO bookings (day, seats) VALUES (?1, 1) \
                    ON CONFLICT (day) DO UPDATE SET seats = seats + 1";

/// The bookings and their connections.
pub struct Bookings {
    path: PathBuf,
    defect: Defect,
    watch: Watch,
    /// Connections that no request uses now.
    free: Mutex<Vec<Connection>>,
    /// Attempts that ended because the file was locked.
    refused: AtomicUsize,
}

impl Bookings {
    /// Bookings in this file, which need not be there yet.
    pub fn new(path: &Path, defect: Defect, watch: &Watch) -> Arc<Self> {
        let (free, watch) = (Mutex::default(), watch.clone());
        Arc::new(Self { path: path.to_owned(), defect, watch, free, refused: AtomicUsize::new(0) })
    }

    /// Books a seat of a day. Returns the number of seats before.
    ///
    /// # Errors
    /// SQLite fails; the file was locked at every attempt.
    pub async fn book(self: Arc<Self>, day: i64) -> Result<i64, Refusal> {
        let booked = tokio::task::spawn_blocking(move || self.book_now(day)).await;
        booked.unwrap_or_else(|error| Err(Refusal::Sqlite(error.to_string())))
    }

    fn book_now(&self, day: i64) -> Result<i64, Refusal> {
        let mut connection = self.take()?;
        for _ in 0..TRIES {
            match self.attempt(&mut connection, day) {
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(PAUSE);
                }
                booked => {
                    self.free().push(connection);
                    return Ok(booked?);
                }
            }
        }
        Err(Refusal::Busy)
    }

    /// A healthy shop computes the price first, and takes the write lock when its transaction begins. The transaction of
    /// the defect begins with a read. Its write fails at once if another one has written since, because what it has read
    /// is old then: SQLite does not wait for that.
    fn attempt(&self, connection: &mut Connection, day: i64) -> rusqlite::Result<i64> {
        if self.defect != Defect::DeferredBegin {
            seats(connection, day)?;
            thread::sleep(PRICE);
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            return add(transaction, day);
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        seats(&transaction, day)?;
        thread::sleep(PRICE);
        add(transaction, day)
    }

    fn take(&self) -> Result<Connection, Refusal> {
        let taken = self.free().pop();
        taken.map_or_else(|| connect(&self.path, &self.watch), Ok)
    }

    fn free(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection. The journal is that which the file has.
fn connect(path: &Path, watch: &Watch) -> Result<Connection, Refusal> {
    let mut connection = Connection::open(path)?;
    watch.connection(&mut connection, BUSY_TIMEOUT)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.execute_batch(TABLE)?;
    Ok(connection)
}

fn seats(connection: &Connection, day: i64) -> rusqlite::Result<i64> {
    let seats = connection.prepare_cached(SEATS)?.query_row([day], |row| row.get(0)).optional()?;
    Ok(seats.unwrap_or_default())
}

fn add(transaction: Transaction<'_>, day: i64) -> rusqlite::Result<i64> {
    let before = seats(&transaction, day)?;
    transaction.prepare_cached(BOOK)?.execute([day])?;
    transaction.commit()?;
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn bookings_find_the_file_locked_only_with_the_defect_and_all_are_counted() {
        for (defect, is_refused) in [(Defect::None, false), (Defect::DeferredBegin, true)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("views.sqlite3");
            let watch = Watch::new();
            let _views = crate::views::Views::open(&path, defect, &watch).unwrap();
            let bookings = Bookings::new(&path, defect, &watch);
            let books = (0..40).map(|day| Arc::clone(&bookings).book(day % 7));
            let booked = futures_util::future::join_all(books).await;
            assert!(booked.iter().all(Result::is_ok), "{booked:?}");
            assert_eq!(bookings.refused.load(Ordering::Relaxed) > 0, is_refused, "{defect:?}");
            let file = Connection::open(&path).unwrap();
            let all = file.query_row("SELECT sum(seats) FROM bookings", [], |row| row.get::<_, i64>(0));
            assert_eq!(all.unwrap(), 40, "{defect:?}");
            let refused = crate::views::figure(&watch.page(), "upgrades_refused_total");
            assert_eq!(refused > 0.0, is_refused, "{defect:?}: {}", watch.page());
        }
    }
}
