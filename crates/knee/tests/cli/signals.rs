//! Signals that end a run, or hold it up.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::program::{Home, Running, number};
use crate::server::Server;

/// A run that would take an hour, with requests that take a tenth of a second.
fn long_run(home: &Home, server: &Server) -> Running {
    let mut running = home.knee("-z 1h -c 4").arg(server.url("/slow")).start();
    running.wait_for("resp p50");
    server.wait_for(4);
    running
}

#[test]
fn a_load_beside_another_is_noted_and_not_refused() {
    let (home, server) = (Home::new(), Server::start());
    let note = "another knee is measuring on this machine";
    let first = long_run(&home, &server);
    let second = home.knee("-z 1h -c 1").arg(server.url("/slow")).start();
    server.wait_for(9);
    first.send(Signal::INT);
    second.send(Signal::INT);
    let (first, second) = (first.finish(), second.finish());
    assert!(second.stderr.contains(note), "{}", second.stderr);
    assert_eq!(second.stderr.matches(note).count(), 1, "{}", second.stderr);
    assert_eq!(first.code, second.code, "{}", second.stderr);
    let alone = home.knee("-n 4 -c 1").arg(server.url("/x")).run();
    assert!(!alone.stderr.contains(note), "{}", alone.stderr);
    let trials = home.knee("sweep --rates 20,30 --step 500ms").arg(server.url("/x")).run();
    assert!(!trials.stderr.contains(note), "its own steps are no other load: {}", trials.stderr);
}

fn reasons(run: &Value) -> Vec<&str> {
    run["warnings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect()
}

#[test]
fn one_signal_ends_the_run_in_order() {
    for signal in [Signal::INT, Signal::TERM] {
        let (home, server) = (Home::new(), Server::start());
        let running = long_run(&home, &server);
        running.send(signal);
        let finished = running.finish();
        assert!(
            finished.stderr.contains("interrupted: waiting for requests in flight"),
            "{}",
            finished.stderr
        );
        let run = finished.ended_as_it_says(&home);
        assert_eq!(run["ending"], "interrupted");
        assert!(!reasons(&run).contains(&"truncated"), "the record has its end");
        let name = if signal == Signal::INT { "SIGINT" } else { "SIGTERM" };
        let told = home.knee("report last").run();
        assert!(told.stderr.contains(&format!("s: {name}: no new requests are sent")), "{}", told.stderr);
        // What was in flight has finished, and every request that the server saw is accounted for.
        assert_eq!(number(&run, "/requests/ok"), server.count() as u64);
        assert_eq!(number(&run, "/requests/planned"), server.count() as u64);
        assert!(finished.stdout.contains("\nValidity: "), "{}", finished.stdout);
    }
}

#[test]
fn a_second_signal_ends_the_run_at_once_although_a_request_hangs() {
    let (home, server) = (Home::new(), Server::start());
    let mut running = home.knee("-z 1h -c 3 --grace 1h").arg(server.url("/hang")).start();
    server.wait_for(3);
    running.send(Signal::INT);
    running.wait_for("interrupted");
    assert!(!running.ends_within(Duration::from_millis(300)), "the requests still have their grace");
    running.send(Signal::INT);
    assert!(running.ends_within(Duration::from_secs(10)), "the second signal was not obeyed");
    let run = running.finish().ended_as_it_says(&home);
    assert_eq!(run["ending"], "aborted");
    assert_eq!(number(&run, "/requests/planned"), 3);
    assert_eq!(number(&run, "/requests/censored"), 3);
}

#[test]
fn a_run_that_was_stopped_and_continued_says_that_it_stood_still() {
    let (home, server) = (Home::new(), Server::start());
    let mut running = home.knee("-q 100 -z 5s -c 4").arg(server.url("/")).start();
    running.wait_for("1s");
    running.send(Signal::STOP);
    // The server sees nothing new while knee stands still; after that the plan goes on as it was.
    std::thread::sleep(Duration::from_millis(1_500));
    running.send(Signal::CONT);
    let finished = running.finish();
    let run = finished.ended_as_it_says(&home);
    assert_eq!(number(&run, "/requests/planned"), 500, "no arrival was skipped");
    assert_eq!(server.count(), 500);
    assert_eq!(run["ending"], "completed");
    assert!(reasons(&run).contains(&"stall"), "{run:#}");
    // What was due meanwhile was sent late, and the response time says so.
    assert!(run["response_time_ms"]["max"].as_f64().unwrap() > 1_000.0);
}
