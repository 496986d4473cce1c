//! Ordinary requests as the server receives them, and how its ordinary responses are counted.

use std::collections::BTreeMap;

use knee_core::outcome::Outcome;
use knee_core::plan::EndpointId;
use knee_core::unit::Nanos;
use knee_engine::http::settings::{AddressFamily, ConnectTo};
use knee_engine::requests::{RequestBody, RequestTemplate};

use crate::behaviour::Behaviour;
use crate::bodies::{CODINGS, encode};
use crate::drive::{Drive, all, count, faults, request};
use crate::identity::{Certificate, Greeting};
use crate::server::{Request, Seen, Server};

/// Sends requests to a healthy server, expects a response to each, returns what the server saw.
fn healthy(change: impl FnOnce(&mut Drive)) -> Seen {
    let server = Server::start(|_| Behaviour::Good);
    let mut drive = Drive::closed(&server.url("/path?query=1"), 12, 3);
    change(&mut drive);
    let run = drive.run();
    assert_eq!(count(&run, Outcome::Ok), 12, "{:?}", all(&run).faults);
    server.all_closed()
}

fn headers(request: &Request) -> Vec<&str> {
    request.head.lines().skip(1).filter(|line| !line.is_empty()).collect()
}

#[test]
fn a_plain_get_sends_exactly_these_bytes() {
    let seen = healthy(|drive| drive.defaults.user_agent = "agent/1".to_owned());
    assert_eq!(seen.requests.len(), 12);
    for request in &seen.requests {
        let host = request.header("host").unwrap().to_owned();
        assert_eq!(
            request.head,
            format!(
                "GET /path?query=1 HTTP/1.1\r\nhost: {host}\r\nuser-agent: agent/1\r\naccept: */*\r\n\
                 accept-encoding: gzip, deflate, br, zstd\r\n\r\n"
            )
        );
        assert!(request.body.is_empty());
    }
}

#[test]
fn methods_headers_and_bodies_arrive_as_given() {
    let body: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"] {
        let seen = healthy(|drive| {
            let request = &mut drive.requests[0];
            method.clone_into(&mut request.method);
            request.body = RequestBody::Fixed(body.clone());
            request.headers = vec![
                ("X-One".to_owned(), b"1".to_vec()),
                ("X-One".to_owned(), b"2".to_vec()),
                ("Accept".to_owned(), b"text/plain".to_vec()),
            ];
        });
        for request in &seen.requests {
            assert_eq!(request.line(), format!("{method} /path?query=1"));
            assert!(request.body == body, "{method}");
            assert_eq!(request.header("content-length"), Some("100000"));
            let lines = headers(request);
            assert!(lines.contains(&"X-One: 1") && lines.contains(&"X-One: 2"), "{lines:?}");
            let accepts = lines.iter().filter(|line| line.to_lowercase().starts_with("accept:"));
            assert_eq!(accepts.collect::<Vec<_>>(), [&"Accept: text/plain"]);
        }
    }
}

#[test]
fn a_form_is_sent_with_its_bytes_and_its_type() {
    // The command line builds forms from fields; here they are bytes with a type.
    let boundary = "----knee";
    let form =
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--{boundary}--\r\n");
    let kind = format!("multipart/form-data; boundary={boundary}");
    let seen = healthy(|drive| {
        let request = &mut drive.requests[0];
        "POST".clone_into(&mut request.method);
        request.body = RequestBody::Fixed(form.clone().into_bytes());
        request.headers = vec![("content-type".to_owned(), kind.clone().into_bytes())];
    });
    for request in &seen.requests {
        assert_eq!(request.header("content-type"), Some(kind.as_str()));
        assert_eq!(request.body, form.as_bytes());
    }
}

#[test]
fn all_bodies_of_a_choice_are_sent_and_each_arrives_complete() {
    let bodies = [&b"first"[..], b"", b"a third one"].map(<[u8]>::to_vec).to_vec();
    let server = Server::start(|_| Behaviour::Good);
    let mut drive = Drive::closed(&server.url("/"), 300, 3).method("POST", b"");
    drive.requests[0].body = RequestBody::Choice(bodies.clone());
    let run = drive.run();
    assert_eq!(count(&run, Outcome::Ok), 300);
    let mut seen = BTreeMap::new();
    for request in server.all_closed().requests {
        *seen.entry(request.body).or_insert(0_u32) += 1;
    }
    // A hundred of each expected; six standard deviations are 49.
    assert_eq!(seen.len(), 3);
    assert!(bodies.iter().all(|body| (51..=149).contains(&seen[body])), "{seen:?}");
}

#[test]
fn connections_are_kept_unless_disabled() {
    let kept = healthy(|_| {});
    assert!(kept.connections <= 3);
    assert!(kept.requests.iter().all(|request| request.header("connection").is_none()));
    let closed = healthy(|drive| {
        drive.settings.keep_alive = false;
        drive.defaults.keep_alive = false;
    });
    assert_eq!(closed.connections, 12);
    assert!(closed.requests.iter().all(|request| request.header("connection") == Some("close")));
    assert!(closed.requests.iter().all(|request| request.place == 0));
}

#[test]
fn a_connection_announced_as_closing_is_not_used_again() {
    let server = Server::start(|_| {
        Behaviour::Raw("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned())
    });
    let run = Drive::closed(&server.url("/"), 12, 3).run();
    assert_eq!(count(&run, Outcome::Ok), 12);
    assert_eq!(all(&run).connections, 12);
    assert_eq!(server.all_closed().connections, 12);
}

#[test]
fn responses_to_head_have_no_body_whatever_their_headers() {
    let seen = healthy(|drive| "HEAD".clone_into(&mut drive.requests[0].method));
    assert!(seen.requests.iter().all(|request| request.line() == "HEAD /path?query=1"));
    assert!(seen.connections <= 3, "connections are kept");
}

#[test]
fn responses_with_a_bodiless_status_have_no_body() {
    for head in [
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Encoding: gzip\r\n\r\n",
    ] {
        let server = Server::start(move |_| Behaviour::Raw(head.to_owned()));
        let run = Drive::closed(&server.url("/"), 12, 3).run();
        assert_eq!(count(&run, Outcome::Ok), 12, "{head}: {:?}", faults(&run));
        assert_eq!(all(&run).bytes_body, 0);
        assert!(server.all_closed().connections <= 3, "{head}");
    }
}

#[test]
fn a_unix_socket_is_used_for_any_host_of_the_url() {
    let directory = std::env::temp_dir().join(format!("knee-test-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("socket");
    let server = Server::unix(&path, |_| Behaviour::Good);
    let run = Drive::closed("http://some.example/x", 12, 3)
        .with(|settings| settings.unix_socket = Some(path))
        .run();
    assert_eq!(count(&run, Outcome::Ok), 12, "{:?}", all(&run).faults);
    let seen = server.all_closed();
    assert!(seen.requests.iter().all(|request| request.header("host") == Some("some.example")));
    assert!(seen.connections <= 3);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn ipv6_works_where_it_is_available() {
    let server = match Server::at("[::1]:0", |_| Greeting::Plain, |_| Behaviour::Good) {
        Ok(server) => server,
        Err(reason) => return println!("skipped: no IPv6 on loopback: {reason}"),
    };
    let run = Drive::closed(&server.url("/"), 12, 3).run();
    assert_eq!(count(&run, Outcome::Ok), 12, "{:?}", all(&run).faults);
    let host = server.address.to_string();
    assert!(server.all_closed().requests.iter().all(|request| request.header("host") == Some(host.as_str())));
}

#[test]
fn all_addresses_of_a_name_are_tried() {
    // "localhost" often has ::1 first, where no server listens.
    let server = Server::start(|_| Behaviour::Good);
    let url = format!("http://localhost:{}/", server.address.port());
    let run = Drive::closed(&url, 12, 3).run();
    assert_eq!(count(&run, Outcome::Ok), 12, "{:?}", all(&run).faults);
    assert!(server.all_closed().connections <= 3);
}

#[test]
fn an_address_family_excludes_other_addresses() {
    let server = Server::start(|_| Behaviour::Good);
    let url = format!("http://localhost:{}/", server.address.port());
    let run = Drive::closed(&url, 12, 3).with(|settings| settings.family = AddressFamily::V4).run();
    assert_eq!(count(&run, Outcome::Ok), 12, "{:?}", all(&run).faults);
}

#[test]
fn requests_over_tls_work_with_a_given_authority() {
    let server = Server::greeting(|_| Greeting::Tls(Certificate::Good), |_| Behaviour::Good);
    let body: Vec<u8> = (0..=255).cycle().take(200_000).collect();
    for host in [server.address.to_string(), format!("localhost:{}", server.address.port())] {
        let drive = Drive::closed(&format!("https://{host}/secret"), 12, 3).method("POST", &body).trusting();
        let run = drive.run();
        assert_eq!(count(&run, Outcome::Ok), 12, "{:?}", all(&run).faults);
        assert_eq!(all(&run).bytes_body, 12 * 4, "bytes are counted after TLS");
        assert_eq!(all(&run).phases[knee_core::tally::Phase::Tls as usize].count(), all(&run).connections);
    }
    let seen = server.all_closed();
    assert!(seen.connections <= 6);
    assert!(seen.requests.iter().all(|request| request.body == body && request.line() == "POST /secret"));
}

#[test]
fn user_and_password_become_basic_authentication() {
    let seen = healthy(|drive| {
        drive.requests[0].url.set_username("user").unwrap();
        drive.requests[0].url.set_password(Some("p:w ü")).unwrap();
    });
    // "user:p:w ü" in UTF-8, in base64.
    assert!(
        seen.requests.iter().all(|request| request.header("authorization") == Some("Basic dXNlcjpwOncgw7w="))
    );
    assert!(seen.requests.iter().all(|request| !request.header("host").unwrap().contains("user")));
}

#[test]
fn connections_use_the_entries_of_connect_to_in_turn() {
    let servers = [Server::start(|_| Behaviour::Good), Server::start(|_| Behaviour::Good)];
    let entry = |server: &Server| ConnectTo {
        from: ("some.example".to_owned(), 80),
        to: ("127.0.0.1".to_owned(), server.address.port()),
    };
    let mut drive = Drive::closed("http://some.example/", 12, 1);
    drive.settings.connect_to = servers.iter().map(entry).collect();
    (drive.settings.keep_alive, drive.defaults.keep_alive) = (false, false);
    let run = drive.run();
    assert_eq!(count(&run, Outcome::Ok), 12, "{:?}", all(&run).faults);
    for server in servers {
        let seen = server.all_closed();
        assert_eq!(seen.connections, 6);
        assert!(seen.requests.iter().all(|request| request.header("host") == Some("some.example")));
    }
}

#[test]
fn encoded_bodies_are_decoded_and_counted_as_received() {
    let text = "all work and no play ".repeat(2_000);
    for coding in CODINGS {
        let body = encode(coding, text.as_bytes());
        let length = body.len() as u64;
        let server = Server::start(move |_| Behaviour::Coded(coding, body.clone()));
        let run = Drive::closed(&server.url("/"), 12, 3).run();
        assert_eq!(count(&run, Outcome::Ok), 12, "{coding}: {:?}", faults(&run));
        assert_eq!(all(&run).bytes_body, 12 * length, "{coding}");
        assert_eq!(all(&run).bodies.seen.len(), 1, "{coding}");
        server.all_closed();
    }
}

#[test]
fn different_bodies_are_distinguished() {
    let server = Server::start(|request| Behaviour::Body(format!("page {}", request.place % 3).into_bytes()));
    let run = Drive::closed(&server.url("/"), 12, 1).run();
    let mut expected: Vec<(u32, u64)> =
        ["page 0", "page 1", "page 2"].map(|body| (crc32fast::hash(body.as_bytes()), 6)).to_vec();
    expected.sort_unstable();
    assert_eq!(all(&run).bodies.seen, expected);
    assert!(!all(&run).bodies.more);
}

#[test]
fn every_byte_is_counted_on_both_sides() {
    let server = Server::start(|_| Behaviour::Good);
    let run = Drive::closed(&server.url("/"), 12, 3).method("POST", b"twelve bytes").run();
    let seen = server.all_closed();
    let sent: usize = seen.requests.iter().map(|request| request.head.len() + request.body.len()).sum();
    assert_eq!(all(&run).bytes_sent, sent as u64);
    let response = crate::behaviour::response(200, "", b"fine").len() as u64;
    assert_eq!(all(&run).bytes_received, 12 * response);
    assert_eq!(all(&run).bytes_body, 12 * 4);
}

/// Three requests with weights and separate endpoints.
fn weighted(url: &str) -> Vec<RequestTemplate> {
    let one = |path: &str, weight, endpoint| RequestTemplate {
        weight,
        endpoint: EndpointId(endpoint),
        ..request(&format!("{url}{path}"))
    };
    vec![one("a", 1.0, 0), one("b", 2.0, 1), one("c", 7.0, 2)]
}

#[test]
fn weights_decide_how_often_a_request_is_chosen_and_a_seed_repeats_the_choice() {
    let sent = |seed| {
        let server = Server::start(|_| Behaviour::Good);
        let mut drive = Drive { seed, ..Drive::closed(&server.url("/"), 2_000, 1) };
        drive.requests = weighted(&server.url("/"));
        let run = drive.run();
        let lines: Vec<String> =
            server.all_closed().requests.iter().map(|request| request.line().to_owned()).collect();
        for (endpoint, line) in ["GET /a", "GET /b", "GET /c"].iter().enumerate() {
            let seen = lines.iter().filter(|known| known == line).count() as u64;
            assert_eq!(run.measured.endpoints[endpoint].planned, seen, "each is counted where it belongs");
        }
        lines
    };
    let first = sent(1);
    assert_eq!(first, sent(1));
    assert_ne!(first, sent(2));
    let share = |line: &str| first.iter().filter(|known| *known == line).count();
    // 200, 400 and 1,400 expected; six standard deviations are 80, 107 and 123.
    assert!(share("GET /a").abs_diff(200) <= 80, "{}", share("GET /a"));
    assert!(share("GET /b").abs_diff(400) <= 107, "{}", share("GET /b"));
    assert!(share("GET /c").abs_diff(1_400) <= 123, "{}", share("GET /c"));
}

#[test]
fn a_timeout_happens_at_the_given_time_limit() {
    let server = Server::start(|_| Behaviour::Silence);
    for limit in [Nanos::from_millis(30), Nanos::from_millis(300)] {
        let run = Drive::closed(&server.url("/"), 4, 4)
            .with(|settings| settings.request_timeout = Some(limit))
            .run();
        let service = &all(&run).outcomes[Outcome::Timeout as usize].service;
        assert_eq!(service.count(), 4);
        // A request ends at its limit, even if that is noticed late. It can be a little shorter if
        // the worker was interrupted between reading the clock and sending.
        let (least, most) = (service.min().unwrap(), service.max().unwrap());
        assert!(least.0 >= limit.0 / 2 && most <= limit, "{least} to {most}");
    }
    server.all_closed();
}
