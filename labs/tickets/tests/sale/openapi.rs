//! The `OpenAPI` document matches the service.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::{Response, Service, Stores, body, response};

const METHODS: [&str; 5] = ["get", "post", "put", "delete", "patch"];

#[test]
fn the_document_has_every_route_and_no_other() {
    let document: Value = serde_json::from_str(tickets::web::OPENAPI).unwrap();
    let source = include_str!("../../src/web.rs");
    let routes: BTreeSet<&str> =
        source.split(".route(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let paths: BTreeSet<&str> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(routes, paths);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn every_response_matches_the_document() {
    let stores = Stores::seeded(100, 100).await;
    let service = Service::open(&stores, &[]);
    let document: Value = serde_json::from_str(&service.get("openapi.json").await.body).unwrap();
    let id = service.order("orders", &[("a", 1)]).await.field("id");
    // The second order of 90 finds too few, except on the route that does not look.
    let bodies = [
        body(&[("a", 1)]),
        body(&[("a", 90)]),
        body(&[("a", 90)]),
        body(&[("a", 101)]),
        body(&[("zz", 1)]),
        "{".to_owned(),
        String::new(),
    ];
    let mut seen = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in METHODS {
            let filled = [id.as_str(), "0", "%00", "%ff"].map(|id| path.replace("{id}", id));
            for filled in filled.into_iter().collect::<BTreeSet<_>>() {
                for body in &bodies {
                    let verb = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
                    let answer = response(service.request(verb, &filled).body(body.clone())).await;
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
        "get / 200",
        "post /simple-redis-decrement 200",
        "post /complex-redis-decrement 409",
        "post /pg-reserve-ticket 200",
        "post /pg-reserve-ticket 400",
        "post /pg-reserve-ticket 404",
        "post /orders 201",
        "post /orders 409",
        "get /orders/{id} 200",
        "get /orders/{id} 404",
        "delete /orders/{id} 200",
        "post /orders/{id}/pay 409",
        "get /tickets 200",
    ] {
        assert!(seen.contains(expected), "{expected}: {seen:?}");
    }
}

/// Asserts that the document has this status and body.
fn check(document: &Value, path: &str, method: &str, answer: &Response) {
    let operation = &document["paths"][path][method];
    let documented = &operation["responses"][answer.status.to_string()];
    assert!(documented.is_object(), "{method} {path} does not say {answer:?}");
    let Some(schema) = documented["content"].get("application/json").map(|content| &content["schema"]) else {
        return;
    };
    // References in the schema resolve against `components`.
    let whole = json!({"allOf": [schema], "components": document["components"]});
    let validator = jsonschema::validator_for(&whole).unwrap();
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    let problems: Vec<String> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{method} {path}: {problems:?} in {body}");
}
