//! The defects of baskets, purchases and deliveries.

use std::time::Duration;

use tokio::time::Instant;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn baskets_end_in_deadlocks_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_random) in [("none", false), ("lock-order", true)] {
        let service = Service::with(&stores, defect).await;
        let mut sold = 0;
        // Fewer at a time than the pool has connections: a deadlock takes a second, and who waits too long is refused.
        for _ in 0..20 {
            let baskets = (0..12).map(|_| service.post("/baskets"));
            let baskets = futures_util::future::join_all(baskets).await;
            sold += baskets.iter().filter(|basket| basket.status < 300).count() as i64;
            assert!(is_random || baskets.iter().all(|basket| basket.status < 300), "{baskets:?}");
            if service.logged("deadlock detected") > 0 {
                break;
            }
        }
        assert_eq!(service.logged("deadlock detected") > 0, is_random, "{defect}");
        // A basket is sold whole or not at all, also after a deadlock.
        let taken = service.number("SELECT -sum(items)::bigint FROM shelves").await;
        assert_eq!(taken, sold * 8, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_purchase_is_at_once_among_the_best_sellers_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_refreshed) in [("none", 0), ("refresh-per-order", 1)] {
        let service = Service::with(&stores, defect).await;
        let total = "SELECT sum(total)::bigint FROM best_sellers";
        let before = service.number(total).await;
        assert_eq!(service.post("/purchases").await.status, 201);
        assert_eq!(service.number(total).await - before, is_refreshed, "{defect}");
        assert_eq!(service.get("/bestsellers").await.json().as_array().unwrap().len(), 20);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn connections_stay_with_requests_that_ask_a_carrier_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_held) in [("none", false), ("held-connection", true)] {
        let service = Service::with(&stores, defect).await;
        let mut shortest = Duration::MAX;
        for _ in 0..5 {
            let start = Instant::now();
            let prices =
                futures_util::future::join_all((0..60).map(|_| service.get("/parcels/7/shipping"))).await;
            assert!(prices.iter().all(|price| price.json()["cents"] == 397), "{prices:?}");
            shortest = shortest.min(start.elapsed());
        }
        // 60 times 200 ms on 30 connections.
        assert_eq!(shortest >= Duration::from_millis(400), is_held, "{defect}: {shortest:?}");
    }
}
