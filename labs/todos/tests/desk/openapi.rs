//! The document that programs read says what the service does.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::world::{Answer, Desk, send};

const METHODS: [&str; 5] = ["get", "post", "put", "delete", "patch"];

#[test]
fn the_document_has_every_route_and_no_other() {
    let document: Value = serde_json::from_str(todos::web::OPENAPI).unwrap();
    let source = include_str!("../../src/web.rs");
    let routes: BTreeSet<&str> =
        source.split(".route(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let paths: BTreeSet<&str> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(routes, paths);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn every_answer_is_one_that_the_document_has() {
    let cluster = Cluster::start();
    let desk = Desk::open(&cluster, &[]).await;
    let document = desk.get("/openapi.json").await.json();
    let id = desk.make("there").await;
    desk.put(&format!("/todos/{id}"), &json!({"done": true})).await;
    let mut seen = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in METHODS {
            let filled = [id.to_string().as_str(), "0", "x", "%ff"].map(|id| path.replace("{id}", id));
            for filled in filled.into_iter().collect::<BTreeSet<_>>() {
                for body in [json!({}), json!({"done": true}), json!({"name": 1}), json!(null)] {
                    let verb = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
                    let answer = send(desk.request(verb, &filled).json(&body)).await;
                    if operations.get(method).is_none() {
                        assert_eq!(answer.status, 405, "{method} {filled} is not in the document");
                        continue;
                    }
                    check(&document, path, method, &answer);
                    seen.insert(format!("{method} {path} {}", answer.status));
                }
            }
        }
    }
    for expected in [
        "get /todos/ 200",
        "post /todos/ 200",
        "post /todos/ 400",
        "put /todos/{id} 200",
        "put /todos/{id} 404",
        "delete /todos/{id} 200",
        "delete /todos/{id} 404",
        "get /todos/{id} 400",
        "put /todos/{id} 400",
        "delete /todos/{id} 400",
    ] {
        assert!(seen.contains(expected), "{expected}: {seen:?}");
    }
}

/// The status and the body are those of the document.
fn check(document: &Value, path: &str, method: &str, answer: &Answer) {
    let operation = &document["paths"][path][method];
    let response = &operation["responses"][answer.status.to_string()];
    assert!(response.is_object(), "{method} {path} does not say {answer:?}");
    let Some(schema) = response["content"].get("application/json").map(|content| &content["schema"]) else {
        return;
    };
    // What it refers to is at the same place in this one.
    let whole = json!({"allOf": [schema], "components": document["components"]});
    let validator = jsonschema::validator_for(&whole).unwrap();
    let body = answer.json();
    let problems: Vec<String> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{method} {path}: {problems:?} in {body}");
}
