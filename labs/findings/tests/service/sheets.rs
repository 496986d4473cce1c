//! The defects of sheets and alerts.

use reqwest::Method;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_change_of_a_sheet_removes_all_others_only_with_the_defect() {
    let stores = Stores::seeded().await;
    // Eight sheets are computed, then the changed one in a healthy shop, or all of them.
    for (defect, computed, is_flushed) in [("none", 9, false), ("flush-all", 16, true)] {
        let service = Service::with(&stores, defect).await;
        let mut sheets = Vec::new();
        for round in 0..2 {
            for number in 0..8 {
                let sheet = service.get(&format!("/sheets/{number}")).await;
                let counts: Vec<i64> =
                    sheet.json().as_array().unwrap().iter().map(|row| row[1].as_i64().unwrap()).collect();
                assert_eq!((counts.len(), counts.iter().sum::<i64>()), (3, 5000), "{defect}");
                sheets.push(sheet.body);
            }
            if round == 0 {
                assert_eq!(service.send(Method::PUT, "/sheets/3").await.status, 201);
            }
        }
        assert_eq!(sheets[..8], sheets[8..], "{defect}");
        assert_eq!(service.logged("FROM goods WHERE id > $1"), computed, "{defect}");
        // What has nothing to do with sheets is gone as well.
        let prices = stores.redis.command::<u64>(&["EXISTS", "price:7"]).await;
        assert_eq!(prices == 0, is_flushed, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_empty_list_is_computed_again_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, computed) in [("none", 1), ("empty-is-miss", 3)] {
        let service = Service::with(&stores, defect).await;
        for _ in 0..3 {
            assert_eq!(service.get("/alerts").await.body, "[]", "{defect}");
        }
        assert_eq!(service.logged("HAVING sum(amount) > 1000000"), computed, "{defect}");
    }
}
