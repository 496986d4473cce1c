//! Percentiles of all blocks together: what stays in them, and what it takes to have one.

use knee_study::estimand::{Contrast, Missing};
use knee_study::metric::Metric;
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{Figure, Options, TrialResult};

use crate::bench::{PERCENTILES, effect, run, study, study_with, with_times};

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
fn the_range_beside_a_percentile_never_excludes_it_because_slow_blocks_have_none_of_their_own() {
    let range = |slow_blocks: usize| {
        let conclusion = run(study(PERCENTILES), |trial, _, _| {
            let slow = trial.block < slow_blocks;
            // Only a trial with enough requests has a percentile of its own.
            let times = if slow { vec![100.0; 180] } else { vec![10.0; 210] };
            let TrialResult::Measured(mut measured) = with_times(&times, 0) else { panic!() };
            if !slow {
                measured.figures.insert(Metric::P50, Figure::from(10e6));
            }
            TrialResult::Measured(measured)
        });
        let mut rows = conclusion.timeline.iter();
        let row = rows.find(|row| row.metric == Metric::P50 && row.cell.variant == "fine").unwrap();
        (row.merged.unwrap().value / 1e6, row.spread.low / 1e6, row.spread.high / 1e6)
    };
    for (slow_blocks, expected) in [(5, 100.0), (0, 10.0)] {
        let (middle, low, high) = range(slow_blocks);
        assert!((middle / expected - 1.0).abs() < 0.01, "{middle}");
        assert!(low <= middle * 1.01 && middle <= high * 1.01, "{middle}: {low} to {high}");
    }
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
        let recorded = study.record_result(&trial, with_times(&[10.0; 100], 0));
        assert!(recorded.is_ok(), "{recorded:?}");
    }
    // 2,000 requests over 8 blocks are 250 per trial: three times 5 s with a fifth to spare.
    let expected = |block: usize| if block == 0 { 5.0 } else { 15.0 };
    assert!(lengths.iter().all(|(block, seconds)| (seconds - expected(*block)).abs() < 0.1), "{lengths:?}");
    assert_eq!(study.conclude().lengthened.len(), 2, "both workloads");
}

/// The block and the measured time of each trial of a script with these variables.
fn of_visits(env: &str, quick: bool) -> Vec<(usize, f64)> {
    let script = format!("[workloads.visit]\nscript = \"visit.js\"\nenv = {{ {env} }}\n{PERCENTILES}");
    let mut study = study_with(&script, Options { quick, ..Options::default() }, None);
    let mut lengths = Vec::new();
    while let Some(trial) = study.next() {
        if trial.workload == "visit" {
            lengths.push((trial.block, study.measure(&trial).as_secs_f64()));
        }
        let recorded = study.record_result(&trial, with_times(&[10.0; 100], 0));
        assert!(recorded.is_ok(), "{recorded:?}");
    }
    lengths
}

#[test]
fn trials_of_a_script_that_is_asked_to_last_get_longer_too_and_short_in_a_quick_study() {
    let expected = |block: usize| if block == 0 { 5.0 } else { 15.0 };
    let asked = of_visits("USERS = \"5\", DURATION = \"{duration}\"", false);
    assert!(asked.len() >= 16, "{asked:?}");
    assert!(asked.iter().all(|(block, seconds)| (seconds - expected(*block)).abs() < 0.1), "{asked:?}");
    for env in ["DURATION = \"8s\"", "DURATION = \"{{duration}}\""] {
        let fixed = of_visits(env, false);
        assert!(fixed.iter().all(|(_, seconds)| (seconds - 5.0).abs() < 1e-9), "{env}: {fixed:?}");
    }
    let quick = of_visits("DURATION = \"{duration}\"", true);
    assert!(quick.iter().all(|(_, seconds)| (seconds - 2.0).abs() < 1e-9), "{quick:?}");
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

#[test]
fn after_the_first_block_a_study_knows_which_percentiles_it_will_not_have() {
    // Trials of requests get longer, by six times at most; those of a script that fixes its duration do not.
    let mut study = study(&format!("[workloads.visit]\nscript = \"visit.js\"\n{PERCENTILES}"));
    assert_eq!(study.shortages(), [], "nothing is known before the first trial");
    while let Some(trial) = study.next().filter(|trial| trial.block == 0) {
        let requests = match (trial.workload.as_str(), trial.variant.as_str()) {
            ("create", _) => 10,
            ("visit", "fine") => 90,
            _ => 100,
        };
        study.record_result(&trial, with_times(&vec![10.0; requests], 0)).unwrap();
    }
    let found = study.shortages();
    let of = |workload: &str| found.iter().find(|short| short.workload == workload).unwrap();
    assert_eq!(found.len(), 2, "the trials of `list` get long enough: {found:?}");
    assert_eq!((of("create").requests, of("create").needed, of("create").blocks_needed), (480, 2_000, 34));
    let visit = of("visit");
    assert_eq!((visit.metric, visit.variant.as_str(), visit.requests), (Metric::P95, "fine", 720));
    assert_eq!((visit.blocks, visit.blocks_needed), (8, 23), "2,000 requests are 23 trials of 90");
}
