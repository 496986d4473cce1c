//! Stock in PostgreSQL: a row for each ticket there is to sell, or one row with their number.
//!
//! Does not retry: a request that fails has taken nothing.

use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Transaction};
use tokio_postgres::NoTls;

use crate::config::{Seqscan, Switches, UnitIndex, UnitStatement};
use crate::once::Once;
use crate::order::Order;
use crate::refusal::Refusal;

/// Name of the index on ticket and whether it is reserved.
pub const INDEX: &str = "idx_ticket_units_on_ticket_id_and_reserved";
/// Name of the index of free units.
pub const FREE_INDEX: &str = "idx_ticket_units_free";

// Without an order: which free unit a buyer gets does not matter, and a unit that another buyer is about to get is
// passed over instead of waited for.
const FIND: &str = "SELECT id FROM ticket_units WHERE ticket_id = $1 AND reserved = false LIMIT $2 \
                    FOR UPDATE SKIP LOCKED";
const MARK: &str = "UPDATE ticket_units SET reserved = true WHERE id = ANY($1)";
// ARRAY keeps the inner SELECT from being run again for each row.
const FIND_AND_MARK: &str = "UPDATE ticket_units SET reserved = true WHERE id = ANY(ARRAY(\
                             SELECT id FROM ticket_units WHERE ticket_id = $1 AND reserved = false LIMIT $2 \
                             FOR UPDATE SKIP LOCKED))";
// Waits while another request with the same key is not decided.
const KEEP: &str = "INSERT INTO idempotency_keys (key, request) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const KEPT: &str = "SELECT request FROM idempotency_keys WHERE key = $1";
const FORGET: &str = "DELETE FROM idempotency_keys WHERE made_at < now() - $1::bigint * interval '1 second'";
const DECREMENT: &str = "UPDATE tickets SET stock = stock - $2 WHERE id = $1 AND stock >= $2";

/// Makes a pool; it connects when the first connection is wanted.
///
/// # Errors
/// The address is no address of PostgreSQL.
pub fn pool(url: &str, max: u16, timeout: Duration) -> Result<Pool, Refusal> {
    let mut config: tokio_postgres::Config = url.parse()?;
    config.connect_timeout(timeout).application_name("tickets");
    let options = config.get_options().unwrap_or_default();
    let options = format!("{options} -c statement_timeout={}", timeout.as_millis());
    config.options(options.trim());
    let manager =
        Manager::from_config(config, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
    Pool::builder(manager)
        .max_size(max.into())
        .wait_timeout(Some(timeout))
        .create_timeout(Some(timeout))
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| Refusal::Postgres(error.to_string()))
}

/// The tables of tickets and of units.
pub struct Units {
    pool: Pool,
    seqscan: Seqscan,
    statement: UnitStatement,
}

impl Units {
    /// Sells through a pool in the way the switches say.
    pub fn new(pool: Pool, switches: &Switches) -> Self {
        Self { pool, seqscan: switches.seqscan, statement: switches.unit_statement }
    }

    /// Reserves a unit for each ticket of an order, or none.
    ///
    /// # Errors
    /// Fewer units are free, not counting those that other buyers are about to get; the key was used for another
    /// order; PostgreSQL fails.
    pub async fn reserve(&self, order: &Order, once: Option<&Once>) -> Result<(), Refusal> {
        let mut client = self.pool.get().await?;
        // Rolled back when it is dropped before it is committed.
        let transaction = client.transaction().await?;
        if is_done(&transaction, once).await? {
            return Ok(());
        }
        if self.seqscan == Seqscan::OffInTransaction {
            transaction.batch_execute("SET LOCAL enable_seqscan = off").await?;
        }
        for (id, count) in order.lines() {
            let taken = match self.statement {
                UnitStatement::Two => find_then_mark(&transaction, id, count).await?,
                UnitStatement::One => {
                    let statement = transaction.prepare_cached(FIND_AND_MARK).await?;
                    transaction.execute(&statement, &[&id, &i64::from(count)]).await?
                }
            };
            if i64::try_from(taken) != Ok(i64::from(count)) {
                transaction.rollback().await?;
                return Err(Refusal::Short(id.to_owned()));
            }
        }
        Ok(transaction.commit().await?)
    }

    /// Lowers the one row of each ticket of an order, or none. Buyers of the same ticket wait for each other.
    ///
    /// # Errors
    /// Fewer are left; the key was used for another order; PostgreSQL fails.
    pub async fn decrement(&self, order: &Order, once: Option<&Once>) -> Result<(), Refusal> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        if is_done(&transaction, once).await? {
            return Ok(());
        }
        let statement = transaction.prepare_cached(DECREMENT).await?;
        for (id, count) in order.lines() {
            if transaction.execute(&statement, &[&id, &count]).await? == 0 {
                transaction.rollback().await?;
                return Err(Refusal::Short(id.to_owned()));
            }
        }
        Ok(transaction.commit().await?)
    }

    /// Whether PostgreSQL answers.
    ///
    /// # Errors
    /// It does not, or no connection was free in time.
    pub async fn ping(&self) -> Result<(), Refusal> {
        self.pool.get().await?.simple_query("SELECT 1").await?;
        Ok(())
    }
}

/// Forgets idempotency keys that are older than so many seconds.
///
/// # Errors
/// PostgreSQL fails.
pub async fn forget(pool: &Pool, key_age: u32) -> Result<u64, Refusal> {
    Ok(pool.get().await?.execute(FORGET, &[&i64::from(key_age)]).await?)
}

/// Whether the key was kept by an earlier transaction that sold this order. If not, this one keeps it.
pub(crate) async fn is_done(transaction: &Transaction<'_>, once: Option<&Once>) -> Result<bool, Refusal> {
    let Some(once) = once else { return Ok(false) };
    let keep = transaction.prepare_cached(KEEP).await?;
    if transaction.execute(&keep, &[&once.key, &once.request]).await? == 1 {
        return Ok(false);
    }
    let kept = transaction.prepare_cached(KEPT).await?;
    match transaction.query_opt(&kept, &[&once.key]).await? {
        Some(row) if row.get::<_, &str>(0) == once.request => Ok(true),
        Some(_) => Err(Refusal::KeyReused),
        // Forgotten between the two statements.
        None => Err(Refusal::Postgres("the idempotency key grew too old just now".to_owned())),
    }
}

/// How many units were found and marked; when fewer than `count` were found, none is marked.
async fn find_then_mark(transaction: &Transaction<'_>, id: &str, count: i32) -> Result<u64, Refusal> {
    let find = transaction.prepare_cached(FIND).await?;
    let found = transaction.query(&find, &[&id, &i64::from(count)]).await?;
    if i32::try_from(found.len()) != Ok(count) {
        return Ok(found.len() as u64);
    }
    let ids: Vec<i32> = found.iter().map(|row| row.get(0)).collect();
    let mark = transaction.prepare_cached(MARK).await?;
    Ok(transaction.execute(&mark, &[&ids]).await?)
}

/// Makes the index that is wanted and drops the others. Takes seconds on a table of a million units.
///
/// # Errors
/// There is no table of units, or it is not ours.
pub async fn set_index(url: &str, index: UnitIndex) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let connection = tokio::spawn(connection);
    let sql = match index {
        UnitIndex::Off => format!("DROP INDEX IF EXISTS {INDEX}, {FREE_INDEX}"),
        UnitIndex::On => format!(
            "DROP INDEX IF EXISTS {FREE_INDEX};\
             CREATE INDEX IF NOT EXISTS {INDEX} ON ticket_units (ticket_id, reserved)"
        ),
        UnitIndex::Partial => format!(
            "DROP INDEX IF EXISTS {INDEX};\
             CREATE INDEX IF NOT EXISTS {FREE_INDEX} ON ticket_units (ticket_id, id) WHERE NOT reserved"
        ),
    };
    let done = client.batch_execute(&sql).await;
    connection.abort();
    done
}
