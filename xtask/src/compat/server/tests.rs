//! The server over a real connection.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::Server;

/// What comes back to `head`, with the connection closed after it.
fn ask(server: &Server, head: &str) -> String {
    let mut stream = TcpStream::connect(server.base.trim_start_matches("http://")).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn answers_come_in_order_on_one_connection_and_stand_in_the_journal() {
    let server = Server::start().unwrap();
    let said = ask(
        &server,
        "GET /status/404 HTTP/1.1\r\n\r\nPOST /post?a=1 HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi",
    );
    assert!(said.starts_with("HTTP/1.1 404 Not Found\r\n"), "{said}");
    assert!(said.contains("\"data\": \"hi\""), "{said}");
    let journal: Vec<String> =
        server.take().iter().map(|request| format!("{} {}", request.method, request.target)).collect();
    assert_eq!(journal, ["GET /status/404", "POST /post?a=1"]);
    assert!(server.take().is_empty());
}

#[test]
fn every_answer_is_a_function_of_the_request() {
    let server = Server::start().unwrap();
    for path in
        ["/", "/get?b=1&a=2", "/bytes/100", "/gzip", "/brotli", "/zstd", "/digest-auth/auth/u/p", "/html"]
    {
        let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(ask(&server, &head), ask(&server, &head), "{path}");
    }
}

#[test]
fn the_way_an_answer_comes_can_be_asked_for() {
    let server = Server::start().unwrap();
    let get = |path: &str| ask(&server, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_eq!(get("/hang-up"), "");
    assert!(get("/half").ends_with("half of thi"));
    assert!(get("/stream/2").ends_with("\r\n\r\na\r\n{\"id\": 0}\n\r\na\r\n{\"id\": 1}\n\r\n0\r\n\r\n"));
    assert!(get("/drip?numbytes=3&duration=0.01").ends_with("\r\n\r\n***"));
    assert!(!get("/close").contains("Content-Length"));
}

#[test]
fn a_head_request_gets_the_length_and_no_body() {
    let server = Server::start().unwrap();
    let said = ask(&server, "HEAD /bytes/100 HTTP/1.1\r\n\r\n");
    assert!(said.ends_with("Content-Length: 100\r\n\r\n"), "{said}");
}
