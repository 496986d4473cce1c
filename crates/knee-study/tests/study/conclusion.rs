//! Conclusions: verdicts on planted effects, claims, growth, the noise floor.

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use knee_study::definition::{Definition, Variant};
use knee_study::estimand::{Contrast, Missing};
use knee_study::metric::Metric;
use knee_study::statistics::share::Counted;
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{
    Absence, Basis, Calibration, ClaimVerdict, Conclusion, Effect, GrowthClass, Options, Reason, Refusal,
    Relation, ResponseTimes, Study, TrialResult,
};

use crate::bench::{HEAD, around, definition, invalid, result, run, study, study_with};

const LADDER: &str = "[design]\nkind = \"ladder\"\nmetrics = [\"p50\", \"goodput\", \"errors\"]\n";

/// Milliseconds: a fine lock saves 20 %, a cache does nothing.
fn planted(variant: &Variant) -> f64 {
    if variant.switches["lock"] == "fine" { 8.0 } else { 10.0 }
}

fn effect<'a>(conclusion: &'a Conclusion, from: &str, to: &str, metric: Metric) -> &'a Effect {
    let mut effects = conclusion.effects.iter();
    let found = effects.find(|effect| {
        (effect.from.variant.as_str(), effect.to.variant.as_str(), effect.metric) == (from, to, metric)
            && effect.to.workload == "list"
    });
    found.unwrap_or_else(|| panic!("no effect {from} -> {to} by {metric}"))
}

#[test]
fn a_ladder_tells_the_step_that_helped_from_the_one_that_did_not() {
    let conclusion = run(study(LADDER), |trial, variant, _| around(trial, planted(variant), 0.015));
    let step = effect(&conclusion, "stock", "fine", Metric::P50);
    assert_eq!((step.verdict, &step.relation), (Verdict::Better, &Relation::Step));
    let change = step.change.unwrap();
    assert!(change.low.unwrap() < -0.2 && -0.2 < change.high.unwrap(), "{change:?}");
    assert_eq!(effect(&conclusion, "stock", "fine", Metric::Goodput).verdict, Verdict::Better, "more of it");
    assert_eq!(effect(&conclusion, "stock", "fine", Metric::Errors).verdict, Verdict::Same);
    assert_eq!(effect(&conclusion, "fine", "cached", Metric::P50).verdict, Verdict::Same);
    let since = effect(&conclusion, "stock", "cached", Metric::P50);
    assert_eq!((since.verdict, &since.relation), (Verdict::Better, &Relation::SinceFirst));
}

#[test]
fn an_undecided_comparison_says_how_many_blocks_would_tell() {
    let conclusion = run(study(LADDER), |trial, variant, _| around(trial, planted(variant), 0.35));
    let step = effect(&conclusion, "fine", "cached", Metric::P50);
    assert_eq!(step.verdict, Verdict::Undecided);
    assert!(step.blocks_needed.unwrap() > 100, "{step:?}");
    assert!(step.mde.unwrap() > 0.2, "{step:?}");
}

#[test]
fn one_block_that_moves_the_verdict_is_named() {
    let conclusion = run(study(LADDER), |trial, variant, _| {
        let wild = trial.block == 6 && trial.variant == "fine";
        around(trial, planted(variant) * if wild { 2.5 } else { 1.0 }, 0.005)
    });
    let step = effect(&conclusion, "stock", "fine", Metric::P50);
    assert_eq!(step.moved_by, [6]);
    assert!(step.reasons.contains(&Reason::DependsOn { blocks: vec![6] }), "{:?}", step.reasons);
}

#[test]
fn an_ablation_says_what_each_switch_is_worth_alone_and_at_the_end() {
    let rest = "[design]\nkind = \"ablation\"\nbaseline = \"stock\"\nbest = \"cached\"\nmetrics = [\"p50\"]\nseed = 3\n";
    // The cache helps only while the lock is coarse.
    let conclusion = run(study(rest), |trial, variant, _| {
        let millis = match (variant.switches["lock"].as_str(), variant.switches["cache"].as_str()) {
            ("coarse", "off") => 10.0,
            ("coarse", _) => 8.0,
            _ => 6.0,
        };
        around(trial, millis, 0.01)
    });
    let verdict = |from: &str, to: &str| {
        let effect = effect(&conclusion, from, to, Metric::P50);
        (effect.verdict, effect.relation.clone())
    };
    assert_eq!(verdict("stock", "cached"), (Verdict::Better, Relation::Whole));
    assert_eq!(verdict("stock", "stock + cache"), (Verdict::Better, Relation::Added("cache".to_owned())));
    assert_eq!(verdict("cached - cache", "cached"), (Verdict::Same, Relation::Removed("cache".to_owned())));
    assert_eq!(verdict("cached - lock", "cached"), (Verdict::Better, Relation::Removed("lock".to_owned())));
}

#[test]
fn a_quick_study_says_what_it_found_and_calls_nothing_the_same_that_it_cannot_exclude() {
    let quick = |millis: f64, spread: f64| {
        let options = Options { quick: true, ..Options::default() };
        let conclusion = run(study_with(LADDER, options, None), |trial, variant, _| {
            around(trial, if variant.switches["lock"] == "fine" { millis } else { 10.0 }, spread)
        });
        assert_eq!(conclusion.blocks, 6);
        effect(&conclusion, "stock", "fine", Metric::P50).clone()
    };
    assert_eq!(quick(5.0, 0.015).verdict, Verdict::Better);
    assert_eq!(quick(9.0, 0.01).verdict, Verdict::Better, "10 % is certain, and is said");
    let open = quick(10.0, 0.06);
    assert_eq!(open.verdict, Verdict::Undecided);
    assert!(open.reasons.contains(&Reason::NotLarge { change: 0.25 }), "{:?}", open.reasons);
}

#[test]
fn a_quick_study_answers_a_claim_as_it_answers_the_comparison() {
    let claims = r#"
[claims.same]
text = "the cache does nothing"
workload = "list"
metric = "p50"
variant = "cached"
against = "fine"
expect = "same"

[claims.faster]
text = "the cache helps"
workload = "list"
metric = "p50"
variant = "cached"
against = "fine"
expect = "faster"
"#;
    let options = Options { quick: true, ..Options::default() };
    let study = study_with(&format!("{LADDER}{claims}"), options, None);
    let conclusion = run(study, |trial, variant, _| around(trial, planted(variant), 0.005));
    assert_eq!(effect(&conclusion, "fine", "cached", Metric::P50).verdict, Verdict::Same);
    let found: Vec<_> = conclusion.claims.iter().map(|claim| claim.verdict).collect();
    assert_eq!(found, [ClaimVerdict::Confirmed, ClaimVerdict::Refuted]);
}

/// One claim of every kind.
const CLAIMS: &str = r#"
[claims.true]
text = "a fine lock helps"
workload = "list"
metric = "p50"
variant = "fine"
against = "stock"
expect = "faster"

[claims.factor]
text = "by more than a tenth"
workload = "list"
metric = "goodput"
variant = "fine"
against = "stock"
expect = "faster"
at_least = "1.1x"

[claims.too_much]
text = "it doubles the rate"
workload = "list"
metric = "goodput"
variant = "fine"
against = "stock"
expect = "faster"
at_least = "2x"

[claims.false]
text = "the cache helps"
workload = "list"
metric = "p50"
variant = "cached"
against = "fine"
expect = "faster"

[claims.same]
text = "creating costs what listing costs"
workload = "create"
against_workload = "list"
metric = "p50"
variant = "stock"
expect = "same"

[claims.clean]
text = "no errors"
workload = "create"
metric = "errors"
variant = "fine"
below = "0.1%"

[claims.bound]
text = "it answers in 5 ms"
workload = "create"
metric = "p50"
variant = "fine"
below = "5ms"
testable = "the work is a sleep of fixed length"

[claims.machine]
text = "it answered in 5 ms"
workload = "create"
metric = "p50"
variant = "fine"
below = "5ms"

[claims.goal]
text = "it answers in 20 ms here"
goal = true
workload = "create"
metric = "p50"
variant = "fine"
below = "20ms"

[claims.about]
text = "a fine lock saves a fifth"
workload = "list"
metric = "p50"
variant = "fine"
against = "stock"
change = "-20%"

[claims.half]
text = "a fine lock halves the time"
workload = "list"
metric = "p50"
variant = "fine"
against = "stock"
change = "0.5x"
within = "20%"

[claims.elsewhere]
text = "the runtime did it"
untestable = "there is no other runtime here"
"#;

#[test]
fn every_kind_of_claim_comes_out_as_it_should() {
    let rest = format!("{LADDER}{CLAIMS}");
    let conclusion = run(study(&rest), |trial, variant, _| around(trial, planted(variant), 0.01));
    let found: Vec<_> = conclusion.claims.iter().map(|claim| (claim.id.as_str(), claim.verdict)).collect();
    let expected = [
        ("true", ClaimVerdict::Confirmed),
        ("factor", ClaimVerdict::Confirmed),
        ("too_much", ClaimVerdict::Refuted),
        ("false", ClaimVerdict::Refuted),
        ("same", ClaimVerdict::Confirmed),
        ("clean", ClaimVerdict::Confirmed),
        ("bound", ClaimVerdict::Refuted),
        ("machine", ClaimVerdict::Untestable),
        ("goal", ClaimVerdict::Confirmed),
        ("about", ClaimVerdict::Confirmed),
        ("half", ClaimVerdict::Refuted),
        ("elsewhere", ClaimVerdict::Untestable),
    ];
    assert_eq!(found, expected, "{:#?}", conclusion.claims);
    let noisy = run(study(&rest), |trial, variant, _| around(trial, planted(variant), 0.6));
    let open = noisy.claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Undecided).count();
    assert!(open >= 3, "{:#?}", noisy.claims);
}

#[test]
fn a_claim_of_a_tenfold_change_is_decided_where_it_is_open_whether_there_is_any_and_says_no_more() {
    let claim = "\n[claims.tenfold]\ntext = \"ten times faster\"\nworkload = \"list\"\nmetric = \"p50\"\nvariant = \"fine\"\n\
                 against = \"stock\"\nexpect = \"faster\"\nat_least = \"10x\"\n";
    let conclusion = run(study(&format!("{LADDER}{claim}")), |trial, _, _| around(trial, 10.0, 0.3));
    assert_eq!(effect(&conclusion, "stock", "fine", Metric::P50).verdict, Verdict::Undecided);
    let claim = &conclusion.claims[0];
    assert_eq!(claim.verdict, ClaimVerdict::Refuted, "{claim:?}");
    assert!(matches!(claim.basis, Basis::Change { blocks_needed: None, .. }), "{claim:?}");
}

#[test]
fn a_claim_of_no_errors_needs_enough_requests() {
    let claim = "\n[claims.clean]\ntext = \"none\"\nworkload = \"list\"\nmetric = \"errors\"\nvariant = \"fine\"\nbelow = \"0.001%\"\n";
    // None of 100,000: with 97.5 % fewer than 3.7 in 100,000, and not fewer than 1 in 100,000.
    let conclusion = run(study(&format!("{LADDER}{claim}")), |trial, _, _| around(trial, 10.0, 0.01));
    assert_eq!(conclusion.claims[0].verdict, ClaimVerdict::Undecided, "{:?}", conclusion.claims[0]);
}

#[test]
fn growth_has_its_exponent_and_its_word() {
    let rest = "[design]\nkind = \"growth\"\norder = [\"stock\", \"fine\"]\nmetrics = [\"p50\", \"goodput\"]\n\
                growth = { switch = \"rows\", sizes = [1000, 2000, 4000, 8000] }\n";
    let conclusion = run(study(rest), |trial, variant, workload| {
        let rows: f64 = variant.switches["rows"].parse().unwrap();
        let power = if workload.name == "list" && variant.switches["lock"] == "coarse" { 1.0 } else { 0.02 };
        around(trial, 10.0 * (rows / 1000.0).powf(power), 0.02)
    });
    let found: BTreeMap<_, _> = conclusion
        .growth
        .iter()
        .map(|growth| ((growth.variant.as_str(), growth.workload.as_str(), growth.metric), growth))
        .collect();
    let scan = found[&("stock", "list", Metric::P50)];
    assert!((scan.exponent.estimate - 1.0).abs() < 0.05, "{scan:?}");
    assert_eq!((scan.class, scan.sure, scan.points.len(), scan.n_blocks), (GrowthClass::Linear, true, 4, 10));
    assert!((scan.last - 1.0).abs() < 0.1, "{scan:?}");
    let rate = found[&("stock", "list", Metric::Goodput)];
    assert!((rate.exponent.estimate - 1.0).abs() < 0.05, "of a rate, that of the time it takes: {rate:?}");
    assert_eq!(found[&("fine", "list", Metric::P50)].class, GrowthClass::Constant);
    assert_eq!(GrowthClass::of(0.5), GrowthClass::Sublinear);
    assert_eq!(GrowthClass::of(1.5), GrowthClass::Superlinear);
}

#[test]
fn an_aa_test_calibrates_a_machine() {
    let options = Options { aa: Some("fine".to_owned()), ..Options::default() };
    let rest = format!("{LADDER}seed = 2\n");
    let conclusion = run(study_with(&rest, options, None), |trial, _, _| around(trial, 10.0, 0.03));
    let calibration = conclusion.calibration("this machine").unwrap();
    // Two sides with 3 % each: sqrt(2) * 3 %.
    let deviation = calibration.deviations[&Metric::P50];
    assert!((0.02..0.07).contains(&deviation), "{deviation}");
    assert!(calibration.suspicious.is_empty());
    // 2.262 * s / sqrt(10), and one and a half times that.
    let floor = calibration.floor(Metric::P50, 10).unwrap();
    assert!((floor - 0.7154 * deviation).abs() < 1e-4);
    let least = calibration.least_margin(Metric::P50, 10).unwrap();
    assert!((least - (1.5 * floor).exp_m1()).abs() < 1e-9);
}

#[test]
fn a_margin_within_the_noise_is_refused_and_a_default_one_gives_way() {
    let calibration = Calibration {
        of: "here".to_owned(),
        blocks: 10,
        deviations: [(Metric::P50, 0.10)].into(),
        suspicious: Vec::new(),
    };
    let asked = definition(&format!("{LADDER}margin = \"5%\"\n"));
    let refused = Study::new(asked, Options::default(), Some(calibration.clone())).unwrap_err();
    assert!(matches!(refused, Refusal::MarginWithinNoise { metric: Metric::P50, .. }));
    let text = "a margin of 5.0 % for p50 is within this machine's noise; 10 blocks allow 11.3 % or more";
    assert_eq!(refused.to_string(), text);
    let conclusion = run(study_with(LADDER, Options::default(), Some(calibration)), |trial, variant, _| {
        around(trial, planted(variant), 0.01)
    });
    let margin = effect(&conclusion, "stock", "fine", Metric::P50).margin;
    assert!((margin - 0.113).abs() < 0.001, "{margin}");
    assert!((effect(&conclusion, "stock", "fine", Metric::Goodput).margin - 0.05).abs() < 1e-9);
}

#[test]
fn published_figures_stand_beside_measured_ones() {
    let published = r#"
[[published]]
variant = "stock"
workload = "list"
figures = { p50 = "20ms" }

[[published]]
variant = "fine"
workload = "list"
figures = { p50 = "10ms", p99 = "50ms" }
"#;
    let conclusion = run(study(&format!("{LADDER}{published}")), |trial, variant, _| {
        around(trial, planted(variant), 0.01)
    });
    assert!((conclusion.published[0].ratio.unwrap() - 0.5).abs() < 0.06, "{:?}", conclusion.published[0]);
    assert_eq!(conclusion.published[2].measured, None, "no p99 was measured");
    assert_eq!(effect(&conclusion, "stock", "fine", Metric::P50).published, Some(-0.5));
    assert_eq!(conclusion.published.len(), 3);
}

#[test]
fn identical_variants_are_rarely_called_different_all_the_way_through() {
    let studies = 200;
    let wrong = (0..studies).filter(|seed| {
        let rest = format!("[design]\nkind = \"pairs\"\npairs = [[\"stock\", \"fine\"]]\nmetrics = [\"p50\"]\nseed = {seed}\n");
        let conclusion = run(study(&rest), |trial, _, _| around(trial, 10.0, 0.03));
        matches!(effect(&conclusion, "stock", "fine", Metric::P50).verdict, Verdict::Better | Verdict::Worse)
    });
    // 5 % of 200 with three standard deviations: 10 + 9.
    let wrong = wrong.count();
    assert!((1..=19).contains(&wrong), "{wrong} of {studies}");
}

#[test]
fn an_a_a_on_request_runs_the_base_twice_and_decides_nothing_else() {
    let conclusion = run(study(&format!("{LADDER}aa = true\n")), |trial, variant, _| {
        around(trial, planted(variant), 0.02)
    });
    let twin = effect(&conclusion, "stock", "stock again", Metric::P50);
    assert_eq!(twin.relation, Relation::Aa);
    assert!(!matches!(twin.verdict, Verdict::Better | Verdict::Worse));
    assert!(twin.inert && !twin.primary);
    assert_eq!((conclusion.controls.comparisons, conclusion.controls.different), (2, 0), "one per workload");
}

#[test]
fn a_metric_that_no_trial_has_is_said_to_be_missing() {
    let rest = "[design]\nkind = \"ladder\"\nmetrics = [\"p50\", \"p99\"]\n";
    let conclusion = run(study(rest), |trial, _, _| result(&[(Metric::P50, 1e6 + trial.number as f64)]));
    let missing = effect(&conclusion, "stock", "fine", Metric::P99);
    assert_eq!((missing.n_blocks, missing.verdict), (0, Verdict::Undecided));
    assert_eq!(missing.missing, Some(Missing::NoBlock));
    assert_eq!(effect(&conclusion, "stock", "fine", Metric::P50).verdict, Verdict::Same);
}

#[test]
fn a_claim_on_a_percentile_that_trials_are_too_short_for_says_so() {
    let rest = "[design]\nkind = \"ladder\"\nmetrics = [\"p50\"]\n
[claims.tail]\ntext = \"a short tail\"\nvariant = \"fine\"\nworkload = \"list\"\nmetric = \"p99.9\"\nbelow = \"1s\"\ngoal = true\n";
    let conclusion = run(study(rest), |trial, _, _| result(&[(Metric::P50, 1e6 + trial.number as f64)]));
    let claim = &conclusion.claims[0];
    assert_eq!(claim.verdict, ClaimVerdict::Undecided);
    // 10 blocks of 10,000 requests, in which single trials are all that is known.
    let Basis::Missing { missing: Missing::TooFew { requests, needed, measure }, .. } = claim.basis else {
        panic!("{claim:?}")
    };
    assert_eq!((requests, needed), (100_000, 1_000_000));
    assert!(measure.is_some_and(|measure| measure.as_secs_f64() > 49.0), "{measure:?}");
}

#[test]
fn a_conclusion_can_be_drawn_at_any_time_and_stored() {
    let mut study = study(LADDER);
    let empty = study.conclude();
    assert!(!empty.over && empty.timeline.is_empty());
    for _ in 0..7 {
        let trial = study.next().unwrap();
        study.record_result(&trial, around(&trial, 10.0, 0.01)).unwrap();
    }
    let conclusion = study.conclude();
    assert_eq!(conclusion.left, 53);
    let stored = serde_json::to_string(&conclusion).unwrap();
    assert_eq!(serde_json::from_str::<Conclusion>(&stored).unwrap().effects.len(), conclusion.effects.len());
}

#[test]
fn a_claim_that_one_block_measured_says_so_and_how_many_it_takes() {
    let claims = r#"
[claims.bound]
text = "a list takes less than 20 ms"
variant = "stock"
workload = "list"
metric = "p50"
below = "20ms"
goal = true

[claims.change]
text = "fine locks are faster"
variant = "fine"
against = "stock"
workload = "list"
metric = "p50"
expect = "faster"
"#;
    let options = Options { blocks: Some(1), ..Options::default() };
    let text = format!("[design]\nkind = \"ladder\"\nmetrics = [\"p50\", \"goodput\"]\n{claims}");
    let conclusion = run(study_with(&text, options, None), |_, variant, _| {
        result(&[(Metric::P50, planted(variant) * 1e6), (Metric::Goodput, 100.0)])
    });
    let [bound, change] = &conclusion.claims[..] else { panic!() };
    assert!(
        matches!(bound.basis, Basis::Level { n_blocks: 1, level, .. } if level.low.is_none()),
        "{bound:?}"
    );
    assert!(matches!(change.basis, Basis::Change { n_blocks: 1, change, .. } if change.low.is_none()));
    assert!(conclusion.claims.iter().all(|claim| claim.verdict == ClaimVerdict::Undecided));
    // 2 / 2^6 is below 0.05, and 2 / 2^5 is not.
    let step = effect(&conclusion, "stock", "fine", Metric::P50);
    assert!(step.reasons.contains(&Reason::TooFewBlocks { needed: 6 }), "{:?}", step.reasons);
}

#[test]
fn a_claim_whose_trials_do_not_count_says_why_they_do_not() {
    let claim = "\n[claims.C]\ntext = \"quick\"\nvariant = \"stock\"\nworkload = \"list\"\nmetric = \"p50\"\nbelow = \"20ms\"\ngoal = true\n";
    let options = Options { blocks: Some(1), ..Options::default() };
    let study = study_with(&format!("{LADDER}{claim}"), options, None);
    let conclusion = run(study, |_, _, _| invalid("the generator was late"));
    let claim = &conclusion.claims[0];
    assert_eq!(claim.verdict, ClaimVerdict::Open);
    let absence = Absence::NoneUsable { trials: 1, why: "the generator was late".to_owned() };
    assert!(
        matches!(&claim.basis, Basis::NoValidTrial { absence: found, .. } if *found == absence),
        "{claim:?}"
    );
}

#[test]
fn the_cpus_bound_the_throughput_of_a_variant_and_a_study_says_how_close_it_gets() {
    let conclusion = run(study(LADDER), |_, _, _| {
        let costs = [
            (Metric::GeneratorCpuPerRequest, 30_000.0),
            (Metric::CpuPerRequest, 100_000.0),
            (Metric::StoreCpuPerRequest, 70_000.0),
        ];
        // Of 10,000 requests/s half are errors, so that 5,000 are answered OK.
        let result =
            result(&[&costs[..], &[(Metric::Goodput, 5_000.0 / 2.0), (Metric::Errors, 0.5)]].concat());
        let TrialResult::Measured(mut measured) = result else { panic!() };
        let cpus = [("generator", "0-1"), ("service.main", "0-1"), ("postgres.db", "0-1")];
        measured.placement.cpus =
            cpus.map(|(component, cpus)| (component.to_owned(), cpus.to_owned())).into();
        TrialResult::Measured(measured)
    });
    let bound = &conclusion.bounds[0];
    // 2 CPUs / 200 us = 10,000 a second, of which 5,000 ended.
    assert!((bound.limit - 10_000.0).abs() < 1e-6 && (bound.reached - 0.5).abs() < 1e-9, "{bound:?}");
    assert_eq!((bound.by.len(), bound.cpus, bound.n_blocks), (3, 2, 10));
}

/// A valid trial with these response times in milliseconds, and this many requests that failed at once.
fn with_times(millis: &[f64], failed: u64) -> TrialResult {
    let nanos: Vec<f64> = millis.iter().map(|millis| millis * 1e6).collect();
    let greatest = nanos.iter().copied().fold(0.0, f64::max);
    let TrialResult::Measured(mut measured) = result(&[(Metric::Max, greatest)]) else { panic!() };
    measured.requests = nanos.len() as u64 + failed;
    measured.times = Some(ResponseTimes::of_values(&nanos, failed));
    TrialResult::Measured(measured)
}

const PERCENTILES: &str =
    "[design]\nkind = \"pairs\"\npairs = [[\"stock\", \"fine\"]]\nmetrics = [\"p95\"]\nblocks = 8\n";

#[test]
fn a_slow_trial_with_few_requests_stays_in_the_percentile_of_its_variant() {
    let conclusion = run(study(PERCENTILES), |trial, variant, _| {
        // Users who wait: where each response takes ten times as long, there are a tenth of the requests.
        let slow = variant.name == "fine" && trial.block % 2 == 0;
        let (requests, level) = if slow { (60, 100.0) } else { (600, 10.0) };
        let times: Vec<f64> = (0..requests)
            .map(|request| level * (1.0 + 0.5 * f64::from(request) / f64::from(requests)))
            .collect();
        with_times(&times, 0)
    });
    let found = effect(&conclusion, "stock", "fine", Metric::P95);
    assert_eq!((found.n_blocks, found.contrast), (8, Some(Contrast::Merged)), "{found:?}");
    // 240 of 2,640 requests of `fine` take 100 ms or more: its p95 is among them, and no trial alone has enough.
    assert!(found.change.unwrap().estimate > 5.0, "{found:?}");
    assert_ne!(found.verdict, Verdict::Better);
}

#[test]
fn a_percentile_that_all_trials_together_are_too_short_for_says_which_length_would_do() {
    let conclusion = run(study(PERCENTILES), |_, _, _| with_times(&[10.0; 100], 0));
    let found = effect(&conclusion, "stock", "fine", Metric::P95);
    let Some(Missing::TooFew { requests: 800, needed: 2_000, measure: Some(measure) }) = found.missing else {
        panic!("{found:?}")
    };
    assert!(measure.as_secs_f64() >= 5.0 * 2.5, "{measure}");
    assert_eq!(found.verdict, Verdict::Undecided);
}

#[test]
fn trials_get_longer_after_the_first_block_if_a_percentile_needs_it() {
    let mut study = study(PERCENTILES);
    let mut lengths = Vec::new();
    while let Some(trial) = study.next() {
        lengths.push((trial.block, study.measure(&trial).as_secs_f64()));
        study.record_result(&trial, with_times(&[10.0; 100], 0)).unwrap();
    }
    // 2,000 requests over 8 blocks are 250 per trial: three times 5 s with a fifth to spare.
    let expected = |block: usize| if block == 0 { 5.0 } else { 15.0 };
    assert!(lengths.iter().all(|(block, seconds)| (seconds - expected(*block)).abs() < 0.1), "{lengths:?}");
    assert_eq!(study.conclude().lengthened.len(), 2, "both workloads");
}

#[test]
fn a_lower_bound_decides_only_what_it_can() {
    // Half of the requests of `fine` fail: its p95 is above every success.
    let against = |stock: f64| {
        let conclusion = run(study(PERCENTILES), |_, variant, _| {
            if variant.name == "fine" {
                with_times(&[20.0; 500], 500)
            } else {
                with_times(&[stock; 1_000], 0)
            }
        });
        effect(&conclusion, "stock", "fine", Metric::P95).verdict
    };
    assert_eq!(against(10.0), Verdict::Worse, "20 ms or more are more than 10 ms");
    assert_eq!(against(40.0), Verdict::Undecided, "20 ms or more can be less or more than 40 ms");
}

const SLOWEST: &str = "\n[claims.all]\ntext = \"no request takes more than 250 ms\"\nvariant = \"fine\"\nworkload = \"list\"\n\
                       metric = \"max\"\nbelow = \"250ms\"\ngoal = true\n";

#[test]
fn one_request_above_a_limit_refutes_that_there_is_none() {
    let with = |slowest: f64, failed: u64| {
        let study = study(&format!("{PERCENTILES}{SLOWEST}"));
        let conclusion = run(study, |trial, _, _| {
            let mut times = vec![16.0; 1_000];
            if trial.block == 3 {
                times.push(slowest);
            }
            with_times(&times, if trial.block == 5 { failed } else { 0 })
        });
        let claim = conclusion.claims[0].clone();
        let Basis::Counted { above, of, at_most, .. } = claim.basis else { panic!("{claim:?}") };
        (claim.verdict, above, of, at_most)
    };
    let (verdict, above, of, at_most) = with(249.9, 0);
    assert_eq!((verdict, above, of), (ClaimVerdict::Confirmed, 0, 8_001));
    assert!((at_most - 3.0 / 8_001.0).abs() < 1e-6, "the rule of three: {at_most}");
    assert_eq!(with(300.0, 0).1, 1);
    assert_eq!(with(300.0, 0).0, ClaimVerdict::Refuted);
    assert_eq!(with(249.9, 2).0, ClaimVerdict::Refuted, "a request that failed did not end in time");
}

#[test]
fn a_claim_is_open_where_every_trial_of_a_variant_is_suspect() {
    let claim = "\n[claims.C]\ntext = \"faster\"\nvariant = \"fine\"\nagainst = \"stock\"\nworkload = \"list\"\nmetric = \"p50\"\n\
                 expect = \"faster\"\n";
    let conclusion = run(study(&format!("{LADDER}{claim}")), |trial, variant, _| {
        let TrialResult::Measured(mut measured) = around(trial, planted(variant), 0.01) else { panic!() };
        if variant.name == "fine" {
            measured.validity = Validity::Suspect;
        }
        TrialResult::Measured(measured)
    });
    assert_eq!(
        effect(&conclusion, "stock", "fine", Metric::P50).verdict,
        Verdict::Better,
        "the effect is shown"
    );
    let claim = &conclusion.claims[0];
    assert_eq!(claim.verdict, ClaimVerdict::Open);
    assert_eq!((claim.valid, claim.trials), (10, 20), "those of stock");
    let Basis::NoValidTrial { cell, absence: Absence::AllSuspect { trials: 10 } } = &claim.basis else {
        panic!("{claim:?}")
    };
    assert_eq!(cell.variant, "fine");
}

#[test]
fn a_switch_that_does_not_affect_a_workload_is_a_negative_control_there() {
    let text = HEAD.replace("default = \"coarse\"", "default = \"coarse\"\naffects = [\"create\"]");
    let definition = Definition::read(&format!("{text}{LADDER}"), "study.toml", &|_| true).unwrap();
    let study = Study::new(definition, Options::default(), None).unwrap();
    // A machine that favours `fine` even where it is the same service.
    let conclusion = run(study, |trial, variant, _| around(trial, planted(variant), 0.01));
    let of = |workload: &str| {
        let mut effects = conclusion.effects.iter();
        effects
            .find(|e| e.to.variant == "fine" && e.to.workload == workload && e.metric == Metric::P50)
            .unwrap()
    };
    assert!(of("list").inert && !of("list").primary && !of("create").inert);
    assert_eq!(
        (conclusion.controls.comparisons, conclusion.controls.different),
        (1, 1),
        "its false verdict counts"
    );
}

#[test]
fn the_primary_comparisons_of_a_study_are_corrected_together() {
    let conclusion = run(study(LADDER), |trial, variant, _| around(trial, planted(variant), 0.02));
    let primary: Vec<_> = conclusion.effects.iter().filter(|effect| effect.primary).collect();
    // Two steps and one since the first, under two workloads, by the first metric.
    assert_eq!(primary.len(), 6);
    assert!(primary.iter().all(|effect| effect.metric == Metric::P50 && effect.tests == 6), "{primary:#?}");
    let goodput = effect(&conclusion, "stock", "fine", Metric::Goodput);
    assert_eq!((goodput.primary, goodput.tests), (false, 3));
}

#[test]
fn the_headline_is_the_step_that_changed_most_and_not_the_last_variant() {
    let text = format!("{LADDER}order = [\"stock\", \"fine\", \"cached\"]\n");
    // The fine lock does all of it, the cache nothing.
    let conclusion = run(study(&text), |trial, variant, _| around(trial, planted(variant) / 4.0 * 2.0, 0.01));
    let first = &conclusion.effects[conclusion.headline.decided[0]];
    assert_eq!((first.from.variant.as_str(), first.to.variant.as_str()), ("stock", "fine"));
    let others: Vec<&str> = conclusion
        .headline
        .others
        .iter()
        .map(|index| conclusion.effects[*index].to.variant.as_str())
        .collect();
    assert_eq!(others, ["cached", "cached"], "one per workload");
}

#[test]
fn a_change_of_errors_is_in_points_wherever_the_variants_are() {
    for level in [0.0, 0.01, 0.5, 0.885] {
        let conclusion = run(study(LADDER), |trial, variant, _| {
            let noise = [0.01, -0.02, 0.015, 0.0, -0.01, 0.005, 0.02, -0.015, 0.008, -0.003][trial.block];
            let share = if variant.name == "fine" { level * (1.0 + noise) } else { 0.0 };
            let TrialResult::Measured(mut measured) = result(&[(Metric::Errors, share)]) else { panic!() };
            let failed = (share * 10_000.0).round() as u64;
            measured.responses = Some(Counted { failed, of: 10_000 });
            TrialResult::Measured(measured)
        });
        let found = effect(&conclusion, "stock", "fine", Metric::Errors);
        let change = found.change.unwrap();
        let (low, high) = (change.low.unwrap(), change.high.unwrap());
        assert!((change.estimate - level).abs() < 0.002, "{found:?}");
        assert!(low < change.estimate && change.estimate < high, "no interval is a point: {change:?}");
        if level > 0.0 {
            assert!(low > 0.98 * level - 0.001 && high < 1.02 * level + 0.001, "{change:?}");
            assert_eq!(found.verdict, Verdict::Worse);
        } else {
            // 3.7 in 100,000 either way.
            assert!(high < 5e-5 && low > -5e-5, "{change:?}");
            assert_eq!(found.verdict, Verdict::Same);
        }
    }
}
