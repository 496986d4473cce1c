//! Services with a known limit: c workers that take S seconds complete c / S requests per second.

use knee_study::sweep::conclusion::{LevelEstimate, Recovery};
use knee_study::sweep::knee::{Basis, Knee};
use knee_study::sweep::rule::Broken;
use knee_study::sweep::{Config, Ladder, LevelRange, LoadKind, Purpose, Report};

use crate::server::{Law, Service, config, sweep};

/// Services from one worker to many, slow and fast.
fn services() -> Vec<Service> {
    let mut services = Vec::new();
    for law in [Law::Fixed, Law::Exponential] {
        for (workers, time) in [(1, 2e-3), (4, 5e-3), (8, 4e-3), (32, 50e-3)] {
            services.push(Service::new(workers, time, law));
        }
    }
    services
}

fn capacity(report: &Report) -> LevelRange {
    match report.capacity {
        LevelEstimate::Between { interval, .. } => interval,
        ref other => panic!("{other:?}"),
    }
}

fn is_within(value: f64, truth: f64, share: f64) -> bool {
    (value / truth - 1.0).abs() <= share
}

#[test]
fn known_limits_are_found_within_seven_per_cent() {
    for mut service in services() {
        for seed in 1..=3 {
            let limit = service.limit();
            let report = sweep(&config(seed), &mut service);
            let found = capacity(&report);
            let result = format!("seed {seed}, {service:?}: {found:?}, truth {limit}");
            assert!(is_within(found.middle(), limit, 0.07), "{result}");
            assert!(found.high / found.low <= 1.11, "{result}");
            let saturation = report.saturation.unwrap();
            assert!(
                saturation.reached && is_within(saturation.rate, limit, 0.07),
                "{result}; {saturation:?}"
            );
            let breaking = report.breaking.interval().unwrap();
            assert!(is_within(breaking.middle(), limit, 0.07), "{result}; {breaking:?}");
            assert_eq!(report.broken, Some(Broken::Backlog), "{result}");
            assert!(matches!(report.recovery, Recovery::AtOnce(_)), "{result}; {:?}", report.recovery);
        }
    }
}

#[test]
fn ten_sweeps_of_one_service_agree() {
    for law in [Law::Fixed, Law::Exponential] {
        let found: Vec<LevelRange> =
            (100..110).map(|seed| capacity(&sweep(&config(seed), &mut Service::new(4, 5e-3, law)))).collect();
        for (position, one) in found.iter().enumerate() {
            for other in &found[position + 1..] {
                assert!(one.overlaps(*other), "{law:?}: {found:?}");
            }
        }
    }
}

/// Mean response time of M/M/c with workers of `time` seconds at `rate` per second (Erlang's C).
fn response(workers: usize, time: f64, rate: f64) -> f64 {
    let offered = rate * time;
    let utilisation = offered / workers as f64;
    let blocked = (1..=workers).fold(1.0, |b, k| offered * b / (k as f64 + offered * b));
    let waits = blocked / (1.0 - utilisation * (1.0 - blocked));
    time + waits * time / (workers as f64 * (1.0 - utilisation))
}

/// Where throughput over response time is greatest.
fn true_knee(workers: usize, time: f64) -> f64 {
    let limit = workers as f64 / time;
    let rates = (1..1_000).map(|step| limit * f64::from(step) / 1_000.0);
    let power = |rate: f64| rate / response(workers, time, rate);
    rates.max_by(|a, b| power(*a).total_cmp(&power(*b))).unwrap()
}

#[test]
fn the_knee_lies_in_its_interval_and_the_interval_is_narrower_than_two_rungs() {
    for (workers, time) in [(1, 2e-3), (4, 5e-3), (16, 10e-3)] {
        let truth = true_knee(workers, time);
        let knees: Vec<Knee> = (1..=20)
            .map(|seed| {
                sweep(&config(seed), &mut Service::new(workers, time, Law::Exponential)).knee.unwrap()
            })
            .collect();
        let held = knees.iter().filter(|knee| knee.interval.low <= truth && truth <= knee.interval.high);
        assert!(held.count() >= 19, "{workers} workers, truth {truth}: {knees:?}");
        for knee in &knees {
            assert!(knee.basis != Basis::Ladder && knee.repeats == 3, "{knee:?}");
            assert!(is_within(knee.level, truth, 0.35), "{workers} workers, truth {truth}: {knee:?}");
        }
        let mut widths: Vec<f64> = knees.iter().map(|knee| knee.interval.high / knee.interval.low).collect();
        widths.sort_by(f64::total_cmp);
        // Two rungs are 1.35 x 1.35 = 1.82 apart.
        assert!(widths[10] < 1.6, "{workers} workers: {widths:?}");
    }
}

#[test]
fn levels_near_the_knee_are_repeated_in_an_order_that_is_not_theirs() {
    let report = sweep(&config(1), &mut Service::new(4, 5e-3, Law::Exponential));
    let repeats: Vec<f64> = report
        .trials
        .iter()
        .filter(|trial| trial.step.purpose == Purpose::Repeat)
        .map(|trial| trial.step.load.level())
        .collect();
    assert_eq!(repeats.len(), 15, "{repeats:?}");
    let blocks: Vec<&[f64]> = repeats.chunks(5).collect();
    let mut sorted: Vec<Vec<f64>> = blocks.iter().map(|block| block.to_vec()).collect();
    for block in &mut sorted {
        block.sort_by(f64::total_cmp);
    }
    assert!(sorted.windows(2).all(|pair| pair[0] == pair[1]), "each block has every level: {blocks:?}");
    assert!(blocks.iter().any(|block| *block != sorted[0]), "{blocks:?}");
    assert!(blocks.windows(2).any(|pair| pair[0] != pair[1]), "{blocks:?}");
}

#[test]
fn a_limit_on_response_time_is_met_where_theory_says() {
    // M/M/1: response times are exponential with rate 1/S - λ, so p99 = ln 100 / (500 - λ) <= 50 ms
    // up to λ = 500 - 4.605 / 0.05 = 407.9 a second.
    let mut config = config(7);
    config.slos = vec!["p99<50ms".parse().unwrap()];
    let report = sweep(&config, &mut Service::new(1, 2e-3, Law::Exponential));
    let found = capacity(&report);
    assert!(is_within(found.middle(), 407.9, 0.08), "{found:?}");
    // It goes on to say where the service really breaks.
    let breaking = report.breaking.interval().unwrap();
    assert!(breaking.low > found.low && is_within(breaking.middle(), 500.0, 0.09), "{breaking:?}");
}

#[test]
fn connections_that_wait_for_each_other_saturate_at_the_limit() {
    let mut config = config(3);
    config.kind = LoadKind::Connections;
    config.ladder = Ladder::List(vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    config.slos = vec!["p99<20ms".parse().unwrap()];
    // With n connections on 8 workers of 4 ms a request takes n / 8 x 4 ms: 20 ms at 40.
    let report = sweep(&config, &mut Service::new(8, 4e-3, Law::Fixed));
    let found = capacity(&report);
    assert!(found.low <= 40.0 && found.high >= 40.0 && found.high <= 46.0, "{found:?}");
    assert!(is_within(report.saturation.unwrap().rate, 2_000.0, 0.01), "{:?}", report.saturation);
    let knee = report.knee.unwrap();
    assert!(knee.interval.low <= 8.0 && knee.interval.high >= 8.0, "{knee:?}");
}

#[test]
fn a_closed_load_whose_goodput_no_longer_grows_has_reached_the_saturation_without_any_limit() {
    let mut config = config(5);
    config.kind = LoadKind::Connections;
    let reached = |most: f64| {
        let levels = [2.0, 4.0, 8.0, 16.0, 32.0].into_iter().filter(|level| *level <= most).collect();
        let config = Config { ladder: Ladder::List(levels), ..config.clone() };
        let saturation = sweep(&config, &mut Service::new(8, 4e-3, Law::Fixed)).saturation.unwrap();
        assert!(is_within(saturation.rate, 2_000.0, 0.01), "{saturation:?}");
        saturation.reached
    };
    assert!(reached(32.0));
    assert!(!reached(8.0), "nothing says that eight more would not bring more");
}

#[test]
fn a_service_is_seen_as_a_queue_of_its_workers() {
    let report = sweep(&config(1), &mut Service::new(4, 5e-3, Law::Exponential));
    let queue = report.queue.unwrap();
    assert_eq!(queue.workers, 4);
    assert!(is_within(queue.ratio(), 1.0, 0.3), "{queue:?}");
}
