//! The acceptance checks of fleets, one row for each: what is checked, the goal, what was measured, whether it holds.
//!
//! A check that cannot run on this machine does not hold. Does not measure itself; the modules below it do.

use std::path::Path;

use anyhow::{Result, bail, ensure};

mod clocks;
mod faults;
mod orders;
mod proofs;
mod scene;
mod scripts;
mod whole;

use super::Options;

/// What all checks need.
pub(super) struct Setting<'s> {
    /// The root of the repository.
    pub root: &'s Path,
    /// The program that is tried.
    pub knee: &'s Path,
    /// How often.
    pub options: &'s Options,
}

/// Prints the row of a check: its goal, what was measured, and whether it holds. A check that ended with an error does
/// not. Returns whether it holds.
fn report(check: &str, what: &str, goal: &str, result: Result<(String, bool)>) -> bool {
    let (measured, held) = result.unwrap_or_else(|error| (format!("{error:#}"), false));
    let word = if held { "held" } else { "NOT HELD" };
    println!("{check:<6} {word:<9} {what}\n       goal      {goal}\n       measured  {measured}");
    held
}

/// Runs a group of checks and prints a row for each; which of them hold.
type Group = fn(&Setting) -> Vec<bool>;

/// The checks in the order in which they run, each with its names.
const GROUPS: [(&[&str], Group); 10] = [
    (&["1"], proofs::union),
    (&["2", "3", "4", "5"], whole::rows),
    (&["6"], faults::agents),
    (&["7"], faults::servers),
    (&["8"], faults::controllers),
    (&["9"], faults::partitions),
    (&["10"], clocks::rows),
    (&["11"], orders::rows),
    (&["12"], scripts::rows),
    (&["scene"], scene::rows),
];

/// Runs the checks that are wanted, all if none is named, and prints their rows.
pub(super) fn run(setting: &Setting, wanted: &str) -> Result<()> {
    let wanted: Vec<&str> = if wanted == "all" { Vec::new() } else { wanted.split(',').collect() };
    if let Some(name) = wanted.iter().find(|name| !GROUPS.iter().any(|(names, _)| names.contains(name))) {
        bail!(
            "there is no check `{name}`\n\nhint: name some of 1 to 12 and scene, as in `--checks 2,9,scene`"
        );
    }
    let (mut rows, mut missed) = (0, 0);
    for (names, group) in GROUPS {
        if !wanted.is_empty() && !wanted.iter().any(|name| names.contains(name)) {
            continue;
        }
        let held = group(setting);
        rows += held.len();
        missed += held.iter().filter(|held| !**held).count();
    }
    println!("{} of {rows} held", rows - missed);
    ensure!(missed == 0, "{missed} of {rows} checks do not hold");
    Ok(())
}
