//! Sales from Redis are recorded in PostgreSQL, and the record is authoritative.

use crate::fixture::{Counts, Service, Stores, body};
use testbed::wait;

const SOLD: &str = "SELECT coalesce(sum(count), 0)::bigint FROM sales";
const EACH: [&str; 2] = ["--record", "each"];
const GROUPED: [&str; 4] = ["--record", "grouped", "--redis-call", "batch"];
const ORDERS: [&str; 6] = ["--record", "grouped", "--redis-call", "batch", "--order-stock", "counters"];

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn every_sale_is_recorded_and_a_redis_that_restarts_empty_sells_the_rest() {
    for flags in [&EACH[..], &GROUPED] {
        let mut stores = Stores::seeded(10, 0).await;
        let service = Service::open(&stores, flags);
        assert_eq!(service.order("redis-decrement", &[("a", 3), ("b", 1)]).await.status, 200);
        assert_eq!((stores.cluster.number(SOLD).await, stores.counter("a").await), (4, 7), "{flags:?}");
        stores.redis.kill();
        stores.redis.restart().await;
        let counts = service.send_concurrently("redis-decrement", vec![body(&[("a", 2)]); 20]).await;
        let counts = Counts { failed: 0, ..counts };
        // Requests that were open when the connection broke get status 503.
        let mut sold = counts.sold;
        while service.order("redis-decrement", &[("a", 2)]).await.status == 200 {
            sold += 1;
        }
        assert_eq!(sold, 3, "7 are left for orders of 2: {flags:?}");
        assert_eq!(service.order("redis-decrement", &[("a", 1)]).await.status, 200);
        assert_eq!((stores.cluster.number(SOLD).await, stores.counter("a").await), (11, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_counter_that_is_too_high_sells_nothing_and_is_corrected() {
    let stores = Stores::seeded(5, 0).await;
    let service = Service::open(&stores, &GROUPED);
    assert_eq!(service.order("redis-decrement", &[("a", 5)]).await.status, 200);
    stores.redis.command::<()>(&["SET", "ticket:a", "100"]).await;
    let response = service.order("redis-decrement", &[("a", 1)]).await;
    assert_eq!((response.status, response.code().as_str()), (409, "not_enough_left"));
    wait("the counter is right", async || stores.counter("a").await == 0).await;
    assert_eq!(stores.cluster.number(SOLD).await, 5);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn with_a_record_even_the_unchecked_script_does_not_oversell() {
    let stores = Stores::seeded(5, 0).await;
    let service = Service::open(&stores, &[&GROUPED[..], &["--redis-script", "simple"]].concat());
    let counts = service.send_concurrently("redis-decrement", vec![body(&[("a", 2)]); 30]).await;
    assert_eq!(counts, Counts { sold: 2, refused: 28, failed: 0 });
    assert_eq!(stores.cluster.number(SOLD).await, 4);
    wait("the counter is right", async || stores.counter("a").await == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn tickets_that_a_killed_service_took_and_did_not_sell_are_back_after_its_restart() {
    for flags in [&EACH[..], &GROUPED] {
        let stores = Stores::seeded(10, 0).await;
        let service = Service::open(&stores, flags);
        // The record is locked, so taken tickets stay unrecorded.
        let mut blocking_client = stores.cluster.connect().await;
        let blocking_transaction = blocking_client.transaction().await.unwrap();
        blocking_transaction.batch_execute("SELECT * FROM stock_epoch FOR UPDATE").await.unwrap();
        let url = format!("{}/redis-decrement", service.url);
        let buyer =
            tokio::spawn(
                async move { reqwest::Client::new().post(url).body(body(&[("a", 4)])).send().await },
            );
        wait("it is taken", async || stores.counter("a").await == 6).await;
        drop(service);
        assert!(buyer.await.unwrap().is_err(), "nobody was told that it was sold");
        blocking_transaction.commit().await.unwrap();
        let service = Service::open(&stores, flags);
        assert_eq!((stores.cluster.number(SOLD).await, stores.counter("a").await), (0, 10), "{flags:?}");
        assert_eq!(service.order("redis-decrement", &[("a", 10)]).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn without_postgres_nothing_is_sold_and_nothing_is_lost() {
    for flags in [&EACH[..], &GROUPED] {
        let mut stores = Stores::seeded(10, 0).await;
        let service = Service::open(&stores, flags);
        assert_eq!(service.order("redis-decrement", &[("a", 1)]).await.status, 200);
        stores.cluster.kill();
        let response = service.order("redis-decrement", &[("a", 1)]).await;
        assert_eq!((response.status, response.code().as_str()), (503, "store_unavailable"), "{flags:?}");
        stores.cluster.restart();
        wait("sales go on", async || service.order("redis-decrement", &[("a", 1)]).await.status == 200).await;
        wait("what was not sold is back", async || stores.counter("a").await == 8).await;
        assert_eq!(stores.cluster.number(SOLD).await, 2);
        assert_eq!(service.order("redis-decrement", &[("a", 8)]).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn services_on_the_same_stores_share_the_stock_while_one_restarts_repeatedly() {
    let stores = Stores::seeded(300, 0).await;
    let flags = [&GROUPED[..], &["--pool-max", "4"]].concat();
    let one = Service::open(&stores, &flags);
    let orders = vec![body(&[("a", 1)]); 100];
    let (counts, others) = tokio::join!(
        async {
            let mut sum = Counts::default();
            for _ in 0..5 {
                let counts = one.send_concurrently("redis-decrement", orders.clone()).await;
                sum.sold += counts.sold;
                sum.failed += counts.failed;
            }
            sum
        },
        async {
            let mut sold = 0;
            for _ in 0..3 {
                // Its start rebuilds the counters while the other one uses them.
                let other = Service::open(&stores, &flags);
                sold += other.send_concurrently("redis-decrement", orders[..20].to_vec()).await.sold;
            }
            sold
        }
    );
    let mut sold = counts.sold + others;
    while one.order("redis-decrement", &[("a", 1)]).await.status == 200 {
        sold += 1;
    }
    assert_eq!(sold, 300, "each told buyer has one: {counts:?}");
    assert_eq!(stores.cluster.number(SOLD).await, 300);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn orders_on_counters_are_paid_cancelled_or_expire_and_released_tickets_return_to_redis() {
    let stores = Stores::seeded(6, 0).await;
    let service = Service::open(&stores, &ORDERS);
    let paid = service.order_with_key("orders", "key", &[("a", 2), ("b", 1)]).await;
    assert_eq!(paid.status, 201, "{paid:?}");
    let again = service.order_with_key("orders", "key", &[("a", 2), ("b", 1)]).await;
    assert_eq!(paid.field("id"), again.field("id"), "the same key gives the same order");
    let cancelled = service.order("orders", &[("a", 2)]).await.field("id");
    let unpaid = service.order("orders", &[("a", 2)]).await.field("id");
    assert_eq!(stores.counter("a").await, 0);
    assert_eq!(service.order("orders", &[("b", 1), ("a", 1)]).await.status, 409);
    assert_eq!(stores.counter("b").await, 5, "a refused order holds nothing");
    let paid = paid.field("id");
    assert_eq!(service.post(&format!("orders/{paid}/pay"), String::new()).await.field("state"), "paid");
    for _ in 0..2 {
        assert_eq!(service.delete(&format!("orders/{cancelled}")).await.field("state"), "released");
        assert_eq!(stores.counter("a").await, 2, "once");
    }
    let client = stores.cluster.connect().await;
    client.batch_execute("UPDATE orders SET expires_at = now() - interval '1 second'").await.unwrap();
    wait("the tickets are on sale", async || stores.counter("a").await == 4).await;
    assert_eq!(service.get(&format!("orders/{unpaid}")).await.field("state"), "released");
    assert_eq!(stores.cluster.number("SELECT sum(sold)::bigint FROM counters").await, 3);
    assert_eq!(service.order("orders", &[("a", 4)]).await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn orders_on_counters_without_a_record_are_refused_at_startup() {
    let stores = Stores::seeded(1, 0).await;
    let output =
        stores.command("serve", &["--order-stock", "counters", "--listen", "127.0.0.1:0"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(stderr.contains("needs sales on record") && stderr.contains("hint: add --record"), "{stderr}");
}
