//! Servers that do not respond in time: timeouts of requests and of connections.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::unit::Nanos;
use socket2::{Domain, Socket, Type};

use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count, faults};
use crate::server::Server;

/// Long enough for a good response on a busy machine.
const LIMIT: Nanos = Nanos::from_millis(700);

#[test]
fn timeouts_are_blamed_on_the_server() {
    let server = Server::start(|_| Behaviour::SilenceAfterHead);
    let run = Drive::closed(&server.url("/"), 6, 3)
        .with(|settings| settings.request_timeout = Some(Nanos::from_millis(50)))
        .run();
    assert_eq!(count(&run, Outcome::Timeout), 6);
    assert_eq!(Fault::RequestTimeout.blame(), Blame::Server);
    // Bytes received before the timeout count.
    assert_eq!(all(&run).bytes_received, 6 * "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".len() as u64);
    server.all_closed();
}

#[test]
fn a_response_after_its_limit_never_counts() {
    const LIMIT: Nanos = Nanos::from_millis(50);
    // Delays around the limit, many of them shorter than the time in which a timeout is noticed.
    let server = Server::start(|request| {
        let micros = 45_000 + 250 * (request.connection * 7 + request.place) % 10_000;
        Behaviour::Delayed(Duration::from_micros(micros))
    });
    let run = Drive::closed(&server.url("/"), 200, 20)
        .with(|settings| settings.request_timeout = Some(LIMIT))
        .run();
    let tally = all(&run);
    // Minimum and maximum are exact.
    let latest = tally.outcomes[Outcome::Ok as usize].service.max().unwrap_or(Nanos::ZERO);
    assert!(latest <= LIMIT, "a response after {latest} counted");
    let timeouts = &tally.outcomes[Outcome::Timeout as usize].service;
    assert!(timeouts.max().unwrap_or(LIMIT) <= LIMIT, "{:?}", timeouts.max());
    server.all_closed();
}

#[test]
fn a_resent_request_has_no_more_time_than_others() {
    // The second request of the connection meets a hang-up, its second attempt gets no response.
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

/// A listener, the connections in its queue, and its address.
pub type Full = (Socket, Vec<TcpStream>, SocketAddr);

/// A listener that accepts nothing and whose accept queue is full, on this address or on a free port of it.
pub fn full(address: SocketAddr) -> io::Result<Full> {
    let listener = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    listener.bind(&address.into())?;
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
fn a_connection_that_is_never_accepted_is_a_connect_timeout() {
    let (_listener, _queued, address) = match full(([127, 0, 0, 1], 0).into()) {
        Ok(full) => full,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let url = format!("http://{address}/");
    for drive in [Drive::closed(&url, 6, 3), Drive::open(&url, 6, 6, 500.0)] {
        let run = drive.with(|settings| settings.connect_timeout = Nanos::from_millis(200)).run();
        assert_eq!(faults(&run), [(Fault::ConnectTimeout, 6)]);
        assert_eq!(count(&run, Outcome::Timeout), 6, "its time is a lower bound");
        assert_eq!(Fault::ConnectTimeout.blame(), Blame::Network);
        // Never sent, so it has no service time.
        assert_eq!(all(&run).outcomes[Outcome::Timeout as usize].service.count(), 0);
        let waited = all(&run).outcomes[Outcome::Timeout as usize].response.min();
        assert!(waited >= Some(Nanos::from_millis(100)), "{waited:?}");
        let words = Fault::ConnectTimeout.sentence();
        assert!(words.contains("accept queue"), "an overloaded server looks like this too: {words}");
    }
}
