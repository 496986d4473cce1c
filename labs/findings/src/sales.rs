//! Sales of tickets: counters, orders and payments.
//!
//! Does not parse HTTP.

use std::time::Duration;

use redis::Script;
use serde_json::json;
use tokio::time::sleep;
use tokio_postgres::IsolationLevel;
use tokio_postgres::error::SqlState;

use crate::defect::Defect;
use crate::log;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Seats per order.
pub const SEATS: i32 = 8;
/// Rows among which a healthy shop distributes the count of an event.
const SLOTS: i32 = 64;
/// How often a serializable transaction is tried.
const TRIES: usize = 50;
/// How long a payment takes at the bank, and the pace of those who wait for the lock.
const BANK: Duration = Duration::from_millis(30);
const POLL: Duration = Duration::from_millis(5);
/// Attempts per order: more than seats, because some seats are taken.
const ATTEMPTS: i32 = 16;

const COUNT: &str = "UPDATE sold SET tickets = tickets + 1 WHERE event = 1 AND slot = $1";
const TOTAL: &str = "SELECT sum(tickets)::bigint FROM sold WHERE event = 1";
const SALE: &str = "INSERT INTO sales (event, seat) VALUES (1, $1)";
const ORDER: &str = "INSERT INTO sales (event, seat) SELECT 1, seat FROM generate_series(1, $1::int) seat";
const UNLOCK: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// The row that counts a sale.
fn slot(shop: &Shop) -> i32 {
    let is_one = matches!(shop.defect, Defect::HotRow | Defect::SerializableRetries);
    if is_one { 0 } else { fastrand::i32(0..SLOTS) }
}

/// Sells a ticket: counts it and stores the sale, in one transaction.
///
/// # Errors
/// PostgreSQL fails.
pub async fn buy(shop: &Shop) -> Result<(), Refusal> {
    let mut client = shop.database.client().await?;
    let (count, sale) = (client.prepare_cached(COUNT).await?, client.prepare_cached(SALE).await?);
    let transaction = client.transaction().await?;
    transaction.execute(&count, &[&slot(shop)]).await?;
    transaction.execute(&sale, &[&1_i32]).await?;
    Ok(transaction.commit().await?)
}

/// Reserves a ticket if some are left. With the defect, a serializable transaction reads all counts and changes one, and
/// is tried again at once if another one was in its way.
///
/// # Errors
/// PostgreSQL fails.
pub async fn reserve(shop: &Shop) -> Result<(), Refusal> {
    if !shop.has(Defect::SerializableRetries) {
        shop.database.row(TOTAL, &[]).await?;
        return shop.database.execute(COUNT, &[&slot(shop)]).await.map(drop);
    }
    for _ in 1..TRIES {
        match reserve_serializable(shop).await {
            Err(Attempt::Conflict) => {}
            Err(Attempt::Failed(refusal)) => return Err(refusal),
            Ok(()) => return Ok(()),
        }
    }
    Err(Refusal::Postgres("too many conflicts".to_owned()))
}

/// Why an attempt failed.
enum Attempt {
    /// Another transaction was in its way.
    Conflict,
    /// Something else.
    Failed(Refusal),
}

impl From<tokio_postgres::Error> for Attempt {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE => Self::Conflict,
            _ => Self::Failed(error.into()),
        }
    }
}

async fn reserve_serializable(shop: &Shop) -> Result<(), Attempt> {
    let mut client = shop.database.client().await.map_err(Attempt::Failed)?;
    let (total, count) = (client.prepare_cached(TOTAL).await?, client.prepare_cached(COUNT).await?);
    let transaction =
        client.build_transaction().isolation_level(IsolationLevel::Serializable).start().await?;
    transaction.query_one(&total, &[]).await?;
    transaction.execute(&count, &[&slot(shop)]).await?;
    Ok(transaction.commit().await?)
}

/// Pays an order under a lock in Redis: one per order, or one for all with the defect.
///
/// # Errors
/// Redis or the bank fails.
pub async fn pay(shop: &Shop, order: u64) -> Result<(), Refusal> {
    let key = if shop.has(Defect::GlobalLock) { "lock:payments".to_owned() } else { format!("lock:{order}") };
    let token = fastrand::u64(..).to_string();
    let mut lock = redis::cmd("SET");
    lock.arg(&key).arg(&token).arg("NX").arg("PX").arg(10_000);
    while shop.cache.send::<Option<String>>(&lock).await?.is_none() {
        sleep(POLL).await;
    }
    let paid = shop.calls.tell("payments", order, BANK, &json!({"order": order, "cents": 4900})).await;
    let _: i64 = Script::new(UNLOCK).key(&key).arg(&token).invoke_async(&mut shop.cache.shared()).await?;
    paid.map(drop)
}

/// Stores an order of several seats.
///
/// # Errors
/// PostgreSQL fails.
pub async fn order(shop: &Shop) -> Result<(), Refusal> {
    if shop.has(Defect::LogPerAttempt) {
        log_attempts();
    }
    if !shop.has(Defect::CommitPerSeat) {
        return shop.database.execute(ORDER, &[&SEATS]).await.map(drop);
    }
    for seat in 1..=SEATS {
        shop.database.execute(SALE, &[&seat]).await?;
    }
    Ok(())
}

fn log_attempts() {
    for attempt in 0..ATTEMPTS {
        let (order, seat) = (fastrand::u32(..), fastrand::u16(..));
        log::line(&format!(
            "level=info event=1 order={order} attempt={attempt} seat={seat} session=c4ca4238a0b923820dcc509a6f75849b \
             client=127.0.0.1 price=4900 currency=EUR promotion=none channel=web language=en \
             user_agent=\"Mozilla/5.0 (X11; Linux x86_64) a browser\" state=tried reason=\"the seat is looked at, \
             held for ten minutes if it is free, and given back if the order is not paid in this time\"\n"
        ));
    }
}

/// Checks out: a transaction that waits for another server while it holds its connection.
///
/// # Errors
/// PostgreSQL fails, or no connection became free in time.
pub async fn check_out(shop: &Shop) -> Result<(), Refusal> {
    let mut client = shop.database.client().await?;
    let (ask, sale) =
        (client.prepare_cached("SELECT ask_elsewhere(0.03)").await?, client.prepare_cached(SALE).await?);
    let transaction = client.transaction().await?;
    transaction.query_one(&ask, &[]).await?;
    transaction.execute(&sale, &[&2_i32]).await?;
    Ok(transaction.commit().await?)
}
