//! Receipts, whose index a release makes again, exchanges of points, and lists of suppliers, in PostgreSQL.
//!
//! Does not parse HTTP.

use std::sync::Arc;
use std::time::Duration;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Supplies of a supplier.
pub const SUPPLIES: usize = 800;

const ISSUE: &str = "INSERT INTO receipts (code) VALUES (md5(random()::text))";
/// Makes the index of the receipts that auditors draw, while nothing can be written to the table.
const INDEX: &str = "CREATE INDEX receipts_new ON receipts (id) WHERE md5(code) LIKE '00%'";
/// Makes it beside what is written meanwhile, which takes two looks at the table.
const INDEX_BESIDE: &str =
    "CREATE INDEX CONCURRENTLY receipts_new ON receipts (id) WHERE md5(code) LIKE '00%'";
const DROP_OLD: &str = "DROP INDEX CONCURRENTLY receipts_drawn";
const RENAME: &str = "ALTER INDEX receipts_new RENAME TO receipts_drawn";

const EXCHANGE: &str = "INSERT INTO exchanges (member) VALUES ($1)";
const CHECK: &str = "SELECT ask_elsewhere($1)";

/// Writes all supplies of a list, whether they have changed or not.
const ALL: &str = "INSERT INTO supplies (sku, supplier, cents, label) SELECT sku, $1::int, cents, label \
                   FROM unnest($2::bigint[], $3::int[], $4::text[]) AS n (sku, cents, label) \
                   ON CONFLICT (sku) DO UPDATE SET cents = excluded.cents, label = excluded.label";
/// Writes the supplies of a list that are new or have changed.
const CHANGED: &str = "INSERT INTO supplies (sku, supplier, cents, label) \
                       SELECT n.sku, $1::int, n.cents, n.label \
                       FROM unnest($2::bigint[], $3::int[], $4::text[]) AS n (sku, cents, label) \
                       LEFT JOIN supplies s ON s.sku = n.sku \
                       WHERE s.sku IS NULL OR s.cents <> n.cents OR s.label <> n.label \
                       ON CONFLICT (sku) DO UPDATE SET cents = excluded.cents, label = excluded.label";

/// Issues a receipt.
///
/// # Errors
/// PostgreSQL fails.
pub async fn issue(shop: &Shop) -> Result<(), Refusal> {
    shop.database.execute(ISSUE, &[]).await.map(drop)
}

/// Begins a release, whose migration makes the index of the receipts again. No request waits for its end.
pub fn release(shop: Arc<Shop>) {
    tokio::spawn(async move {
        // A migration that fails is left to the next release.
        let _ = migrate(&shop).await;
    });
}

async fn migrate(shop: &Shop) -> Result<(), Refusal> {
    let client = shop.database.client().await?;
    let index = if shop.has(Defect::BlockingIndex) { INDEX } else { INDEX_BESIDE };
    // One at a time: nothing concurrent can be in a transaction with others.
    for statement in [index, DROP_OLD, RENAME] {
        client.batch_execute(statement).await?;
    }
    Ok(())
}

/// Exchanges points of a member, which another server allows meanwhile. With the defect, the function that asks it takes
/// a connection of its own, although the transaction of the request has one.
///
/// # Errors
/// PostgreSQL fails; no connection became free in time.
pub async fn exchange(shop: &Shop, member: i64, check: Duration) -> Result<(), Refusal> {
    let mut client = shop.database.client().await?;
    let exchange = client.prepare_cached(EXCHANGE).await?;
    let ask = client.prepare_cached(CHECK).await?;
    let transaction = client.transaction().await?;
    transaction.execute(&exchange, &[&member]).await?;
    if shop.has(Defect::SecondConnection) {
        shop.database.row(CHECK, &[&check.as_secs_f64()]).await?;
    } else {
        transaction.query_one(&ask, &[&check.as_secs_f64()]).await?;
    }
    Ok(transaction.commit().await?)
}

/// Takes over the list of a supplier, of which one price has changed. Returns how many rows were written.
///
/// # Errors
/// PostgreSQL fails.
pub async fn take_over(shop: &Shop, supplier: i32) -> Result<u64, Refusal> {
    let first = i64::from(supplier) * SUPPLIES as i64 + 1;
    let skus: Vec<i64> = (first..first + SUPPLIES as i64).collect();
    let mut cents: Vec<i32> = skus.iter().map(|sku| (100 + sku * 7919 % 4900) as i32).collect();
    if let Some(price) = cents.get_mut(fastrand::usize(..SUPPLIES)) {
        *price += 1;
    }
    let labels: Vec<String> = skus.iter().map(|sku| format!("supply {sku}, in boxes of ten")).collect();
    let sql = if shop.has(Defect::UnchangedUpsert) { ALL } else { CHANGED };
    shop.database.execute(sql, &[&supplier, &skus, &cents, &labels]).await
}
