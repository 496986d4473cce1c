//! Servers that do not answer in time: timeouts of requests and of connections.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::unit::Nanos;
use socket2::{Domain, Socket, Type};

use crate::answers::{Ends, REQUESTS, runs, verify};
use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count, faults};
use crate::identity::{Certificate, Greeting};
use crate::server::Server;

/// Long enough for a healthy answer on a busy machine.
const LIMIT: Nanos = Nanos::from_millis(700);
/// Connections that meet the slowness.
const SLOW: u64 = 3;

fn check(behaviour: &Behaviour) {
    let slow = |behaviour: Behaviour| {
        move |request: &crate::server::Request| {
            if request.connection < SLOW && request.place == 0 { behaviour.clone() } else { Behaviour::Good }
        }
    };
    for drive in runs() {
        let server = Server::start(slow(behaviour.clone()));
        let drive = drive(&server.url("/")).with(|settings| settings.request_timeout = Some(LIMIT));
        verify(behaviour, Ends::In(Fault::RequestTimeout), SLOW, &drive, &server);
    }
    let server = Server::greeting(|_| Greeting::Tls(Certificate::Good), slow(behaviour.clone()));
    let drive = Drive::closed(&server.secure_url("/"), REQUESTS, 3).trusting();
    let drive = drive.with(|settings| settings.request_timeout = Some(LIMIT));
    verify(behaviour, Ends::In(Fault::RequestTimeout), SLOW, &drive, &server);
}

#[test]
fn a_server_that_never_answers_runs_into_the_time_limit() {
    check(&Behaviour::Silence);
}

#[test]
fn a_server_that_stops_after_the_head_runs_into_the_time_limit() {
    check(&Behaviour::SilenceAfterHead);
}

#[test]
fn a_head_that_drips_for_ever_runs_into_the_time_limit() {
    check(&Behaviour::DripHead);
}

#[test]
fn a_body_that_drips_for_ever_runs_into_the_time_limit() {
    check(&Behaviour::DripBody);
}

#[test]
fn interim_answers_that_drip_for_ever_run_into_the_time_limit() {
    check(&Behaviour::DripInterim);
}

#[test]
fn timeouts_are_timeouts_and_the_server_is_to_blame() {
    let server = Server::start(|_| Behaviour::SilenceAfterHead);
    let run = Drive::closed(&server.url("/"), 6, 3)
        .with(|settings| settings.request_timeout = Some(Nanos::from_millis(50)))
        .run();
    assert_eq!(count(&run, Outcome::Timeout), 6);
    assert_eq!(Fault::RequestTimeout.blame(), Blame::Server);
    // What had come by then is counted.
    assert_eq!(all(&run).bytes_received, 6 * "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".len() as u64);
    server.all_closed();
}

#[test]
fn no_answer_counts_that_came_after_its_limit() {
    const LIMIT: Nanos = Nanos::from_millis(50);
    // Delays all around the limit, many within the time in which a passed limit is not noticed.
    let server = Server::start(|request| {
        let micros = 45_000 + 250 * (request.connection * 7 + request.place) % 10_000;
        Behaviour::Delayed(Duration::from_micros(micros))
    });
    let run = Drive::closed(&server.url("/"), 200, 20)
        .with(|settings| settings.request_timeout = Some(LIMIT))
        .run();
    let tally = all(&run);
    // Least and greatest values are kept exactly.
    let latest = tally.outcomes[Outcome::Ok as usize].service.max().unwrap_or(Nanos::ZERO);
    assert!(latest <= LIMIT, "an answer after {latest} counted");
    let timeouts = &tally.outcomes[Outcome::Timeout as usize].service;
    assert!(timeouts.max().unwrap_or(LIMIT) <= LIMIT, "{:?}", timeouts.max());
    server.all_closed();
}

#[test]
fn a_request_that_is_sent_once_more_has_no_more_time_than_others() {
    // The second request of a connection is hung up on, and its second attempt is never answered.
    let server = Server::start(|request| match (request.connection, request.place) {
        (0, 0) => Behaviour::Good,
        (0, _) => Behaviour::EndAtOnce,
        _ => Behaviour::Silence,
    });
    let run =
        Drive::closed(&server.url("/"), 2, 1).with(|settings| settings.request_timeout = Some(LIMIT)).run();
    assert_eq!(faults(&run), [(Fault::RequestTimeout, 1)]);
    assert_eq!(all(&run).resent, 1);
    let service = all(&run).outcomes[Outcome::Timeout as usize].service.max().unwrap();
    assert!(service <= LIMIT, "{service}");
    server.all_closed();
}

/// A listener that nobody serves and whose queue of new connections is full.
fn full() -> io::Result<(Socket, Vec<TcpStream>, SocketAddr)> {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
    listener.listen(0)?;
    let address = listener.local_addr()?.as_socket().ok_or(io::ErrorKind::Unsupported)?;
    let mut queued = Vec::new();
    for _ in 0..16 {
        match TcpStream::connect_timeout(&address, Duration::from_millis(500)) {
            Ok(stream) => queued.push(stream),
            Err(_) => return Ok((listener, queued, address)),
        }
    }
    Err(io::Error::other("the queue of a listener does not fill up here"))
}

#[test]
fn a_connection_that_is_never_accepted_runs_into_its_time_limit() {
    let (_listener, _queued, address) = match full() {
        Ok(full) => full,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let url = format!("http://{address}/");
    for drive in [Drive::closed(&url, 6, 3), Drive::open(&url, 6, 6, 500.0)] {
        let run = drive.with(|settings| settings.connect_timeout = Nanos::from_millis(200)).run();
        assert_eq!(faults(&run), [(Fault::ConnectTimeout, 6)]);
        assert_eq!(count(&run, Outcome::TransportError), 6);
        assert_eq!(Fault::ConnectTimeout.blame(), Blame::Network);
        // Never sent, so that there is no service time.
        assert_eq!(all(&run).outcomes[Outcome::TransportError as usize].service.count(), 0);
    }
}
