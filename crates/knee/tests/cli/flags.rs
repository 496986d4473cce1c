//! Flags, each shown by what the server saw.

use std::collections::BTreeSet;

use crate::program::{Home, number, word};
use crate::server::{Seen, Server, identity};

/// Runs a load on `server` and returns the requests it saw and the run as JSON.
fn load(server: &Server, home: &Home, line: &str) -> (Vec<Seen>, serde_json::Value) {
    let finished = home.knee(&line.replace("URL", server.url("").as_str())).run();
    let run = finished.ended_as_it_says(home);
    (server.seen(), run)
}

fn only(seen: &[Seen]) -> &Seen {
    assert_eq!(seen.len(), 1, "{seen:?}");
    &seen[0]
}

#[test]
fn headers_credentials_and_body_arrive_as_typed() {
    let (home, server) = (Home::new(), Server::start());
    let knee =
        home.knee("-n 1 -m post -T application/json -A text/plain -U me -a user:pass --host other.test");
    let knee = knee.arg("-H").arg("x-one: first value").args("-H x-two:2 -d").arg("{\"a\": 1}");
    knee.arg(server.url("/path?query=1")).run();
    let seen = server.seen();
    let seen = only(&seen);
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/path?query=1"));
    assert_eq!(seen.text(), "{\"a\": 1}");
    for (name, value) in [
        ("host", "other.test"),
        ("content-type", "application/json"),
        ("content-length", "8"),
        ("accept", "text/plain"),
        ("user-agent", "me"),
        ("authorization", "Basic dXNlcjpwYXNz"),
        ("x-one", "first value"),
        ("x-two", "2"),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
}

#[test]
fn a_body_comes_from_a_file_or_from_its_lines() {
    let (home, server) = (Home::new(), Server::start());
    home.file("body", "two\nlines\n");
    let (seen, _) = load(&server, &home, "-n 1 -D body -m PUT URL/");
    assert_eq!((only(&seen).method.as_str(), only(&seen).text().as_str()), ("PUT", "two\nlines\n"));

    let server = Server::start();
    home.file("lines", "one\r\n\ntwo\nthree");
    let (seen, _) = load(&server, &home, "-n 100 -c 4 -Z lines -m POST URL/");
    let bodies: BTreeSet<String> = seen.iter().map(Seen::text).collect();
    assert_eq!(bodies, BTreeSet::from(["one", "three", "two"].map(str::to_owned)));
}

#[test]
fn a_form_is_sent_as_browsers_do() {
    let (home, server) = (Home::new(), Server::start());
    home.file("data.csv", "a,b\n");
    let (seen, _) = load(&server, &home, "-n 1 -F name=value -F file=@data.csv;type=text/csv URL/form");
    let seen = only(&seen);
    let kind = seen.header("content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let text = seen.text();
    let parts: Vec<&str> = text.split(&format!("--{boundary}")).collect();
    assert_eq!((seen.method.as_str(), parts.len()), ("POST", 4), "{text}");
    assert!(parts[1].contains("name=\"name\"\r\n\r\nvalue\r\n"), "{text}");
    assert!(parts[2].contains("name=\"file\"; filename=\"data.csv\"\r\n"), "{text}");
    assert!(parts[2].to_lowercase().contains("content-type: text/csv\r\n\r\na,b\n"), "{text}");
    assert_eq!(parts[3], "--\r\n");
}

#[test]
fn urls_come_from_a_file_by_their_weights() {
    let (home, server) = (Home::new(), Server::start());
    home.file("urls", format!("# all\n{} 9\n{}\n", server.url("/often"), server.url("/seldom?a=b")));
    let (seen, run) = load(&server, &home, "-n 1000 -c 4 --urls-from-file urls");
    let often = seen.iter().filter(|seen| seen.path == "/often").count();
    let seldom = seen.iter().filter(|seen| seen.path == "/seldom?a=b").count();
    // 900 in the mean, with a standard deviation of 9.5; the seed is always the same.
    assert_eq!(often + seldom, 1_000);
    assert!((850..950).contains(&often), "{often}");
    assert_eq!(number(&run, "/endpoints/0/requests/ok"), often as u64);
    assert_eq!(number(&run, "/endpoints/1/requests/ok"), seldom as u64);
}

#[test]
fn redirects_are_followed_as_far_as_asked_for() {
    let (home, server) = (Home::new(), Server::start());
    let (seen, run) = load(&server, &home, "-n 10 -c 1 URL/moved");
    assert_eq!((seen.len(), number(&run, "/status/302")), (10, 10));
    let (seen, run) = load(&server, &home, "-n 10 -c 1 -r 1 URL/moved");
    assert_eq!(seen.len(), 10 + 20);
    assert_eq!((number(&run, "/status/200"), number(&run, "/connections/redirects")), (10, 10));
}

#[test]
fn connections_are_kept_unless_that_is_disabled() {
    let (home, server) = (Home::new(), Server::start());
    // Slow, so that each connection is needed.
    load(&server, &home, "-n 30 -c 3 URL/slow");
    assert_eq!((server.count(), server.connections()), (30, 3));
    let server = Server::start();
    let (seen, run) = load(&server, &home, "-n 30 -c 3 --disable-keepalive URL/");
    assert_eq!((seen.len(), server.connections()), (30, 30));
    assert_eq!(number(&run, "/connections/opened"), 30);
    assert_eq!(seen[0].header("connection"), Some("close"));
}

#[test]
fn a_unix_socket_takes_all_connections() {
    let home = Home::new();
    let server = Server::start_unix(&home.path("socket"));
    // Slow, so that each connection is needed.
    let finished = home.knee("-n 20 -c 2 --unix-socket socket http://service.test/slow").run();
    finished.ended_as_it_says(&home);
    assert_eq!((server.count(), server.connections()), (20, 2));
    let seen = server.seen();
    assert_eq!((seen[0].path.as_str(), seen[0].header("host")), ("/slow", Some("service.test")));
}

#[test]
fn connections_go_where_connect_to_says() {
    let (home, one, other) = (Home::new(), Server::start(), Server::start());
    let to = |server: &Server| format!("--connect-to service.test:80:{}", server.address());
    // A host that no name server knows: its addresses are never asked for. Slow, so that each connection is needed.
    let line = format!("-n 20 -c 4 {} {} http://service.test/slow", to(&one), to(&other));
    home.knee(&line).run().ended_as_it_says(&home);
    assert_eq!((one.connections(), other.connections()), (2, 2), "both take turns");
    assert_eq!(one.count() + other.count(), 20);
    assert_eq!(one.seen()[0].header("host"), Some("service.test"));
}

#[test]
fn what_counts_as_public_is_where_connections_go() {
    let (home, server) = (Home::new(), Server::start());
    let line = format!("-n 3000 -c 30 --connect-to 192.0.2.1:80:{} http://192.0.2.1/", server.address());
    home.knee(&line).run().ended_as_it_says(&home);
    assert_eq!(server.count(), 3_000);
    let line = format!("-n 3000 --connect-to {}:192.0.2.1:80 {}", server.address(), server.url("/"));
    let finished = home.knee(&line).run();
    assert!(
        finished.stderr.starts_with("error: this load is above the limit for a public host, `192.0.2.1`"),
        "{}",
        finished.stderr
    );
}

#[test]
fn stages_ramp_the_rate_and_the_connections() {
    let (home, server) = (Home::new(), Server::start());
    // The area under 0 to 100/s within 2 s, and 1 s at 100/s.
    let (seen, run) = load(&server, &home, "-q 0 --stage 2s:100,1s:100 -c 8 URL/");
    assert_eq!((seen.len(), number(&run, "/requests/planned")), (200, 200));
    let server = Server::start();
    load(&server, &home, "-c 1 --stage 1s:1,0s:5,1s:5 URL/slow");
    assert_eq!(server.connections(), 5);
}

#[test]
fn the_warm_up_is_sent_and_not_counted() {
    let (home, server) = (Home::new(), Server::start());
    let (seen, run) = load(&server, &home, "-q 50 --warm-up 1s -z 2s -c 8 URL/");
    assert_eq!(seen.len(), 150);
    assert_eq!(number(&run, "/requests/planned"), 100);
    assert_eq!(number(&run, "/warm_up/requests/planned"), 50);
}

#[test]
fn a_time_limit_ends_requests() {
    let (home, server) = (Home::new(), Server::start());
    let (seen, run) = load(&server, &home, "-n 6 -c 2 -t 200ms URL/hang");
    assert_eq!((seen.len(), number(&run, "/requests/timeout")), (6, 6));
}

#[test]
fn tls_is_trusted_with_its_authority_or_when_nothing_is_checked() {
    let (authority, config) = identity();
    let (home, server) = (Home::new(), Server::start_tls(config));
    let url = format!("https://{}/", server.address());
    let ca = word(&home.file("ca.pem", authority));
    for trust in [format!("--cacert {ca}"), "--insecure".to_owned()] {
        let before = server.count();
        let run = home.knee(&format!("-n 20 -c 2 {trust} {url}")).run().ended_as_it_says(&home);
        assert_eq!((number(&run, "/requests/ok"), server.count() - before), (20, 20), "{trust}");
        assert_eq!(number(&run, "/phases_ms/tls/count"), 2, "{trust}");
    }
    let before = server.count();
    let run = home.knee(&format!("-n 4 -c 2 {url}")).run().ended_as_it_says(&home);
    assert_eq!((number(&run, "/requests/transport_error"), server.count()), (4, before));
    assert_eq!(run["errors"][0]["fault"], "tls_certificate", "{run:#}");
}
