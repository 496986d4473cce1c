//! Baskets, purchases with a list of best sellers, and the price of a delivery, in PostgreSQL.
//!
//! Does not parse HTTP.

use std::time::Duration;

use deadpool_postgres::Client;
use serde_json::{Value, json};
use tokio_postgres::error::SqlState;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Items of a basket, and the shelves that most of them are from.
pub const ITEMS: usize = 8;
const SHELVES: i64 = 200;
/// How often a transaction is tried.
const TRIES: usize = 10;
/// Products that are bought.
const PRODUCTS: i32 = 5000;
/// How long a carrier takes to name its price.
const CARRIER: Duration = Duration::from_millis(200);

const TAKE: &str = "UPDATE shelves SET items = items - 1 WHERE id = $1";
const BEST: &str = "SELECT product, total FROM best_sellers ORDER BY total DESC LIMIT 20";
const BUY: &str = "INSERT INTO purchases (product, amount) VALUES ($1, 1)";
const REFRESH: &str = "REFRESH MATERIALIZED VIEW best_sellers";
const WEIGHT: &str = "SELECT weight FROM parcels WHERE id = $1";

/// Takes all items of a basket from their shelves, in one transaction. A transaction that ends in a deadlock is tried
/// again.
///
/// # Errors
/// PostgreSQL fails; all tries end in deadlocks.
pub async fn sell(shop: &Shop) -> Result<(), Refusal> {
    let mut shelves: Vec<i64> = (1..=SHELVES).collect();
    fastrand::shuffle(&mut shelves);
    shelves.truncate(ITEMS);
    if !shop.has(Defect::LockOrder) {
        // With one order for all, no two transactions wait for each other.
        shelves.sort_unstable();
    }
    let mut client = shop.database.client().await?;
    for _ in 0..TRIES {
        match take(&mut client, &shelves).await {
            Err(error) if error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED) => {}
            taken => return Ok(taken?),
        }
    }
    Err(Refusal::Postgres("too many deadlocks".to_owned()))
}

/// Takes an item from each of these shelves, in this order.
async fn take(client: &mut Client, shelves: &[i64]) -> Result<(), tokio_postgres::Error> {
    let take = client.prepare_cached(TAKE).await?;
    let transaction = client.transaction().await?;
    for shelf in shelves {
        transaction.execute(&take, &[shelf]).await?;
    }
    transaction.commit().await
}

/// The best sellers, as of the last refresh of their view.
///
/// # Errors
/// PostgreSQL fails.
pub async fn best_sellers(shop: &Shop) -> Result<Value, Refusal> {
    let rows = shop.database.query(BEST, &[]).await?;
    Ok(rows.iter().map(|row| json!([row.get::<_, i32>(0), row.get::<_, i64>(1)])).collect())
}

/// Stores a purchase. A healthy shop refreshes the view of the best sellers at night, and the defect does now.
///
/// # Errors
/// PostgreSQL fails.
pub async fn purchase(shop: &Shop) -> Result<(), Refusal> {
    shop.database.execute(BUY, &[&fastrand::i32(0..PRODUCTS)]).await?;
    if shop.has(Defect::RefreshPerOrder) {
        shop.database.execute(REFRESH, &[]).await?;
    }
    Ok(())
}

/// The price of the delivery of a parcel, for which a carrier is asked. With the defect, the connection that read the
/// parcel stays with the request until the carrier has named it.
///
/// # Errors
/// PostgreSQL or the carrier fails; there is no such parcel; no connection became free in time.
pub async fn shipping(shop: &Shop, parcel: i64) -> Result<Value, Refusal> {
    let client = shop.database.client().await?;
    let find = client.prepare_cached(WEIGHT).await?;
    let row = client.query_opt(&find, &[&parcel]).await?.ok_or(Refusal::Missing)?;
    let held = shop.has(Defect::HeldConnection).then_some(client);
    let asked = shop.calls.ask("carriers", parcel.unsigned_abs(), CARRIER).await;
    drop(held);
    asked?;
    Ok(json!({"parcel": parcel, "cents": 390 + row.get::<_, i32>(0)}))
}
