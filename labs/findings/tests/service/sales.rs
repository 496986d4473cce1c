//! The defects of the sales.

use crate::fixture::Service;
use crate::stores::Stores;
use testbed::wait;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn sales_change_one_row_only_with_the_defect_and_every_sale_is_counted() {
    let stores = Stores::seeded().await;
    let changed = "SELECT count(*) FROM sold WHERE tickets > 0";
    for (defect, is_one) in [("none", false), ("hot-row", true), ("serializable-retries", true)] {
        let service = Service::with(&stores, defect).await;
        let path = if defect == "serializable-retries" { "/reservations" } else { "/tickets" };
        service.post_many(path, 20).await;
        assert_eq!(service.number("SELECT sum(tickets)::bigint FROM sold").await, 20, "{defect}");
        assert_eq!(service.number(changed).await == 1, is_one, "{defect}");
        assert_eq!(service.logged("SERIALIZABLE") >= 20, defect == "serializable-retries", "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_payment_waits_for_the_lock_of_another_order_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("global-lock", true)] {
        let service = Service::with(&stores, defect).await;
        stores.redis.command::<()>(&["SET", "lock:payments", "another order"]).await;
        stores.redis.command::<()>(&["CONFIG", "RESETSTAT"]).await;
        let releasing = async {
            let tries = if waits { 3 } else { 1 };
            wait("the lock is asked for", async || stores.redis_calls("set").await >= tries).await;
            if waits {
                stores.redis.command::<()>(&["DEL", "lock:payments"]).await;
            }
        };
        let (paid, ()) = tokio::join!(service.post("/payments/7"), releasing);
        assert_eq!(paid.status, 201);
        // The healthy shop did not touch the lock of the other order, and both gave back their own.
        assert_eq!(stores.redis.command::<i64>(&["EXISTS", "lock:payments"]).await == 0, waits, "{defect}");
        assert_eq!(stores.redis.command::<i64>(&["EXISTS", "lock:7"]).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_order_is_one_commit_without_a_log_only_without_the_defects() {
    let stores = Stores::seeded().await;
    for (defect, commits, lines) in [("none", 1, 0), ("commit-per-seat", 8, 0), ("log-per-attempt", 1, 16)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.post("/orders").await.status, 201);
        assert_eq!(service.number("SELECT count(*) FROM sales").await, 8);
        assert_eq!(service.number("SELECT count(DISTINCT xmin::text) FROM sales").await, commits, "{defect}");
        assert_eq!(service.lines(), lines, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_small_pool_lets_four_checkouts_into_postgres() {
    let stores = Stores::seeded().await;
    for (defect, is_small) in [("none", false), ("small-pool", true)] {
        let service = Service::with(&stores, defect).await;
        service.post_many("/checkouts", 16).await;
        let sessions = service.sessions("application_name = 'shop'").await;
        assert_eq!(sessions == 4, is_small, "{defect}: {sessions}");
    }
}
