//! Imports of price lists, and an audit log of the staff's changes, in PostgreSQL.
//!
//! Does not parse HTTP. The indexes of the audit are made in [`crate::prepare`].

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Lines of a price list.
pub const LINES: i32 = 120;
/// Entries of a batch of the audit.
pub const ENTRIES: i64 = 200;

const ALL_LINES: &str = "INSERT INTO price_lines (product, cents) SELECT * FROM unnest($1::int[], $2::int[])";
const ONE_LINE: &str = "INSERT INTO price_lines (product, cents) VALUES ($1, $2)";

const AUDIT: &str = "INSERT INTO audit (at, actor, route, item, address, agent, trace, outcome) \
                     SELECT now(), md5('actor' || n || $2::int), md5('route' || n || $2), md5('item' || n || $2), \
                     md5('address' || n || $2), md5('agent' || n || $2), md5('trace' || n || $2), 'done' \
                     FROM generate_series(1, $1::bigint) n";

/// Stores a price list in one transaction: by one statement, or by one per line with the defect.
///
/// # Errors
/// PostgreSQL fails.
pub async fn price_list(shop: &Shop) -> Result<(), Refusal> {
    let products: Vec<i32> = (1..=LINES).collect();
    let cents: Vec<i32> = products.iter().map(|product| product * 7).collect();
    if !shop.has(Defect::InsertPerLine) {
        return shop.database.execute(ALL_LINES, &[&products, &cents]).await.map(drop);
    }
    let mut client = shop.database.client().await?;
    let one = client.prepare_cached(ONE_LINE).await?;
    let transaction = client.transaction().await?;
    for (product, cents) in products.iter().zip(&cents) {
        transaction.execute(&one, &[product, cents]).await?;
    }
    Ok(transaction.commit().await?)
}

/// Stores a batch of entries of the audit.
///
/// # Errors
/// PostgreSQL fails.
pub async fn audit(shop: &Shop) -> Result<(), Refusal> {
    shop.database.execute(AUDIT, &[&ENTRIES, &fastrand::i32(..)]).await.map(drop)
}
