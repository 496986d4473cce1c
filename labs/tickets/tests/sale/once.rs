//! A buyer who asks again with the same key buys once.

use crate::world::{Office, Stores, Tally, body, wait};

const ROUTES: [&str; 4] =
    ["simple-redis-decrement", "complex-redis-decrement", "pg-reserve-ticket", "pg-decrement-ticket"];

/// How many of ticket a the store behind a route has sold, of 100.
async fn sold(stores: &Stores, route: &str) -> i64 {
    match route {
        "pg-reserve-ticket" => stores.number("SELECT count(*) FROM ticket_units WHERE reserved").await,
        "pg-decrement-ticket" => {
            100 - stores.number("SELECT stock::bigint FROM tickets WHERE id = 'a'").await
        }
        _ => 100 - stores.counter("a").await,
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn twenty_requests_with_one_key_at_a_time_sell_once() {
    let stores = Stores::seeded(100, 100).await;
    let office = Office::open(&stores, &["--pool-max", "8"]);
    each_route_sells_once(&stores, &office, "plain").await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_key_sells_once_also_when_orders_are_taken_together() {
    let stores = Stores::seeded(100, 100).await;
    let batch = ["--pool-max", "8", "--redis-call", "batch", "--unit-call", "batch"];
    for (name, record) in [("batch", "none"), ("grouped", "grouped"), ("each", "each")] {
        let office = Office::open(&stores, &[&batch[..], &["--record", record]].concat());
        each_route_sells_once(&stores, &office, name).await;
    }
}

async fn each_route_sells_once(stores: &Stores, office: &Office, name: &str) {
    for route in ROUTES {
        let before = sold(stores, route).await;
        let key = format!("{name}-{}", &route[..9]);
        let tally = office.rush_once(route, &key, vec![body(&[("a", 3)]); 20]).await;
        assert_eq!(tally, Tally { sold: 20, refused: 0, failed: 0 }, "each is told the same: {route}");
        assert_eq!(sold(stores, route).await - before, 3, "{route}");
        let other = office.order_once(route, &key, &[("a", 2)]).await;
        assert_eq!((other.status, other.code().as_str()), (422, "key_reused"), "{route}");
        assert_eq!(office.order_once(route, &format!("{key}2"), &[("a", 3)]).await.status, 200);
        assert_eq!(sold(stores, route).await - before, 6, "another key is another order: {route}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_refused_order_may_be_tried_again_with_its_key() {
    let batch = ["--redis-call", "batch", "--unit-call", "batch", "--record", "grouped"];
    for flags in [&batch[..], &[]] {
        let stores = Stores::seeded(1, 1).await;
        let office = Office::open(&stores, flags);
        for route in &ROUTES[1..] {
            assert_eq!(office.order_once(route, route, &[("a", 2)]).await.status, 409, "{route} {flags:?}");
            assert_eq!(office.order_once(route, route, &[("a", 1)]).await.status, 200, "{route} {flags:?}");
        }
    }
    let stores = Stores::seeded(1, 1).await;
    let office = Office::open(&stores, &[]);
    for key in ["", " ", "a b", &"k".repeat(201)] {
        let answer = office.order_once("pg-reserve-ticket", key, &[("a", 1)]).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "bad_key"), "{key:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_key_is_forgotten_when_it_is_too_old() {
    let stores = Stores::seeded(100, 100).await;
    let office = Office::open(&stores, &["--key-age", "1"]);
    for route in &ROUTES[1..3] {
        let before = sold(&stores, route).await;
        wait("the key is forgotten", async || {
            assert_eq!(office.order_once(route, "old", &[("a", 1)]).await.status, 200);
            sold(&stores, route).await - before >= 2
        })
        .await;
    }
}
