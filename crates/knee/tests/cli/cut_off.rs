//! Killed at any moment: what was reported as complete is in the record, and the record is readable.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use rustix::process::Signal;

use crate::program::{Home, number};
use crate::server::Server;

/// How many runs are killed.
const RUNS: u64 = 30;

/// Requests per second of each.
const RATE: u64 = 40;

#[test]
fn a_run_killed_at_any_moment_loses_at_most_the_interval_in_progress() {
    let seed = std::env::var("KNEE_CLI_SEED").ok().map(|seed| seed.parse().unwrap());
    let seed: u64 = seed.unwrap_or(knee_core::clock::wall().0);
    println!("KNEE_CLI_SEED={seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let runs: Vec<_> = (0..RUNS)
        .map(|_| {
            let moment = Duration::from_micros(random.next_u64() % 4_000_000);
            thread::spawn(move || killed_after(moment))
        })
        .collect();
    let reported: u64 = runs.into_iter().map(|run| run.join().unwrap()).sum();
    assert!(reported > 0, "every run was killed in its first interval");
}

/// Kills a run after `moment`; returns how many intervals it had reported.
fn killed_after(moment: Duration) -> u64 {
    let (home, server) = (Home::new(), Server::start());
    let line = format!("-q {RATE} -z 1h -c 4 --workers 1 --record cut.knee");
    let running = home.knee(&line).arg(server.url("/")).start();
    thread::sleep(moment);
    running.send(Signal::KILL);
    let finished = running.finish();
    assert_eq!(finished.code, None);
    // A line is written after its interval is in the record; the line with the names comes first.
    let lines: Vec<&str> = finished.stderr.lines().collect();
    let began = lines.first().is_some_and(|line| line.contains("resp p50"));
    let reported = lines.iter().filter(|line| line.contains("us") || line.contains("ms")).count() as u64;
    let record = home.path("cut.knee");
    if began || std::fs::metadata(&record).is_ok_and(|record| record.len() > 0) {
        check(&home, &record, reported, server.count() as u64);
    }
    reported
}

/// Checks the record of a run that reported `reported` intervals and sent `sent` requests.
fn check(home: &Home, record: &PathBuf, reported: u64, sent: u64) {
    let text = home.knee("report").arg(record).run();
    assert_eq!((text.code, text.stderr.as_str()), (Some(0), ""));
    assert!(text.stdout.contains("the record has no end: knee was killed, or"), "{}", text.stdout);

    let run = home.report(&record.display().to_string());
    assert_eq!(run["ending"], "truncated");
    // At most one more than was reported: it was written, and its line was not.
    let intervals = run["series"].as_array().unwrap().len() as u64;
    assert!((reported..=reported + 1).contains(&intervals), "{intervals} of {reported}");
    // The plan says how many came due until the last interval ended, which on a busy machine is late.
    let planned = number(&run, "/requests/planned");
    let end = run["series"].as_array().unwrap().last().map_or(0.0, |last| last["to_s"].as_f64().unwrap());
    assert!(end >= intervals as f64 * 0.99, "{intervals} intervals of a second in {end} s");
    let due = RATE as f64 * end;
    assert!((planned as f64 - due).abs() <= 1.0, "{planned} in {end} s");
    let ended: u64 = ["ok", "http_error", "transport_error", "timeout", "unsent", "censored"]
        .iter()
        .map(|outcome| number(&run, &format!("/requests/{outcome}")))
        .sum();
    assert_eq!(planned, ended, "every request has exactly one outcome");
    assert!(number(&run, "/requests/ok") <= sent, "nothing is counted that the server did not see");
}
