//! Connections that end at the wrong moment: which requests are sent again, and which early
//! responses count.

use knee_core::outcome::{Blame, Fault, Outcome};

use crate::behaviour::Behaviour;
use crate::drive::{Drive, REQUESTS, all, count, faults, runs};
use crate::server::Server;

/// Ends the connection instead of responding to its second request.
fn ends_at_the_second_request(behaviour: Behaviour) -> Server {
    Server::start(move |request| if request.place == 1 { behaviour.clone() } else { Behaviour::Good })
}

#[test]
fn an_idempotent_request_on_a_closing_connection_is_sent_again() {
    for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        for behaviour in [Behaviour::EndAtOnce, Behaviour::ResetAtOnce] {
            let server = ends_at_the_second_request(behaviour);
            let run = Drive::closed(&server.url("/"), 21, 3).method(method, b"").run();
            let resent = all(&run).resent;
            assert_eq!(count(&run, Outcome::Ok), 21, "{method}: {:?}", faults(&run));
            assert!(resent >= 6, "{method}: {resent}");
            let seen = server.all_closed();
            assert_eq!(seen.requests.len() as u64, 21 + resent, "{method}");
            assert_eq!(seen.connections, all(&run).connections, "{method}");
        }
    }
}

#[test]
fn a_request_that_is_not_idempotent_is_never_sent_again() {
    for method in ["POST", "PATCH"] {
        for (behaviour, fault) in
            [(Behaviour::EndAtOnce, Fault::ClosedEarly), (Behaviour::ResetAtOnce, Fault::Reset)]
        {
            let server = ends_at_the_second_request(behaviour);
            let run = Drive::closed(&server.url("/"), 21, 3).method(method, b"pay once").run();
            assert_eq!(all(&run).resent, 0);
            let failed = count(&run, Outcome::TransportError);
            assert_eq!(faults(&run), [(fault, failed)]);
            assert!(failed >= 6, "{method}: {failed}");
            assert_eq!(server.all_closed().requests.len(), 21, "{method}: each was sent once");
        }
    }
}

#[test]
fn a_request_is_sent_again_only_once() {
    // Fails the second request of a connection, and everything after the first three connections.
    let server = Server::start(|request| {
        if request.connection >= 3 || request.place == 1 { Behaviour::EndAtOnce } else { Behaviour::Good }
    });
    // One user: with several, one could take all requests on a busy machine before the others send a second one.
    let run = Drive::closed(&server.url("/"), 20, 1).run();
    let tally = all(&run);
    let failed = count(&run, Outcome::TransportError);
    assert_eq!(faults(&run), [(Fault::ClosedEarly, failed)]);
    assert_eq!(count(&run, Outcome::Ok), 3);
    assert_eq!(tally.resent, count(&run, Outcome::Ok), "one more for each connection that was kept");
    assert_eq!(server.all_closed().requests.len() as u64, 20 + tally.resent);
}

#[test]
fn a_request_with_a_partial_response_is_not_sent_again() {
    let server = ends_at_the_second_request(Behaviour::EndInHead);
    let run = Drive::closed(&server.url("/"), 20, 3).run();
    assert_eq!(all(&run).resent, 0);
    assert!(count(&run, Outcome::TransportError) >= 6);
}

#[test]
fn a_server_that_closes_after_each_response_without_notice_fails_no_get() {
    for drive in runs() {
        let server = Server::start(|_| Behaviour::CloseUnannounced);
        let run = drive(&server.url("/")).run();
        assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{:?}", faults(&run));
        assert_eq!(all(&run).status, [(200, REQUESTS)]);
        server.all_closed();
    }
}

/// More than the buffers of both ends hold: it cannot be sent completely unless the server reads it.
const LARGE: usize = 24 << 20;

#[test]
fn a_response_before_the_whole_request_is_sent_counts_and_ends_the_connection() {
    // The server does not read on: otherwise the whole request could be sent before the client sees the response.
    for behaviour in [Behaviour::Early(6), Behaviour::EarlyReset] {
        let server = Server::start({
            let behaviour = behaviour.clone();
            move |request| if request.connection < 3 { behaviour.clone() } else { Behaviour::Good }
        });
        let run = Drive::closed(&server.url("/"), 6, 3).method("POST", &vec![b'x'; LARGE]).run();
        let tally = all(&run);
        assert_eq!(tally.status, [(200, 3), (413, 3)], "{behaviour:?}: {:?}", faults(&run));
        assert_eq!(count(&run, Outcome::HttpError), 3);
        assert!(tally.bytes_sent < 6 * LARGE as u64, "what was not sent is not counted");
        assert!(tally.bytes_sent > 3 * LARGE as u64);
        let seen = server.all_closed();
        assert!(seen.requests.iter().all(|request| request.connection >= 3 || request.place == 0));
        // An early response has no wait phase.
        let wait = &tally.phases[knee_core::tally::Phase::Wait as usize];
        assert_eq!(wait.count(), 3, "{behaviour:?}");
    }
}

#[test]
fn a_connection_without_a_listener_is_refused() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{gone}/");
    for drive in [Drive::closed(&url, 20, 3), Drive::open(&url, 20, 3, 500.0)] {
        let run = drive.run();
        assert_eq!(faults(&run), [(Fault::Refused, 20)]);
        assert_eq!(Fault::Refused.blame(), Blame::Server);
        assert_eq!(all(&run).connections, 0);
        assert_eq!(all(&run).bytes_sent, 0);
    }
}

#[test]
fn a_missing_unix_socket_is_refused() {
    let run = Drive::closed("http://localhost/", 20, 3)
        .with(|settings| settings.unix_socket = Some("/nonexistent/socket".into()))
        .run();
    assert_eq!(faults(&run), [(Fault::Refused, 20)]);
}

#[test]
fn a_name_that_does_not_resolve_is_not_found() {
    let run = Drive::closed("http://nonexistent.invalid/", 3, 3)
        .with(|settings| settings.connect_timeout = knee_core::unit::Nanos::from_secs(60))
        .run();
    assert_eq!(faults(&run), [(Fault::DnsNotFound, 3)]);
    assert_eq!(Fault::DnsNotFound.blame(), Blame::Network);
}
