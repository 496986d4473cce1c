//! The defects of leaflets, campaigns and tasks.

use findings::leaflets::TASKS;
use reqwest::Method;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn all_keys_are_scanned_for_the_pages_of_a_leaflet_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_scanned) in [("none", false), ("scan-keys", true)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.send(Method::PUT, "/leaflets/7").await.status, 201);
        stores.redis.command::<()>(&["CONFIG", "RESETSTAT"]).await;
        assert_eq!(service.send(Method::PUT, "/leaflets/7").await.status, 201);
        let calls = stores.redis_calls("scan").await;
        // 100 keys per call.
        assert_eq!(calls > 400, is_scanned, "{defect}: {calls}");
        assert_eq!(stores.redis_calls("smembers").await, u64::from(!is_scanned), "{defect}");
        assert_eq!(stores.redis_calls("del").await, 1, "{defect}");
        assert_eq!(stores.redis.command::<u64>(&["EXISTS", "leaflet:7:0", "leaflet:7:2"]).await, 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_page_of_a_campaign_is_computed_for_each_mail_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, computed) in [("none", 1), ("tracking-key", 3)] {
        let service = Service::with(&stores, defect).await;
        for mail in 0..3 {
            let page = service.get(&format!("/campaigns/2?mail={mail}")).await.json();
            assert_eq!((page["campaign"].as_i64(), page["goods"].as_array().unwrap().len()), (Some(2), 12));
        }
        assert_eq!(service.logged("AS sold FROM purchases"), computed, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn tasks_are_a_list_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, remove, count) in [("none", "zrem", "ZCARD"), ("list-remove", "lrem", "LLEN")] {
        let service = Service::with(&stores, defect).await;
        stores.redis.command::<()>(&["CONFIG", "RESETSTAT"]).await;
        assert_eq!(service.send(Method::PUT, "/tasks/700").await.status, 201);
        assert_eq!(stores.redis_calls(remove).await, 1, "{defect}");
        assert_eq!(stores.redis.command::<usize>(&[count, "tasks"]).await, TASKS, "{defect}");
    }
}
