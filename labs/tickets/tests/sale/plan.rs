//! How PostgreSQL finds free units: what the document says of its plans.
//!
//! A plan is no figure of a study; a test can count the scans. Which plan PostgreSQL prefers under load is not tested.

use crate::fixture::{Service, Stores};
use testbed::wait;

const SCANS: &str = "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'ticket_units'";
const OTHERS: &str = "SELECT count(*) FROM pg_stat_activity \
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND application_name <> 'tickets'";
const OWN: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tickets'";
const ORDERS: i64 = 10;

/// How often the whole table of units is read for [`ORDERS`] orders of one line each.
async fn scans(stores: &Stores, index: &str) -> i64 {
    let flags = ["--unit-index", index, "--seqscan", "off_in_transaction", "--unit-call", "each"];
    let service = Service::open(stores, &flags);
    // Connections report their statistics when they end, at the latest; and an index is made by a scan, too.
    wait("the connection of the index ends", async || stores.cluster.number(OTHERS).await == 0).await;
    let before = stores.cluster.number(SCANS).await;
    for _ in 0..ORDERS {
        assert_eq!(service.order("pg-reserve-ticket", &[("b", 1)]).await.status, 200);
    }
    drop(service);
    wait("the connections of the service end", async || stores.cluster.number(OWN).await == 0).await;
    stores.cluster.number(SCANS).await - before
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn with_sequential_scans_forbidden_the_index_takes_their_place() {
    let stores = Stores::seeded(0, 20_000).await;
    assert!(scans(&stores, "off").await >= ORDERS, "there is no other way to find units");
    assert_eq!(scans(&stores, "on").await, 0);
}
