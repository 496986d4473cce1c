//! Letters of members, in PostgreSQL: those of a member, a page of all, and one by chance.
//!
//! Does not parse HTTP.

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// All letters, and those of a page.
pub const LETTERS: i64 = 20_000;
const PAGE: usize = 20;

/// Says for which member a transaction reads, as rules of access to rows need it.
const READER: &str = "SELECT set_config('shop.member', $1, true)";
/// The letters of this member. With the defect, the function is volatile, so it is called for each row.
pub const OWN: &str = "SELECT id, title FROM letters WHERE member = current_member() ORDER BY id";

const AFTER: &str = "SELECT id, title FROM letters WHERE id > $1 ORDER BY id LIMIT 20";
const ALL: &str = "SELECT id, title FROM letters ORDER BY id";

/// A letter by chance, by its number: there is one with this number or with the next.
const FROM_NUMBER: &str = "SELECT id, title FROM letters WHERE id >= $1 ORDER BY id LIMIT 1";
/// A letter by chance: the first one in an order by chance.
const SHUFFLED: &str = "SELECT id, title FROM letters ORDER BY random() LIMIT 1";

/// The letters of a member.
///
/// # Errors
/// PostgreSQL fails.
pub async fn own(shop: &Shop, member: i64) -> Result<Value, Refusal> {
    let mut client = shop.database.client().await?;
    let reader = client.prepare_cached(READER).await?;
    let own = client.prepare_cached(OWN).await?;
    let member = member.to_string();
    let transaction = client.transaction().await?;
    transaction.query_one(&reader, &[&member]).await?;
    let rows = transaction.query(&own, &[]).await?;
    transaction.commit().await?;
    Ok(rows.iter().map(listed).collect())
}

/// A page of all letters. A healthy shop asks for the letters behind those of the page before; the defect reads all letters
/// and cuts the page out of them.
///
/// # Errors
/// PostgreSQL fails.
pub async fn page(shop: &Shop, page: u32) -> Result<Value, Refusal> {
    if shop.has(Defect::PageInMemory) {
        let rows = shop.database.query(ALL, &[]).await?;
        let all: Vec<Value> = rows.iter().map(listed).collect();
        return Ok(all.chunks(PAGE).nth(page as usize).unwrap_or_default().into());
    }
    let after = i64::from(page) * PAGE as i64;
    let rows = shop.database.query(AFTER, &[&after]).await?;
    Ok(rows.iter().map(listed).collect())
}

/// A letter by chance.
///
/// # Errors
/// PostgreSQL fails; there is none.
pub async fn draw(shop: &Shop) -> Result<Value, Refusal> {
    let row = if shop.has(Defect::RandomRow) {
        shop.database.row(SHUFFLED, &[]).await?
    } else {
        shop.database.row(FROM_NUMBER, &[&fastrand::i64(1..=LETTERS)]).await?
    };
    Ok(listed(&row))
}

fn listed(row: &Row) -> Value {
    json!([row.get::<_, i64>(0), row.get::<_, &str>(1)])
}
