//! The defects of receipts, exchanges and supplies.

use findings::receipts::SUPPLIES;
use testbed::wait;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_receipt_waits_for_the_index_of_a_release_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("blocking-index", true)] {
        let service = Service::with(&stores, defect).await;
        // Either index waits for a transaction that has written, which keeps it there for a look.
        let writer = stores.cluster.connect_to(&service.database).await;
        writer.batch_execute("BEGIN; INSERT INTO receipts (code) VALUES ('open')").await.unwrap();
        assert_eq!(service.post("/releases").await.status, 202);
        let index = "query LIKE 'CREATE INDEX%' AND wait_event_type = 'Lock'";
        wait("the index waits", async || service.sessions(index).await == 1).await;
        let looking = async {
            if waits {
                let receipt = "query LIKE 'INSERT INTO receipts%' AND wait_event_type = 'Lock'";
                wait("the receipt waits, too", async || service.sessions(receipt).await == 1).await;
                writer.batch_execute("COMMIT").await.unwrap();
            }
        };
        let (receipt, ()) = tokio::join!(service.post("/receipts"), looking);
        assert_eq!(receipt.status, 201, "{defect}");
        // A receipt that waited was issued after the index.
        assert_eq!(service.sessions(index).await == 1, !waits, "{defect}");
        if !waits {
            writer.batch_execute("COMMIT").await.unwrap();
        }
        let indexes = "SELECT count(*) FROM pg_class WHERE relname LIKE 'receipts_%' AND relname <> 'receipts_pkey' \
                       AND relkind = 'i'";
        let new = "SELECT count(*) FROM pg_class WHERE relname = 'receipts_new'";
        wait("the release ends", async || service.number(new).await == 0).await;
        assert_eq!(service.number(indexes).await, 1, "{defect}");
        assert_eq!(service.number("SELECT count(*) FROM receipts").await, 300_002, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_exchange_has_two_connections_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, idle) in [("none", 0), ("second-connection", 1)] {
        let service = Service::with(&stores, defect).await;
        let looking = async {
            wait("another server is asked", async || {
                service.sessions("query LIKE 'SELECT ask_elsewhere%' AND state = 'active'").await == 1
                    && service.sessions("state = 'idle in transaction'").await == idle
            })
            .await;
        };
        let (exchange, ()) = tokio::join!(service.post("/exchanges/7?ms=1500"), looking);
        assert_eq!(exchange.status, 201, "{defect}");
        assert_eq!(service.number("SELECT count(*) FROM exchanges").await, 1, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn supplies_that_have_not_changed_are_written_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, least, most) in [("none", 0, 2), ("unchanged-upsert", SUPPLIES, SUPPLIES)] {
        let service = Service::with(&stores, defect).await;
        for _ in 0..3 {
            // The price that changed, and that which the list before had changed.
            let written = service.post("/supplies/7").await.json()["written"].as_u64().unwrap() as usize;
            assert!((least..=most).contains(&written), "{defect}: {written}");
        }
        let changed = "SELECT count(*) FROM supplies WHERE cents <> 100 + sku * 7919 % 4900";
        assert_eq!(service.number(changed).await, 1, "{defect}");
        assert_eq!(service.number("SELECT count(*) FROM supplies").await, 20_000, "{defect}");
    }
}
