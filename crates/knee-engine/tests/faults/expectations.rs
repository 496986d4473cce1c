//! Requests that expect `100 Continue`: the body is sent with the head, so no server can hold it back.

use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::unit::Nanos;

use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count, faults};
use crate::server::Server;

const REQUESTS: u64 = 12;

/// Requests with a body that ask the server to agree to it first.
fn expecting(server: &Server) -> Drive {
    let mut drive = Drive::closed(&server.url("/"), REQUESTS, 3).method("POST", b"the body");
    drive.requests[0].headers = vec![("Expect".to_owned(), b"100-continue".to_vec())];
    drive
}

#[test]
fn a_refused_expectation_is_a_response_with_an_error_status() {
    let server = Server::start(|_| Behaviour::Status(417));
    let run = expecting(&server).run();
    assert_eq!(all(&run).status, [(417, REQUESTS)]);
    assert_eq!(count(&run, Outcome::HttpError), REQUESTS);
    assert!(server.all_closed().connections <= 3, "connections are kept");
}

#[test]
fn a_100_that_never_comes_holds_nothing_up() {
    let server = Server::start(|_| Behaviour::Good);
    let run = expecting(&server).run();
    assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{:?}", faults(&run));
    let seen = server.all_closed();
    assert!(seen.requests.iter().all(|request| request.body == b"the body"));
    assert!(seen.requests.iter().all(|request| request.header("expect") == Some("100-continue")));
}

#[test]
fn a_100_that_comes_is_not_the_response() {
    let server = Server::start(|_| Behaviour::Continue);
    let run = expecting(&server).run();
    assert_eq!(all(&run).status, [(200, REQUESTS)]);
}

#[test]
fn a_100_without_a_response_after_it_is_a_timeout() {
    let server = Server::start(|_| Behaviour::Held((*b"HTTP/1.1 100 Continue\r\n\r\n").into()));
    let run =
        expecting(&server).with(|settings| settings.request_timeout = Some(Nanos::from_millis(100))).run();
    assert_eq!(faults(&run), [(Fault::RequestTimeout, REQUESTS)]);
    assert_eq!(Fault::RequestTimeout.blame(), Blame::Server);
    server.all_closed();
}
