//! PostgreSQL stands still and goes on later: nobody waits for it for ever, and the list in memory is the table's.

use std::process::Command;

use serde_json::json;

use crate::cluster::{Cluster, signal, wait};
use crate::world::Desk;

/// Sessions of services that wait for the next statement, and so hold nothing that others need.
const IDLE: &str = "FROM pg_stat_activity WHERE application_name = 'todos' AND wait_event = 'ClientRead'";

/// Sessions that were stopped where they are: what is sent to them waits. They go on when this is dropped.
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
            // One may be gone, and a test that fails has told why already.
            let _ = Command::new("kill").args(["-s", "CONT", &session.to_string()]).status();
        }
    }
}

/// Waits until lists are answered from memory.
async fn kept(desk: &Desk) {
    wait("the list is kept", async || {
        let before = desk.figure("todos_list_hits_total").await;
        desk.get("/todos/").await;
        desk.figure("todos_list_hits_total").await > before
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_group_goes_on_without_a_session_that_stands_still_and_the_list_shows_what_that_writes_later() {
    let cluster = Cluster::start();
    let desk = Desk::open(&cluster, &["--insert", "group", "--store-timeout-ms", "500"]).await;
    let make = async || desk.post(&json!({"name": "tea"})).await.status == 200;
    wait("there is a session", make).await;
    let frozen = Frozen::sessions(&cluster).await;
    let lost = desk.post(&json!({"name": "lost"})).await;
    assert_eq!((lost.status, lost.code().as_str()), (503, "store_unavailable"));
    wait("others are written", make).await;
    kept(&desk).await;
    let session = frozen.0[0];
    drop(frozen);
    let there = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {session}");
    wait("it has done what it was sent and found nobody there", async || cluster.number(&there).await == 0)
        .await;
    let sql = "SELECT id::bigint FROM todos ORDER BY created_at DESC, id DESC";
    wait("the list is the table's", async || {
        let rows = cluster.connect().await.query(sql, &[]).await.unwrap();
        let table: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        desk.ids().await == table
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn who_gets_no_connection_leaves_no_doubt_behind_and_the_list_stays_in_memory() {
    let cluster = Cluster::start();
    let desk = Desk::open(&cluster, &["--pool-max", "1", "--store-timeout-ms", "2000"]).await;
    let id = desk.make("tea").await;
    let frozen = Frozen::sessions(&cluster).await;
    // It has the only connection, and keeps it whoever stops waiting.
    let change = desk.put(&format!("/todos/{id}"), &json!({"done": true})).await;
    assert_eq!(change.status, 503, "{change:?}");
    let refused = desk.post(&json!({})).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "store_unavailable"));
    drop(frozen);
    wait("writes go on", async || desk.post(&json!({})).await.status == 200).await;
    kept(&desk).await;
    let loads = desk.figure("todos_list_loads_total").await;
    for _ in 0..5 {
        let id = desk.make("tea").await;
        assert_eq!(desk.ids().await[0], id);
    }
    assert_eq!(desk.figure("todos_list_loads_total").await, loads, "its own todos do not empty the list");
}
