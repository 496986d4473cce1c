//! What a run keeps of the responses that it looks at more closely.

use std::time::Duration;

use knee_core::histogram::Histogram;
use knee_core::outcome::Outcome;
use knee_core::plan::EndpointId;
use knee_core::unit::Nanos;

use crate::behaviour::Behaviour;
use crate::drive::{Drive, count};
use crate::server::{Request, Server};

/// A page without compression and validators, from one of two instances by the number of the connection.
fn page(request: &Request) -> Behaviour {
    let instance = request.connection % 2;
    Behaviour::Raw(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nx-served-by: web-{instance}\r\ncontent-length: 5000\r\n\r\n{}",
        "<p>".repeat(5_000 / 3) + "  "
    ))
}

#[test]
fn a_run_knows_how_its_responses_looked_and_which_instance_and_connection_they_came_from() {
    let server = Server::start(page);
    let mut drive = Drive::open(&server.url("/"), 60, 4, 300.0);
    drive.warm_up = Nanos::from_millis(20);
    drive.requests[0].headers = vec![("accept-encoding".to_owned(), b"gzip".to_vec())];
    let run = drive.run();
    let looks = run.sampled.endpoints[&EndpointId(0)];
    assert!((1..=count(&run, Outcome::Ok)).contains(&looks.responses), "none of the warm-up: {looks:?}");
    let all = looks.responses;
    assert_eq!([looks.gets, looks.texts, looks.offered, looks.kept], [all; 4]);
    assert_eq!((looks.compressed, looks.validated, looks.plain_bytes), (0, 0, 5_000 * all));
    assert!(looks.body.is_some() && !looks.bodies_differ);
    let servers = &run.sampled.servers[&EndpointId(0)];
    let by_server: u64 = servers.values().map(Histogram::count).sum();
    assert!(servers.keys().all(|name| name.starts_with("x-served-by: web-")), "{servers:?}");
    let by_connection: u64 = run.sampled.connections.iter().map(|times| times.responses).sum();
    assert_eq!((by_server, by_connection), (all, all));
}

#[test]
fn failed_responses_are_not_described() {
    let server = Server::start(|_| Behaviour::Status(503));
    let run = Drive::closed(&server.url("/"), 20, 2).run();
    assert!(run.sampled.is_empty(), "{:?}", run.sampled);
}

#[test]
fn a_connection_whose_responses_are_slow_is_known_by_its_times() {
    let slow = |request: &Request| match request.connection {
        0 => Behaviour::Delayed(Duration::from_millis(30)),
        _ => Behaviour::Good,
    };
    let server = Server::start(slow);
    // So few that every second one is looked at.
    let mut drive = Drive::open(&server.url("/"), 100, 2, 100.0);
    drive.workers = 1;
    let run = drive.run();
    let slow = run.sampled.connections.iter().filter(|times| times.least >= Nanos::from_millis(30));
    assert_eq!((slow.count(), run.sampled.connections.len()), (1, 2), "{:?}", run.sampled);
}
