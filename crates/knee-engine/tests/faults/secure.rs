//! TLS that goes wrong: before the handshake, in it, and after it.

use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::unit::Nanos;

use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count, faults};
use crate::identity::{self, Certificate, Greeting};
use crate::responses::{BAD, Ends, REQUESTS, verify};
use crate::server::Server;

fn closed(server: &Server) -> Drive {
    Drive::closed(&server.secure_url("/"), REQUESTS, 3).trusting()
}

/// Greets the first connections with `greeting`, all others properly.
fn greets_badly(greeting: Greeting) -> Server {
    let good = Greeting::Tls(Certificate::Good);
    Server::greeting(move |number| if number < BAD { greeting } else { good }, |_| Behaviour::Good)
}

fn check(greeting: Greeting, fault: Fault) {
    let server = greets_badly(greeting);
    let drives = [closed(&server), Drive::open(&server.secure_url("/"), REQUESTS, 10, 500.0).trusting()];
    // Each server is new: its first connections are the bad ones.
    let servers = [server, greets_badly(greeting)];
    for (mut drive, server) in drives.into_iter().zip(servers) {
        drive.requests[0].url.set_port(Some(server.address.port())).unwrap();
        drive.settings.connect_timeout = Nanos::from_secs(2);
        let run = drive.run();
        assert_eq!(faults(&run), [(fault, BAD)], "{greeting:?}: {:?}", all(&run).faults);
        assert_eq!(count(&run, Outcome::Ok), REQUESTS - BAD, "{greeting:?}");
        server.all_closed();
    }
}

#[test]
fn tls_faults_are_blamed_on_the_network() {
    for fault in [Fault::TlsCertificate, Fault::TlsHandshake, Fault::TlsBroken, Fault::ConnectTimeout] {
        assert_eq!(fault.blame(), Blame::Network);
    }
}

#[test]
fn a_response_before_any_request_is_unsolicited() {
    check(Greeting::Hasty, Fault::Unsolicited);
}

#[test]
fn an_expired_certificate_is_not_accepted() {
    check(Greeting::Tls(Certificate::Expired), Fault::TlsCertificate);
}

#[test]
fn a_certificate_for_another_host_is_not_accepted() {
    check(Greeting::Tls(Certificate::OtherHost), Fault::TlsCertificate);
}

#[test]
fn a_self_signed_certificate_is_not_accepted() {
    check(Greeting::Tls(Certificate::SelfSigned), Fault::TlsCertificate);
}

#[test]
fn a_certificate_of_an_unknown_authority_is_not_accepted() {
    let server = Server::greeting(|_| Greeting::Tls(Certificate::Good), |_| Behaviour::Good);
    let run = Drive::closed(&server.secure_url("/"), REQUESTS, 3).run();
    assert_eq!(faults(&run), [(Fault::TlsCertificate, REQUESTS)]);
    assert_eq!(server.all_closed().requests.len(), 0);
}

#[test]
fn a_certificate_that_is_trusted_itself_is_accepted_although_it_is_an_authority() {
    let server = Server::greeting(|_| Greeting::Tls(Certificate::Own), |_| Behaviour::Good);
    let drive = || Drive::closed(&server.secure_url("/"), REQUESTS, 3);
    let run = drive().with(|settings| settings.tls.authorities = vec![identity::own()]).run();
    assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{:?}", faults(&run));
    assert_eq!(faults(&drive().run()), [(Fault::TlsCertificate, REQUESTS)]);
}

#[test]
fn insecure_accepts_every_certificate() {
    for certificate in [Certificate::Expired, Certificate::OtherHost, Certificate::SelfSigned] {
        let server = Server::greeting(move |_| Greeting::Tls(certificate), |_| Behaviour::Good);
        let run = Drive::closed(&server.secure_url("/"), REQUESTS, 3)
            .with(|settings| settings.tls.insecure = true)
            .run();
        assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{certificate:?}: {:?}", faults(&run));
    }
}

#[test]
fn a_stalled_handshake_is_a_connect_timeout() {
    check(Greeting::Stall, Fault::ConnectTimeout);
}

#[test]
fn a_plain_server_fails_the_handshake() {
    check(Greeting::PlainResponse, Fault::TlsHandshake);
}

#[test]
fn a_version_alert_fails_the_handshake() {
    check(Greeting::VersionAlert, Fault::TlsHandshake);
}

#[test]
fn a_server_that_picks_tls_1_0_fails_the_handshake() {
    check(Greeting::AncientVersion, Fault::TlsHandshake);
}

#[test]
fn the_end_within_the_handshake_fails_it() {
    check(Greeting::Close, Fault::TlsHandshake);
}

#[test]
fn a_reset_within_the_handshake_fails_it() {
    check(Greeting::ResetInHandshake, Fault::TlsHandshake);
}

#[test]
fn the_response_of_a_tls_port_to_a_plain_request_has_a_malformed_head() {
    let server = Server::greeting(|_| Greeting::Tls(Certificate::Good), |_| Behaviour::Good);
    let run = Drive::closed(&server.url("/"), REQUESTS, 3).run();
    assert_eq!(faults(&run), [(Fault::MalformedHead, REQUESTS)]);
    server.all_closed();
}

#[test]
fn tls_1_2_and_1_3_both_work() {
    for greeting in [Greeting::OlderTls, Greeting::Tls(Certificate::Good)] {
        let server = Server::greeting(move |_| greeting, |_| Behaviour::Good);
        let run = closed(&server).run();
        assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{greeting:?}: {:?}", all(&run).faults);
        assert!(all(&run).connections <= 3, "connections are kept");
        server.all_closed();
    }
}

/// Meets `behaviour` at the first request of the first connections.
fn breaks(behaviour: &Behaviour, fault: Fault) {
    for greeting in [Greeting::Tls(Certificate::Good), Greeting::OlderTls] {
        let script = behaviour.clone();
        let server = Server::greeting(
            move |_| greeting,
            move |request| {
                if request.connection < BAD && request.place == 0 { script.clone() } else { Behaviour::Good }
            },
        );
        verify(behaviour, Ends::In(fault), BAD, &closed(&server), &server);
    }
}

#[test]
fn bytes_that_are_no_tls_record_break_the_stream() {
    breaks(&Behaviour::BreakTls, Fault::TlsBroken);
}

#[test]
fn an_alert_in_the_middle_of_a_response_breaks_the_stream() {
    breaks(&Behaviour::AlertInBody, Fault::TlsBroken);
}

#[test]
fn a_body_that_ends_without_a_tls_closure_counts_as_truncated() {
    breaks(&Behaviour::CutUntilClose, Fault::TlsBroken);
}

#[test]
fn a_body_that_ends_before_its_length_is_short() {
    breaks(&Behaviour::CutInBody, Fault::ShortBody);
}

#[test]
fn a_client_presents_its_certificate_on_request() {
    let server = Server::greeting(|_| Greeting::Mutual, |_| Behaviour::Good);
    let run = closed(&server).with(|settings| settings.tls.client = Some(identity::client())).run();
    assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{:?}", all(&run).faults);
    let seen = server.all_closed();
    assert_eq!(seen.clients.len() as u64, seen.connections);
    assert!(seen.clients.iter().all(|name| name.contains("test-client")));
}

#[test]
fn without_the_requested_client_certificate_the_handshake_fails() {
    let server = Server::greeting(|_| Greeting::Mutual, |_| Behaviour::Good);
    let run = closed(&server).run();
    assert_eq!(faults(&run), [(Fault::TlsHandshake, REQUESTS)], "{:?}", all(&run).faults);
    assert_eq!(server.all_closed().requests.len(), 0);
}
