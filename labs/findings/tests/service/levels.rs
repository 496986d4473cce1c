//! The defects of the stock levels, the total of prices, quotes and points.

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn redis_reads_one_field_and_one_total_only_without_the_defects() {
    let stores = Stores::seeded().await;
    let total: u64 = (0..10_000_u64).map(|number| number % 97).sum();
    let level = "7 pieces, counted by hand on the first of the month".to_owned();
    for (defect, path, command, calls) in [
        ("none", "/levels/104", "hgetall", 0),
        ("whole-hash", "/levels/104", "hgetall", 1),
        ("none", "/prices", "get", 1),
        // Commands of a script count, too.
        ("long-script", "/prices", "get", 10_000),
    ] {
        let service = Service::with(&stores, defect).await;
        stores.redis.command::<()>(&["CONFIG", "RESETSTAT"]).await;
        let body = service.get(path).await.body;
        assert_eq!(body, if command == "get" { total.to_string() } else { level.clone() }, "{defect} {path}");
        assert_eq!(stores.redis_calls(command).await, calls, "{defect} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn quotes_wait_on_connections_of_their_own_and_on_the_shared_one_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_shared) in [("none", false), ("blocking-pop", true)] {
        let service = Service::with(&stores, defect).await;
        let before = stores.redis_figure("total_connections_received").await;
        let quotes = (0..8).map(|_| service.post("/quotes"));
        for quote in futures_util::future::join_all(quotes).await {
            assert_eq!((quote.status, quote.body.as_str()), (201, "19.90"), "{defect}");
        }
        // The question itself is one connection, and the worker has one.
        let opened = stores.redis_figure("total_connections_received").await - before - 2;
        assert_eq!(opened == 0, is_shared, "{defect}: {opened}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn points_are_added_by_one_command_and_by_transactions_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_transaction) in [("none", false), ("watch-retries", true)] {
        let service = Service::with(&stores, defect).await;
        stores.redis.command::<()>(&["CONFIG", "RESETSTAT"]).await;
        service.post_many("/points", 40).await;
        assert_eq!(stores.redis.command::<u64>(&["GET", "points"]).await, 40, "{defect}");
        let calls = stores.redis_calls("exec").await;
        // A transaction that another one was in the way of is tried again.
        assert_eq!(calls >= 40, is_transaction, "{defect}: {calls}");
        assert_eq!(stores.redis_calls("incr").await, if is_transaction { 0 } else { 40 });
    }
}
