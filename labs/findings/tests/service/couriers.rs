//! The defect of couriers. A lookup takes a constant time, so the test measures no speed of the machine. That of the timers
//! is tested in `src/couriers.rs`.

use std::time::Duration;

use tokio::time::Instant;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn calls_wait_for_a_thread_that_looks_up_a_name_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("lookup-per-call", true)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.get("/places/7").await.json()["parcel"], 7);
        let mut shortest = Duration::MAX;
        for _ in 0..5 {
            let start = Instant::now();
            let offers = futures_util::future::join_all((0..16).map(|_| service.get("/couriers"))).await;
            assert!(offers.iter().all(|offer| offer.json()["cents"] == 590), "{offers:?}");
            shortest = shortest.min(start.elapsed());
        }
        // 16 times 50 ms on four threads.
        assert_eq!(shortest >= Duration::from_millis(200), waits, "{defect}: {shortest:?}");
    }
}
