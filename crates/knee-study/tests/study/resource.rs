//! Observed resources of a study: medians over the usable trials of each variant and workload.

use knee_core::validity::Validity;
use knee_study::metric::Metric;
use knee_study::study::{Measured, OfResource, Trial, TrialResult};

use crate::bench::{PERCENTILES, result, run, study};

fn measured(trial: &Trial) -> Measured {
    let TrialResult::Measured(measured) = result(&[(Metric::P95, 20e6)]) else { panic!() };
    let demand_s = if trial.variant == "fine" { 0.001 } else { 0.004 };
    let of = |servers: f64, reached: f64| OfResource { servers, demand_s, reached };
    let resources =
        [("CPUs of host".to_owned(), of(2.0, 0.5)), ("CPUs of shop".to_owned(), of(1.0, 0.9))].into();
    Measured { resources, ..measured }
}

#[test]
fn every_variant_has_its_busy_time_per_response_and_the_fullest_resource_comes_first() {
    let conclusion = run(study(PERCENTILES), |trial, _, _| {
        let mut measured = measured(trial);
        if trial.block == 0 {
            // What does not count, and a trial that was not observed.
            measured.validity = Validity::Invalid;
            measured.resources.get_mut("CPUs of host").unwrap().demand_s = 1.0;
        } else if trial.block == 1 {
            measured.resources.clear();
        }
        TrialResult::Measured(measured)
    });
    let of = |variant: &str| {
        let here = conclusion
            .resources
            .iter()
            .filter(|one| one.cell.variant == variant && one.cell.workload == "list");
        here.map(|one| (one.resource.as_str(), one.n_trials, one.demand_s)).collect::<Vec<_>>()
    };
    assert_eq!(of("stock"), [("CPUs of shop", 6, 0.004), ("CPUs of host", 6, 0.004)]);
    assert_eq!(of("fine"), [("CPUs of shop", 6, 0.001), ("CPUs of host", 6, 0.001)]);
}

#[test]
fn a_study_without_observers_has_no_resources() {
    let conclusion = run(study(PERCENTILES), |_, _, _| result(&[(Metric::P95, 20e6)]));
    assert!(conclusion.resources.is_empty());
    let TrialResult::Measured(measured) = &conclusion.trials[0].result else { panic!() };
    assert!(
        !serde_json::to_string(measured).unwrap().contains("resources"),
        "trials stay as small as they were"
    );
}
