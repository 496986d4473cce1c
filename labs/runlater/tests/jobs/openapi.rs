//! The `OpenAPI` document matches the service.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::cluster;
use crate::world::{Node, Response, send};
use testbed::TIMEOUT;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
/// Responses that do not end by themselves.
const ENDLESS: &str = "/api/v1/events";

#[test]
fn the_document_has_every_route_and_no_other() {
    let document: Value = serde_json::from_str(runlater::web::OPENAPI).unwrap();
    let source = include_str!("../../src/web.rs");
    let routes: BTreeSet<&str> =
        source.split(".route(").skip(1).filter_map(|rest| rest.trim_start().split('"').nth(1)).collect();
    let paths: BTreeSet<&str> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(routes, paths);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn every_response_matches_the_document() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let document = node.get("/openapi.json").await.json();
    // A task far in the future: it does not run during the test.
    let task = json!({"url": "http://127.0.0.1:9/", "cron": "0 0 1 1 *", "headers": {"x-a": "b"}});
    let id = node.create(&task).await["id"].as_str().unwrap().to_owned();
    let mut seen = BTreeSet::new();
    let paths = document["paths"].as_object().unwrap();
    // Deletes come last, so that the others find the task.
    for (method, (path, operations)) in
        METHODS.iter().flat_map(|method| paths.iter().map(move |path| (*method, path)))
    {
        if (method, path.as_str()) == ("get", ENDLESS) {
            continue;
        }
        let ids = [id.as_str(), "018f0000-0000-7000-8000-000000000001", "one"];
        let filled: BTreeSet<String> = ids.iter().map(|id| path.replace("{id}", id)).collect();
        for (filled, body) in
            filled.iter().flat_map(|filled| bodies().into_iter().map(move |body| (filled, body)))
        {
            let verb = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let answer = send(node.request(verb, filled).json(&body)).await;
            if operations.get(method).is_none() {
                assert_eq!(answer.status, 405, "{method} {filled} is not in the document");
                continue;
            }
            check(&document, path, method, &answer);
            seen.insert(format!("{method} {path} {}", answer.status));
        }
    }
    for expected in [
        "get /api/v1/tasks 200",
        "post /api/v1/tasks 201",
        "post /api/v1/tasks 202",
        "post /api/v1/tasks 400",
        "post /api/v1/tasks 422",
        "get /api/v1/tasks/{id} 200",
        "get /api/v1/tasks/{id} 404",
        "put /api/v1/tasks/{id} 200",
        "patch /api/v1/tasks/{id} 404",
        "patch /api/v1/tasks/{id} 422",
        "post /api/v1/tasks/{id}/trigger 202",
        "post /api/v1/tasks/{id}/trigger 404",
        "get /api/v1/tasks/{id}/executions 200",
        "get /api/v1/notifications 200",
        "put /api/v1/notifications 200",
        "patch /api/v1/notifications 422",
        "get /stats 200",
    ] {
        assert!(seen.contains(expected), "{expected}: {seen:?}");
    }
    let answer = node.delete(&format!("/api/v1/tasks/{id}")).await;
    assert_eq!(answer.status, 404, "the loop above has deleted it");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn responses_to_bad_keys_and_parameters_match_the_document() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let document = node.get("/openapi.json").await.json();
    let client = reqwest::Client::new();
    for (path, method) in [("/api/v1/tasks", "get"), ("/api/v1/tasks", "post"), ("/api/v1/events", "get")] {
        let verb = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
        let answer = send(client.request(verb, format!("{}{path}", node.url))).await;
        assert_eq!(answer.status, 401);
        check(&document, path, method, &answer);
    }
    for query in ["limit=0", "offset=-1", "queue=", "limit=1&limit=2"] {
        let answer = node.get(&format!("/api/v1/tasks?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
        check(&document, "/api/v1/tasks", "get", &answer);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn events_match_the_document() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let document = node.get("/openapi.json").await.json();
    let mut stream = node.request(Method::GET, "/api/v1/events").send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    // In the future, so that its creation is the only event.
    let made = node.create(&json!({"url": "http://127.0.0.1:9/", "delay": "1d"})).await;
    let mut text = String::new();
    while !text.contains("\"created\"") {
        let chunk = tokio::time::timeout(TIMEOUT, stream.chunk()).await.expect("in time");
        text += std::str::from_utf8(&chunk.unwrap().expect("the stream goes on")).unwrap();
    }
    let data = text.lines().find_map(|line| line.strip_prefix("data:")).unwrap();
    let message: Value = serde_json::from_str(data).unwrap();
    conforms(&document, &json!({"$ref": "#/components/schemas/Message"}), &message);
    let event = message["events"].as_array().unwrap().iter().find(|event| event["type"] == "task").unwrap();
    assert_eq!((&event["task_id"], &event["change"]), (&made["task_id"], &json!("created")));
}

fn bodies() -> Vec<Value> {
    vec![
        json!({"url": "http://127.0.0.1:9/", "delay": "1d"}),
        json!({"task": {"url": "http://127.0.0.1:9/", "cron": "0 0 1 1 *", "queue": "q"}}),
        json!({"url": "http://127.0.0.1:9/", "delay": "now"}),
        json!({"url": 1}),
        json!({"timeout_ms": 1}),
        json!({"notification_webhook_url": "http://127.0.0.1:9/"}),
        json!({"notify_on_failure": 1}),
        json!(null),
    ]
}

/// Checks status and body against the document.
fn check(document: &Value, path: &str, method: &str, answer: &Response) {
    let operation = &document["paths"][path][method];
    let response = &operation["responses"][answer.status.to_string()];
    assert!(response.is_object(), "{method} {path} does not say {answer:?}");
    match response["content"].get("application/json") {
        Some(content) => conforms(document, &content["schema"], &answer.json()),
        None if response["content"].is_null() => assert_eq!(answer.body, "", "{method} {path} has no body"),
        None => {}
    }
}

/// Checks a value against a schema of the document.
fn conforms(document: &Value, schema: &Value, value: &Value) {
    // References resolve within this document.
    let whole = json!({"allOf": [schema], "components": document["components"]});
    let validator = jsonschema::options().should_validate_formats(true).build(&whole).unwrap();
    let problems: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?} in {value}");
}
