//! Responses of the API, for all settings of the switches.

use serde_json::json;

use crate::cluster;
use crate::fixture::{Service, succeed};
use testbed::wait;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_todo_is_created_shown_done_and_deleted_with_every_handler_and_insert() {
    let cluster = cluster::empty();
    for handler in ["threadpool", "async_blocking", "async"] {
        for insert in ["steps", "one", "group"] {
            for cache in ["off", "on"] {
                let flags = ["--handler", handler, "--insert", insert, "--list-cache", cache];
                let service = Service::open(&cluster, &flags).await;
                run_lifecycle(&service, &format!("{flags:?}")).await;
            }
        }
    }
}

async fn run_lifecycle(service: &Service, flags: &str) {
    let created = service.post(&json!({"name": "tea", "description": "hot", "done": false})).await;
    assert_eq!(created.status, 200, "{flags}: {created:?}");
    let todo = created.json();
    assert_eq!(
        (&todo["name"], &todo["description"], &todo["done"]),
        (&json!("tea"), &json!("hot"), &json!(false))
    );
    assert_eq!(todo["updated_at"], json!(null));
    let path = format!("/todos/{}", created.id());
    assert_eq!(service.get(&path).await.json(), todo, "{flags}");
    assert_eq!(service.ids().await, [created.id()], "{flags}");
    let done = service.put(&path, &json!({"done": true})).await;
    assert_eq!((done.status, &done.json()["done"]), (200, &json!(true)), "{flags}");
    assert_eq!(
        service.get("/todos/").await.json(),
        json!([done.json()]),
        "{flags}: the list shows the change"
    );
    assert_eq!(service.delete(&path).await.body, "\"OK\"", "{flags}");
    assert_eq!(service.ids().await, [0_i64; 0], "{flags}: what is deleted is gone");
    for response in [
        service.get(&path).await,
        service.delete(&path).await,
        service.put(&path, &json!({"done": true})).await,
    ] {
        assert_eq!((response.status, response.code().as_str()), (404, "unknown_todo"), "{flags}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn the_newest_come_first() {
    let cluster = cluster::empty();
    for cache in ["off", "on"] {
        let service = Service::open(&cluster, &["--list-cache", cache, "--list-limit", "3"]).await;
        for name in ["a", "b", "c", "d"] {
            service.create(name).await;
        }
        let ids = service.ids().await;
        assert!(ids.len() == 3 && ids.is_sorted_by(|a, b| a > b), "{cache}: {ids:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_list_shows_every_write_acknowledged_before_its_request() {
    let cluster = cluster::empty();
    for insert in ["one", "group"] {
        let flags = ["--list-cache", "on", "--insert", insert, "--list-limit", "none"];
        let service = Service::open(&cluster, &flags).await;
        let users = (0..8).map(async |user| {
            for round in 0..12 {
                let id = service.create(&format!("{user} {round}")).await;
                assert!(service.ids().await.contains(&id), "{insert}: what was made is there");
                if round % 4 == 3 {
                    assert_eq!(service.delete(&format!("/todos/{id}")).await.status, 200);
                    assert!(!service.ids().await.contains(&id), "{insert}: what was deleted is gone");
                }
            }
        });
        futures_util::future::join_all(users).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_cached_list_shows_writes_of_other_processes_and_of_people() {
    let cluster = cluster::empty();
    let (one, other) = (Service::open(&cluster, &[]).await, Service::open(&cluster, &[]).await);
    let id = one.create("by one").await;
    wait("the other one shows it", async || other.ids().await == [id]).await;
    assert_eq!(other.delete(&format!("/todos/{id}")).await.status, 200);
    wait("it is gone for one, too", async || one.ids().await.is_empty()).await;
    cluster.execute("INSERT INTO todos (name) VALUES ('by hand')").await;
    wait("both show it", async || one.ids().await.len() == 1 && other.ids().await.len() == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn concurrently_created_todos_each_get_their_own_response() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &["--insert", "group"]).await;
    let asked = (0..200).map(async |number| {
        let name = format!("todo {number}");
        let response = service.post(&json!({"name": name, "done": number % 2 == 0})).await;
        let todo = response.json();
        assert_eq!((&todo["name"], &todo["done"]), (&json!(name), &json!(number % 2 == 0)));
        response.id()
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
    let cluster = cluster::empty();
    cluster.connect().await;
    succeed(&["seed", "--postgres", &cluster.url(), "--rows", "1200"]);
    let service = Service::open(&cluster, &["--list-limit", "200"]).await;
    // 200 items of 136 bytes, 199 commas, two brackets.
    assert_eq!(service.get("/todos/").await.body.len(), 27_401);
    assert_eq!(service.ids().await[0], 1200, "the last is the newest");
}
