//! Orders that are paid in time or give their units back.
//!
//! Does not take the payment itself. Sells units in PostgreSQL only.

use deadpool_postgres::Pool;
use serde::Serialize;
use tokio_postgres::Row;

use crate::once::Once;
use crate::order::Order;
use crate::refusal::Refusal;
use crate::unit::is_done;

const OPEN: &str = "INSERT INTO orders (key, expires_at) VALUES ($1, now() + $2::bigint * interval '1 second') \
                    RETURNING id, state, extract(epoch FROM expires_at)::bigint";
const AGAIN: &str = "SELECT id, state, extract(epoch FROM expires_at)::bigint FROM orders WHERE key = $1 \
                     ORDER BY expires_at DESC LIMIT 1";
const SHOW: &str = "SELECT id, state, extract(epoch FROM expires_at)::bigint FROM orders WHERE id = $1";
const HOLD: &str = "UPDATE ticket_units SET reserved = true, order_id = $3 WHERE id = ANY(ARRAY(\
                    SELECT id FROM ticket_units WHERE ticket_id = $1 AND reserved = false LIMIT $2 \
                    FOR UPDATE SKIP LOCKED))";
const PAY: &str = "UPDATE orders SET state = 'paid' WHERE id = $1 AND state = 'open' AND expires_at > now()";
// Whoever changes the state of the order first, by its row lock, decides what becomes of its units.
const CANCEL: &str = "WITH gone AS (\
                      UPDATE orders SET state = 'released' WHERE id = $1 AND state = 'open' RETURNING id) \
                      UPDATE ticket_units SET reserved = false, order_id = NULL \
                      WHERE order_id IN (SELECT id FROM gone)";
const EXPIRE: &str = "WITH gone AS (UPDATE orders SET state = 'released' WHERE id IN (\
                      SELECT id FROM orders WHERE state = 'open' AND expires_at <= now() \
                      ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED) RETURNING id) \
                      UPDATE ticket_units SET reserved = false, order_id = NULL \
                      WHERE order_id IN (SELECT id FROM gone)";

/// An order as its buyer sees it.
#[derive(Debug, Serialize)]
pub struct Booking {
    /// Hard to guess: who knows it may pay and cancel.
    pub id: String,
    /// open, paid or released.
    pub state: String,
    /// When an open order gives its units back, in seconds since 1970.
    pub expires_at: i64,
}

impl Booking {
    fn of(row: &Row) -> Self {
        Self { id: row.get(0), state: row.get(1), expires_at: row.get(2) }
    }
}

/// All orders.
pub struct Bookings {
    pool: Pool,
    seconds: u32,
}

impl Bookings {
    /// Orders have to be paid within so many seconds.
    pub fn new(pool: Pool, seconds: u32) -> Self {
        Self { pool, seconds }
    }

    /// Holds a unit for each ticket of an order, or none. The same key gives the same order again.
    ///
    /// # Errors
    /// Fewer units are free; the key was used for another order; PostgreSQL fails.
    pub async fn open(&self, order: &Order, once: Option<&Once>) -> Result<Booking, Refusal> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        let key = once.map(|once| once.key.as_str());
        if is_done(&transaction, once).await? {
            return Ok(Booking::of(&transaction.query_one(AGAIN, &[&key]).await?));
        }
        let open = transaction.prepare_cached(OPEN).await?;
        let row = transaction.query_one(&open, &[&key, &i64::from(self.seconds)]).await?;
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
        Ok(booking)
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

    /// Keeps the units for good. To pay a paid order again changes nothing.
    ///
    /// # Errors
    /// There is no such order, it is too late for it; PostgreSQL fails.
    pub async fn pay(&self, id: &str) -> Result<Booking, Refusal> {
        self.end(PAY, id, "paid").await
    }

    /// Gives the units back. To cancel a released order again changes nothing.
    ///
    /// # Errors
    /// There is no such order, it is paid; PostgreSQL fails.
    pub async fn cancel(&self, id: &str) -> Result<Booking, Refusal> {
        self.end(CANCEL, id, "released").await
    }

    async fn end(&self, sql: &str, id: &str, state: &str) -> Result<Booking, Refusal> {
        {
            let client = self.pool.get().await?;
            let statement = client.prepare_cached(sql).await?;
            client.execute(&statement, &[&id]).await?;
        }
        let booking = self.show(id).await?;
        match booking.state.as_str() {
            now if now == state => Ok(booking),
            "open" => Err(Refusal::Closed("past its time".to_owned())),
            _ => Err(Refusal::Closed(booking.state)),
        }
    }

    /// Gives back the units of orders that were not paid in time, 1,000 orders at the most; says how many units.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn expire(&self) -> Result<u64, Refusal> {
        Ok(self.pool.get().await?.execute(EXPIRE, &[]).await?)
    }
}
