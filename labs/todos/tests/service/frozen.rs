//! PostgreSQL stalls and resumes later: requests time out, and the cached list equals the table afterwards.

use std::process::Command;

use serde_json::json;

use crate::cluster;
use crate::fixture::Service;
use testbed::{Cluster, signal, wait};

/// Idle sessions of services, which hold no locks.
const IDLE: &str = "FROM pg_stat_activity WHERE application_name = 'todos' AND wait_event = 'ClientRead'";

/// Sessions stopped by SIGSTOP: statements sent to them wait. They continue when this is dropped.
struct Frozen(Vec<i32>);

impl Frozen {
    async fn sessions(cluster: &Cluster) -> Self {
        wait("a session is idle", async || cluster.number(&format!("SELECT count(*) {IDLE}")).await > 0)
            .await;
        let rows = cluster.connect().await.query(&format!("SELECT pid {IDLE}"), &[]).await.unwrap();
        let sessions: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
        for session in &sessions {
            signal(session.unsigned_abs(), "STOP");
        }
        Self(sessions)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        for session in &self.0 {
            // A session may have ended.
            let _ = Command::new("kill").args(["-s", "CONT", &session.to_string()]).status();
        }
    }
}

/// Waits until lists are served from the cache.
async fn wait_until_cached(service: &Service) {
    wait("the list is kept", async || {
        let before = service.metric("todos_list_hits_total").await;
        service.get("/todos/").await;
        service.metric("todos_list_hits_total").await > before
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn group_commit_continues_without_a_stalled_session_and_the_list_shows_its_late_write() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &["--insert", "group", "--store-timeout-ms", "500"]).await;
    let create = async || service.post(&json!({"name": "tea"})).await.status == 200;
    wait("there is a session", create).await;
    let frozen = Frozen::sessions(&cluster).await;
    let lost = service.post(&json!({"name": "lost"})).await;
    assert_eq!((lost.status, lost.code().as_str()), (503, "store_unavailable"));
    wait("others are written", create).await;
    wait_until_cached(&service).await;
    let session = frozen.0[0];
    drop(frozen);
    let there = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {session}");
    wait("it has done what it was sent and found nobody there", async || cluster.number(&there).await == 0)
        .await;
    let sql = "SELECT id::bigint FROM todos ORDER BY created_at DESC, id DESC";
    wait("the list is the table's", async || {
        let rows = cluster.connect().await.query(sql, &[]).await.unwrap();
        let table: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        service.ids().await == table
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_write_without_a_connection_does_not_clear_the_cached_list() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &["--pool-max", "1", "--store-timeout-ms", "2000"]).await;
    let id = service.create("tea").await;
    let frozen = Frozen::sessions(&cluster).await;
    // This write holds the only connection, even after its request timed out.
    let change = service.put(&format!("/todos/{id}"), &json!({"done": true})).await;
    assert_eq!(change.status, 503, "{change:?}");
    let refused = service.post(&json!({})).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "store_unavailable"));
    drop(frozen);
    wait("writes go on", async || service.post(&json!({})).await.status == 200).await;
    wait_until_cached(&service).await;
    let loads = service.metric("todos_list_loads_total").await;
    for _ in 0..5 {
        let id = service.create("tea").await;
        assert_eq!(service.ids().await[0], id);
    }
    assert_eq!(service.metric("todos_list_loads_total").await, loads, "its own todos do not empty the list");
}
