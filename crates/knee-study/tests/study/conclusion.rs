//! Conclusions: verdicts on planted effects, growth, published figures, the bound of the CPUs, the headline.

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use knee_study::estimand::Missing;
use knee_study::metric::Metric;
use knee_study::statistics::share::Counted;
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{Absence, Conclusion, GrowthClass, Options, Reason, Relation, TrialResult};

use crate::bench::{LADDER, around, effect, planted, result, run, study, study_with};

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
    let with = |blocks: Option<usize>, millis: f64, spread: f64| {
        let options = Options { quick: true, blocks, ..Options::default() };
        let conclusion = run(study_with(LADDER, options, None), |trial, variant, _| {
            around(trial, if variant.switches["lock"] == "fine" { millis } else { 10.0 }, spread)
        });
        assert_eq!(conclusion.blocks, blocks.unwrap_or(6));
        effect(&conclusion, "stock", "fine", Metric::P50).clone()
    };
    let quick = |millis: f64, spread: f64| with(None, millis, spread);
    assert_eq!(quick(5.0, 0.015).verdict, Verdict::Better);
    assert_eq!(quick(9.0, 0.01).verdict, Verdict::Better, "10 % is certain, and is said");
    let open = quick(10.0, 0.06);
    assert_eq!(open.verdict, Verdict::Undecided);
    assert!(open.reasons.contains(&Reason::NotLarge { change: 0.25 }), "{:?}", open.reasons);
    let few = with(Some(3), 10.0, 0.001);
    assert_eq!(few.verdict, Verdict::Undecided, "three blocks that agree");
    assert_eq!(few.reasons.first(), Some(&Reason::TooFewBlocks { needed: 6 }));
    assert!(!few.reasons.contains(&Reason::NotLarge { change: 0.25 }), "they exclude no large change either");
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
fn a_metric_that_no_trial_has_is_said_to_be_missing() {
    let rest = "[design]\nkind = \"ladder\"\nmetrics = [\"p50\", \"p99\"]\n";
    let conclusion = run(study(rest), |trial, _, _| result(&[(Metric::P50, 1e6 + trial.number as f64)]));
    let missing = effect(&conclusion, "stock", "fine", Metric::P99);
    assert_eq!((missing.n_blocks, missing.verdict), (0, Verdict::Undecided));
    assert_eq!(missing.missing, Some(Missing::NoBlock));
    assert_eq!(effect(&conclusion, "stock", "fine", Metric::P50).verdict, Verdict::Same);
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

#[test]
fn a_comparison_has_no_verdict_where_fewer_than_half_of_the_trials_of_a_side_are_valid() {
    let with = |valid: usize| {
        run(study(LADDER), |trial, variant, _| {
            let TrialResult::Measured(mut measured) = around(trial, planted(variant), 0.01) else { panic!() };
            if variant.name == "fine" && trial.workload == "list" && trial.block >= valid {
                measured.validity = Validity::Suspect;
            }
            TrialResult::Measured(measured)
        })
    };
    // `stock` and `fine` are certain to differ, and `fine` and `cached` to be the same: but not from such trials.
    for (valid, absence) in
        [(4, Absence::FewValid { valid: 4, trials: 10 }), (0, Absence::AllSuspect { trials: 10 })]
    {
        let conclusion = with(valid);
        for (from, to) in [("stock", "fine"), ("fine", "cached")] {
            let open = effect(&conclusion, from, to, Metric::P50);
            assert_eq!((open.verdict, open.blocks_needed), (Verdict::Open, None), "{open:?}");
            assert!(open.change.is_some() && !open.is_regression(), "what was measured stays: {open:?}");
            let Some(Reason::NotValid { cell, absence: found }) = open.reasons.first() else {
                panic!("{open:?}")
            };
            assert_eq!((cell.variant.as_str(), found), ("fine", &absence));
        }
        let since = effect(&conclusion, "stock", "cached", Metric::P50);
        assert_eq!(since.verdict, Verdict::Better, "both of its sides are valid");
        let headline = &conclusion.headline;
        let is_open = |index: &usize| conclusion.effects[*index].verdict == Verdict::Open;
        assert!(headline.open.iter().all(is_open) && headline.open.len() == 2, "{headline:?}");
        assert!(!headline.decided.iter().chain(&headline.others).any(is_open), "{headline:?}");
    }
    assert_eq!(effect(&with(5), "stock", "fine", Metric::P50).verdict, Verdict::Better);
}

#[test]
fn a_negative_control_without_enough_valid_trials_is_not_counted() {
    let with = |validity: Validity| {
        let options = Options { aa: Some("stock".to_owned()), ..Options::default() };
        let conclusion = run(study_with(LADDER, options, None), |trial, _, _| {
            let TrialResult::Measured(mut measured) = around(trial, 10.0, 0.01) else { panic!() };
            measured.validity = validity;
            TrialResult::Measured(measured)
        });
        conclusion.controls.comparisons
    };
    assert_eq!((with(Validity::Valid), with(Validity::Suspect)), (2, 0), "one of each workload");
}
