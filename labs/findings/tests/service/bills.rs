//! The defects of bills and wallets.

use findings::bills::{LINES, WALLETS};
use testbed::wait;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn bills_of_the_same_time_have_one_number_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_refused) in [("none", false), ("next-number", true)] {
        let service = Service::with(&stores, defect).await;
        let (mut written, mut refused) = (0, 0);
        // One round is enough, unless the machine writes the bills one after another.
        for _ in 0..20 {
            let bills = (0..20).map(|_| service.post("/bills/7"));
            for bill in futures_util::future::join_all(bills).await {
                assert!(matches!(bill.status, 201 | 503), "{bill:?}");
                written += i64::from(bill.status == 201);
                refused += i64::from(bill.status == 503);
            }
            if refused > 0 {
                break;
            }
        }
        assert_eq!(refused > 0, is_refused, "{defect}: {refused}");
        assert_eq!(service.logged("bills_pkey") > 0, is_refused, "{defect}");
        // A bill is written whole or not at all.
        assert_eq!(service.number("SELECT count(*) FROM bills").await, written, "{defect}");
        assert_eq!(service.number("SELECT count(*) FROM bill_lines").await, written * i64::from(LINES));
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_wallet_waits_for_the_end_of_a_backfill_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("whole-backfill", true)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.post("/backfills?ms=4000").await.status, 202);
        let asks = "query LIKE 'SELECT ask_elsewhere%' AND state = 'active'";
        wait("the backfill has changed a wallet", async || service.sessions(asks).await == 1).await;
        // The last wallet is in the last batch.
        assert_eq!(service.post(&format!("/wallets/{WALLETS}")).await.status, 201);
        let done = async || service.number("SELECT count(*) FROM wallets WHERE currency = 'EUR'").await;
        assert_eq!(done().await == WALLETS, waits, "{defect}");
        wait("the backfill ends", async || done().await == WALLETS).await;
        let taken = "SELECT 100000 - cents FROM wallets WHERE id = (SELECT max(id) FROM wallets)";
        assert_eq!(service.number(taken).await, 1, "{defect}");
    }
}
