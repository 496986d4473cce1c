//! `cargo xtask mutants`: changes in the code of the verdicts, one at a time, and whether a test notices each of them.
//!
//! cargo-mutants makes the changes (*mutants*) in a copy of this tree and runs the tests of the changed package. A run
//! tries a sample: every n-th mutant of all, from a first one that a seed draws. Needs the network only to install
//! cargo-mutants. Does not explain the survivors: people do, in BENCHMARKS.md.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::Deserialize;

use crate::cargo_tool::CargoTool;
use crate::program;

const MUTANTS: CargoTool = CargoTool {
    name: "cargo-mutants",
    version: "27.1.0",
    ask: &["mutants", "--version"],
    series: "cargo-mutants 27.",
    arguments: &[],
};

/// The code on which a verdict or a figure rests: what it is, and its files as cargo-mutants takes them.
const FILES: [(&str, &[&str]); 6] = [
    ("judge", &["crates/knee-core/src/validity/judge.rs"]),
    ("verdict", &["crates/knee-study/src/statistics/verdict.rs"]),
    ("statistics", &["crates/knee-study/src/statistics/*.rs"]),
    ("recorder", &["crates/knee-engine/src/recorder.rs"]),
    ("schedule", &["crates/knee-core/src/schedule.rs"]),
    ("histogram", &["crates/knee-core/src/histogram.rs", "crates/knee-core/src/histogram/*.rs"]),
];

/// The packages of these files, whose tests are run.
const PACKAGES: [&str; 3] = ["knee-core", "knee-engine", "knee-study"];

/// Share of the mutants that can be built, and that the tests catch.
const GOAL: f64 = 0.9;

/// Exit codes of a run that tried its mutants: all caught, some missed, some that ran into the time limit.
const TRIED: [i32; 3] = [0, 2, 3];

const HEADING: &str = "| file | caught | by the time limit | missed | not viable | share caught |
|---|---|---|---|---|---|
";

/// What is tried.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Seed of the draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// About how many mutants; all of them if there are no more
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,
    /// Try one part of the code: judge, verdict, statistics, recorder, schedule or histogram
    #[arg(long, value_name = "PART")]
    only: Option<String>,
    /// Seconds that a build can take
    #[arg(long, default_value_t = 1_200, value_name = "SECONDS")]
    build_timeout: u64,
    /// How many times as long as without a change the tests can take, and a minute at least
    #[arg(long, default_value_t = 3, value_name = "TIMES")]
    timeout_multiplier: u64,
}

/// Tries a sample of mutants, prints a table and the survivors.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let files = files(options.only.as_deref())?;
    let tool = MUTANTS.get(root)?;
    let all = all(command(root, &tool, &files))?;
    ensure!(!all.is_empty(), "there are no mutants in {}", files.join(", "));
    let shard = shard(all.len() as u64, options);
    println!(
        "seed {}: {} of {} mutants, one in {} from number {}",
        options.seed,
        sampled(all.len() as u64, shard),
        all.len(),
        shard.of,
        shard.first + 1
    );
    let output = program::target(root)?.join("mutants");
    fs::create_dir_all(&output).with_context(|| format!("cannot create {}", output.display()))?;
    tried(command(root, &tool, &files), options, shard, &output)?;
    let path = output.join("mutants.out/outcomes.json");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    println!("\n{}", Score::read(&text)?.page());
    println!("outputs of the builds and tests: {}", output.join("mutants.out/log").display());
    Ok(())
}

/// The patterns of the files of one part, or of all.
fn files(only: Option<&str>) -> Result<Vec<&'static str>> {
    let asked = |name: &str| only.is_none_or(|only| only == name);
    let files: Vec<&str> =
        FILES.iter().filter(|(name, _)| asked(name)).flat_map(|(_, files)| files.iter().copied()).collect();
    if files.is_empty() {
        bail!("there is no such part of the code\n\nhint: {}", FILES.map(|(name, _)| name).join(", "));
    }
    Ok(files)
}

/// cargo-mutants on these files, with the settings that the list and the trial must share.
fn command(root: &Path, tool: &Path, files: &[&str]) -> Command {
    let mut command = Command::new(tool);
    command.args(["mutants", "--no-config"]).current_dir(root);
    command.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    command.args(files.iter().flat_map(|file| ["--file", file]));
    // The copy of the tree builds in a folder of its own.
    command.env_remove("CARGO_TARGET_DIR");
    command
}

/// All mutants.
fn all(mut command: Command) -> Result<Vec<Mutant>> {
    command.args(["--list", "--json"]).stderr(Stdio::inherit());
    let output = command.output().context("cannot run cargo-mutants")?;
    ensure!(output.status.success(), "`cargo mutants --list` ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("`cargo mutants --list --json` printed another document")
}

/// Every `of`-th mutant, from number `first`, which counts from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    first: u64,
    of: u64,
}

fn shard(all: u64, options: &Options) -> Shard {
    let of = all.div_ceil(options.count).max(1);
    Shard { first: StdRng::seed_from_u64(options.seed).random_range(0..of), of }
}

/// How many of `all` are in it.
fn sampled(all: u64, shard: Shard) -> u64 {
    all.saturating_sub(shard.first).div_ceil(shard.of)
}

/// Tries the mutants of a shard. What it prints meanwhile is of cargo-mutants.
fn tried(mut command: Command, options: &Options, shard: Shard, output: &Path) -> Result<()> {
    command.arg("--output").arg(output);
    command.args(["--shard", &format!("{}/{}", shard.first, shard.of), "--sharding", "round-robin"]);
    command.args(["--build-timeout", &options.build_timeout.to_string()]);
    command.args(["--timeout-multiplier", &options.timeout_multiplier.to_string()]);
    command.args(["--minimum-test-timeout", "60", "--cargo-arg=--locked"]);
    // Examples in the documentation are no tests of behaviour, and take long to build.
    let status = command.args(["--", "--tests"]).status().context("cannot run cargo-mutants")?;
    if status.code().is_some_and(|code| TRIED.contains(&code)) {
        return Ok(());
    }
    bail!(
        "cargo-mutants ended with {status}\n\nhint: exit code 4 says that the tests fail without a change; {} has \
         their output",
        output.join("mutants.out/log").display()
    )
}

/// A change of the code, as cargo-mutants writes it.
#[derive(Debug, Deserialize)]
struct Mutant {
    /// The place, and what is changed there.
    name: String,
    file: String,
}

/// What was built and tested: the code as it is, or with a change.
#[derive(Debug, Deserialize)]
enum Scenario {
    Baseline,
    Mutant(Mutant),
}

/// How the tests ended.
#[derive(Clone, Copy, Debug, Deserialize)]
enum Summary {
    CaughtMutant,
    MissedMutant,
    Timeout,
    Unviable,
    Success,
    Failure,
}

#[derive(Debug, Deserialize)]
struct Outcome {
    scenario: Scenario,
    summary: Summary,
}

#[derive(Debug, Deserialize)]
struct Outcomes {
    outcomes: Vec<Outcome>,
}

/// The mutants of one file, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    caught: u64,
    missed: u64,
    timeout: u64,
    /// Those that do not compile.
    unviable: u64,
}

impl Counts {
    fn add(&mut self, summary: Summary) {
        match summary {
            Summary::CaughtMutant => self.caught += 1,
            Summary::MissedMutant => self.missed += 1,
            Summary::Timeout => self.timeout += 1,
            Summary::Unviable => self.unviable += 1,
            // Of the code without a change.
            Summary::Success | Summary::Failure => {}
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            caught: self.caught + other.caught,
            missed: self.missed + other.missed,
            timeout: self.timeout + other.timeout,
            unviable: self.unviable + other.unviable,
        }
    }

    /// The share that the tests notice of those that can be built. Tests that do not end notice a mutant as well.
    fn share(self) -> Option<f64> {
        let noticed = self.caught + self.timeout;
        let viable = noticed + self.missed;
        (viable > 0).then(|| noticed as f64 / viable as f64)
    }

    fn row(self, name: &str) -> String {
        let Self { caught, missed, timeout, unviable } = self;
        let share = self.share().map_or_else(|| "–".to_owned(), percent);
        format!("| {name} | {caught} | {timeout} | {missed} | {unviable} | {share} |\n")
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// What became of all mutants of a run.
#[derive(Debug, Default)]
struct Score {
    by_file: BTreeMap<String, Counts>,
    /// The names of the mutants that no test noticed.
    survivors: Vec<String>,
}

impl Score {
    /// From the file `outcomes.json`.
    fn read(text: &str) -> Result<Self> {
        let read: Outcomes =
            serde_json::from_str(text).context("outcomes.json is none of the version that was tried")?;
        let mut score = Self::default();
        for Outcome { scenario, summary } in read.outcomes {
            let Scenario::Mutant(mutant) = scenario else { continue };
            score.by_file.entry(mutant.file).or_default().add(summary);
            if matches!(summary, Summary::MissedMutant) {
                score.survivors.push(mutant.name);
            }
        }
        Ok(score)
    }

    /// The table and the survivors, in Markdown.
    fn page(&self) -> String {
        let mut page = HEADING.to_owned();
        for (file, counts) in &self.by_file {
            page += &counts.row(file);
        }
        let total = self.by_file.values().fold(Counts::default(), |sum, counts| sum.plus(*counts));
        page += &total.row(&format!("all (goal {})", percent(GOAL)));
        page += if self.survivors.is_empty() { "\nNo mutant survived.\n" } else { "\nSurvivors:\n\n" };
        for name in &self.survivors {
            page.extend(["- `", name, "`\n"]);
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(seed: u64, count: u64) -> Options {
        Options { seed, count, only: None, build_timeout: 1, timeout_multiplier: 1 }
    }

    #[test]
    fn each_file_of_each_part_is_there_and_belongs_to_a_package_that_is_tried() {
        let root = crate::root();
        for (part, file) in FILES.iter().flat_map(|(part, files)| files.iter().map(move |file| (part, file)))
        {
            let place = file.strip_suffix("/*.rs").unwrap_or(file);
            assert!(root.join(place).exists(), "{part}: {file}");
            assert!(PACKAGES.iter().any(|package| file.starts_with(&format!("crates/{package}/"))), "{file}");
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_mutants_about_as_many_as_were_asked_for() {
        for (all, count, least, most) in [(1_000, 100, 100, 100), (1_050, 100, 95, 96), (30, 100, 30, 30)] {
            let drawn = shard(all, &options(7, count));
            assert_eq!(drawn, shard(all, &options(7, count)));
            assert!(drawn.first < drawn.of, "{drawn:?}");
            let sampled = sampled(all, drawn);
            assert!((least..=most).contains(&sampled), "{sampled} of {all}");
        }
        let firsts: std::collections::BTreeSet<u64> =
            (0..40).map(|seed| shard(1_000, &options(seed, 100)).first).collect();
        assert!(firsts.len() > 5, "{firsts:?}");
    }

    #[test]
    fn an_unknown_part_is_refused_with_the_known_ones() {
        let refused = files(Some("everything")).unwrap_err().to_string();
        assert!(refused.contains("judge, verdict"), "{refused}");
        assert_eq!(files(Some("schedule")).unwrap(), ["crates/knee-core/src/schedule.rs"]);
    }

    #[test]
    fn mutants_are_counted_by_file_and_survivors_are_named() {
        let mutant = |file: &str, change: &str, summary: &str| {
            format!(
                r#"{{"scenario":{{"Mutant":{{"name":"{file}:1:2: {change}","package":"p","file":"{file}","genre":"FnValue"}}}},
                "summary":"{summary}","log_path":"log/a.log"}}"#
            )
        };
        let outcomes = [
            r#"{"scenario":"Baseline","summary":"Success","log_path":"log/baseline.log"}"#.to_owned(),
            mutant("a.rs", "replace + with -", "CaughtMutant"),
            mutant("a.rs", "replace < with <=", "MissedMutant"),
            mutant("b.rs", "replace next with None", "Timeout"),
            mutant("b.rs", "replace new with default", "Unviable"),
        ];
        let text = format!(r#"{{"outcomes":[{}],"total_mutants":4}}"#, outcomes.join(","));
        let page = Score::read(&text).unwrap().page();
        for line in [
            "| a.rs | 1 | 0 | 1 | 0 | 50 % |",
            "| b.rs | 0 | 1 | 0 | 1 | 100 % |",
            "| all (goal 90 %) | 1 | 1 | 1 | 1 | 67 % |",
            "- `a.rs:1:2: replace < with <=`",
        ] {
            assert!(page.lines().any(|it| it == line), "{line}: {page}");
        }
        assert_eq!(page.matches("- `").count(), 1, "{page}");
    }
}
