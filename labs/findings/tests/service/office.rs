//! The defects of the back office.

use findings::office::BATCH;

use crate::fixture::Service;
use crate::stores::Stores;
use testbed::wait;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_entry_waits_for_the_closing_of_its_account_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("parent-lock", true)] {
        let service = Service::with(&stores, defect).await;
        let is_closing =
            async || service.sessions("query LIKE 'SELECT ask_elsewhere%' AND state = 'active'").await == 1;
        let adding = async {
            wait("the account is being closed", async || is_closing().await).await;
            let waiting = async {
                if waits {
                    wait("the entry waits for a lock", async || {
                        service.sessions("wait_event_type = 'Lock'").await == 1
                    })
                    .await;
                }
            };
            let (added, ()) = tokio::join!(service.post("/accounts/1/entries"), waiting);
            assert_eq!(added.status, 201);
            // An entry that waited was added after the closing.
            assert_eq!(is_closing().await, !waits, "{defect}");
        };
        let (closed, ()) = tokio::join!(service.post("/accounts/1/closing?ms=3000"), adding);
        assert_eq!(closed.status, 201);
        assert_eq!(service.number("SELECT balance FROM accounts WHERE id = 1").await, 1);
        assert_eq!(service.number("SELECT count(*) FROM entries").await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn vacuum_cannot_remove_the_mails_that_were_taken_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_kept) in [("none", false), ("long-transaction", true)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.post("/mails").await.status, 201);
        assert_eq!(service.number("SELECT count(*) FROM mails").await, 1000);
        stores.execute(&service.database, "VACUUM mails").await;
        // 40,000 rows of 50 bytes are over 200 pages, and 1,000 are fewer than 10.
        let pages = service.number("SELECT pg_relation_size('mails') / 8192").await;
        assert_eq!(pages > 200, is_kept, "{defect}: {pages}");
        assert_eq!(service.sessions("state = 'idle in transaction'").await == 1, is_kept, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn titles_are_columns_and_a_batch_is_counted_at_once_only_without_the_defects() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let json = Service::with(&stores, "json-column").await;
    let titles = healthy.get("/reports?after=100").await;
    assert_eq!(titles.json()[0], serde_json::json!([101, "Report 101", "open"]));
    assert_eq!(json.get("/reports?after=100").await.body, titles.body);
    assert_eq!((healthy.logged("data->>"), json.logged("data->>")), (0, 1));

    let each = Service::with(&stores, "row-trigger").await;
    let per_row = "SELECT count(*) FROM pg_trigger WHERE tgname = 'placements_counted' AND tgtype & 1 = 1";
    for (service, is_per_row) in [(&healthy, 0), (&each, 1)] {
        assert_eq!(service.post("/shelves/7").await.status, 201);
        assert_eq!(service.number("SELECT items FROM shelves WHERE id = 7").await, BATCH);
        assert_eq!(service.number(per_row).await, is_per_row);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_feed_grows_with_each_post_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, count) in [("none", 20), ("growing-feed", 40)] {
        let service = Service::with(&stores, defect).await;
        service.post_many("/feed", 5).await;
        assert_eq!(service.get("/feed").await.json().as_array().unwrap().len(), count, "{defect}");
    }
}
