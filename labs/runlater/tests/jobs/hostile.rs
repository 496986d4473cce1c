//! Bad input is refused with a reason and never stored, and the service keeps running.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::cluster;
use crate::world::{KEY, Node, send};
use testbed::{Cluster, TIMEOUT};

const FAR: &str = "0 0 1 1 *";

/// A node with one task, and the ways to send a body to it.
async fn with_task(cluster: &Cluster, flags: &[&str]) -> (Node, String, Vec<(Method, String)>) {
    let node = Node::seeded(cluster, flags).await;
    let task = node.create(&json!({"url": "http://127.0.0.1:9/", "cron": FAR})).await;
    let path = format!("/api/v1/tasks/{}", task["id"].as_str().unwrap());
    let routes = vec![
        (Method::POST, "/api/v1/tasks".to_owned()),
        (Method::PUT, path.clone()),
        (Method::PATCH, path.clone()),
    ];
    (node, path, routes)
}

/// All stored data that a request could have changed.
async fn stored(cluster: &Cluster, node: &Node, path: &str) -> (i64, i64, i64, String) {
    let count = async |table: &str| cluster.number(&format!("SELECT count(*) FROM {table}")).await;
    let counts = (count("tasks").await, count("executions").await, count("idempotency_keys").await);
    (counts.0, counts.1, counts.2, node.get(path).await.body)
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn malformed_bodies_are_refused_on_every_route_that_takes_one() {
    let cluster = cluster::empty();
    let (node, path, routes) = with_task(&cluster, &["--body-limit", "16384"]).await;
    let before = stored(&cluster, &node, &path).await;
    for (method, route) in routes {
        for body in bodies() {
            let request = node.request(method.clone(), &route).header("content-type", "application/json");
            let request = request.header("idempotency-key", "once");
            let answer = send(request.body(body.clone())).await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (400, "bad_request"),
                "{method} {shown}: {answer:?}"
            );
        }
        let huge = format!("{{\"url\": \"http://a/\", \"name\": \"{}\"}}", "a".repeat(20_000));
        let request = node.request(method.clone(), &route).header("content-type", "application/json");
        assert_eq!(send(request.body(huge)).await.status, 413, "{method}");
        for (name, value) in [
            ("content-type", "text/plain"),
            ("content-type", "application/x-www-form-urlencoded"),
            ("content-type", "application/json; charset=utf-16"),
            ("content-type", "application/jsonp"),
            ("x-none", "application/json"),
        ] {
            let body = "{\"url\": \"http://a/\"}";
            let answer = send(node.request(method.clone(), &route).header(name, value).body(body)).await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (415, "bad_content_type"),
                "{method} {value}"
            );
        }
        let packed = node.request(method.clone(), &route).header("content-type", "application/json");
        assert_eq!(send(packed.header("content-encoding", "gzip").body("{}")).await.status, 415, "{method}");
    }
    assert_eq!(stored(&cluster, &node, &path).await, before, "nothing was stored or changed");
}

/// Truncated, of another type, in another encoding.
fn bodies() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 13] = [
        b"",
        b"null",
        b"true",
        b"[]",
        b"\"http://a/\"",
        b"{",
        b"{\"url\": \"http://a/",
        b"{\"url\": \"http://a/\"} {}",
        b"{\"task\": \"http://a/\"}",
        b"{\"task\": [{}]}",
        b"{\"url\": \"http://a/\xff\xfe\"}",
        b"{\"url\": \"http://a/\", \"name\": \"\\ud800\"}",
        // UTF-16.
        b"{\0\"\0u\0r\0l\0\"\0:\0\"\0a\0\"\0}\0",
    ];
    let deep = [&b"{\"headers\": "[..], &b"[".repeat(5000)].concat();
    texts.iter().map(|text| text.to_vec()).chain([deep]).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn invalid_fields_are_refused_by_name_on_every_route() {
    let cluster = cluster::empty();
    let (node, path, routes) = with_task(&cluster, &[]).await;
    let before = stored(&cluster, &node, &path).await;
    for (method, route) in routes {
        for (field, values) in wrong() {
            for value in values {
                let mut task = json!({"url": "http://127.0.0.1:9/", "cron": FAR});
                task[field] = value.clone();
                let answer = send(node.request(method.clone(), &route).json(&task)).await;
                assert_eq!(answer.status, 422, "{method} {field} {value}: {answer:?}");
                let details = answer.json()["error"]["details"].clone();
                assert!(details[field].is_array(), "{method} {field} {value}: {details}");
            }
        }
        for (field, code) in [("delay", "invalid_delay"), ("run_at", "invalid_run_at")] {
            for value in times() {
                let answer = send(
                    node.request(method.clone(), &route)
                        .json(&json!({"url": "http://127.0.0.1:9/", field: value})),
                )
                .await;
                assert_eq!(
                    (answer.status, answer.code().as_str()),
                    (400, code),
                    "{method} {field} {value}: {answer:?}"
                );
            }
        }
    }
    assert_eq!(stored(&cluster, &node, &path).await, before, "nothing was stored or changed");
}

fn wrong() -> Vec<(&'static str, Vec<Value>)> {
    let long = "a".repeat(256);
    let addresses = || {
        let long = format!("http://a/{}", "b".repeat(250));
        let texts =
            ["", "a", "//a/", "ftp://a/", "file:///etc/passwd", "javascript:1", "http://", "http://a b/"];
        let texts = texts.iter().map(|text| json!(text));
        texts
            .chain([json!(long), json!("http://a/\u{0}"), json!(1), json!(["http://a/"]), json!({})])
            .collect()
    };
    vec![
        ("url", addresses()),
        ("callback_url", addresses()),
        ("name", vec![json!(""), json!("  "), json!(long), json!("a\u{0}b"), json!(1), json!(["a"])]),
        ("method", vec![json!(""), json!("TRACE"), json!("CONNECT"), json!("GET /"), json!(1)]),
        (
            "headers",
            vec![
                json!("a: b"),
                json!(["a"]),
                json!({"": "b"}),
                json!({"a b": "c"}),
                json!({"a": 1}),
                json!({"a": "b\r\nc: d"}),
                json!({"a": "\u{84}"}),
                json!({"host": "b"}),
                json!({"content-length": "1"}),
                json!({"transfer-encoding": "chunked"}),
                json!({"a": "b".repeat(20_000)}),
            ],
        ),
        ("body", vec![json!(1), json!({}), json!("a\u{0}"), json!("a".repeat(256 * 1024 + 1))]),
        (
            "timeout_ms",
            vec![json!(999), json!(300_001), json!(-1), json!(1e300), json!("1000"), json!(1000.5)],
        ),
        ("retry_attempts", vec![json!(-1), json!(11), json!("3"), json!(99_999_999_999_999_999_i64)]),
        ("muted", vec![json!("true"), json!(1)]),
        ("enabled", vec![json!("no"), json!(0)]),
        (
            "expected_status_codes",
            vec![json!(""), json!("2xx"), json!("200;201"), json!("99"), json!("600"), json!(200)],
        ),
        ("expected_body_pattern", vec![json!(1), json!("a".repeat(1001))]),
        ("queue", vec![json!(""), json!("none"), json!(long), json!(1)]),
        (
            "cron",
            vec![
                json!(""),
                json!("* * * *"),
                json!("60 * * * *"),
                json!("0 0 31 2 *"),
                json!("* * * * * * *"),
                json!(1),
            ],
        ),
    ]
}

/// Neither a wait nor a time.
fn times() -> Vec<Value> {
    vec![
        json!(0),
        json!(-1),
        json!(1.5),
        json!(99_999_999_999_i64),
        json!("0s"),
        json!("-5s"),
        json!("5 s"),
        json!("5w"),
        json!("99999999999999999999s"),
        json!("400d"),
        json!("9999-12-31T23:59:59Z"),
        json!("soon"),
        json!(true),
        json!([1]),
        json!({"s": 1}),
    ]
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn invalid_keys_are_refused_before_anything_else() {
    let cluster = cluster::empty();
    let (node, path, _) = with_task(&cluster, &[]).await;
    let before = stored(&cluster, &node, &path).await;
    let (id, secret) = KEY.split_once('.').unwrap();
    let client = reqwest::Client::new();
    let other = format!("{id}.{}", "x".repeat(secret.len()));
    for value in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer .",
        &format!("Bearer {id}"),
        &format!("Bearer {id}."),
        &format!("Bearer .{secret}"),
        &format!("Bearer {other}"),
        &format!("Basic {KEY}"),
        &format!("Bearer {}", "a".repeat(10_000)),
        "Bearer ' OR 1=1 --.x",
        "Bearer \u{e4}.\u{fc}",
    ] {
        for (method, route) in
            [(Method::GET, "/api/v1/tasks"), (Method::POST, "/api/v1/tasks"), (Method::DELETE, &path)]
        {
            let request =
                client.request(method, format!("{}{route}", node.url)).header("authorization", value);
            let answer = send(request.body("{")).await;
            assert_eq!((answer.status, answer.code().as_str()), (401, "unauthorized"), "{route} {value}");
        }
    }
    assert_eq!(stored(&cluster, &node, &path).await, before, "nothing was stored or changed");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn malformed_ids_parameters_paths_and_methods_are_refused() {
    let cluster = cluster::empty();
    let (node, ..) = with_task(&cluster, &[]).await;
    for (path, status, code) in [
        ("/api/v1/tasks/1", 404, "not_found"),
        ("/api/v1/tasks/%00", 404, "not_found"),
        ("/api/v1/tasks/%ff", 404, "not_found"),
        ("/api/v1/tasks/018f0000-0000-7000-8000-00000000000g", 404, "not_found"),
        ("/api/v1/tasks/1%27%20OR%201=1/executions", 404, "not_found"),
        ("/api/v1/tasks?limit=0", 400, "bad_request"),
        ("/api/v1/tasks?limit=101", 400, "bad_request"),
        ("/api/v1/tasks?limit=ten", 400, "bad_request"),
        ("/api/v1/tasks?offset=-1", 400, "bad_request"),
        ("/api/v1/tasks?offset=99999999999999999999", 400, "bad_request"),
        ("/api/v1/tasks?queue=%00", 400, "bad_request"),
        ("/api/v1/tasks?limit=1&limit=2", 400, "bad_request"),
        ("/api/v1/tasks/", 404, "not_found"),
        ("/api/v1/none", 404, "not_found"),
        ("/etc/passwd", 404, "not_found"),
    ] {
        let answer = node.get(path).await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert_eq!(answer.code(), code, "{path}: {answer:?}");
    }
    for (method, path) in [
        (Method::DELETE, "/api/v1/tasks"),
        (Method::GET, "/api/v1/tasks/1/trigger"),
        (Method::POST, "/api/v1/events"),
        (Method::POST, "/health"),
        (Method::PATCH, "/metrics"),
    ] {
        let answer = send(node.request(method.clone(), path)).await;
        assert_eq!((answer.status, answer.code().as_str()), (405, "bad_method"), "{method} {path}");
        assert!(answer.headers.contains_key("allow"), "{method} {path} says what is allowed");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_malformed_idempotency_key_is_refused_and_its_request_not_executed() {
    let cluster = cluster::empty();
    let (node, path, routes) = with_task(&cluster, &[]).await;
    let before = stored(&cluster, &node, &path).await;
    for (method, route) in routes {
        for key in [&b""[..], &b"a".repeat(256), b"\xe4", b"a b"] {
            let value = reqwest::header::HeaderValue::from_bytes(key).unwrap();
            let request = node.request(method.clone(), &route).header("idempotency-key", value);
            let task = json!({"url": "http://127.0.0.1:9/", "cron": FAR, "name": "never"});
            let answer = send(request.json(&task)).await;
            assert_eq!((answer.status, answer.code().as_str()), (400, "bad_request"), "{method} {key:?}");
        }
    }
    assert_eq!(stored(&cluster, &node, &path).await, before, "nothing was stored or changed");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn broken_http_is_refused_and_a_missing_body_stores_nothing() {
    let cluster = cluster::empty();
    let (node, path, _) = with_task(&cluster, &[]).await;
    let before = stored(&cluster, &node, &path).await;
    let head = format!(
        "POST /api/v1/tasks HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {KEY}\r\ncontent-type: application/json\r\n"
    );
    let task = "{\"url\": \"http://127.0.0.1:9/\"}";
    let long = "a".repeat(1_000_000);
    for request in [
        format!("{head}content-length: {}\r\ncontent-length: 3\r\n\r\n{task}", task.len()),
        format!("{head}content-length: -1\r\n\r\n{task}"),
        format!("{head}content-length: two\r\n\r\n{task}"),
        format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n{task}\r\n0\r\n\r\n"),
        format!("{head}x: {long}\r\ncontent-length: {}\r\n\r\n{task}", task.len()),
        format!("{head}x\0y: 1\r\ncontent-length: {}\r\n\r\n{task}", task.len()),
        format!("{head}{}content-length: {}\r\n\r\n{task}", "x: 1\r\n".repeat(1000), task.len()),
        "POST /api/v1/tasks HTTP/9.9\r\n\r\n".to_owned(),
        "\0\0\0\0\r\n\r\n".to_owned(),
    ] {
        let answer = raw(&node, request.as_bytes()).await;
        let shown = &request[..request.len().min(200)];
        assert!(!answer.starts_with("HTTP/1.1 2"), "{shown:?}: {answer}");
        assert!(!answer.starts_with("HTTP/1.1 5"), "{shown:?}: {answer}");
    }
    // The body is shorter than announced and the client disconnects.
    let cut = format!("{head}content-length: 100\r\n\r\n{task}");
    let answer = raw(&node, cut.as_bytes()).await;
    assert!(!answer.starts_with("HTTP/1.1 2"), "{answer}");
    assert_eq!(stored(&cluster, &node, &path).await, before, "nothing was stored or changed");
    node.create(&json!({"url": "http://127.0.0.1:9/", "delay": "1d"})).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_body_that_stalls_is_refused_in_time() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[]).await;
    let address = node.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let begun = format!(
        "POST /api/v1/tasks HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {KEY}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    stream.write_all(begun.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    let reading = tokio::time::timeout(TIMEOUT, stream.read_exact(&mut answer));
    reading.await.expect("it is answered").unwrap();
    assert_eq!(std::str::from_utf8(&answer).unwrap(), "HTTP/1.1 408");
}

/// Sends bytes, ends its side and reads what comes.
async fn raw(node: &Node, request: &[u8]) -> String {
    let address = node.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The service can close before it has read everything.
    let _ = stream.write_all(request).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}
