//! What the shop asks of partners, and pauses of all requests. A partner is a wait: it takes no CPU time.
//!
//! Does not parse HTTP, and connects to nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::defect::Defect;
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
pub async fn tariffs(shop: &Shop) -> Value {
    let _place = if shop.has(Defect::TwoPerHost) { shop.partners.calls.acquire().await.ok() } else { None };
    sleep(TARIFFS).await;
    json!({"letter": 95, "parcel": 549})
}

/// The ratings of an article, from the next replica. After a timeout, another one is asked; with the defect, the next
/// call finds the dead one again.
pub async fn ratings(shop: &Shop) -> Value {
    let Partners { next, is_down, .. } = &shop.partners;
    let is_first = next.fetch_add(1, Ordering::Relaxed) % REPLICAS == 0;
    if is_first && !is_down.load(Ordering::Relaxed) {
        is_down.store(!shop.has(Defect::DeadReplica), Ordering::Relaxed);
        sleep(TIMEOUT).await;
    }
    sleep(RATING).await;
    json!({"stars": 4})
}

/// The rates of a partner. With the defect, the thread that asks for them does nothing else until they are there.
pub async fn rates(shop: &Shop) -> Value {
    if shop.has(Defect::BlockedThread) {
        thread::sleep(RATES);
    } else {
        sleep(RATES).await;
    }
    json!({"eur": 1, "usd": 1.1})
}

/// What all partners say of an article: at the same time, or one after another with the defect.
pub async fn overview(shop: &Shop) -> Value {
    if !shop.has(Defect::SerialCalls) {
        return join_all(PARTNERS.map(ask)).await.into();
    }
    let mut parts = Vec::new();
    for partner in PARTNERS {
        parts.push(ask(partner).await);
    }
    parts.into()
}

async fn ask(partner: &'static str) -> Value {
    sleep(EACH).await;
    json!({"partner": partner, "says": "fine"})
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
