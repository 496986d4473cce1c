//! Polls about proposals in PostgreSQL, and boards of tenants and currencies of other countries, cached in Redis.
//!
//! Does not parse HTTP. The notices of a board are those of [`crate::notices`].

use std::time::Duration;

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Proposals of a list.
pub const TOP: usize = 10;
/// Notices of a board.
pub const NOTICES: usize = 20;
/// How long a cached value is valid, in the unit of `EX`.
const VALID: u64 = 60;
/// How long another server takes to say what is known of a currency.
const RATE: Duration = Duration::from_millis(25);

/// The proposals with the most votes, as they are counted when a vote is given.
const COUNTED: &str =
    "SELECT id, title, votes FROM proposals WHERE poll = $1 ORDER BY votes DESC, id LIMIT 10";
/// The same by the ballots of all proposals of the poll.
const BY_BALLOTS: &str = "SELECT p.id, p.title, \
                          (SELECT count(*) FROM ballots b WHERE b.proposal = p.id) AS votes \
                          FROM proposals p WHERE p.poll = $1 ORDER BY votes DESC, p.id LIMIT 10";

const BOARD: &str = "SELECT id, title FROM notices WHERE tenant = $1 ORDER BY id DESC LIMIT 20";
/// What changes if the notices of a tenant do.
const STATE: &str = "SELECT count(*), max(id) FROM notices WHERE tenant = $1";

/// The ten proposals of a poll with the most votes. The defect counts the votes of all of them.
///
/// # Errors
/// PostgreSQL fails.
pub async fn top(shop: &Shop, poll: i32) -> Result<Value, Refusal> {
    let sql = if shop.has(Defect::OrderByVotes) { BY_BALLOTS } else { COUNTED };
    let rows = shop.database.query(sql, &[&poll]).await?;
    let one = |row: &Row| json!([row.get::<_, i64>(0), row.get::<_, &str>(1), row.get::<_, i64>(2)]);
    Ok(rows.iter().map(one).collect())
}

/// The newest notices of a tenant, from the cache if they are there. The key has the version of the board, which
/// changes with its notices. The defect makes the key of all notices: their number and the newest one.
///
/// # Errors
/// A store fails.
pub async fn board(shop: &Shop, tenant: i32) -> Result<Vec<u8>, Refusal> {
    let version = if shop.has(Defect::CountedCacheKey) {
        let row = shop.database.row(STATE, &[&tenant]).await?;
        format!("{}-{}", row.get::<_, i64>(0), row.get::<_, Option<i64>>(1).unwrap_or_default())
    } else {
        version(shop, tenant).await?.to_string()
    };
    let key = format!("board:{tenant}:{version}");
    if let Some(cached) = shop.cache.get(&key).await? {
        return Ok(cached);
    }
    let rows = shop.database.query(BOARD, &[&tenant]).await?;
    let notices: Value =
        rows.iter().map(|row: &Row| json!([row.get::<_, i64>(0), row.get::<_, &str>(1)])).collect();
    store(shop, &key, &notices, "EX").await
}

/// The version of a board, which is 1 at first. In this shop, no route changes notices.
async fn version(shop: &Shop, tenant: i32) -> Result<u64, Refusal> {
    let mut get = redis::cmd("GET");
    get.arg(format!("board:{tenant}:version"));
    let version: Option<u64> = shop.cache.send(&get).await?;
    Ok(version.unwrap_or(1))
}

/// What is known of a currency, from the cache if it is there. The defect keeps it for as many milliseconds as the
/// healthy shop keeps it for seconds.
///
/// # Errors
/// Redis or the server fails.
pub async fn currency(shop: &Shop, number: u64) -> Result<Vec<u8>, Refusal> {
    let key = format!("currency:{number}");
    if let Some(cached) = shop.cache.get(&key).await? {
        return Ok(cached);
    }
    let known = shop.calls.ask("currencies", number, RATE).await?;
    store(shop, &key, &known, if shop.has(Defect::TtlInMs) { "PX" } else { "EX" }).await
}

async fn store(shop: &Shop, key: &str, value: &Value, unit: &str) -> Result<Vec<u8>, Refusal> {
    let text = value.to_string().into_bytes();
    let () = shop.cache.send(redis::cmd("SET").arg(key).arg(&text).arg(unit).arg(VALID)).await?;
    Ok(text)
}
