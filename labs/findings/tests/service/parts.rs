//! The defects of kits, stations, labels and yearbooks. Other servers take a constant time, so the tests measure no speed
//! of the machine. Those of books, carts and reviews are tested in `src/loans.rs`, `src/carts.rs` and
//! `src/yearbooks.rs`.

use std::time::Duration;

use findings::loans::PAGE;
use findings::parts::PARTS;
use findings::yearbooks::REVIEWS;
use futures_util::future::join_all;
use reqwest::Method;
use testbed::wait;
use tokio::time::Instant;

use crate::fixture::Service;
use crate::stores::Stores;

/// Five times of this many requests at once, the shortest first, which a busy machine lengthens least.
async fn times(service: &Service<'_>, method: Method, path: &str, count: usize) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        for response in join_all((0..count).map(|_| service.send(method.clone(), path))).await {
            assert!(response.status < 300, "{response:?}");
        }
        times.push(start.elapsed());
    }
    times.sort_unstable();
    times
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn each_part_of_a_kit_is_a_call_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("call-per-item", true)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.get("/kits/7").await.json()["known"].as_u64(), Some(PARTS), "{defect}");
        let time = times(&service, Method::GET, "/kits/7", 1).await[0];
        // Ten times 4 ms.
        assert_eq!(time >= Duration::from_millis(40), waits, "{defect}: {time:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn calls_about_stations_wait_for_their_own_limit_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("client-throttle", true)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.get("/stations/7").await.json()["says"], "fine", "{defect}");
        let time = times(&service, Method::GET, "/stations/7", 40).await[0];
        // 29 of 40 calls are more than were due and saved up: 25 ms each.
        assert_eq!(time >= Duration::from_millis(725), waits, "{defect}: {time:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_label_is_there_only_at_the_next_look_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("polled-result", true)] {
        let service = Service::with(&stores, defect).await;
        stores.redis.command::<()>(&["CONFIG", "RESETSTAT"]).await;
        // The one in the middle: where the first look is delayed by as long as a label takes, it finds one.
        let time = times(&service, Method::POST, "/labels/7", 1).await[2];
        assert_eq!(time >= Duration::from_millis(100), waits, "{defect}: {time:?}");
        assert_eq!(stores.redis_calls("get").await >= 5, waits, "{defect}");
        let kept: Vec<String> = stores.redis.command(&["KEYS", "label:7:*"]).await;
        assert_eq!(kept.len(), 5, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_yearbook_has_a_thread_of_its_own_only_without_the_defect() {
    let stores = Stores::seeded().await;
    let mut yearbooks = Vec::new();
    for (defect, before, after) in [("none", 2, 3), ("export-on-loop", 0, 0)] {
        let service = Service::with(&stores, defect).await;
        let name = "tokio-rt-worker";
        assert_eq!(service.threads(name), before, "{defect}");
        assert_eq!(service.get("/yearbooks/2025").await.status, 404, "{defect}");
        assert_eq!(service.post("/yearbooks/2025").await.status, 202, "{defect}");
        wait("there is a yearbook", async || service.get("/yearbooks/2025").await.status == 200).await;
        yearbooks.push(service.get("/yearbooks/2025").await.body);
        assert_eq!(service.threads(name), after, "{defect}");
        assert_eq!(service.get("/yearbooks/pages/3").await.json()["page"], 3, "{defect}");
    }
    assert_eq!(yearbooks[0], yearbooks[1]);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_healthy_shop_lends_books_keeps_carts_and_has_reviews() {
    let stores = Stores::seeded().await;
    let service = Service::healthy(&stores).await;
    assert_eq!(service.get("/loans/7").await.json().as_array().unwrap().len(), PAGE);
    assert_eq!(service.post("/returns/7").await.status, 201);
    assert_eq!(service.post("/returns").await.status, 202);
    assert_eq!(service.send(Method::PUT, "/carts/7").await.json()["items"][3], 2_000_008);
    assert_eq!(service.send(Method::PUT, "/carts/1000000").await.status, 404);
    assert_eq!(service.post("/carts").await.status, 202);
    let reviews = service.get("/reviews/7").await.json();
    assert_eq!(reviews["reviews"].as_array().unwrap().len() as u64, REVIEWS);
}
