//! Responses to orders, and the state of the stores afterwards.

use crate::fixture::{Counts, Service, Stores, body};

const RESERVED: &str = "SELECT count(*) FROM ticket_units WHERE reserved";

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_order_is_taken_from_the_store_it_was_sent_to() {
    let stores = Stores::seeded(100, 50).await;
    let service = Service::open(&stores, &[]);
    for route in
        ["simple-redis-decrement", "complex-redis-decrement", "pg-reserve-ticket", "pg-decrement-ticket"]
    {
        let response = service.order(route, &[("a", 2), ("b", 3)]).await;
        assert_eq!((response.status, response.body.as_str()), (200, "Success"), "{route}");
    }
    assert_eq!((stores.counter("a").await, stores.counter("b").await), (96, 94));
    assert_eq!(stores.cluster.number(&format!("{RESERVED} AND ticket_id = 'a'")).await, 2);
    assert_eq!(stores.cluster.number(&format!("{RESERVED} AND ticket_id = 'b'")).await, 3);
    assert_eq!(stores.cluster.number(RESERVED).await, 5);
    assert_eq!(stores.cluster.number("SELECT stock::bigint FROM tickets WHERE id = 'b'").await, 97);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn redis_never_oversells() {
    for flags in [&[][..], &["--redis-call", "batch"], &["--record", "grouped", "--redis-call", "batch"]] {
        let stores = Stores::seeded(101, 0).await;
        let service = Service::open(&stores, flags);
        // A third of the orders includes a second ticket, which alone can cause a refusal.
        let orders: Vec<String> = (0..200)
            .map(|i| if i % 3 == 0 { body(&[("a", 2), ("b", 3)]) } else { body(&[("a", 2)]) })
            .collect();
        let counts = service.send_concurrently("complex-redis-decrement", orders).await;
        assert_eq!((counts.sold, counts.refused, counts.failed), (50, 150, 0), "{flags:?}");
        assert_eq!(stores.counter("a").await, 1, "{flags:?}");
        assert_eq!((101 - stores.counter("b").await) % 3, 0, "a refused order takes nothing: {flags:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn units_are_never_sold_twice() {
    for flags in [["two", "each"], ["one", "each"], ["two", "batch"], ["one", "batch"]] {
        let stores = Stores::seeded(0, 60).await;
        let [statement, call] = flags;
        let flags = ["--unit-statement", statement, "--unit-call", call, "--pool-max", "8"];
        let service = Service::open(&stores, &flags);
        // Mixed lines: one ticket twice, and lines in either order.
        let orders: Vec<String> = (0..200)
            .map(|i| match i % 3 {
                0 => body(&[("a", 2), ("b", 1)]),
                1 => body(&[("b", 1), ("a", 2)]),
                _ => body(&[("a", 1), ("b", 1), ("a", 1)]),
            })
            .collect();
        let first = service.send_concurrently("pg-reserve-ticket", orders.clone()).await;
        assert_eq!(first.failed, 0);
        assert!(first.refused >= 170, "60 of a are enough for 30 orders, not for {first:?}");
        let units = |id: &str| format!("{RESERVED} AND ticket_id = '{id}'");
        assert_eq!(stores.cluster.number(&units("a")).await, 2 * first.sold, "{flags:?}");
        assert_eq!(
            stores.cluster.number(&units("b")).await,
            first.sold,
            "a refused order leaves nothing reserved"
        );
        // Orders skip units that others lock, so concurrent orders may leave some. Sequential orders sell out.
        let mut sold = first.sold;
        while service.order("pg-reserve-ticket", &[("a", 2), ("b", 1)]).await.status == 200 {
            sold += 1;
        }
        assert_eq!(sold, 30);
        assert_eq!(stores.cluster.number(&units("a")).await, 60);
        assert_eq!(stores.cluster.number(&units("b")).await, 30);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_hot_row_sells_out_exactly_and_never_deadlocks() {
    let stores = Stores::seeded(61, 0).await;
    let service = Service::open(&stores, &["--pool-max", "8"]);
    let orders: Vec<String> = (0..100)
        .map(|i| if i % 2 == 0 { body(&[("a", 2), ("b", 1)]) } else { body(&[("b", 1), ("a", 2)]) })
        .collect();
    let counts = service.send_concurrently("pg-decrement-ticket", orders).await;
    assert_eq!(counts, Counts { sold: 30, refused: 70, failed: 0 });
    assert_eq!(stores.cluster.number("SELECT stock::bigint FROM tickets WHERE id = 'a'").await, 1);
    assert_eq!(stores.cluster.number("SELECT stock::bigint FROM tickets WHERE id = 'b'").await, 31);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_bad_order_is_refused_with_its_reason_and_takes_nothing() {
    let stores = Stores::seeded(100, 20).await;
    let service = Service::open(&stores, &["--max-lines", "2", "--max-count", "10", "--body-limit", "200"]);
    let bad = [
        ("{".to_owned(), 400, "bad_json"),
        (r#"{"tickets":[]}"#.to_owned(), 400, "empty_order"),
        (body(&[("a", 0)]), 400, "bad_count"),
        (body(&[("a", -1)]), 400, "bad_count"),
        (body(&[("a", 11)]), 400, "bad_count"),
        (body(&[("a", 6), ("a", 6)]), 400, "bad_count"),
        (body(&[("a", 1), ("b", 1), ("c", 1)]), 400, "too_many_lines"),
        (body(&[("a", 1), ("zz", 1)]), 404, "unknown_ticket"),
        (body(&[(&"z".repeat(200), 1)]), 413, "too_large"),
    ];
    for route in
        ["simple-redis-decrement", "complex-redis-decrement", "pg-reserve-ticket", "pg-decrement-ticket"]
    {
        for (body, status, code) in &bad {
            let response = service.post(route, body.clone()).await;
            assert_eq!((response.status, response.code().as_str()), (*status, *code), "{route} {body}");
        }
        assert_eq!(service.get(route).await.status, 405);
    }
    assert_eq!(stores.counter("a").await, 100);
    assert_eq!(stores.cluster.number(RESERVED).await, 0);
    assert_eq!(stores.cluster.number("SELECT sum(stock) FROM tickets").await, 300);
    assert_eq!(stores.redis.command::<i64>(&["DBSIZE"]).await, 3, "no counter came into being");
}
