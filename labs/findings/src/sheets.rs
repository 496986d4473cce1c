//! Sheets that sum up goods, and alerts about products that sell too fast, cached in Redis.
//!
//! Does not parse HTTP. Goods and purchases are in PostgreSQL.

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Goods of a sheet.
const GOODS: i64 = 5000;
/// How long a value is valid, in seconds.
const VALID_S: u64 = 300;
/// The key of the alerts, and how a list without alerts looks.
const ALERTS: &str = "alerts";
const EMPTY: &[u8] = b"[]";

const SHEET: &str = "SELECT data->>'colour', count(*), sum((data->>'grams')::int)::bigint FROM goods \
                     WHERE id > $1 AND id <= $2 GROUP BY 1 ORDER BY 1";
const TOO_FAST: &str = "SELECT product, sum(amount)::bigint FROM purchases GROUP BY product \
                        HAVING sum(amount) > 1000000";

/// A sheet, from the cache if it is there.
///
/// # Errors
/// A store fails.
pub async fn sheet(shop: &Shop, number: i64) -> Result<Vec<u8>, Refusal> {
    match shop.cache.get(&key(number)).await? {
        Some(cached) => Ok(cached),
        None => compute(shop, number).await,
    }
}

/// Notes that goods of a sheet have changed. A healthy shop computes this sheet again; the defect flushes all that Redis
/// has, so that all sheets are computed again.
///
/// # Errors
/// A store fails.
pub async fn change(shop: &Shop, number: i64) -> Result<(), Refusal> {
    if shop.has(Defect::FlushAll) {
        return shop.cache.send(&redis::cmd("FLUSHDB")).await;
    }
    compute(shop, number).await.map(drop)
}

/// Alerts about products that sell too fast, from the cache if they are there. There are none at most times. The defect
/// takes an empty list for one that is not in the cache.
///
/// # Errors
/// A store fails.
pub async fn alerts(shop: &Shop) -> Result<Vec<u8>, Refusal> {
    let is_miss = |cached: &Vec<u8>| shop.has(Defect::EmptyIsMiss) && cached.as_slice() == EMPTY;
    if let Some(cached) = shop.cache.get(ALERTS).await?.filter(|cached| !is_miss(cached)) {
        return Ok(cached);
    }
    let rows = shop.database.query(TOO_FAST, &[]).await?;
    let alerts: Value = rows.iter().map(|row| json!([row.get::<_, i32>(0), row.get::<_, i64>(1)])).collect();
    store(shop, ALERTS, alerts).await
}

async fn compute(shop: &Shop, number: i64) -> Result<Vec<u8>, Refusal> {
    let before = number * GOODS;
    let rows = shop.database.query(SHEET, &[&before, &(before + GOODS)]).await?;
    let one = |row: &Row| json!([row.get::<_, &str>(0), row.get::<_, i64>(1), row.get::<_, i64>(2)]);
    store(shop, &key(number), rows.iter().map(one).collect()).await
}

async fn store(shop: &Shop, key: &str, value: Value) -> Result<Vec<u8>, Refusal> {
    let text = value.to_string().into_bytes();
    let () = shop.cache.send(redis::cmd("SET").arg(key).arg(&text).arg("EX").arg(VALID_S)).await?;
    Ok(text)
}

fn key(number: i64) -> String {
    format!("sheet:{number}")
}
