//! TLS that works: which certificates and versions are accepted, and whether a server would choose HTTP/2.
//! `table` has what goes wrong.

use knee_core::outcome::{Fault, Outcome};
use knee_core::validity::diagnostics::Http2Offer;

use crate::behaviour::Behaviour;
use crate::drive::{Drive, REQUESTS, all, count, faults};
use crate::identity::{self, Certificate, Greeting};
use crate::server::Server;

fn closed(server: &Server) -> Drive {
    Drive::closed(&server.secure_url("/"), REQUESTS, 3).trusting()
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
fn tls_1_2_and_1_3_both_work() {
    for greeting in [Greeting::OlderTls, Greeting::Tls(Certificate::Good)] {
        let server = Server::greeting(move |_| greeting, |_| Behaviour::Good);
        let run = closed(&server).run();
        assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{greeting:?}: {:?}", all(&run).faults);
        assert!(all(&run).connections <= 3, "connections are kept");
        server.all_closed();
    }
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

/// Makes a run against servers that greet like this, with the question whether they offer HTTP/2.
fn asked(greeting: Greeting) -> Vec<String> {
    let server = Server::greeting(move |_| greeting, |_| Behaviour::Good);
    let mut drive = closed(&server);
    drive.http2 = Some(Http2Offer::TakenByK6);
    let run = drive.run();
    let connections = all(&run).connections;
    assert_eq!(server.all_closed().connections, connections + 1, "one more, after the load");
    run.validity.notes
}

#[test]
fn a_server_that_would_choose_http_2_is_noted_once() {
    let notes = asked(Greeting::Http2First);
    let about_http2: Vec<_> = notes.iter().filter(|note| note.ends_with("[http2]")).collect();
    assert_eq!(about_http2, ["k6 would speak HTTP/2 here; this load used HTTP/1.1 [http2]"]);
}

#[test]
fn a_server_that_speaks_http_1_1_only_is_not_noted() {
    for greeting in [Greeting::Tls(Certificate::Good), Greeting::OlderTls, Greeting::Http1Only] {
        let notes = asked(greeting);
        assert!(!notes.iter().any(|note| note.ends_with("[http2]")), "{greeting:?}: {notes:?}");
    }
}

#[test]
fn a_server_that_is_gone_after_the_load_is_not_waited_for() {
    // One user has one connection, however busy the machine is; of three, the slowest can find nothing left to send
    // and never connect. The connection after that of the load gets no answer.
    let greet = |number| if number < 1 { Greeting::Http2First } else { Greeting::Stall };
    let server = Server::greeting(greet, |_| Behaviour::Good);
    let mut drive = Drive::closed(&server.secure_url("/"), REQUESTS, 1).trusting();
    drive.http2 = Some(Http2Offer::OnRequest);
    let run = drive.run();
    assert_eq!(count(&run, Outcome::Ok), REQUESTS);
    assert!(!run.validity.notes.iter().any(|note| note.ends_with("[http2]")), "{:?}", run.validity.notes);
    server.all_closed();
}
