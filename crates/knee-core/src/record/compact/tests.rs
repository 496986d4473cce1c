//! Small records beside the runs from which they were made: whole, cut off, long, damaged.

use super::super::run::{Reading, read};
use super::*;
use crate::amendment::Amendment;
use crate::plan::Plan;
use crate::record::run::RunBuilder;
use crate::record::{Build, Ending, Head, Machine};
use crate::unit::Nanos;

/// More than any of these records takes.
const ROOM: usize = 1 << 20;

const RECORDS: [&[u8]; 3] = [
    include_bytes!("../../../tests/fixtures/v1.knee"),
    include_bytes!("../../../tests/fixtures/v2.knee"),
    include_bytes!("../../../tests/fixtures/v2-later.knee"),
];

fn again(run: &Run) -> Reading {
    read(&*Compact::of(run, ROOM).unwrap().bytes).unwrap()
}

#[test]
fn a_run_that_is_written_as_one_interval_is_read_as_the_same_run() {
    for bytes in RECORDS {
        let run = read(bytes).unwrap().run;
        let reading = again(&run);
        assert!(reading.damage.is_none() && reading.notes.is_empty());
        assert_eq!(reading.run, run);
    }
}

#[test]
fn a_steered_run_stays_steered() {
    let mut run = read(RECORDS[0]).unwrap().run;
    run.amendments.push(Amendment {
        at: Nanos::from_secs(1),
        from: 5.0,
        over: Nanos::ZERO,
        to: 7.0,
        first: 0.0,
    });
    assert_eq!(again(&run).run, run);
}

#[test]
fn a_run_whose_record_was_cut_off_stays_cut_off() {
    for bytes in RECORDS {
        for length in (0..bytes.len()).step_by(97) {
            let Ok(reading) = read(&bytes[..length]) else { continue };
            assert_eq!(again(&reading.run).run, reading.run, "{length}");
        }
    }
}

/// A run of so many seconds in which nothing was sent, whose points differ.
fn long(seconds: u64) -> Run {
    let plan = Plan {
        scenarios: Vec::new(),
        endpoints: Vec::new(),
        warm_up: Nanos::ZERO,
        grace: Nanos::ZERO,
        request_timeout: None,
        connect_timeout: Nanos::from_secs(1),
        workers: 1,
        interval: Nanos::from_secs(1),
    };
    let head = Head {
        plan,
        title: "long".into(),
        started: Nanos::ZERO,
        build: Build::default(),
        machine: Machine::default(),
        co_located: None,
        segment: None,
        fleet: None,
        http2_streams: None,
        measured_from: Nanos::ZERO,
    };
    let mut run = RunBuilder::new(head).end(Ending::Completed);
    let point = |second: u64| Point {
        from: Nanos::from_secs(second),
        to: Nanos::from_secs(second + 1),
        planned: 1_000 + second * second % 977,
        response: Some([Nanos(second * 7_919 % 1_000_003); 4]),
        ..Point::default()
    };
    run.series = (0..seconds).map(point).collect();
    run.ended = Nanos::from_secs(seconds);
    run
}

#[test]
fn neighbouring_points_of_a_long_run_are_joined_until_it_fits() {
    let run = long(86_400);
    let whole = Compact::of(&run, usize::MAX).unwrap();
    assert_eq!(whole.shared, 1);
    let compact = Compact::of(&run, whole.bytes.len() / 3).unwrap();
    assert!(compact.shared > 1 && compact.bytes.len() <= whole.bytes.len() / 3);
    let read = read(&*compact.bytes).unwrap().run;
    assert_eq!(read.series.len(), run.series.len().div_ceil(compact.shared));
    let planned = |run: &Run| run.series.iter().map(|point| point.planned).sum::<u64>();
    assert_eq!(planned(&read), planned(&run));
    assert_eq!(Compact::of(&run, 10), None, "no run fits into ten bytes");
}

#[test]
fn a_small_record_that_was_damaged_says_so() {
    let run = read(RECORDS[1]).unwrap().run;
    let bytes = Compact::of(&run, ROOM).unwrap().bytes;
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x10;
        let Ok(reading) = read(&*damaged) else { continue };
        let codes: Vec<&str> = reading.run.validity.warnings.iter().map(|one| one.code.as_str()).collect();
        let said = codes.contains(&"damaged") || reading.run.ending == Ending::Truncated;
        assert!(said || reading.damage.is_some(), "byte {place}: {codes:?}");
    }
    for length in 0..bytes.len() {
        if let Ok(reading) = read(&bytes[..length]) {
            assert_eq!(reading.run.ending, Ending::Truncated, "{length} bytes");
        }
    }
}
