//! The server as a browser meets it, over real connections: watchers that do not read, and too many of them.

use std::io::{BufRead, BufReader};
use std::sync::mpsc;
use std::thread;

use knee_core::clock::MonotonicClock;

use super::*;
use crate::live::term::synthetic;
use crate::web::answer::assert_protected;

/// Longest that a test waits for what must happen.
const LIMIT: Duration = Duration::from_secs(30);

fn server(write_time: Duration) -> Server {
    let feed = Feed::default();
    for event in synthetic::events(3) {
        feed.take(&event);
    }
    let terms = Terms { write_time, control: false };
    Server::start_with("127.0.0.1:0".parse().unwrap(), ("run", None), feed, terms).unwrap()
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

/// A server with one watcher that has stopped reading, while more is to be sent than the system keeps for it. Its place
/// is not free before the test ends.
fn stuck() -> (Server, TcpStream) {
    let server = server(Duration::from_secs(3_600));
    let line = "x".repeat(100_000);
    (0..200).for_each(|_| server.feed().note(&line));
    let stopped = ask(&server, "/api/events");
    wait_for(&server, 1);
    (server, stopped)
}

/// That `work` ends.
fn must_end(work: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        work();
        let _ = done.send(());
    });
    ended.recv_timeout(LIMIT).unwrap();
}

#[test]
fn the_end_of_the_program_waits_for_no_watcher_that_has_stopped() {
    let (server, _stopped) = stuck();
    let server = std::sync::Arc::new(server);
    let closing = server.clone();
    must_end(move || closing.close());
    assert_eq!(*server.0.site().lock(), 1, "it is still there, and the program ends without it");
}

#[test]
fn events_are_taken_while_a_watcher_has_stopped() {
    let (server, _stopped) = stuck();
    let feed = server.feed();
    let before = feed.read().sequence;
    let taking = feed.clone();
    must_end(move || synthetic::events(100).iter().for_each(|event| taking.take(event)));
    assert!(feed.read().sequence >= before + 100);
    assert_eq!(first_line(ask(&server, "/api/state")), "HTTP/1.1 200 OK");
    assert_eq!(*server.0.site().lock(), 1, "it is still there");
}

#[test]
fn the_stream_and_its_refusal_are_protected_like_the_page() {
    let server = server(crate::web::WRITE_TIME);
    let read = |stream: TcpStream| {
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        head.join("\r\n") + "\r\n\r\n"
    };
    assert_protected(&read(ask(&server, "/api/events")));
    let _watchers: Vec<TcpStream> = (0..WATCHERS_MAX).map(|_| ask(&server, "/api/events")).collect();
    wait_for(&server, WATCHERS_MAX);
    let refused = read(ask(&server, "/api/events"));
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert_protected(&refused);
}

#[test]
fn there_is_room_for_sixteen_watchers_and_again_when_one_has_left() {
    let server = server(crate::web::WRITE_TIME);
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
    let server = server(crate::web::WRITE_TIME);
    let watcher = ask(&server, "/api/events");
    wait_for(&server, 1);
    server.close();
    let lines: Vec<String> = BufReader::new(watcher).lines().map_while(Result::ok).collect();
    assert!(lines.iter().any(|line| line == "event: ended"), "{lines:?}");
    assert_eq!(*server.0.site().lock(), 0);
}
