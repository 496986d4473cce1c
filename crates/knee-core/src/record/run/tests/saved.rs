//! Records as they are read back: whole, damaged, of later versions, large.

use super::*;
use crate::estimate::Distribution;
use crate::outcome::Blame;
use crate::record::format::{GAVE_UP, Note, ReadError, Reader, Writer};
use crate::sampled::Sampled;

/// A written record of `seconds` healthy seconds, and the run as its maker summed it up.
fn written(seconds: u64, claimed: u64) -> (Vec<u8>, Run) {
    let head = head(1_000.0, 0, seconds);
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    let mut builder = RunBuilder::new(head);
    for number in 0..seconds {
        let interval = second(number, 1_000, 1_000, 20);
        writer.interval(&interval).unwrap();
        builder.add(&interval);
    }
    let run = builder.end(Ending::Completed);
    let tail = Tail {
        ending: Ending::Completed,
        stopped: None,
        validity: run.validity.clone(),
        intervals: claimed,
        sampled: Sampled::default(),
    };
    (writer.tail(&tail).unwrap(), run)
}

#[test]
fn a_record_is_read_as_the_run_that_was_made() {
    let (bytes, run) = written(5, 5);
    let reading = read(&*bytes).unwrap();
    assert!(reading.damage.is_none());
    assert_eq!(reading.run, run);
}

#[test]
fn a_record_that_lost_an_interval_is_invalid() {
    let (bytes, _) = written(5, 6);
    let run = read(&*bytes).unwrap().run;
    assert_eq!((run.validity.validity, codes(&run)), (Validity::Invalid, vec!["intervals"]));
}

#[test]
fn a_validity_once_given_stands() {
    let head = head(1_000.0, 0, 1);
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    writer.interval(&second(0, 1_000, 1_000, 20)).unwrap();
    let mut validity = folded(head, &[second(0, 1_000, 1_000, 20)]).end(Ending::Completed).validity;
    validity.notes.push("a note that this version would not make".into());
    let tail = Tail {
        ending: Ending::Completed,
        stopped: None,
        validity: validity.clone(),
        intervals: 1,
        sampled: Sampled::default(),
    };
    let bytes = writer.tail(&tail).unwrap();
    assert_eq!(read(&*bytes).unwrap().run.validity, validity);
}

/// Where each frame of a record begins; the head first.
fn places(bytes: &[u8]) -> Vec<usize> {
    let mut places = vec![12];
    while let Some(length) = bytes.get(places[places.len() - 1]..).and_then(|rest| rest.first_chunk()) {
        places.push(places[places.len() - 1] + 8 + u32::from_le_bytes(*length) as usize);
    }
    places
}

#[test]
fn a_damaged_interval_is_missing_and_the_record_is_called_damaged_with_the_place() {
    let (mut bytes, _) = written(5, 5);
    let place = places(&bytes)[3];
    bytes[place + 20] ^= 0x10;
    let Reading { run, damage, .. } = read(&*bytes).unwrap();
    assert!(matches!(damage, Some(ReadError::Damaged { .. })));
    assert_eq!(
        (&run.ending, run.series.len(), run.validity.validity),
        (&Ending::Completed, 4, Validity::Invalid)
    );
    assert_eq!(codes(&run), ["intervals", "damaged"]);
    assert_eq!(run.validity.warnings[0].message, "an interval of the record is missing");
    assert_eq!(run.validity.warnings[1].message, format!("the record is damaged at byte {place}"));
}

#[test]
fn bytes_behind_the_end_make_a_record_suspect_and_cost_nothing() {
    let (mut bytes, whole) = written(5, 5);
    bytes.extend(b"\nappended");
    let run = read(&*bytes).unwrap().run;
    assert_eq!((&run.ending, &run.measured), (&Ending::Completed, &whole.measured));
    assert_eq!((run.validity.validity, codes(&run)), (Validity::Suspect, vec!["damaged"]));
}

#[test]
fn a_record_that_lost_its_end_to_damage_is_not_called_one_of_a_killed_program() {
    let (mut bytes, _) = written(5, 5);
    let places = places(&bytes);
    // The third interval and the tail.
    for place in [places[3], places[6]] {
        bytes[place + 20] ^= 0x10;
    }
    let run = read(&*bytes).unwrap().run;
    assert_eq!((&run.ending, run.series.len()), (&Ending::Truncated, 4));
    assert_eq!(codes(&run), ["intervals", "damaged"]);
    let told = format!("the record is damaged in 2 places, first at byte {}", places[3]);
    assert_eq!(run.validity.warnings[1].message, told);
}

#[test]
fn a_record_whose_writer_gave_up_says_why() {
    let head = head(1_000.0, 0, 5);
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    writer.interval(&second(0, 1_000, 1_000, 20)).unwrap();
    let text = format!("{GAVE_UP}no space left on device");
    writer.note(&Note { at: SECOND, text }).unwrap();
    let run = read(&*writer.into_sink()).unwrap().run;
    assert_eq!(codes(&run), ["truncated"]);
    let told = "the record ends before the run did: no space left on device";
    assert_eq!(run.validity.warnings[0].message, told);
}

#[test]
fn requests_that_ended_in_a_way_not_known_here_are_counted_named_and_in_balance() {
    let head = head(10.0, 0, 1);
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    let mut interval = second(0, 10, 6, 5);
    let endpoint = interval.measured.endpoint_mut(EndpointId(0));
    let shed = endpoint.unknown.outcome_mut("shed");
    shed.lower_bound = true;
    shed.times.response.record_many(Nanos::from_millis(900), 4);
    endpoint.unknown.phase_mut("queue").times.record(SECOND);
    endpoint.unknown.note_fault("overloaded", Some(Blame::Generator), 4, Some("later"));
    writer.interval(&interval).unwrap();
    let run = read(&*writer.into_sink()).unwrap().run;
    let accounting = run.measured.accounting();
    assert_eq!((accounting.planned, accounting.ended(), accounting.unknown), (10, 10, 4));
    assert_eq!((accounting.difference(), run.validity.diagnostics.requests.unaccounted), (0, 0));
    assert_eq!((run.series[0].ended(), run.series[0].unknown), (10, 4));
    assert_eq!(run.validity.diagnostics.requests.generator_faults, 4);
    let times = Distribution::response(&run.measured.all()).summary();
    assert_eq!((times.n, times.bounds, times.max), (10, 4, Some(Nanos::from_millis(900))));
    let told = "a later version, knee 0, wrote this record; not known here: outcome `shed` (4 requests), \
                phase `queue` (1 request), fault `overloaded` (4 requests)";
    assert_eq!(run.validity.notes.last().unwrap(), told);
}

#[test]
fn open_requests_of_a_truncated_record_are_counted_beside_those_that_ended_in_an_unknown_way() {
    let head = head(10.0, 0, 9);
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    let mut interval = second(0, 10, 3, 5);
    let unknown = &mut interval.measured.endpoint_mut(EndpointId(0)).unknown;
    unknown.outcome_mut("shed").times.response.record_many(SECOND, 2);
    writer.interval(&interval).unwrap();
    let run = read(&*writer.into_sink()).unwrap().run;
    let accounting = run.measured.accounting();
    assert_eq!((accounting.count(Outcome::Censored), accounting.difference()), (5, 0));
}

/// A record of twenty endpoints whose response times spread over ten doublings, three seconds long.
fn wide() -> Vec<u8> {
    let head = head(2_000.0, 0, 3);
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    let mut builder = RunBuilder::new(head);
    for number in 0..3 {
        let mut interval = second(number, 0, 0, 0);
        for id in 0..20 {
            let endpoint = interval.measured.endpoint_mut(EndpointId(id));
            endpoint.planned = 400;
            let ok = &mut endpoint.outcomes[Outcome::Ok as usize];
            (0..400).for_each(|k| ok.response.record(Nanos(1_000_000 + number * 7_919 + k * k * 6_007)));
        }
        writer.interval(&interval).unwrap();
        builder.add(&interval);
    }
    let run = builder.end(Ending::Completed);
    let tail = Tail {
        ending: Ending::Completed,
        stopped: None,
        validity: run.validity,
        intervals: 3,
        sampled: Sampled::default(),
    };
    writer.tail(&tail).unwrap()
}

#[test]
fn a_large_record_is_read_in_little_memory_with_exact_totals_and_coarser_endpoints() {
    let bytes = wide();
    let exact = read(&*bytes).unwrap().run;
    let Reading { run, damage, .. } = read_within(&*bytes, memory::ENDPOINT_BYTES_MAX + 560_000).unwrap();
    assert!(damage.is_none());
    assert_eq!(run.measured.all(), exact.measured.all());
    assert_eq!(run.measured.accounting(), exact.measured.accounting());
    assert_eq!((run.series, run.validity.validity), (exact.series, exact.validity.validity));
    let told = &run.validity.notes[exact.validity.notes.len()];
    assert!(told.starts_with("the record is large: times of single endpoints are rounded up"), "{told}");
    for (coarse, exact) in run.measured.endpoints.iter().zip(&exact.measured.endpoints) {
        assert_eq!((coarse.planned, coarse.accounting()), (exact.planned, exact.accounting()));
        let [coarse, exact] = [coarse, exact].map(|endpoint| &endpoint.outcomes[0].response);
        assert_eq!((coarse.min(), coarse.max(), coarse.mean()), (exact.min(), exact.max(), exact.mean()));
        let [coarse, exact] = [coarse, exact].map(|histogram| histogram.quantile(0.9).unwrap());
        assert!(coarse >= exact && coarse.0 - exact.0 <= exact.0 / 16, "{coarse} for {exact}");
    }
}

#[test]
fn a_record_that_needs_too_much_memory_is_refused_with_the_place() {
    let bytes = wide();
    let error = read_within(&*bytes, memory::ENDPOINT_BYTES_MAX + 260_000).unwrap_err();
    let place = Reader::new(&*bytes).unwrap().offset();
    let text = format!("this record needs more memory than 12 MiB, at byte {place}: ");
    assert!(error.to_string().starts_with(&text), "{error}");
    assert!(matches!(read_within(&*bytes, 1_000), Err(ReadError::Memory { offset: _, .. })));
}

#[test]
fn a_record_that_was_cut_off_has_what_was_observed_until_then() {
    use crate::observation::{Encoder, Figure, FigureUnit, SeriesKind, Source, SourceKind, SourceState};
    let mut encoder = Encoder::default();
    let source = Source {
        name: "host".into(),
        kind: SourceKind::Host,
        version: None,
        state: SourceState::Read,
        without: vec![],
        left_out: 0,
    };
    let index = encoder.add_source(source).unwrap();
    let mut writer = Writer::new(Vec::new(), &head(10.0, 0, 3)).unwrap();
    let mut live = RunBuilder::new(head(10.0, 0, 3));
    for number in 0..3 {
        let figure = Figure {
            name: "host.switches".into(),
            label: String::new(),
            unit: FigureUnit::Count,
            kind: SeriesKind::Counter,
            value: 100.0 * number as f64,
        };
        encoder.add(index, Nanos::from_secs(number), vec![figure]);
        let batch = encoder.take();
        writer.interval(&second(number, 10, 10, 5)).unwrap();
        writer.observations(&batch).unwrap();
        live.add(&second(number, 10, 10, 5));
        live.observe(&batch);
    }
    let bytes = writer.into_sink();
    let whole = read(&*bytes).unwrap().run;
    assert_eq!(whole.ending, Ending::Truncated);
    assert_eq!(whole.observations, live.end(Ending::Completed).observations, "live and saved are the same");
    assert_eq!(whole.observations.named("host.switches").next().unwrap().points.len(), 3);
    // Within the last frame.
    let torn = read(&bytes[..bytes.len() - 5]).unwrap().run;
    assert_eq!(torn.observations.named("host.switches").next().unwrap().points.len(), 2);
}
