//! Bad input is refused with a reason and never stored, and the service goes on.

use std::time::Duration;

use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::cluster;
use crate::fixture::{Service, send};
use testbed::TIMEOUT;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn invalid_bodies_are_refused_on_every_route() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &[]).await;
    let id = service.create("there").await;
    let before = service.get(&format!("/todos/{id}")).await.body;
    for (method, path) in [(Method::POST, "/todos/".to_owned()), (Method::PUT, format!("/todos/{id}"))] {
        for body in bodies() {
            let request = service.request(method.clone(), &path).header("content-type", "application/json");
            let response = send(request.body(body.clone())).await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            assert_eq!(
                (response.status, response.code().as_str()),
                (400, "bad_body"),
                "{method} {shown}: {response:?}"
            );
        }
        let huge = format!("{{\"name\": \"{}\"}}", "a".repeat(20_000));
        let request = service.request(method.clone(), &path).header("content-type", "application/json");
        assert_eq!(send(request.body(huge)).await.status, 413, "{method}");
        for (name, value) in [
            ("content-type", "text/plain"),
            ("content-type", "application/x-www-form-urlencoded"),
            ("content-type", "application/json; charset=utf-16"),
            ("content-type", "application/jsonp"),
            ("x-none", "application/json"),
        ] {
            let response =
                send(service.request(method.clone(), &path).header(name, value).body("{\"done\": true}"))
                    .await;
            assert_eq!(
                (response.status, response.code().as_str()),
                (415, "bad_content_type"),
                "{method} {value}"
            );
        }
        let packed = service.request(method.clone(), &path).header("content-type", "application/json");
        assert_eq!(send(packed.header("content-encoding", "gzip").body("{}")).await.status, 415, "{method}");
    }
    assert_eq!(cluster.number("SELECT count(*) FROM todos").await, 1, "nothing was stored");
    assert_eq!(service.get(&format!("/todos/{id}")).await.body, before, "nothing was changed");
}

fn bodies() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 16] = [
        b"",
        b"null",
        b"true",
        b"[]",
        b"\"name\"",
        b"{",
        b"{\"done\": tru",
        b"{\"done\": 1}",
        b"{\"done\": \"true\"}",
        b"{\"done\": null}",
        b"{\"done\": true} {}",
        b"{\"done\": true, \"more\": 1}",
        b"{\"done\": true, \"done\": false}",
        b"{\"\xff\xfe\": true}",
        // UTF-16.
        b"{\0\"\0d\0o\0n\0e\0\"\0:\0t\0r\0u\0e\0}\0",
        b"{\"done\": {\"$gt\": \"\"}}",
    ];
    let deep = [&b"{\"done\": "[..], &b"[".repeat(5000)].concat();
    texts.iter().map(|text| text.to_vec()).chain([deep]).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn unknown_ids_paths_and_methods_are_refused() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &[]).await;
    for (path, status, code) in [
        ("/todos/one", 400, "bad_id"),
        ("/todos/1.5", 400, "bad_id"),
        ("/todos/%00", 400, "bad_id"),
        ("/todos/%ff", 400, "bad_id"),
        ("/todos/1%20OR%201=1", 400, "bad_id"),
        ("/todos/0", 404, "unknown_todo"),
        ("/todos/-1", 404, "unknown_todo"),
        ("/todos/99999999999999999999999", 404, "unknown_todo"),
        ("/todos", 404, "unknown_path"),
        ("/todos/1/2", 404, "unknown_path"),
        ("/etc/passwd", 404, "unknown_path"),
    ] {
        let response = service.get(path).await;
        assert_eq!((response.status, response.code().as_str()), (status, code), "{path}");
    }
    for (method, path) in [(Method::PATCH, "/todos/"), (Method::DELETE, "/todos/"), (Method::POST, "/health")]
    {
        let response = send(service.request(method.clone(), path)).await;
        assert_eq!((response.status, response.code().as_str()), (405, "bad_method"), "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn malformed_http_is_refused_and_an_incomplete_body_stores_nothing() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &[]).await;
    let head = "POST /todos/ HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
    let long = "a".repeat(1_000_000);
    for request in [
        format!("{head}content-length: 2\r\ncontent-length: 3\r\n\r\n{{}}"),
        format!("{head}content-length: -1\r\n\r\n{{}}"),
        format!("{head}content-length: two\r\n\r\n{{}}"),
        format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n"),
        format!("{head}x: {long}\r\ncontent-length: 2\r\n\r\n{{}}"),
        format!("{head}x\0y: 1\r\ncontent-length: 2\r\n\r\n{{}}"),
        format!("{head}{}content-length: 2\r\n\r\n{{}}", "x: 1\r\n".repeat(1000)),
        "POST /todos/ HTTP/9.9\r\n\r\n".to_owned(),
        "\0\0\0\0\r\n\r\n".to_owned(),
    ] {
        let response = raw(&service, request.as_bytes()).await;
        let shown = &request[..request.len().min(120)];
        assert!(!response.starts_with("HTTP/1.1 2"), "{shown:?}: {response}");
        assert!(!response.starts_with("HTTP/1.1 5"), "{shown:?}: {response}");
    }
    // Its content-length exceeds what it sends before it closes.
    let cut = format!("{head}content-length: 100\r\n\r\n{{\"name\": \"half a\"}}");
    let response = raw(&service, cut.as_bytes()).await;
    assert!(!response.starts_with("HTTP/1.1 2"), "{response}");
    assert_eq!(cluster.number("SELECT count(*) FROM todos").await, 0, "nothing was stored");
    service.create("goes on").await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_stalled_body_is_refused_as_too_slow_and_stores_nothing() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &[]).await;
    let head = "POST /todos/ HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
    let mut stream = TcpStream::connect(service.url.strip_prefix("http://").unwrap()).await.unwrap();
    let cut = format!("{head}content-length: 100\r\n\r\n{{\"name\": \"half a");
    stream.write_all(cut.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    // The client's side stays open: the rest of the body could still arrive.
    while !response.ends_with(b"}}") {
        let read = tokio::time::timeout(TIMEOUT, stream.read_buf(&mut response)).await.expect("no answer");
        assert_ne!(read.unwrap(), 0, "{}", String::from_utf8_lossy(&response));
    }
    let response = String::from_utf8(response).unwrap();
    assert!(response.starts_with("HTTP/1.1 408 ") && response.contains("\"too_slow\""), "{response}");
    assert_eq!(cluster.number("SELECT count(*) FROM todos").await, 0, "nothing was stored");
}

/// Sends bytes, closes the sending side and reads the response.
async fn raw(service: &Service, request: &[u8]) -> String {
    let address = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The service may close before it has read everything.
    let _ = stream.write_all(request).await;
    let _ = stream.shutdown().await;
    let mut response = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut response)).await.unwrap();
    String::from_utf8_lossy(&response).into_owned()
}
