//! What was answered is kept: whoever is killed, and whoever takes over.
//!
//! Short here; `TODOS_KILLS=50` makes it long.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;

use crate::cluster::{Cluster, wait};
use crate::world::Desk;

/// What was answered so far: ids and names.
type Known = Arc<Mutex<Vec<(i64, String)>>>;

fn rounds() -> usize {
    std::env::var("TODOS_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn acknowledged_todos_survive_when_the_service_is_killed() {
    let cluster = Cluster::start();
    let known = Known::default();
    for round in 0..rounds() {
        let insert = ["group", "one", "steps"][round % 3];
        let mut desk = Desk::open(&cluster, &["--insert", insert]).await;
        let users = writing(&desk, &known, round);
        let before = known.lock().len();
        wait("some are answered", async || known.lock().len() > before + 100).await;
        desk.process.kill();
        for user in users {
            user.await.unwrap();
        }
        assert_all_there(&cluster, &known, insert).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn the_replica_has_every_acknowledged_todo_when_it_takes_over() {
    for round in 0..rounds().div_ceil(3) {
        for insert in ["group", "one"] {
            let mut cluster = Cluster::start_synchronous();
            cluster.connect().await;
            let replica = cluster.replica();
            let flags = ["--insert", insert, "--commit", "on"];
            let mut desk = Desk::open_with(&cluster, &replica, &flags).await;
            let known = Known::default();
            let users = writing(&desk, &known, round);
            wait("some are answered", async || known.lock().len() > 200).await;
            cluster.die();
            for user in users {
                user.await.unwrap();
            }
            desk.process.kill();
            replica.promote();
            assert_all_there(&replica, &known, insert).await;
            // And it takes writes.
            let desk = Desk::open(&replica, &[]).await;
            desk.make("after").await;
        }
    }
}

/// Eight users who make todos until they fail.
fn writing(desk: &Desk, known: &Known, round: usize) -> Vec<tokio::task::JoinHandle<()>> {
    let user = |user: usize| {
        let (known, url) = (Arc::clone(known), format!("{}/todos/", desk.url));
        async move {
            let client = reqwest::Client::builder().timeout(Duration::from_secs(20)).build().unwrap();
            for number in 0.. {
                let name = format!("{round} {user} {number}");
                let Ok(answer) = client.post(&url).json(&json!({"name": name})).send().await else { return };
                if answer.status() != 200 {
                    return;
                }
                let Ok(todo) = answer.json::<serde_json::Value>().await else { return };
                known.lock().push((todo["id"].as_i64().unwrap(), name));
            }
        }
    };
    (0..8).map(|number| tokio::spawn(user(number))).collect()
}

async fn assert_all_there(cluster: &Cluster, known: &Known, insert: &str) {
    let rows = cluster.connect().await.query("SELECT id::bigint, name FROM todos", &[]).await.unwrap();
    let there: std::collections::HashMap<i64, String> =
        rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let known = known.lock().clone();
    for (id, name) in &known {
        assert_eq!(there.get(id), Some(name), "{insert}: todo {id} was answered");
    }
}
