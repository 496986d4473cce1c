//! Execution of tasks: on time, with retries, and one at a time per queue.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::cluster;
use crate::receiver::{Receiver, Stub};
use crate::world::{KEY, Node, seed, send};
use testbed::wait;

fn micros(value: &Value) -> i128 {
    let time: jiff::Timestamp = value.as_str().unwrap_or_else(|| panic!("no time: {value}")).parse().unwrap();
    time.as_nanosecond() / 1000
}

/// Waits for a completed execution of a task; returns its executions, newest first.
async fn ended(node: &Node, task: &str) -> Vec<Value> {
    let has_ended = |executions: &[Value]| executions.iter().any(|one| !one["finished_at"].is_null());
    wait("an execution ends", async || has_ended(&node.executions(task).await)).await;
    node.executions(task).await
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_task_is_called_once_as_specified_and_its_result_is_shown() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let receiver = Receiver::start(&[]).await;
    let task = json!({"url": format!("{}/hook?a=1", receiver.url), "method": "post", "body": "hello",
                      "headers": {"X-Mine": "yes", "X-Runlater-Signature": "mine"}, "name": "greet"});
    let created = node.create(&task).await;
    let id = created["task_id"].as_str().unwrap();
    let execution = &ended(&node, id).await[0];
    assert_eq!(
        (execution["status"].as_str(), execution["status_code"].as_i64()),
        (Some("success"), Some(200))
    );
    assert_eq!((&execution["id"], &execution["attempt"]), (&created["execution_id"], &json!(1)));
    assert!(micros(&execution["started_at"]) >= micros(&execution["scheduled_for"]), "{execution}");
    let caught = receiver.caught();
    assert_eq!(caught.len(), 1);
    let header = |name: &str| caught[0].headers[name].to_str().unwrap().to_owned();
    assert_eq!((caught[0].body.as_str(), header("x-mine").as_str()), ("hello", "yes"));
    assert_eq!(
        (header("x-runlater-task-id").as_str(), json!(header("x-runlater-execution-id"))),
        (id, created["execution_id"].clone())
    );
    let secret: String = cluster
        .connect()
        .await
        .query_one("SELECT webhook_secret FROM organizations", &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!(header("x-runlater-signature"), runlater::signature::sign(&secret, b"hello"));
    let list = node.get("/api/v1/tasks").await.json();
    assert_eq!((list["data"][0]["name"].as_str(), list["has_more"].as_bool()), (Some("greet"), Some(false)));
    assert!(list["data"][0]["last_execution_at"].is_string(), "{list}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_delayed_task_is_not_called_before_its_time() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let stub = Stub::start(&[]);
    let soon = node.create(&json!({"url": stub.url, "delay": 1})).await;
    let later = node.create(&json!({"url": stub.url, "delay": "2h"})).await;
    let execution = ended(&node, soon["task_id"].as_str().unwrap()).await.remove(0);
    assert_eq!(execution["scheduled_for"], soon["scheduled_for"]);
    assert!(micros(&execution["started_at"]) >= micros(&execution["scheduled_for"]), "{execution}");
    let waiting = node.executions(later["task_id"].as_str().unwrap()).await;
    assert_eq!((waiting.len(), waiting[0]["status"].as_str()), (1, Some("pending")));
    assert_eq!(stub.count("calls").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn failures_are_retried_after_growing_waits_until_the_last_attempt() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let stub = Stub::start(&[]);
    let task = node.create(&json!({"url": format!("{}/?status=500", stub.url), "retry_attempts": 3})).await;
    let id = task["task_id"].as_str().unwrap();
    // (1 + 1)^2 and (2 + 1)^2 units of 30 s.
    for (attempt, wait_s) in [(1, 120), (2, 270)] {
        let has_next = async || node.executions(id).await.len() > attempt;
        wait("the next attempt is written", has_next).await;
        let executions = node.executions(id).await;
        let (next, failed) = (&executions[0], &executions[1]);
        assert_eq!((failed["status"].as_str(), failed["status_code"].as_i64()), (Some("failed"), Some(500)));
        assert_eq!((next["status"].as_str(), &next["attempt"]), (Some("pending"), &json!(attempt + 1)));
        assert_eq!(micros(&next["scheduled_for"]) - micros(&failed["finished_at"]), wait_s * 1_000_000);
        // The test moves time instead of waiting for it.
        cluster.execute("UPDATE executions SET scheduled_for = now() WHERE status = 'pending'").await;
    }
    wait("the last attempt", async || stub.count("calls").await == 3).await;
    wait("the last result", async || node.executions(id).await.iter().all(|one| one["status"] == "failed"))
        .await;
    assert_eq!(node.executions(id).await.len(), 3, "no attempt after the last");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_target_that_responds_429_sets_the_time_of_the_retry() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let stub = Stub::start(&[]);
    let url = format!("{}/?status=429&retry_after=7", stub.url);
    let task = node.create(&json!({"url": url})).await;
    let id = task["task_id"].as_str().unwrap();
    wait("the next attempt is written", async || node.executions(id).await.len() == 2).await;
    let executions = node.executions(id).await;
    let waits = micros(&executions[0]["scheduled_for"]) - micros(&executions[1]["finished_at"]);
    assert_eq!(waits, 7_000_000);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_call_that_times_out_or_cannot_connect_fails_with_a_reason() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let stub = Stub::start(&["--delay", "60s"]);
    let slow = json!({"url": stub.url, "timeout_ms": 1000, "retry_attempts": 1});
    let nobody = json!({"url": "http://127.0.0.1:1/", "retry_attempts": 1});
    for (task, status, reason) in [(slow, "timeout", "1000 ms"), (nobody, "failed", "refused")] {
        let task = node.create(&task).await;
        let execution = ended(&node, task["task_id"].as_str().unwrap()).await.remove(0);
        assert_eq!(execution["status"], status);
        assert!(execution["error_message"].as_str().unwrap().contains(reason), "{execution}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn tasks_of_a_queue_run_one_at_a_time_and_others_do_not_wait() {
    let cluster = cluster::empty();
    let first = Node::seeded(&cluster, &[]).await;
    // The queue is one for all nodes.
    let second = Node::open(&cluster, &["--role", "worker"]).await;
    let (queued, free) = (Stub::start(&["--delay", "20ms"]), Stub::start(&["--delay", "500ms"]));
    let in_queue = json!({"url": queued.url, "queue": "q"});
    join_all((0..12).map(|_| first.create(&in_queue))).await;
    let outside = json!({"url": free.url});
    join_all((0..12).map(|_| first.create(&outside))).await;
    wait("all of the queue are called", async || queued.count("answered").await == 12).await;
    assert_eq!(queued.count("open_max").await, 1);
    wait("all others are called", async || free.count("answered").await == 12).await;
    assert!(free.count("open_max").await > 1);
    drop(second);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_queue_waits_for_retries_and_keeps_its_order() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let receiver = Receiver::start(&[500]).await;
    let first = node.create(&json!({"url": receiver.url, "queue": "q", "body": "first"})).await;
    let id = first["task_id"].as_str().unwrap();
    wait("the first fails", async || node.executions(id).await.len() == 2).await;
    let second = node.create(&json!({"url": receiver.url, "queue": "q", "body": "second"})).await;
    // A task outside the queue shows that workers polled.
    let other = node.create(&json!({"url": receiver.url, "body": "other"})).await;
    ended(&node, other["task_id"].as_str().unwrap()).await;
    let bodies =
        |receiver: &Receiver| -> Vec<String> { receiver.caught().into_iter().map(|one| one.body).collect() };
    assert_eq!(bodies(&receiver), ["first", "other"]);
    cluster.execute("UPDATE executions SET scheduled_for = now() WHERE attempt = 2").await;
    ended(&node, second["task_id"].as_str().unwrap()).await;
    assert_eq!(bodies(&receiver), ["first", "other", "first", "second"]);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_request_with_an_idempotency_key_is_executed_once_with_the_same_response() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let stub = Stub::start(&[]);
    let task = json!({"url": stub.url});
    let create = |key: &'static str, task: &Value| {
        send(node.request(Method::POST, "/api/v1/tasks").header("Idempotency-Key", key).json(task))
    };
    let answers = join_all((0..10).map(|_| create("one", &task))).await;
    let bodies: BTreeSet<&str> = answers.iter().map(|answer| answer.body.as_str()).collect();
    assert!(bodies.len() == 1 && answers.iter().all(|answer| answer.status == 202), "{answers:?}");
    assert_eq!(cluster.number("SELECT count(*) FROM tasks").await, 1);
    let other = create("one", &json!({"url": stub.url, "delay": 5})).await;
    assert_eq!((other.status, other.code().as_str()), (422, "idempotency_key_reused"));
    assert_ne!(create("two", &task).await.body, answers[0].body);
    assert_eq!(create("", &task).await.status, 400);
    let id = answers[0].data()["task_id"].as_str().unwrap().to_owned();
    let delete = || {
        send(node.request(Method::DELETE, &format!("/api/v1/tasks/{id}")).header("Idempotency-Key", "three"))
    };
    assert_eq!(
        [delete().await.status, delete().await.status],
        [204, 204],
        "the answer, not the deed, is repeated"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn an_idempotent_request_is_executed_once_even_when_sent_ten_times_in_parallel() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &["--role", "api"]).await;
    let task = node.create(&json!({"url": "http://127.0.0.1:9/", "delay": "1d"})).await;
    let path = format!("/api/v1/tasks/{}", task["task_id"].as_str().unwrap());
    let trigger = format!("{path}/trigger");
    let (tasks, executions) = ("SELECT count(*) FROM tasks", "SELECT count(*) FROM executions");
    let new = json!({"url": "http://127.0.0.1:9/", "cron": "0 0 1 1 *"});
    for (method, path, body, status, counts) in [
        (Method::POST, "/api/v1/tasks", new, 201, (2, 1)),
        (Method::POST, trigger.as_str(), json!(null), 202, (2, 2)),
        (Method::PATCH, path.as_str(), json!({"name": "another"}), 200, (2, 2)),
        (Method::PUT, "/api/v1/notifications", json!({"notify_on_failure": false}), 200, (2, 2)),
        (Method::DELETE, path.as_str(), json!(null), 204, (1, 0)),
    ] {
        let key = format!("{method}{path}");
        let ask = || {
            let request = node.request(method.clone(), path).header("Idempotency-Key", &key);
            send(if body.is_null() { request } else { request.json(&body) })
        };
        let answers = join_all((0..10).map(|_| ask())).await;
        let bodies: BTreeSet<&str> = answers.iter().map(|answer| answer.body.as_str()).collect();
        let is_right = answers.iter().all(|answer| answer.status == status);
        assert!(bodies.len() == 1 && is_right, "{method} {path}: {answers:?}");
        assert_eq!(
            (cluster.number(tasks).await, cluster.number(executions).await),
            counts,
            "{method} {path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_replayed_request_gets_its_first_response_after_its_due_time_has_passed() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &["--role", "api"]).await;
    // Five minutes ago is the earliest accepted time.
    let at = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(297);
    let task = json!({"url": "http://127.0.0.1:9/", "run_at": at.to_string()});
    let ask =
        || send(node.request(Method::POST, "/api/v1/tasks").header("Idempotency-Key", "one").json(&task));
    let first = ask().await;
    assert_eq!(first.status, 202, "{first:?}");
    wait("its time has passed", async || node.post("/api/v1/tasks", &task).await.status == 422).await;
    let again = ask().await;
    assert_eq!((again.status, again.body), (202, first.body));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn queued_and_unqueued_tasks_do_not_starve_each_other() {
    let cluster = cluster::empty();
    let stub = Stub::start(&["--delay", "20ms"]);
    for query in ["batch", "single"] {
        let desk = Node::seeded(&cluster, &["--role", "api"]).await;
        join_all((0..60).map(|_| desk.call(&stub.url))).await;
        let queued = (0..60).map(|queue| json!({"url": stub.url, "queue": format!("q{queue}")}));
        join_all(queued.map(|task| {
            let desk = &desk;
            async move { desk.create(&task).await }
        }))
        .await;
        let flags = ["--role", "worker", "--claim-query", query, "--max-workers", "1"];
        let node = Node::open(&cluster, &flags).await;
        let ended = "SELECT count(*) FROM executions WHERE status = 'success'";
        wait("half is done", async || cluster.number(ended).await >= 60).await;
        for lane in ["IS NULL", "IS NOT NULL"] {
            let done = cluster.number(&format!("{ended} AND lane {lane}")).await;
            assert!(done >= 15, "{query}: {done} of 60 with a lane that {lane}");
        }
        drop(node);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn recurring_tasks_are_scheduled_in_time_when_many_are_due_together() {
    let cluster = cluster::empty();
    seed(&cluster, 0).await;
    cluster
        .execute(
            "INSERT INTO tasks (id, organization_id, name, url, schedule_type, cron_expression, next_run_at) \
             SELECT gen_random_uuid(), o.id, 'many', 'http://127.0.0.1:9/', 'cron', '0 0 1 1 *', now() \
             FROM organizations o, generate_series(1, 2500)",
        )
        .await;
    // One round per minute: a single one must be enough.
    let node = Node::open(&cluster, &["--role", "api", "--scheduler-ms", "60000"]).await;
    let written = "SELECT count(DISTINCT task_id) FROM executions";
    wait("all are written", async || cluster.number(written).await == 2500).await;
    drop(node);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_callback_is_signed_and_retried_until_it_arrives() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &["--callback-wait-ms", "1"]).await;
    let (stub, receiver) = (Stub::start(&["--body", "done"]), Receiver::start(&[500, 503]).await);
    let task = node.create(&json!({"url": stub.url, "callback_url": receiver.url})).await;
    wait("the third callback", async || receiver.caught().len() == 3).await;
    let message = receiver.caught().pop().unwrap();
    let body: Value = serde_json::from_str(&message.body).unwrap();
    assert_eq!((&body["task_id"], &body["execution_id"]), (&task["task_id"], &task["execution_id"]));
    assert_eq!(
        (body["event"].as_str(), body["status"].as_str(), body["response_body"].as_str()),
        (Some("execution.completed"), Some("success"), Some("done"))
    );
    let secret: String = cluster
        .connect()
        .await
        .query_one("SELECT webhook_secret FROM organizations", &[])
        .await
        .unwrap()
        .get(0);
    let signature = message.headers["x-runlater-signature"].to_str().unwrap();
    assert_eq!(signature, runlater::signature::sign(&secret, message.body.as_bytes()));
    wait("it counts", async || node.figure("runlater_callbacks_total").await == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_recurring_task_runs_once_at_each_time_with_any_number_of_nodes() {
    let cluster = cluster::empty();
    let fast = ["--scheduler-ms", "20", "--poll-ms", "20"];
    let node = Node::seeded(&cluster, &fast).await;
    let others = join_all((0..2).map(|_| Node::open(&cluster, &fast))).await;
    let stub = Stub::start(&[]);
    let answer = node.post("/api/v1/tasks", &json!({"url": stub.url, "cron": "0 0 1 1 *"})).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let task = answer.data();
    let id = task["id"].as_str().unwrap();
    assert_eq!((task["method"].as_str(), task["retry_attempts"].as_i64()), (Some("GET"), Some(3)));
    assert!(node.executions(id).await.is_empty());
    // The test moves time instead of waiting for it.
    cluster.execute("UPDATE tasks SET next_run_at = now() - interval '1 second'").await;
    let execution = ended(&node, id).await.remove(0);
    assert_eq!(execution["status"], "success");
    assert_eq!(node.get(&format!("/api/v1/tasks/{id}")).await.data()["next_run_at"], task["next_run_at"]);
    // Too late to execute: half a year exceeds the allowed hour.
    cluster.execute("UPDATE tasks SET next_run_at = now() - interval '2 hours'").await;
    wait("it is noted", async || node.executions(id).await.len() == 2).await;
    let missed = &node.executions(id).await[1];
    assert_eq!((missed["status"].as_str(), missed["started_at"].is_null()), (Some("missed"), true));
    assert_eq!(stub.count("calls").await, 1);
    drop(others);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn tasks_can_be_changed_triggered_stopped_and_deleted_and_belong_to_one_organization() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let stub = Stub::start(&[]);
    let task = node.create(&json!({"url": stub.url, "delay": "1h", "queue": "a"})).await;
    let path = format!("/api/v1/tasks/{}", task["task_id"].as_str().unwrap());
    let id = task["task_id"].as_str().unwrap();
    let changed =
        node.put(&path, &json!({"task": {"name": "new", "queue": null, "timeout_ms": 5000}})).await.data();
    assert_eq!((changed["name"].as_str(), changed["timeout_ms"].as_i64()), (Some("new"), Some(5000)));
    assert!(changed["queue"].is_null() && changed["url"] == json!(stub.url), "{changed}");
    let triggered = node.post(&format!("{path}/trigger"), &json!({})).await;
    assert_eq!(triggered.status, 202);
    ended(&node, id).await;
    assert_eq!(stub.count("calls").await, 1);
    node.put(&path, &json!({"enabled": false})).await;
    node.post(&format!("{path}/trigger"), &json!({})).await;
    let missed = |executions: Vec<Value>| executions.iter().any(|one| one["status"] == "missed");
    wait("nothing is called", async || missed(node.executions(id).await)).await;
    assert_eq!(stub.count("calls").await, 1);
    let moved = node.put(&path, &json!({"run_at": "2000-01-01T00:00:00Z"})).await;
    assert_eq!((moved.status, moved.code().as_str()), (422, "validation_error"));

    // Another organization's key has no access.
    let hash = runlater::signature::digest("sk_other");
    cluster.execute(&format!(
        "INSERT INTO organizations (id, name, webhook_secret) VALUES ('018f0000-0000-7000-8000-000000000009', 'other', 'w'); \
         INSERT INTO api_keys (id, organization_id, name, key_id, key_hash) VALUES (gen_random_uuid(), \
         '018f0000-0000-7000-8000-000000000009', 'k', 'pk_other', '{hash}')"
    )).await;
    let client = reqwest::Client::new();
    let as_other = |method: Method, path: &str| {
        client.request(method, format!("{}{path}", node.url)).bearer_auth("pk_other.sk_other")
    };
    assert_eq!(send(as_other(Method::GET, "/api/v1/tasks")).await.data(), json!([]));
    for method in [Method::GET, Method::DELETE] {
        assert_eq!(send(as_other(method, &path)).await.status, 404);
    }
    assert_eq!(send(as_other(Method::PUT, &path).json(&json!({"name": "mine"}))).await.status, 404);
    assert_eq!(send(as_other(Method::POST, &format!("{path}/trigger"))).await.status, 404);
    assert_eq!(send(as_other(Method::GET, &format!("{path}/executions"))).await.status, 404);

    assert_eq!(node.delete(&path).await.status, 204);
    assert_eq!([node.get(&path).await.status, node.delete(&path).await.status], [404, 404]);
    assert_eq!(cluster.number("SELECT count(*) FROM executions").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_wrong_key_gives_no_access() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let client = reqwest::Client::new();
    let (id, _) = KEY.split_once('.').unwrap();
    let wrong = [
        "Bearer".to_owned(),
        format!("Bearer {id}"),
        format!("Bearer {id}."),
        format!("Bearer {id}.sk_live_wrong"),
        format!("Bearer {KEY}x"),
        "Bearer pk_none.sk_none".to_owned(),
        format!("Basic {KEY}"),
        KEY.to_owned(),
    ];
    for value in wrong {
        let request = client.get(format!("{}/api/v1/tasks", node.url)).header("authorization", &value);
        let answer = send(request).await;
        assert_eq!((answer.status, answer.code().as_str()), (401, "unauthorized"), "{value}");
    }
    assert_eq!(send(client.post(format!("{}/api/v1/tasks", node.url)).json(&json!({}))).await.status, 401);
    assert_eq!(node.get("/api/v1/tasks").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_list_has_pages_and_reports_whether_more_follow_even_at_its_limit() {
    let cluster = cluster::empty();
    seed(&cluster, 101).await;
    let node = Node::open(&cluster, &["--role", "api"]).await;
    let page = async |query: &str| {
        let json = node.get(&format!("/api/v1/tasks{query}")).await.json();
        (json["data"].as_array().unwrap().len(), json["has_more"].as_bool().unwrap())
    };
    assert_eq!(page("").await, (50, true));
    assert_eq!(page("?limit=100").await, (100, true));
    assert_eq!(page("?limit=100&offset=1").await, (100, false));
    assert_eq!(page("?offset=101").await, (0, false));
    assert_eq!(page("?queue=none&limit=1").await, (1, true));
    assert_eq!(page("?queue=q").await, (0, false));
    let newest = node.get("/api/v1/tasks?limit=1").await.data();
    assert_eq!(newest[0]["name"], "seeded task 101", "those that ran last come first");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_watcher_gets_events_of_tasks_and_executions() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let stub = Stub::start(&[]);
    let mut watching = node.request(Method::GET, "/api/v1/events").send().await.unwrap();
    let task = node.call(&stub.url).await;
    let mut told = String::new();
    while !(told.contains("\"created\"") && told.contains("\"success\"") && told.contains(&task)) {
        let chunk = tokio::time::timeout(testbed::TIMEOUT, watching.chunk()).await.expect("in time");
        told += std::str::from_utf8(&chunk.unwrap().expect("the stream goes on")).unwrap();
    }
    assert!(told.contains("event: events\n"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn no_task_calls_this_machine_by_address_or_name_if_private_targets_are_refused() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &["--private-targets", "deny"]).await;
    let stub = Stub::start(&[]);
    for url in [stub.url.clone(), stub.url.replace("127.0.0.1", "localhost")] {
        let task = node.call(&url).await;
        let execution = ended(&node, &task).await.remove(0);
        assert_eq!(execution["status"].as_str(), Some("failed"), "{url}: {execution}");
        let reason = execution["error_message"].as_str().unwrap();
        assert!(reason.contains("not a public one"), "{url}: {reason}");
    }
    assert_eq!(stub.count("calls").await, 0);
}
