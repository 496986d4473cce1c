//! The defects of opinions, sign-ups, deals and ledgers. Other servers take a constant time, so the tests measure no
//! speed of the machine. Those of insurances and exhibits are tested in `src/clients.rs`, and that of the atlas in
//! `src/atlas.rs`.

use std::time::Duration;

use findings::ledgers::ROWS;
use reqwest::Method;
use tokio::time::Instant;

use crate::fixture::Service;
use crate::stores::Stores;

/// Shortest of several times of a request, which a busy machine lengthens least.
async fn shortest(service: &Service<'_>, method: Method, path: &str) -> Duration {
    let mut shortest = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let response = service.send(method.clone(), path).await;
        assert!(response.status < 300, "{response:?}");
        shortest = shortest.min(start.elapsed());
    }
    shortest
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_unknown_product_is_asked_for_again_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_asked) in [("none", false), ("retried-missing", true)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.get("/opinions/7").await.json()["stars"], 4, "{defect}");
        assert!(service.get("/opinions/20").await.json()["stars"].is_null(), "{defect}");
        let known = shortest(&service, Method::GET, "/opinions/7").await;
        let unknown = shortest(&service, Method::GET, "/opinions/20").await;
        assert!(known < Duration::from_millis(300), "{defect}: {known:?}");
        assert_eq!(unknown >= Duration::from_millis(300), is_asked, "{defect}: {unknown:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_sign_up_waits_for_its_mail_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("inline-mail", true)] {
        let service = Service::with(&stores, defect).await;
        let time = shortest(&service, Method::POST, "/signups/7").await;
        assert_eq!(time >= Duration::from_millis(120), waits, "{defect}: {time:?}");
        assert_eq!(service.number("SELECT count(*) FROM signups WHERE member = 7").await, 5, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn deals_wait_for_the_spans_of_others_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("inline-spans", true)] {
        let service = Service::with(&stores, defect).await;
        let mut shortest = Duration::MAX;
        for _ in 0..5 {
            let start = Instant::now();
            let deals = futures_util::future::join_all((0..16).map(|_| service.get("/deals"))).await;
            assert!(deals.iter().all(|deal| deal.json()["deal"] == "two cups for one"), "{deals:?}");
            shortest = shortest.min(start.elapsed());
        }
        // 16 times four spans of 2 ms.
        assert_eq!(shortest >= Duration::from_millis(128), waits, "{defect}: {shortest:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_ledger_is_the_same_however_it_is_written() {
    let stores = Stores::seeded().await;
    let (healthy, defect) = (Service::healthy(&stores).await, Service::with(&stores, "flush-per-row").await);
    let ledger = healthy.get("/ledgers/7").await;
    assert_eq!((ledger.status, ledger.body.lines().count()), (200, ROWS));
    assert_eq!(defect.get("/ledgers/7").await.body, ledger.body);
    // Routes whose defects are tested elsewhere.
    assert_eq!(healthy.get("/insurances/7").await.json()["cents"], 120);
    assert_eq!(healthy.get("/exhibits/7").await.json()["cents"], 107);
    assert_eq!(healthy.get("/atlas/7").await.json()["text"], "place 7 by the sea");
    assert_eq!(healthy.get("/atlas").await.json()["sent"], 600);
}
