//! Batches of an encoder become the observations that were read, and hostile batches do no harm.

use proptest::prelude::*;

use super::*;
use crate::observation::{
    Encoder, Figure, FigureUnit, NewSeries, Number, SeriesKind, Source, SourceKind, SourceState,
};
use crate::unit::Nanos;

fn source(name: &str) -> Source {
    Source {
        name: name.to_owned(),
        kind: SourceKind::Host,
        version: None,
        state: SourceState::Read,
        without: Vec::new(),
        left_out: 0,
    }
}

fn figure(name: &str, kind: SeriesKind, unit: FigureUnit, value: f64) -> Figure {
    Figure { name: name.to_owned(), label: String::new(), unit, kind, value }
}

/// What a reader of the record sees: every batch passes through its bytes.
fn through_bytes(batches: &[Batch]) -> Observations {
    let mut builder = ObservationBuilder::default();
    for batch in batches {
        let bytes = rmp_serde::to_vec_named(batch).unwrap();
        let read: Batch = rmp_serde::from_slice(&bytes).unwrap();
        assert_eq!(&read, batch);
        builder.add(&read);
    }
    builder.finish()
}

/// The points of a series that had these figures, one per second and batch.
fn points(kind: SeriesKind, unit: FigureUnit, values: &[f64]) -> Vec<(Nanos, f64)> {
    let mut encoder = Encoder::default();
    let index = encoder.add_source(source("this machine")).unwrap();
    let mut batches = Vec::new();
    for (second, value) in (0..).zip(values) {
        encoder.add(index, Nanos::from_secs(second), vec![figure("a", kind, unit, *value)]);
        batches.push(encoder.take());
    }
    batches.push(encoder.end());
    through_bytes(&batches).series.into_iter().next().map(|series| series.points).unwrap_or_default()
}

#[test]
fn of_equal_points_of_a_counter_only_the_first_and_the_last_are_kept() {
    let at = |second: u64, value: f64| (Nanos::from_secs(second), value);
    let counted = points(SeriesKind::Counter, FigureUnit::Count, &[5.0, 5.0, 5.0, 6.0, 7.0, 7.0, 7.0]);
    assert_eq!(counted, [at(0, 5.0), at(2, 5.0), at(3, 6.0), at(4, 7.0), at(6, 7.0)]);
    let level = points(SeriesKind::Gauge, FigureUnit::Count, &[5.0, 5.0, 6.0]);
    assert_eq!(level, [at(0, 5.0), at(1, 5.0), at(2, 6.0)]);
}

#[test]
fn a_counter_that_was_reset_falls_in_the_record_too() {
    let values = points(SeriesKind::Counter, FigureUnit::Bytes, &[1e12, 1e12 + 7.0, 3.0, 4.0]);
    assert_eq!(values.iter().map(|point| point.1).collect::<Vec<_>>(), [1e12, 1e12 + 7.0, 3.0, 4.0]);
}

#[test]
fn figures_that_are_no_numbers_are_left_out() {
    let values = points(SeriesKind::Gauge, FigureUnit::Share, &[0.25, f64::NAN, f64::INFINITY, 0.5]);
    assert_eq!(values.iter().map(|point| point.1).collect::<Vec<_>>(), [0.25, 0.5]);
}

#[test]
fn series_beyond_the_limit_are_counted_once_each() {
    let mut encoder = Encoder::default();
    let index = encoder.add_source(source("this machine")).unwrap();
    for second in 0..3 {
        let all = (0..SERIES_MAX + 5)
            .map(|number| figure(&number.to_string(), SeriesKind::Gauge, FigureUnit::Count, 1.0));
        encoder.add(index, Nanos::from_secs(second), all.collect());
    }
    let seen = through_bytes(&[encoder.end()]);
    assert_eq!((seen.series.len(), seen.sources[0].left_out), (SERIES_MAX, 5));
}

#[test]
fn a_source_that_dies_keeps_its_figures_and_says_when() {
    let mut encoder = Encoder::default();
    let index = encoder.add_source(source("redis://host")).unwrap();
    encoder.add(index, Nanos::ZERO, vec![figure("a", SeriesKind::Gauge, FigureUnit::Count, 1.0)]);
    let first = encoder.take();
    let lost = SourceState::Lost { at: Nanos::from_secs(1), reason: "connection closed".to_owned() };
    encoder.change_source(index, |source| source.state = lost.clone());
    let seen = through_bytes(&[first, encoder.end()]);
    assert_eq!(seen.sources[0].state, lost);
    assert_eq!(seen.named("a").next().unwrap().points.len(), 1);
}

#[test]
fn sources_that_change_before_their_first_batch_keep_their_order() {
    let mut encoder = Encoder::default();
    for name in ["a", "b", "c"] {
        encoder.add_source(source(name));
    }
    encoder.change_source(0, |source| source.version = Some("1".to_owned()));
    let seen = through_bytes(&[encoder.take()]);
    assert_eq!(seen.sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn a_text_that_changes_replaces_the_earlier_one_and_a_long_one_is_cut_at_a_character() {
    let mut encoder = Encoder::default();
    let index = encoder.add_source(source("x")).unwrap();
    encoder.add_text(index, "setting", "jit", "on");
    encoder.add_text(index, "setting", "jit", "off");
    encoder.add_text(index, "statement.text", "1", &"é".repeat(TEXT_MAX));
    let seen = through_bytes(&[encoder.take()]);
    assert_eq!(seen.text(0, "setting", "jit"), Some("off"));
    assert_eq!(seen.text(0, "statement.text", "1").unwrap().len(), TEXT_MAX);
    assert_eq!(seen.texts.len(), 2);
}

#[test]
fn a_long_run_keeps_fewer_points_but_the_first_and_the_last() {
    let mut builder = ObservationBuilder::default();
    let new = |number: u32| NewSeries {
        source: 0,
        name: number.to_string(),
        label: String::new(),
        unit: FigureUnit::Count,
        kind: SeriesKind::Counter,
    };
    let sources = vec![SourceChange { index: 0, source: source("x") }];
    builder.add(&Batch { sources, series: (0..100).map(new).collect(), ..Batch::default() });
    let moments = POINTS_MAX as u64 / 100 + 1_000;
    for second in 0..moments {
        let series = (0..100).map(|number| u32::from(number > 0)).collect();
        let reading = Reading { at: Nanos::from_secs(second), series, values: vec![Number::Whole(1); 100] };
        builder.add(&Batch { readings: vec![reading], ..Batch::default() });
    }
    assert!(builder.points <= POINTS_MAX && builder.memory() < 200 << 20);
    for series in builder.finish().series {
        assert_eq!(series.points.first(), Some(&(Nanos::ZERO, 1.0)));
        assert_eq!(series.points.last(), Some(&(Nanos::from_secs(moments - 1), moments as f64)));
    }
}

proptest! {
    #[test]
    fn what_was_read_is_what_the_record_has(
        values in prop::collection::vec(prop_oneof![0.0..1e15, -1e3..1e3, (0_u32..50).prop_map(f64::from)], 1..40),
        seconds in any::<bool>(),
    ) {
        let unit = if seconds { FigureUnit::Seconds } else { FigureUnit::Share };
        let read = points(SeriesKind::Gauge, unit, &values);
        prop_assert_eq!(read.len(), values.len());
        for ((_, read), value) in read.iter().zip(&values) {
            let close = (read - value).abs() <= 1e-9 + value.abs() * 1e-12;
            prop_assert!(close, "{} is not {}", read, value);
        }
    }

    #[test]
    fn a_hostile_batch_does_no_harm(
        series in prop::collection::vec(any::<u32>(), 0..20),
        wholes in prop::collection::vec(any::<i64>(), 0..20),
        at in any::<u64>(),
        index in any::<u32>(),
    ) {
        let new = NewSeries {
            source: index,
            name: "a".into(),
            label: String::new(),
            unit: FigureUnit::Seconds,
            kind: SeriesKind::Gauge,
        };
        let values = wholes.into_iter().map(Number::Whole).chain([Number::Real(f64::NAN)]).collect();
        let batch = Batch {
            sources: vec![SourceChange { index, source: source("x") }],
            series: vec![new; 3],
            readings: vec![Reading { at: Nanos(at), series, values }; 2],
            texts: vec![Text {
                source: index as usize,
                name: String::new(),
                label: String::new(),
                text: "t".into(),
            }],
        };
        let mut builder = ObservationBuilder::default();
        builder.add(&batch);
        let seen = builder.finish();
        prop_assert!(seen.series.iter().all(|one| one.source < seen.sources.len()));
        prop_assert!(seen.series.iter().flat_map(|one| &one.points).all(|point| point.1.is_finite()));
    }
}
