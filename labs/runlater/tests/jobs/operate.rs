//! Operations: health, graceful stop, errors, metrics, and store failures.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;

use crate::cluster;
use crate::receiver::Stub;
use crate::world::{KEY, Node, fail, seed, succeed};
use testbed::{signal, wait};

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn without_postgres_it_is_alive_and_not_ready_and_refuses_with_503() {
    let mut cluster = cluster::empty();
    for path in ["two_inserts", "group"] {
        let node = Node::seeded(&cluster, &["--create-path", path]).await;
        assert_eq!(node.get("/ready").await.status, 200);
        node.get("/api/v1/tasks").await;
        cluster.stop_immediately();
        wait("not ready", async || node.get("/ready").await.status == 503).await;
        assert_eq!(node.get("/health").await.status, 200);
        let task = json!({"url": "http://127.0.0.1:9/"});
        for answer in [node.get("/api/v1/tasks").await, node.post("/api/v1/tasks", &task).await] {
            assert_eq!((answer.status, answer.code().as_str()), (503, "service_unavailable"));
            assert_eq!(answer.headers["retry-after"], "5");
            assert!(
                !answer.body.contains("127.0.0.1"),
                "where the store is, is nobody's business: {answer:?}"
            );
        }
        cluster.restart();
        wait("ready again", async || node.get("/ready").await.status == 200).await;
        wait("it serves again", async || node.post("/api/v1/tasks", &task).await.status == 202).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_stop_finishes_calls_in_progress_and_starts_no_others() {
    let cluster = cluster::empty();
    for flags in [
        &["--max-workers", "4"][..],
        &["--max-workers", "4", "--claim-query", "single", "--store-result", "each"],
    ] {
        let stub = Stub::start(&["--delay", "3s"]);
        let mut node = Node::seeded(&cluster, flags).await;
        join_all((0..12).map(|_| node.call(&stub.url))).await;
        wait("calls are under way", async || stub.count("open").await >= 1).await;
        signal(node.process.id(), "TERM");
        let ended = tokio::task::spawn_blocking(move || node.process.0.wait().unwrap());
        let ended = tokio::time::timeout(Duration::from_secs(30), ended).await.unwrap().unwrap();
        assert!(ended.success());
        let called = i64::try_from(stub.count("calls").await).unwrap();
        let count = async |status: &str| {
            cluster.number(&format!("SELECT count(*) FROM executions WHERE status = '{status}'")).await
        };
        assert_eq!(count("success").await, called, "each call has its result");
        assert_eq!((count("running").await, count("pending").await), (0, 12 - called));
        assert!(called < 12, "nothing new was begun: {called}");
        assert_eq!(cluster.number("SELECT count(*) FROM nodes").await, 0);
        let counted = "SELECT monthly_execution_count::bigint FROM organizations";
        assert_eq!(cluster.number(counted).await, called, "what waited to be written is written");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_stop_gives_back_executions_that_exceed_the_grace_period() {
    let cluster = cluster::empty();
    let stub = Stub::start(&["--delay", "600s"]);
    let mut node = Node::seeded(&cluster, &["--grace", "0"]).await;
    node.call(&stub.url).await;
    wait("the call is under way", async || stub.count("open").await == 1).await;
    signal(node.process.id(), "TERM");
    let ended = tokio::task::spawn_blocking(move || node.process.0.wait().unwrap());
    tokio::time::timeout(Duration::from_secs(30), ended).await.unwrap().unwrap();
    assert_eq!(cluster.number("SELECT count(*) FROM executions WHERE status = 'pending'").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn startup_errors_come_with_a_hint_and_without_the_password() {
    let cluster = cluster::empty();
    cluster.connect().await;
    let url = cluster.url();
    let secret = url.replace("postgres@", "postgres:geheim@").replace("/postgres", "/missing");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--postgres"];
    let error = fail(&[&serve[..], &[&secret]].concat());
    assert!(error.contains("error: ") && error.contains("hint: start PostgreSQL"), "{error}");
    assert!(!error.contains("geheim"), "{error}");
    let error = fail(&[&serve[..], &[&url]].concat());
    assert!(
        error.contains("lacks 2 of the migrations") && error.contains("hint: run `runlater migrate"),
        "{error}"
    );
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(cluster.number(tables).await, 0, "serve changes no schema");
    assert_eq!(succeed(&["migrate", "--postgres", &url]).trim(), "2 steps applied");
    let error = fail(&[&serve[..], &[&url, "--ca", "/no/such/file"]].concat());
    assert!(error.contains("/no/such/file") && error.contains("hint: --ca"), "{error}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = fail(&["serve", "--postgres", &url, "--listen", &taken.local_addr().unwrap().to_string()]);
    assert!(error.contains("cannot listen on"), "{error}");
    let key = succeed(&["seed", "--postgres", &url, "--tasks", "3", "--executions", "2"]);
    assert!(runlater::key::split(key.trim()).is_some(), "{key}");
    assert_eq!(cluster.number("SELECT count(*) FROM executions WHERE status = 'success'").await, 6);
    let error = fail(&["seed", "--postgres", &url]);
    assert!(error.contains("holds organizations already") && error.contains("hint: --replace"), "{error}");
    let error = fail(&["seed", "--postgres", &url, "--replace", "--key", "half"]);
    assert!(error.contains("ID.SECRET"), "{error}");
    let key = succeed(&["seed", "--postgres", &url, "--tasks", "2", "--replace", "--key", KEY]);
    assert_eq!((key.trim(), cluster.number("SELECT count(*) FROM tasks").await), (KEY, 2));
    assert_eq!(cluster.number("SELECT count(*) FROM api_keys WHERE key_hash LIKE '%sk_live%'").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_schema_is_migrated_once_however_many_start_at_a_time() {
    let cluster = cluster::empty();
    cluster.connect().await;
    let nodes = join_all((0..4).map(|_| Node::open(&cluster, &[]))).await;
    assert_eq!(cluster.number("SELECT count(*) FROM schema_migrations").await, 2, "a row for each step");
    assert_eq!(nodes.len(), 4);
    assert_eq!(succeed(&["migrate", "--postgres", &cluster.url()]).trim(), "0 steps applied");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn metrics_report_requests_by_route_backlog_and_lags() {
    let cluster = cluster::empty();
    seed(&cluster, 5).await;
    let desk = Node::open(&cluster, &["--role", "api"]).await;
    for _ in 0..3 {
        desk.create(&json!({"url": "http://127.0.0.1:9/", "retry_attempts": 1})).await;
    }
    desk.create(&json!({"url": "http://127.0.0.1:9/", "delay": "1h"})).await;
    for id in 0..4 {
        desk.get(&format!("/api/v1/tasks/{id}")).await;
        desk.get(&format!("/nothing/{id}")).await;
    }
    assert_eq!(
        [desk.figure("runlater_backlog").await, desk.figure("runlater_executions_later").await],
        [3, 1]
    );
    let not_found =
        |route: &str| format!("runlater_requests_total{{route=\"{route}\",method=\"GET\",status=\"404\"}}");
    assert_eq!(desk.figure(&not_found("/api/v1/tasks/{id}")).await, 4);
    assert_eq!(desk.figure(&not_found("none")).await, 4);
    let node = Node::open(&cluster, &["--role", "worker"]).await;
    assert_eq!(node.get("/api/v1/tasks").await.status, 404, "it only works");
    let failed = "runlater_executions_ended_total{status=\"failed\"}";
    wait("all have failed", async || node.figure(failed).await == 3).await;
    assert_eq!(node.figure("runlater_start_lag_seconds_count").await, 3);
    let stats = node.get("/stats").await.json();
    assert_eq!((&stats["backlog"]["due"], &stats["node"]["failed"]), (&json!(0), &json!(3)));
    assert!(stats["node"]["start_lag_ms"]["p99"].as_f64().unwrap() > 0.0, "{stats}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn old_executions_and_keys_are_deleted_by_the_tier_of_their_organization() {
    let cluster = cluster::empty();
    seed(&cluster, 6).await;
    cluster
        .execute(
            // Makes three of them look as if created in 2023 and run a week ago.
            "CREATE TEMP TABLE old AS SELECT id FROM tasks ORDER BY id LIMIT 3; \
             UPDATE executions SET scheduled_for = now() - interval '8 days', \
             id = ('018bcfe5-6800-7000-8000-' || right(id::text, 12))::uuid, \
             task_id = ('018bcfe5-6800-7000-8000-' || right(task_id::text, 12))::uuid \
             WHERE task_id IN (SELECT id FROM old); \
             UPDATE tasks t SET scheduled_at = now() - interval '8 days', \
             id = ('018bcfe5-6800-7000-8000-' || right(id::text, 12))::uuid WHERE id IN (SELECT id FROM old); \
             INSERT INTO idempotency_keys SELECT id, 'old', '', 200, '', now() - interval '25 hours' FROM organizations; \
             INSERT INTO idempotency_keys SELECT id, 'new', '', 200, '', now() FROM organizations; \
             UPDATE organizations SET monthly_execution_count = 9, monthly_execution_reset_at = now() - interval '40 days'",
        )
        .await;
    let flags = ["--role", "api", "--cleaner-ms", "20"];
    let node = Node::open(&cluster, &flags).await;
    let left = |table: &str| format!("SELECT count(*) FROM {table}");
    wait("the old key goes", async || cluster.number(&left("idempotency_keys")).await == 1).await;
    let counted = "SELECT monthly_execution_count::bigint FROM organizations";
    wait("the month begins", async || cluster.number(counted).await == 0).await;
    assert_eq!(cluster.number(&left("executions")).await, 6, "of tier pro 30 days are kept");
    cluster.execute("UPDATE organizations SET tier = 'free'").await;
    // Rows that stay are scanned again after a start, or a day.
    drop(node);
    let node = Node::open(&cluster, &flags).await;
    wait("7 days are kept", async || cluster.number(&left("executions")).await == 3).await;
    wait("tasks go with them", async || cluster.number(&left("tasks")).await == 3).await;
    drop(node);
}
