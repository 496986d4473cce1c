//! Orders that are paid in time or give their tickets back.
//!
//! Does not take the payment itself. An order holds units in PostgreSQL or tickets from counters in Redis, as the service was
//! told; what it holds goes back where it came from, also when the service was told otherwise meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use deadpool_postgres::{Pool, Transaction};
use serde::Serialize;
use tokio_postgres::Row;

use crate::config::{OrderStock, RedisScript};
use crate::key::is_done;
use crate::ledger::{self, Sale};
use crate::order::Wanted;
use crate::refusal::Refusal;
use crate::till::Till;

const OPEN: &str = "INSERT INTO orders (key, expires_at) \
                    SELECT key, now() + seconds * interval '1 second' \
                    FROM unnest($1::text[], $2::bigint[]) AS wanted (key, seconds) \
                    RETURNING id, state, extract(epoch FROM expires_at)::bigint, key";
const AGAIN: &str = "SELECT id, state, extract(epoch FROM expires_at)::bigint FROM orders WHERE key = $1 \
                     ORDER BY expires_at DESC LIMIT 1";
const SHOW: &str = "SELECT id, state, extract(epoch FROM expires_at)::bigint FROM orders WHERE id = $1";
const HOLD: &str = "UPDATE ticket_units SET reserved = true, order_id = $3 WHERE id = ANY(ARRAY(\
                    SELECT id FROM ticket_units WHERE ticket_id = $1 AND reserved = false LIMIT $2 \
                    FOR UPDATE SKIP LOCKED))";
const PAY: &str = "UPDATE orders SET state = 'paid' WHERE id = $1 AND state = 'open' AND expires_at > now()";
// Whoever changes the state of the order first, by its row lock, decides what becomes of what it holds.
const CANCEL: &str = "UPDATE orders SET state = 'released' WHERE id = $1 AND state = 'open' RETURNING id";
const EXPIRE: &str = "UPDATE orders SET state = 'released' WHERE id IN (\
                      SELECT id FROM orders WHERE state = 'open' AND expires_at <= now() \
                      ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED) RETURNING id";
const FREE: &str =
    "UPDATE ticket_units SET reserved = false, order_id = NULL WHERE order_id = ANY($1::text[])";

/// An order as its buyer sees it.
#[derive(Debug, Clone, Serialize)]
pub struct Booking {
    /// Hard to guess: who knows it may pay and cancel.
    pub id: String,
    /// open, paid or released.
    pub state: String,
    /// When an open order gives its tickets back, in seconds since 1970.
    pub expires_at: i64,
}

impl Booking {
    fn of(row: &Row) -> Self {
        Self { id: row.get(0), state: row.get(1), expires_at: row.get(2) }
    }
}

/// What released orders gave back.
struct Released {
    units: u64,
    /// The epoch of the counters that `lines` belong to.
    epoch: i64,
    lines: BTreeMap<String, i32>,
}

/// All orders.
pub struct Bookings {
    pool: Pool,
    till: Arc<Till>,
    stock: OrderStock,
    seconds: u32,
}

impl Bookings {
    /// Orders have to be paid within so many seconds.
    pub fn new(pool: Pool, till: Arc<Till>, stock: OrderStock, seconds: u32) -> Self {
        Self { pool, till, stock, seconds }
    }

    /// Holds all tickets of an order, or none. The same key gives the same order again.
    ///
    /// # Errors
    /// Not so many are free; the key was used for another order; a store fails.
    pub async fn open(&self, wanted: &Wanted) -> Result<Booking, Refusal> {
        let opened = match self.stock {
            OrderStock::Units => self.hold_units(wanted).await?,
            OrderStock::Counters => self.till.hold(RedisScript::Checked, wanted, self.seconds).await?,
        };
        if let Some(booking) = opened {
            return Ok(booking);
        }
        let key = wanted.once.as_ref().map(|once| once.key.as_str());
        Ok(Booking::of(&self.pool.get().await?.query_one(AGAIN, &[&key]).await?))
    }

    async fn hold_units(&self, Wanted { order, once }: &Wanted) -> Result<Option<Booking>, Refusal> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        if is_done(&transaction, once.as_deref()).await? {
            return Ok(None);
        }
        let open = transaction.prepare_cached(OPEN).await?;
        let key = once.as_ref().map(|once| once.key.as_str());
        let row =
            transaction.query_one(&open, &[&[key].as_slice(), &[i64::from(self.seconds)].as_slice()]).await?;
        let booking = Booking::of(&row);
        let hold = transaction.prepare_cached(HOLD).await?;
        for (id, count) in order.lines() {
            let taken = transaction.execute(&hold, &[&id, &i64::from(count), &booking.id]).await?;
            if i64::try_from(taken) != Ok(i64::from(count)) {
                transaction.rollback().await?;
                return Err(Refusal::Short(id.to_owned()));
            }
        }
        transaction.commit().await?;
        Ok(Some(booking))
    }

    /// What has become of an order.
    ///
    /// # Errors
    /// There is none; PostgreSQL fails.
    pub async fn show(&self, id: &str) -> Result<Booking, Refusal> {
        let client = self.pool.get().await?;
        let show = client.prepare_cached(SHOW).await?;
        let row = client.query_opt(&show, &[&id]).await?;
        row.map(|row| Booking::of(&row)).ok_or(Refusal::NoOrder)
    }

    /// Keeps the tickets for good. To pay a paid order again changes nothing.
    ///
    /// # Errors
    /// There is no such order, it is too late for it; PostgreSQL fails.
    pub async fn pay(&self, id: &str) -> Result<Booking, Refusal> {
        {
            let client = self.pool.get().await?;
            let statement = client.prepare_cached(PAY).await?;
            client.execute(&statement, &[&id]).await?;
        }
        self.has_come_to(id, "paid").await
    }

    /// Gives the tickets back. To cancel a released order again changes nothing.
    ///
    /// # Errors
    /// There is no such order, it is paid; PostgreSQL fails.
    pub async fn cancel(&self, id: &str) -> Result<Booking, Refusal> {
        self.release(CANCEL, &[&id]).await?;
        self.has_come_to(id, "released").await
    }

    async fn has_come_to(&self, id: &str, state: &str) -> Result<Booking, Refusal> {
        let booking = self.show(id).await?;
        match booking.state.as_str() {
            now if now == state => Ok(booking),
            "open" => Err(Refusal::Closed("past its time".to_owned())),
            _ => Err(Refusal::Closed(booking.state)),
        }
    }

    /// Gives back what orders held that were not paid in time, 1,000 orders at the most; says how many tickets.
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
        // If the answer to the commit is lost, or the request is given up before the counters are told, they are too low.
        let loose = self.till.loose();
        let released = write_off(&transaction, sql, parameters).await?;
        if released.lines.is_empty() {
            transaction.commit().await?;
            loose.settle();
            return Ok(released);
        }
        transaction.commit().await?;
        let lines = released.lines.iter().map(|(id, count)| (id.as_str(), i64::from(*count)));
        self.till.give_back(released.epoch, lines).await;
        loose.settle();
        Ok(released)
    }
}

/// Takes off the books what the orders that `sql` releases hold.
async fn write_off(
    transaction: &Transaction<'_>,
    sql: &str,
    parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
) -> Result<Released, Refusal> {
    let epoch = ledger::hold_epoch(transaction).await?;
    let statement = transaction.prepare_cached(sql).await?;
    let rows = transaction.query(&statement, parameters).await?;
    let orders: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    if orders.is_empty() {
        return Ok(Released { units: 0, epoch, lines: BTreeMap::new() });
    }
    let free = transaction.prepare_cached(FREE).await?;
    let units = transaction.execute(&free, &[&orders]).await?;
    let lines = ledger::take_back(transaction, &orders).await?;
    Ok(Released { units, epoch, lines })
}

/// Opens an order for each sale that has to be paid, in the order of the sales.
pub(crate) async fn open_all(
    transaction: &Transaction<'_>,
    sales: &[&Sale],
) -> Result<Vec<Option<Booking>>, Refusal> {
    let key = |sale: &Sale| sale.wanted.once.as_ref().map(|once| once.key.clone());
    let unpaid = sales.iter().filter_map(|sale| sale.open_for.map(|seconds| (key(sale), i64::from(seconds))));
    let (keys, seconds): (Vec<_>, Vec<_>) = unpaid.unzip();
    if keys.is_empty() {
        return Ok(vec![None; sales.len()]);
    }
    let open = transaction.prepare_cached(OPEN).await?;
    let rows = transaction.query(&open, &[&keys, &seconds]).await?;
    // Orders without a key are alike: each may get any of them.
    let mut opened: HashMap<Option<String>, Vec<Booking>> = HashMap::new();
    for row in &rows {
        opened.entry(row.get(3)).or_default().push(Booking::of(row));
    }
    let each =
        sales.iter().map(|sale| sale.open_for.and_then(|_| opened.get_mut(&key(sale)).and_then(Vec::pop)));
    Ok(each.collect())
}
