//! Menus of many tenants: options in PostgreSQL, and a cache in Redis.
//!
//! Does not parse HTTP.

use std::sync::Arc;
use std::time::Duration;

use redis::Pipeline;
use serde_json::{Value, json};

use crate::cache::Cache;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::{Shop, checksum, document};

/// Prices per request.
pub const PRICES: usize = 200;
/// Users with sessions, and sessions per user.
const USERS: usize = 5000;
const SESSIONS: usize = 4;
/// Pages of the catalog, and bytes per page: 2 MB together.
const PAGES: usize = 100;
const PAGE_BYTES: usize = 20_000;
/// Thumbnails, and bytes per thumbnail: 24 MB together.
const THUMBNAILS: usize = 6000;
const THUMBNAIL_BYTES: usize = 4000;

/// How long the best sellers are valid. With the defect, each request computes them when they expired.
const TOP_MILLIS: u64 = 4000;
/// How often a healthy shop computes them, before they expire.
const TOP_REFRESH: Duration = Duration::from_secs(3);

/// The options of a tenant.
pub const OPTIONS: &str = "SELECT id, name FROM options WHERE tenant = $1 ORDER BY name";
/// The options with a text in their names.
pub const SEARCH: &str = "SELECT id, name FROM options WHERE name ILIKE '%' || $1 || '%' LIMIT 20";
const TOP: &str =
    "SELECT product, sum(amount)::bigint FROM order_lines GROUP BY product ORDER BY 2 DESC LIMIT 20";

/// The options of a tenant, from the cache if they are there.
///
/// # Errors
/// A store fails.
pub async fn options(shop: &Shop, tenant: i32) -> Result<Vec<u8>, Refusal> {
    if shop.has(Defect::CacheOff) {
        return read_options(shop, tenant).await;
    }
    let key = format!("menu:{tenant}");
    let mut get = redis::cmd("GET");
    get.arg(&key);
    let cached: Option<Vec<u8>> = if shop.has(Defect::RedisConnections) {
        get.query_async(&mut shop.cache.connect().await?).await?
    } else {
        shop.cache.send(&get).await?
    };
    if let Some(cached) = cached {
        return Ok(cached);
    }
    let fresh = read_options(shop, tenant).await?;
    let () = shop.cache.send(redis::cmd("SET").arg(&key).arg(fresh.as_slice())).await?;
    Ok(fresh)
}

async fn read_options(shop: &Shop, tenant: i32) -> Result<Vec<u8>, Refusal> {
    let rows = shop.database.query(OPTIONS, &[&tenant]).await?;
    let options: Vec<(i64, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    Ok(document(&options).into_bytes())
}

/// The best sellers.
///
/// # Errors
/// A store fails.
pub async fn top(shop: &Shop) -> Result<Vec<u8>, Refusal> {
    match shop.cache.get("top").await? {
        Some(cached) => Ok(cached),
        None => compute_top(shop).await,
    }
}

async fn compute_top(shop: &Shop) -> Result<Vec<u8>, Refusal> {
    let rows = shop.database.query(TOP, &[]).await?;
    let top: Value = rows.iter().map(|row| json!([row.get::<_, i32>(0), row.get::<_, i64>(1)])).collect();
    let top = top.to_string().into_bytes();
    let () = shop.cache.send(redis::cmd("SET").arg("top").arg(&top).arg("PX").arg(TOP_MILLIS)).await?;
    Ok(top)
}

/// Computes the best sellers before they expire, for ever.
pub async fn refresh_top(shop: Arc<Shop>) {
    let mut pace = tokio::time::interval(TOP_REFRESH);
    loop {
        pace.tick().await;
        // If it fails, the next request that misses them reports it.
        let _ = compute_top(&shop).await;
    }
}

/// Number of sessions of a user.
///
/// # Errors
/// Redis fails.
pub async fn sessions(shop: &Shop, user: usize) -> Result<usize, Refusal> {
    let keys: Vec<String> = if shop.has(Defect::KeysCommand) {
        shop.cache.send(redis::cmd("KEYS").arg(format!("session:{user}:*"))).await?
    } else {
        shop.cache.send(redis::cmd("SMEMBERS").arg(format!("sessions:{user}"))).await?
    };
    Ok(keys.len())
}

/// Writes the sessions of all users, and for each user the set of them.
///
/// # Errors
/// Redis fails.
pub async fn fill_sessions(cache: &Cache) -> Result<(), Refusal> {
    for users in (0..USERS).collect::<Vec<_>>().chunks(250) {
        let mut pipeline = Pipeline::new();
        for user in users {
            for number in 0..SESSIONS {
                let key = format!("session:{user}:{number}");
                pipeline.cmd("SET").arg(&key).arg("signed in").ignore();
                pipeline.cmd("SADD").arg(format!("sessions:{user}")).arg(key).ignore();
            }
        }
        let () = pipeline.query_async(&mut cache.shared()).await?;
    }
    Ok(())
}

/// Sum of the prices from a product on.
///
/// # Errors
/// Redis fails.
pub async fn prices(shop: &Shop, from: usize) -> Result<u64, Refusal> {
    let keys: Vec<String> =
        (from..from + PRICES).map(|number| format!("price:{}", number % 10_000)).collect();
    if !shop.has(Defect::UnrolledMget) {
        let prices: Vec<Option<u64>> = shop.cache.send(redis::cmd("MGET").arg(&keys)).await?;
        return Ok(prices.into_iter().flatten().sum());
    }
    let mut sum = 0;
    for key in &keys {
        sum += shop.cache.send::<Option<u64>>(redis::cmd("GET").arg(key)).await?.unwrap_or_default();
    }
    Ok(sum)
}

/// Prices of 10,000 products.
pub fn price_pairs() -> Vec<(String, Vec<u8>)> {
    (0..10_000_u32)
        .map(|number| (format!("price:{number}"), (number % 97).to_string().into_bytes()))
        .collect()
}

/// A page of the catalog.
///
/// # Errors
/// Redis fails; there is no such page.
pub async fn catalog(shop: &Shop, page: usize) -> Result<Vec<u8>, Refusal> {
    let page = page % PAGES;
    if shop.has(Defect::LargeValue) {
        let whole = shop.cache.get("catalog").await?.ok_or(Refusal::Missing)?;
        let from = page * PAGE_BYTES;
        return whole.get(from..from + PAGE_BYTES).map(<[u8]>::to_vec).ok_or(Refusal::Missing);
    }
    shop.cache.get(&format!("catalog:{page}")).await?.ok_or(Refusal::Missing)
}

/// The catalog: a value per page, or one of 2 MB with the defect.
pub fn catalog_pairs(defect: Defect) -> Vec<(String, Vec<u8>)> {
    let page = |number: usize| format!("page {number:02} ").repeat(PAGE_BYTES / 8).into_bytes();
    if defect == Defect::LargeValue {
        return vec![("catalog".to_owned(), (0..PAGES).flat_map(page).collect())];
    }
    (0..PAGES).map(|number| (format!("catalog:{number}"), page(number))).collect()
}

/// A thumbnail, which is drawn again if the cache does not have it.
///
/// # Errors
/// Redis fails.
pub async fn thumbnail(shop: &Shop, number: usize) -> Result<Vec<u8>, Refusal> {
    let number = number % THUMBNAILS;
    let key = format!("thumbnail:{number}");
    if let Some(cached) = shop.cache.get(&key).await? {
        return Ok(cached);
    }
    let drawn = draw(number);
    let () = shop.cache.send(redis::cmd("SET").arg(&key).arg(&drawn)).await?;
    Ok(drawn)
}

fn draw(number: usize) -> Vec<u8> {
    let mut pixels = fastrand::Rng::with_seed(number as u64);
    (0..THUMBNAIL_BYTES).map(|_| pixels.u8(..)).collect()
}

/// All thumbnails.
pub fn thumbnail_pairs() -> Vec<(String, Vec<u8>)> {
    (0..THUMBNAILS).map(|number| (format!("thumbnail:{number}"), draw(number))).collect()
}

/// Options with a text in their names.
///
/// # Errors
/// PostgreSQL fails.
pub async fn search(shop: &Shop, text: &str) -> Result<Value, Refusal> {
    let rows = shop.database.query(SEARCH, &[&text]).await?;
    Ok(rows.iter().map(|row| json!([row.get::<_, i64>(0), row.get::<_, &str>(1)])).collect())
}

/// The checksum of the JSON of many options.
pub fn export(shop: &Shop) -> Value {
    let is_built = shop.has(Defect::JsonPerRequest);
    let sum = if is_built { checksum(&document(&shop.options)) } else { shop.checksum };
    json!({"options": shop.options.len(), "checksum": format!("{sum:016x}")})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalog_has_the_same_bytes_in_one_value_and_in_100() {
        let one: Vec<u8> = catalog_pairs(Defect::LargeValue).remove(0).1;
        let many: Vec<u8> = catalog_pairs(Defect::None).into_iter().flat_map(|(_, page)| page).collect();
        assert_eq!((one.len(), one == many), (2_000_000, true));
    }

    #[test]
    fn a_thumbnail_that_is_drawn_again_has_the_same_pixels() {
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
