//! Notifications: sent when a task starts to fail and when it recovers, and at no other time.

use reqwest::Method;
use serde_json::{Value, json};

use crate::cluster;
use crate::receiver::Receiver;
use crate::world::{Node, send};
use testbed::wait;

const NOTIFICATIONS: &str = "/api/v1/notifications";
/// A task that runs when it is triggered.
const FAR: &str = "0 0 1 1 *";

/// Events received so far, with their executions.
fn told(receiver: &Receiver) -> Vec<(String, String)> {
    let text = |body: &Value, name: &str| body[name].as_str().unwrap().to_owned();
    let read = |message: &str| {
        let body: Value = serde_json::from_str(message).unwrap();
        (text(&body, "event"), text(&body, "execution_id"))
    };
    receiver.caught().iter().map(|message| read(&message.body)).collect()
}

/// Triggers a task and waits for its end.
async fn run(node: &Node, task: &str) -> String {
    let answer = node.post(&format!("/api/v1/tasks/{task}/trigger"), &json!({})).await;
    let id = answer.data()["execution_id"].as_str().unwrap().to_owned();
    let has_ended = |one: &Value| one["id"].as_str() == Some(id.as_str()) && !one["finished_at"].is_null();
    wait("an execution ends", async || node.executions(task).await.iter().any(has_ended)).await;
    id
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_failure_is_notified_once_and_so_is_the_recovery() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &["--callback-wait-ms", "1"]).await;
    let target = Receiver::start(&[500, 500, 200, 200, 500]).await;
    let receiver = Receiver::start(&[]).await;
    let answer = node.put(NOTIFICATIONS, &json!({"notification_webhook_url": receiver.url})).await;
    let settings = json!({"notification_webhook_url": receiver.url, "notify_on_failure": true, "notify_on_recovery": true});
    assert_eq!((answer.status, &answer.data()), (200, &settings));
    assert_eq!(node.get(NOTIFICATIONS).await.data(), settings);
    let task = node.create(&json!({"url": target.url, "cron": FAR})).await;
    let task = task["id"].as_str().unwrap();
    let mut expected = Vec::new();
    for event in [Some("task.failed"), None, Some("task.recovered"), None, Some("task.failed")] {
        let execution = run(&node, task).await;
        expected.extend(event.map(|event| (event.to_owned(), execution)));
        wait("what is news is told", async || told(&receiver).len() >= expected.len()).await;
        assert_eq!(told(&receiver), expected);
    }
    let message = receiver.caught().remove(0);
    let body: Value = serde_json::from_str(&message.body).unwrap();
    assert_eq!((&body["task_id"], &body["status"]), (&json!(task), &json!("failed")));
    assert_eq!((&body["status_code"], &body["url"]), (&json!(500), &json!(target.url)));
    let sql = "SELECT webhook_secret FROM organizations";
    let secret: String = cluster.connect().await.query_one(sql, &[]).await.unwrap().get(0);
    let signature = message.headers["x-runlater-signature"].to_str().unwrap();
    assert_eq!(signature, runlater::signature::sign(&secret, message.body.as_bytes()));
    wait("it counts", async || node.figure("runlater_notices_total").await == 3).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_failure_is_notified_after_the_last_attempt_unless_muted_or_turned_off() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &["--retry-unit-ms", "1"]).await;
    let target = Receiver::start(&[500; 20]).await;
    let receiver = Receiver::start(&[]).await;
    let failing = |muted: bool| json!({"url": target.url, "retry_attempts": 2, "muted": muted});
    let fail = async |muted: bool| {
        let made = node.create(&failing(muted)).await;
        let task = made["task_id"].as_str().unwrap().to_owned();
        let last = async || {
            let all = node.executions(&task).await;
            all.iter().find(|one| one["attempt"] == 2 && !one["finished_at"].is_null()).cloned()
        };
        wait("the last try ends", async || last().await.is_some()).await;
        last().await.unwrap()["id"].as_str().unwrap().to_owned()
    };
    fail(false).await;
    assert_eq!(node.put(NOTIFICATIONS, &json!({"notification_webhook_url": receiver.url})).await.status, 200);
    fail(true).await;
    assert_eq!(node.put(NOTIFICATIONS, &json!({"notify_on_failure": false})).await.status, 200);
    fail(false).await;
    assert_eq!(node.put(NOTIFICATIONS, &json!({"notify_on_failure": true})).await.status, 200);
    let execution = fail(false).await;
    wait("it is told", async || !told(&receiver).is_empty()).await;
    assert_eq!(told(&receiver), [("task.failed".to_owned(), execution)], "the others were not");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn invalid_settings_are_refused_and_change_nothing() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &["--body-limit", "16384"]).await;
    let settings = json!({"notification_webhook_url": "https://a.example/b", "notify_on_recovery": false});
    let before = node.put(NOTIFICATIONS, &settings).await.data();
    for method in [Method::PUT, Method::PATCH] {
        let request =
            || node.request(method.clone(), NOTIFICATIONS).header("content-type", "application/json");
        for body in ["", "null", "[]", "{", "\"x\"", "{\"notifications\": 1}", "{\"notify_on_failure\": fal"]
        {
            assert_eq!(send(request().body(body)).await.status, 400, "{method} {body}");
        }
        let bytes = b"{\"notification_webhook_url\": \"http://a/\xff\"}";
        assert_eq!(send(request().body(&bytes[..])).await.status, 400);
        for (field, value) in [
            ("notification_webhook_url", json!("ftp://a/")),
            ("notification_webhook_url", json!("")),
            ("notification_webhook_url", json!(["http://a/"])),
            ("notification_webhook_url", json!(format!("http://a/{}", "b".repeat(250)))),
            ("notify_on_failure", json!("yes")),
            ("notify_on_recovery", json!(null)),
        ] {
            let answer = send(node.request(method.clone(), NOTIFICATIONS).json(&json!({field: value}))).await;
            assert_eq!(answer.status, 422, "{method} {field} {value}");
            assert!(answer.json()["error"]["details"][field].is_array(), "{answer:?}");
        }
        let huge = format!("{{\"notification_webhook_url\": \"http://{}\"}}", "a".repeat(20_000));
        assert_eq!(send(request().body(huge)).await.status, 413);
        let plain = node.request(method.clone(), NOTIFICATIONS).header("content-type", "text/plain");
        assert_eq!(send(plain.body("{}")).await.status, 415);
    }
    assert_eq!(node.get(NOTIFICATIONS).await.data(), before);
    let answer = node.put(NOTIFICATIONS, &json!({"notification_webhook_url": null})).await;
    assert_eq!(answer.data()["notification_webhook_url"], json!(null), "it can be taken away");
}
