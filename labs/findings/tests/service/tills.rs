//! The defects of tills, cards and vouchers.

use testbed::wait;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_till_waits_behind_a_migration_that_waits_for_a_report_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("queued-alter", true)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.post("/deployments?ms=4000").await.status, 202);
        let reads =
            async || service.sessions("query LIKE 'SELECT sum(cents)%' AND state = 'active'").await == 1;
        wait("the report reads", async || reads().await).await;
        let waiting = async || service.sessions("wait_event_type = 'Lock'").await;
        if waits {
            wait("the migration waits", async || waiting().await == 1).await;
        } else {
            wait("the migration was tried", async || service.logged("lock timeout") > 0).await;
        }
        let asking = async {
            if waits {
                wait("the till waits, too", async || waiting().await == 2).await;
            }
        };
        let (till, ()) = tokio::join!(service.get("/tills/7"), asking);
        assert_eq!(till.json()["cents"], 700);
        // A till that waited was read after the report.
        assert_eq!(reads().await, !waits, "{defect}");
        let has_note = "SELECT count(*) FROM information_schema.columns WHERE table_name = 'tills' AND column_name = 'note'";
        wait("the migration is done", async || service.number(has_note).await == 1).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn cards_of_two_members_wait_for_each_other_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, checked, waiting) in [("none", 2, 0), ("advisory-lock", 1, 1)] {
        let service = Service::with(&stores, defect).await;
        let looking = async {
            wait("both are there", async || {
                service.sessions("query LIKE 'SELECT ask_elsewhere%' AND state = 'active'").await == checked
                    && service.sessions("wait_event = 'advisory'").await == waiting
            })
            .await;
        };
        let (first, second, ()) =
            tokio::join!(service.post("/cards/7?ms=1500"), service.post("/cards/8?ms=1500"), looking);
        assert_eq!((first.status, second.status), (201, 201), "{defect}");
        assert_eq!(service.number("SELECT count(*) FROM cards").await, 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_used_voucher_costs_a_connection_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_lost) in [("none", false), ("leaked-connection", true)] {
        let service = Service::with(&stores, defect).await;
        let mine = "application_name = 'shop'";
        let before = service.sessions(mine).await;
        for code in 1..=40 {
            let cents = if code % 4 == 0 { 0 } else { 500 };
            let voucher = service.get(&format!("/vouchers/{code}")).await;
            assert_eq!(voucher.json(), serde_json::json!({"voucher": code, "cents": cents}));
        }
        // One request after another needs one connection, unless ten of them have lost theirs.
        let opened = service.sessions(mine).await - before;
        assert_eq!(opened >= 5, is_lost, "{defect}: {opened}");
    }
}
