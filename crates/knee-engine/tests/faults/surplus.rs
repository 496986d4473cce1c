//! Responses that no request asked for: never taken for the response to the next request.

use knee_core::outcome::Outcome;

use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count};
use crate::identity::{Certificate, Greeting};
use crate::responses::{BAD, Ends, REQUESTS, runs, verify};
use crate::server::Server;

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
        let drive = drive(&server.url("/"));
        verify(&Behaviour::SecondResponse, Ends::With(200), BAD, &drive, &server);
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
