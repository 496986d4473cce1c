//! What the shop asks of other servers by clients of its own: opinions, insurances and exhibits.
//!
//! Does not use the stores, and does not parse HTTP.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell};
use tokio::time::{Instant, sleep};

use crate::calls::{Calls, HttpClient};
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::{Shop, checksum};

/// How long the server of the opinions takes. It does not know every tenth product.
const OPINION: Duration = Duration::from_millis(5);
/// The pauses of a client before it asks again.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(200)];

/// How long the insurer takes.
const INSURER: Duration = Duration::from_millis(3);
/// Root certificates of a client, characters of each, and rounds of what a library of TLS does with each: it is decoded
/// and parsed, and its key is looked at.
const ROOTS: usize = 140;
const ROOT: usize = 1500;
const ROUNDS: usize = 50;

/// How long the museum takes to describe an exhibit, in milliseconds, and how long its description is valid.
const MUSEUM_MS: RangeInclusive<u64> = 20..=40;
const VALID: Duration = Duration::from_secs(2);

/// What the shop keeps for its clients.
pub struct Clients {
    /// The root certificates as they are in their file.
    roots: Vec<String>,
    /// The client of the insurer.
    insurer: OnceCell<Insurer>,
    /// Clients that were made.
    made: AtomicUsize,
    /// Prices of exhibits, and until when they are valid.
    exhibits: Mutex<HashMap<u32, (Instant, u64)>>,
}

/// The client of the insurer, which has connections of its own.
#[derive(Clone)]
struct Insurer {
    http: HttpClient,
    /// What was read of its root certificates.
    sum: u64,
}

impl Default for Clients {
    fn default() -> Self {
        let mut random = fastrand::Rng::with_seed(7);
        let mut root = || (0..ROOT).map(|_| random.alphanumeric()).collect::<String>();
        Self {
            roots: (0..ROOTS).map(|_| root()).collect(),
            insurer: OnceCell::new(),
            made: AtomicUsize::new(0),
            exhibits: Mutex::default(),
        }
    }
}

/// Opinions about a product. A client asks again after an error of the server; with the defect, also if the server does
/// not know the product, which it does not know at the next time either.
///
/// # Errors
/// The server fails.
pub async fn opinions(shop: &Shop, product: u32) -> Result<Value, Refusal> {
    let mut stars = ask_opinions(&shop.calls, product).await?;
    if shop.has(Defect::RetriedMissing) {
        for pause in PAUSES {
            if stars.is_some() {
                break;
            }
            sleep(pause).await;
            stars = ask_opinions(&shop.calls, product).await?;
        }
    }
    Ok(json!({"product": product, "stars": stars}))
}

/// Stars of a product; none if there is no such product (404).
async fn ask_opinions(calls: &Calls, product: u32) -> Result<Option<u64>, Refusal> {
    match calls.ask("opinions", product.into(), OPINION).await {
        Err(Refusal::Missing) => Ok(None),
        opinions => Ok(opinions?["stars"].as_u64()),
    }
}

/// The price of an insurance. A healthy shop has one client for the insurer; the defect makes one for each call.
///
/// # Errors
/// The insurer fails.
pub async fn insurance(shop: &Shop, product: u32) -> Result<Value, Refusal> {
    let client = shop.clients.insurer(shop.has(Defect::ClientPerCall), &shop.calls).await;
    let insurance = client.http.ask("insurances", product.into(), INSURER).await?;
    Ok(json!({"product": product, "cents": insurance["cents"], "by": format!("{:016x}", client.sum)}))
}

/// An exhibit with its price, from the cache if it is there.
///
/// # Errors
/// The museum fails.
pub async fn exhibit(shop: &Shop, number: u32) -> Result<Value, Refusal> {
    let cents = shop.clients.price(number, shop.has(Defect::LockAcrossCall), &shop.calls).await?;
    Ok(json!({"exhibit": number, "cents": cents}))
}

impl Clients {
    async fn insurer(&self, is_new: bool, calls: &Calls) -> Insurer {
        if is_new {
            return self.make(calls);
        }
        self.insurer.get_or_init(|| async { self.make(calls) }).await.clone()
    }

    /// Makes a client, for which all root certificates are read.
    fn make(&self, calls: &Calls) -> Insurer {
        self.made.fetch_add(1, Ordering::Relaxed);
        Insurer { http: calls.new_client(), sum: self.roots.iter().fold(0, |sum, root| sum ^ read(root)) }
    }

    /// The price of an exhibit. If it is not in the cache, the museum is asked; with the defect, the cache stays locked
    /// until it has answered, so that all other exhibits wait.
    async fn price(&self, number: u32, keeps_lock: bool, calls: &Calls) -> Result<u64, Refusal> {
        let cached = self.exhibits.lock().await;
        if let Some((until, cents)) = cached.get(&number)
            && *until > Instant::now()
        {
            return Ok(*cents);
        }
        // Without the defect, the lock is given back here.
        let kept = keeps_lock.then_some(cached);
        let cents = ask_museum(calls, number).await?;
        let mut cached = match kept {
            Some(kept) => kept,
            None => self.exhibits.lock().await,
        };
        cached.insert(number, (Instant::now() + VALID, cents));
        Ok(cents)
    }
}

fn read(root: &str) -> u64 {
    let round =
        |sum: u64| root.bytes().fold(sum, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (0..ROUNDS).fold(checksum(root), |sum, _| round(sum))
}

async fn ask_museum(calls: &Calls, number: u32) -> Result<u64, Refusal> {
    let takes = Duration::from_millis(fastrand::u64(MUSEUM_MS));
    let exhibit = calls.ask("exhibits", number.into(), takes).await?;
    exhibit["cents"].as_u64().ok_or_else(|| Refusal::Server("an exhibit without a price".to_owned()))
}

#[cfg(test)]
mod tests {
    use futures_util::future::try_join_all;

    use super::*;

    #[tokio::test]
    async fn each_call_makes_a_client_only_with_the_defect() {
        let calls = Calls::in_thread();
        for (is_new, made) in [(false, 1), (true, 3)] {
            let clients = Clients::default();
            let mut sums = Vec::new();
            for _ in 0..3 {
                sums.push(clients.insurer(is_new, &calls).await.sum);
            }
            assert_eq!(clients.made.load(Ordering::Relaxed), made, "{is_new}");
            // The same certificates make the same client.
            assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
        }
    }

    #[tokio::test]
    async fn exhibits_wait_for_the_museum_one_after_another_only_with_the_defect() {
        let calls = Calls::in_thread();
        for (keeps_lock, waits) in [(false, false), (true, true)] {
            let mut shortest = Duration::MAX;
            for _ in 0..3 {
                let (clients, start) = (Clients::default(), Instant::now());
                let prices = (0..8).map(|number| clients.price(number, keeps_lock, &calls));
                let prices = try_join_all(prices).await.unwrap();
                assert_eq!(prices, [100, 101, 102, 103, 104, 105, 106, 107]);
                shortest = shortest.min(start.elapsed());
                // What was asked is in the cache.
                assert_eq!(clients.exhibits.lock().await.len(), 8);
            }
            // Eight times 20 ms.
            assert_eq!(shortest >= Duration::from_millis(160), waits, "{keeps_lock}: {shortest:?}");
        }
    }

    #[tokio::test]
    async fn every_tenth_product_is_unknown() {
        let calls = Calls::in_thread();
        assert_eq!(ask_opinions(&calls, 20).await.unwrap(), None);
        assert_eq!(ask_opinions(&calls, 21).await.unwrap(), Some(4));
    }
}
