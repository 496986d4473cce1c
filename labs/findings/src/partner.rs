//! What the shop asks of partners, and pauses of all requests.
//!
//! Does not parse HTTP: [`crate::calls`] asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// How long the partner that knows the rates takes.
const RATES: Duration = Duration::from_millis(20);
/// Partners of an overview, and how long each takes.
pub const PARTNERS: [&str; 5] = ["reviews", "similar", "stock", "delivery", "taxes"];
const EACH: Duration = Duration::from_millis(8);
/// How long the partner that knows the tariffs takes, and the calls at a time that a client has by default.
const TARIFFS: Duration = Duration::from_millis(20);
const CALLS: usize = 2;
/// Replicas of the partner that knows ratings, and how long one takes. The first is dead: only a timeout ends its call.
const REPLICAS: usize = 4;
const RATING: Duration = Duration::from_millis(5);
const TIMEOUT: Duration = Duration::from_millis(120);
/// Articles about which partners are asked.
const ARTICLES: u64 = 500;
/// Pace and length of the pauses of all requests.
const PACE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(150);

/// What the shop knows of its partners.
pub struct Partners {
    /// Calls at a time for tariffs.
    calls: Semaphore,
    /// Number of the next call for ratings, whose replica follows from it.
    next: AtomicUsize,
    /// Whether the first replica did not answer, so that it is not asked again.
    is_down: AtomicBool,
}

impl Default for Partners {
    fn default() -> Self {
        Self { calls: Semaphore::new(CALLS), next: AtomicUsize::new(0), is_down: AtomicBool::new(false) }
    }
}

/// The tariffs of a partner. With the defect, calls wait for one of two connections.
///
/// # Errors
/// The partner fails.
pub async fn tariffs(shop: &Shop) -> Result<Value, Refusal> {
    let _place = if shop.has(Defect::TwoPerHost) { shop.partners.calls.acquire().await.ok() } else { None };
    let tariffs = shop.calls.ask("tariffs", 1, TARIFFS).await?;
    Ok(json!({"letter": tariffs["letter"], "parcel": tariffs["parcel"]}))
}

/// The ratings of an article, from the next replica. After a timeout, another one is asked; with the defect, the next
/// call finds the dead one again.
///
/// # Errors
/// The partner fails.
pub async fn ratings(shop: &Shop) -> Result<Value, Refusal> {
    let Partners { next, is_down, .. } = &shop.partners;
    let is_first = next.fetch_add(1, Ordering::Relaxed) % REPLICAS == 0;
    let article = fastrand::u64(..ARTICLES);
    if is_first && !is_down.load(Ordering::Relaxed) {
        is_down.store(!shop.has(Defect::DeadReplica), Ordering::Relaxed);
        // The time is over before there is an answer.
        let _ = timeout(TIMEOUT, shop.calls.ask_dead("ratings", article)).await;
    }
    let ratings = shop.calls.ask("ratings", article, RATING).await?;
    Ok(json!({"stars": ratings["stars"]}))
}

/// The rates of a partner. With the defect, the thread that asks for them does nothing else until they are there.
///
/// # Errors
/// The partner fails.
pub async fn rates(shop: &Shop) -> Result<Value, Refusal> {
    let rates = if shop.has(Defect::BlockedThread) {
        shop.calls.wait("rates", 1, RATES, None)?
    } else {
        shop.calls.ask("rates", 1, RATES).await?
    };
    Ok(json!({"eur": rates["eur"], "usd": rates["usd"]}))
}

/// What all partners say of an article: at the same time, or one after another with the defect.
///
/// # Errors
/// A partner fails.
pub async fn overview(shop: &Shop) -> Result<Value, Refusal> {
    let article = fastrand::u64(..ARTICLES);
    if !shop.has(Defect::SerialCalls) {
        return Ok(try_join_all(PARTNERS.map(|partner| ask(shop, partner, article))).await?.into());
    }
    let mut parts = Vec::new();
    for partner in PARTNERS {
        parts.push(ask(shop, partner, article).await?);
    }
    Ok(parts.into())
}

async fn ask(shop: &Shop, partner: &str, article: u64) -> Result<Value, Refusal> {
    let said = shop.calls.ask(partner, article, EACH).await?;
    Ok(json!({"partner": partner, "says": said["says"]}))
}

/// Lets no request begin for a while, again and again, as a garbage collector does that stops the world.
pub async fn pause_regularly(shop: Arc<Shop>) {
    let mut pace = tokio::time::interval(PACE);
    loop {
        pace.tick().await;
        let _alone = shop.pause.write().await;
        sleep(PAUSE).await;
    }
}

/// Waits for the end of a pause.
pub async fn wait_for_pause(shop: &Shop) {
    if shop.has(Defect::TimedPause) {
        drop(shop.pause.read().await);
    }
}
