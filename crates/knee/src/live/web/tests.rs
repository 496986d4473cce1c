//! The server as a browser meets it, over real connections: watchers that do not read, and too many of them.

use std::io::{BufRead, BufReader};
use std::thread;

use knee_core::clock::MonotonicClock;

use super::*;
use crate::live::term::synthetic;

/// Longest that a test waits for what must happen.
const LIMIT: Duration = Duration::from_secs(30);

fn server(write_time: Duration) -> Server {
    let feed = Feed::default();
    for event in synthetic::events(3) {
        feed.take(&event);
    }
    Server::start_with("127.0.0.1:0".parse().unwrap(), "run", feed, write_time).unwrap()
}

fn ask(server: &Server, target: &str) -> TcpStream {
    server.0.ask(target, LIMIT)
}

fn first_line(stream: TcpStream) -> String {
    BufReader::new(stream).lines().next().unwrap().unwrap()
}

/// Waits until `count` watchers are there.
fn wait_for(server: &Server, count: usize) {
    let clock = MonotonicClock::start();
    while *server.0.site().lock() != count {
        assert!(clock.now() < knee_core::unit::Nanos::from(LIMIT), "never {count} watchers");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_watcher_that_never_reads_is_dropped_and_nothing_waits_for_it() {
    let server = server(Duration::from_millis(300));
    let silent = ask(&server, "/api/events");
    wait_for(&server, 1);
    let feed = server.feed();
    // More than both ends of the connection hold.
    let line = "x".repeat(100_000);
    let clock = MonotonicClock::start();
    while *server.0.site().lock() > 0 {
        assert!(clock.now() < knee_core::unit::Nanos::from(LIMIT), "it is never dropped");
        feed.note(&line);
        thread::sleep(Duration::from_millis(20));
    }
    drop(silent);
}

#[test]
fn there_is_room_for_sixteen_watchers_and_again_when_one_has_left() {
    let server = server(WRITE_TIME);
    let mut watchers: Vec<TcpStream> = (0..WATCHERS_MAX).map(|_| ask(&server, "/api/events")).collect();
    wait_for(&server, WATCHERS_MAX);
    assert_eq!(first_line(ask(&server, "/api/events")), "HTTP/1.1 503 Service Unavailable");
    // Others are served all the same.
    assert_eq!(first_line(ask(&server, "/api/state")), "HTTP/1.1 200 OK");
    drop(watchers.pop());
    // A watcher that is gone is noticed with the next pieces.
    let clock = MonotonicClock::start();
    while *server.0.site().lock() == WATCHERS_MAX {
        assert!(clock.now() < knee_core::unit::Nanos::from(LIMIT), "its place is never free");
        server.feed().note("a line");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(first_line(ask(&server, "/api/events")), "HTTP/1.1 200 OK");
}

#[test]
fn closing_sends_the_end_to_every_watcher() {
    let server = server(WRITE_TIME);
    let watcher = ask(&server, "/api/events");
    wait_for(&server, 1);
    server.close();
    let lines: Vec<String> = BufReader::new(watcher).lines().map_while(Result::ok).collect();
    assert!(lines.iter().any(|line| line == "event: ended"), "{lines:?}");
    assert_eq!(*server.0.site().lock(), 0);
}
