//! Noise: what an A/A test, negative controls and the correction for several tests do about it.

use knee_study::definition::Definition;
use knee_study::metric::Metric;
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{Calibration, Options, Refusal, Relation, Study};

use crate::bench::{HEAD, LADDER, around, definition, effect, planted, run, study, study_with};

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
