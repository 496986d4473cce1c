//! What several runs at constant levels of load show together, as the steps of a sweep do.
//!
//! Only `fixed_places` looks at them: one run at one level cannot show that more load brings no more throughput. Does
//! not choose the levels.

use crate::examine::explained_by;
use crate::finding::{NotRun, Report};
use crate::lack::Lack;
use crate::load_level::Level;
use crate::rules::{RULES, fixed_places};

/// Adds to the report about one level what only all levels show together. `are_connections`: the loads are numbers of
/// connections. Nothing changes if no rule ran over the level.
pub fn add_levels(report: &mut Report, levels: &[Level], are_connections: bool) {
    let code = fixed_places::RULE.code;
    let is_it = |rule: &NotRun| rule.code == code && rule.lacks == fixed_places::LACKS_LEVELS;
    let Some(place) = report.could_not_run.iter().position(is_it) else { return };
    match fixed_places::across(levels, are_connections) {
        Err(Lack(lacks)) => report.could_not_run[place].lacks = lacks,
        Ok(found) => {
            report.could_not_run.remove(place);
            let order = |code: &str| RULES.iter().position(|rule| rule.code == code);
            let before = report.ran.iter().filter(|one| order(one) < order(code)).count();
            report.ran.insert(before, code);
            let causes = || report.findings.iter().filter(|one| !one.is_hint());
            let is_explained = causes().any(|one| explained_by(one.code).contains(&code));
            // Without a known gain: after those with one, before the hints.
            let behind = causes().count();
            if let Some(found) = found.filter(|_| !is_explained) {
                report.findings.insert(behind, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;
    use crate::testing::Scene;

    /// A service with `places` places of 10 ms each, at these rates, with so much of its CPUs busy.
    fn levels(places: f64, rates: &[f64], busy: Option<f64>) -> Vec<Level> {
        let limit = places / 0.01;
        let level = |load: f64| {
            let response = if load < limit { 0.01 } else { 0.01 + 2.0 * (load / limit - 1.0) };
            Level { load, throughput: load.min(limit), response, busy }
        };
        rates.iter().map(|rate| level(*rate)).collect()
    }

    fn added(levels: &[Level]) -> Report {
        let mut report = Scene::steady().report();
        add_levels(&mut report, levels, false);
        report
    }

    const RATES: [f64; 5] = [100.0, 400.0, 780.0, 880.0, 1_000.0];

    #[test]
    fn places_for_which_requests_queue_are_counted_over_the_levels_of_a_sweep() {
        let report = added(&levels(8.0, &RATES, Some(0.2)));
        let [only] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
        assert_eq!(only.code, "fixed_places");
        assert!(only.statement.contains("about 8 places (CPUs 20 % busy)"), "{}", only.statement);
        assert!(only.evidence.len() >= 2 && !only.is_hint());
        let order: Vec<&str> =
            RULES.iter().map(|rule| rule.code).filter(|code| report.ran.contains(code)).collect();
        assert!(report.ran.contains(&"fixed_places") && report.ran == order, "{:?}", report.ran);
        assert!(report.could_not_run.iter().all(|rule| rule.code != "fixed_places"));
    }

    #[test]
    fn a_lowest_level_that_fills_the_service_bounds_its_places_by_connections_and_never_by_a_rate() {
        let full = levels(8.0, &[790.0, 880.0, 2_400.0], Some(0.2));
        let report = added(&full);
        let statement = &report.findings[0].statement;
        assert!(statement.contains("at most 8 places"), "{statement}");
        let of = |load: f64| Level { load, throughput: 800.0, response: load / 800.0, busy: Some(0.2) };
        let mut report = Scene::steady().report();
        add_levels(&mut report, &[of(16.0), of(64.0)], true);
        let statement = &report.findings[0].statement;
        assert!(statement.starts_with("from 16 connections to 64 connections"), "{statement}");
        assert!(statement.contains("at most 16 places"), "{statement}");
    }

    #[test]
    fn full_cpus_or_a_load_that_the_service_keeps_up_with_are_no_places() {
        assert_eq!(added(&levels(8.0, &RATES, Some(0.95))).findings, []);
        assert_eq!(added(&levels(1_000.0, &RATES, Some(0.2))).findings, []);
    }

    #[test]
    fn what_is_lacking_is_the_cpus_or_levels_that_are_far_apart() {
        let lacks = |levels: &[Level]| {
            let report = added(levels);
            let rule = report.could_not_run.iter().find(|rule| rule.code == "fixed_places").cloned();
            rule.map(|rule| rule.lacks).unwrap_or_default()
        };
        assert_eq!(lacks(&levels(8.0, &RATES, None)), "figures of the machine (`--observe host`)");
        let close = lacks(&levels(8.0, &[880.0, 1_000.0], Some(0.2)));
        assert!(close.starts_with("levels of load, of which"), "{close}");
    }

    #[test]
    fn an_invalid_run_stays_without_a_finding() {
        let mut scene = Scene::steady();
        scene.run.validity.validity = knee_core::validity::Validity::Invalid;
        let mut report = scene.report();
        add_levels(&mut report, &levels(8.0, &RATES, Some(0.2)), false);
        assert_eq!((report.findings.len(), report.ran.len()), (0, 0));
    }

    #[test]
    fn the_figures_of_a_level_are_those_of_its_run() {
        let scene = Scene::steady();
        let level = Level::of(1_000.0, &Evidence::of(&scene.run, &scene.observations)).unwrap();
        assert!((level.throughput - 1_000.0).abs() < 1.0, "{level:?}");
        assert!((0.003..0.008).contains(&level.response), "{level:?}");
    }
}
