//! Metrics of several machines and of intervals that follow each other are those of the whole.

use proptest::prelude::*;

use super::*;
use crate::record::format::Values;

fn key(metric: &str) -> Key {
    Key { metric: metric.to_owned(), ..Key::default() }
}

fn one(metric: &str, kind: Kind, adds: Option<Adds>, samples: &[(f64, u64)]) -> Metrics {
    let mut sink = Sink::new(kind);
    for (value, at) in samples {
        sink.add(*value, *at);
    }
    let series = Series { contains: Contains::Default, adds, sink };
    Metrics { series: BTreeMap::from([(key(metric), series)]), ..Metrics::default() }
}

fn gauge(metrics: &Metrics, metric: &str) -> (f64, f64, f64) {
    match &metrics.series[&key(metric)].sink {
        Sink::Gauge(gauge) => (gauge.value(), gauge.min(), gauge.max()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn users_of_all_machines_add_up_and_other_gauges_keep_the_last_value() {
    let mut users = one("vus", Kind::Gauge, Some(Adds::Now), &[(3.0, 10)]);
    users.merge_beside(&one("vus", Kind::Gauge, Some(Adds::Now), &[(4.0, 9)]));
    users.merge_after(&one("vus", Kind::Gauge, Some(Adds::Now), &[(5.0, 20)]));
    assert_eq!(gauge(&users, "vus"), (5.0, 5.0, 7.0));
    let mut depth = one("depth", Kind::Gauge, None, &[(3.0, 10)]);
    depth.merge_beside(&one("depth", Kind::Gauge, None, &[(4.0, 9)]));
    assert_eq!(gauge(&depth, "depth"), (3.0, 3.0, 4.0));
}

#[test]
fn a_metric_of_another_kind_is_left_out() {
    let mut metrics = one("orders", Kind::Counter, None, &[(2.0, 1)]);
    metrics.merge_beside(&one("orders", Kind::Trend, None, &[(7.0, 1)]));
    assert_eq!(metrics, one("orders", Kind::Counter, None, &[(2.0, 1)]));
}

#[test]
fn series_without_room_are_left_out_and_counted() {
    let mut metrics = Metrics::default();
    for number in 0..SERIES_MAX + 3 {
        let series = Series { contains: Contains::Default, adds: None, sink: Sink::new(Kind::Counter) };
        let more = BTreeMap::from([(key(&format!("m{number}")), series)]);
        if number < SERIES_MAX - 1 {
            metrics.series.extend(more);
        } else {
            metrics.merge_after(&Metrics { series: more, ..Metrics::default() });
        }
    }
    assert_eq!((metrics.series.len(), metrics.left_out), (SERIES_MAX, 3));
}

/// The times of requests that are about `middle` milliseconds, as many as asked for, in an interval.
fn interval_of(middle: f64, count: u64) -> Metrics {
    let times: Vec<(f64, u64)> =
        (0..count).map(|at| (middle * (1.0 + (at * 7 % 11) as f64 / 20.0), at)).collect();
    one("http_req_duration", Kind::Trend, None, &times)
}

#[test]
fn a_long_run_stores_counts_of_samples_and_its_sum_is_that_of_samples() {
    let (mut so_far, mut shortened, mut kept) =
        (SamplesSoFar::default(), Metrics::default(), Metrics::default());
    let (mut sizes, mut exact) = ((0, 0), 0);
    for second in 0..60_u64 {
        let interval = interval_of(4.0 + second as f64 / 100.0, 100);
        kept.merge_after(&interval);
        let unchanged = rmp_serde::to_vec_named(&interval).unwrap().len();
        let mut interval = interval;
        so_far.shorten(&mut interval);
        let Sink::Trend(trend) = &interval.series[&key("http_req_duration")].sink else {
            panic!("{interval:?}")
        };
        exact += usize::from(trend.is_exact());
        let bytes = rmp_serde::to_vec_named(&interval).unwrap();
        sizes = (sizes.0 + unchanged, sizes.1 + bytes.len());
        shortened.merge_after(&rmp_serde::from_slice(&bytes).unwrap());
    }
    assert_eq!(shortened, kept);
    // 200 samples are few enough to be unchanged, 300 are not.
    assert_eq!(exact, 2);
    assert!(sizes.1 * 2 < sizes.0, "{sizes:?}");
}

#[test]
fn a_short_run_keeps_every_sample() {
    let mut so_far = SamplesSoFar::default();
    for _ in 0..25 {
        let interval = interval_of(4.0, 10);
        let mut same = interval.clone();
        so_far.shorten(&mut same);
        assert_eq!(same, interval);
    }
}

fn checks(place: &Place, names: &[(String, u64)]) -> Metrics {
    let all = names.iter().map(|(name, at)| (name.clone(), Check { first: *at, passes: 1, fails: 0 }));
    let first = names.iter().map(|(_, at)| *at).min().unwrap_or_default();
    let group = Group { first, checks: all.collect() };
    Metrics { groups: BTreeMap::from([(place.clone(), group)]), ..Metrics::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn frames_together_are_what_was_counted(series in 0_usize..500, names in 0_usize..4_000, groups in 1_usize..4) {
        let mut metrics = Metrics { left_out: 2, ..Metrics::default() };
        let spread: Vec<(f64, u64)> = (0..3_000_u64).map(|at| (1.01_f64.powi(at as i32), at)).collect();
        for number in 0..series / 8 {
            metrics.merge_after(&one(&format!("t{number}"), Kind::Trend, None, &spread));
        }
        for number in 0..series {
            metrics.merge_after(&one(&format!("m{number}"), Kind::Counter, None, &[(1.0, 1)]));
        }
        for number in 0..groups {
            let place = Place { scenario: None, group: format!("::g{number}") };
            let names: Vec<_> = (0..names as u64).map(|name| (format!("c{name}"), name)).collect();
            metrics.merge_after(&checks(&place, &names));
        }
        let frames = metrics.clone().into_frames();
        let mut sum = Metrics::default();
        for frame in &frames {
            let bytes = rmp_serde::to_vec_named(frame).unwrap();
            let read: Metrics = Values::new(&bytes).decode().map_err(|_| "a reader takes it").unwrap();
            prop_assert_eq!(&read, frame);
            sum.merge_after(&read);
        }
        prop_assert_eq!(sum, metrics);
    }
}
