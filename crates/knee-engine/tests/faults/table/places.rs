//! Addresses at which there is no server for the request. Of the destinations of a run, a share is such an address.

use std::io;
use std::net::TcpListener;

use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::unit::Nanos;
use knee_engine::http::settings::ConnectTo;

use super::Ends::{self, In};
use super::{REQUESTS, Share, drive, rows};
use crate::behaviour::Behaviour;
use crate::drive::{Drive, count, faults};
use crate::identity::{Certificate, Greeting};
use crate::server::Server;
use crate::slowness::{Full, full};

/// An address, and what keeps it as it is.
struct Place {
    host: String,
    port: u16,
    _held: Held,
}

#[allow(dead_code, reason = "the values are only kept")]
enum Held {
    Nothing,
    Queue(Full),
    Server(Server),
}

fn check(place: &io::Result<Place>, ends: Ends) {
    let In(fault, blame) = ends else { panic!("a place that is no fault") };
    let place = match place {
        Ok(place) => place,
        Err(reason) => return println!("skipped: {reason}"),
    };
    assert_eq!(fault.blame(), blame);
    let server = Server::start(|_| Behaviour::Good);
    for (share, rate) in Share::RATES {
        // One user connects to the entries in turn.
        let turns = match share {
            Share::One => REQUESTS,
            Share::Third => 3,
            Share::All => 1,
        };
        let mut drive = drive(&server.url("/"), rate).with(|settings| {
            settings.connect_timeout = Nanos::from_millis(150);
            let to = |turn| if turn == 0 { (place.host.clone(), place.port) } else { at(&server) };
            let entries = (0..turns).map(|turn| ConnectTo { from: at(&server), to: to(turn) });
            settings.connect_to = entries.collect();
        });
        drive.executor = Drive::open(&server.url("/"), REQUESTS, 1, rate).executor;
        let bad = REQUESTS / turns;
        let run = drive.run();
        assert_eq!(faults(&run), [(fault, bad)], "{share:?}");
        assert_eq!(count(&run, fault.outcome()), bad, "{share:?}");
        assert_eq!(count(&run, Outcome::Ok), REQUESTS - bad, "{share:?}");
    }
}

fn at(server: &Server) -> (String, u16) {
    (server.address.ip().to_string(), server.address.port())
}

/// A port on which nothing listens any more.
fn closed(host: &str) -> io::Result<Place> {
    let port = TcpListener::bind((host, 0))?.local_addr()?.port();
    Ok(Place { host: host.to_owned(), port, _held: Held::Nothing })
}

/// A listener whose accept queue is full.
fn full_queue() -> io::Result<Place> {
    let full = full(([127, 0, 0, 1], 0).into())?;
    Ok(Place { host: full.2.ip().to_string(), port: full.2.port(), _held: Held::Queue(full) })
}

/// A server that speaks TLS, for requests without.
#[expect(clippy::unnecessary_wraps, reason = "other rows can fail")]
fn tls_server() -> io::Result<Place> {
    let server = Server::greeting(|_| Greeting::Tls(Certificate::Good), |_| Behaviour::Good);
    let (host, port) = at(&server);
    Ok(Place { host, port, _held: Held::Server(server) })
}

/// A host that only the system's resolver takes for an address.
#[expect(clippy::unnecessary_wraps, reason = "other rows can fail")]
fn number() -> io::Result<Place> {
    Ok(Place { host: "2130706433".to_owned(), port: 80, _held: Held::Nothing })
}

rows! { check;
    a_port_without_a_server_refuses: closed("127.0.0.1") => In(Fault::Refused, Blame::Server);
    a_port_of_ipv6_without_a_server_refuses: closed("::1") => In(Fault::Refused, Blame::Server);
    a_full_accept_queue_is_a_connect_timeout: full_queue() => In(Fault::ConnectTimeout, Blame::Network);
    a_number_is_no_name: number() => In(Fault::DnsNotFound, Blame::Network);
    the_answer_of_a_tls_port_to_a_plain_request_is_a_malformed_head:
        tls_server() => In(Fault::MalformedHead, Blame::Protocol);
}
