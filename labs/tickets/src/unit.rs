//! Stock in PostgreSQL: one row per unit for sale, or one row per ticket with a count.
//!
//! Does not retry: a failed request has taken nothing.

mod batch;

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Status, Transaction};
use tokio_postgres::NoTls;

use crate::batcher::Batcher;
use crate::config::{Seqscan, Switches, UnitCall, UnitIndex, UnitStatement};
use crate::key_table::is_repeated;
use crate::metric::Metrics;
use crate::migration;
use crate::order::OrderRequest;
use crate::refusal::Refusal;

/// Name of the index on ticket and reservation.
pub const INDEX: &str = "idx_ticket_units_on_ticket_id_and_reserved";
/// Name of the index of free units.
pub const FREE_INDEX: &str = "idx_ticket_units_free";

const MARK: &str = "UPDATE ticket_units SET reserved = true WHERE id = ANY($1)";
const DECREMENT: &str = "UPDATE tickets SET stock = stock - $2 WHERE id = $1 AND stock >= $2";

/// Maximum number of orders per transaction. All of them wait for its commit, and it holds their unit locks until then.
const MAX_BATCH: usize = 500;

/// Creates a connection pool that connects lazily.
///
/// # Errors
/// The address is not a PostgreSQL address.
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

/// The tables `tickets` and `ticket_units`.
pub struct Units {
    shared: Arc<Shared>,
    batches: Option<Batcher<OrderRequest, Reserved>>,
}

struct Shared {
    pool: Pool,
    seqscan: Seqscan,
    statement: UnitStatement,
    find: String,
    find_and_mark: String,
    find_all: String,
    find_and_mark_all: String,
}

/// Result of one order of a batch; orders that failed together share the reason.
type Reserved = Result<(), Arc<Refusal>>;

impl Units {
    /// Sells through a pool as configured by the switches.
    pub fn new(pool: Pool, switches: &Switches, metrics: &Metrics) -> Self {
        let shared = Arc::new(Shared::new(pool, switches));
        let batches = (switches.unit_call == UnitCall::Batch).then(|| {
            let shared = Arc::clone(&shared);
            Batcher::start(MAX_BATCH, Arc::clone(&metrics.unit_batches), move |orders: Vec<OrderRequest>| {
                let shared = Arc::clone(&shared);
                async move { shared.reserve_all(&orders).await }
            })
        });
        Self { shared, batches }
    }

    /// Reserves a unit for each ticket of an order, or none at all.
    ///
    /// # Errors
    /// Too few units are free and not locked by other orders; the key was used for another order; PostgreSQL fails.
    pub async fn reserve(&self, request: &OrderRequest) -> Result<(), Refusal> {
        match &self.batches {
            None => self.shared.reserve(request).await,
            Some(batcher) => Ok(batcher.submit(request.clone()).await.ok_or(Refusal::Stopping)??),
        }
    }

    /// Lowers the stock row of each ticket of an order, or none. Orders for the same ticket wait for each other.
    ///
    /// # Errors
    /// Too few are left; the key was used for another order; PostgreSQL fails.
    pub async fn decrement(&self, OrderRequest { order, idempotency }: &OrderRequest) -> Result<(), Refusal> {
        let mut client = self.shared.pool.get().await?;
        let transaction = client.transaction().await?;
        if is_repeated(&transaction, idempotency.as_deref()).await? {
            return Ok(());
        }
        let statement = transaction.prepare_cached(DECREMENT).await?;
        for (id, count) in order.lines() {
            if transaction.execute(&statement, &[&id, &count]).await? == 0 {
                transaction.rollback().await?;
                return Err(Refusal::NotEnoughLeft(id.to_owned()));
            }
        }
        Ok(transaction.commit().await?)
    }

    /// Connections to PostgreSQL, and the requests that wait for one.
    pub fn connections(&self) -> Status {
        self.shared.pool.status()
    }

    /// Checks that PostgreSQL responds.
    ///
    /// # Errors
    /// PostgreSQL does not respond, or no connection was free in time.
    pub async fn ping(&self) -> Result<(), Refusal> {
        self.shared.pool.get().await?.simple_query("SELECT 1").await?;
        Ok(())
    }
}

/// The statement that locks free units. An order can get any of them; units that another transaction has locked are skipped.
///
/// The partial index is sorted by unit id. `ORDER BY id` then costs nothing, and keeps PostgreSQL from collecting all free units
/// of a ticket to take some of them. With other indexes PostgreSQL would have to sort.
fn find(index: UnitIndex, ticket: &str, count: &str) -> String {
    let order = if index == UnitIndex::Partial { "ORDER BY id" } else { "" };
    format!(
        "SELECT id FROM ticket_units WHERE ticket_id = {ticket} AND reserved = false {order} \
         LIMIT {count} FOR UPDATE SKIP LOCKED"
    )
}

/// The same statement for many tickets.
fn find_all(index: UnitIndex, columns: &str) -> String {
    let find = find(index, "wanted.ticket_id", "wanted.count");
    format!(
        "SELECT {columns} FROM unnest($1::text[], $2::bigint[]) AS wanted (ticket_id, count) \
         CROSS JOIN LATERAL ({find}) AS unit"
    )
}

/// Marks the units that `find` returns. ARRAY prevents PostgreSQL from running `find` again for each row.
fn marking(find: &str) -> String {
    format!("UPDATE ticket_units SET reserved = true WHERE id = ANY(ARRAY({find}))")
}

impl Shared {
    fn new(pool: Pool, switches: &Switches) -> Self {
        let index = switches.unit_index;
        let find = find(index, "$1", "$2");
        Self {
            pool,
            seqscan: switches.seqscan,
            statement: switches.unit_statement,
            find_and_mark: marking(&find),
            find,
            find_all: find_all(index, "wanted.ticket_id, unit.id"),
            find_and_mark_all: format!("{} RETURNING ticket_id, id", marking(&find_all(index, "unit.id"))),
        }
    }

    async fn reserve(&self, OrderRequest { order, idempotency }: &OrderRequest) -> Result<(), Refusal> {
        let mut client = self.pool.get().await?;
        // Rolled back if dropped before the commit.
        let transaction = client.transaction().await?;
        if is_repeated(&transaction, idempotency.as_deref()).await? {
            return Ok(());
        }
        self.set_planner(&transaction).await?;
        for (id, count) in order.lines() {
            let taken = match self.statement {
                UnitStatement::Two => self.find_then_mark(&transaction, id, count).await?,
                UnitStatement::One => {
                    let statement = transaction.prepare_cached(&self.find_and_mark).await?;
                    transaction.execute(&statement, &[&id, &i64::from(count)]).await?
                }
            };
            if i64::try_from(taken) != Ok(i64::from(count)) {
                transaction.rollback().await?;
                return Err(Refusal::NotEnoughLeft(id.to_owned()));
            }
        }
        Ok(transaction.commit().await?)
    }

    /// Returns the number of units found. Marks them only if there are `count`.
    async fn find_then_mark(
        &self,
        transaction: &Transaction<'_>,
        id: &str,
        count: i32,
    ) -> Result<u64, Refusal> {
        let find = transaction.prepare_cached(&self.find).await?;
        let found = transaction.query(&find, &[&id, &i64::from(count)]).await?;
        if i32::try_from(found.len()) != Ok(count) {
            return Ok(found.len() as u64);
        }
        let ids: Vec<i32> = found.iter().map(|row| row.get(0)).collect();
        let mark = transaction.prepare_cached(MARK).await?;
        Ok(transaction.execute(&mark, &[&ids]).await?)
    }

    async fn set_planner(&self, transaction: &Transaction<'_>) -> Result<(), Refusal> {
        if self.seqscan == Seqscan::OffInTransaction {
            transaction.batch_execute("SET LOCAL enable_seqscan = off").await?;
        }
        Ok(())
    }
}

/// Creates the index of the switch and drops the others. Takes seconds on a table of a million units.
///
/// # Errors
/// The table of units is missing or belongs to another user.
pub async fn set_index(url: &str, index: UnitIndex) -> Result<(), tokio_postgres::Error> {
    let client = migration::connect(url).await?;
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
    client.batch_execute(&sql).await
}
