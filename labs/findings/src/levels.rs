//! Stock levels, the total of all prices, quotes of a worker, and points, in Redis.
//!
//! Does not parse HTTP. Prices are those of [`crate::menus`].

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisResult, Script};
use tokio::sync::OnceCell;
use tokio::time::sleep;

use crate::cache::Cache;
use crate::defect::Defect;
use crate::menus;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Fields of the hash of levels.
const LEVELS: usize = 20_000;
/// How long the worker needs for a quote.
const WORK: Duration = Duration::from_millis(25);
/// Longest wait for the worker, in seconds.
const PATIENCE_S: u64 = 5;

/// How long a partner takes to say how many points a purchase is worth.
const WORTH: Duration = Duration::from_millis(5);
/// The key that counts points, and how often an optimistic transaction is tried.
const POINTS: &str = "points";
const TRIES: usize = 10_000;

/// Adds all prices, each read by its own command, while no other client is served.
const ADD_PRICES: &str = "local sum = 0 \
                          for number = 0, ARGV[1] - 1 do \
                          sum = sum + (tonumber(redis.call('GET', 'price:' .. number)) or 0) end \
                          return sum";

/// The level of an item. With the defect, the levels of all items are read for it.
///
/// # Errors
/// Redis fails; there is no such item.
pub async fn level(shop: &Shop, item: usize) -> Result<Vec<u8>, Refusal> {
    let item = item.to_string();
    if shop.has(Defect::WholeHash) {
        let mut all: HashMap<String, Vec<u8>> = shop.cache.send(redis::cmd("HGETALL").arg("levels")).await?;
        return all.remove(&item).ok_or(Refusal::Missing);
    }
    let one: Option<Vec<u8>> = shop.cache.send(redis::cmd("HGET").arg("levels").arg(&item)).await?;
    one.ok_or(Refusal::Missing)
}

/// Writes the levels of all items, and the total of all prices.
///
/// # Errors
/// Redis fails.
pub async fn fill(cache: &Cache) -> Result<(), Refusal> {
    for items in (0..LEVELS).collect::<Vec<_>>().chunks(500) {
        let mut set = redis::cmd("HSET");
        set.arg("levels");
        for item in items {
            set.arg(*item).arg(format!("{} pieces, counted by hand on the first of the month", item % 97));
        }
        let () = cache.send(&set).await?;
    }
    let total: u64 = menus::price_pairs()
        .iter()
        .filter_map(|(_, price)| std::str::from_utf8(price).ok()?.parse::<u64>().ok())
        .sum();
    cache.send(redis::cmd("SET").arg("total").arg(total)).await
}

/// Total of all prices. With the defect, a script adds them for each request.
///
/// # Errors
/// Redis fails.
pub async fn total(shop: &Shop) -> Result<u64, Refusal> {
    if !shop.has(Defect::LongScript) {
        return shop.cache.send(redis::cmd("GET").arg("total")).await;
    }
    let count = menus::price_pairs().len();
    Ok(Script::new(ADD_PRICES).arg(count).invoke_async(&mut shop.cache.shared()).await?)
}

/// Connections for quotes and points, opened when they are first needed.
#[derive(Default)]
pub struct Quotes {
    /// That of the worker, which stands for another process.
    worker: OnceCell<MultiplexedConnection>,
    /// Those that no request uses now.
    free: Mutex<Vec<MultiplexedConnection>>,
}

/// A quote, which a worker puts into a list of its own, for which the request waits. With the defect, it waits on the
/// connection that all requests share, so that their commands wait, too.
///
/// # Errors
/// Redis fails; the worker did not respond in time.
pub async fn quote(shop: &Shop) -> Result<String, Refusal> {
    let reply = format!("reply:{:016x}", fastrand::u64(..));
    let mut pop = redis::cmd("BLPOP");
    pop.arg(&reply).arg(PATIENCE_S);
    let mut worker = shop.quotes.worker.get_or_try_init(|| shop.cache.connect()).await?.clone();
    tokio::spawn(async move {
        sleep(WORK).await;
        // Without a quote, the request reports that there is none.
        let _: RedisResult<u64> = redis::cmd("RPUSH").arg(reply).arg("19.90").query_async(&mut worker).await;
    });
    let popped: Option<(String, String)> = if shop.has(Defect::BlockingPop) {
        shop.cache.send(&pop).await?
    } else {
        pop_apart(shop, &pop).await?
    };
    popped.map(|(_, quote)| quote).ok_or(Refusal::Missing)
}

/// Waits on a connection that no other request uses at this time.
async fn pop_apart(shop: &Shop, pop: &Cmd) -> Result<Option<(String, String)>, Refusal> {
    let mut connection = shop.quotes.take(shop).await?;
    let popped = pop.query_async(&mut connection).await?;
    shop.quotes.give_back(connection);
    Ok(popped)
}

impl Quotes {
    /// A connection that no other request uses.
    pub(crate) async fn take(&self, shop: &Shop) -> Result<MultiplexedConnection, Refusal> {
        let taken = self.free().pop();
        match taken {
            Some(connection) => Ok(connection),
            None => shop.cache.connect().await,
        }
    }

    /// Keeps a connection for another request.
    pub(crate) fn give_back(&self, connection: MultiplexedConnection) {
        self.free().push(connection);
    }

    fn free(&self) -> MutexGuard<'_, Vec<MultiplexedConnection>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds a point to the account of the shop, after a partner was asked: with one command, or with an optimistic transaction
/// that begins before the question, and is tried again at once if another one was in its way.
///
/// # Errors
/// Redis or the partner fails, or too many transactions were in the way.
pub async fn add_point(shop: &Shop) -> Result<u64, Refusal> {
    if !shop.has(Defect::WatchRetries) {
        shop.calls.ask("points", 1, WORTH).await?;
        return shop.cache.send(redis::cmd("INCR").arg(POINTS)).await;
    }
    // A watched key is watched by its connection, so requests cannot share one.
    let mut connection = shop.quotes.take(shop).await?;
    for _ in 0..TRIES {
        let () = redis::cmd("WATCH").arg(POINTS).query_async(&mut connection).await?;
        let points: Option<u64> = redis::cmd("GET").arg(POINTS).query_async(&mut connection).await?;
        shop.calls.ask("points", 1, WORTH).await?;
        let points = points.unwrap_or_default() + 1;
        let set: Option<()> =
            redis::pipe().atomic().set(POINTS, points).ignore().query_async(&mut connection).await?;
        if set.is_some() {
            shop.quotes.give_back(connection);
            return Ok(points);
        }
    }
    Err(Refusal::Busy)
}
