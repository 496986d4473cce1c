//! Turns diagnostics into a validity report: the results of all rules and notes, in order.
//!
//! Does not measure or collect, and holds no rule; see [`super::rule`].

use super::diagnostics::Diagnostics;
use super::note::NOTES;
use super::rule::RULES;
use super::{Validity, ValidityReport, Warning};

/// The validity check of a run: the worst result of any rule, or valid.
pub fn judge(diagnostics: Diagnostics) -> ValidityReport {
    let warnings = RULES.iter().filter_map(|rule| rule.check(&diagnostics)).collect();
    let notes = NOTES.iter().filter_map(|note| note.of(&diagnostics)).collect();
    conclude(warnings, notes, diagnostics)
}

/// Puts warnings in order, worst first, and draws the conclusion.
pub(crate) fn conclude(
    mut warnings: Vec<Warning>,
    notes: Vec<String>,
    diagnostics: Diagnostics,
) -> ValidityReport {
    warnings.sort_by_key(|warning| std::cmp::Reverse(warning.validity));
    let validity = warnings.first().map_or(Validity::Valid, |warning| warning.validity);
    ValidityReport { validity, warnings, notes, diagnostics }
}

#[cfg(test)]
mod tests {
    use super::super::rule::testing::healthy;
    use super::*;
    use crate::unit::Nanos;

    #[test]
    fn a_healthy_run_has_no_warning_and_no_note() {
        let report = judge(healthy());
        assert_eq!(
            (report.validity, report.warnings, report.notes),
            (Validity::Valid, vec![], Vec::<String>::new())
        );
    }

    #[test]
    fn what_a_platform_cannot_measure_is_not_held_against_the_run_and_is_said_once() {
        let mut portable = healthy();
        let generator = &mut portable.generator;
        (generator.worker_cpu_max, generator.worker_cpu_saturated, generator.run_delay) = (None, None, None);
        (generator.throttled, generator.steal, generator.ports) = (None, None, None);
        (generator.suspended, generator.descriptors, portable.run.co_located) = (None, None, None);
        generator.timer_slack = Nanos::from_millis(2);
        let report = judge(portable);
        assert_eq!(report.warnings, []);
        assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
        assert!(report.notes[0].ends_with("[unmeasured]"));
    }

    #[test]
    fn the_validity_is_that_of_the_worst_warning_which_comes_first() {
        let mut bad = healthy();
        (bad.run.truncated, bad.generator.steal, bad.requests.unaccounted) = (true, Some(0.06), 1);
        let report = judge(bad);
        let codes: Vec<_> = report.warnings.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!((report.validity, codes), (Validity::Invalid, vec!["books", "steal", "truncated"]));
    }
}
