//! The defects of a shop that has a replica of PostgreSQL.

use testbed::{Cluster, wait};

use crate::fixture::Service;
use crate::stores::Stores;

/// A replica needs as many connections as its primary.
const SETTINGS: [&str; 3] = ["fsync=off", "max_connections=150", "log_statement=all"];
const SUMMARY: &str = "FROM order_lines WHERE id > ";

/// Statements that a service executed on a server, and that contain a text.
fn executed(server: &Cluster, service: &Service<'_>, text: &str) -> usize {
    let begin = format!("shop@{}: ", service.database);
    server.log().lines().filter(|line| line.starts_with(&begin) && line.contains(text)).count()
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn lists_are_read_on_the_replica_and_on_the_primary_with_the_defect() {
    let stores = Stores::seeded().await;
    let replica = stores.cluster.replica(&SETTINGS);
    for (defect, on_replica, on_primary) in [("none", 1, 0), ("reads-on-primary", 0, 1)] {
        let service = Service::with_replica(&stores, defect, &replica).await;
        let amounts = service.get("/amounts?after=0").await.json();
        let counts = amounts.as_array().unwrap().iter().map(|amount| amount[1].as_i64().unwrap());
        assert_eq!(counts.sum::<i64>(), 25_000);
        assert_eq!(service.get("/members/7/todos").await.json().as_array().unwrap().len(), 10);
        for text in [SUMMARY, "FROM todos WHERE member = "] {
            let seen = [&replica, &stores.cluster].map(|server| executed(server, &service, text));
            assert_eq!(seen, [on_replica, on_primary], "{defect}: {text}");
        }
    }
    let alone = Service::healthy(&stores).await;
    assert_eq!(alone.get("/amounts?after=0").await.status, 200);
    assert_eq!(executed(&stores.cluster, &alone, SUMMARY), 1);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_todo_is_missing_until_the_replica_has_it_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let replica = stores.cluster.replica(&SETTINGS);
    for (defect, status, on_replica) in [("none", 200, 1), ("stale-replica", 404, 2)] {
        let service = Service::with_replica(&stores, defect, &replica).await;
        replica.execute("SELECT pg_wal_replay_pause()").await;
        let added = service.post("/members/7/todos").await;
        assert_eq!(added.status, 201);
        let own = format!("/members/7/todos/{}", added.json()["id"]);
        assert_eq!(service.get(&own).await.status, status, "{defect}");
        // Who added nothing reads on the replica.
        assert_eq!(service.get("/members/8/todos/7").await.status, 200);
        assert_eq!(executed(&replica, &service, "FROM todos WHERE member = "), on_replica, "{defect}");
        replica.execute("SELECT pg_wal_replay_resume()").await;
        wait("the todo is there", async || service.get(&own).await.status == 200).await;
    }
}
