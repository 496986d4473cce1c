//! What the people who run it get: health, a graceful stop, clear errors, figures, and a store that went away.

use serde_json::json;

use crate::cluster::{Cluster, PATIENCE, signal, wait};
use crate::world::{Desk, PATIENT, command, fail, send, succeed};

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn without_postgres_it_is_alive_and_not_ready_and_refuses_with_503() {
    let mut cluster = Cluster::start();
    let desk = Desk::open(&cluster, &[]).await;
    assert_eq!((desk.get("/ready").await.status, desk.get("/").await.body.as_str()), (200, "OK"));
    cluster.die();
    wait("not ready", async || desk.get("/ready").await.status == 503).await;
    assert_eq!((desk.get("/health").await.status, desk.get("/").await.status), (200, 503));
    for answer in [desk.get("/todos/").await, desk.post(&json!({})).await, desk.delete("/todos/1").await] {
        assert_eq!((answer.status, answer.code().as_str()), (503, "store_unavailable"));
        assert!(!answer.body.contains("127.0.0.1"), "where the store is, is nobody's business: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_stop_finishes_the_todo_that_is_being_written() {
    let cluster = Cluster::start();
    for flags in [["--insert", "group"], ["--handler", "threadpool"]] {
        let mut desk = Desk::open(&cluster, &[&flags[..], &PATIENT, &["--grace", "60"]].concat()).await;
        let mut holder = cluster.connect().await;
        let held = holder.transaction().await.unwrap();
        held.batch_execute("LOCK TABLE todos").await.unwrap();
        let (process, url) = (desk.process.0.id(), desk.url.clone());
        let stopping = async {
            let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
            wait("the write waits", async || cluster.number(waits).await == 1).await;
            signal(process, "TERM");
            wait("no new callers", async || reqwest::get(format!("{url}/health")).await.is_err()).await;
            held.rollback().await.unwrap();
        };
        let (id, ()) = tokio::join!(desk.make("last"), stopping);
        let ended = tokio::task::spawn_blocking(move || desk.process.0.wait().unwrap());
        let ended = tokio::time::timeout(PATIENCE, ended).await.unwrap().unwrap();
        assert!(ended.success());
        assert_eq!(cluster.number(&format!("SELECT count(*) FROM todos WHERE id = {id}")).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn what_is_wrong_at_the_start_is_said_with_a_hint_and_without_the_password() {
    let cluster = Cluster::start();
    cluster.connect().await;
    let url = cluster.url();
    let secret = url.replace("postgres@", "postgres:geheim@").replace("/postgres", "/missing");
    let error = fail(&["serve", "--listen", "127.0.0.1:0", "--postgres", &secret]);
    assert!(error.contains("error: ") && error.contains("hint: start PostgreSQL"), "{error}");
    assert!(!error.contains("geheim"), "{error}");
    let secret = format!("{}?password=geheim", url.replace("/postgres", "/missing"));
    let error = fail(&["serve", "--listen", "127.0.0.1:0", "--postgres", &secret]);
    assert!(error.contains("hint: start PostgreSQL") && !error.contains("geheim"), "{error}");
    let error = fail(&["serve", "--listen", "127.0.0.1:0", "--postgres", &url, "--replica-reads", "on"]);
    assert!(error.contains("without its address") && error.contains("hint: name it"), "{error}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = fail(&["serve", "--listen", &taken.local_addr().unwrap().to_string(), "--postgres", &url]);
    assert!(error.contains("cannot listen on"), "{error}");
    succeed(&["seed", "--postgres", &url, "--rows", "10"]);
    let error = fail(&["seed", "--postgres", &url, "--rows", "10"]);
    assert!(error.contains("holds todos already") && error.contains("hint: --replace"), "{error}");
    succeed(&["seed", "--postgres", &url, "--rows", "20", "--replace"]);
    assert_eq!(cluster.number("SELECT max(id)::bigint FROM todos").await, 20);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_schema_is_migrated_once_however_many_start_at_a_time() {
    let cluster = Cluster::start();
    let opened = futures_util::future::join_all((0..4).map(|_| Desk::open(&cluster, &[]))).await;
    assert_eq!(cluster.number("SELECT count(*) FROM schema_migrations").await, 2);
    for desk in &opened {
        desk.make("tea").await;
    }
    assert_eq!(succeed(&["migrate", "--postgres", &cluster.url()]).trim(), "0 steps applied");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn processes_that_start_together_make_the_rows_once_and_all_of_them_serve() {
    let cluster = Cluster::start();
    cluster.connect().await;
    succeed(&["migrate", "--postgres", &cluster.url()]);
    // Held up before the rows are made, and then, when nobody asks for any, before the trigger is.
    for flags in [&["--rows", "300"][..], &[]] {
        let mut holder = cluster.connect().await;
        let held = holder.transaction().await.unwrap();
        held.batch_execute("LOCK TABLE todos IN SHARE MODE").await.unwrap();
        let opening = futures_util::future::join_all((0..4).map(|_| Desk::open(&cluster, flags)));
        let looking = async {
            let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
            wait("all of them wait", async || cluster.number(waits).await == 4).await;
            held.rollback().await.unwrap();
        };
        let (opened, ()) = tokio::join!(opening, looking);
        for desk in &opened {
            assert_eq!(desk.get("/ready").await.status, 200);
        }
        assert_eq!(cluster.number("SELECT count(*) FROM todos").await, 300);
    }
}

#[test]
fn the_password_of_the_environment_is_not_shown_by_help() {
    let mut help = command(&["serve", "--help"]);
    let secret = "postgres://postgres:geheim@127.0.0.1/postgres";
    let output = help.env("TODOS_POSTGRES", secret).env("TODOS_REPLICA", secret).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("TODOS_POSTGRES") && help.contains("TODOS_REPLICA"), "{help}");
    assert!(!help.contains("geheim"), "{help}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn figures_count_what_was_answered_by_route_and_not_by_path() {
    let cluster = Cluster::start();
    let desk = Desk::open(&cluster, &[]).await;
    for id in 1..=20 {
        desk.get(&format!("/todos/{id}")).await;
        desk.get(&format!("/nothing/{id}")).await;
    }
    let name =
        |route: &str| format!("todos_requests_total{{route=\"{route}\",method=\"GET\",status=\"404\"}}");
    assert_eq!(desk.figure(&name("/todos/{id}")).await, 20);
    assert_eq!(desk.figure(&name("none")).await, 20);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_browser_gets_the_page_and_it_loads_nothing_from_elsewhere() {
    let cluster = Cluster::start();
    let desk = Desk::open(&cluster, &[]).await;
    let page = send(desk.request(reqwest::Method::GET, "/").header("accept", "text/html,*/*")).await;
    assert!(page.status == 200 && page.body.starts_with("<!doctype html>"), "{page:?}");
    assert!(!page.body.contains("http://") && !page.body.contains("https://"));
}
