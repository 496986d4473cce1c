//! Orders that are paid at a bank with two lines, and the queue before it.
//!
//! Does not parse HTTP.

use std::time::Duration;

use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Orders that the bank takes at a time. The table of its lines has as many rows.
pub const LINES: usize = 2;
/// Pause of an order that found no free line, and how often it asks.
const PAUSE: Duration = Duration::from_millis(5);
const TRIES: usize = 10_000;

/// Takes a free line. One that is not given back, because its client went away, is free again after a while.
pub const TAKE: &str = "UPDATE bank_lines SET taken_until = now() + interval '10 seconds' WHERE id = \
                        (SELECT id FROM bank_lines WHERE taken_until < now() LIMIT 1 FOR UPDATE SKIP LOCKED) \
                        RETURNING id";
const GIVE_BACK: &str = "UPDATE bank_lines SET taken_until = '-infinity' WHERE id = $1";
const LEFT: &str = "SELECT sum(tickets)::bigint FROM sold WHERE event = 2";
const VOUCHER: &str = "SELECT cents FROM vouchers WHERE code = $1";
const SALE: &str = "INSERT INTO sales (event, seat) VALUES (2, 1)";

/// What the shop knows of its bank.
pub struct Bank {
    /// A place per line. Orders that wait for one do so in the order in which they came, and cost nothing.
    places: Semaphore,
}

impl Default for Bank {
    fn default() -> Self {
        Self { places: Semaphore::new(LINES) }
    }
}

/// Sells a ticket, whose payment takes this time. A healthy shop lets in as many orders as the bank has lines, so that
/// each finds one at once. With the defect all are let in, and those without a line ask again and again: the more there
/// are, the longer a statement waits for a connection, and the longer an order keeps its line.
///
/// # Errors
/// PostgreSQL or the bank fails; no line became free.
pub async fn sell(shop: &Shop, payment: Duration) -> Result<(), Refusal> {
    let _place = if shop.has(Defect::NoAdmission) { None } else { shop.bank.places.acquire().await.ok() };
    let line = take_line(shop).await?;
    let paid = pay(shop, payment).await;
    // Also of an order that failed.
    shop.database.execute(GIVE_BACK, &[&line]).await?;
    paid
}

async fn take_line(shop: &Shop) -> Result<i64, Refusal> {
    for _ in 0..TRIES {
        if let Some(row) = shop.database.query(TAKE, &[]).await?.first() {
            return Ok(row.get(0));
        }
        sleep(PAUSE).await;
    }
    Err(Refusal::Busy)
}

/// What an order does while it has a line: each statement takes a connection of its own.
async fn pay(shop: &Shop, payment: Duration) -> Result<(), Refusal> {
    shop.database.row(LEFT, &[]).await?;
    shop.database.query(VOUCHER, &[&fastrand::i64(1..=4000)]).await?;
    shop.calls.tell("payments", 1, payment, &json!({"cents": 4900})).await?;
    shop.database.execute(SALE, &[]).await.map(drop)
}
