//! TLS that goes wrong: before the handshake, in it, and after it.

use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::unit::Nanos;

use crate::answers::{BAD, Ends, REQUESTS, verify};
use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count, faults};
use crate::identity::{self, Certificate, Greeting};
use crate::server::Server;

fn closed(server: &Server) -> Drive {
    Drive::closed(&server.secure_url("/"), REQUESTS, 3).trusting()
}

/// The first connections are greeted so, all others as they should be.
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
fn broken_agreements_are_blamed_on_the_network() {
    for fault in [Fault::TlsCertificate, Fault::TlsHandshake, Fault::TlsBroken, Fault::ConnectTimeout] {
        assert_eq!(fault.blame(), Blame::Network);
    }
}

#[test]
fn an_answer_before_any_request_is_unsolicited() {
    check(Greeting::Hasty, Fault::Unsolicited);
}

#[test]
fn a_certificate_that_has_expired_is_not_accepted() {
    check(Greeting::Tls(Certificate::Expired), Fault::TlsCertificate);
}

#[test]
fn a_certificate_for_another_host_is_not_accepted() {
    check(Greeting::Tls(Certificate::OtherHost), Fault::TlsCertificate);
}

#[test]
fn a_certificate_that_vouches_for_itself_is_not_accepted() {
    check(Greeting::Tls(Certificate::SelfSigned), Fault::TlsCertificate);
}

#[test]
fn a_certificate_of_an_authority_nobody_named_is_not_accepted() {
    let server = Server::greeting(|_| Greeting::Tls(Certificate::Good), |_| Behaviour::Good);
    let run = Drive::closed(&server.secure_url("/"), REQUESTS, 3).run();
    assert_eq!(faults(&run), [(Fault::TlsCertificate, REQUESTS)]);
    assert_eq!(server.all_closed().requests.len(), 0);
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
fn a_handshake_that_stalls_runs_into_the_time_limit_of_the_connection() {
    check(Greeting::Stall, Fault::ConnectTimeout);
}

#[test]
fn a_plain_server_on_the_port_is_no_tls() {
    check(Greeting::PlainAnswer, Fault::TlsHandshake);
}

#[test]
fn a_server_that_says_it_is_too_old_is_no_agreement() {
    check(Greeting::VersionAlert, Fault::TlsHandshake);
}

#[test]
fn a_server_that_picks_an_ancient_version_is_no_agreement() {
    check(Greeting::AncientVersion, Fault::TlsHandshake);
}

#[test]
fn the_end_in_the_handshake_is_no_agreement() {
    check(Greeting::Close, Fault::TlsHandshake);
}

#[test]
fn a_reset_in_the_handshake_is_no_agreement() {
    check(Greeting::ResetInHandshake, Fault::TlsHandshake);
}

#[test]
fn a_plain_request_to_a_tls_port_is_answered_by_what_is_no_head() {
    let server = Server::greeting(|_| Greeting::Tls(Certificate::Good), |_| Behaviour::Good);
    let run = Drive::closed(&server.url("/"), REQUESTS, 3).run();
    assert_eq!(faults(&run), [(Fault::MalformedHead, REQUESTS)]);
    server.all_closed();
}

#[test]
fn tls_1_2_and_1_3_are_spoken() {
    for greeting in [Greeting::OlderTls, Greeting::Tls(Certificate::Good)] {
        let server = Server::greeting(move |_| greeting, |_| Behaviour::Good);
        let run = closed(&server).run();
        assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{greeting:?}: {:?}", all(&run).faults);
        assert!(all(&run).connections <= 3, "connections are kept");
        server.all_closed();
    }
}

/// Meets `way` at the first request of the first connections.
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
fn records_that_are_none_break_the_stream() {
    breaks(&Behaviour::BreakTls, Fault::TlsBroken);
}

#[test]
fn a_body_that_only_the_end_of_tcp_ends_may_have_been_cut_off() {
    breaks(&Behaviour::CutUntilClose, Fault::TlsBroken);
}

#[test]
fn a_body_that_was_cut_off_before_its_length_is_short() {
    breaks(&Behaviour::CutInBody, Fault::ShortBody);
}

#[test]
fn a_client_shows_its_certificate_where_it_is_asked_for() {
    let server = Server::greeting(|_| Greeting::Mutual, |_| Behaviour::Good);
    let run = closed(&server).with(|settings| settings.tls.client = Some(identity::client())).run();
    assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{:?}", all(&run).faults);
    let seen = server.all_closed();
    assert_eq!(seen.clients.len() as u64, seen.connections);
    assert!(seen.clients.iter().all(|name| name.contains("test-client")));
}

#[test]
fn without_the_certificate_that_is_asked_for_there_is_no_agreement() {
    let server = Server::greeting(|_| Greeting::Mutual, |_| Behaviour::Good);
    let run = closed(&server).run();
    assert_eq!(faults(&run), [(Fault::TlsHandshake, REQUESTS)], "{:?}", all(&run).faults);
    assert_eq!(server.all_closed().requests.len(), 0);
}
