//! Tills, the cards of customers and their vouchers, in PostgreSQL.
//!
//! Does not parse HTTP.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_postgres::error::SqlState;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// How long a report has read before a migration comes, and the pause of a migration that did not get its lock.
const LEAD: Duration = Duration::from_millis(50);
const RETRY: Duration = Duration::from_millis(100);
/// How often a migration is tried.
const TRIES: usize = 100;
/// How long a connection that was not given back is missing: until its object is collected.
const LOST: Duration = Duration::from_secs(2);
/// The lock that the defect takes for every card.
const ONE_FOR_ALL: i64 = 0;

const TILL: &str = "SELECT cents FROM tills WHERE id = $1";
const REPORT: &str = "SELECT sum(cents)::bigint, ask_elsewhere($1) FROM tills";
const MIGRATION: &str = "ALTER TABLE tills ADD COLUMN IF NOT EXISTS note text";
const PATIENCE: &str = "SET LOCAL lock_timeout = '5ms'";

const LOCK: &str = "SELECT pg_advisory_xact_lock($1)";
const CHECK: &str = "SELECT ask_elsewhere($1)";
const CARD: &str = "INSERT INTO cards (member) VALUES ($1)";

const VOUCHER: &str = "SELECT cents, is_used FROM vouchers WHERE code = $1";

/// What is in a till.
///
/// # Errors
/// PostgreSQL fails; there is no such till.
pub async fn till(shop: &Shop, id: i64) -> Result<Value, Refusal> {
    let row = shop.database.row(TILL, &[&id]).await?;
    Ok(json!({"till": id, "cents": row.get::<_, i64>(0)}))
}

/// Begins a deployment, whose migration changes the table of the tills while a report of this length reads it. No request
/// waits for either.
pub fn deploy(shop: Arc<Shop>, report: Duration) {
    tokio::spawn(async move {
        let reading = async { shop.database.query(REPORT, &[&report.as_secs_f64()]).await };
        let changing = async {
            sleep(LEAD).await;
            migrate(&shop).await
        };
        let _ = tokio::join!(reading, changing);
    });
}

/// Changes the table. A healthy migration waits for its lock for 5 ms and then tries again later; the one of the defect
/// waits as long as it takes, and all later statements of the table wait behind it.
async fn migrate(shop: &Shop) -> Result<(), Refusal> {
    let mut client = shop.database.client().await?;
    if shop.has(Defect::QueuedAlter) {
        return Ok(client.batch_execute(MIGRATION).await?);
    }
    for _ in 0..TRIES {
        let transaction = client.transaction().await?;
        transaction.batch_execute(PATIENCE).await?;
        match transaction.batch_execute(MIGRATION).await {
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                transaction.rollback().await?;
                sleep(RETRY).await;
            }
            changed => {
                changed?;
                return Ok(transaction.commit().await?);
            }
        }
    }
    Err(Refusal::Busy)
}

/// Issues a card. A lock keeps a member from two cards at the same time: one per member, or one for all members with the
/// defect. Another server checks the member meanwhile.
///
/// # Errors
/// PostgreSQL fails.
pub async fn issue_card(shop: &Shop, member: i64, check: Duration) -> Result<(), Refusal> {
    let key = if shop.has(Defect::AdvisoryLock) { ONE_FOR_ALL } else { member + 1 };
    let mut client = shop.database.client().await?;
    let lock = client.prepare_cached(LOCK).await?;
    let ask = client.prepare_cached(CHECK).await?;
    let issue = client.prepare_cached(CARD).await?;
    let transaction = client.transaction().await?;
    transaction.query_one(&lock, &[&key]).await?;
    transaction.query_one(&ask, &[&check.as_secs_f64()]).await?;
    transaction.execute(&issue, &[&member]).await?;
    Ok(transaction.commit().await?)
}

/// The value of a voucher. With the defect, the early return for a used one does not give the connection back.
///
/// # Errors
/// PostgreSQL fails; there is no such voucher; no connection became free in time.
pub async fn voucher(shop: &Shop, code: i64) -> Result<Value, Refusal> {
    let client = shop.database.client().await?;
    let find = client.prepare_cached(VOUCHER).await?;
    let row = client.query_opt(&find, &[&code]).await?.ok_or(Refusal::Missing)?;
    if row.get::<_, bool>(1) {
        if shop.has(Defect::LeakedConnection) {
            tokio::spawn(async move {
                sleep(LOST).await;
                drop(client);
            });
        }
        return Ok(json!({"voucher": code, "cents": 0}));
    }
    Ok(json!({"voucher": code, "cents": row.get::<_, i32>(0)}))
}
