//! What the defect changes in the stores before the first request, and the cache of a healthy shop.
//!
//! Does not create the tables: [`crate::seed`] does.

use crate::cache::Cache;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;
use crate::{favourites, leaflets, levels, menus, office, timelines};

/// Changes per row of a table without autovacuum: those of a month, which took place before the load.
const CHURN: usize = 30;

/// Memory of Redis beyond what it uses without thumbnails, in bytes: a quarter of what all of them need.
const SCARCE_BYTES: u64 = 6 << 20;

/// Prepares the stores.
///
/// # Errors
/// A store fails.
pub async fn prepare(shop: &Shop) -> Result<(), Refusal> {
    if shop.has(Defect::LongTransaction) {
        // Before the rows die that it keeps.
        office::forget_transaction(shop).await?;
    }
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

/// Loads the parcels again, the waiting ones after the last statistics, with autovacuum off for the load.
const BULK_LOAD: &[&str] = &[
    "CREATE TABLE unloaded AS TABLE parcels",
    "TRUNCATE parcels",
    "INSERT INTO parcels SELECT * FROM unloaded WHERE state = 'delivered' ORDER BY id",
    "VACUUM ANALYZE parcels",
    "ALTER TABLE parcels SET (autovacuum_enabled = off)",
    "INSERT INTO parcels SELECT * FROM unloaded WHERE state = 'waiting' ORDER BY id",
    "DROP TABLE unloaded",
];

/// Two indexes per column of the audit, as of a table whose indexes came with each idea for a report.
const UNUSED_INDEXES: &str = "DO $$ DECLARE name text; BEGIN \
    FOREACH name IN ARRAY ARRAY['at', 'actor', 'route', 'item', 'address', 'agent', 'trace', 'outcome'] LOOP \
    EXECUTE format('CREATE INDEX ON audit (%I)', name); \
    EXECUTE format('CREATE INDEX ON audit (%I, id)', name); \
    END LOOP; END $$";

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
        Defect::BulkLoad => BULK_LOAD,
        Defect::LongTransaction => &[
            "INSERT INTO mails (body) SELECT 'mail ' || n FROM generate_series(1, 40000) n",
            "DELETE FROM mails WHERE id <= (SELECT max(id) - 1000 FROM mails)",
        ],
        Defect::LowerEmail => &["DROP INDEX members_small_email"],
        Defect::NewestById => &["DROP INDEX messages_newest"],
        Defect::RowTrigger => &[
            "DROP TRIGGER placements_counted ON placements",
            "CREATE TRIGGER placements_counted AFTER INSERT ON placements \
             FOR EACH ROW EXECUTE FUNCTION count_placement()",
        ],
        Defect::UnusedIndexes => &[UNUSED_INDEXES],
        // The default of a function that says nothing about itself.
        Defect::VolatileFunction => &["ALTER FUNCTION current_member() VOLATILE"],
        _ => &[],
    }
}

async fn fill_cache(shop: &Shop) -> Result<(), Refusal> {
    let cache = &shop.cache;
    let () = cache.send(&redis::cmd("FLUSHDB")).await?;
    cache.fill(menus::price_pairs()).await?;
    menus::fill_sessions(cache).await?;
    levels::fill(cache).await?;
    leaflets::fill(cache, shop.defect).await?;
    favourites::fill(cache, shop.defect).await?;
    timelines::fill(cache, shop.defect).await?;
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
