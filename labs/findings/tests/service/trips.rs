//! The defects of trips, fares and picks.

use findings::trips::{NEWEST, NEWEST_OF_ALL, PICKED};
use testbed::wait;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_index_finds_the_trips_of_a_driver_only_without_the_defect() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let defect = Service::with(&stores, "materialized-cte").await;
    for (sql, is_found) in [(NEWEST, true), (NEWEST_OF_ALL, false)] {
        let plan = healthy.plan(sql, "7").await;
        assert_eq!(plan.contains("trips_driver"), is_found, "{plan}");
    }
    let trips = healthy.get("/drivers/7/trips").await;
    assert_eq!(trips.json().as_array().unwrap().len(), 10);
    assert_eq!(defect.get("/drivers/7/trips").await.body, trips.body);
    assert_eq!((healthy.logged("AS MATERIALIZED"), defect.logged("AS MATERIALIZED")), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn fares_cannot_be_read_while_they_are_loaded_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("truncate-reload", true)] {
        let service = Service::with(&stores, defect).await;
        let before = service.get("/fares/7").await;
        // A load that empties the table waits for this reader, which keeps it there for a look.
        let reader = stores.cluster.connect_to(&service.database).await;
        reader.batch_execute("BEGIN; SELECT count(*) FROM fares").await.unwrap();
        assert_eq!(service.post("/fares").await.status, 202);
        let looking = async {
            if waits {
                let fare = "query LIKE 'SELECT cents, label FROM fares%' AND wait_event_type = 'Lock'";
                wait("the request waits", async || service.sessions(fare).await == 1).await;
                reader.batch_execute("COMMIT").await.unwrap();
            }
        };
        if waits {
            let load = "query LIKE 'TRUNCATE%' AND wait_event_type = 'Lock'";
            wait("the load waits", async || service.sessions(load).await == 1).await;
        }
        let (fare, ()) = tokio::join!(service.get("/fares/7"), looking);
        assert_eq!(fare.status, 200, "{defect}: {fare:?}");
        let changed = "SELECT count(*) FROM fares WHERE cents <> 100 + route * 79 % 4900";
        wait("the load ends", async || service.number(changed).await == 30).await;
        assert_eq!(service.number("SELECT count(*) FROM fares").await, 60_000, "{defect}");
        assert_eq!(before.json()["label"], "fare 7", "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn picks_have_a_table_of_their_own_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let defect = Service::with(&stores, "temp-table").await;
    for first in [0, 7, 19_999] {
        let path = format!("/picks/{first}");
        let picks = healthy.get(&path).await;
        assert_eq!(picks.json().as_array().unwrap().len() as i64, PICKED, "{first}");
        assert_eq!(defect.get(&path).await.body, picks.body, "{first}");
    }
    let made = "CREATE TEMP TABLE";
    assert_eq!((healthy.logged(made), defect.logged(made)), (0, 3));
    assert_eq!(defect.number("SELECT count(*) FROM pg_class WHERE relname = 'picked'").await, 0);
}
