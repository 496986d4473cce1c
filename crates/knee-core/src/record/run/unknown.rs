//! The note about what a record has that this version does not know.
//!
//! Does not decide what is unknown; the reader and the tallies do.

use super::super::Run;
use super::super::format::Skipped;
use crate::tally::Unknown;

/// A line that names everything that this version does not know, with its counts; `None` if there is nothing.
pub(super) fn note(run: &Run, skipped: &[Skipped]) -> Option<String> {
    let mut all = Unknown::default();
    for endpoint in run.warm_up.endpoints.iter().chain(&run.measured.endpoints) {
        all.merge(&endpoint.unknown);
    }
    let parts: Vec<String> = counted(&all).chain(skipped.iter().map(frames)).collect();
    let version = &run.head.build.version;
    let by: String = version.chars().filter(char::is_ascii_graphic).take(40).collect();
    (!parts.is_empty()).then(|| {
        format!("a later version, knee {by}, wrote this record; not known here: {}", parts.join(", "))
    })
}

fn counted(unknown: &Unknown) -> impl Iterator<Item = String> {
    let times = |kind: &str, name: &str, count: u64| {
        format!("{kind} `{name}` ({count} {})", if count == 1 { "request" } else { "requests" })
    };
    let outcomes = unknown.outcomes.iter();
    let outcomes = outcomes.map(move |one| times("outcome", &one.name, one.times.response.count()));
    let phases = unknown.phases.iter().map(move |one| times("phase", &one.name, one.times.count()));
    let faults = unknown.faults.iter().map(move |one| times("fault", &one.name, one.count));
    outcomes.chain(phases).chain(faults)
}

fn frames(skipped: &Skipped) -> String {
    let Skipped { kind, frames, what } = skipped;
    let named = what.map_or_else(|| format!("of kind {kind}"), |what| format!("with {what}"));
    format!("{frames} {} {named}", if *frames == 1 { "frame" } else { "frames" })
}
