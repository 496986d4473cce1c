//! The course of a study: its order, repeats, losses, resuming.

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use knee_study::definition::Definition;
use knee_study::metric::Metric;
use knee_study::study::{Calibration, Entry, Options, Refusal, Study, Trial, TrialResult, TrialWarning};
use proptest::prelude::*;

use crate::bench::{around, definition, invalid, run, study, study_with};

const LADDER: &str = "[design]\nkind = \"ladder\"\nblocks = 8\nmetrics = [\"p50\"]\n";

#[test]
fn every_block_has_every_variant_and_workload_once_with_the_same_arrivals() {
    let mut study = study(LADDER);
    let mut seen: BTreeMap<(usize, String), Vec<(String, u64)>> = BTreeMap::new();
    while let Some(trial) = study.next() {
        let key = (trial.block, trial.workload.clone());
        seen.entry(key).or_default().push((trial.variant.clone(), trial.arrival_seed));
        study.record_result(&trial, around(&trial, 10.0, 0.02)).unwrap();
    }
    assert_eq!(seen.len(), 8 * 2);
    for ((block, workload), variants) in &seen {
        let mut names: Vec<&str> = variants.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["cached", "fine", "stock"], "block {block}, {workload}");
        assert!(variants.iter().all(|(_, seed)| *seed == variants[0].1), "block {block}, {workload}");
    }
}

#[test]
fn a_variant_runs_all_workloads_before_the_next_variant_and_restarts_as_asked() {
    let mut study = study(&format!("{LADDER}restart_every = 2\n"));
    let mut trials = Vec::new();
    while let Some(trial) = study.next() {
        study.record_result(&trial, around(&trial, 10.0, 0.02)).unwrap();
        trials.push(trial);
    }
    for pair in trials.chunks(2) {
        assert_eq!(pair[0].variant, pair[1].variant);
        assert_eq!(pair[0].restart, pair[0].block % 2 == 0, "{:?}", pair[0]);
        assert!(!pair[1].restart && pair[1].reset);
    }
}

#[test]
fn an_invalid_trial_is_not_repeated_and_its_block_is_lost() {
    let conclusion = run(study(LADDER), |trial, _, _| {
        match (trial.block, trial.variant.as_str(), trial.workload.as_str()) {
            (3, "fine", "list") => invalid("the generator was late"),
            _ => around(trial, 10.0, 0.02),
        }
    });
    assert!(conclusion.trials.iter().all(|entry| entry.trial.attempt == 1), "its result is no reason");
    assert_eq!((conclusion.totals.repeats, conclusion.lost.len()), (0, 1));
    assert_eq!((conclusion.lost[0].block, conclusion.lost[0].why.as_str()), (3, "the generator was late"));
    let step =
        conclusion.effects.iter().find(|effect| effect.to.variant == "fine" && effect.to.workload == "list");
    assert_eq!(step.unwrap().blocks, [0, 1, 2, 4, 5, 6, 7]);
}

/// A measurement that neighbours on the host disturbed, whatever it measured.
fn disturbed(code: &str, millis: f64, trial: &Trial) -> TrialResult {
    let TrialResult::Measured(mut measured) = around(trial, millis, 0.02) else { panic!() };
    measured.validity = Validity::Suspect;
    measured.warnings = vec![TrialWarning::new(code, "the hypervisor took 6 % of the CPU time")];
    TrialResult::Measured(measured)
}

#[test]
fn a_trial_is_repeated_twice_at_most_and_only_for_what_neighbours_did() {
    let conclusion = run(study(LADDER), |trial, _, _| {
        match (trial.block, trial.variant.as_str(), trial.workload.as_str(), trial.attempt) {
            // Once for a short neighbour, and as often as allowed for one that stays.
            (1, "stock", "list", 1) => disturbed("steal", 10.0, trial),
            (2, "fine", "list", _) => disturbed("clock", 10.0, trial),
            // Not for a bad figure.
            (4, "stock", "create", 1) => disturbed("lag", 500.0, trial),
            _ => around(trial, 10.0, 0.02),
        }
    });
    let repeats: Vec<(usize, u32)> = conclusion
        .trials
        .iter()
        .filter(|entry| entry.trial.attempt > 1)
        .map(|entry| (entry.trial.block, entry.trial.attempt))
        .collect();
    assert_eq!(repeats, [(1, 2), (2, 2), (2, 3)]);
    assert_eq!(conclusion.totals.repeats, 3);
    assert!(conclusion.lost.is_empty(), "the last attempt counts");
    let again = conclusion.trials.iter().filter(|entry| entry.trial.attempt > 1);
    assert!(again.clone().all(|entry| entry.trial.restart && entry.trial.reset));
}

#[test]
fn trials_that_an_older_version_repeated_and_extended_are_still_read() {
    // It repeated invalid trials and deaths once.
    let rest = format!("{LADDER}extend = true\norder = [\"stock\", \"fine\"]\n");
    let mut entries: Vec<Entry> = Vec::new();
    let read = |entries: &[Entry]| {
        Study::resume(definition(&rest), Options::default(), None, entries.to_vec()).unwrap()
    };
    while let Some(trial) = read(&entries).next() {
        let first = match (trial.block, trial.variant.as_str(), trial.workload.as_str()) {
            (1, "fine", "list") => Some(invalid("the generator was late")),
            (2, "fine", "list") => Some(TrialResult::Died { reason: "signal 9".to_owned() }),
            _ => None,
        };
        let second = around(&trial, 10.0, 0.5);
        let Some(result) = first else {
            entries.push(Entry { trial, result: second });
            continue;
        };
        let again = Trial { attempt: 2, restart: true, reset: true, ..trial.clone() };
        entries.push(Entry { trial, result });
        entries.push(Entry { trial: again, result: second });
    }
    let read = read(&entries);
    assert!(read.conclude().extended);
    assert!(read.is_over());
    assert_eq!(read.entries(), entries);
    let conclusion = read.conclude();
    assert_eq!((conclusion.totals.repeats, conclusion.totals.broken), (2, 1));
    assert!(conclusion.lost.is_empty() && conclusion.variants.iter().all(|variant| variant.lost.is_none()));
}

#[test]
fn a_study_that_was_extended_is_continued_whatever_noise_is_known_by_then() {
    let rest = format!("{LADDER}extend = true\norder = [\"stock\", \"fine\"]\n");
    let mut first = study(&rest);
    while let Some(trial) = first.next().filter(|trial| trial.block < 9) {
        first.record_result(&trial, around(&trial, 10.0, 0.5)).unwrap();
    }
    assert!(first.conclude().extended);
    // With so much noise every difference is within the margin, and nothing is left to decide.
    let noise = Calibration {
        of: "a busy machine".to_owned(),
        blocks: 10,
        deviations: [(Metric::P50, 3.0)].into(),
        suspicious: Vec::new(),
    };
    let entries = first.entries().to_vec();
    let resumed = Study::resume(definition(&rest), Options::default(), Some(noise), entries).unwrap();
    assert_eq!(resumed.next(), first.next());
}

#[test]
fn after_a_death_the_next_trial_has_a_fresh_process_and_fresh_data() {
    let mut study = study(LADDER);
    let first = study.next().unwrap();
    study.record_result(&first, TrialResult::Died { reason: "signal 9".to_owned() }).unwrap();
    let next = study.next().unwrap();
    assert_eq!((next.variant == first.variant, next.attempt), (true, 1), "a death is a result");
    assert!(next.restart && next.reset);
}

#[test]
fn a_variant_that_dies_twice_is_lost_and_the_others_go_on() {
    let conclusion = run(study(LADDER), |trial, _, _| {
        if trial.variant == "fine" && trial.block == 2 {
            return TrialResult::Died { reason: "signal 11".to_owned() };
        }
        around(trial, 10.0, 0.02)
    });
    let after = conclusion.trials.iter().filter(|entry| entry.trial.block > 2);
    assert!(after.clone().all(|entry| entry.trial.variant != "fine"));
    assert_eq!(after.count(), 5 * 2 * 2);
    let fine = conclusion.variants.iter().find(|variant| variant.name == "fine").unwrap();
    assert_eq!(fine.lost.as_deref(), Some("signal 11"));
    assert_eq!(conclusion.totals.broken, 2);
    let of = |to: &str| {
        conclusion
            .effects
            .iter()
            .find(|effect| effect.to.variant == to && effect.from.variant == "stock")
            .unwrap()
    };
    assert_eq!((of("fine").n_blocks, of("cached").n_blocks), (2, 8), "what it measured before is kept");
}

#[test]
fn a_variant_that_never_comes_up_is_lost_at_once() {
    let conclusion = run(study(LADDER), |trial, _, _| {
        if trial.variant == "stock" {
            return TrialResult::NeverReady { reason: "no answer in 30 s".to_owned() };
        }
        around(trial, 10.0, 0.02)
    });
    assert_eq!(conclusion.totals.broken, 1);
    assert!(conclusion.over);
    assert_eq!(conclusion.variants[0].lost.as_deref(), Some("no answer in 30 s"));
}

#[test]
fn a_study_whose_variants_are_all_lost_is_over() {
    let conclusion = run(study(LADDER), |_, _, _| TrialResult::NeverReady { reason: "no".to_owned() });
    assert_eq!(conclusion.totals.trials, 3);
    assert!(conclusion.effects.iter().all(|effect| effect.n_blocks == 0));
}

#[test]
fn an_undecided_study_goes_on_once_if_asked_and_no_further() {
    let extended = |spread: f64| {
        let rest = format!("{LADDER}extend = true\norder = [\"stock\", \"fine\"]\n");
        run(study(&rest), |trial, _, _| around(trial, 10.0, spread))
    };
    let noisy = extended(0.5);
    assert!(noisy.extended);
    assert_eq!((noisy.blocks, noisy.trials.len()), (16, 16 * 2 * 2));
    let calm = extended(0.001);
    assert!(!calm.extended);
    assert_eq!((calm.blocks, calm.trials.len()), (8, 8 * 2 * 2));
    assert!(
        (calm.alpha - 0.0294).abs() < 1e-9,
        "both looks are at the lower level, whether or not there is a second"
    );
}

#[test]
fn some_variants_can_run_alone_beside_the_baseline() {
    let only = |name: &str| Options { variants: vec![name.to_owned()], ..Options::default() };
    let study = study_with(LADDER, only("cached"), None);
    let names: Vec<&str> = study.variants().iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names, ["stock", "cached"]);
    assert_eq!(study.remaining(), 8 * 2 * 2);
    let unknown = Study::new(definition(LADDER), only("cachet"), None).unwrap_err();
    assert_eq!(unknown.to_string(), "no variant `cachet` takes part; variants: stock, fine, cached");
    let alone = Study::new(definition(LADDER), only("stock"), None).unwrap_err();
    assert!(matches!(alone, Refusal::NothingToCompare(_)));
}

#[test]
fn a_result_of_another_trial_is_refused_and_changes_nothing() {
    let mut study = study(LADDER);
    let first = study.next().unwrap();
    study.record_result(&first, around(&first, 10.0, 0.0)).unwrap();
    assert_eq!(study.record_result(&first, around(&first, 10.0, 0.0)), Err(Refusal::NotNext(0)));
    assert_eq!(study.entries().len(), 1);
}

#[test]
fn stored_results_of_another_study_are_refused() {
    let mut study = study(LADDER);
    for _ in 0..5 {
        let trial = study.next().unwrap();
        study.record_result(&trial, around(&trial, 10.0, 0.0)).unwrap();
    }
    let entries = study.entries().to_vec();
    let other = definition(&format!("{LADDER}seed = 2\n"));
    let refused = Study::resume(other, Options::default(), None, entries);
    assert!(matches!(refused, Err(Refusal::OtherStudy(_))), "{refused:?}");
}

#[test]
fn the_study_of_the_reference_page_is_one() {
    let page = include_str!("../../../../docs/reference/study-toml.md");
    let text = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let definition = Definition::read(text, "study.toml", &|path| path == "mixed.js").unwrap();
    assert_eq!((definition.variants.len(), definition.claims.len(), definition.published.len()), (3, 4, 3));
    let study = Study::new(definition, Options::default(), None).unwrap();
    assert_eq!(study.remaining(), 10 * 3 * 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_study_that_was_stopped_goes_on_as_if_it_had_not_been(stop in 0usize..70, spread in 0.0f64..0.5, seed in 0u32..1_000) {
        let rest = format!("{LADDER}seed = {seed}\nextend = true\n");
        let service = |trial: &Trial| match trial.number % 7 {
            3 if trial.attempt == 1 => disturbed("steal", 10.0, trial),
            4 => invalid("noise"),
            5 if trial.variant == "cached" && trial.block == 4 => TrialResult::Died { reason: "gone".to_owned() },
            _ => around(trial, 10.0, spread),
        };
        let whole = run(study(&rest), |trial, _, _| service(trial));
        let mut first = study(&rest);
        for _ in 0..stop {
            let Some(trial) = first.next() else { break };
            first.record_result(&trial, service(&trial)).unwrap();
        }
        // What is stored is text.
        let stored = serde_json::to_string(first.entries()).unwrap();
        let entries = serde_json::from_str(&stored).unwrap();
        let resumed = Study::resume(definition(&rest), Options::default(), None, entries).unwrap();
        let resumed = run(resumed, |trial, _, _| service(trial));
        prop_assert!(resumed == whole, "seed {}, stopped after {}", seed, stop);
    }
}
