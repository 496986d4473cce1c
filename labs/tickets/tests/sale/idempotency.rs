//! Repeating a request with the same key sells once.

use crate::fixture::{Counts, Service, Stores, body};
use testbed::wait;

const ROUTES: [&str; 4] =
    ["simple-redis-decrement", "complex-redis-decrement", "pg-reserve-ticket", "pg-decrement-ticket"];

/// Sales of ticket `a` in the store of a route, of 100.
async fn sold(stores: &Stores, route: &str) -> i64 {
    match route {
        "pg-reserve-ticket" => {
            stores.cluster.number("SELECT count(*) FROM ticket_units WHERE reserved").await
        }
        "pg-decrement-ticket" => {
            100 - stores.cluster.number("SELECT stock::bigint FROM tickets WHERE id = 'a'").await
        }
        _ => 100 - stores.counter("a").await,
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn twenty_concurrent_requests_with_one_key_sell_once() {
    let stores = Stores::seeded(100, 100).await;
    let service = Service::open(&stores, &["--pool-max", "8"]);
    each_route_sells_once(&stores, &service, "plain").await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_key_sells_once_when_orders_are_batched() {
    let stores = Stores::seeded(100, 100).await;
    let batch = ["--pool-max", "8", "--redis-call", "batch", "--unit-call", "batch"];
    for (name, record) in [("batch", "none"), ("grouped", "grouped"), ("each", "each")] {
        let service = Service::open(&stores, &[&batch[..], &["--record", record]].concat());
        each_route_sells_once(&stores, &service, name).await;
    }
}

async fn each_route_sells_once(stores: &Stores, service: &Service, name: &str) {
    for route in ROUTES {
        let before = sold(stores, route).await;
        let key = format!("{name}-{}", &route[..9]);
        let counts = service.send_concurrently_with_key(route, &key, vec![body(&[("a", 3)]); 20]).await;
        assert_eq!(counts, Counts { sold: 20, refused: 0, failed: 0 }, "each is told the same: {route}");
        assert_eq!(sold(stores, route).await - before, 3, "{route}");
        let other = service.order_with_key(route, &key, &[("a", 2)]).await;
        assert_eq!((other.status, other.code().as_str()), (422, "key_reused"), "{route}");
        assert_eq!(service.order_with_key(route, &format!("{key}2"), &[("a", 3)]).await.status, 200);
        assert_eq!(sold(stores, route).await - before, 6, "another key is another order: {route}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_refused_order_can_be_repeated_with_its_key() {
    let batch = ["--redis-call", "batch", "--unit-call", "batch", "--record", "grouped"];
    for flags in [&batch[..], &[]] {
        let stores = Stores::seeded(1, 1).await;
        let service = Service::open(&stores, flags);
        for route in &ROUTES[1..] {
            assert_eq!(
                service.order_with_key(route, route, &[("a", 2)]).await.status,
                409,
                "{route} {flags:?}"
            );
            assert_eq!(
                service.order_with_key(route, route, &[("a", 1)]).await.status,
                200,
                "{route} {flags:?}"
            );
        }
    }
    let stores = Stores::seeded(1, 1).await;
    let service = Service::open(&stores, &[]);
    for key in ["", " ", "a b", &"k".repeat(201)] {
        let response = service.order_with_key("pg-reserve-ticket", key, &[("a", 1)]).await;
        assert_eq!((response.status, response.code().as_str()), (400, "bad_key"), "{key:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_expired_key_is_deleted() {
    let stores = Stores::seeded(100, 100).await;
    let service = Service::open(&stores, &["--key-age", "1"]);
    for route in &ROUTES[1..3] {
        let before = sold(&stores, route).await;
        wait("the key is forgotten", async || {
            let status = service.order_with_key(route, "old", &[("a", 1)]).await.status;
            // A key that grows too old between two statements of an order is refused, to be sent again.
            assert!(status == 200 || status == 503, "{status}");
            sold(&stores, route).await - before >= 2
        })
        .await;
    }
}
