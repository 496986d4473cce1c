//! Couriers, whose server has a name that must be looked up, and the places of parcels that are on their way.
//!
//! Does not use the stores, and does not parse HTTP. The server of names is in [`crate::servers`], and takes 50 ms.

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::interval;

use crate::calls::Calls;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::{Shop, checksum};

/// Threads that look up names, as many as libuv has.
const THREADS: usize = 4;
/// How long the server of the couriers takes, and to how many towns they go.
const OFFER: Duration = Duration::from_millis(10);
const TOWNS: u64 = 300;
/// How long it takes to ask where a parcel is, and the pace at which its place is computed again meanwhile.
const ASK: Duration = Duration::from_millis(2);
const PACE: Duration = Duration::from_millis(100);
/// Bytes of a route, from which a place is computed.
const ROUTE: usize = 100 << 10;

/// What the shop keeps of its couriers.
pub struct Couriers {
    /// Names that can be looked up at a time.
    lookups: Semaphore,
    /// The address behind the name of the server.
    address: OnceCell<Ipv4Addr>,
    /// The route of all parcels.
    route: Arc<str>,
}

impl Default for Couriers {
    fn default() -> Self {
        let route = "to the next town; ".chars().cycle().take(ROUTE).collect::<String>();
        Self { lookups: Semaphore::new(THREADS), address: OnceCell::new(), route: route.into() }
    }
}

/// What couriers offer. A healthy shop looks up the name of their server once; the defect does so for each call.
///
/// # Errors
/// The server of names, or that of the couriers fails.
pub async fn offers(shop: &Shop) -> Result<Value, Refusal> {
    let couriers = &shop.couriers;
    let address = if shop.has(Defect::LookupPerCall) {
        couriers.look_up(&shop.calls).await?
    } else {
        *couriers.address.get_or_try_init(|| couriers.look_up(&shop.calls)).await?
    };
    let offers = shop.calls.ask("couriers", fastrand::u64(..TOWNS), OFFER).await?;
    Ok(json!({"from": address, "cents": offers["cents"]}))
}

/// Where a parcel is.
///
/// # Errors
/// The server that is asked fails.
pub async fn place(shop: &Shop, parcel: u64) -> Result<Value, Refusal> {
    let place = shop.couriers.ask(&shop.calls, parcel, shop.has(Defect::PiledTimers)).await?;
    Ok(json!({"parcel": place["of"], "place": "the next town"}))
}

impl Couriers {
    async fn look_up(&self, calls: &Calls) -> Result<Ipv4Addr, Refusal> {
        let _thread = self.lookups.acquire().await.ok();
        calls.look_up().await
    }

    /// Asks for a place. A timer computes it again and again meanwhile, which a healthy shop stops at the end of the
    /// request, and the defect never.
    async fn ask(&self, calls: &Calls, parcel: u64, keeps_timer: bool) -> Result<Value, Refusal> {
        let timer = tokio::spawn(watch(Arc::clone(&self.route)));
        let place = calls.ask("places", parcel, ASK).await;
        if !keeps_timer {
            timer.abort();
        }
        place
    }
}

/// Computes a place at each pace, without end.
async fn watch(route: Arc<str>) {
    let mut pace = interval(PACE);
    // The first tick is at once, and the place of this moment is known.
    pace.tick().await;
    loop {
        pace.tick().await;
        black_box(checksum(&route));
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test]
    async fn timers_outlive_their_requests_only_with_the_defect() {
        let calls = Calls::in_thread();
        for (keeps_timer, timers) in [(false, 0), (true, 5)] {
            let couriers = Couriers::default();
            for _ in 0..5 {
                couriers.ask(&calls, 7, keeps_timer).await.unwrap();
            }
            // Each timer has the route. One that was stopped ends when the runtime has time for it.
            let mut left = usize::MAX;
            for _ in 0..100 {
                left = Arc::strong_count(&couriers.route) - 1;
                if left == timers {
                    break;
                }
                sleep(ASK).await;
            }
            assert_eq!(left, timers, "{keeps_timer}");
        }
    }
}
