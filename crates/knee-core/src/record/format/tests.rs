//! What a reader of records can rely on, and what it must survive.

use super::*;
use crate::amendment::Amendment;
use crate::histogram::Histogram;
use crate::interval::Interval;
use crate::observation::{Batch, Encoder, Figure, FigureUnit, SeriesKind, Source, SourceKind, SourceState};
use crate::outcome::{Blame, Fault};
use crate::plan::{Endpoint, EndpointId, Executor, Plan, Scenario, Stop};
use crate::record::{Build, Ending, Head, Machine, Tail};
use crate::sampled::{ConnectionTimes, Looks, Sampled};
use crate::schedule::Curve;
use crate::tally::{BodyTally, EndpointTally, OutcomeTally, Unknown};
use crate::validity::{Diagnostics, Validity, ValidityReport};

fn head() -> Head {
    let scenario = Scenario::new(
        "default",
        Executor::Closed { vus: Curve::constant(2.0) },
        Stop::At(Nanos::from_secs(3)),
    );
    Head {
        plan: Plan {
            scenarios: vec![scenario],
            endpoints: vec![Endpoint { name: "GET http://127.0.0.1/".into() }],
            warm_up: Nanos::ZERO,
            grace: Nanos::from_secs(1),
            request_timeout: Some(Nanos::from_secs(1)),
            connect_timeout: Nanos::from_secs(1),
            workers: 1,
            interval: Nanos::from_secs(1),
        },
        title: "http://127.0.0.1/".into(),
        started: Nanos::from_secs(1_700_000_000),
        build: Build { version: "0.1.0".into(), commit: None, optimized: true },
        machine: Machine::default(),
        co_located: Some(true),
        segment: None,
        fleet: None,
        http2_streams: None,
        measured_from: Nanos::ZERO,
    }
}

fn interval(second: u64) -> Interval {
    let mut interval =
        Interval { from: Nanos::from_secs(second), to: Nanos::from_secs(second + 1), ..Interval::default() };
    interval.concurrency.area = u128::MAX;
    let endpoint = interval.measured.endpoint_mut(EndpointId(0));
    endpoint.planned = 100;
    (0..100).for_each(|k| endpoint.outcomes[0].response.record(Nanos(1_000_000 + k * 7_919)));
    interval
}

fn tail(intervals: u64) -> Tail {
    let validity = ValidityReport {
        validity: Validity::Valid,
        warnings: vec![],
        notes: vec![],
        diagnostics: Diagnostics::default(),
    };
    Tail { ending: Ending::Completed, stopped: None, validity, intervals, sampled: sampled() }
}

/// Looks at responses of an endpoint that two servers answered.
fn sampled() -> Sampled {
    let mut sampled = Sampled::default();
    let looks = Looks { responses: 9, gets: 9, body: Some(7), bodies_differ: true, ..Looks::default() };
    sampled.endpoints.insert(EndpointId(3), looks);
    for (name, millis) in [("10.0.0.1:80", 2), ("x-served-by: b", 40)] {
        sampled.add_server(EndpointId(3), name, Nanos::from_millis(millis));
    }
    let mut times = ConnectionTimes::default();
    times.add(Nanos::from_millis(2));
    sampled.connections.push(times);
    sampled
}

/// A record of three intervals and a note, and where each of its frames ends.
fn record() -> (Vec<u8>, Vec<usize>) {
    let mut writer = Writer::new(Vec::new(), &head()).unwrap();
    for second in 0..3 {
        writer.interval(&interval(second)).unwrap();
    }
    writer.note(&Note { at: Nanos::from_secs(2), text: "the disk is nearly full".into() }).unwrap();
    assert_eq!(writer.intervals(), 3);
    let bytes = writer.tail(&tail(3)).unwrap();
    let mut ends = vec![12];
    while let Some(length) = bytes.get(ends[ends.len() - 1]..).and_then(|rest| rest.first_chunk()) {
        ends.push(ends[ends.len() - 1] + 8 + u32::from_le_bytes(*length) as usize);
    }
    (bytes, ends)
}

/// All frames that can be read, whether the journal is complete, and the first error if one came.
fn read(bytes: &[u8]) -> Result<(Vec<Frame>, bool, Option<ReadError>), ReadError> {
    let mut reader = Reader::new(bytes)?;
    let (mut frames, mut first) = (Vec::new(), None);
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => frames.push(frame),
            Ok(None) => return Ok((frames, reader.is_complete(), first)),
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
}

/// One frame of any kind with any payload, its checksum right.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut body = vec![kind];
    body.extend(payload);
    let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
    bytes.extend(crc32fast::hash(&body).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// A frame of this kind and content.
fn packed(kind: u8, content: &serde_json::Value) -> Vec<u8> {
    frame(kind, &zstd::bulk::compress(&rmp_serde::to_vec_named(content).unwrap(), 3).unwrap())
}

#[test]
fn what_was_written_is_read_back_equal() {
    let (bytes, _) = record();
    let (frames, complete, error) = read(&bytes).unwrap();
    assert!(complete && error.is_none());
    assert_eq!(Reader::new(&*bytes).unwrap().head(), &head());
    assert_eq!(frames.len(), 5);
    let Frame::Interval(stored) = &frames[1] else { panic!("{:?}", frames[1]) };
    assert_eq!(stored.unpacked(), interval(1));
    assert!(matches!(&frames[3], Frame::Note(note) if note.text == "the disk is nearly full"));
    assert_eq!(frames[4], Frame::Tail(Box::new(tail(3))));
}

/// A tally in which everything is counted at least once, each count another one.
fn everything() -> EndpointTally {
    let mut times = 0;
    let mut next = || {
        times += 1;
        let mut histogram = Histogram::new();
        histogram.record_many(Nanos(1_000 + times), times);
        histogram
    };
    let mut both = || OutcomeTally { response: next(), service: next() };
    let outcomes = std::array::from_fn(|_| both());
    let mut unknown = Unknown::default();
    unknown.outcome_mut("shed").times = both();
    unknown.outcome_mut("given_up").times = both();
    unknown.outcome_mut("given_up").lower_bound = true;
    unknown.phase_mut("queue").times = next();
    unknown.note_fault("overloaded", Some(Blame::Server), 3, Some("come back later"));
    let mut tally = EndpointTally {
        planned: 900,
        outcomes,
        phases: std::array::from_fn(|_| next()),
        send_delay: next(),
        generator_lag: next(),
        status: vec![(200, 7), (503, 8)],
        faults: Vec::new(),
        bytes_sent: 101,
        bytes_received: 102,
        bytes_body: 103,
        connections: 104,
        resent: 105,
        redirects: 106,
        redirects_refused: 107,
        surplus: 108,
        doubtful: 109,
        bodies: BodyTally { seen: vec![(1, 2), (3, 4)], more: true },
        unknown,
    };
    for fault in Fault::ALL {
        tally.note_fault(*fault, 5, Some(fault.sentence()));
    }
    tally
}

#[test]
fn everything_that_an_endpoint_can_count_is_read_back_equal() {
    let mut interval = interval(0);
    *interval.warm_up.endpoint_mut(EndpointId(1)) = everything();
    *interval.measured.endpoint_mut(EndpointId(2)) = everything();
    let mut writer = Writer::new(Vec::new(), &head()).unwrap();
    writer.interval(&interval).unwrap();
    let (frames, _, error) = read(&writer.into_sink()).unwrap();
    assert!(error.is_none(), "{error:?}");
    let Frame::Interval(stored) = &frames[0] else { panic!("{:?}", frames[0]) };
    assert_eq!(stored.unpacked(), interval);
    let accounting: Vec<_> = stored.accounting(Period::Measured).copied().collect();
    assert_eq!(accounting[2], everything().accounting());
    assert_eq!(accounting[2].unknown, 13 + 15);
}

#[test]
fn a_name_that_could_act_on_a_terminal_is_no_name() {
    for name in ["", "\u{1b}[2J", "a b", "Shed", &"x".repeat(65)] {
        let [outcome, fault] = [
            serde_json::json!({ "outcomes": { name: {} } }),
            serde_json::json!({ "faults": [{ "fault": name, "count": 1, "examples": [] }] }),
        ];
        let phase = serde_json::json!({ "phases": { name: {} } });
        for endpoint in [outcome, fault, phase] {
            let interval = serde_json::json!({ "from": 0, "to": 1, "measured": { "endpoints": [endpoint] } });
            let (mut bytes, ends) = record();
            bytes.splice(ends[1]..ends[1], packed(kind::INTERVAL, &interval));
            let error = read(&bytes).unwrap().2.unwrap().to_string();
            assert!(error.ends_with("a name is no word of lower-case letters"), "{error}");
        }
    }
}

#[test]
fn a_record_cut_anywhere_yields_its_whole_frames_and_no_error() {
    let (bytes, ends) = record();
    for cut in 0..bytes.len() {
        let whole = ends.iter().filter(|end| **end <= cut).count();
        match read(&bytes[..cut]) {
            Err(ReadError::NotARecord) => assert_eq!(cut, 0),
            Err(ReadError::NoHead) => assert!(whole < 2, "cut at {cut}"),
            Ok((frames, complete, error)) => {
                assert!(!complete && error.is_none(), "cut at {cut}");
                assert_eq!(frames.len(), whole - 2, "cut at {cut}");
            }
            Err(error) => panic!("cut at {cut}: {error}"),
        }
    }
}

#[test]
fn zeros_behind_the_last_frame_are_the_end_of_the_journal() {
    let (bytes, ends) = record();
    // A file system can extend the file before it writes the data: here the last interval is
    // lost in whole, or in its second half.
    for kept in [ends[3], usize::midpoint(ends[3], ends[4])] {
        let mut torn = bytes[..kept].to_vec();
        torn.resize(bytes.len() + 10_000, 0);
        let (frames, complete, error) = read(&torn).unwrap();
        assert!(!complete && error.is_none());
        assert_eq!(frames.len(), 2);
    }
}

/// The record was changed in the second interval; everything else is still read.
fn assert_only_the_second_interval_is_lost(bytes: &[u8], place: usize) {
    let (whole, (frames, complete, error)) = (read(&record().0).unwrap().0, read(bytes).unwrap());
    assert!(!complete && frames[0] == whole[0] && frames[1..] == whole[2..], "{} frames", frames.len());
    assert_eq!(error.unwrap().to_string(), format!("the record is damaged at byte {place}"));
}

#[test]
fn damage_in_the_middle_is_named_with_its_place_and_spares_all_other_frames() {
    let (bytes, ends) = record();
    for place in [ends[2] + 4, ends[2] + 8, ends[2] + 9, ends[2] + 20, ends[3] - 1] {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1;
        assert_only_the_second_interval_is_lost(&damaged, ends[2]);
    }
}

#[test]
fn a_changed_length_is_damage_and_no_end_of_the_journal() {
    let (bytes, ends) = record();
    let length = u32::from_le_bytes(*bytes[ends[2]..].first_chunk().unwrap());
    for changed in [0, 1, length - 1, length + 1, length + 200, length + (1 << 20), u32::MAX] {
        let mut damaged = bytes.clone();
        damaged[ends[2]..ends[2] + 4].copy_from_slice(&changed.to_le_bytes());
        assert_only_the_second_interval_is_lost(&damaged, ends[2]);
    }
}

#[test]
fn bytes_that_are_missing_or_inserted_cost_the_frames_that_they_belong_to() {
    let (bytes, ends) = record();
    let mut shorter = bytes.clone();
    shorter.drain(ends[2] + 30..ends[2] + 50);
    assert_only_the_second_interval_is_lost(&shorter, ends[2]);
    let mut longer = bytes.clone();
    longer.splice(ends[2] + 30..ends[2] + 30, *b"a line of an editor\n");
    assert_only_the_second_interval_is_lost(&longer, ends[2]);
    let mut between = bytes;
    between.splice(ends[2]..ends[2], *b"a line of an editor\n");
    let (frames, complete, error) = read(&between).unwrap();
    assert!(!complete && matches!(error, Some(ReadError::Damaged { offset }) if offset == ends[2] as u64));
    assert_eq!(frames.len(), 5);
}

#[test]
fn a_damaged_last_frame_is_damage_and_not_the_end_of_the_journal() {
    let (bytes, ends) = record();
    let start = ends[ends.len() - 2];
    for place in [start, start + 2, start + 4, start + 8, start + 30, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1;
        let (frames, complete, error) = read(&damaged).unwrap();
        assert_eq!((frames.len(), complete), (4, false));
        assert_eq!(error.unwrap().to_string(), format!("the record is damaged at byte {start}"));
    }
}

#[test]
fn a_file_full_of_possible_beginnings_of_frames_is_read_in_reasonable_time() {
    let (mut bytes, ends) = record();
    bytes.truncate(ends[1]);
    // Each claims to be a frame of up to 64 MiB.
    let mut claim = (64_u32 << 20).to_le_bytes().to_vec();
    claim.extend([9, 9, 9, 9, kind::INTERVAL, 0x28, 0xb5, 0x2f, 0xfd]);
    bytes.extend(claim.repeat(1 << 20));
    let (frames, complete, _) = read(&bytes).unwrap();
    assert!(frames.is_empty() && !complete);
}

#[test]
fn kinds_of_a_later_program_that_only_add_something_are_skipped_and_counted() {
    let (mut bytes, ends) = record();
    for kind in [9, 127, 5, 9] {
        bytes.splice(ends[2]..ends[2], frame(kind, b"whatever it might mean"));
    }
    let (frames, complete, error) = read(&bytes).unwrap();
    assert!(complete && error.is_none());
    assert_eq!(frames.len(), 5);
    let mut reader = Reader::new(&*bytes).unwrap();
    while reader.next_frame().unwrap().is_some() {}
    let skipped: Vec<_> =
        reader.skipped().map(|Skipped { kind, frames, what }| (kind, frames, what)).collect();
    assert_eq!(skipped, [(5, 1, Some("metrics of scripts")), (9, 2, Some("observations")), (127, 1, None)]);
}

#[test]
fn kinds_of_a_later_program_that_change_what_others_mean_are_refused() {
    for kind in [130, 200, 255] {
        let (mut bytes, ends) = record();
        bytes.splice(ends[2]..ends[2], frame(kind, b"whatever it might mean"));
        let (frames, complete, error) = read(&bytes).unwrap();
        assert!(!complete && frames.len() == 1);
        let text = format!(
            "this version cannot read frames of kind {kind}, on which others depend, at byte {}",
            ends[2]
        );
        assert_eq!(error.unwrap().to_string(), text);
        // Version 1 promised that any kind can be skipped.
        bytes[8] = 1;
        assert!(read(&bytes).unwrap().1);
    }
}

#[test]
fn a_change_of_the_plan_is_read_back_and_one_to_what_is_no_rate_is_an_error() {
    let change =
        Amendment { at: Nanos::from_secs(1), from: 10.0, over: Nanos::from_secs(2), to: 0.5, first: 0.0 };
    let mut writer = Writer::new(Vec::new(), &head()).unwrap();
    writer.amendment(&change).unwrap();
    let bytes = writer.tail(&tail(0)).unwrap();
    assert_eq!(read(&bytes).unwrap().0[0], Frame::Amendment(change));
    for to in [f64::NAN, f64::INFINITY, -1.0] {
        let mut writer = Writer::new(Vec::new(), &head()).unwrap();
        writer.amendment(&Amendment { to, ..change }).unwrap();
        let (frames, _, error) = read(&writer.tail(&tail(0)).unwrap()).unwrap();
        assert_eq!(frames.len(), 1, "only the tail");
        assert!(error.unwrap().to_string().contains("a rate that is none"), "{to}");
    }
}

#[test]
fn a_fleet_that_is_laid_out_otherwise_is_refused_and_not_taken_for_one_machine() {
    let mut head = serde_json::to_value(head()).unwrap();
    let record = |head: &serde_json::Value| [&record().0[..12], &packed(kind::HEAD, head)].concat();
    head["fleet"] = serde_json::json!({ "agents": 2 });
    let error = read(&record(&head)).unwrap_err().to_string();
    assert!(error.starts_with("the frame at byte 12 cannot be understood"), "{error}");
    // An optional value that is missing.
    head["fleet"] = serde_json::Value::Null;
    assert!(read(&record(&head)).is_ok());
}

#[test]
fn a_field_of_a_later_program_is_skipped() {
    #[derive(Serialize)]
    struct Later {
        added: &'static str,
        at: Nanos,
        text: &'static str,
    }
    let later = Later { added: "since then", at: Nanos(5), text: "known" };
    let payload = zstd::bulk::compress(&rmp_serde::to_vec_named(&later).unwrap(), 3).unwrap();
    let (mut bytes, ends) = record();
    bytes.splice(ends[1]..ends[1], frame(kind::NOTE, &payload));
    let (frames, _, error) = read(&bytes).unwrap();
    assert!(error.is_none());
    assert_eq!(frames[0], Frame::Note(Note { at: Nanos(5), text: "known".into() }));
}

#[test]
fn a_later_version_and_another_kind_of_file_are_distinguished() {
    let (mut bytes, _) = record();
    bytes[8] = 3;
    assert!(matches!(read(&bytes), Err(ReadError::Version(3))));
    bytes[8] = 0;
    assert!(matches!(read(&bytes), Err(ReadError::Version(0))));
    assert!(matches!(read(b"{\"results\": []}"), Err(ReadError::NotARecord)));
    assert!(matches!(read(b""), Err(ReadError::NotARecord)));
    assert!(matches!(read(b"\x89KNEE\r\n\x1a\x01\0\0\0"), Err(ReadError::NoHead)));
}

#[test]
fn a_length_beyond_the_limit_is_refused_before_anything_is_read() {
    let (mut bytes, ends) = record();
    let length = u32::try_from(FRAME_BYTES_MAX + 1).unwrap();
    bytes[ends[2]..ends[2] + 4].copy_from_slice(&length.to_le_bytes());
    assert_only_the_second_interval_is_lost(&bytes, ends[2]);
}

#[test]
fn a_bomb_is_cut_off_at_the_limit() {
    let (mut bytes, ends) = record();
    let bomb = zstd::bulk::compress(&vec![0; FRAME_BYTES_MAX + 1], 3).unwrap();
    assert!(bomb.len() < 16_384);
    bytes.splice(ends[1]..ends[1], frame(kind::INTERVAL, &bomb));
    let (_, _, error) = read(&bytes).unwrap();
    let place = ends[1];
    let text = format!("this record needs more memory than 64 MiB, at byte {place}: a frame has more than");
    assert!(error.unwrap().to_string().starts_with(&text));
}

#[test]
fn a_histogram_whose_values_lie_outside_of_its_ends_is_an_error() {
    for (min, max, bucket) in [(6, 9, 5), (1, 4, 5), (9, 1, 5)] {
        let times = serde_json::json!({
            "count": 1, "overflow": 0, "sum": [0, 5], "min": min, "max": max, "gaps_and_counts": [bucket, 1],
        });
        let interval = serde_json::json!({
            "from": 0, "to": 1, "measured": { "endpoints": [{ "lag": &times }] },
        });
        let payload = zstd::bulk::compress(&rmp_serde::to_vec_named(&interval).unwrap(), 3).unwrap();
        let (mut bytes, ends) = record();
        bytes.splice(ends[1]..ends[1], frame(kind::INTERVAL, &payload));
        let error = read(&bytes).unwrap().2.unwrap().to_string();
        assert!(error.ends_with("a histogram contradicts itself"), "{error}");
        assert!(serde_json::from_value::<Histogram>(times).is_err());
    }
}

#[test]
fn content_that_does_not_fit_its_kind_is_an_error_even_with_the_right_checksum() {
    let (mut bytes, ends) = record();
    let payload = zstd::bulk::compress(b"\xc0", 3).unwrap();
    bytes.splice(ends[1]..ends[1], frame(kind::INTERVAL, &payload));
    assert!(
        matches!(read(&bytes).unwrap().2, Some(ReadError::Content { offset, .. }) if offset == ends[1] as u64)
    );
}

#[test]
fn nothing_can_follow_the_tail() {
    let (mut bytes, ends) = record();
    let again = bytes[ends[1]..ends[2]].to_vec();
    bytes.extend(again);
    let (frames, complete, error) = read(&bytes).unwrap();
    assert_eq!((frames.len(), complete), (5, false));
    let end = ends[ends.len() - 1] as u64;
    assert!(matches!(error, Some(ReadError::Damaged { offset }) if offset == end));
}

#[test]
fn every_frame_reaches_the_sink_in_one_piece() {
    #[derive(Default)]
    struct Pieces(Vec<usize>);
    impl std::io::Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.push(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut writer = Writer::new(Pieces::default(), &head()).unwrap();
    writer.interval(&interval(0)).unwrap();
    let pieces = writer.tail(&tail(1)).unwrap().0;
    assert_eq!(pieces.len(), 3);
}

#[test]
fn a_full_disk_is_an_error_of_the_sink() {
    let mut room = [0; 600];
    let mut writer = Writer::new(&mut room[..], &head()).unwrap();
    let error = writer.interval(&interval(0)).and_then(|()| writer.interval(&interval(1))).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WriteZero);
}

/// What one source had read by a second.
fn batch(encoder: &mut Encoder, second: u64) -> Batch {
    let state = SourceState::Read;
    let index = (second == 0).then(|| {
        encoder.add_source(Source {
            name: "postgres://db/shop".into(),
            kind: SourceKind::Postgres,
            version: Some("PostgreSQL 15.5".into()),
            state,
            without: vec!["pg_stat_statements is not installed in this database".into()],
            left_out: 3,
        })
    });
    let index = index.flatten().unwrap_or(0);
    let figure = |name: &str, unit, value| Figure {
        name: name.into(),
        label: "7".into(),
        unit,
        kind: SeriesKind::Counter,
        value,
    };
    let calls = figure("statement.calls", FigureUnit::Count, 10.0 * second as f64);
    let time = figure("statement.exec_time", FigureUnit::Seconds, 0.001 * second as f64);
    encoder.add(index, Nanos::from_secs(second), vec![calls, time]);
    encoder.add_text(index, "statement.text", "7", "SELECT $1");
    encoder.take()
}

#[test]
fn observations_are_frames_of_their_own_and_those_of_another_layout_are_skipped() {
    let mut encoder = Encoder::default();
    let batches: Vec<Batch> = (0..3).map(|second| batch(&mut encoder, second)).collect();
    let mut writer = Writer::new(Vec::new(), &head()).unwrap();
    for (second, batch) in (0..).zip(&batches) {
        writer.interval(&interval(second)).unwrap();
        writer.observations(batch).unwrap();
    }
    let bytes = writer.tail(&tail(3)).unwrap();
    let (frames, complete, error) = read(&bytes).unwrap();
    assert!(complete && error.is_none());
    let read: Vec<Batch> = frames
        .into_iter()
        .filter_map(|frame| if let Frame::Observations(batch) = frame { Some(*batch) } else { None })
        .collect();
    assert_eq!(read, batches);
    assert!(read[1].series.is_empty() && read[1].texts.is_empty(), "names are written once");
}
