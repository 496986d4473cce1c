//! Operation: health, graceful shutdown, clear errors, metrics, and store outages.

use serde_json::json;

use crate::cluster;
use crate::fixture::{LONG_TIMEOUT, Service, command, fail, send, succeed};
use testbed::{TIMEOUT, signal, wait};

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn without_postgres_it_is_healthy_not_ready_and_refuses_with_503() {
    let mut cluster = cluster::empty();
    let service = Service::open(&cluster, &[]).await;
    assert_eq!((service.get("/ready").await.status, service.get("/").await.body.as_str()), (200, "OK"));
    cluster.stop_immediately();
    wait("not ready", async || service.get("/ready").await.status == 503).await;
    assert_eq!((service.get("/health").await.status, service.get("/").await.status), (200, 503));
    for response in
        [service.get("/todos/").await, service.post(&json!({})).await, service.delete("/todos/1").await]
    {
        assert_eq!((response.status, response.code().as_str()), (503, "store_unavailable"));
        assert!(
            !response.body.contains("127.0.0.1"),
            "where the store is, is nobody's business: {response:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_shutdown_finishes_the_write_in_progress() {
    let cluster = cluster::empty();
    for flags in [["--insert", "group"], ["--handler", "threadpool"]] {
        let mut service =
            Service::open(&cluster, &[&flags[..], &LONG_TIMEOUT, &["--grace", "60"]].concat()).await;
        let mut blocking_client = cluster.connect().await;
        let blocking_transaction = blocking_client.transaction().await.unwrap();
        blocking_transaction.batch_execute("LOCK TABLE todos").await.unwrap();
        let (process, url) = (service.process.id(), service.url.clone());
        let stopping = async {
            let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
            wait("the write waits", async || cluster.number(waits).await == 1).await;
            signal(process, "TERM");
            wait("no new callers", async || reqwest::get(format!("{url}/health")).await.is_err()).await;
            blocking_transaction.rollback().await.unwrap();
        };
        let (id, ()) = tokio::join!(service.create("last"), stopping);
        let ended = tokio::task::spawn_blocking(move || service.process.0.wait().unwrap());
        let ended = tokio::time::timeout(TIMEOUT, ended).await.unwrap().unwrap();
        assert!(ended.success());
        assert_eq!(cluster.number(&format!("SELECT count(*) FROM todos WHERE id = {id}")).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn startup_errors_have_a_hint_and_do_not_show_the_password() {
    let cluster = cluster::empty();
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
async fn serve_changes_no_schema_and_names_the_command_that_does() {
    let cluster = cluster::empty();
    cluster.connect().await;
    let url = cluster.url();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--postgres", &url];
    let error = fail(&serve);
    assert!(
        error.contains("lacks 2 of the migrations") && error.contains("hint: run `todos migrate"),
        "{error}"
    );
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(cluster.number(tables).await, 0);
    assert_eq!(succeed(&["migrate", "--postgres", &url]).trim(), "2 steps applied");
    cluster.execute("DELETE FROM schema_migrations WHERE version = 2").await;
    let error = fail(&serve);
    assert!(error.contains("lacks 1 of the migrations"), "an earlier version: {error}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_schema_is_migrated_once_by_concurrent_commands() {
    let cluster = cluster::empty();
    let opened = futures_util::future::join_all((0..4).map(|_| Service::open(&cluster, &[]))).await;
    assert_eq!(cluster.number("SELECT count(*) FROM schema_migrations").await, 2);
    for service in &opened {
        service.create("tea").await;
    }
    assert_eq!(succeed(&["migrate", "--postgres", &cluster.url()]).trim(), "0 steps applied");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn processes_that_start_concurrently_create_the_rows_once_and_all_serve() {
    let cluster = cluster::empty();
    cluster.connect().await;
    succeed(&["migrate", "--postgres", &cluster.url()]);
    // The lock blocks the creation of rows, and in the second round, without rows, of the trigger.
    for flags in [&["--rows", "300"][..], &[]] {
        let mut blocking_client = cluster.connect().await;
        let blocking_transaction = blocking_client.transaction().await.unwrap();
        blocking_transaction.batch_execute("LOCK TABLE todos IN SHARE MODE").await.unwrap();
        let opening = futures_util::future::join_all((0..4).map(|_| Service::open(&cluster, flags)));
        let looking = async {
            let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
            wait("all of them wait", async || cluster.number(waits).await == 4).await;
            blocking_transaction.rollback().await.unwrap();
        };
        let (opened, ()) = tokio::join!(opening, looking);
        for service in &opened {
            assert_eq!(service.get("/ready").await.status, 200);
        }
        assert_eq!(cluster.number("SELECT count(*) FROM todos").await, 300);
    }
}

#[test]
fn help_does_not_show_a_password_of_the_environment() {
    let mut help = command(&["serve", "--help"]);
    let secret = "postgres://postgres:geheim@127.0.0.1/postgres";
    let output = help.env("TODOS_POSTGRES", secret).env("TODOS_REPLICA", secret).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("TODOS_POSTGRES") && help.contains("TODOS_REPLICA"), "{help}");
    assert!(!help.contains("geheim"), "{help}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn metrics_count_responses_by_route_not_by_path() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &[]).await;
    for id in 1..=20 {
        service.get(&format!("/todos/{id}")).await;
        service.get(&format!("/nothing/{id}")).await;
    }
    let name =
        |route: &str| format!("todos_requests_total{{route=\"{route}\",method=\"GET\",status=\"404\"}}");
    assert_eq!(service.metric(&name("/todos/{id}")).await, 20);
    assert_eq!(service.metric(&name("none")).await, 20);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_browser_gets_the_page_which_loads_nothing_from_other_sites() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &[]).await;
    let page = send(service.request(reqwest::Method::GET, "/").header("accept", "text/html,*/*")).await;
    assert!(page.status == 200 && page.body.starts_with("<!doctype html>"), "{page:?}");
    assert!(!page.body.contains("http://") && !page.body.contains("https://"));
}
