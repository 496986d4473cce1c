//! The defects of the parcels.

use findings::defect::Defect;
use findings::parcels::{WAITING, by_key, search};

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn after_a_bulk_load_without_statistics_postgres_reads_all_waiting_parcels_for_those_of_a_customer() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let defect = Service::with(&stores, "bulk-load").await;
    let plan = healthy.plan(WAITING, "7").await;
    assert!(plan.contains("parcels_customer"), "{plan}");
    let plan = defect.plan(WAITING, "7").await;
    assert!(plan.contains("parcels_state") && !plan.contains("parcels_customer"), "{plan}");
    let rows = "SELECT count(*) FROM parcels WHERE state = 'waiting'";
    assert_eq!((healthy.number(rows).await, defect.number(rows).await), (40_000, 40_000));
    let path = "/customers/7/parcels";
    let parcels = healthy.get(path).await;
    assert_eq!(parcels.json().as_array().unwrap().len(), 20);
    assert_eq!(defect.get(path).await.body, parcels.body);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_parcel_is_found_by_an_index_unless_its_key_is_numeric_or_two_tables_share_a_condition() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let numeric = Service::with(&stores, "numeric-key").await;
    let across = Service::with(&stores, "or-across-tables").await;
    for (sql, value) in [(by_key(Defect::None), "7"), (search(Defect::None), "'P000007'")] {
        let plan = healthy.plan(sql, value).await;
        assert!(!plan.contains("Seq Scan"), "{plan}");
    }
    let plan = numeric.plan(by_key(Defect::NumericKey), "7").await;
    assert!(plan.contains("Seq Scan on parcels"), "{plan}");
    let plan = across.plan(search(Defect::OrAcrossTables), "'P000007'").await;
    assert!(plan.contains("Seq Scan on parcels"), "{plan}");

    let parcel = healthy.get("/parcels/7").await;
    assert_eq!(parcel.json()["code"], "P000007");
    assert_eq!(numeric.get("/parcels/7").await.body, parcel.body);
    for (text, count) in [("P000007", 1), ("customer7@shop.test", 30)] {
        let path = format!("/parcels?text={text}");
        let found = healthy.get(&path).await;
        assert_eq!(found.json().as_array().unwrap().len(), count, "{text}");
        assert_eq!(across.get(&path).await.body, found.body, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_numbers_of_all_parcels_of_a_route_are_sent_back_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let defect = Service::with(&stores, "id-list").await;
    let summary = healthy.get("/routes/19").await;
    assert_eq!(summary.json()[0][1], 3000);
    assert_eq!(defect.get("/routes/19").await.body, summary.body);
    assert_eq!((healthy.logged("IN (57001,57002,"), defect.logged("IN (57001,57002,")), (0, 1));
    assert_eq!(defect.get("/routes/99").await.body, "[]");
}
