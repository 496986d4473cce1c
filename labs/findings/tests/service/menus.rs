//! The defects of the menus.

use findings::menus::{PRICES, SEARCH};

use crate::fixture::Service;
use crate::stores::Stores;
use testbed::wait;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_menu_is_read_from_postgres_once_and_each_time_without_the_cache() {
    let stores = Stores::seeded().await;
    for (defect, statements) in [("none", 1), ("cache-off", 3), ("redis-connections", 1)] {
        let service = Service::with(&stores, defect).await;
        let before = stores.redis_figure("total_connections_received").await;
        for _ in 0..3 {
            let menu = service.get("/options/7").await.json();
            assert_eq!(menu.as_array().unwrap().len(), 300, "{defect}");
        }
        assert_eq!(service.logged("FROM options WHERE tenant"), statements, "{defect}");
        // The question itself is one connection.
        let opened = stores.redis_figure("total_connections_received").await - before - 1;
        assert_eq!(opened, if defect == "redis-connections" { 3 } else { 0 }, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn all_requests_compute_the_best_sellers_when_they_expired_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_stampede) in [("none", false), ("cache-stampede", true)] {
        let service = Service::with(&stores, defect).await;
        if !is_stampede {
            let exists = async || stores.redis.command::<i64>(&["EXISTS", "top"]).await == 1;
            wait("the best sellers are computed ahead", exists).await;
        }
        let before = service.logged("FROM order_lines");
        let responses = futures_util::future::join_all((0..8).map(|_| service.get("/top"))).await;
        assert!(responses.iter().all(|response| response.body == responses[0].body));
        let computed = service.logged("FROM order_lines") - before;
        // A healthy shop can compute them once in this time, on its own pace.
        assert_eq!(computed >= 2, is_stampede, "{defect}: {computed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn redis_gets_one_cheap_command_per_request_only_without_the_defects() {
    let stores = Stores::seeded().await;
    for (defect, path, command, calls) in [
        ("none", "/sessions/7", "keys", 0),
        ("keys-command", "/sessions/7", "keys", 1),
        ("none", "/prices/9900", "get", 0),
        ("unrolled-mget", "/prices/9900", "get", PRICES as u64),
    ] {
        let service = Service::with(&stores, defect).await;
        stores.redis.command::<()>(&["CONFIG", "RESETSTAT"]).await;
        let response = service.get(path).await;
        assert_eq!(stores.redis_calls(command).await, calls, "{defect} {path}");
        // Both get the same: four sessions, and the prices of 9,900 to 10,099, which are of 10,000 products.
        let expected: u64 = if command == "keys" { 4 } else { (9900..10_100).map(|n| n % 10_000 % 97).sum() };
        assert_eq!(response.body, expected.to_string(), "{defect} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn values_are_small_and_stay_in_redis_only_without_the_defects() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let page = healthy.get("/catalog/42").await;
    assert_eq!((page.body.len(), stores.redis.command::<u64>(&["STRLEN", "catalog"]).await), (20_000, 0));
    assert_eq!(healthy.get("/thumbnails/7").await.status, 200);
    assert_eq!(stores.redis_figure("evicted_keys").await, 0);

    let defect = Service::with(&stores, "large-value").await;
    assert_eq!(defect.get("/catalog/42").await.body, page.body);
    assert_eq!(stores.redis.command::<u64>(&["STRLEN", "catalog"]).await, 2_000_000);

    // Last, because the limit of memory stays.
    let _defect = Service::with(&stores, "evictions").await;
    assert!(stores.redis_figure("evicted_keys").await > 1000);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_part_of_a_name_is_found_by_an_index_and_two_threads_serve_only_without_the_defects() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let plan = healthy.plan(SEARCH, "'abc12'").await;
    assert!(plan.contains("options_name"), "{plan}");
    let defect = Service::with(&stores, "ilike-search").await;
    let plan = defect.plan(SEARCH, "'abc12'").await;
    assert!(plan.contains("Seq Scan on options"), "{plan}");
    assert_eq!(defect.get("/options/search?text=abc").await.status, 200);

    let defect = Service::with(&stores, "json-per-request").await;
    assert_eq!(defect.get("/export").await.body, healthy.get("/export").await.body);
    let name = "tokio-rt-worker";
    assert_eq!((healthy.threads(name), defect.threads(name)), (2, 0));
}
