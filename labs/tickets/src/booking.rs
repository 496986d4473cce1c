//! Orders that hold tickets until they are paid, cancelled or expire.
//!
//! Does not take payments. An order holds units in PostgreSQL or tickets from counters in Redis, by the switch `order-stock`. Its
//! tickets go back to the store they came from, even if the switch has changed since.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use deadpool_postgres::{Pool, Transaction};
use serde::Serialize;
use tokio_postgres::Row;

use crate::config::{OrderStock, RedisScript};
use crate::counter_sales::CounterSales;
use crate::key_table::is_repeated;
use crate::order::OrderRequest;
use crate::refusal::Refusal;
use crate::sales_record::{self, Sale};

const OPEN: &str = "INSERT INTO orders (key, expires_at) \
                    SELECT key, now() + seconds * interval '1 second' \
                    FROM unnest($1::text[], $2::bigint[]) AS wanted (key, seconds) \
                    RETURNING id, state, extract(epoch FROM expires_at)::bigint, key";
const SHOW_BY_KEY: &str = "SELECT id, state, extract(epoch FROM expires_at)::bigint FROM orders WHERE key = $1 \
                     ORDER BY expires_at DESC LIMIT 1";
const SHOW: &str = "SELECT id, state, extract(epoch FROM expires_at)::bigint FROM orders WHERE id = $1";
const HOLD: &str = "UPDATE ticket_units SET reserved = true, order_id = $3 WHERE id = ANY(ARRAY(\
                    SELECT id FROM ticket_units WHERE ticket_id = $1 AND reserved = false LIMIT $2 \
                    FOR UPDATE SKIP LOCKED))";
const PAY: &str = "UPDATE orders SET state = 'paid' WHERE id = $1 AND state = 'open' AND expires_at > now()";
// The row lock of the order serializes state changes: the first one decides whether its tickets are released.
const CANCEL: &str = "UPDATE orders SET state = 'released' WHERE id = $1 AND state = 'open' RETURNING id";
const EXPIRE: &str = "UPDATE orders SET state = 'released' WHERE id IN (\
                      SELECT id FROM orders WHERE state = 'open' AND expires_at <= now() \
                      ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED) RETURNING id";
const FREE: &str =
    "UPDATE ticket_units SET reserved = false, order_id = NULL WHERE order_id = ANY($1::text[])";

/// An order as the client sees it.
#[derive(Debug, Clone, Serialize)]
pub struct Booking {
    /// Random: knowing it authorizes payment and cancellation.
    pub id: String,
    /// open, paid or released.
    pub state: String,
    /// When an open order expires, in seconds since 1970.
    pub expires_at: i64,
}

impl Booking {
    fn of(row: &Row) -> Self {
        Self { id: row.get(0), state: row.get(1), expires_at: row.get(2) }
    }
}

/// Tickets of released orders.
struct Released {
    units: u64,
    /// The epoch of the counters that `lines` were taken from.
    epoch: i64,
    lines: BTreeMap<String, i32>,
}

/// All orders.
pub struct Bookings {
    pool: Pool,
    counter_sales: Arc<CounterSales>,
    stock: OrderStock,
    seconds: u32,
}

impl Bookings {
    /// Orders must be paid within `seconds`.
    pub fn new(pool: Pool, counter_sales: Arc<CounterSales>, stock: OrderStock, seconds: u32) -> Self {
        Self { pool, counter_sales, stock, seconds }
    }

    /// Holds all tickets of an order, or none. The same key returns the same order again.
    ///
    /// # Errors
    /// Too few tickets are free; the key was used for another order; a store fails.
    pub async fn open(&self, request: &OrderRequest) -> Result<Booking, Refusal> {
        let opened = match self.stock {
            OrderStock::Units => self.hold_units(request).await?,
            OrderStock::Counters => {
                self.counter_sales.hold(RedisScript::Checked, request, self.seconds).await?
            }
        };
        if let Some(booking) = opened {
            return Ok(booking);
        }
        let key = request.idempotency.as_ref().map(|idempotency| idempotency.key.as_str());
        Ok(Booking::of(&self.pool.get().await?.query_one(SHOW_BY_KEY, &[&key]).await?))
    }

    async fn hold_units(
        &self,
        OrderRequest { order, idempotency }: &OrderRequest,
    ) -> Result<Option<Booking>, Refusal> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        if is_repeated(&transaction, idempotency.as_deref()).await? {
            return Ok(None);
        }
        let open = transaction.prepare_cached(OPEN).await?;
        let key = idempotency.as_ref().map(|idempotency| idempotency.key.as_str());
        let row =
            transaction.query_one(&open, &[&[key].as_slice(), &[i64::from(self.seconds)].as_slice()]).await?;
        let booking = Booking::of(&row);
        let hold = transaction.prepare_cached(HOLD).await?;
        for (id, count) in order.lines() {
            let taken = transaction.execute(&hold, &[&id, &i64::from(count), &booking.id]).await?;
            if i64::try_from(taken) != Ok(i64::from(count)) {
                transaction.rollback().await?;
                return Err(Refusal::NotEnoughLeft(id.to_owned()));
            }
        }
        transaction.commit().await?;
        Ok(Some(booking))
    }

    /// The current state of an order.
    ///
    /// # Errors
    /// No such order; PostgreSQL fails.
    pub async fn show(&self, id: &str) -> Result<Booking, Refusal> {
        let client = self.pool.get().await?;
        let show = client.prepare_cached(SHOW).await?;
        let row = client.query_opt(&show, &[&id]).await?;
        row.map(|row| Booking::of(&row)).ok_or(Refusal::NoOrder)
    }

    /// Marks an order as paid. Idempotent.
    ///
    /// # Errors
    /// No such order; it has expired or was released; PostgreSQL fails.
    pub async fn pay(&self, id: &str) -> Result<Booking, Refusal> {
        {
            let client = self.pool.get().await?;
            let statement = client.prepare_cached(PAY).await?;
            client.execute(&statement, &[&id]).await?;
        }
        self.expect_state(id, "paid").await
    }

    /// Releases the tickets of an order. Idempotent.
    ///
    /// # Errors
    /// No such order; it is paid; PostgreSQL fails.
    pub async fn cancel(&self, id: &str) -> Result<Booking, Refusal> {
        self.release(CANCEL, &[&id]).await?;
        self.expect_state(id, "released").await
    }

    async fn expect_state(&self, id: &str, state: &str) -> Result<Booking, Refusal> {
        let booking = self.show(id).await?;
        match booking.state.as_str() {
            now if now == state => Ok(booking),
            "open" => Err(Refusal::Closed("past its time".to_owned())),
            _ => Err(Refusal::Closed(booking.state)),
        }
    }

    /// Releases at most 1,000 expired orders. Returns the number of tickets.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn expire(&self) -> Result<u64, Refusal> {
        let Released { units, lines, .. } = self.release(EXPIRE, &[]).await?;
        Ok(units + lines.values().map(|count| u64::from(count.unsigned_abs())).sum::<u64>())
    }

    async fn release(
        &self,
        sql: &str,
        parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> Result<Released, Refusal> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        // If the commit's response is lost, or the request is cancelled before the counters are raised, they stay too low.
        let drift_guard = self.counter_sales.drift_guard();
        let released = release_orders(&transaction, sql, parameters).await?;
        if released.lines.is_empty() {
            transaction.commit().await?;
            drift_guard.disarm();
            return Ok(released);
        }
        transaction.commit().await?;
        let lines = released.lines.iter().map(|(id, count)| (id.as_str(), i64::from(*count)));
        self.counter_sales.give_back(released.epoch, lines).await;
        drift_guard.disarm();
        Ok(released)
    }
}

/// Releases the tickets of the orders that `sql` selects.
async fn release_orders(
    transaction: &Transaction<'_>,
    sql: &str,
    parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
) -> Result<Released, Refusal> {
    let epoch = sales_record::lock_epoch(transaction).await?;
    let statement = transaction.prepare_cached(sql).await?;
    let rows = transaction.query(&statement, parameters).await?;
    let orders: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    if orders.is_empty() {
        return Ok(Released { units: 0, epoch, lines: BTreeMap::new() });
    }
    let free = transaction.prepare_cached(FREE).await?;
    let units = transaction.execute(&free, &[&orders]).await?;
    let lines = sales_record::release_sales(transaction, &orders).await?;
    Ok(Released { units, epoch, lines })
}

/// Opens a booking for each sale that must be paid, in the order of the sales.
pub(crate) async fn open_all(
    transaction: &Transaction<'_>,
    sales: &[&Sale],
) -> Result<Vec<Option<Booking>>, Refusal> {
    let key = |sale: &Sale| sale.request.idempotency.as_ref().map(|idempotency| idempotency.key.clone());
    let unpaid = sales.iter().filter_map(|sale| sale.open_for.map(|seconds| (key(sale), i64::from(seconds))));
    let (keys, seconds): (Vec<_>, Vec<_>) = unpaid.unzip();
    if keys.is_empty() {
        return Ok(vec![None; sales.len()]);
    }
    let open = transaction.prepare_cached(OPEN).await?;
    let rows = transaction.query(&open, &[&keys, &seconds]).await?;
    // Orders without a key are interchangeable.
    let mut opened: HashMap<Option<String>, Vec<Booking>> = HashMap::new();
    for row in &rows {
        opened.entry(row.get(3)).or_default().push(Booking::of(row));
    }
    let each =
        sales.iter().map(|sale| sale.open_for.and_then(|_| opened.get_mut(&key(sale)).and_then(Vec::pop)));
    Ok(each.collect())
}
