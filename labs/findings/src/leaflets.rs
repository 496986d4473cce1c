//! Leaflets, campaigns and tasks, in Redis.
//!
//! Does not parse HTTP.

use redis::Pipeline;
use serde_json::{Value, json};

use crate::cache::Cache;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Cached pages of a leaflet.
const PAGES: usize = 3;
/// Keys that Redis looks at per call of `SCAN`.
const SCANNED: usize = 100;
/// How long the page of a campaign is valid, in seconds.
const CAMPAIGN_S: u64 = 300;
/// Tasks that wait or run.
pub const TASKS: usize = 300_000;

const CAMPAIGN: &str = "SELECT product, sum(amount)::bigint AS sold FROM purchases GROUP BY product \
                        ORDER BY sold DESC LIMIT 12";

/// Changes a leaflet: removes its cached pages, and writes new ones. A healthy shop has the set of their keys; the defect
/// looks for them among all keys.
///
/// # Errors
/// Redis fails.
pub async fn change(shop: &Shop, leaflet: usize) -> Result<(), Refusal> {
    let (cache, keys) = (&shop.cache, format!("leaflet-pages:{leaflet}"));
    let cached: Vec<String> = if shop.has(Defect::ScanKeys) {
        matching(cache, &format!("leaflet:{leaflet}:*")).await?
    } else {
        cache.send(redis::cmd("SMEMBERS").arg(&keys)).await?
    };
    let mut pipeline = Pipeline::new();
    if !cached.is_empty() {
        pipeline.cmd("DEL").arg(&cached).ignore();
    }
    for page in 0..PAGES {
        let key = format!("leaflet:{leaflet}:{page}");
        pipeline.cmd("SET").arg(&key).arg("<p>what is cheap this week</p>").ignore();
        pipeline.cmd("SADD").arg(&keys).arg(key).ignore();
    }
    Ok(pipeline.query_async(&mut cache.shared()).await?)
}

/// All keys that match a pattern, a part of them per call.
async fn matching(cache: &Cache, pattern: &str) -> Result<Vec<String>, Refusal> {
    let (mut cursor, mut keys) = (0_u64, Vec::new());
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(SCANNED);
        let (next, found): (u64, Vec<String>) = cache.send(&scan).await?;
        keys.extend(found);
        if next == 0 {
            return Ok(keys);
        }
        cursor = next;
    }
}

/// The page of a campaign, from the cache if it is there. With the defect, the key has all that the address has, also
/// from which mail the visitor comes.
///
/// # Errors
/// A store fails.
pub async fn campaign(shop: &Shop, number: usize, query: &str) -> Result<Vec<u8>, Refusal> {
    let is_whole = shop.has(Defect::TrackingKey);
    let key = if is_whole { format!("campaign:{number}?{query}") } else { format!("campaign:{number}") };
    if let Some(cached) = shop.cache.get(&key).await? {
        return Ok(cached);
    }
    let rows = shop.database.query(CAMPAIGN, &[]).await?;
    let goods: Value = rows.iter().map(|row| json!([row.get::<_, i32>(0), row.get::<_, i64>(1)])).collect();
    let page = json!({"campaign": number, "goods": goods}).to_string().into_bytes();
    let () = shop.cache.send(redis::cmd("SET").arg(&key).arg(&page).arg("EX").arg(CAMPAIGN_S)).await?;
    Ok(page)
}

/// Puts a task back behind all others, as after an attempt that failed. With the defect, tasks are a list, which Redis
/// walks to find one of them.
///
/// # Errors
/// Redis fails.
pub async fn put_back(shop: &Shop, number: usize) -> Result<(), Refusal> {
    let (cache, task) = (&shop.cache, task(number));
    let mut pipeline = Pipeline::new();
    if shop.has(Defect::ListRemove) {
        pipeline.cmd("LREM").arg("tasks").arg(0).arg(&task).ignore();
        pipeline.cmd("RPUSH").arg("tasks").arg(&task).ignore();
    } else {
        pipeline.cmd("ZREM").arg("tasks").arg(&task).ignore();
        pipeline.cmd("ZADD").arg("tasks").arg(TASKS).arg(&task).ignore();
    }
    Ok(pipeline.query_async(&mut cache.shared()).await?)
}

/// Writes all tasks: a sorted set, or a list with the defect. Other variants have none, so that Redis has no more to keep.
///
/// # Errors
/// Redis fails.
pub async fn fill(cache: &Cache, defect: Defect) -> Result<(), Refusal> {
    if !matches!(defect, Defect::None | Defect::ListRemove) {
        return Ok(());
    }
    for tasks in (0..TASKS).collect::<Vec<_>>().chunks(500) {
        let is_list = defect == Defect::ListRemove;
        let mut add = redis::cmd(if is_list { "RPUSH" } else { "ZADD" });
        add.arg("tasks");
        for number in tasks {
            if !is_list {
                add.arg(*number);
            }
            add.arg(task(*number));
        }
        let () = cache.send(&add).await?;
    }
    Ok(())
}

fn task(number: usize) -> String {
    format!("{:08x}-mail-{number:08}", number.wrapping_mul(2_654_435_761) & 0xffff_ffff)
}
