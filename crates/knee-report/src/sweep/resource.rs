//! What observers saw beside the steps of a sweep, in words: how full each resource was, and which one is full.
//!
//! Does not judge; [`knee_study::sweep::resource`] does.

use knee_core::unit::Nanos;
use knee_study::sweep::resource::FULL;
use knee_study::sweep::saturating::Saturating;
use knee_study::sweep::{FinishedStep, Report};

use crate::clean;
use crate::number::{self, level};

/// Most resources that are listed, the fullest first.
const RESOURCES_MAX: usize = 6;

/// The sentences; empty if nothing was observed.
pub fn sentences(report: &Report) -> Vec<String> {
    let Some(found) = &report.resource else { return Vec::new() };
    let mut sentences = vec![verdict(found, report.unit())];
    let mut names: Vec<(&str, f64)> = Vec::new();
    for one in report.ladder().flat_map(|step| &step.result.resources) {
        match names.iter_mut().find(|(name, _)| *name == one.resource) {
            Some((_, most)) => *most = most.max(one.reached),
            None => names.push((&one.resource, one.reached)),
        }
    }
    names.sort_by(|one, other| other.1.total_cmp(&one.1));
    sentences.extend(names.into_iter().take(RESOURCES_MAX).map(|(name, _)| utilisation(report, name)));
    sentences
}

/// Which resource is full where the service serves most, with its operational bound.
fn verdict(found: &Saturating, unit: &str) -> String {
    let name = clean::line(&found.of.resource);
    let allows = format!(
        "{} per response on {} allow {}/s",
        Nanos::from_secs_f64(found.of.demand_s),
        level(found.of.servers),
        level(found.of.limit_per_s)
    );
    let at = format!("at {} {unit}", level(found.level));
    let busy = number::percent(found.of.reached);
    if !found.grows && found.of.reached >= FULL {
        return format!(
            "{name} is {busy} busy {at}, and hardly less with a small load: something else uses it, and no resource that the \
             load fills was found."
        );
    }
    if found.is_full {
        return format!("The limit is {name}: {busy} busy {at}; {allows}.");
    }
    format!(
        "No observed resource is full {at}: {name} is {busy} busy; {allows}. The service waits for something else, such as a lock or a pool."
    )
}

/// How full a resource is at each level.
fn utilisation(report: &Report, name: &str) -> String {
    let mut levels: Vec<(f64, f64)> = report.ladder().filter_map(|step| at(step, name)).collect();
    levels.sort_by(|one, other| one.0.total_cmp(&other.0));
    // Of repeated levels the last one stands for all.
    levels.dedup_by(|later, kept| {
        let same = (later.0 - kept.0).abs() <= 1e-9 * kept.0;
        if same {
            *kept = *later;
        }
        same
    });
    let said: Vec<String> =
        levels.iter().map(|(at, busy)| format!("{} at {}", number::percent(*busy), level(*at))).collect();
    format!("{} is busy: {} {}.", clean::line(name), said.join(", "), report.unit())
}

fn at(step: &FinishedStep, name: &str) -> Option<(f64, f64)> {
    let found = step.result.resources.iter().find(|one| one.resource == name)?;
    Some((step.step.load.level(), found.reached))
}
