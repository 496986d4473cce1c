//! Orders are paid in time, or their units are released.

use crate::fixture::{Service, Stores};
use testbed::wait;

const RESERVED: &str = "SELECT count(*) FROM ticket_units WHERE reserved";

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_paid_order_keeps_its_units_and_an_unpaid_one_gives_them_back() {
    let stores = Stores::seeded(0, 4).await;
    let service = Service::open(&stores, &[]);
    let paid = service.order("orders", &[("a", 2), ("b", 1)]).await;
    let unpaid = service.order("orders", &[("a", 2)]).await;
    assert_eq!((paid.status, unpaid.status), (201, 201));
    assert_eq!(service.order("orders", &[("b", 1), ("a", 1)]).await.status, 409, "all of a is held");
    assert_eq!(stores.cluster.number(RESERVED).await, 5, "a refused order holds nothing");
    assert_eq!(stores.cluster.number("SELECT count(*) FROM orders").await, 2);
    let (paid, unpaid) = (paid.field("id"), unpaid.field("id"));
    for _ in 0..2 {
        let response = service.post(&format!("orders/{paid}/pay"), String::new()).await;
        assert_eq!((response.status, response.field("state").as_str()), (200, "paid"));
    }
    // As if fifteen minutes had passed.
    let client = stores.cluster.connect().await;
    client.batch_execute("UPDATE orders SET expires_at = now() - interval '1 second'").await.unwrap();
    let late = service.post(&format!("orders/{unpaid}/pay"), String::new()).await;
    assert_eq!((late.status, late.code().as_str()), (409, "order_closed"));
    wait("the units are free", async || stores.cluster.number(RESERVED).await == 3).await;
    assert_eq!(service.get(&format!("orders/{unpaid}")).await.field("state"), "released");
    assert_eq!(service.get(&format!("orders/{paid}")).await.field("state"), "paid");
    assert_eq!(service.order("orders", &[("a", 2)]).await.status, 201, "they are on sale again");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn order_age_limits_how_long_an_order_stays_unpaid() {
    let stores = Stores::seeded(0, 4).await;
    let service = Service::open(&stores, &["--order-age", "1"]);
    let order = service.order("orders", &[("a", 2)]).await.field("id");
    wait("it is released", async || {
        service.get(&format!("orders/{order}")).await.field("state") == "released"
    })
    .await;
    assert_eq!(stores.cluster.number(RESERVED).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn cancelling_frees_the_units_of_an_open_order_only() {
    let stores = Stores::seeded(0, 4).await;
    let service = Service::open(&stores, &[]);
    let open = service.order("orders", &[("a", 2)]).await.field("id");
    let paid = service.order("orders", &[("a", 1)]).await.field("id");
    assert_eq!(service.post(&format!("orders/{paid}/pay"), String::new()).await.status, 200);
    for _ in 0..2 {
        assert_eq!(service.delete(&format!("orders/{open}")).await.field("state"), "released");
    }
    assert_eq!(service.delete(&format!("orders/{paid}")).await.status, 409);
    assert_eq!(stores.cluster.number(RESERVED).await, 1);
    let missing = service.post("orders/nothing/pay", String::new()).await;
    assert_eq!((missing.status, missing.code().as_str()), (404, "unknown_order"));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_same_key_returns_the_same_order() {
    let stores = Stores::seeded(0, 4).await;
    let service = Service::open(&stores, &[]);
    let first = service.order_with_key("orders", "key", &[("a", 2)]).await.field("id");
    let again = service.order_with_key("orders", "key", &[("a", 2)]).await.field("id");
    assert_eq!(first, again);
    assert_eq!(stores.cluster.number(RESERVED).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_order_that_is_paid_and_cancelled_concurrently_ends_in_one_state() {
    let stores = Stores::seeded(0, 20).await;
    let service = Service::open(&stores, &[]);
    for _ in 0..10 {
        let order = service.order("orders", &[("a", 2)]).await.field("id");
        let (pay, path) = (format!("orders/{order}/pay"), format!("orders/{order}"));
        let (paid, cancelled) = tokio::join!(service.post(&pay, String::new()), service.delete(&path));
        let mut status = [paid.status, cancelled.status];
        status.sort_unstable();
        assert_eq!(status, [200, 409]);
    }
    let paid = stores.cluster.number("SELECT count(*) FROM orders WHERE state = 'paid'").await;
    assert_eq!(stores.cluster.number(RESERVED).await, 2 * paid);
    let strays =
        "SELECT count(*) FROM ticket_units u JOIN orders o ON o.id = u.order_id WHERE o.state <> 'paid'";
    assert_eq!(stores.cluster.number(strays).await, 0);
}
