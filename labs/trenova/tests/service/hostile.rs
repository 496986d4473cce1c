//! Bad input is refused with a reason and never stored, and the service keeps running.

use std::time::Duration;

use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::{OPTIONS, Service, Stores, send};

const LOGIN: &str = "/api/v1/auth/login";
const WORKERS: &str = "/api/v1/workers";
const COUNT: &str = "SELECT count(*) FROM workers";

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn malformed_bodies_are_refused_on_every_route_that_takes_one() {
    let stores = Stores::seeded().await;
    let service = Service::open(&stores, &["--rate-limit", "off"]);
    let person = service.sign_in(1).await;
    let (worker, login) = (
        "{\"firstName\": \"a\", \"lastName\": \"b\"}",
        "{\"emailAddress\": \"user1@org1.example\", \"password\": \"password\"}",
    );
    for (path, good) in [(WORKERS, worker), (LOGIN, login)] {
        for body in bodies(good) {
            let request = person.request(Method::POST, path).header("content-type", "application/json");
            let answer = send(request.body(body.clone())).await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (400, "bad_body"),
                "{path} {shown}: {answer:?}"
            );
        }
        let huge = format!("{{\"firstName\": \"{}\"}}", "a".repeat(20_000));
        let request = person.request(Method::POST, path).header("content-type", "application/json");
        assert_eq!(send(request.body(huge)).await.status, 413, "{path}");
        for (name, value) in [
            ("content-type", "text/plain"),
            ("content-type", "application/x-www-form-urlencoded"),
            ("content-type", "application/json; charset=utf-16"),
            ("content-type", "application/jsonp"),
            ("x-none", "application/json"),
        ] {
            let answer = send(person.request(Method::POST, path).header(name, value).body(good)).await;
            assert_eq!((answer.status, answer.code().as_str()), (415, "bad_content_type"), "{path} {value}");
        }
        let packed = person.request(Method::POST, path).header("content-type", "application/json");
        assert_eq!(send(packed.header("content-encoding", "gzip").body(good)).await.status, 415, "{path}");
    }
    assert_eq!(stores.cluster.number(COUNT).await, 60, "nothing was stored");
    let sessions: Vec<String> = stores.redis.command(&["KEYS", "session:*"]).await;
    assert_eq!(sessions.len(), 1, "nobody was signed in");
    person.page().await;
}

/// Corruptions of a valid body, and some other invalid bodies.
fn bodies(good: &str) -> Vec<Vec<u8>> {
    let texts: [&[u8]; 10] = [
        b"",
        b"null",
        b"true",
        b"[]",
        b"[\"a\", \"b\"]",
        b"\"name\"",
        b"{",
        b"{}",
        b"{\"\xff\xfe\": true}",
        b"{\"firstName\": {\"$gt\": \"\"}, \"emailAddress\": {\"$gt\": \"\"}}",
    ];
    let mut bodies: Vec<Vec<u8>> = texts.iter().map(|text| text.to_vec()).collect();
    bodies.push([&b"{\"firstName\": "[..], &b"[".repeat(5000)].concat());
    bodies.push(good.encode_utf16().flat_map(u16::to_le_bytes).collect());
    bodies.push(good.replace('}', ", \"more\": 1}").into());
    bodies.push(format!("{good} {good}").into());
    for (from, to) in [
        ("\"a\"", "1"),
        ("\"a\"", "null"),
        ("\"a\"", "\"\""),
        ("\"a\"", "\"\\u0000\""),
        ("\"a\"", "\"\\ud800\""),
    ] {
        bodies.push(good.replace(from, to).replace("\"password\"}", &format!("{to}}}")).into());
    }
    let long = format!("\"{}\"", "x".repeat(300));
    bodies.push(good.replace("\"b\"", &long).replace("\"password\"}", &format!("{long}}}")).into());
    bodies.extend((1..good.len()).map(|length| good.as_bytes()[..length].to_vec()));
    bodies
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn malformed_queries_ids_paths_and_methods_are_refused() {
    let stores = Stores::seeded().await;
    let service = Service::open(&stores, &["--rate-limit", "off"]);
    let person = service.sign_in(1).await;
    for (path, status, code) in [
        (format!("{OPTIONS}?limit=0"), 400, "bad_query"),
        (format!("{OPTIONS}?limit=1000"), 400, "bad_query"),
        (format!("{OPTIONS}?limit=ten"), 400, "bad_query"),
        (format!("{OPTIONS}?offset=-1"), 400, "bad_query"),
        (format!("{OPTIONS}?offset=0x10"), 400, "bad_query"),
        (format!("{OPTIONS}?limit=1&limit=2"), 400, "bad_query"),
        (format!("{OPTIONS}?query=%ff"), 400, "bad_query"),
        (format!("{OPTIONS}?query=%00"), 400, "bad_query"),
        (format!("{OPTIONS}?query={}", "a".repeat(200)), 400, "bad_query"),
        (format!("{WORKERS}/%ff"), 400, "bad_query"),
        (format!("{WORKERS}/%00"), 404, "unknown_worker"),
        (format!("{WORKERS}/1%20OR%201=1"), 404, "unknown_worker"),
        (format!("{WORKERS}/{}", "a".repeat(500)), 404, "unknown_worker"),
        (format!("{WORKERS}/wrk_1/2"), 404, "unknown_path"),
        ("/etc/passwd".to_owned(), 404, "unknown_path"),
        ("/api/v1/workers/select-options//".to_owned(), 404, "unknown_path"),
    ] {
        let answer = person.get(&path).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}: {answer:?}");
    }
    // Any text is a valid search; these match no worker.
    for typed in
        ["%27%3B%20DROP%20TABLE%20workers%3B--", "%26%7C%21%3A*", "%28%29%28", "%F0%9F%9A%9A", "%5C", "%25"]
    {
        let answer = person.get(&format!("{OPTIONS}?query={typed}")).await;
        assert_eq!((answer.status, answer.ids().len()), (200, 0), "{typed}: {answer:?}");
    }
    for (method, path) in
        [(Method::POST, OPTIONS), (Method::PUT, WORKERS), (Method::GET, LOGIN), (Method::POST, "/health")]
    {
        let answer = send(person.request(method.clone(), path)).await;
        assert_eq!((answer.status, answer.code().as_str()), (405, "bad_method"), "{method} {path}");
    }
    assert_eq!(stores.cluster.number(COUNT).await, 60);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn hostile_headers_and_stalled_bodies_are_refused_and_store_nothing() {
    let stores = Stores::seeded().await;
    let service = Service::open(&stores, &["--rate-limit", "off"]);
    let person = service.sign_in(1).await;
    let cookie = format!("cookie: trenova_session={}", person.session);
    let head =
        format!("POST {WORKERS} HTTP/1.1\r\nhost: a\r\n{cookie}\r\ncontent-type: application/json\r\n");
    let body = "{\"firstName\":\"a\",\"lastName\":\"b\"}";
    let length = body.len();
    let long = "a".repeat(1_000_000);
    for request in [
        format!("{head}content-length: {length}\r\ncontent-length: 3\r\n\r\n{body}"),
        format!("{head}content-length: -1\r\n\r\n{body}"),
        format!("{head}content-length: two\r\n\r\n{body}"),
        format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n{body}\r\n0\r\n\r\n"),
        format!("{head}x: {long}\r\ncontent-length: {length}\r\n\r\n{body}"),
        format!("{head}x\0y: 1\r\ncontent-length: {length}\r\n\r\n{body}"),
        format!("{head}{}content-length: {length}\r\n\r\n{body}", "x: 1\r\n".repeat(1000)),
        format!("POST {WORKERS} HTTP/9.9\r\n\r\n"),
        "\0\0\0\0\r\n\r\n".to_owned(),
        // The body is shorter than announced and the client disconnects.
        format!("{head}content-length: 1000\r\n\r\n{body}"),
    ] {
        let answer = raw(&service, request.as_bytes(), true).await;
        let shown = &request[..request.len().min(200)];
        assert!(
            !answer.starts_with("HTTP/1.1 2") && !answer.starts_with("HTTP/1.1 5"),
            "{shown:?}: {answer}"
        );
    }
    for header in [
        "cookie: \u{ff}",
        "cookie: ;;;==;",
        "cookie: trenova_session",
        "x-forwarded-for: ' OR 1=1",
        "authorization: \u{1}",
    ] {
        let request = format!("GET {OPTIONS} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{header}\r\n\r\n");
        let answer = raw(&service, request.as_bytes(), false).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{header:?}: {answer}");
    }
    assert_eq!(stores.cluster.number(COUNT).await, 60, "nothing was stored");
    person.make("goes", "on").await;
}

/// Sends bytes, closes its side if `ends`, and reads until the service closes.
async fn raw(service: &Service, request: &[u8], ends: bool) -> String {
    let address = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The service can close before it has read everything.
    let _ = stream.write_all(request).await;
    if ends {
        let _ = stream.shutdown().await;
    }
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}
