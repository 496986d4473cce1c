//! Services that turn away what they cannot serve: rejections are no throughput, and the service is called what it is.

use knee_study::sweep::conclusion::LevelEstimate;
use knee_study::sweep::rule::Broken;
use knee_study::sweep::{LevelRange, LoadKind, Report};

use crate::server::{Law, Service, config, sweep};

/// Seeds of which every one must find the truth.
const SEEDS: u64 = 20;

fn service(workers: usize, time: f64, law: Law, places: usize) -> Service {
    Service { refuses_above: Some(workers + places), ..Service::new(workers, time, law) }
}

/// Services that shed load beyond c/S: their queue is long enough that hardly a request is turned away below.
fn services() -> Vec<Service> {
    vec![
        service(1, 2e-3, Law::Fixed, 100),
        service(4, 5e-3, Law::Fixed, 50),
        service(4, 5e-3, Law::Exponential, 200),
        service(8, 4e-3, Law::Exponential, 200),
        service(32, 50e-3, Law::Fixed, 100),
    ]
}

fn off(value: f64, truth: f64) -> f64 {
    (value / truth - 1.0).abs()
}

fn middle(report: &Report) -> Option<f64> {
    report.capacity.interval().map(LevelRange::middle)
}

#[test]
fn a_service_that_sheds_load_is_named_and_its_capacity_is_what_it_serves() {
    for service in services() {
        let limit = service.limit();
        let missed: Vec<String> = (1..=SEEDS)
            .filter_map(|seed| {
                let report = sweep(&config(seed), &mut service.clone());
                let found = middle(&report);
                let capacity = found.is_some_and(|found| off(found, limit) <= 0.07);
                let sheds = report.shedding.is_some_and(|found| {
                    off(found.keeps, limit) <= 0.07 && found.at >= 1.2 * limit && found.rejected > 0.1
                });
                let saturation =
                    report.saturation.is_some_and(|found| found.reached && off(found.rate, limit) <= 0.07);
                (!(capacity && sheds && saturation)).then(|| {
                    format!(
                        "seed {seed}: capacity {:?}, shedding {:?}, saturation {:?}",
                        report.capacity, report.shedding, report.saturation
                    )
                })
            })
            .collect();
        assert!(missed.is_empty(), "{service:?}, truth {limit}:\n{}", missed.join("\n"));
    }
}

#[test]
fn a_service_that_sheds_load_has_no_knee_because_rejections_end_the_waiting() {
    let mut config = config(1);
    config.errors_max = 0.01;
    for places in [16, 50, 200] {
        for seed in 1..=3 {
            config.seed = seed;
            let report = sweep(&config, &mut service(4, 5e-3, Law::Exponential, places));
            assert!(report.shedding.is_some(), "{places} places, seed {seed}: {:?}", report.capacity);
            assert_eq!(report.knee, None, "{places} places, seed {seed}");
        }
    }
}

/// Share of requests that M/M/c with room for `places` more turns away (Erlang; the queue is finite).
fn turned_away(workers: usize, places: usize, offered: f64) -> f64 {
    let mut weight = 1.0;
    let mut sum = 1.0;
    for n in 1..=workers + places {
        weight *= offered / n.min(workers) as f64;
        sum += weight;
    }
    weight / sum
}

#[test]
fn with_a_short_queue_the_capacity_is_where_theory_turns_away_as_many_as_are_allowed() {
    let (workers, time, places) = (4, 5e-3, 16);
    let mut config = config(1);
    config.errors_max = 0.01;
    let share = |rate: f64| turned_away(workers, places, rate * time);
    let truth = (1..800).map(f64::from).filter(|rate| share(*rate) <= config.errors_max).fold(0.0, f64::max);
    for seed in 1..=SEEDS {
        config.seed = seed;
        let report = sweep(&config, &mut service(workers, time, Law::Exponential, places));
        let found = middle(&report).unwrap();
        assert!(off(found, truth) <= 0.07, "seed {seed}: {:?}, truth {truth}", report.capacity);
        assert!(
            report.shedding.is_some_and(|found| off(found.keeps, 800.0) <= 0.05),
            "{:?}",
            report.shedding
        );
        assert_eq!(report.broken, Some(Broken::Rejects), "seed {seed}");
    }
}

#[test]
fn a_service_that_queues_without_end_does_not_shed() {
    for seed in 1..=3 {
        let report = sweep(&config(seed), &mut Service::new(4, 5e-3, Law::Exponential));
        assert_eq!(report.shedding, None, "seed {seed}");
    }
}

#[test]
fn a_fixed_share_of_failures_at_every_load_is_no_shedding() {
    let mut config = config(1);
    config.errors_max = 0.2;
    let mut service = Service::new(4, 5e-3, Law::Exponential);
    service.fails = 0.08;
    let report = sweep(&config, &mut service);
    assert_eq!(report.shedding, None, "goodput grows with the load: {report:?}");
    let found = middle(&report).unwrap();
    assert!(off(found, 800.0) <= 0.07, "{found}");
    let saturation = report.saturation.unwrap();
    assert!(off(saturation.rate, 0.92 * 800.0) <= 0.05, "errors are no throughput: {saturation:?}");
}

#[test]
fn connections_that_are_turned_away_add_no_throughput() {
    let mut config = config(1);
    config.kind = LoadKind::Connections;
    let report = sweep(&config, &mut service(4, 5e-3, Law::Exponential, 12));
    let saturation = report.saturation.unwrap();
    assert!(off(saturation.rate, 800.0) <= 0.05, "{saturation:?}");
    let found = match report.capacity {
        LevelEstimate::Between { interval, .. } => interval,
        other => panic!("{other:?}"),
    };
    assert!(found.low <= 16.0 && found.high >= 16.0, "16 have room: {found:?}");
    assert!(report.shedding.is_some(), "{report:?}");
}
