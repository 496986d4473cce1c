//! What Redis sold is on record in PostgreSQL, and the record is the truth.

use crate::world::{Office, Stores, Tally, body, wait};

const SOLD: &str = "SELECT coalesce(sum(count), 0)::bigint FROM sales";
const EACH: [&str; 2] = ["--record", "each"];
const GROUPED: [&str; 4] = ["--record", "grouped", "--redis-call", "batch"];
const ORDERS: [&str; 6] = ["--record", "grouped", "--redis-call", "batch", "--order-stock", "counters"];

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn what_was_sold_is_on_record_and_a_redis_that_comes_back_empty_sells_the_rest() {
    for flags in [&EACH[..], &GROUPED] {
        let mut stores = Stores::seeded(10, 0).await;
        let office = Office::open(&stores, flags);
        assert_eq!(office.order("redis-decrement", &[("a", 3), ("b", 1)]).await.status, 200);
        assert_eq!((stores.number(SOLD).await, stores.counter("a").await), (4, 7), "{flags:?}");
        stores.kill_redis();
        stores.restart_redis().await;
        let tally = office.rush("redis-decrement", vec![body(&[("a", 2)]); 20]).await;
        let tally = Tally { failed: 0, ..tally };
        // Those that were under way when the connection broke are told to try again.
        let mut sold = tally.sold;
        while office.order("redis-decrement", &[("a", 2)]).await.status == 200 {
            sold += 1;
        }
        assert_eq!(sold, 3, "7 are left for orders of 2: {flags:?}");
        assert_eq!(office.order("redis-decrement", &[("a", 1)]).await.status, 200);
        assert_eq!((stores.number(SOLD).await, stores.counter("a").await), (11, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_counter_that_promises_too_much_sells_nothing_and_is_set_right() {
    let stores = Stores::seeded(5, 0).await;
    let office = Office::open(&stores, &GROUPED);
    assert_eq!(office.order("redis-decrement", &[("a", 5)]).await.status, 200);
    let _: String = stores.ask_redis(&["SET", "ticket:a", "100"]).await.unwrap();
    let answer = office.order("redis-decrement", &[("a", 1)]).await;
    assert_eq!((answer.status, answer.code().as_str()), (409, "not_enough_left"));
    wait("the counter is right", async || stores.counter("a").await == 0).await;
    assert_eq!(stores.number(SOLD).await, 5);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn with_a_record_even_the_script_that_does_not_look_sells_no_more_than_there_are() {
    let stores = Stores::seeded(5, 0).await;
    let office = Office::open(&stores, &[&GROUPED[..], &["--redis-script", "simple"]].concat());
    let tally = office.rush("redis-decrement", vec![body(&[("a", 2)]); 30]).await;
    assert_eq!(tally, Tally { sold: 2, refused: 28, failed: 0 });
    assert_eq!(stores.number(SOLD).await, 4);
    wait("the counter is right", async || stores.counter("a").await == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn what_a_killed_service_took_and_never_sold_is_back_when_it_starts_again() {
    for flags in [&EACH[..], &GROUPED] {
        let stores = Stores::seeded(10, 0).await;
        let office = Office::open(&stores, flags);
        // The record is held up, so what was taken from Redis stays under way.
        let mut holder = stores.connect().await;
        let held = holder.transaction().await.unwrap();
        held.batch_execute("SELECT * FROM stock_epoch FOR UPDATE").await.unwrap();
        let url = format!("{}/redis-decrement", office.url);
        let buyer =
            tokio::spawn(
                async move { reqwest::Client::new().post(url).body(body(&[("a", 4)])).send().await },
            );
        wait("it is taken", async || stores.counter("a").await == 6).await;
        drop(office);
        assert!(buyer.await.unwrap().is_err(), "nobody was told that it was sold");
        held.commit().await.unwrap();
        let office = Office::open(&stores, flags);
        assert_eq!((stores.number(SOLD).await, stores.counter("a").await), (0, 10), "{flags:?}");
        assert_eq!(office.order("redis-decrement", &[("a", 10)]).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn without_postgres_nothing_is_sold_and_nothing_is_lost() {
    for flags in [&EACH[..], &GROUPED] {
        let mut stores = Stores::seeded(10, 0).await;
        let office = Office::open(&stores, flags);
        assert_eq!(office.order("redis-decrement", &[("a", 1)]).await.status, 200);
        stores.kill_postgres();
        let answer = office.order("redis-decrement", &[("a", 1)]).await;
        assert_eq!((answer.status, answer.code().as_str()), (503, "store_unavailable"), "{flags:?}");
        stores.restart_postgres().await;
        wait("sales go on", async || office.order("redis-decrement", &[("a", 1)]).await.status == 200).await;
        wait("what was not sold is back", async || stores.counter("a").await == 8).await;
        assert_eq!(stores.number(SOLD).await, 2);
        assert_eq!(office.order("redis-decrement", &[("a", 8)]).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn services_that_share_the_stores_share_the_stock_while_one_starts_again_and_again() {
    let stores = Stores::seeded(300, 0).await;
    let flags = [&GROUPED[..], &["--pool-max", "4"]].concat();
    let one = Office::open(&stores, &flags);
    let orders = vec![body(&[("a", 1)]); 100];
    let (tally, others) = tokio::join!(
        async {
            let mut sum = Tally::default();
            for _ in 0..5 {
                let tally = one.rush("redis-decrement", orders.clone()).await;
                sum.sold += tally.sold;
                sum.failed += tally.failed;
            }
            sum
        },
        async {
            let mut sold = 0;
            for _ in 0..3 {
                // Its start rebuilds the counters under the other one's hands.
                let other = Office::open(&stores, &flags);
                sold += other.rush("redis-decrement", orders[..20].to_vec()).await.sold;
            }
            sold
        }
    );
    let mut sold = tally.sold + others;
    while one.order("redis-decrement", &[("a", 1)]).await.status == 200 {
        sold += 1;
    }
    assert_eq!(sold, 300, "each told buyer has one: {tally:?}");
    assert_eq!(stores.number(SOLD).await, 300);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn orders_on_counters_are_paid_cancelled_or_expire_and_their_tickets_go_back_to_redis() {
    let stores = Stores::seeded(6, 0).await;
    let office = Office::open(&stores, &ORDERS);
    let paid = office.order_once("orders", "key", &[("a", 2), ("b", 1)]).await;
    assert_eq!(paid.status, 201, "{paid:?}");
    let again = office.order_once("orders", "key", &[("a", 2), ("b", 1)]).await;
    assert_eq!(paid.field("id"), again.field("id"), "the same key gives the same order");
    let cancelled = office.order("orders", &[("a", 2)]).await.field("id");
    let unpaid = office.order("orders", &[("a", 2)]).await.field("id");
    assert_eq!(stores.counter("a").await, 0);
    assert_eq!(office.order("orders", &[("b", 1), ("a", 1)]).await.status, 409);
    assert_eq!(stores.counter("b").await, 5, "a refused order holds nothing");
    let paid = paid.field("id");
    assert_eq!(office.post(&format!("orders/{paid}/pay"), String::new()).await.field("state"), "paid");
    for _ in 0..2 {
        assert_eq!(office.delete(&format!("orders/{cancelled}")).await.field("state"), "released");
        assert_eq!(stores.counter("a").await, 2, "once");
    }
    let client = stores.connect().await;
    client.batch_execute("UPDATE orders SET expires_at = now() - interval '1 second'").await.unwrap();
    wait("the tickets are on sale", async || stores.counter("a").await == 4).await;
    assert_eq!(office.get(&format!("orders/{unpaid}")).await.field("state"), "released");
    assert_eq!(stores.number("SELECT sum(sold)::bigint FROM counters").await, 3);
    assert_eq!(office.order("orders", &[("a", 4)]).await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn orders_on_counters_without_a_record_are_refused_at_the_start() {
    let stores = Stores::seeded(1, 0).await;
    let output =
        stores.command("serve", &["--order-stock", "counters", "--listen", "127.0.0.1:0"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains("needs sales on record") && said.contains("hint: add --record"), "{said}");
}
