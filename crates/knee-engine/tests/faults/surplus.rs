//! Responses that no request asked for: never taken for the response to the next request.

use std::time::Duration;

use knee_core::outcome::{Fault, Outcome};
use knee_core::record::Run;

use crate::behaviour::Behaviour;
use crate::drive::{BAD, Drive, REQUESTS, all, count, faults, runs};
use crate::identity::{Certificate, Greeting};
use crate::server::Server;

/// Makes one user send 3,000 requests over one connection, whose response number 2,000 has `after` behind it.
fn with_one_surplus(after: &'static str) -> Run {
    let server = Server::start(move |request| match (request.connection, request.place) {
        (0, 1_999) => Behaviour::Raw(format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine{after}")),
        _ => Behaviour::Good,
    });
    let run = Drive { workers: 1, ..Drive::closed(&server.url("/"), 3_000, 1) }.run();
    assert_eq!((count(&run, Outcome::Ok), all(&run).surplus), (3_000, 1));
    assert_eq!(server.all_closed().connections, 2);
    run
}

/// Whether a run is suspect because of bytes that no request asked for.
fn is_suspect(run: &Run) -> bool {
    run.validity.warnings.iter().any(|warning| warning.code == "surplus")
}

#[test]
fn a_response_too_many_puts_all_responses_before_it_on_its_connection_in_doubt() {
    // Each of them can have been the response to the request before it.
    let run = with_one_surplus("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmore");
    assert_eq!(all(&run).doubtful, 2_000);
    assert!(is_suspect(&run), "{:?}", run.validity.warnings);
}

#[test]
fn bytes_that_are_no_response_put_only_their_own_response_in_doubt() {
    let run = with_one_surplus("\r\n");
    assert_eq!(all(&run).doubtful, 1);
    assert!(!is_suspect(&run), "one of 3,000");
}

#[test]
fn a_server_that_answers_before_it_is_asked_makes_the_run_suspect() {
    // Every response is one too early, from the first byte of the connection on. 2 ms between requests: the response
    // that is left over arrives before the next request.
    let server = Server::greeting(|_| Greeting::Early, |_| Behaviour::Good);
    let run = Drive { workers: 1, ..Drive::open(&server.url("/"), 300, 1, 500.0) }.run();
    let unsolicited = faults(&run).iter().map(|(_, count)| count).sum::<u64>();
    assert!(faults(&run).iter().all(|(fault, _)| *fault == Fault::Unsolicited), "{:?}", faults(&run));
    assert_eq!(count(&run, Outcome::Ok) + unsolicited, 300);
    assert!(unsolicited > 0 || is_suspect(&run), "{:?}", run.validity.warnings);
    server.all_closed();
}

#[test]
fn a_server_that_is_one_response_ahead_makes_a_closed_run_without_pauses_suspect() {
    // While requests follow each other, each response looks like a very fast one. After the last request there is one
    // too many on each connection.
    let server = Server::start(|request| match request.place {
        0 => Behaviour::DelayedSecondResponse,
        _ => Behaviour::Delayed(Duration::from_millis(2)),
    });
    let run = Drive::closed(&server.url("/"), 300, 3).run();
    assert_eq!(count(&run, Outcome::Ok), 300, "{:?}", faults(&run));
    // On a busy machine a connection can be found out before its last response.
    assert!((1..=all(&run).connections).contains(&all(&run).surplus), "{}", all(&run).surplus);
    assert!(
        all(&run).doubtful > 250,
        "each can be the response to the request before it: {}",
        all(&run).doubtful
    );
    assert!(is_suspect(&run), "{:?}", run.validity.warnings);
    server.all_closed();
}

#[test]
fn a_server_that_answers_twice_makes_a_closed_run_without_pauses_suspect() {
    let server = Server::start(|_| Behaviour::LateSecondResponse);
    let run = Drive::closed(&server.url("/"), 300, 3).run();
    assert!(is_suspect(&run), "{:?}", run.validity.warnings);
    server.all_closed();
}

#[test]
fn connections_that_are_left_without_a_response_too_many_are_no_warning() {
    for greeting in [Greeting::Plain, Greeting::Tls(Certificate::Good)] {
        let server = Server::greeting(move |_| greeting, |_| Behaviour::Good);
        let url = if greeting == Greeting::Plain { server.url("/") } else { server.secure_url("/") };
        let run = Drive::closed(&url, 300, 3).trusting().run();
        assert_eq!((all(&run).surplus, all(&run).doubtful), (0, 0));
        assert_eq!(server.all_closed().connections, 3);
    }
}

#[test]
fn a_notice_that_an_idle_connection_ends_is_no_response_to_the_next_request() {
    // As some proxies send it, and as Go's client takes it.
    let server =
        Server::start(|request| if request.connection < 3 { Behaviour::IdleNotice } else { Behaviour::Good });
    let run = Drive { workers: 1, ..Drive::open(&server.url("/"), 8, 1, 4.0) }.run();
    assert_eq!(all(&run).status, [(200, 8)]);
    assert_eq!((all(&run).surplus, all(&run).doubtful), (0, 0));
    assert_eq!(server.all_closed().connections, 4);
}

/// Checksum and length of the body that must never be seen.
fn unexpected_body() -> (u32, u64) {
    (crc32fast::hash(b"not asked for"), 13)
}

#[test]
fn a_second_response_after_the_first_is_surplus_and_ends_the_connection() {
    let script = |request: &crate::server::Request| {
        if request.connection < BAD && request.place == 0 {
            Behaviour::SecondResponse
        } else {
            Behaviour::Good
        }
    };
    for drive in runs() {
        let server = Server::start(script);
        let run = drive(&server.url("/")).run();
        assert_eq!(all(&run).status, [(200, REQUESTS)]);
        let seen = server.all_closed();
        assert_eq!((seen.requests.len() as u64, seen.after_fault), (REQUESTS, 0));
    }
    for greeting in [Greeting::Plain, Greeting::Tls(Certificate::Good)] {
        let server = Server::greeting(move |_| greeting, script);
        let plain = greeting == Greeting::Plain;
        let url = if plain { server.url("/") } else { server.secure_url("/") };
        let run = Drive::closed(&url, REQUESTS, 3).trusting().run();
        assert_eq!(all(&run).surplus, BAD);
        assert_eq!(count(&run, Outcome::Ok), REQUESTS);
        assert!(!all(&run).bodies.seen.contains(&unexpected_body()));
        server.all_closed();
    }
}

#[test]
fn a_response_on_an_idle_connection_is_noticed_before_the_next_request() {
    // A quarter of a second between requests: the extra response arrives long before the next one.
    for greeting in [Greeting::Plain, Greeting::Tls(Certificate::Good)] {
        let server = Server::greeting(
            move |_| greeting,
            |request| if request.connection < 3 { Behaviour::LateSecondResponse } else { Behaviour::Good },
        );
        let plain = greeting == Greeting::Plain;
        let url = if plain { server.url("/") } else { server.secure_url("/") };
        let run = Drive { workers: 1, ..Drive::open(&url, 8, 1, 4.0) }.trusting().run();
        assert_eq!(count(&run, Outcome::Ok), 8);
        assert_eq!(all(&run).surplus, 3);
        assert!(!all(&run).bodies.seen.contains(&unexpected_body()));
        let seen = server.all_closed();
        assert_eq!(seen.connections, 4);
        assert!(seen.requests.iter().all(|request| request.connection == 3 || request.place == 0));
    }
}

#[test]
fn an_early_response_loses_no_request_and_counts_none_twice() {
    // In a closed run the next request follows at once. If the extra response arrives after it was
    // sent, the two cannot be distinguished. But no request is lost or counted twice.
    let server =
        Server::start(
            |request| if request.connection < BAD { Behaviour::LateSecondResponse } else { Behaviour::Good },
        );
    let run = Drive::closed(&server.url("/"), REQUESTS, 3).run();
    assert_eq!(run.measured.accounting().ended(), REQUESTS);
    server.all_closed();
}
