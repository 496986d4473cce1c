//! Conclusions: verdicts on planted effects, claims, growth, the noise floor.

use std::collections::BTreeMap;

use knee_study::definition::Variant;
use knee_study::metric::Metric;
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{
    Calibration, ClaimVerdict, Conclusion, Effect, GrowthClass, Options, Refusal, Relation, Study,
    TrialResult,
};

use crate::bench::{around, definition, invalid, result, run, study, study_with};

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
    assert_eq!((step.verdict, &step.relation), (Verdict::Faster, &Relation::Step));
    let change = step.change.unwrap();
    assert!(change.low.unwrap() < -0.2 && -0.2 < change.high.unwrap(), "{change:?}");
    assert_eq!(effect(&conclusion, "stock", "fine", Metric::Goodput).verdict, Verdict::Faster, "more of it");
    assert_eq!(effect(&conclusion, "stock", "fine", Metric::Errors).verdict, Verdict::Same);
    assert_eq!(effect(&conclusion, "fine", "cached", Metric::P50).verdict, Verdict::Same);
    let since = effect(&conclusion, "stock", "cached", Metric::P50);
    assert_eq!((since.verdict, &since.relation), (Verdict::Faster, &Relation::SinceFirst));
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
    assert!(step.notes.iter().any(|note| note == "without block 7 the verdict changes"), "{:?}", step.notes);
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
    assert_eq!(verdict("stock", "cached"), (Verdict::Faster, Relation::Whole));
    assert_eq!(verdict("stock", "stock + cache"), (Verdict::Faster, Relation::Added("cache".to_owned())));
    assert_eq!(verdict("cached - cache", "cached"), (Verdict::Same, Relation::Removed("cache".to_owned())));
    assert_eq!(verdict("cached - lock", "cached"), (Verdict::Faster, Relation::Removed("lock".to_owned())));
}

#[test]
fn a_quick_study_tells_large_changes_only() {
    let quick = |millis: f64| {
        let options = Options { quick: true, ..Options::default() };
        let conclusion = run(study_with(LADDER, options, None), |trial, variant, _| {
            around(trial, if variant.switches["lock"] == "fine" { millis } else { 10.0 }, 0.015)
        });
        assert_eq!(conclusion.blocks, 6);
        assert!(conclusion.notes.iter().any(|note| note.starts_with("quick study: detects only changes")));
        effect(&conclusion, "stock", "fine", Metric::P50).verdict
    };
    assert_eq!(quick(5.0), Verdict::Faster);
    assert_eq!(quick(9.0), Verdict::Same, "10 % is no large change");
    assert_eq!(quick(8.0), Verdict::Undecided, "about at the limit");
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
    assert!(claim.why.ends_with(" blocks); claimed: 10×"), "{}", claim.why);
}

#[test]
fn a_claim_of_no_errors_needs_enough_requests() {
    let claim = "\n[claims.clean]\ntext = \"none\"\nworkload = \"list\"\nmetric = \"errors\"\nvariant = \"fine\"\nbelow = \"0.001%\"\n";
    // None of 100,000: with 95 % fewer than 3 in 100,000, and not fewer than 1 in 100,000.
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
        matches!(effect(&conclusion, "stock", "fine", Metric::P50).verdict, Verdict::Faster | Verdict::Slower)
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
    assert!(!matches!(twin.verdict, Verdict::Faster | Verdict::Slower));
    assert!(conclusion.notes.iter().any(|note| note.starts_with("A/A test: different in 0 of")));
}

#[test]
fn a_metric_that_no_trial_has_is_said_to_be_missing() {
    let rest = "[design]\nkind = \"ladder\"\nmetrics = [\"p50\", \"p99\"]\n";
    let conclusion = run(study(rest), |trial, _, _| result(&[(Metric::P50, 1e6 + trial.number as f64)]));
    let missing = effect(&conclusion, "stock", "fine", Metric::P99);
    assert_eq!((missing.n_blocks, missing.verdict), (0, Verdict::Undecided));
    assert_eq!(missing.notes, ["no block measured both sides"]);
    assert_eq!(effect(&conclusion, "stock", "fine", Metric::P50).verdict, Verdict::Same);
}

#[test]
fn a_claim_on_a_percentile_that_trials_are_too_short_for_says_so() {
    let rest = "[design]\nkind = \"ladder\"\nmetrics = [\"p50\"]\n
[claims.tail]\ntext = \"a short tail\"\nvariant = \"fine\"\nworkload = \"list\"\nmetric = \"p99.9\"\nbelow = \"1s\"\n";
    let conclusion = run(study(rest), |trial, _, _| result(&[(Metric::P50, 1e6 + trial.number as f64)]));
    let claim = &conclusion.claims[0];
    assert_eq!(claim.verdict, ClaimVerdict::Undecided);
    assert_eq!(claim.why, "fine, list: p99.9 needs 100000 requests per trial, the largest trial has 10000");
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
    assert_eq!(conclusion.notes[0], "unfinished: 53 trials left; the results can change");
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
    let why: Vec<&str> = conclusion.claims.iter().map(|claim| claim.why.as_str()).collect();
    assert_eq!(why[0], "p50, stock, list: 10.0 ms (1 block); a verdict needs 2");
    // 2 metrics at 5 %: 2 * 2/2^7 = 0.031, and 0.063 with a block less.
    assert!(why[1].ends_with("(1 block), undecided; a verdict needs 7 blocks"), "{}", why[1]);
    assert!(!why[1].contains('?'), "{}", why[1]);
    assert!(conclusion.claims.iter().all(|claim| claim.verdict == ClaimVerdict::Undecided));
}

#[test]
fn a_claim_whose_trials_do_not_count_says_why_they_do_not() {
    let claim = "\n[claims.C]\ntext = \"quick\"\nvariant = \"stock\"\nworkload = \"list\"\nmetric = \"p50\"\nbelow = \"20ms\"\n";
    let options = Options { blocks: Some(1), ..Options::default() };
    let study = study_with(&format!("{LADDER}{claim}"), options, None);
    let conclusion = run(study, |_, _, _| invalid("the generator was late"));
    assert_eq!(conclusion.claims[0].why, "stock, list: 2 trials, none usable: the generator was late");
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
