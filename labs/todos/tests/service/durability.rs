//! Acknowledged todos survive a kill of the service and a failover to the replica.
//!
//! Short by default; `TODOS_KILLS=50` makes it long.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;

use crate::cluster;
use crate::fixture::Service;
use testbed::{Cluster, wait};

/// Acknowledged todos: ids and names.
type Acknowledged = Arc<Mutex<Vec<(i64, String)>>>;

fn rounds() -> usize {
    std::env::var("TODOS_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn acknowledged_todos_survive_when_the_service_is_killed() {
    let cluster = cluster::empty();
    let acknowledged = Acknowledged::default();
    for round in 0..rounds() {
        let insert = ["group", "one", "steps"][round % 3];
        let mut service = Service::open(&cluster, &["--insert", insert]).await;
        let users = spawn_writers(&service, &acknowledged, round);
        let before = acknowledged.lock().len();
        wait("some are answered", async || acknowledged.lock().len() > before + 100).await;
        service.process.kill();
        for user in users {
            user.await.unwrap();
        }
        assert_all_there(&cluster, &acknowledged, insert).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn the_replica_has_every_acknowledged_todo_when_it_takes_over() {
    for round in 0..rounds().div_ceil(3) {
        for insert in ["group", "one"] {
            let mut cluster = cluster::empty_synchronous();
            cluster.connect().await;
            let replica = cluster::replica(&cluster);
            let flags = ["--insert", insert, "--commit", "on"];
            let mut service = Service::open_with(&cluster, &replica, &flags).await;
            let acknowledged = Acknowledged::default();
            let users = spawn_writers(&service, &acknowledged, round);
            wait("some are answered", async || acknowledged.lock().len() > 200).await;
            cluster.stop_immediately();
            for user in users {
                user.await.unwrap();
            }
            service.process.kill();
            replica.promote();
            assert_all_there(&replica, &acknowledged, insert).await;
            // The promoted replica accepts writes.
            let service = Service::open(&replica, &[]).await;
            service.create("after").await;
        }
    }
}

/// Starts eight virtual users that create todos until a request fails.
fn spawn_writers(
    service: &Service,
    acknowledged: &Acknowledged,
    round: usize,
) -> Vec<tokio::task::JoinHandle<()>> {
    let user = |user: usize| {
        let (acknowledged, url) = (Arc::clone(acknowledged), format!("{}/todos/", service.url));
        async move {
            let client = reqwest::Client::builder().timeout(Duration::from_secs(20)).build().unwrap();
            for number in 0.. {
                let name = format!("{round} {user} {number}");
                let Ok(response) = client.post(&url).json(&json!({"name": name})).send().await else {
                    return;
                };
                if response.status() != 200 {
                    return;
                }
                let Ok(todo) = response.json::<serde_json::Value>().await else { return };
                acknowledged.lock().push((todo["id"].as_i64().unwrap(), name));
            }
        }
    };
    (0..8).map(|number| tokio::spawn(user(number))).collect()
}

async fn assert_all_there(cluster: &Cluster, acknowledged: &Acknowledged, insert: &str) {
    let rows = cluster.connect().await.query("SELECT id::bigint, name FROM todos", &[]).await.unwrap();
    let there: std::collections::HashMap<i64, String> =
        rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let acknowledged = acknowledged.lock().clone();
    for (id, name) in &acknowledged {
        assert_eq!(there.get(id), Some(name), "{insert}: todo {id} was answered");
    }
}
