//! The defects of tallies and codes.

use findings::tallies::INCREMENTS;
use futures_util::future::join_all;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn increments_are_sent_at_once_and_one_by_one_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_single) in [("none", false), ("increment-per-call", true)] {
        let service = Service::with(&stores, defect).await;
        stores.redis.command::<()>(&["CONFIG", "RESETSTAT"]).await;
        assert_eq!(service.post("/tallies/4990").await.status, 201, "{defect}");
        assert_eq!(stores.redis_calls("hincrby").await, INCREMENTS, "{defect}");
        // What is sent at once is read at once.
        let reads = stores.redis_figure("total_reads_processed").await;
        assert_eq!(reads >= INCREMENTS, is_single, "{defect}: {reads}");
        for (product, count) in [("4990", Some(1)), ("29", Some(1)), ("30", None)] {
            let counted: Option<u64> = stores.redis.command(&["HGET", "sold:month", product]).await;
            assert_eq!(counted, count, "{defect} {product}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn codes_wait_for_a_replica_on_connections_of_their_own_and_on_the_shared_one_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_shared) in [("none", false), ("replica-wait", true)] {
        let service = Service::with(&stores, defect).await;
        stores.redis.command::<()>(&["CONFIG", "RESETSTAT"]).await;
        let before = stores.redis_figure("total_connections_received").await;
        for redeemed in join_all((0..8).map(|_| service.post("/codes/7"))).await {
            assert_eq!((redeemed.status, redeemed.json()["replicas"].as_u64()), (200, Some(0)), "{defect}");
        }
        // The question itself is one connection.
        let opened = stores.redis_figure("total_connections_received").await - before - 1;
        assert_eq!(opened == 0, is_shared, "{defect}: {opened}");
        assert_eq!(stores.redis_calls("wait").await, 8, "{defect}");
        assert_eq!(stores.redis.command::<u64>(&["GET", "redeemed:7"]).await, 1, "{defect}");
    }
}
