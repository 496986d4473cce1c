//! Bills, which have numbers without gaps, and wallets of members, in PostgreSQL.
//!
//! Does not parse HTTP.

use std::sync::Arc;
use std::time::Duration;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Lines of a bill.
pub const LINES: i32 = 20;
/// Wallets, and those that a transaction of a backfill changes in a healthy shop.
pub const WALLETS: i64 = 2000;
const BATCH: i64 = 100;

const OF_SEQUENCE: &str = "SELECT nextval('bill_numbers')";
const LARGEST: &str = "SELECT coalesce(max(number), 0) + 1 FROM bills";
const BILL: &str = "INSERT INTO bills (number, member) VALUES ($1, $2)";
const ALL_LINES: &str = "INSERT INTO bill_lines (bill, label) \
                         SELECT $1::bigint, 'line ' || n || ' of a bill' FROM generate_series(1, $2::int) n";

const TAKE: &str = "UPDATE wallets SET cents = cents - 1 WHERE id = $1";
const CONVERT: &str = "UPDATE wallets SET currency = 'EUR' WHERE id > $1 AND id <= $2";
const ASK: &str = "SELECT ask_elsewhere($1)";

/// Writes a bill. Its number is the next one of a sequence; with the defect, it is the largest number and one more, which
/// another bill can have that is written at the same time.
///
/// # Errors
/// PostgreSQL fails; another bill has this number.
pub async fn write(shop: &Shop, member: i64) -> Result<(), Refusal> {
    let mut client = shop.database.client().await?;
    let next = if shop.has(Defect::NextNumber) { LARGEST } else { OF_SEQUENCE };
    let next = client.prepare_cached(next).await?;
    let bill = client.prepare_cached(BILL).await?;
    let lines = client.prepare_cached(ALL_LINES).await?;
    let transaction = client.transaction().await?;
    let number: i64 = transaction.query_one(&next, &[]).await?.get(0);
    transaction.execute(&bill, &[&number, &member]).await?;
    transaction.execute(&lines, &[&number, &LINES]).await?;
    Ok(transaction.commit().await?)
}

/// Takes a cent out of a wallet.
///
/// # Errors
/// PostgreSQL fails; there is no such wallet.
pub async fn take(shop: &Shop, wallet: i64) -> Result<(), Refusal> {
    if shop.database.execute(TAKE, &[&wallet]).await? == 0 { Err(Refusal::Missing) } else { Ok(()) }
}

/// Begins a backfill that writes a currency into all wallets, and for which another server works for this time in all. No
/// request waits for its end. A healthy backfill commits after each batch of wallets; with the defect, it is one
/// transaction, so the first wallet stays locked until the last one is done.
pub fn backfill(shop: Arc<Shop>, work: Duration) {
    let count = if shop.has(Defect::WholeBackfill) { WALLETS } else { BATCH };
    let part = work.mul_f64(count as f64 / WALLETS as f64);
    tokio::spawn(async move {
        for after in (0..WALLETS).step_by(count as usize) {
            // Wallets of a batch that fails are left to the next backfill.
            let _ = convert(&shop, after, count, part).await;
        }
    });
}

/// Writes the currency into the wallets after this one.
async fn convert(shop: &Shop, after: i64, count: i64, work: Duration) -> Result<(), Refusal> {
    let mut client = shop.database.client().await?;
    let convert = client.prepare_cached(CONVERT).await?;
    let ask = client.prepare_cached(ASK).await?;
    let transaction = client.transaction().await?;
    transaction.execute(&convert, &[&after, &(after + count)]).await?;
    transaction.query_one(&ask, &[&work.as_secs_f64()]).await?;
    Ok(transaction.commit().await?)
}
