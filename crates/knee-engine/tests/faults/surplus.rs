//! Answers that nothing asked for: never taken for the answer to the next request.

use knee_core::outcome::Outcome;

use crate::answers::{BAD, Ends, REQUESTS, runs, verify};
use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count};
use crate::identity::{Certificate, Greeting};
use crate::server::Server;

/// Checksum and length of the body that must never be seen.
fn unasked() -> (u32, u64) {
    (crc32fast::hash(b"not asked for"), 13)
}

#[test]
fn a_second_answer_behind_the_first_is_surplus_and_ends_the_connection() {
    let script = |request: &crate::server::Request| {
        if request.connection < BAD && request.place == 0 { Behaviour::SecondAnswer } else { Behaviour::Good }
    };
    for drive in runs() {
        let server = Server::start(script);
        let drive = drive(&server.url("/"));
        verify(&Behaviour::SecondAnswer, Ends::With(200), BAD, &drive, &server);
    }
    for greeting in [Greeting::Plain, Greeting::Tls(Certificate::Good)] {
        let server = Server::greeting(move |_| greeting, script);
        let plain = greeting == Greeting::Plain;
        let url = if plain { server.url("/") } else { server.secure_url("/") };
        let run = Drive::closed(&url, REQUESTS, 3).trusting().run();
        assert_eq!(all(&run).surplus, BAD);
        assert_eq!(count(&run, Outcome::Ok), REQUESTS);
        assert!(!all(&run).bodies.seen.contains(&unasked()));
        server.all_closed();
    }
}

#[test]
fn an_answer_on_an_idle_connection_is_noticed_before_the_next_request() {
    // A quarter of a second between requests: an unasked answer is there long before the next.
    for greeting in [Greeting::Plain, Greeting::Tls(Certificate::Good)] {
        let server = Server::greeting(
            move |_| greeting,
            |request| if request.connection < 3 { Behaviour::LateSecondAnswer } else { Behaviour::Good },
        );
        let plain = greeting == Greeting::Plain;
        let url = if plain { server.url("/") } else { server.secure_url("/") };
        let run = Drive { workers: 1, ..Drive::open(&url, 8, 1, 4.0) }.trusting().run();
        assert_eq!(count(&run, Outcome::Ok), 8);
        assert_eq!(all(&run).surplus, 3);
        assert!(!all(&run).bodies.seen.contains(&unasked()));
        let seen = server.all_closed();
        assert_eq!(seen.connections, 4);
        assert!(seen.requests.iter().all(|request| request.connection == 3 || request.place == 0));
    }
}

#[test]
fn an_answer_that_comes_before_its_request_is_not_kept_for_it() {
    // In a closed run the next request follows at once, and may be on its way when the unasked
    // answer arrives; nothing can tell them apart then. But no request gets lost or counted twice.
    let server =
        Server::start(
            |request| if request.connection < BAD { Behaviour::LateSecondAnswer } else { Behaviour::Good },
        );
    let run = Drive::closed(&server.url("/"), REQUESTS, 3).run();
    assert_eq!(run.measured.accounting().ended(), REQUESTS);
    server.all_closed();
}
