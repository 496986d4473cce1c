//! In words: how the CPUs were divided, and how much of its part the generator used.
//!
//! Does not calculate.

use knee_core::fixture::division::Division;
use knee_study::study::{CpuUse, REPEATS_MAX, Totals};

use super::value::count;
use crate::number;

/// Who has which CPUs, in one line.
pub fn division(division: &Division) -> String {
    match division.shared {
        Some(why) => format!("CPUs: not divided ({})", why.reason()),
        None => format!("CPUs: generator on {}, everything else on {}", division.generator, division.others),
    }
}

/// The same with what the generator used of its part.
pub(super) fn line(cpus: &CpuUse) -> String {
    let used = match (cpus.generator_used, cpus.too_few) {
        (None, _) => String::new(),
        (Some(share), false) => format!("; the generator used up to {} of its CPUs", number::percent(share)),
        (Some(share), true) => {
            format!("; too few: the generator used {} of its CPUs", number::percent(share))
        }
    };
    format!("{}{used}", division(&cpus.division))
}

/// How many trials were repeated for what neighbours on the host did, if any were.
pub(super) fn repeats(totals: &Totals) -> Option<String> {
    let repeats = count(totals.repeats, "repeat");
    (totals.repeats > 0).then(|| {
        format!("{repeats} of trials that neighbours on the host disturbed, at most {REPEATS_MAX} per trial")
    })
}
