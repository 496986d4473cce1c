//! Killed at any moment: what was reported as complete is in the record, and the record is readable.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use knee_core::record::format::ReadError;
use knee_core::record::run::read;
use knee_core::record::{Ending, Run};
use knee_core::unit::Nanos;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use rustix::process::Signal;

use crate::program::{Home, number};
use crate::record::{HEAD, INTERVAL, TAIL};
use crate::server::Server;

/// How many runs are killed; `KNEE_CLI_KILLS=500` is the long form.
const RUNS: u64 = 20;

/// Most of them at the same time.
const AT_ONCE: u64 = 25;

/// At how many places a record is cut, and how often it is damaged.
const POINTS: usize = 500;

/// Requests per second of each.
const RATE: u64 = 40;

#[allow(clippy::print_stdout, reason = "a random test prints its seed")]
fn random() -> ChaCha8Rng {
    let seed = std::env::var("KNEE_CLI_SEED").ok().map(|seed| seed.parse().unwrap());
    let seed: u64 = seed.unwrap_or(knee_core::clock::wall().0);
    println!("KNEE_CLI_SEED={seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

#[test]
fn a_run_killed_at_any_moment_loses_at_most_the_interval_in_progress() {
    let mut random = random();
    let mut left = std::env::var("KNEE_CLI_KILLS").ok().map_or(RUNS, |runs| runs.parse().unwrap());
    let mut reported = 0;
    while left > 0 {
        let runs: Vec<_> = (0..left.min(AT_ONCE))
            .map(|_| {
                let moment = Duration::from_micros(random.next_u64() % 4_000_000);
                thread::spawn(move || killed_after(moment))
            })
            .collect();
        left -= runs.len() as u64;
        reported += runs.into_iter().map(|run| run.join().unwrap()).sum::<u64>();
    }
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

/// The record of a real run of four seconds.
fn whole() -> Vec<u8> {
    let (home, server) = (Home::new(), Server::start());
    let line = "-q 200 -z 4s -c 4 --workers 2 --record whole.knee";
    let finished = home.knee(line).arg(server.url("/")).run();
    assert!(finished.stdout.contains("800 planned = 800 ok"), "{}", finished.stdout);
    std::fs::read(home.path("whole.knee")).unwrap()
}

/// Kind and end of each frame.
fn frames(record: &[u8]) -> Vec<(u8, usize)> {
    let (mut frames, mut start) = (Vec::new(), 12);
    while let Some(length) = record.get(start..).and_then(|rest| rest.first_chunk()) {
        let end = start + 8 + u32::from_le_bytes(*length) as usize;
        frames.push((record[start + 8], end));
        start = end;
    }
    frames
}

fn points(run: &Run) -> Vec<(Nanos, u64)> {
    run.series.iter().map(|point| (point.from, point.planned)).collect()
}

#[test]
fn a_record_cut_at_any_of_hundreds_of_points_has_every_whole_interval() {
    let (record, mut random) = (whole(), random());
    let frames = frames(&record);
    let all = points(&read(&*record).unwrap().run);
    // Around each border of a frame, and in each byte of its length and checksum; the rest is chance.
    let ends = frames.iter().map(|(_, end)| *end).chain([0, 8, 12]);
    let mut cuts: Vec<usize> =
        ends.flat_map(|end| end.saturating_sub(2)..=end + 9).filter(|cut| *cut <= record.len()).collect();
    while cuts.len() < POINTS {
        cuts.push(random.next_u64() as usize % record.len());
    }
    for cut in cuts {
        let bytes = &record[..cut];
        let whole = |kind: u8| frames.iter().filter(|(one, end)| *one == kind && *end <= cut).count();
        let reading = match read(bytes) {
            Ok(reading) => reading,
            Err(ReadError::NotARecord) => {
                assert_eq!(cut, 0);
                continue;
            }
            Err(ReadError::NoHead) => {
                assert_eq!(whole(HEAD), 0, "cut at {cut}");
                continue;
            }
            Err(error) => panic!("cut at {cut}: {error}"),
        };
        let (intervals, run) = (whole(INTERVAL), &reading.run);
        assert!(reading.damage.is_none(), "cut at {cut}: {:?}", reading.damage);
        assert_eq!(points(run), all[..intervals], "cut at {cut}");
        assert_eq!(run.ending == Ending::Completed, whole(TAIL) == 1, "cut at {cut}");
        assert_eq!(run.measured.accounting().difference(), 0, "cut at {cut}");
    }
}

/// Fails unless each interval is one of the whole record. What came due in the interval behind a lost one is known only as
/// far as nothing waited at the end of the lost one, which has the number that waited.
fn check_points(found: &[(Nanos, u64)], all: &[(Nanos, u64)], place: usize) {
    for (index, point) in found.iter().enumerate() {
        let whole = all.iter().position(|(from, _)| *from == point.0);
        let whole = whole.unwrap_or_else(|| panic!("at {place}: {} is no interval", point.0));
        let before =
            |points: &[(Nanos, u64)], place: usize| place.checked_sub(1).map(|before| points[before].0);
        let behind_a_gap = before(found, index) != before(all, whole);
        assert!(behind_a_gap || *point == all[whole], "at {place}: an interval is wrong");
    }
}

#[test]
fn a_record_damaged_in_any_of_hundreds_of_ways_loses_one_frame_and_says_so() {
    let (record, mut random) = (whole(), random());
    let frames = frames(&record);
    let starts: Vec<usize> = [12].into_iter().chain(frames.iter().map(|(_, end)| *end)).collect();
    let all = points(&read(&*record).unwrap().run);
    for round in 0..POINTS {
        let mut bytes = record.clone();
        let mut below = |limit: usize| random.next_u64() as usize % limit;
        // Behind the head, without which there is no record.
        let place = match round % 3 {
            // A bit of a length.
            0 => starts[1 + below(frames.len() - 1)] + below(4),
            // Any bit.
            1 => frames[0].1 + below(record.len() - frames[0].1),
            // Bytes too many: at the end, or in the middle.
            _ => {
                let place = if below(2) == 0 {
                    record.len()
                } else {
                    frames[0].1 + below(record.len() - frames[0].1)
                };
                let more: Vec<u8> = (0..=below(600)).map(|_| 1 + below(255) as u8).collect();
                bytes.splice(place..place, more);
                place
            }
        };
        if round % 3 < 2 {
            bytes[place] ^= 1 << below(8);
        }
        let reading = read(&*bytes).unwrap_or_else(|error| panic!("at {place}: {error}"));
        assert!(reading.damage.is_some(), "at {place}: nothing was noticed");
        let found = points(&reading.run);
        assert!(found.len() + 1 >= all.len(), "at {place}: {} of {}", found.len(), all.len());
        check_points(&found, &all, place);
        assert_eq!(reading.run.validity.warnings.iter().filter(|one| one.code == "damaged").count(), 1);
    }
}
