//! Claims: what decides each kind, and what leaves one open.

use knee_core::validity::Validity;
use knee_study::estimand::Missing;
use knee_study::metric::Metric;
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{
    Absence, Basis, ClaimResult, ClaimVerdict, Options, Reason, Study, Trial, TrialResult, TrialWarning,
};

use crate::bench::{
    LADDER, PERCENTILES, around, definition, effect, invalid, planted, result, run, study, study_with,
    with_times,
};

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
fn one_variant_alone_runs_if_a_claim_compares_its_workloads() {
    let only = |claims: &str| {
        let options = Options { variants: vec!["stock".to_owned()], ..Options::default() };
        Study::new(definition(&format!("{LADDER}{claims}")), options, None)
    };
    assert!(only("").is_err(), "nothing to compare");
    let study = only(CLAIMS).unwrap();
    let conclusion = run(study, |trial, variant, _| around(trial, planted(variant), 0.01));
    let verdict = |id: &str| conclusion.claims.iter().find(|claim| claim.id == id).unwrap().verdict;
    assert_eq!(verdict("same"), ClaimVerdict::Confirmed);
}

#[test]
fn a_study_of_one_variant_is_answered_by_the_comparisons_of_its_claims() {
    let rest = r#"
[design]
kind = "ladder"
order = ["stock"]
blocks = 8
metrics = ["goodput"]

[claims.slower]
text = "creating takes longer"
variant = "stock"
workload = "create"
against_workload = "list"
metric = "p50"
expect = "slower"
"#;
    let millis = |trial: &Trial| if trial.workload == "create" { 20.0 } else { 10.0 };
    let conclusion = run(study(rest), |trial, _, _| around(trial, millis(trial), 0.01));
    assert_eq!(conclusion.headline.decided, [0]);
    assert_eq!(conclusion.effects[0].verdict, Verdict::Worse);
    assert_eq!(conclusion.claims[0].verdict, ClaimVerdict::Confirmed);
}

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
fn a_claim_of_a_stall_is_one_of_any_trial_and_not_of_their_mean() {
    let stalls = |stalled: fn(usize) -> bool, blocks: usize| {
        let claim = SLOWEST.replace("below = \"250ms\"", "above = \"1s\"");
        let options = Options { blocks: Some(blocks), ..Options::default() };
        let study = study_with(&format!("{PERCENTILES}{claim}"), options, None);
        let conclusion = run(study, |trial, _, _| {
            let mut times = vec![16.0; 1_000];
            times.extend(stalled(trial.block).then_some(5_000.0));
            with_times(&times, 0)
        });
        let Basis::Happens { trials, of, .. } = conclusion.claims[0].basis else { panic!() };
        (conclusion.claims[0].verdict, trials, of)
    };
    assert_eq!(stalls(|block| block == 3, 8), (ClaimVerdict::Confirmed, 1, 8));
    assert_eq!(stalls(|_| false, 8), (ClaimVerdict::Refuted, 0, 8));
    assert_eq!(stalls(|_| false, 4), (ClaimVerdict::Undecided, 0, 4), "every third run can stall unseen");
}

#[test]
fn a_stall_that_makes_requests_pile_up_counts_and_one_of_a_late_generator_does_not() {
    let with = |codes: &[&str]| {
        let claim = SLOWEST.replace("below = \"250ms\"", "above = \"1s\"");
        let study = study_with(&format!("{PERCENTILES}{claim}"), Options::default(), None);
        let conclusion = run(study, |_, _, _| {
            let mut times = vec![16.0; 1_000];
            times.push(5_000.0);
            let TrialResult::Measured(mut measured) = with_times(&times, 0) else { panic!() };
            measured.validity = Validity::Suspect;
            measured.warnings = codes.iter().map(|code| TrialWarning::new(*code, "it is so")).collect();
            TrialResult::Measured(measured)
        });
        conclusion.claims[0].verdict
    };
    assert_eq!(with(&["littles_law"]), ClaimVerdict::Confirmed);
    assert_eq!(with(&["littles_law", "lag"]), ClaimVerdict::Open);
    assert_eq!(with(&["lag"]), ClaimVerdict::Open);
    assert_eq!(with(&[]), ClaimVerdict::Open);
}

/// A claim that `fine` and `stock` compare like this.
fn expecting(expect: &str) -> String {
    format!(
        "{LADDER}\n[claims.C]\ntext = \"it\"\nvariant = \"fine\"\nagainst = \"stock\"\nworkload = \"list\"\n\
         metric = \"p50\"\nexpect = \"{expect}\"\n"
    )
}

/// What becomes of it if `fine` takes so many times as long as `stock`, with blocks that differ by `spread`.
fn verdict_if(expect: &str, times: f64, spread: f64) -> ClaimVerdict {
    let conclusion = run(study(&expecting(expect)), |trial, variant, _| {
        around(trial, if variant.name == "fine" { 10.0 * times } else { 10.0 }, spread)
    });
    conclusion.claims[0].verdict
}

#[test]
fn what_can_be_worse_is_not_refuted_by_being_worse() {
    for (expect, better, worse) in [("not-faster", 0.8, 1.2), ("not-slower", 1.2, 0.8)] {
        assert_eq!(verdict_if(expect, worse, 0.005), ClaimVerdict::Confirmed, "{expect}");
        assert_eq!(verdict_if(expect, 1.0, 0.005), ClaimVerdict::Confirmed, "{expect}");
        assert_eq!(verdict_if(expect, better, 0.005), ClaimVerdict::Refuted, "{expect}");
        assert_eq!(verdict_if(expect, 1.0, 0.4), ClaimVerdict::Undecided, "{expect}");
    }
}

#[test]
fn a_difference_that_is_sure_and_can_be_smaller_than_the_margin_does_not_refute_that_two_are_the_same() {
    // The margin is 5 %.
    assert_eq!(verdict_if("same", 1.0, 0.005), ClaimVerdict::Confirmed);
    assert_eq!(verdict_if("same", 1.05, 0.02), ClaimVerdict::Undecided);
    assert_eq!(verdict_if("same", 1.2, 0.02), ClaimVerdict::Refuted);
}

#[test]
fn blocks_in_which_nothing_was_answered_are_not_left_out_of_a_rate() {
    let conclusion = run(
        study("[design]\nkind = \"ladder\"\nblocks = 8\nmetrics = [\"goodput\"]\n"),
        |trial, variant, _| {
            let stalls = variant.name == "stock" && trial.block < 3;
            result(&[(Metric::Goodput, if stalls { 0.0 } else { 100.0 })])
        },
    );
    let effect = effect(&conclusion, "stock", "fine", Metric::Goodput);
    assert_eq!(effect.missing, Some(Missing::Standstill { blocks: 3, of: 8 }));
    assert_eq!(effect.verdict, Verdict::Undecided);
}

#[test]
fn a_claim_is_open_where_fewer_than_half_of_the_trials_of_a_variant_are_valid() {
    let with = |valid: usize| {
        let conclusion = run(study(&expecting("faster")), |trial, variant, _| {
            let TrialResult::Measured(mut measured) = around(trial, planted(variant), 0.01) else { panic!() };
            if variant.name == "fine" && trial.block >= valid {
                measured.validity = Validity::Suspect;
            }
            TrialResult::Measured(measured)
        });
        conclusion.claims[0].clone()
    };
    let few = with(4);
    assert_eq!(few.verdict, ClaimVerdict::Open);
    let Basis::NoValidTrial { absence: Absence::FewValid { valid: 4, trials: 10 }, .. } = few.basis else {
        panic!("{few:?}")
    };
    assert_eq!(with(5).verdict, ClaimVerdict::Confirmed);
}

#[test]
fn a_claim_is_open_where_most_trials_of_a_variant_are_invalid_however_many_are_left() {
    let with = |spoilt: usize| {
        let options = Options { blocks: Some(20), ..Options::default() };
        let study = study_with(&expecting("faster"), options, None);
        let conclusion = run(study, |trial, variant, _| {
            if variant.name == "fine" && trial.block < spoilt {
                return invalid("the generator was late");
            }
            around(trial, planted(variant), 0.01)
        });
        conclusion.claims[0].clone()
    };
    // Eight blocks are enough for a verdict. Which eight of twenty they are can depend on what the variant does.
    let few = with(12);
    assert_eq!(few.verdict, ClaimVerdict::Open);
    let Basis::NoValidTrial { absence: Absence::FewValid { valid: 8, trials: 20 }, .. } = few.basis else {
        panic!("{few:?}")
    };
    assert_eq!(with(10).verdict, ClaimVerdict::Confirmed);
}

/// Claims about sizes, bounds and equivalence: each is decided by an interval.
const BY_INTERVAL: &str = r#"
[claims.size]
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

[claims.factor]
text = "it doubles the rate"
workload = "list"
metric = "goodput"
variant = "fine"
against = "stock"
expect = "faster"
at_least = "2x"

[claims.enough]
text = "it takes no longer"
workload = "list"
metric = "p50"
variant = "fine"
against = "stock"
expect = "not-slower"

[claims.below]
text = "it takes less than 20 ms"
workload = "list"
metric = "p50"
variant = "fine"
below = "20ms"
goal = true

[claims.above]
text = "it takes more than 20 ms"
workload = "list"
metric = "p50"
variant = "fine"
above = "20ms"
goal = true

[claims.alike]
text = "a cache makes no difference"
workload = "list"
metric = "p50"
variant = "cached"
against = "fine"
expect = "same"
"#;

#[test]
fn an_interval_of_five_blocks_neither_confirms_nor_refutes_a_claim_and_one_of_six_does() {
    let with = |blocks: usize| {
        let options = Options { blocks: Some(blocks), ..Options::default() };
        let study = study_with(&format!("{LADDER}{BY_INTERVAL}"), options, None);
        run(study, |trial, variant, _| around(trial, planted(variant), 0.005)).claims
    };
    let verdicts =
        |claims: &[ClaimResult]| claims.iter().map(|claim| claim.verdict).collect::<Vec<ClaimVerdict>>();
    let least = |claim: &ClaimResult| match claim.basis {
        Basis::Change { least_blocks, .. } | Basis::Level { least_blocks, .. } => least_blocks,
        _ => None,
    };
    let few = with(5);
    assert_eq!(verdicts(&few), [ClaimVerdict::Undecided; 7], "{few:#?}");
    assert!(few.iter().all(|claim| least(claim) == Some(6)), "{few:#?}");
    let enough = with(6);
    let (yes, no) = (ClaimVerdict::Confirmed, ClaimVerdict::Refuted);
    assert_eq!(verdicts(&enough), [yes, no, no, yes, yes, no, yes], "{enough:#?}");
    assert!(enough.iter().all(|claim| least(claim).is_none()), "{enough:#?}");
}

#[test]
fn four_trials_without_a_slow_request_do_not_show_that_there_is_none() {
    let with = |blocks: usize| {
        let options = Options { blocks: Some(blocks), ..Options::default() };
        let study = study_with(&format!("{PERCENTILES}{SLOWEST}"), options, None);
        run(study, |_, _, _| with_times(&[16.0; 1_000], 0)).claims[0].verdict
    };
    assert_eq!([with(4), with(5)], [ClaimVerdict::Undecided, ClaimVerdict::Confirmed]);
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
        Verdict::Open,
        "nor does the comparison have a verdict"
    );
    let claim = &conclusion.claims[0];
    assert_eq!(claim.verdict, ClaimVerdict::Open);
    assert_eq!((claim.valid, claim.trials), (10, 20), "those of stock");
    let Basis::NoValidTrial { cell, absence: Absence::AllSuspect { trials: 10 } } = &claim.basis else {
        panic!("{claim:?}")
    };
    assert_eq!(cell.variant, "fine");
}
