//! Redirects, good and bad: followed only to hosts and ports under load.

use knee_core::outcome::{Blame, Fault, Outcome};
use knee_engine::requests::RequestTemplate;

use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count, faults, request};
use crate::server::{Request, Server};

const REQUESTS: u64 = 12;

fn following(url: &str) -> Drive {
    Drive::closed(url, REQUESTS, 3).with(|settings| settings.redirects = 4)
}

/// Redirects `/` to `location`; responds well to everything else.
fn from_root(status: u16, location: &str) -> impl Fn(&Request) -> Behaviour + Send + Sync + 'static {
    let location = location.to_owned();
    move |request| match request.line() {
        line if line.ends_with(" /") => Behaviour::Redirect(status, location.clone()),
        _ => Behaviour::Good,
    }
}

#[test]
fn a_redirect_within_the_host_is_followed_and_is_part_of_its_request() {
    for location in ["/next", "next?a=b", "../next#part"] {
        let server = Server::start(from_root(302, location));
        let run = following(&server.url("/")).run();
        assert_eq!(all(&run).status, [(200, REQUESTS)]);
        assert_eq!(all(&run).redirects, REQUESTS);
        let seen = server.all_closed();
        assert_eq!(seen.requests.len() as u64, 2 * REQUESTS);
        assert!(seen.connections <= 3, "connections are kept");
    }
}

#[test]
fn a_redirect_that_is_not_followed_is_a_response() {
    let server = Server::start(from_root(302, "/next"));
    let run = Drive::closed(&server.url("/"), REQUESTS, 3).run();
    assert_eq!(all(&run).status, [(302, REQUESTS)]);
    assert_eq!(count(&run, Outcome::Ok), REQUESTS);
}

#[test]
fn a_redirect_loop_ends_at_the_limit_and_the_last_redirect_is_the_response() {
    let server = Server::start(|_| Behaviour::Redirect(307, "/".to_owned()));
    let run = following(&server.url("/")).run();
    assert_eq!(all(&run).status, [(307, REQUESTS)]);
    assert_eq!(all(&run).redirects, 4 * REQUESTS);
    assert_eq!(server.all_closed().requests.len() as u64, 5 * REQUESTS);
}

#[test]
fn a_redirect_to_a_host_that_is_not_under_load_is_a_response() {
    for location in ["http://other.invalid/", "//other.invalid/x", "ftp://127.0.0.1/", "mailto:a@b"] {
        let server = Server::start(from_root(301, location));
        let run = following(&server.url("/")).run();
        assert_eq!(all(&run).status, [(301, REQUESTS)], "{location}: {:?}", faults(&run));
        assert_eq!(all(&run).redirects, 0, "{location}");
        assert_eq!(all(&run).redirects_refused, REQUESTS, "{location}");
    }
}

/// The ways to write `port` of 127.0.0.1 in a redirect.
fn spellings(port: u16) -> [String; 6] {
    [
        format!("http://127.0.0.1:{port}/next"),
        format!("//127.0.0.1:{port}/next"),
        format!("http://127.1:{port}/next"),
        format!("http://2130706433:{port}/next"),
        format!("http://0x7f000001:{port}/next"),
        format!("http://name:word@127.0.0.1:{port}/next"),
    ]
}

#[test]
fn a_redirect_to_another_port_of_the_host_sends_nothing_there_and_is_noted() {
    let other = Server::start(|_| Behaviour::Good);
    let port = other.address.port();
    for location in spellings(port).into_iter().chain([format!("http://localhost:{port}/next")]) {
        let server = Server::start(from_root(302, &location));
        let run = following(&server.url("/")).run();
        assert_eq!(all(&run).status, [(302, REQUESTS)], "{location}: {:?}", faults(&run));
        let note = format!("{REQUESTS} redirects to another host or port were not followed [redirects]");
        assert!(run.validity.notes.contains(&note), "{location}: {:?}", run.validity.notes);
    }
    assert_eq!(other.all_closed().connections, 0);
}

#[test]
fn a_redirect_to_the_own_host_and_port_is_followed_however_it_is_written() {
    for spelling in 0..spellings(0).len() {
        let server = Server::start(move |request| {
            let port = request.header("host").and_then(|host| host.rsplit(':').next()?.parse().ok());
            match request.line() {
                "GET /" => Behaviour::Redirect(302, spellings(port.unwrap_or(0))[spelling].clone()),
                _ => Behaviour::Good,
            }
        });
        let run = following(&server.url("/")).run();
        assert_eq!(all(&run).status, [(200, REQUESTS)], "{}: {:?}", spellings(0)[spelling], faults(&run));
        assert_eq!((all(&run).redirects, all(&run).redirects_refused), (REQUESTS, 0));
    }
}

#[test]
fn a_redirect_without_a_location_is_a_response() {
    let server = Server::start(|_| Behaviour::RedirectWithoutLocation);
    assert_eq!(all(&following(&server.url("/")).run()).status, [(302, REQUESTS)]);
}

#[test]
fn a_location_that_is_no_url_is_a_bad_redirect() {
    let long = format!("http://{}:99999999/", "x".repeat(5_000));
    for location in ["http://[broken", "http://h:99999/", "http://", &long] {
        let server = Server::start(from_root(302, location));
        let run = following(&server.url("/")).run();
        assert_eq!(faults(&run), [(Fault::BadRedirect, REQUESTS)], "{location}");
        assert_eq!(Fault::BadRedirect.blame(), Blame::Protocol);
        assert!(all(&run).faults[0].examples.iter().all(|example| example.len() <= 300), "{location}");
    }
}

#[test]
fn a_redirect_without_the_body_drops_the_headers_of_the_body() {
    for (status, method, body) in
        [(303, "GET", ""), (302, "GET", ""), (307, "POST", "x=1"), (308, "POST", "x=1")]
    {
        let server = Server::start(from_root(status, "/next"));
        let mut drive = following(&server.url("/")).method("POST", b"x=1");
        drive.requests[0].headers = vec![
            ("content-type".to_owned(), b"text/x".to_vec()),
            ("content-length".to_owned(), b"3".to_vec()),
        ];
        let run = drive.run();
        assert_eq!(all(&run).status, [(200, REQUESTS)], "{status}");
        let seen = server.all_closed();
        let next = seen.requests.iter().find(|request| request.line().ends_with("/next")).unwrap();
        assert_eq!(next.line(), format!("{method} /next"), "{status}");
        assert_eq!(next.body, body.as_bytes(), "{status}");
        assert_eq!(next.header("content-type").is_some(), !body.is_empty(), "{status}");
        assert_eq!(next.header("content-length").is_some(), !body.is_empty(), "{status}");
    }
}

#[test]
fn credentials_are_sent_only_to_their_own_origin() {
    // Another port of the same host is another origin, even if both are under load.
    let other = Server::start(|_| Behaviour::Good);
    let server = Server::start(from_root(302, &other.url("/next")));
    let mut drive = following(&server.url("/"));
    drive.requests.push(RequestTemplate { weight: 1e-9, ..request(&other.url("/")) });
    drive.requests[0].url.set_username("me").unwrap();
    drive.requests[0].headers =
        vec![("Cookie".to_owned(), b"secret".to_vec()), ("X-Kept".to_owned(), b"1".to_vec())];
    drive.run();
    let first = server.all_closed().requests[0].clone();
    assert!(first.header("authorization").is_some() && first.header("cookie").is_some());
    let next = other.all_closed().requests[0].clone();
    assert_eq!((next.header("authorization"), next.header("cookie")), (None, None));
    assert_eq!(next.header("x-kept"), Some("1"));
    assert_eq!(next.header("host"), Some(other.address.to_string().as_str()));
}

#[test]
fn user_and_password_of_the_url_are_sent_to_redirects_within_the_origin() {
    for absolute in [false, true] {
        let server = Server::start(move |request| match (request.line(), absolute) {
            ("GET /", false) => Behaviour::Redirect(302, "/next".to_owned()),
            ("GET /", true) => Behaviour::Redirect(
                302,
                format!("http://{}/next", request.header("host").unwrap_or_default()),
            ),
            _ => Behaviour::Good,
        });
        let mut drive = following(&server.url("/"));
        drive.requests[0].url.set_username("me").unwrap();
        drive.run();
        let seen = server.all_closed();
        assert!(seen.requests.iter().all(|request| request.header("authorization") == Some("Basic bWU6")));
    }
}
