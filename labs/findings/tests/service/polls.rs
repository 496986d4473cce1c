//! The defects of polls, boards of notices and currencies.

use findings::polls::{NOTICES, TOP};

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_votes_of_all_proposals_are_counted_for_the_best_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let defect = Service::with(&stores, "order-by-votes").await;
    for poll in 0..6 {
        let path = format!("/polls/{poll}");
        let best = healthy.get(&path).await;
        assert_eq!(best.json().as_array().unwrap().len(), TOP, "{poll}");
        assert_eq!(defect.get(&path).await.body, best.body, "{poll}");
    }
    assert_eq!((healthy.logged("FROM ballots"), defect.logged("FROM ballots")), (0, 6));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn all_notices_are_counted_for_a_cached_board_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let mut bodies = Vec::new();
    for (defect, counted) in [("none", 0), ("counted-cache-key", 3)] {
        let service = Service::with(&stores, defect).await;
        for _ in 0..3 {
            let board = service.get("/tenants/3/board").await;
            assert_eq!(board.json().as_array().unwrap().len(), NOTICES, "{defect}");
            bodies.push(board.body);
        }
        assert_eq!(service.logged("count(*), max(id) FROM notices"), counted, "{defect}");
        // It is read from the table once, whatever its key is.
        assert_eq!(service.logged("FROM notices WHERE tenant = $1 ORDER BY id DESC"), 1, "{defect}");
    }
    assert!(bodies.iter().all(|body| body == &bodies[0]));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_currency_is_cached_for_a_minute_and_for_its_thousandth_with_the_defect() {
    let stores = Stores::seeded().await;
    let mut bodies = Vec::new();
    for (defect, is_short) in [("none", false), ("ttl-in-ms", true)] {
        let service = Service::with(&stores, defect).await;
        let currency = service.get("/currencies/7").await;
        assert_eq!(currency.json()["says"], "fine", "{defect}");
        // Less than zero if it is gone.
        let left: i64 = stores.redis.command(&["PTTL", "currency:7"]).await;
        assert_eq!(left <= 60, is_short, "{defect}: {left}");
        bodies.push(currency.body);
    }
    assert_eq!(bodies[0], bodies[1]);
}
