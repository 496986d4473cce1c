//! `cargo xtask proofs`: which remedies `knee find` applies by itself to seeded defects, and with which verdict.
//!
//! Searches the defects whose findings can have such a remedy, with a proof, and looks at the healthy twin of each remedy
//! that was tried. Writes `labs/findings/proofs.json` after every search and `labs/findings/PROOFS.md` at the end. Does not
//! know the rules: the codes are those of the reference.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::expected::{Case, Expected, HEALTHY};
use super::look::{Looker, round};
use super::saved::Saved;
use super::{FOLDER, text};
use crate::program;

mod page;
mod proven;

use proven::{Proofs, Proven};

/// The page that is generated from the rules, and the heading of those whose remedies knee can apply.
const REFERENCE: &str = "docs/reference/findings.md";
const APPLIED: &str = "## Remedies that `knee find` applies";

/// What was asked for.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only these defects, by their names; also those whose rules have no remedy that knee can apply
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Measured time of a look and of a trial
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u64).range(5..=120))]
    seconds: u64,
    /// Blocks of a proof: with 6 it compares one metric, with 8 four
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u64).range(6..=8))]
    blocks: u64,
    /// Search with this build of knee in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    knee: Option<PathBuf>,
    /// Search this build of the lab in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    service_bin: Option<PathBuf>,
    /// Search again what has been searched
    #[arg(long)]
    again: bool,
    /// Search nothing: write the page from what was saved
    #[arg(long, conflicts_with_all = ["only", "again"])]
    report_only: bool,
}

/// Searches what was not searched yet, and writes the page.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let lab = Lab::read(root)?;
    let file = lab.folder.join("proofs.json");
    let mut proofs = Proofs::read(&file)?;
    if !options.report_only {
        let asked = lab.asked(&options.only)?;
        search(root, options, &lab, &asked, &mut proofs, &file)?;
    }
    let path = lab.folder.join("PROOFS.md");
    fs::write(&path, page::write(&lab, &proofs))
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {FOLDER}/PROOFS.md");
    Ok(())
}

/// What is known of the lab before a search.
struct Lab {
    folder: PathBuf,
    expected: Expected,
    /// The looks of `cargo xtask defects`.
    looks: Saved,
    /// Codes of the rules with a remedy that knee can apply.
    codes: BTreeSet<String>,
}

impl Lab {
    fn read(root: &Path) -> Result<Self> {
        let folder = root.join(FOLDER);
        let expected = Expected::read(&text(&folder.join("expected.toml"))?)?;
        let looks = Saved::read(&folder.join("confusion.json"))?;
        let codes = codes(&text(&root.join(REFERENCE))?)?;
        Ok(Self { folder, expected, looks, codes })
    }

    /// The defects that `only` names; without names those for which a rule with such a remedy is meant, or spoke at the last
    /// look.
    fn asked(&self, only: &[String]) -> Result<Vec<Case>> {
        let defects: Vec<Case> =
            self.expected.cases().into_iter().filter(|case| !case.is_healthy()).collect();
        for name in only {
            ensure!(defects.iter().any(|case| case.variant == *name), "there is no defect `{name}`");
        }
        let is_asked = |case: &Case| {
            if only.is_empty() { self.can_have_one(case) } else { only.contains(&case.variant) }
        };
        Ok(defects.into_iter().filter(is_asked).collect())
    }

    fn can_have_one(&self, case: &Case) -> bool {
        let defect = self.expected.defect.iter().find(|defect| defect.name == case.variant);
        let is_meant =
            defect.is_some_and(|defect| defect.expects.iter().any(|code| self.codes.contains(code)));
        let look = self.looks.look(&case.variant, &case.workload);
        is_meant || look.is_some_and(|look| look.findings().any(|said| self.codes.contains(&said.code)))
    }
}

/// The codes in the table of the reference.
fn codes(reference: &str) -> Result<BTreeSet<String>> {
    let (_, section) =
        reference.split_once(APPLIED).with_context(|| format!("{REFERENCE} lacks `{APPLIED}`"))?;
    let rows = section.lines().take_while(|line| !line.starts_with("## "));
    let code = |row: &str| Some(row.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let codes: BTreeSet<String> = rows.filter_map(code).collect();
    ensure!(!codes.is_empty(), "{REFERENCE} has no codes below `{APPLIED}`");
    Ok(codes)
}

fn search(
    root: &Path,
    options: &Options,
    lab: &Lab,
    asked: &[Case],
    proofs: &mut Proofs,
    file: &Path,
) -> Result<()> {
    let missing: Vec<&Case> = asked.iter().filter(|case| options.again || !proofs.has(case)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let knee = options.knee.clone().map_or_else(|| program::lab(root, "knee"), Ok)?;
    let service = options.service_bin.clone().map_or_else(|| program::lab(root, "findings"), Ok)?;
    let looker = Looker::new(&lab.folder, &missing, knee, service)?;
    for (number, case) in missing.iter().enumerate() {
        let proven = one(&looker, case, case.seconds.unwrap_or(options.seconds), options.blocks);
        println!("{} of {}: {}: {}", number + 1, missing.len(), case.label(), proven.says());
        proofs.put(proven);
        // A trial that is interrupted keeps what it has.
        proofs.write(file)?;
    }
    Ok(())
}

/// Searches one defect, and looks at its healthy twin if a remedy was tried. A search that fails says why.
fn one(looker: &Looker, case: &Case, seconds: u64, blocks: u64) -> Proven {
    let began = Instant::now();
    let searched = looker.search(case, seconds, blocks).map(|document| Proven::of(&document));
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    let mut proven =
        searched.unwrap_or_else(|error| Proven { problem: Some(format!("{error:#}")), ..Proven::default() });
    if proven.tried().is_some() {
        let twin = Case { variant: HEALTHY.to_owned(), ..case.clone() };
        proven.twin_mean_ms = looker.look(&twin, seconds).mean_ms;
    }
    proven.variant.clone_from(&case.variant);
    proven.workload.clone_from(&case.workload);
    (proven.seconds, proven.minutes) = (seconds, round(minutes));
    proven
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_proofs_is_what_the_saved_searches_say() {
        let lab = Lab::read(&crate::root()).unwrap();
        let proofs = Proofs::read(&lab.folder.join("proofs.json")).unwrap();
        let written = text(&lab.folder.join("PROOFS.md")).unwrap();
        assert!(
            written == page::write(&lab, &proofs),
            "PROOFS.md is old: run `cargo xtask proofs --report-only`"
        );
    }

    #[test]
    fn defects_are_searched_whose_rules_have_a_remedy_that_knee_can_apply() {
        let lab = Lab::read(&crate::root()).unwrap();
        let names = |only: &[String]| -> Vec<String> {
            lab.asked(only).unwrap().into_iter().map(|case| case.variant).collect()
        };
        let asked = names(&[]);
        for name in ["no-due-index", "ascending-priority", "ilike-search", "jit-compile"] {
            assert!(asked.iter().any(|one| one == name), "{name}");
        }
        for name in ["nagle", "keys-command", HEALTHY] {
            assert!(!asked.iter().any(|one| one == name), "{name}");
        }
        assert_eq!(names(&["nagle".to_owned()]), ["nagle"], "a name is searched in any case");
        assert!(lab.asked(&["nothing".to_owned()]).is_err());
    }

    #[test]
    fn the_codes_are_those_of_one_table_of_the_reference() {
        let page = format!(
            "| `other` | x |\n{APPLIED}\n\ntext\n\n| code | x |\n|---|---|\n| `a_b` | `x` |\n\n## Bounds\n| `c` |"
        );
        assert_eq!(codes(&page).unwrap(), BTreeSet::from(["a_b".to_owned()]));
        assert!(codes("| `a_b` | x |").is_err());
    }
}
