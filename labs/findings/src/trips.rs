//! Trips of drivers, fares that are loaded again, and picks out of the supplies, in PostgreSQL.
//!
//! Does not parse HTTP.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Picks of a request.
pub const PICKED: i64 = 100;
/// Supplies that there are.
const SUPPLIES: i64 = 20_000;
/// A load changes one fare of so many.
const CHANGED: i32 = 2000;

/// The newest trips of a driver, out of all that are valid. The condition on the driver is moved into the inner
/// statement, where an index serves it.
pub const NEWEST: &str = "WITH valid AS (SELECT id, driver, minute, note FROM trips WHERE minute > 0) \
                          SELECT id, minute, note FROM valid WHERE driver = $1 ORDER BY id DESC LIMIT 10";
/// The same, but the inner statement is executed by itself, as PostgreSQL did before version 12.
pub const NEWEST_OF_ALL: &str = "WITH valid AS MATERIALIZED \
                                 (SELECT id, driver, minute, note FROM trips WHERE minute > 0) \
                                 SELECT id, minute, note FROM valid WHERE driver = $1 \
                                 ORDER BY id DESC LIMIT 10";

const FARE: &str = "SELECT cents, label FROM fares WHERE route = $1";
/// All fares as they are delivered.
const EMPTY: &str = "TRUNCATE fares";
const FILL: &str = "INSERT INTO fares (route, cents, label) \
                    SELECT n, 100 + n * 79 % 4900 + CASE WHEN n % 2000 = $1::int THEN 1 ELSE 0 END, \
                    'fare ' || n FROM generate_series(1, 60000) n";
/// Writes those that are new or have changed.
const CHANGE: &str = "INSERT INTO fares (route, cents, label) \
                      SELECT n.route, n.cents, n.label FROM (SELECT n AS route, \
                      100 + n * 79 % 4900 + CASE WHEN n % 2000 = $1::int THEN 1 ELSE 0 END AS cents, \
                      'fare ' || n AS label FROM generate_series(1, 60000) n) n \
                      LEFT JOIN fares f ON f.route = n.route \
                      WHERE f.route IS NULL OR f.cents <> n.cents OR f.label <> n.label \
                      ON CONFLICT (route) DO UPDATE SET cents = excluded.cents, label = excluded.label";

const PICKS: &str = "SELECT s.sku, s.cents, s.label FROM unnest($1::bigint[]) AS n (sku) \
                     JOIN supplies s ON s.sku = n.sku ORDER BY s.sku";
const MAKE: &str = "CREATE TEMP TABLE picked (sku bigint PRIMARY KEY) ON COMMIT DROP";
const PUT: &str = "INSERT INTO picked (sku) SELECT unnest($1::bigint[])";
const JOIN: &str =
    "SELECT s.sku, s.cents, s.label FROM picked p JOIN supplies s ON s.sku = p.sku ORDER BY s.sku";

/// The newest trips of a driver.
///
/// # Errors
/// PostgreSQL fails.
pub async fn newest(shop: &Shop, driver: i32) -> Result<Value, Refusal> {
    let sql = if shop.has(Defect::MaterializedCte) { NEWEST_OF_ALL } else { NEWEST };
    let rows = shop.database.query(sql, &[&driver]).await?;
    let one = |row: &Row| json!([row.get::<_, i64>(0), row.get::<_, i32>(1), row.get::<_, &str>(2)]);
    Ok(rows.iter().map(one).collect())
}

/// The fare of a route.
///
/// # Errors
/// PostgreSQL fails; there is no such route.
pub async fn fare(shop: &Shop, route: i32) -> Result<Value, Refusal> {
    let row = shop.database.row(FARE, &[&route]).await?;
    Ok(json!({"route": route, "cents": row.get::<_, i32>(0), "label": row.get::<_, &str>(1)}))
}

/// Begins to load all fares, of which some have changed. No request waits for the end.
pub fn load(shop: Arc<Shop>) {
    tokio::spawn(async move {
        // A load that fails is left to the next one.
        let _ = load_now(&shop, fastrand::i32(0..CHANGED)).await;
    });
}

/// A healthy load writes what has changed. The one of the defect empties the table and fills it again in one
/// transaction, so that no request reads the table meanwhile.
async fn load_now(shop: &Shop, changed: i32) -> Result<(), Refusal> {
    if !shop.has(Defect::TruncateReload) {
        return shop.database.execute(CHANGE, &[&changed]).await.map(drop);
    }
    let mut client = shop.database.client().await?;
    let transaction = client.transaction().await?;
    transaction.batch_execute(EMPTY).await?;
    transaction.execute(FILL, &[&changed]).await?;
    Ok(transaction.commit().await?)
}

/// Supplies that were picked: each 199th from one on. The defect puts their numbers into a table of its own first.
///
/// # Errors
/// PostgreSQL fails.
pub async fn picks(shop: &Shop, first: i64) -> Result<Value, Refusal> {
    let skus: Vec<i64> = (0..PICKED).map(|place| 1 + (first + place * 199).rem_euclid(SUPPLIES)).collect();
    let rows = if shop.has(Defect::TempTable) {
        pick_by_table(shop, &skus).await?
    } else {
        shop.database.query(PICKS, &[&skus]).await?
    };
    let one = |row: &Row| json!([row.get::<_, i64>(0), row.get::<_, i32>(1), row.get::<_, &str>(2)]);
    Ok(rows.iter().map(one).collect())
}

/// No statement can be prepared before the table is there.
async fn pick_by_table(shop: &Shop, skus: &[i64]) -> Result<Vec<Row>, Refusal> {
    let mut client = shop.database.client().await?;
    let transaction = client.transaction().await?;
    transaction.batch_execute(MAKE).await?;
    transaction.execute(PUT, &[&skus]).await?;
    let rows = transaction.query(JOIN, &[]).await?;
    transaction.commit().await?;
    Ok(rows)
}
