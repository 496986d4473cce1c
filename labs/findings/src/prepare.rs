//! What the defect changes in the stores before the first request, and the cache of a healthy shop.
//!
//! Does not create the tables: [`crate::seed`] does.

use crate::cache::Cache;
use crate::defect::Defect;
use crate::menus;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Changes per row of a table without autovacuum: those of a month, which took place before the load.
const CHURN: usize = 30;

/// Memory of Redis beyond what it uses without thumbnails, in bytes: a quarter of what all of them need.
const SCARCE_BYTES: u64 = 6 << 20;

/// Prepares the stores.
///
/// # Errors
/// A store fails.
pub async fn prepare(shop: &Shop) -> Result<(), Refusal> {
    for statement in statements(shop.defect) {
        // One at a time: a vacuum of earlier rows must not be in a transaction with the changes.
        shop.database.client().await?.batch_execute(statement).await?;
    }
    if shop.has(Defect::DeadRows) {
        let client = shop.database.client().await?;
        for _ in 0..CHURN {
            client.batch_execute("UPDATE stock SET touched = clock_timestamp()").await?;
        }
    }
    fill_cache(shop).await
}

/// What the defect changes in the tables.
const fn statements(defect: Defect) -> &'static [&'static str] {
    match defect {
        Defect::NoDueIndex => &["DROP INDEX jobs_due"],
        Defect::AscendingPriority => {
            &["DROP INDEX cases_next", "CREATE INDEX cases_ascending ON cases (state, priority, opened_at)"]
        }
        Defect::DeadRows => &["ALTER TABLE stock SET (autovacuum_enabled = off)"],
        Defect::NoSectionIndex => &["DROP INDEX articles_section"],
        Defect::LikeSearch => &["DROP INDEX articles_words"],
        Defect::IlikeSearch => &["DROP INDEX options_name"],
        Defect::NoForeignKeyIndex => &["DROP INDEX notes_list"],
        _ => &[],
    }
}

async fn fill_cache(shop: &Shop) -> Result<(), Refusal> {
    let cache = &shop.cache;
    let () = cache.send(&redis::cmd("FLUSHDB")).await?;
    cache.fill(menus::price_pairs()).await?;
    menus::fill_sessions(cache).await?;
    cache.fill(menus::catalog_pairs(shop.defect)).await?;
    if shop.has(Defect::Evictions) {
        limit_memory(cache).await?;
    }
    cache.fill(menus::thumbnail_pairs()).await
}

/// Gives Redis less memory than it needs, as where a cache has outgrown its machine.
async fn limit_memory(cache: &Cache) -> Result<(), Refusal> {
    let memory: String = cache.send(redis::cmd("INFO").arg("memory")).await?;
    let used = memory.lines().find_map(|line| line.strip_prefix("used_memory:"));
    let used: u64 = used.and_then(|text| text.trim().parse().ok()).unwrap_or_default();
    let () = cache.send(redis::cmd("CONFIG").arg(&["SET", "maxmemory-policy", "allkeys-lru"])).await?;
    cache.send(redis::cmd("CONFIG").arg(&["SET", "maxmemory"]).arg(used + SCARCE_BYTES)).await
}
