//! What the shop asks of vendors: who they are, samples, appraisals and checks.
//!
//! Does not parse HTTP: [`crate::calls`] asks.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, yield_now};

use crate::calls::Calls;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// What vendors were called once. The server sends who asks for sellers to the dealers, and from there to the vendors.
const OLD_NAME: &str = "sellers";
const NAME: &str = "vendors";
/// How long the server takes for a vendor, and for saying where they are now.
const VENDOR: Duration = Duration::from_millis(8);

/// Most calls of a kind at a time.
const PLACES: usize = 8;
/// Appraisals that are asked for together, and how long the server takes for one, and for a sample.
const APPRAISALS: u64 = 16;
const APPRAISAL: Duration = Duration::from_millis(300);
const SAMPLE: Duration = Duration::from_millis(5);

/// How long the server of the checks takes.
const CHECK: Duration = Duration::from_millis(20);

/// The places of calls that are under way.
pub struct Places {
    samples: Semaphore,
    appraisals: Semaphore,
}

impl Default for Places {
    fn default() -> Self {
        Self { samples: Semaphore::new(PLACES), appraisals: Semaphore::new(PLACES) }
    }
}

impl Places {
    /// The places of appraisals: their own ones, or those of the samples.
    const fn of_appraisals(&self, is_shared: bool) -> &Semaphore {
        if is_shared { &self.samples } else { &self.appraisals }
    }
}

/// A vendor. The defect asks for it by the name that vendors had once, and follows the server to the new one.
///
/// # Errors
/// The server fails.
pub async fn vendor(shop: &Shop, number: u64) -> Result<Value, Refusal> {
    let name = if shop.has(Defect::RedirectedCall) { OLD_NAME } else { NAME };
    let vendor = shop.calls.follow(name, number, VENDOR).await?;
    Ok(json!({"vendor": number, "says": vendor["says"]}))
}

/// A sample, which the server has at once. Waits for a place.
///
/// # Errors
/// The server fails.
pub async fn sample(shop: &Shop, number: u64) -> Result<Value, Refusal> {
    let sample = ask(&shop.places.samples, &shop.calls, ("samples", number), SAMPLE).await?;
    Ok(json!({"sample": number, "says": sample["says"]}))
}

/// Begins to ask for appraisals, which take long. No request waits for them, unless it waits for a place: the defect
/// has the same places for appraisals and samples.
pub fn appraise(shop: &Arc<Shop>) {
    for number in 0..APPRAISALS {
        let shop = Arc::clone(shop);
        tokio::spawn(async move {
            let places = shop.places.of_appraisals(shop.has(Defect::SharedPlaces));
            // What fails is left to the next time.
            let _ = ask(places, &shop.calls, ("appraisals", number), APPRAISAL).await;
        });
    }
}

async fn ask(
    places: &Semaphore,
    calls: &Calls,
    (kind, number): (&str, u64),
    takes: Duration,
) -> Result<Value, Refusal> {
    let _place = places.acquire().await.map_err(|_| Refusal::Busy)?;
    calls.ask(kind, number, takes).await
}

/// A check, by a task of its own. The defect looks without a pause whether the task has ended.
///
/// # Errors
/// The server fails.
pub async fn check(shop: &Shop, number: u64) -> Result<Value, Refusal> {
    let calls = Arc::clone(&shop.calls);
    let asking = tokio::spawn(async move { calls.ask("checks", number, CHECK).await });
    let (check, _) = wait_for(asking, shop.has(Defect::BusyWait)).await?;
    Ok(json!({"check": number, "says": check["says"]}))
}

/// The result of a task, and how often it was looked for in vain.
async fn wait_for(
    asking: JoinHandle<Result<Value, Refusal>>,
    is_busy: bool,
) -> Result<(Value, u64), Refusal> {
    let mut looks = 0;
    while is_busy && !asking.is_finished() {
        looks += 1;
        yield_now().await;
    }
    let answer = asking.await.map_err(|error| Refusal::Server(error.to_string()))??;
    Ok((answer, looks))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn an_old_name_of_a_vendor_costs_two_calls_more_and_has_the_same_answer() {
        let calls = Calls::in_thread();
        let mut answers = Vec::new();
        for (name, count, is_shorter) in [(NAME, 1, true), (OLD_NAME, 3, false)] {
            let mut shortest = Duration::MAX;
            for _ in 0..5 {
                let start = Instant::now();
                answers.push(calls.follow(name, 7, VENDOR).await.unwrap());
                shortest = shortest.min(start.elapsed());
            }
            assert!(shortest >= VENDOR * count, "{name}: {shortest:?}");
            assert_eq!(shortest < VENDOR * 3, is_shorter, "{name}: {shortest:?}");
        }
        assert!(answers.iter().all(|answer| answer == &answers[0] && answer["says"] == "fine"));
    }

    #[tokio::test]
    async fn a_sample_waits_for_appraisals_only_with_the_defect() {
        let calls = Calls::in_thread();
        for (is_shared, waits) in [(false, false), (true, true)] {
            let (places, ended) = (Places::default(), AtomicUsize::new(0));
            let appraisals = (0..APPRAISALS).map(|number| {
                let (places, calls, ended) = (&places, &calls, &ended);
                async move {
                    let own = places.of_appraisals(is_shared);
                    ask(own, calls, ("appraisals", number), APPRAISAL).await.unwrap();
                    ended.fetch_add(1, Ordering::Relaxed);
                }
            });
            let sampling = async {
                ask(&places.samples, &calls, ("samples", 7), SAMPLE).await.unwrap();
                ended.load(Ordering::Relaxed)
            };
            // They begin in this order.
            let (_, before) = tokio::join!(join_all(appraisals), sampling);
            assert_eq!(before > 0, waits, "{is_shared}: {before}");
        }
    }

    #[tokio::test]
    async fn a_check_is_looked_for_again_and_again_only_with_the_defect() {
        let calls = Calls::in_thread();
        for is_busy in [false, true] {
            let calls = Arc::clone(&calls);
            let asking = tokio::spawn(async move { calls.ask("checks", 7, CHECK).await });
            let (check, looks) = wait_for(asking, is_busy).await.unwrap();
            assert_eq!(check["says"], "fine");
            assert_eq!(looks > 0, is_busy, "{looks}");
        }
    }
}
