//! What callers get, whichever way the switches are.

use serde_json::json;

use crate::cluster::{Cluster, wait};
use crate::world::{Desk, succeed};

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_todo_is_made_shown_done_and_deleted_under_every_way_of_waiting_and_writing() {
    let cluster = Cluster::start();
    for handler in ["threadpool", "async_blocking", "async"] {
        for insert in ["steps", "one", "group"] {
            for cache in ["off", "on"] {
                let flags = ["--handler", handler, "--insert", insert, "--list-cache", cache];
                let desk = Desk::open(&cluster, &flags).await;
                one_life(&desk, &format!("{flags:?}")).await;
            }
        }
    }
}

async fn one_life(desk: &Desk, flags: &str) {
    let made = desk.post(&json!({"name": "tea", "description": "hot", "done": false})).await;
    assert_eq!(made.status, 200, "{flags}: {made:?}");
    let todo = made.json();
    assert_eq!(
        (&todo["name"], &todo["description"], &todo["done"]),
        (&json!("tea"), &json!("hot"), &json!(false))
    );
    assert_eq!(todo["updated_at"], json!(null));
    let path = format!("/todos/{}", made.id());
    assert_eq!(desk.get(&path).await.json(), todo, "{flags}");
    assert_eq!(desk.ids().await, [made.id()], "{flags}");
    let done = desk.put(&path, &json!({"done": true})).await;
    assert_eq!((done.status, &done.json()["done"]), (200, &json!(true)), "{flags}");
    assert_eq!(desk.get("/todos/").await.json(), json!([done.json()]), "{flags}: the list shows the change");
    assert_eq!(desk.delete(&path).await.body, "\"OK\"", "{flags}");
    assert_eq!(desk.ids().await, [0_i64; 0], "{flags}: what is deleted is gone");
    for answer in
        [desk.get(&path).await, desk.delete(&path).await, desk.put(&path, &json!({"done": true})).await]
    {
        assert_eq!((answer.status, answer.code().as_str()), (404, "unknown_todo"), "{flags}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn the_newest_come_first() {
    let cluster = Cluster::start();
    for cache in ["off", "on"] {
        let desk = Desk::open(&cluster, &["--list-cache", cache, "--list-limit", "3"]).await;
        for name in ["a", "b", "c", "d"] {
            desk.make(name).await;
        }
        let ids = desk.ids().await;
        assert!(ids.len() == 3 && ids.is_sorted_by(|a, b| a > b), "{cache}: {ids:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_list_shows_every_write_that_was_answered_before_it_was_asked_for() {
    let cluster = Cluster::start();
    for insert in ["one", "group"] {
        let flags = ["--list-cache", "on", "--insert", insert, "--list-limit", "none"];
        let desk = Desk::open(&cluster, &flags).await;
        let users = (0..8).map(async |user| {
            for round in 0..12 {
                let id = desk.make(&format!("{user} {round}")).await;
                assert!(desk.ids().await.contains(&id), "{insert}: what was made is there");
                if round % 4 == 3 {
                    assert_eq!(desk.delete(&format!("/todos/{id}")).await.status, 200);
                    assert!(!desk.ids().await.contains(&id), "{insert}: what was deleted is gone");
                }
            }
        });
        futures_util::future::join_all(users).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_list_in_memory_shows_what_other_processes_and_people_write() {
    let cluster = Cluster::start();
    let (one, other) = (Desk::open(&cluster, &[]).await, Desk::open(&cluster, &[]).await);
    let id = one.make("by one").await;
    wait("the other one shows it", async || other.ids().await == [id]).await;
    assert_eq!(other.delete(&format!("/todos/{id}")).await.status, 200);
    wait("it is gone for one, too", async || one.ids().await.is_empty()).await;
    cluster.execute("INSERT INTO todos (name) VALUES ('by hand')").await;
    wait("both show it", async || one.ids().await.len() == 1 && other.ids().await.len() == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn todos_made_at_a_time_each_get_their_own_answer() {
    let cluster = Cluster::start();
    let desk = Desk::open(&cluster, &["--insert", "group"]).await;
    let asked = (0..200).map(async |number| {
        let name = format!("todo {number}");
        let answer = desk.post(&json!({"name": name, "done": number % 2 == 0})).await;
        let todo = answer.json();
        assert_eq!((&todo["name"], &todo["done"]), (&json!(name), &json!(number % 2 == 0)));
        answer.id()
    });
    let mut ids = futures_util::future::join_all(asked).await;
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 200, "no two have one id");
    assert_eq!(cluster.number("SELECT count(*) FROM todos").await, 200);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_seed_has_the_published_size() {
    let cluster = Cluster::start();
    cluster.connect().await;
    succeed(&["seed", "--postgres", &cluster.url(), "--rows", "1200"]);
    let desk = Desk::open(&cluster, &["--list-limit", "200"]).await;
    // 200 items of 136 bytes, 199 commas, two brackets.
    assert_eq!(desk.get("/todos/").await.body.len(), 27_401);
    assert_eq!(desk.ids().await[0], 1200, "the last is the newest");
}
