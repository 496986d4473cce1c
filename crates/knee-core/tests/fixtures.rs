//! Records of every format version ever released are read, and give the numbers they gave.
//!
//! `examples/fixture.rs` has made them; what it counts is worked out beside each expectation.

use knee_core::estimate::{Distribution, Quantile};
use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::record::Ending;
use knee_core::record::run::{Reading, read};
use knee_core::unit::Nanos;
use knee_core::validity::Validity;

const V1: &[u8] = include_bytes!("fixtures/v1.knee");
const V1_TRUNCATED: &[u8] = include_bytes!("fixtures/v1-truncated.knee");
const V2: &[u8] = include_bytes!("fixtures/v2.knee");
const V2_LATER: &[u8] = include_bytes!("fixtures/v2-later.knee");

#[test]
fn version_1_is_read_with_all_its_numbers() {
    assert_eq!(V1[8..12], [1, 0, 0, 0]);
    assert_all_numbers(V1);
}

#[test]
fn version_2_is_read_with_all_its_numbers() {
    assert_eq!(V2[8..12], [2, 0, 0, 0]);
    assert_all_numbers(V2);
}

#[expect(clippy::unwrap_used, reason = "a fixture that cannot be read fails the test")]
fn assert_all_numbers(record: &[u8]) {
    let Reading { run, notes, damage, skipped } = read(record).unwrap();
    assert!(damage.is_none() && skipped.is_empty());
    assert_eq!(run.ending, Ending::Completed);
    assert_eq!(run.head.title, "http://127.0.0.1:8080/");
    assert_eq!(run.head.machine.memory_bytes, Some(8 << 30));
    assert_eq!(run.endpoints[1].name, "GET http://127.0.0.1:8080/api");
    assert_eq!(notes.len(), 1);
    assert_eq!((notes[0].at, notes[0].text.as_str()), (Nanos::from_millis(2_999), "the disk is nearly full"));

    // 4 s at 200/s; each second one request timed out, one was reset, and of the 149 and 49
    // answers every tenth (14 and 4) was a 503.
    let books = run.measured.accounting();
    assert_eq!(books.planned, 800);
    assert_eq!(books.by_outcome, [4 * 180, 4 * 18, 4, 4, 0, 0]);
    assert_eq!(run.warm_up.accounting().by_outcome, [180, 18, 1, 1, 0, 0]);

    let all = run.measured.all();
    assert_eq!(all.status, [(200, 720), (503, 72)]);
    assert_eq!(all.bytes_received, 4 * 198 * 200);
    assert_eq!(all.faults.len(), 2);
    assert_eq!((all.faults[0].fault, all.faults[0].count), (Fault::Reset, 4));
    assert_eq!(all.faults[0].examples, ["Connection reset by peer (os error 104)"]);
    assert_eq!(all.bodies.seen.len(), 2);

    // Least: 2,000 us + 1 (the second) + 20 (the lag).
    let response = Distribution::response(&all).summary();
    assert_eq!((response.n, response.bounds), (800, 4));
    assert_eq!(response.min, Some(Nanos::from_micros(2_021)));
    assert_eq!(response.max, Some(Nanos(1_000_020_000)));
    // The 400th of 800 is the 100th of a second's 200: all 49 of the second endpoint, then the
    // 51st of the first, 2,000 + 50 x 25 us + 21 us of lag + 1 to 4 us: 3,275 us at the most,
    // in the bucket of 2,048 ns that ends at 3,276,799 ns.
    assert_eq!(response.p50, Quantile::Value(Nanos(3_276_799)));
    assert_eq!(response.p99, Quantile::TooFew { n: 800, needed: 10_000 });
    assert_eq!(all.outcomes[Outcome::Timeout as usize].service.sum(), 4_000_000_000);

    assert_eq!(run.series.len(), 6);
    assert!(run.series[0].warm_up && !run.series[1].warm_up);
    assert_eq!(run.concurrency.area, 4 * 2_500_000_000 + 20_000_000);
    assert_eq!((run.ended, run.window()), (Nanos::from_secs(6), Nanos::from_secs(4)));

    assert_eq!(run.validity.validity, Validity::Valid);
    assert_eq!(run.validity.warnings, []);
    assert_eq!(run.validity.diagnostics.generator.worker_cpu_max, Some(0.125));
}

#[test]
fn version_1_without_its_end_is_read_up_to_its_last_whole_interval() {
    let Reading { run, damage, .. } = read(V1_TRUNCATED).unwrap();
    assert!(damage.is_none());
    assert_eq!(run.ending, Ending::Truncated);
    assert_eq!(run.series.len(), 3);
    let books = run.measured.accounting();
    // Two whole seconds after the warm-up; the two requests open at the end are censored.
    assert_eq!(books.planned, 400);
    assert_eq!((books.count(Outcome::Censored), books.difference()), (2, 0));
    assert_eq!(run.validity.validity, Validity::Suspect);
    assert_eq!(run.validity.warnings[0].code, "truncated");
}

#[test]
fn a_record_of_a_later_program_is_read_with_what_this_one_does_not_know() {
    let (known, later) = (read(V2).unwrap().run, read(V2_LATER).unwrap());
    assert!(later.damage.is_none());
    let run = later.run;
    let books = run.measured.accounting();
    // 4 s with 3 more requests each.
    assert_eq!((books.planned, books.unknown, books.difference()), (812, 12, 0));
    assert_eq!(books.by_outcome, known.measured.accounting().by_outcome);
    let all = run.measured.all();
    let [shed] = &all.unknown.outcomes[..] else { panic!("{:?}", all.unknown) };
    assert_eq!((shed.name.as_str(), shed.times.response.count()), ("shed", 12));
    assert_eq!((all.unknown.phases[0].name.as_str(), all.unknown.phases[0].times.count()), ("queue", 12));
    let fault = &all.unknown.faults[0];
    assert_eq!((fault.name.as_str(), fault.blame, fault.count), ("overloaded", Some(Blame::Server), 12));
    assert_eq!(Distribution::response(&all).summary().n, 812);
    assert_eq!((later.skipped[0].kind, later.skipped[0].frames), (9, 6));
    assert_eq!(run.validity.validity, Validity::Valid);
    let told = run.validity.notes.last().unwrap();
    assert!(told.ends_with("fault `overloaded` (12 requests), 6 frames with observations"), "{told}");
}
