//! The demo brings its server up and takes it down, however it ends.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::process::Signal;

use crate::program::{Home, Running, number};

/// The address in `loading http://127.0.0.1:1234/ …`.
fn address(line: &str) -> SocketAddr {
    let start = line.find("http://").unwrap() + "http://".len();
    line[start..].split('/').next().unwrap().parse().unwrap()
}

/// Fails unless the address soon refuses connections.
fn is_gone(address: SocketAddr) {
    for _ in 0..1_000 {
        if TcpStream::connect(address).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("a server is left behind on {address}");
}

fn started(home: &Home) -> (Running, SocketAddr) {
    let mut running = home.knee("demo").start();
    let address = address(&running.wait_for("loading a demo server on http://"));
    running.wait_for("resp p50");
    (running, address)
}

#[test]
fn the_demo_takes_its_server_down() {
    let home = Home::new();
    let finished = home.knee("demo -n 100 -c 10").run();
    assert!(finished.stdout.contains("100 planned = 100 ok"), "{}", finished.stdout);
    let run = finished.ended_as_it_says(&home);
    assert_eq!(number(&run, "/requests/ok"), 100);
    is_gone(address(run["title"].as_str().unwrap()));
}

#[test]
fn the_demo_takes_its_server_down_when_it_is_interrupted() {
    let home = Home::new();
    let (running, address) = started(&home);
    running.send(Signal::INT);
    let run = running.finish().ended_as_it_says(&home);
    assert_eq!(run["ending"], "interrupted");
    assert_eq!(number(&run, "/requests/transport_error"), 0, "the server answered to the end");
    is_gone(address);
}

#[test]
fn the_demo_server_goes_when_its_parent_is_killed() {
    let home = Home::new();
    let (running, address) = started(&home);
    running.send(Signal::KILL);
    running.finish();
    is_gone(address);
}

#[test]
fn an_address_that_is_taken_is_reported_once() {
    let home = Home::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    home.knee(&format!("demo --listen {address}")).run().refused(
        &format!("the demo server cannot be started on {address}: address already in use"),
        "give another address with `--listen`",
    );
}

#[test]
fn a_demo_server_alone_can_be_loaded_by_another_knee() {
    let home = Home::new();
    let mut running = home.knee("demo --serve-only").start();
    let address = address(&running.wait_for("serving http://"));
    let finished = home.knee(&format!("http://{address}/ -n 50 -c 5")).run();
    assert!(finished.stdout.contains("50 planned = 50 ok"), "{}", finished.stdout);
    running.send(Signal::TERM);
    running.finish();
    is_gone(address);
}
