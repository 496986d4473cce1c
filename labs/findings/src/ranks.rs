//! Points of members and their ranks, in the file of SQLite.
//!
//! The file is that of [`crate::views`], which makes it. Does not use the other stores.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use knee_sqlite::Watch;
use rusqlite::{Connection, TransactionBehavior};

use crate::defect::Defect;
use crate::refusal::Refusal;

/// Members that have points.
const MEMBERS: u32 = 20_000;
/// How long a connection waits for the write lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

const TABLE: &str =
    "CREATE TABLE ranks (member INTEGER PRIMARY KEY, points INTEGER NOT NULL, place INTEGER NOT NULL) STRICT";
const FILL: &str = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT ?1) \
                    INSERT INTO ranks (member, points, place) SELECT n, n * 7919 % 10007, 0 FROM n";
/// Adds a point, and counts the members who have more: a look at all of them, which is most of the transaction.
const ADD: &str = "UPDATE ranks SET points = points + 1, \
                   place = 1 + (SELECT count(*) FROM ranks other WHERE other.points > ranks.points) \
                   WHERE member = ?1";
const PLACE: &str = "SELECT place FROM ranks WHERE member = ?1";

/// The ranks and their connections.
pub struct Ranks {
    path: PathBuf,
    defect: Defect,
    watch: Watch,
    /// Connections that no request uses now.
    free: Mutex<Vec<Connection>>,
}

impl Ranks {
    /// Ranks in this file. Only the healthy shop and its defect have them, so that the file of the others has no more to
    /// keep.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(path: &Path, defect: Defect, watch: &Watch) -> Result<Arc<Self>, Refusal> {
        if matches!(defect, Defect::None | Defect::NoBusyTimeout) {
            let connection = connect(path, BUSY_TIMEOUT, watch)?;
            connection.execute_batch(TABLE)?;
            connection.execute(FILL, [MEMBERS])?;
        }
        let watch = watch.clone();
        Ok(Arc::new(Self { path: path.to_owned(), defect, watch, free: Mutex::default() }))
    }

    /// Adds a point to those of a member, and returns the place of the member.
    ///
    /// # Errors
    /// SQLite fails; with the defect, another request writes at the same time.
    pub async fn add(self: Arc<Self>, member: i64) -> Result<i64, Refusal> {
        let added = tokio::task::spawn_blocking(move || self.add_now(member)).await;
        added.unwrap_or_else(|error| Err(Refusal::Sqlite(error.to_string())))
    }

    fn add_now(&self, member: i64) -> Result<i64, Refusal> {
        let mut connection = self.take()?;
        let added = add(&mut connection, member);
        self.free().push(connection);
        Ok(added?)
    }

    /// A connection that no other request uses. Those of the defect do not wait for the write lock, which is what SQLite
    /// does by itself.
    fn take(&self) -> Result<Connection, Refusal> {
        let taken = self.free().pop();
        let waits = if self.defect == Defect::NoBusyTimeout { Duration::ZERO } else { BUSY_TIMEOUT };
        taken.map_or_else(|| connect(&self.path, waits, &self.watch), Ok)
    }

    fn free(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection. The journal is that which the file has.
fn connect(path: &Path, waits: Duration, watch: &Watch) -> Result<Connection, Refusal> {
    let mut connection = Connection::open(path)?;
    watch.connection(&mut connection, waits)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(connection)
}

fn add(connection: &mut Connection, member: i64) -> rusqlite::Result<i64> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.prepare_cached(ADD)?.execute([member])?;
    let place: i64 = transaction.prepare_cached(PLACE)?.query_row([member], |row| row.get(0))?;
    transaction.commit()?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::Views;

    #[tokio::test(flavor = "multi_thread")]
    async fn points_that_are_added_at_the_same_time_are_refused_only_with_the_defect() {
        for (defect, is_refused) in [(Defect::None, false), (Defect::NoBusyTimeout, true)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("views.sqlite3");
            let watch = Watch::new();
            let _views = Views::open(&path, defect, &watch).unwrap();
            let ranks = Ranks::open(&path, defect, &watch).unwrap();
            let file = Connection::open(&path).unwrap();
            let points =
                || file.query_row("SELECT sum(points) FROM ranks", [], |row| row.get::<_, i64>(0)).unwrap();
            let (before, mut added, mut refused) = (points(), 0, 0);
            // One round is enough, unless the machine runs the requests one after another.
            for _ in 0..5 {
                let adds = (1..=40).map(|member| Arc::clone(&ranks).add(member));
                for place in futures_util::future::join_all(adds).await {
                    added += i64::from(place.is_ok());
                    refused += i64::from(place.is_err());
                }
                if refused > 0 {
                    break;
                }
            }
            assert_eq!(refused > 0, is_refused, "{defect:?}: {refused}");
            // What was answered is counted, and nothing else.
            assert_eq!(points() - before, added, "{defect:?}");
            let gave_up = crate::views::figure(&watch.page(), "busy_timeouts_total");
            assert_eq!(gave_up > 0.0, is_refused, "{defect:?}: {}", watch.page());
        }
    }
}
