//! The defects of the jobs.

use findings::defect::Defect;
use findings::jobs::{BATCH, NEXT_CASES, due};

use crate::fixture::Service;
use crate::stores::Stores;
use testbed::wait;

const CLAIM: &str = "/jobs/claim?ms=0";

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_due_job_and_the_next_cases_are_found_by_an_index_unless_it_is_missing_or_has_another_order() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    assert_eq!(healthy.post(CLAIM).await.status, 200);
    let plan = healthy.plan(due(Defect::None), "").await;
    assert!(plan.contains("Index Scan using jobs_due"), "{plan}");
    let plan = healthy.plan(NEXT_CASES, "").await;
    assert!(plan.contains("cases_next") && !plan.contains("Sort"), "{plan}");

    let defect = Service::with(&stores, "no-due-index").await;
    assert_eq!(defect.post(CLAIM).await.status, 200);
    let plan = defect.plan(due(Defect::NoDueIndex), "").await;
    assert!(plan.contains("Seq Scan on jobs"), "{plan}");

    let defect = Service::with(&stores, "ascending-priority").await;
    let plan = defect.plan(NEXT_CASES, "").await;
    assert!(plan.contains("Sort"), "{plan}");
    assert_eq!(defect.get("/cases/next").await.body, healthy.get("/cases/next").await.body);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_claim_waits_for_the_row_of_another_one_only_without_skip_locked() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("no-skip-locked", true)] {
        let service = Service::with(&stores, defect).await;
        let mut other = stores.cluster.connect_to(&service.database).await;
        let transaction = other.transaction().await.unwrap();
        let taken: i64 = transaction.query_one(due(Defect::None), &[]).await.unwrap().get(0);
        let claiming = service.post(CLAIM);
        let releasing = async {
            if waits {
                wait("a session waits for a lock", async || {
                    service.sessions("wait_event_type = 'Lock'").await == 1
                })
                .await;
                transaction.rollback().await.unwrap();
                return;
            }
            // The row stays locked until the claim is answered.
            wait("the claim is answered", async || {
                service.number("SELECT count(*) FROM jobs WHERE run_at > now() - interval '1 minute'").await
                    == 1
            })
            .await;
            transaction.rollback().await.unwrap();
        };
        let (claimed, ()) = tokio::join!(claiming, releasing);
        assert_eq!(claimed.json().as_i64().unwrap() == taken, waits, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_batch_is_one_commit_and_one_per_job_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, commits) in [("none", 1), ("commit-per-job", BATCH)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.post("/jobs/batch").await.status, 201);
        let of_batch = |what: &str| format!("SELECT count({what}) FROM outbox WHERE id > 1000");
        assert_eq!(service.number(&of_batch("*")).await, BATCH);
        assert_eq!(service.number(&of_batch("DISTINCT xmin::text")).await, commits, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_transaction_is_open_while_the_job_runs_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_open) in [("none", false), ("open-transaction", true)] {
        let service = Service::with(&stores, defect).await;
        let looking = async {
            let idle = async || service.sessions("state = 'idle in transaction'").await;
            if is_open {
                wait("a session is idle in transaction", async || idle().await == 1).await;
            } else {
                let running = "SELECT count(*) FROM jobs WHERE state = 'running'";
                wait("the claim is committed", async || service.number(running).await == 1).await;
                assert_eq!(idle().await, 0);
            }
        };
        let (claimed, ()) = tokio::join!(service.post("/jobs/claim?ms=1500"), looking);
        assert_eq!(claimed.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_new_job_wakes_one_listener_and_24_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, listeners) in [("none", 1), ("notify-storm", 24)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.post("/jobs/announce").await.status, 201);
        let asked = || service.logged("FROM outbox ORDER BY id DESC");
        wait("all listeners ask", async || asked() >= listeners).await;
        assert_eq!(service.sessions("application_name = 'shop-listener'").await, listeners as i64);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_pool_of_two_lets_two_requests_into_postgres() {
    let stores = Stores::seeded().await;
    for (defect, is_small) in [("none", false), ("pool-of-two", true)] {
        let service = Service::with(&stores, defect).await;
        let responses = futures_util::future::join_all((0..12).map(|_| service.get("/delivery"))).await;
        assert!(responses.iter().all(|response| response.body == "3"), "{responses:?}");
        let sessions = service.sessions("application_name = 'shop'").await;
        assert_eq!(sessions == 2, is_small, "{defect}: {sessions}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_stock_has_dead_rows_and_the_items_texts_of_their_own_only_with_the_defects() {
    let stores = Stores::seeded().await;
    let size = "SELECT pg_relation_size('stock')";
    let without_vacuum = "SELECT count(*) FROM pg_class WHERE 'autovacuum_enabled=off' = ANY (reloptions)";
    let healthy = Service::healthy(&stores).await;
    let defect = Service::with(&stores, "dead-rows").await;
    assert!(defect.number(size).await > 10 * healthy.number(size).await);
    assert_eq!((healthy.number(without_vacuum).await, defect.number(without_vacuum).await), (0, 1));
    assert_eq!(defect.get("/stock").await.json().as_array().unwrap().len(), 4);

    let defect = Service::with(&stores, "statement-churn").await;
    for service in [&healthy, &defect] {
        for sku in 1..=3 {
            assert_eq!(service.get(&format!("/stock/{sku}")).await.status, 200);
        }
    }
    assert_eq!((healthy.logged("/* trace "), defect.logged("/* trace ")), (0, 3));
}
