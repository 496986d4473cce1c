//! How a comparison ends the program, with prescribed trials.

use std::collections::BTreeMap;

use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_report::study::markdown;
use knee_study::compare::{Asked, B, variant};
use knee_study::metric::Metric;
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{Calibration, Figure, Measured, Placement, Trial, TrialResult, TrialWarning};

use super::*;

fn study(metrics: Vec<Metric>, margin: Option<f64>, noise: Option<Calibration>) -> Study {
    let asked = Asked {
        title: "A and B".to_owned(),
        fixture: knee_core::fixture::Declaration::default(),
        variants: vec![variant("A", "http://a/"), variant("B", "http://b/")],
        blocks: 10,
        warm_up: Nanos::ZERO,
        measure: Nanos::from_secs(1),
        seed: 7,
        margin,
        metrics,
    };
    Study::new(asked.definition(), Options::default(), noise).unwrap()
}

/// What a side that answers in `millis` measured, with some noise of the block and a little of its own.
fn measured(trial: &Trial, millis: f64) -> TrialResult {
    let noise = 1.0 + 0.02 * ((trial.block % 5) as f64) + 0.002 * ((trial.number % 7) as f64);
    let figures: BTreeMap<Metric, Figure> = [
        (Metric::P50, Figure::from(millis * noise * 1e6)),
        (Metric::Goodput, Figure::from(1_000.0 / (millis * noise))),
        (Metric::Errors, Figure::from(0.0)),
    ]
    .into();
    TrialResult::Measured(Measured {
        figures,
        requests: 1_000,
        validity: Validity::Valid,
        warnings: Vec::new(),
        steady: Some(true),
        kept_up: None,
        host_busy: None,
        times: None,
        responses: None,
        endpoints: BTreeMap::new(),
        statements: BTreeMap::new(),
        resources: BTreeMap::new(),
        record: None,
        placement: Placement::default(),
    })
}

fn compared(mut study: Study, result: impl Fn(&Trial) -> TrialResult) -> Comparison {
    while let Some(trial) = study.next() {
        study.record_result(&trial, result(&trial)).unwrap();
    }
    Comparison::of(&study, "a load")
}

/// B answers in `millis`, A in one.
fn b_takes(millis: f64) -> Comparison {
    let study = study(vec![Metric::Goodput, Metric::P50, Metric::Errors], Some(0.05), None);
    compared(study, |trial| measured(trial, if trial.variant == B { millis } else { 1.0 }))
}

#[test]
fn a_side_that_is_slower_by_more_than_the_margin_has_an_exit_code_of_its_own() {
    for (millis, verdict, exit) in [
        (1.5, Verdict::Worse, Exit::Slower),
        (0.5, Verdict::Better, Exit::Ok),
        (1.0, Verdict::Same, Exit::Ok),
        // For certain, and by less than the margin.
        (1.02, Verdict::Worse, Exit::Ok),
    ] {
        let comparison = b_takes(millis);
        assert_eq!(comparison.verdict, verdict, "{millis}");
        assert_eq!(exit_of(&comparison, false), exit, "{millis}");
        assert_eq!(exit_of(&comparison, true), Exit::Interrupted, "what was asked for is not there");
    }
    assert_eq!(b_takes(1.5).regressions, [Metric::Goodput, Metric::P50]);
}

#[test]
fn a_comparison_without_a_usable_block_shows_nothing_and_says_so() {
    let study = study(vec![Metric::P50], None, None);
    let comparison = compared(study, |trial| match measured(trial, 1.0) {
        TrialResult::Measured(measured) => TrialResult::Measured(Measured {
            validity: Validity::Invalid,
            warnings: vec![TrialWarning::new("lag", "a debug build")],
            ..measured
        }),
        result => result,
    });
    assert_eq!(exit_of(&comparison, false), Exit::Invalid);
    let (totals, lost) = (comparison.study.totals, comparison.study.lost.len());
    assert_eq!((totals.trials, totals.invalid, lost), (20, 20, 20), "none is tried again for its result");
    let text = markdown(&shown::comparison(&comparison));
    assert!(text.contains("no block has both sides"), "{text}");
}

#[test]
fn the_noise_of_the_machine_widens_the_margin_and_is_reported() {
    let calibration = Calibration {
        of: "the demo server".to_owned(),
        blocks: 10,
        deviations: [(Metric::P50, 0.2)].into(),
        suspicious: Vec::new(),
    };
    let noisy = study(vec![Metric::P50], None, Some(calibration.clone()));
    let comparison = compared(noisy, |trial| measured(trial, if trial.variant == B { 1.1 } else { 1.0 }));
    let line = &comparison.metrics[0];
    // t(0.975, 9) 2.262 * 0.2 / sqrt(10) = 0.143; of the margin one and a half times that.
    let floor = line.noise_floor.unwrap();
    assert!((floor - 0.143_f64.exp_m1()).abs() < 0.001, "{floor}");
    assert!((line.effect.margin - 0.2146_f64.exp_m1()).abs() < 0.001, "{}", line.effect.margin);
    assert_eq!(comparison.verdict, Verdict::Worse, "the ten per cent are there in every block");
    assert_eq!(
        exit_of(&comparison, false),
        Exit::Ok,
        "and they are within what this machine lets one ask for"
    );
    let text = markdown(&shown::comparison(&comparison));
    assert!(text.contains("the demo server") && text.contains("± 15.4 %"), "{text}");

    let definition = study(vec![Metric::P50], None, None).definition().clone();
    let mut asked = definition;
    asked.design.margin = Some(0.05);
    let refusal = Study::new(asked, Options::default(), Some(calibration)).unwrap_err();
    assert!(refusal.to_string().contains("within this machine's noise"), "{refusal}");
}

#[test]
fn a_documents_first_line_is_the_verdict_and_names_that_steer_markdown_do_not() {
    let mut comparison = b_takes(1.5);
    comparison.b = "http://b/<script>|x".to_owned();
    let text = markdown(&shown::comparison(&comparison));
    assert!(text.starts_with("# B vs A: goodput slower, p50 slower\n"), "{text}");
    assert!(text.contains("http://b/&lt;script&gt;\\|x"), "{text}");
    assert!(text.contains("Worse by more than the margin: goodput, p50 (exit code 121)."), "{text}");
}

#[test]
fn nothing_is_ruled_out_where_nothing_is_decided() {
    let noisy = study(vec![Metric::Goodput, Metric::P50], Some(0.05), None);
    let comparison = compared(noisy, |trial| {
        measured(
            trial,
            1.0 + 0.4 * ((trial.number * 7 % 5) as f64) * f64::from(u8::from(trial.block % 2 == 0)),
        )
    });
    assert_eq!(comparison.verdict, Verdict::Undecided);
    let text = markdown(&shown::comparison(&comparison));
    assert!(
        text.contains("Not decided") && text.contains("beyond the margin of 5.0 % is not ruled out"),
        "{text}"
    );
    assert!(text.contains("A regression is not ruled out: goodput, p50."), "{text}");
    assert!(!text.contains("No metric is worse"), "{text}");
}

#[test]
fn five_blocks_that_agree_have_no_verdict_and_the_first_lines_say_how_many_it_takes() {
    let mut few = study(vec![Metric::P50], Some(0.05), None).definition().clone();
    few.design.blocks = 5;
    let few = Study::new(few, Options::default(), None).unwrap();
    let comparison = compared(few, |trial| measured(trial, 1.0));
    assert_eq!(comparison.verdict, Verdict::Undecided);
    let text = markdown(&shown::comparison(&comparison));
    assert!(text.starts_with("# B vs A: p50 undecided\n"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in ["6 blocks needed.", "5 blocks cannot give a verdict: it takes 6"] {
        assert!(words.contains(said), "{said}: {words}");
    }
}

#[test]
fn a_title_names_the_metric_that_got_worse_even_if_the_first_did_not() {
    let study = study(vec![Metric::Goodput, Metric::P50], Some(0.05), None);
    let comparison = compared(study, |trial| {
        let TrialResult::Measured(mut found) = measured(trial, 1.0) else { panic!() };
        if trial.variant == B {
            found.figures.entry(Metric::P50).and_modify(|figure| figure.value *= 1.5);
        }
        TrialResult::Measured(found)
    });
    assert_eq!(comparison.verdict, Verdict::Same);
    let text = markdown(&shown::comparison(&comparison));
    assert!(text.starts_with("# B vs A: p50 slower\n"), "{text}");
    assert_eq!(exit_of(&comparison, false), Exit::Slower);
}
