//! Timelines of members: the newest posts of those whom they follow, in Redis.
//!
//! Does not parse HTTP.

use redis::Pipeline;
use serde_json::Value;

use crate::cache::Cache;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Authors, posts of each, and authors whom a member follows.
const AUTHORS: u32 = 30;
const POSTS: u32 = 3000;
const FOLLOWED: u32 = 6;
/// Posts of a page.
pub const PAGE: usize = 10;
/// Posts per command when they are written.
const CHUNK: usize = 300;

/// The newest posts for a member. A healthy shop reads the newest ones of each author and merges them; the defect has
/// Redis unite all posts of these authors, of which it reads a page.
///
/// # Errors
/// Redis fails.
pub async fn timeline(shop: &Shop, member: u32) -> Result<Value, Refusal> {
    let keys: Vec<String> = (0..FOLLOWED).map(|place| key((member + place * 5) % AUTHORS)).collect();
    let posts = if shop.has(Defect::UnionPerRead) {
        unite(&shop.cache, member, &keys).await?
    } else {
        merge(&shop.cache, &keys).await?
    };
    Ok(posts.into())
}

async fn unite(cache: &Cache, member: u32, keys: &[String]) -> Result<Vec<String>, Refusal> {
    let all = format!("timeline:{member}");
    let mut read = Pipeline::new();
    read.cmd("ZUNIONSTORE").arg(&all).arg(keys.len()).arg(keys).ignore();
    read.cmd("ZREVRANGE").arg(&all).arg(0).arg(PAGE - 1);
    let (posts,): (Vec<String>,) = read.query_async(&mut cache.shared()).await?;
    Ok(posts)
}

async fn merge(cache: &Cache, keys: &[String]) -> Result<Vec<String>, Refusal> {
    let mut read = Pipeline::new();
    for key in keys {
        read.cmd("ZREVRANGE").arg(key).arg(0).arg(PAGE - 1);
    }
    let newest: Vec<Vec<String>> = read.query_async(&mut cache.shared()).await?;
    let mut posts = newest.concat();
    // A post begins with its time.
    posts.sort_unstable();
    posts.reverse();
    posts.truncate(PAGE);
    Ok(posts)
}

/// Writes all posts. Other variants have none, so that Redis has no more to keep.
///
/// # Errors
/// Redis fails.
pub async fn fill(cache: &Cache, defect: Defect) -> Result<(), Refusal> {
    if !matches!(defect, Defect::None | Defect::UnionPerRead) {
        return Ok(());
    }
    for author in 0..AUTHORS {
        for numbers in (0..POSTS).collect::<Vec<_>>().chunks(CHUNK) {
            let mut add = redis::cmd("ZADD");
            add.arg(key(author));
            for number in numbers {
                // In no order, as where posts of many authors are written at the same time.
                let time = (author * POSTS + number).wrapping_mul(2_654_435_761) % 1_000_000;
                add.arg(time).arg(format!("{time:06}:post {author}.{number}"));
            }
            let () = cache.send(&add).await?;
        }
    }
    Ok(())
}

fn key(author: u32) -> String {
    format!("posts:{author}")
}
