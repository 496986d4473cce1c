//! Services and generators that misbehave: what a sweep can conclude about them, and what it must not.

use knee_core::validity::Validity;
use knee_study::sweep::conclusion::{Facts, LevelEstimate, Recovery};
use knee_study::sweep::course::Ended;
use knee_study::sweep::rule::{Broken, Outcome};
use knee_study::sweep::{Ladder, LoadKind, Purpose, Report, Sweep};

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

/// A service that does half as much after an overload, until it is idle or reset.
fn tips_over() -> Service {
    Service { tips_over_at: Some(300), ..Service::new(4, 5e-3, Law::Exponential) }
}

#[test]
fn metastable_is_a_service_that_only_a_reset_brings_back() {
    let mut config = config(1);
    config.resets = true;
    let report = sweep(&config, &mut tips_over());
    let Recovery::Metastable { at, lower } = report.recovery else { panic!("{:?}", report.recovery) };
    let lower = lower.unwrap();
    // Tipped over it does 400/s.
    assert!(lower < at && at > 600.0, "{at}, {lower}");
    assert_before_and_after(&report, at);
}

/// The level passed on the way up, failed for 30 s after the overload, and nothing else was said about another level.
fn assert_before_and_after(report: &Report, at: f64) {
    let here = |purpose: fn(Purpose) -> bool, outcome: Outcome| {
        let those = report
            .trials
            .iter()
            .filter(|trial| purpose(trial.step.purpose) && (trial.step.load.level() - at).abs() < 1e-9);
        let (right, wrong): (Vec<_>, Vec<_>) = those.partition(|trial| trial.judged.outcome == outcome);
        assert!(wrong.is_empty(), "{wrong:?}");
        right.iter().map(|trial| trial.step.warm_up + trial.step.seconds).sum::<f64>()
    };
    let up =
        |purpose| matches!(purpose, Purpose::Climb | Purpose::Bisect | Purpose::Confirm | Purpose::Break);
    assert!(here(up, Outcome::Pass) > 0.0, "it was a step before");
    assert!(here(|purpose| purpose == Purpose::Descend, Outcome::Fail) >= 30.0);
}

#[test]
fn without_a_reset_a_level_that_fails_afterwards_is_a_change_and_no_verdict_on_the_overload() {
    let mut changed = 0;
    for seed in 1..=5 {
        let report = sweep(&config(seed), &mut tips_over());
        assert!(
            !matches!(report.recovery, Recovery::Metastable { .. }),
            "seed {seed}: {:?}",
            report.recovery
        );
        // In some steps it happens to be idle at the beginning, and works again.
        let Recovery::Changed { at, after_reset: false, .. } = report.recovery else { continue };
        assert_before_and_after(&report, at);
        changed += 1;
    }
    assert!(changed > 0);
}

/// A service whose table grows: each request makes all later ones slower.
fn grows(slows: f64) -> Service {
    Service { slows, ..Service::new(4, 5e-3, Law::Exponential) }
}

#[test]
fn data_that_grow_are_not_called_metastable_and_a_reset_takes_their_part_away() {
    let mut config = config(1);
    // After 100,000 requests it is 40 % slower.
    let report = sweep(&config, &mut grows(4e-6));
    assert!(!matches!(report.recovery, Recovery::Metastable { .. }), "{:?}", report.recovery);
    config.resets = true;
    let report = sweep(&config, &mut grows(4e-6));
    let found = report.capacity.interval().unwrap();
    assert!((found.middle() / 800.0 - 1.0).abs() <= 0.07, "every step saw the same data: {found:?}");
    assert!(!matches!(report.recovery, Recovery::Metastable { .. }), "{:?}", report.recovery);
}

#[test]
fn two_levels_at_which_the_generator_is_the_limit_end_the_sweep() {
    let mut service = Service::new(64, 1e-3, Law::Exponential);
    service.generator = Some(20_000.0);
    let report = sweep(&config(1), &mut service);
    let void = report.ladder().filter(|trial| trial.judged.outcome == Outcome::Void).count();
    assert!(void <= 4, "{void} void steps");
    assert_eq!(report.ended, Ended::GeneratorLimit);
}

#[test]
fn waits_that_cannot_explain_slow_responses_make_no_step_void() {
    // A generator that is up to 1 ms late, and a service that queues for seconds.
    let mut service = Service::new(4, 5e-3, Law::Exponential);
    service.late = Some(1e-3);
    let mut limited = config(1);
    limited.slos = vec!["p90<100ms".parse().unwrap()];
    let report = sweep(&limited, &mut service);
    let found = report.capacity.interval().unwrap();
    assert!((found.middle() / 800.0 - 1.0).abs() < 0.1, "{found:?}");
    assert_eq!(report.state, Validity::Valid);
    // With a limit near the delay, the delay can be the cause, and the report says below what.
    limited.slos = vec!["p90<7ms".parse().unwrap()];
    service.law = Law::Fixed;
    let report = sweep(&limited, &mut service);
    assert!(matches!(report.capacity, LevelEstimate::Refused { .. }), "{:?}", report.capacity);
    assert!((report.resolution.unwrap() - 0.01).abs() < 1e-9, "{:?}", report.resolution);
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
    assert_eq!(report.broken, Some(Broken::Rejects));
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
