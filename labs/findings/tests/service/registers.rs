//! The defects of registers and permits.

use findings::registers::LINES;
use testbed::wait;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_register_is_fetched_at_once_and_line_by_line_with_the_defect() {
    let stores = Stores::seeded().await;
    let mut bodies = Vec::new();
    for (defect, fetches) in [("none", 1), ("fetch-one", LINES + 1)] {
        let service = Service::with(&stores, defect).await;
        let register = service.get("/registers/7").await;
        assert_eq!(register.json().as_array().unwrap().len(), LINES, "{defect}");
        assert_eq!(service.logged("FETCH FORWARD"), fetches, "{defect}");
        bodies.push(register.body);
    }
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_permit_waits_for_one_of_another_district_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("table-lock", true)] {
        let service = Service::with(&stores, defect).await;
        // Another writer of the table, whose transaction is open.
        let other = stores.cluster.connect_to(&service.database).await;
        other.batch_execute("BEGIN; INSERT INTO permits VALUES (8, 1)").await.unwrap();
        let issuing = service.post("/permits/7");
        let permit = if waits {
            let ending = async {
                wait("the permit waits", async || service.sessions("wait_event_type = 'Lock'").await == 1)
                    .await;
                other.batch_execute("COMMIT").await.unwrap();
            };
            tokio::join!(issuing, ending).0
        } else {
            let permit = issuing.await;
            other.batch_execute("COMMIT").await.unwrap();
            permit
        };
        assert_eq!(permit.json(), serde_json::json!({"district": 7, "number": 1}), "{defect}");
        assert_eq!(service.post("/permits/7").await.json()["number"], 2, "{defect}");
        assert_eq!(service.post("/permits/501").await.status, 404, "{defect}");
        assert_eq!(service.number("SELECT count(*) FROM permits").await, 3, "{defect}");
    }
}
