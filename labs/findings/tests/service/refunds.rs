//! The defects of refunds, scans and readings.

use findings::refunds::{BEHIND, BEHIND_OR, METERS, OF_STATE, OPEN};

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_index_finds_open_refunds_again_and_again_only_without_the_defect() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let defect = Service::with(&stores, "value-as-parameter").await;
    // The sixth execution is the first one whose plan does not know the state.
    for (sql, call, index) in [(OPEN, "kept", "refunds_open"), (OF_STATE, "kept('open')", "refunds_pkey")] {
        let client = stores.cluster.connect_to(&defect.database).await;
        client.batch_execute(&format!("PREPARE kept AS {sql}")).await.unwrap();
        for _ in 0..6 {
            client.batch_execute(&format!("EXECUTE {call}")).await.unwrap();
        }
        let rows = client.query(&format!("EXPLAIN EXECUTE {call}"), &[]).await.unwrap();
        let plan = rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n");
        assert!(plan.contains(index), "{plan}");
    }
    for _ in 0..10 {
        let refunds = healthy.get("/refunds").await;
        assert_eq!(refunds.json().as_array().unwrap().len(), 10);
        assert_eq!(refunds.json()[0][0], 59_961);
        assert_eq!(defect.get("/refunds").await.body, refunds.body);
    }
    assert_eq!((healthy.logged("WHERE state = $1"), defect.logged("WHERE state = $1")), (0, 10));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_page_of_scans_begins_in_the_index_only_without_the_defect() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let defect = Service::with(&stores, "keyset-or").await;
    for (sql, begins) in [(BEHIND, true), (BEHIND_OR, false)] {
        let plan = healthy.plan(&sql.replace("$2", "40000"), "10000").await;
        assert!(plan.contains("scans_minute"), "{plan}");
        assert_eq!(plan.contains("Index Cond"), begins, "{plan}");
    }
    // Before the first scan, within a minute, and behind the last scan.
    for (minute, id, first, count) in [(0, 0, 1, 20), (10, 41, 42, 20), (15_000, 60_000, 0, 0)] {
        let path = format!("/scans?minute={minute}&id={id}");
        let scans = healthy.get(&path).await;
        assert_eq!(scans.json().as_array().unwrap().len(), count, "{path}");
        assert_eq!(scans.json()[0][1].as_i64().unwrap_or_default(), first, "{path}");
        assert_eq!(defect.get(&path).await.body, scans.body, "{path}");
    }
    assert_eq!((healthy.logged("OR (minute = $1"), defect.logged("OR (minute = $1")), (0, 3));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_newest_readings_are_found_among_all_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let defect = Service::with(&stores, "distinct-on").await;
    let readings = healthy.get("/readings").await;
    assert_eq!(readings.json().as_array().unwrap().len(), METERS);
    // Meter 1 has the numbers that 20 divides.
    assert_eq!((readings.json()[0][0].as_i64(), readings.json()[0][1].as_i64()), (Some(1), Some(40_000)));
    assert_eq!(defect.get("/readings").await.body, readings.body);
    assert_eq!((healthy.logged("DISTINCT ON (meter)"), defect.logged("DISTINCT ON (meter)")), (0, 1));
}
