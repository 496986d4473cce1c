//! All checks of a machine, and the answer in one sentence.
//!
//! Does not decide about a single property; `check` does.

use serde::Serialize;

use super::check::{self, Area, Check, Grade};
use super::facts::Facts;
use super::feature;
use crate::fixture::division::Division;
use crate::validity::figure::count;

/// All checks and the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fitness {
    /// `doctor`.
    pub kind: &'static str,
    /// Version of the layout.
    pub version: u32,
    /// The answer as one sentence.
    pub answer: String,
    /// Whether no check is `unfit`.
    pub fit: bool,
    /// The CPUs that studies give to the generator, and to everything else; `None` if this system does not report CPUs.
    pub division: Option<Division>,
    /// What was checked, in the order shown.
    pub checks: Vec<Check>,
}

/// Judges a machine.
pub fn judge(facts: &Facts) -> Fitness {
    let checks = all(facts);
    let fit = checks.iter().all(|check| check.grade != Grade::Unfit);
    let division = facts.split.as_ref().map(|split| split.division.clone());
    Fitness { kind: "doctor", version: 1, answer: answer(facts, &checks), fit, division, checks }
}

/// All checks, area by area.
fn all(facts: &Facts) -> Vec<Check> {
    let machine = [
        check::build(facts),
        check::files(facts),
        check::ports_in_use(facts),
        check::cpus(facts),
        check::quota(facts),
        check::governor(facts),
        check::clock(facts),
    ];
    let noise = [check::stolen(facts), check::pauses(facts), check::wakes(facts), check::floor(facts)];
    let features = [
        feature::cpu_limit(facts),
        feature::cpu_weight(facts),
        feature::network_namespace(facts),
        feature::mount_namespace(facts),
        feature::pressure(facts),
        feature::perf(facts),
    ];
    let areas = [
        (Area::Machine, machine.to_vec()),
        (Area::Noise, noise.to_vec()),
        (Area::Features, features.to_vec()),
        (Area::Programs, facts.programs.iter().map(feature::program).collect()),
    ];
    let checks = areas
        .into_iter()
        .flat_map(|(area, checks)| checks.into_iter().map(move |check| Check { area, ..check }));
    checks.collect()
}

/// The answer: first whether, then how far.
fn answer(facts: &Facts, checks: &[Check]) -> String {
    let with = |grade: Grade| checks.iter().filter(move |check| check.grade == grade);
    if let Some(first) = with(Grade::Unfit).next() {
        let more = match with(Grade::Unfit).count() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        return format!("Not fit to measure: {} [{}]{more}.", first.found, first.name);
    }
    let reach = match check::connections(facts) {
        Some(most) => format!("Fit to measure with up to {} connections to one address", count(most)),
        None => "Fit to measure".to_owned(),
    };
    let limits: Vec<&str> = with(Grade::Limits).map(|check| check.name).collect();
    if limits.is_empty() {
        return format!("{reach}; no check found another limit.");
    }
    format!("{reach}, within the limits of: {}.", limits.join(", "))
}
