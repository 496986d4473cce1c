//! Favourites of members: a large sorted set in Redis, which is computed again and again.
//!
//! Does not parse HTTP.

use std::sync::Arc;
use std::time::Duration;

use redis::Pipeline;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::cache::Cache;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Favourites.
pub const FAVOURITES: u32 = 300_000;
/// Favourites per command when they are written.
const CHUNK: usize = 150;
/// Commands between two pauses, and the pause: a new set leaves room for requests.
const BURST: usize = 4;
const PAUSE: Duration = Duration::from_millis(1);
/// The key of the set, and that of the next one while it is written.
const KEY: &str = "favourites";
const NEXT: &str = "favourites:next";
/// Held while a new set is written: there is one at a time.
static RENEWAL: Mutex<()> = Mutex::const_new(());

/// How much a favourite is worth.
///
/// # Errors
/// Redis fails; there is no such favourite.
pub async fn worth(shop: &Shop, number: u32) -> Result<Value, Refusal> {
    let worth: Option<f64> = shop.cache.send(redis::cmd("ZSCORE").arg(KEY).arg(name(number))).await?;
    let worth = worth.ok_or(Refusal::Missing)?;
    Ok(json!({"favourite": number, "worth": worth}))
}

/// Begins to compute all favourites again. No request waits for the end.
pub fn renew(shop: Arc<Shop>) {
    tokio::spawn(async move {
        if let Ok(_alone) = RENEWAL.try_lock() {
            // A set that fails is left to the next time.
            let _ = replace(&shop.cache, shop.defect).await;
        }
    });
}

/// Writes the next set, and puts it in place of the one before. A healthy shop leaves it to a thread of Redis to free
/// the old one; with the defect, the main thread does, and answers nothing else until it has.
async fn replace(cache: &Cache, defect: Defect) -> Result<(), Refusal> {
    write(cache, NEXT, Some(PAUSE)).await?;
    let remove = if defect == Defect::BlockingDelete { "DEL" } else { "UNLINK" };
    let mut swap = Pipeline::new();
    swap.atomic();
    swap.cmd(remove).arg(KEY).ignore();
    swap.cmd("RENAME").arg(NEXT).arg(KEY).ignore();
    Ok(swap.query_async(&mut cache.shared()).await?)
}

/// Writes the first set. Other variants have none, so that Redis has no more to keep.
///
/// # Errors
/// Redis fails.
pub async fn fill(cache: &Cache, defect: Defect) -> Result<(), Refusal> {
    if matches!(defect, Defect::None | Defect::BlockingDelete) {
        write(cache, KEY, None).await
    } else {
        Ok(())
    }
}

async fn write(cache: &Cache, key: &str, pause: Option<Duration>) -> Result<(), Refusal> {
    for (place, numbers) in (0..FAVOURITES).collect::<Vec<_>>().chunks(CHUNK).enumerate() {
        let mut add = redis::cmd("ZADD");
        add.arg(key);
        for number in numbers {
            // In no order, as where members vote.
            add.arg(number.wrapping_mul(2_654_435_761) % 1_000_000).arg(name(*number));
        }
        let () = cache.send(&add).await?;
        if let Some(pause) = pause
            && place.is_multiple_of(BURST)
        {
            sleep(pause).await;
        }
    }
    Ok(())
}

fn name(number: u32) -> String {
    format!("favourite:{number:06}")
}
