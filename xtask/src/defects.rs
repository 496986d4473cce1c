//! `cargo xtask defects`: whether the rules find seeded defects, and what they find where nothing is wrong.
//!
//! Starts each configuration of the studies in `labs/findings` with `knee find`, which sees HTTP and its observers
//! only, and compares the findings with `labs/findings/expected.toml`. Writes `labs/findings/confusion.json` after every
//! look and `labs/findings/CONFUSION.md` at the end. Does not know the rules, and changes no limit.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::program;

mod expected;
mod look;
mod page;
pub mod proofs;
mod saved;
mod score;

use expected::{Case, Expected, List};
use look::Looker;
use saved::Saved;

/// The folder of the trial.
const FOLDER: &str = "labs/findings";

/// What was asked for.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only these: names of defects, `healthy`, or `healthy/WORKLOAD`
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Only the defects of this list, and their healthy twins
    #[arg(long, value_name = "LIST")]
    list: Option<List>,
    /// Measured time of a look; a defect with a pace of its own takes longer
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(5..=120))]
    seconds: u64,
    /// Look with this build of knee in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    release_bin: Option<PathBuf>,
    /// Look at this build of the lab in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    service_bin: Option<PathBuf>,
    /// Look again at what has been looked at
    #[arg(long)]
    again: bool,
    /// Look at nothing: write the page from what was saved
    #[arg(long, conflicts_with_all = ["only", "list", "again"])]
    report_only: bool,
}

/// Looks at what was not looked at yet, and writes the page.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let folder = root.join(FOLDER);
    let expected = Expected::read(&text(&folder.join("expected.toml"))?)?;
    let file = folder.join("confusion.json");
    let mut saved = Saved::read(&file)?;
    let asked = asked(&expected, options)?;
    if !options.report_only {
        look_at(root, options, &asked, &mut saved, &file)?;
    }
    let path = folder.join("CONFUSION.md");
    let page = page::write(&expected, &saved);
    fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {FOLDER}/CONFUSION.md");
    Ok(())
}

/// The cases that `--list` and `--only` name; all without them.
fn asked(expected: &Expected, options: &Options) -> Result<Vec<Case>> {
    let cases = options.list.map_or_else(|| expected.cases(), |list| expected.only(list).cases());
    let names = |case: &Case, only: &str| case.label() == only || case.variant == only;
    for only in &options.only {
        ensure!(cases.iter().any(|case| names(case, only)), "there is no case `{only}`");
    }
    let is_asked = |case: &Case| options.only.is_empty() || options.only.iter().any(|only| names(case, only));
    Ok(cases.into_iter().filter(is_asked).collect())
}

fn look_at(root: &Path, options: &Options, asked: &[Case], saved: &mut Saved, file: &Path) -> Result<()> {
    let missing: Vec<&Case> = asked.iter().filter(|case| options.again || !saved.has(case)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let knee = options.release_bin.clone();
    let knee = knee.map_or_else(|| program::lab(root, "knee"), Ok)?;
    let service = options.service_bin.clone();
    let service = service.map_or_else(|| program::lab(root, "findings"), Ok)?;
    let looker = Looker::new(&root.join(FOLDER), &missing, knee, service)?;
    for (number, case) in missing.iter().enumerate() {
        let seen = looker.look(case, case.seconds.unwrap_or(options.seconds));
        println!("{} of {}: {}: {}", number + 1, missing.len(), case.label(), seen.says());
        saved.put(seen);
        // A trial that is interrupted keeps what it has.
        saved.write(file)?;
    }
    Ok(())
}

/// The text of a file.
fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_page_of_the_trial_is_what_the_saved_looks_say() {
        let folder = crate::root().join(FOLDER);
        let expected = Expected::read(&text(&folder.join("expected.toml")).unwrap()).unwrap();
        let saved = Saved::read(&folder.join("confusion.json")).unwrap();
        let written = text(&folder.join("CONFUSION.md")).unwrap();
        assert!(
            written == page::write(&expected, &saved),
            "CONFUSION.md is old: run `cargo xtask defects --report-only`"
        );
    }

    #[test]
    fn every_case_is_a_variant_and_a_workload_of_its_study() {
        let folder = crate::root().join(FOLDER);
        let expected = Expected::read(&text(&folder.join("expected.toml")).unwrap()).unwrap();
        let study = |name: &str| text(&folder.join(name).join("study.toml")).unwrap();
        for case in expected.cases() {
            let study = study(case.folder());
            assert!(study.contains(&format!("[variants.{}]\n", case.variant)), "{}", case.variant);
            assert!(study.contains(&format!("[workloads.{}]\n", case.workload)), "{}", case.workload);
        }
        let studies: BTreeSet<_> = expected.defect.iter().map(|defect| &defect.study).collect();
        assert_eq!(studies.len(), 2);
        for name in studies {
            let defects = expected.defect.iter().filter(|defect| defect.study == *name).count();
            let variants = study(name.as_deref().unwrap_or_default()).matches("[variants.").count();
            assert_eq!(variants, defects + 1, "{name:?}");
        }
    }

    #[test]
    fn the_trial_has_20_healthy_configurations_at_least_and_every_entry_of_the_list() {
        let expected = text(&crate::root().join(FOLDER).join("expected.toml")).unwrap();
        let expected = Expected::read(&expected).unwrap();
        let healthy = expected.cases().iter().filter(|case| case.is_healthy()).count();
        assert!(healthy >= 20, "{healthy}");
        assert_eq!(expected.only(List::First).defect.len(), 42);
    }

    #[test]
    fn the_lists_of_incidents_have_14_or_16_defects_each_under_a_workload_of_its_own() {
        let expected = text(&crate::root().join(FOLDER).join("expected.toml")).unwrap();
        let expected = Expected::read(&expected).unwrap();
        let is_link =
            |source: &Option<String>| source.as_ref().is_some_and(|source| source.starts_with("https://"));
        for list in List::ALL.into_iter().filter(|list| *list != List::First) {
            let count = if list == List::Second { 16 } else { 14 };
            let list = expected.only(list);
            assert_eq!((list.defect.len(), list.cases().len()), (count, 2 * count));
            assert!(list.defect.iter().all(|defect| is_link(&defect.source)));
        }
    }
}
