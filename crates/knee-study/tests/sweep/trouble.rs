//! Services and generators that misbehave: what a sweep can conclude about them, and what it must not.

use knee_core::validity::Validity;
use knee_study::sweep::conclusion::{Facts, LevelEstimate, Recovery};
use knee_study::sweep::course::Ended;
use knee_study::sweep::rule::Broken;
use knee_study::sweep::{Ladder, LoadKind, Sweep};

use crate::server::{Law, Service, config, sweep};

#[test]
fn a_service_faster_than_the_generator_has_no_capacity_named() {
    let mut service = Service::new(64, 1e-3, Law::Exponential);
    service.generator = Some(20_000.0);
    let report = sweep(&config(1), &mut service);
    let LevelEstimate::Refused { at_least, why } = &report.capacity else { panic!("{:?}", report.capacity) };
    let passed = at_least.unwrap();
    assert!(passed > 10_000.0 && passed <= 20_000.0 * 1.01, "what passed is true all the same: {passed}");
    assert_eq!(why, &["a worker of knee used over 90 % of its CPU"]);
    assert_eq!(report.state, Validity::Invalid);
    let most = report.ladder().map(|trial| trial.step.load.level()).fold(0.0, f64::max);
    assert!(most <= 20_000.0 * 1.5, "it does not climb on against its own limit: {most}");
}

#[test]
fn connections_that_run_out_are_our_limit_and_not_the_services() {
    // 1 s a request, any number at once: 100 connections send 100 a second.
    let mut config = config(1);
    config.in_flight_max = 100;
    let report = sweep(&config, &mut Service::new(100_000, 1.0, Law::Fixed));
    let LevelEstimate::Refused { why, .. } = &report.capacity else { panic!("{:?}", report.capacity) };
    assert!(why[0].contains("the limit of 100 requests in flight"), "{why:?}");
}

#[test]
fn a_service_that_tips_over_does_not_recover_at_nine_tenths() {
    let mut service = Service::new(4, 5e-3, Law::Exponential);
    service.tips_over_at = Some(300);
    let report = sweep(&config(1), &mut service);
    let Recovery::Metastable(Some(level)) = report.recovery else { panic!("{:?}", report.recovery) };
    // Tipped over it does 400/s; three quarters of 780 are too much, half are not.
    assert!(level < 420.0, "{level}");
}

#[test]
fn a_retrograde_service_breaks_and_its_peak_is_named_where_the_steps_show_it() {
    let mut service = Service::new(1_000, 10e-3, Law::Exponential);
    // Each of n requests takes 10 ms x (1 + 0.02 n): 100 n / (1 + 0.02 n) a second, 5,000 at the most.
    service.crosstalk = 0.02;
    let mut config = config(1);
    config.kind = LoadKind::Connections;
    config.ladder = Ladder::List(vec![1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 400.0]);
    let report = sweep(&config, &mut service);
    let law = report.law.unwrap();
    assert!((law.sigma - 0.0196).abs() < 0.003, "contention: {law:?}");
    assert_eq!(law.peak, None, "it never falls");
}

#[test]
fn refused_requests_break_the_error_budget_before_the_backlog_grows() {
    let mut service = Service::new(4, 5e-3, Law::Exponential);
    service.refuses_above = Some(20);
    let report = sweep(&config(1), &mut service);
    let found = report.capacity.interval().unwrap();
    assert!(found.high < 800.0, "{found:?}");
    assert_eq!(report.broken, Some(Broken::Errors));
}

#[test]
fn without_a_single_pass_the_capacity_is_below_what_was_tried() {
    let mut config = config(1);
    config.ladder = Ladder::Geometric { from: 100.0, to: None, factor: 1.5 };
    config.slos = vec!["p50<1ms".parse().unwrap()];
    let report = sweep(&config, &mut Service::new(4, 5e-3, Law::Fixed));
    assert_eq!(report.capacity, LevelEstimate::Below(1.57), "100 halved six times");
    assert_eq!(report.recovery, Recovery::NotTried);
}

#[test]
fn a_ladder_that_ends_before_anything_fails_says_at_least() {
    let mut config = config(1);
    config.ladder = Ladder::Geometric { from: 100.0, to: Some(300.0), factor: 1.5 };
    let report = sweep(&config, &mut Service::new(4, 5e-3, Law::Exponential));
    assert_eq!(report.capacity, LevelEstimate::AtLeast(300.0), "the last rung is the end that was asked for");
    assert_eq!(report.breaking, LevelEstimate::AtLeast(300.0));
    assert!(!report.saturation.unwrap().reached);
}

#[test]
fn no_step_is_above_the_ceiling_and_none_begins_after_the_time_is_up() {
    let mut capped = config(1);
    capped.ceiling = Some(500.0);
    let report = sweep(&capped, &mut Service::new(4, 5e-3, Law::Exponential));
    let most = report.ladder().map(|trial| trial.step.load.level()).fold(0.0, f64::max);
    assert_eq!((most.to_bits(), &report.capacity), (500f64.to_bits(), &LevelEstimate::AtLeast(500.0)));

    let mut timed = config(1);
    timed.seconds_max = Some(100.0);
    let report = sweep(&timed, &mut Service::new(4, 5e-3, Law::Exponential));
    let spent: f64 = report.trials.iter().map(|trial| trial.result.took).sum();
    assert!(spent <= 100.0 && report.ended == Ended::OutOfTime, "{spent}");
    assert!(
        !matches!(report.capacity, LevelEstimate::Between { confirmed: true, .. }),
        "{:?}",
        report.capacity
    );
}

#[test]
fn a_sweep_that_is_interrupted_concludes_from_what_is_there() {
    let config = config(1);
    let mut service = Service::new(4, 5e-3, Law::Exponential);
    let mut sweep = Sweep::new(config.clone());
    for _ in 0..10 {
        let step = sweep.next().unwrap();
        sweep.record_result(service.measure(&step, &config));
    }
    let step = sweep.next().unwrap();
    let mut half = service.measure(&step, &config);
    half.interrupted = true;
    assert!(sweep.record_result(half).is_none());
    assert_eq!(sweep.next(), None);
    let report = sweep.conclude(Facts::default());
    assert_eq!((report.ended, report.trials.len()), (Ended::Interrupted, 10));
    assert!(report.capacity.low().is_some(), "{:?}", report.capacity);
}
