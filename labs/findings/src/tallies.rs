//! Tallies of what is bought, and codes that are redeemed once, in Redis.
//!
//! Does not parse HTTP.

use redis::{Cmd, Pipeline};

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Products that there are.
const KNOWN: u32 = 5000;
/// Products of a purchase.
pub const PRODUCTS: u32 = 40;
/// The periods by which each of them is counted.
const PERIODS: [&str; 3] = ["hour", "day", "month"];
/// Increments of a purchase.
pub const INCREMENTS: u64 = 120;

/// Replicas that must have a code before its request is answered, and how long that is waited for, in milliseconds. In
/// this shop they are away.
const REPLICAS: u32 = 1;
const PATIENCE_MS: u32 = 25;
/// How long a code is kept, in seconds.
const KEPT_S: u32 = 60;

/// Counts a purchase. A healthy shop sends all increments at once; the defect waits for the response to each.
///
/// # Errors
/// Redis fails.
pub async fn count(shop: &Shop, first: u32) -> Result<(), Refusal> {
    if shop.has(Defect::IncrementPerCall) {
        for increment in increments(first) {
            let () = shop.cache.send(&increment).await?;
        }
        return Ok(());
    }
    let mut all = Pipeline::new();
    for increment in increments(first) {
        all.add_command(increment).ignore();
    }
    Ok(all.query_async(&mut shop.cache.shared()).await?)
}

fn increments(first: u32) -> Vec<Cmd> {
    let mut all = Vec::new();
    for place in 0..PRODUCTS {
        for period in PERIODS {
            let mut increment = redis::cmd("HINCRBY");
            increment.arg(format!("sold:{period}")).arg((first + place) % KNOWN).arg(1);
            all.push(increment);
        }
    }
    all
}

/// Redeems a code, and waits until a replica has that or the time is over. A healthy shop waits on a connection of its
/// own; the defect waits on the one that all requests share. Returns how many replicas have it.
///
/// # Errors
/// Redis fails.
pub async fn redeem(shop: &Shop, code: u32) -> Result<u64, Refusal> {
    let (mut keep, mut wait) = (redis::cmd("SET"), redis::cmd("WAIT"));
    keep.arg(format!("redeemed:{code}")).arg(1).arg("EX").arg(KEPT_S);
    wait.arg(REPLICAS).arg(PATIENCE_MS);
    if shop.has(Defect::ReplicaWait) {
        let () = shop.cache.send(&keep).await?;
        return shop.cache.send(&wait).await;
    }
    // Redis waits for what the same connection has written.
    let mut connection = shop.quotes.take(shop).await?;
    let () = keep.query_async(&mut connection).await?;
    let replicas = wait.query_async(&mut connection).await?;
    shop.quotes.give_back(connection);
    Ok(replicas)
}
