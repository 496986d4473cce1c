//! Numbers of requests, ends and interruptions of runs: exactly as many requests as planned, and every
//! request still open at the end is counted.

use std::sync::Arc;
use std::thread;

use knee_core::outcome::{Fault, Outcome};
use knee_core::plan::{Executor, Stop};
use knee_core::record::Ending;
use knee_core::schedule::{Arrivals, Curve};
use knee_core::unit::Nanos;
use knee_engine::control::Control;

use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count, faults};
use crate::server::Server;

#[test]
fn exactly_the_requested_number_of_requests_is_sent() {
    for (requests, users, workers) in
        [(7, 3, 2), (1, 1, 2), (1, 5, 4), (3, 7, 2), (100, 7, 3), (64, 1, 2), (65, 64, 2), (1_001, 13, 5)]
    {
        let closed = Drive::closed("http://to.be.set/", requests, users);
        let open = Drive::open("http://to.be.set/", requests, users, 5_000.0);
        for drive in [closed, open] {
            let server = Server::start(|_| Behaviour::Good);
            let mut drive = Drive { workers, ..drive };
            drive.requests = vec![crate::drive::request(&server.url("/"))];
            let run = drive.run();
            let case = format!("{requests} requests, {users} users, {workers} workers");
            assert_eq!(count(&run, Outcome::Ok), requests, "{case}: {:?}", faults(&run));
            let seen = server.all_closed();
            assert_eq!(seen.requests.len() as u64, requests, "{case}");
            assert!(seen.connections <= u64::from(users), "{case}");
        }
    }
}

#[test]
fn a_run_without_requests_completes() {
    let server = Server::start(|_| Behaviour::Good);
    let run = Drive::closed(&server.url("/"), 0, 3).run();
    assert_eq!(run.measured.accounting().planned, 0);
    assert_eq!(run.ending, Ending::Completed);
    assert_eq!(server.all_closed().requests.len(), 0);
}

#[test]
fn open_requests_at_the_end_are_censored_with_their_age() {
    let server = Server::start(|_| Behaviour::Silence);
    let mut drive = Drive::closed(&server.url("/"), 0, 3);
    drive.stop = Stop::At(Nanos::from_millis(200));
    drive.grace = Nanos::from_millis(100);
    let run = drive.run();
    assert_eq!(count(&run, Outcome::Censored), 3);
    assert_eq!(run.measured.accounting().planned, 3);
    let ages = &all(&run).outcomes[Outcome::Censored as usize].service;
    assert_eq!(ages.count(), 3);
    // Sent before arrivals ended, open until the end of the grace period.
    assert!(ages.min().unwrap() >= drive.grace, "{:?}", ages.min());
    assert!(ages.max().unwrap() <= run.ended, "{:?} {}", ages.max(), run.ended);
    assert_eq!(server.all_closed().after_fault, 0);
}

#[test]
fn responses_within_the_grace_period_count() {
    let server = Server::start(|_| Behaviour::Delayed(std::time::Duration::from_millis(150)));
    let mut drive = Drive::closed(&server.url("/"), 0, 3);
    drive.stop = Stop::At(Nanos::from_millis(50));
    let run = drive.run();
    assert_eq!(count(&run, Outcome::Ok), 3);
    assert_eq!(run.measured.accounting().planned, 3);
    assert_eq!(run.ending, Ending::Completed);
}

#[test]
fn arrivals_without_a_free_connection_are_unsent() {
    let server = Server::start(|_| Behaviour::Silence);
    let mut drive = Drive::open(&server.url("/"), 0, 2, 100.0);
    drive.stop = Stop::At(Nanos::from_millis(500));
    drive.settings.request_timeout = Some(Nanos::from_millis(100));
    let run = drive.run();
    let books = run.measured.accounting();
    assert_eq!(books.planned, 50);
    assert!(books.count(Outcome::Unsent) > 0, "{books:?}");
    assert!(books.count(Outcome::Timeout) > 0, "{books:?}");
    assert_eq!(books.count(Outcome::Unsent) + books.count(Outcome::Timeout), 50, "{books:?}");
    // They waited as long as the time limit of a request.
    let unsent = &all(&run).outcomes[Outcome::Unsent as usize].response;
    assert!(unsent.min().unwrap() >= Nanos::from_millis(99), "{:?}", unsent.min());
    server.all_closed();
}

/// Starts a run on a thread and returns the handle to stop it.
fn start_in_thread(drive: Drive) -> (Control, thread::JoinHandle<knee_core::record::Run>) {
    let control = drive.control.clone();
    (control, thread::spawn(move || drive.run()))
}

fn endless_run(drive: Drive) -> Drive {
    Drive { stop: Stop::At(Nanos::from_secs(3_600)), ..drive }
}

#[test]
fn a_stop_lets_requests_in_flight_finish() {
    let closed = |url: &str| Drive::closed(url, 0, 3);
    let open = |url: &str| Drive::open(url, 0, 3, 200.0);
    for drive in [closed as fn(&str) -> Drive, open] {
        let server = Server::start(|_| Behaviour::Good);
        let (control, run) = start_in_thread(endless_run(drive(&server.url("/"))));
        server.wait("some requests came", |seen| seen.requests.len() >= 10);
        control.stop();
        let run = run.join().unwrap();
        assert_eq!(run.ending, Ending::Interrupted);
        let seen = server.all_closed().requests.len() as u64;
        assert_eq!(count(&run, Outcome::Ok), seen);
        assert_eq!(run.measured.accounting().planned, seen);
    }
}

#[test]
fn an_abort_does_not_wait() {
    let closed = |url: &str| Drive::closed(url, 0, 3);
    let open = |url: &str| Drive::open(url, 0, 3, 200.0);
    for drive in [closed as fn(&str) -> Drive, open] {
        let server = Server::start(|_| Behaviour::Silence);
        let drive = Drive { grace: Nanos::from_secs(3_600), ..endless_run(drive(&server.url("/"))) };
        let (control, run) = start_in_thread(drive);
        server.wait("all connections are busy", |seen| seen.requests.len() == 3);
        control.stop();
        control.abort();
        let run = run.join().unwrap();
        assert_eq!(run.ending, Ending::Aborted);
        assert_eq!(count(&run, Outcome::Censored), 3);
        assert_eq!(server.all_closed().after_fault, 0);
    }
}

#[test]
fn a_run_aborted_before_its_start_ends_at_once() {
    let server = Server::start(|_| Behaviour::Good);
    let drive = endless_run(Drive::closed(&server.url("/"), 0, 3));
    drive.control.abort();
    let run = drive.run();
    assert_eq!(run.ending, Ending::Aborted);
    server.all_closed();
}

#[test]
fn warm_up_and_measurement_together_count_every_request() {
    let server = Server::start(|_| Behaviour::Good);
    let mut drive = Drive::closed(&server.url("/"), 0, 3);
    drive.stop = Stop::At(Nanos::from_millis(300));
    drive.warm_up = Nanos::from_millis(100);
    let run = drive.run();
    let (warm_up, measured) = (run.warm_up.accounting(), run.measured.accounting());
    assert!(warm_up.planned > 0 && measured.planned > 0);
    let seen = server.all_closed().requests.len() as u64;
    assert_eq!(warm_up.count(Outcome::Ok) + measured.count(Outcome::Ok), seen);
}

#[test]
fn due_times_alone_decide_the_warm_up_of_an_open_run() {
    // 100 per second: due at 0, 10, ... 90 ms during the warm-up and at 100 ... 290 ms after it.
    let server = Server::start(|_| Behaviour::Good);
    let mut drive = Drive::open(&server.url("/"), 0, 10, 100.0);
    drive.stop = Stop::At(Nanos::from_millis(300));
    drive.warm_up = Nanos::from_millis(100);
    let run = drive.run();
    assert_eq!(run.warm_up.accounting().planned, 10);
    assert_eq!(run.measured.accounting().planned, 20);
    server.all_closed();
}

#[test]
fn all_poisson_arrivals_are_sent() {
    let server = Server::start(|_| Behaviour::Good);
    let mut drive = Drive::open(&server.url("/"), 300, 10, 1_000.0);
    drive.executor = Executor::Open {
        rate: Curve::constant(1_000.0),
        arrivals: Arrivals::Poisson { seed: 5 },
        users_max: 10,
    };
    let run = drive.run();
    assert_eq!(count(&run, Outcome::Ok), 300);
    assert_eq!(server.all_closed().requests.len(), 300);
}

#[test]
fn every_request_is_in_exactly_one_interval() {
    let server =
        Server::start(|request| if request.place % 3 == 2 { Behaviour::EndInBody } else { Behaviour::Good });
    let drive = Drive { interval: Nanos::from_millis(5), ..Drive::open(&server.url("/"), 300, 10, 1_000.0) };
    let (run, intervals) = drive.run_with_intervals().unwrap();
    assert!(intervals.len() > 20, "{}", intervals.len());
    let planned: u64 = intervals.iter().map(|interval| interval.measured.accounting().planned).sum();
    assert_eq!(planned, 300);
    let short: u64 = faults(&run).iter().map(|(_, count)| count).sum();
    assert_eq!(faults(&run), [(Fault::ShortBody, short)]);
    let open = intervals.iter().map(|interval: &Arc<_>| interval.connections_open).max().unwrap();
    assert!((1..=10).contains(&open), "{open}");
}
