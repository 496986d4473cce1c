//! The `OpenAPI` document matches the service.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};
use trenova::worker::{Draft, SignIn};

use crate::world::{Response, Service, Stores, send};

/// Whether the service accepts a body.
type Taken<'a> = &'a dyn Fn(&str) -> bool;

const METHODS: [&str; 5] = ["get", "post", "put", "delete", "patch"];

#[test]
fn the_document_has_every_route_and_no_other() {
    let document: Value = serde_json::from_str(trenova::web::OPENAPI).unwrap();
    let source = include_str!("../../src/web.rs");
    let routes: BTreeSet<&str> =
        source.split(".route(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let paths: BTreeSet<&str> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(routes, paths);
}

#[test]
fn text_that_cannot_be_stored_is_neither_documented_nor_accepted() {
    let document: Value = serde_json::from_str(trenova::web::OPENAPI).unwrap();
    let draft = |body: &str| Draft::read(body.as_bytes()).is_ok();
    let sign_in = |body: &str| SignIn::read(body.as_bytes()).is_ok();
    for (name, is_taken) in [("Draft", &draft as Taken<'_>), ("SignIn", &sign_in as Taken<'_>)] {
        let schema = &document["components"]["schemas"][name];
        let validator = jsonschema::validator_for(schema).unwrap();
        let fields = schema["properties"].as_object().unwrap();
        let texts = fields.iter().filter(|(_, field)| field["type"] == "string").map(|(name, _)| name);
        let texts: Vec<&String> = texts.collect();
        assert!(texts.len() >= 2, "{name}");
        let good: Value = texts.iter().map(|text| ((*text).clone(), json!("a\u{fffd}"))).collect();
        assert!(validator.is_valid(&good) && is_taken(&good.to_string()), "{name}");
        for text in texts {
            let mut bad = good.clone();
            bad[text] = json!("a\0");
            assert!(!validator.is_valid(&bad) && !is_taken(&bad.to_string()), "{name} {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn every_response_matches_the_document() {
    let stores = Stores::seeded().await;
    let mut seen = BTreeSet::new();
    for flags in [&["--rate-limit", "off"][..], &["--rate-limit", "2", "--rate-window-ms", "86400000"]] {
        let service = Service::open(&stores, flags);
        let document = service.get("/openapi.json").await.json();
        let person = service.sign_in(1).await;
        let id = person.make("there", "is").await;
        for (path, operations) in document["paths"].as_object().unwrap() {
            // Sign-out comes last.
            let methods = METHODS.iter().filter(|_| !path.ends_with("logout"));
            for method in methods {
                for filled in paths(path, &id) {
                    for body in bodies() {
                        let verb = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
                        for request in [service.request(verb.clone(), &filled), person.request(verb, &filled)]
                        {
                            let answer = send(request.json(&body)).await;
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
        }
        let answer = person.post("/api/v1/auth/logout", &Value::Null).await;
        check(&document, "/api/v1/auth/logout", "post", &answer);
        seen.insert(format!("post /api/v1/auth/logout {}", answer.status));
    }
    for expected in [
        "get /api/v1/workers/select-options 200",
        "get /api/v1/workers/select-options 400",
        "get /api/v1/workers/select-options 401",
        "get /api/v1/workers/select-options 429",
        "post /api/v1/auth/login 200",
        "post /api/v1/auth/login 400",
        "post /api/v1/auth/logout 204",
        "get /api/v1/auth/me 200",
        "post /api/v1/workers 201",
        "post /api/v1/workers 400",
        "get /api/v1/workers/{id} 404",
        "delete /api/v1/workers/{id} 204",
    ] {
        assert!(seen.contains(expected), "{expected}: {seen:?}");
    }
}

fn paths(path: &str, id: &str) -> BTreeSet<String> {
    let of_worker = [id, "wrk_none", "%ff"].map(|id| path.replace("{id}", id));
    let with_query = ["", "?limit=x", "?query=an&limit=3&offset=3"].map(|query| format!("{path}{query}"));
    if path.contains('{') { of_worker.into() } else { with_query.into() }
}

fn bodies() -> [Value; 4] {
    [
        json!({"firstName": "a", "lastName": "b"}),
        json!({"emailAddress": "user1@org1.example", "password": "password"}),
        json!({}),
        json!(null),
    ]
}

/// Checks status and body against the document.
fn check(document: &Value, path: &str, method: &str, answer: &Response) {
    let operation = &document["paths"][path][method];
    let response = &operation["responses"][answer.status.to_string()];
    assert!(response.is_object(), "{method} {path} does not say {answer:?}");
    let Some(schema) = response["content"].get("application/json").map(|content| &content["schema"]) else {
        return;
    };
    // References resolve within this document.
    let whole = json!({"allOf": [schema], "components": document["components"]});
    let validator = jsonschema::validator_for(&whole).unwrap();
    let body = answer.json();
    let problems: Vec<String> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{method} {path}: {problems:?} in {body}");
}
