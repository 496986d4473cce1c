//! The `OpenAPI` document matches the service.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::cluster;
use crate::fixture::{Response, Service, send};

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
async fn every_response_matches_the_document() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &["--change-readers", "0"]).await;
    let document = service.get("/openapi.json").await.json();
    let id = service.create("there").await;
    service.put(&format!("/todos/{id}"), &json!({"done": true})).await;
    let mut seen = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in METHODS {
            let filled = [id.to_string().as_str(), "0", "x", "%ff"].map(|id| path.replace("{id}", id));
            for filled in filled.into_iter().collect::<BTreeSet<_>>() {
                for body in [json!({}), json!({"done": true}), json!({"name": 1}), json!(null)] {
                    let verb = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
                    let response = send(service.request(verb, &filled).json(&body)).await;
                    if operations.get(method).is_none() {
                        assert_eq!(response.status, 405, "{method} {filled} is not in the document");
                        continue;
                    }
                    check(&document, path, method, &response);
                    seen.insert(format!("{method} {path} {}", response.status));
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
        "get /grpc 404",
        // A stream without an end would end this test neither: `changes.rs` reads streams.
        "get /todos/changes 503",
    ] {
        assert!(seen.contains(expected), "{expected}: {seen:?}");
    }
}

/// Asserts that the document has this status and body.
fn check(document: &Value, path: &str, method: &str, response: &Response) {
    let operation = &document["paths"][path][method];
    let documented = &operation["responses"][response.status.to_string()];
    assert!(documented.is_object(), "{method} {path} does not say {response:?}");
    let Some(schema) = documented["content"].get("application/json").map(|content| &content["schema"]) else {
        return;
    };
    // References in the schema resolve against `components`.
    let whole = json!({"allOf": [schema], "components": document["components"]});
    let validator = jsonschema::validator_for(&whole).unwrap();
    let body = response.json();
    let problems: Vec<String> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{method} {path}: {problems:?} in {body}");
}
