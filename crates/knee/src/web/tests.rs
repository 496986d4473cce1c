//! The server as a stranger on this machine, another site and an owner meet it, over real connections.

use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::answer::{HTML, assert_protected};
use super::places::PLACES_MAX;
use super::*;

/// Longest that a test waits for what must happen.
const LIMIT: Duration = Duration::from_secs(30);

/// A site that shows one sentence; at `/wait`, only after a word of the test.
struct Sentence(Mutex<Receiver<()>>);

impl Site for Sentence {
    fn respond(&self, request: &Request, pass: &Pass, stream: &TcpStream) -> io::Result<()> {
        if request.path == "/wait" {
            let mut stream = stream;
            stream.write_all(b"waiting\n")?;
            let _ = self.0.lock().unwrap().recv();
        }
        Answer::ok(HTML, "shown").with(&pass.cookie()).write(stream, request.is_head)
    }
}

fn server() -> (Server<Sentence>, SyncSender<()>) {
    let (say, heard) = sync_channel(1);
    let site = Sentence(Mutex::new(heard));
    (Server::start("127.0.0.1:0".parse().unwrap(), site, Terms::READING).unwrap(), say)
}

/// The whole answer to what is sent.
fn answer(server: &Server<Sentence>, text: &str) -> String {
    whole(server.send(text, LIMIT))
}

fn whole(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection that is reset was not answered.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

/// A request of the owner's browser, with these headers instead of the usual `Host`.
fn owned(server: &Server<Sentence>, line: &str, headers: &str) -> String {
    let (port, token) = (server.0.address.port(), server.0.pass.token.text());
    format!("{line} HTTP/1.1\r\n{headers}\r\ncookie: knee-{port}={token}\r\n\r\n")
}

fn host(server: &Server<Sentence>) -> String {
    format!("host: {}", server.0.address)
}

#[test]
fn strangers_that_send_slowly_do_not_lock_the_owner_out() {
    let (server, _say) = server();
    for _ in 0..2 {
        let slow: Vec<TcpStream> =
            (0..4 * PLACES_MAX).map(|_| server.send("GET / HTTP/1.1\r\n", LIMIT)).collect();
        assert!(whole(server.ask("/", LIMIT)).starts_with("HTTP/1.1 200 OK"));
        drop(slow);
    }
}

#[test]
fn strangers_that_were_refused_and_stay_do_not_lock_the_owner_out() {
    let (server, _say) = server();
    let wrong = format!("GET / HTTP/1.1\r\n{}\r\n\r\n", host(&server));
    let refused: Vec<TcpStream> = (0..2 * PLACES_MAX).map(|_| server.send(&wrong, LIMIT)).collect();
    assert!(whole(server.ask("/", LIMIT)).starts_with("HTTP/1.1 200 OK"));
    drop(refused);
}

#[test]
fn an_answer_under_way_is_not_cut_off_for_a_stranger() {
    let (server, say) = server();
    let mut waiting = BufReader::new(server.ask("/wait", LIMIT));
    let mut line = String::new();
    waiting.read_line(&mut line).unwrap();
    let strangers: Vec<TcpStream> = (0..2 * PLACES_MAX).map(|_| server.send("GET", LIMIT)).collect();
    // A later connection is served, so all of them were taken.
    assert!(whole(server.ask("/", LIMIT)).starts_with("HTTP/1.1 200 OK"));
    say.send(()).unwrap();
    let rest: Vec<String> = waiting.lines().map(Result::unwrap).collect();
    assert_eq!(rest.last().map(String::as_str), Some("shown"), "{line}{rest:?}");
    drop(strangers);
}

/// Names that lead to this machine although another site chose them, as in an attack by DNS rebinding.
#[test]
fn a_name_of_another_site_that_leads_here_is_refused_even_with_the_token() {
    let (server, _say) = server();
    let port = server.0.address.port();
    for name in ["attacker.example", "localhost.attacker.example", "127.0.0.1.nip.io"] {
        for headers in [
            format!("host: {name}:{port}"),
            format!("host: {name}:{port}\r\norigin: http://{name}:{port}\r\nsec-fetch-site: same-origin"),
        ] {
            let answer = answer(&server, &owned(&server, "GET /", &headers));
            assert!(answer.starts_with("HTTP/1.1 421 "), "{headers}: {answer}");
            assert_refused(&answer);
        }
    }
}

#[test]
fn a_tab_of_another_site_is_refused_even_with_the_token() {
    let (server, _say) = server();
    let (host, port) = (host(&server), server.0.address.port());
    for header in [
        "origin: http://attacker.example".to_owned(),
        "origin: null".to_owned(),
        format!("origin: http://localhost.attacker.example:{port}"),
        format!("origin: http://127.0.0.1:{}", port ^ 1),
        "sec-fetch-site: cross-site".to_owned(),
    ] {
        let answer = answer(&server, &owned(&server, "GET /", &format!("{host}\r\n{header}")));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{header}: {answer}");
        assert_refused(&answer);
    }
}

#[test]
fn another_method_than_get_and_head_is_refused_even_with_the_token() {
    let (server, _say) = server();
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get"] {
        let answer = answer(&server, &owned(&server, &format!("{method} /"), &host(&server)));
        assert!(
            answer.starts_with("HTTP/1.1 405 ") && answer.contains("\r\nallow: GET, HEAD\r\n"),
            "{answer}"
        );
        assert_refused(&answer);
    }
    let head = answer(&server, &owned(&server, "HEAD /", &host(&server)));
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn the_cookie_of_another_page_and_a_guessed_token_are_refused() {
    let ((server, _), (older, _)) = (server(), server());
    let (port, host) = (server.0.address.port(), host(&server));
    let (token, other) = (server.0.pass.token.text(), older.0.pass.token.text());
    let guess: String = token.chars().map(|digit| if digit == '0' { '1' } else { '0' }).collect();
    for header in [
        format!("cookie: knee-{port}={other}"),
        format!("cookie: knee-{}={token}", older.0.address.port()),
        format!("cookie: knee-{port}={guess}"),
        format!("authorization: Bearer {guess}"),
        format!("authorization: Bearer {}", &token[..31]),
        "accept: */*".to_owned(),
    ] {
        let answer = answer(&server, &format!("GET / HTTP/1.1\r\n{host}\r\n{header}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{header}: {answer}");
        assert_refused(&answer);
    }
    assert!(answer(&server, &owned(&server, "GET /", &host)).ends_with("shown"));
}

#[test]
fn a_request_that_is_none_is_refused_even_with_the_token() {
    let (server, _say) = server();
    let host = host(&server);
    for (headers, status) in [
        (format!("{host}\r\ncontent-length: 0\r\ncontent-length: 5"), "400"),
        (format!("{host}\r\ncontent-length: 0\r\ntransfer-encoding: chunked"), "400"),
        (format!("{host}\nx: y"), "400"),
        (format!("{host}\r\n{host}"), "421"),
        (format!("{host}\r\nx: {}", "y".repeat(9_000)), "431"),
    ] {
        let answer = answer(&server, &owned(&server, "GET /", &headers));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{headers}: {answer}");
        assert_refused(&answer);
    }
}

/// That an answer shows nothing, gives no pass, and is protected.
fn assert_refused(answer: &str) {
    assert!(!answer.contains("shown") && !answer.contains("set-cookie"), "{answer}");
    assert_protected(answer);
}
