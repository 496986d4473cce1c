//! What the shop asks about parts of kits and about stations, and labels that are printed elsewhere.
//!
//! Does not parse HTTP: [`crate::calls`] asks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until};

use crate::calls::Calls;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Parts of a kit, and how long the server that knows them takes for one, and for all at once.
pub const PARTS: u64 = 10;
const ONE: Duration = Duration::from_millis(4);
const ALL: Duration = Duration::from_millis(5);

/// How long the server that knows the stations takes.
const STATION: Duration = Duration::from_millis(20);
/// The pace of calls that a client of the defect allows itself, and calls that it can save up. The server has no limit.
const PACE: Duration = Duration::from_millis(25);
const SAVED: u32 = 10;

/// How long the printer takes for a label, how long the shop keeps what it says, in seconds, and the pause between two
/// looks of the defect, which gives up after some seconds.
const PRINTER: Duration = Duration::from_millis(8);
const KEPT_S: u64 = 60;
const LOOK: Duration = Duration::from_millis(100);
const LOOKS: usize = 100;

/// What the shop keeps for its stations.
#[derive(Default)]
pub struct Stations {
    /// When the next call would be due if the client saved up nothing.
    next: Mutex<Option<Instant>>,
}

impl Stations {
    /// When a call can begin that keeps to the pace.
    fn reserve(&self, now: Instant) -> Instant {
        let earliest = now.checked_sub(PACE * SAVED).unwrap_or(now);
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let due = next.map_or(earliest, |due| due.max(earliest));
        *next = Some(due + PACE);
        due.max(now)
    }
}

/// A kit with all its parts: by one call, or one call per part with the defect.
///
/// # Errors
/// The server fails.
pub async fn kit(shop: &Shop, kit: u64) -> Result<Value, Refusal> {
    let known = known(&shop.calls, kit, shop.has(Defect::CallPerItem)).await?;
    Ok(json!({"kit": kit, "known": known}))
}

/// How many parts of a kit the server knows.
async fn known(calls: &Calls, kit: u64, is_single: bool) -> Result<u64, Refusal> {
    let parts: Vec<u64> = (0..PARTS).map(|place| kit * PARTS + place).collect();
    if !is_single {
        calls.tell("parts", kit, ALL, &parts.into()).await?;
        return Ok(PARTS);
    }
    for part in parts {
        calls.ask("parts", part, ONE).await?;
    }
    Ok(PARTS)
}

/// What is known of a station. With the defect, the client makes 40 calls per second at most, as it does unless it is
/// set up otherwise.
///
/// # Errors
/// The server fails.
pub async fn station(shop: &Shop, number: u64) -> Result<Value, Refusal> {
    if shop.has(Defect::ClientThrottle) {
        sleep_until(shop.stations.reserve(Instant::now())).await;
    }
    let station = shop.calls.ask("stations", number, STATION).await?;
    Ok(json!({"station": number, "says": station["says"]}))
}

/// Prints a label, which takes a job of its own. A healthy request is woken by its end; the one of the defect looks
/// for the result again and again.
///
/// # Errors
/// Redis or the printer fails.
pub async fn print(shop: &Arc<Shop>, number: u64) -> Result<(), Refusal> {
    let key = format!("label:{number}:{:016x}", fastrand::u64(..));
    let (ended, is_ended) = oneshot::channel();
    let (job, result) = (Arc::clone(shop), key.clone());
    tokio::spawn(async move {
        let printed = print_now(&job, number, &result).await;
        // A request that only looks does not wait for this.
        let _ = ended.send(printed);
    });
    if !shop.has(Defect::PolledResult) {
        let printed = is_ended.await;
        return printed.unwrap_or_else(|_| Err(Refusal::Server("the printer has gone away".to_owned())));
    }
    for _ in 0..LOOKS {
        if shop.cache.get(&key).await?.is_some() {
            return Ok(());
        }
        sleep(LOOK).await;
    }
    Err(Refusal::Busy)
}

async fn print_now(shop: &Shop, number: u64, key: &str) -> Result<(), Refusal> {
    let said = shop.calls.ask("labels", number, PRINTER).await?;
    let mut keep = redis::cmd("SET");
    keep.arg(key).arg(said.to_string()).arg("EX").arg(KEPT_S);
    shop.cache.send(&keep).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn parts_are_asked_for_one_by_one_only_with_the_defect() {
        let calls = Calls::in_thread();
        for (is_single, waits) in [(false, false), (true, true)] {
            let mut shortest = Duration::MAX;
            for _ in 0..5 {
                let start = Instant::now();
                assert_eq!(known(&calls, 7, is_single).await.unwrap(), PARTS);
                shortest = shortest.min(start.elapsed());
            }
            assert_eq!(shortest >= ONE * 10, waits, "{is_single}: {shortest:?}");
        }
    }

    #[test]
    fn calls_keep_to_a_pace_after_those_that_were_saved_up() {
        let (stations, now) = (Stations::default(), Instant::now());
        let times: Vec<Duration> = (0..30).map(|_| stations.reserve(now).duration_since(now)).collect();
        // One that is due and those that were saved up begin at once; each later one has its own place.
        let later: Vec<Duration> = (1..20).map(|place| PACE * place).collect();
        assert!(times[..11].iter().all(Duration::is_zero), "{times:?}");
        assert_eq!(times[11..], later);
        // After a long pause there are as many again, and no more.
        let much_later = now + PACE * 1000;
        let at_once = (0..30).filter(|_| stations.reserve(much_later) == much_later).count();
        assert_eq!(at_once, 11);
    }
}
