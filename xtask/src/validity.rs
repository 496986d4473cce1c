//! `cargo xtask validity`: whether knee's validity check cries wolf, and whether it stays silent.
//!
//! Runs quiet trials, in which nothing is wrong, and disturbed ones, in which the load generator is
//! saturated, stopped, throttled or starved, and counts what knee says of them. Does not look inside
//! `knee`: it runs the program that users have and reads its JSON. Quiet trials mean something on a
//! machine that does nothing else.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::json;

use crate::program::Knee;

mod disturbance;
mod place;
pub mod target;
mod trial;

use place::Places;
use trial::{Outcome, Trial};

/// Goals: of quiet trials none is invalid and this share suspect; of disturbed ones none is valid.
const QUIET_SUSPECT: f64 = 0.01;

/// What was asked for.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Trials in which nothing is wrong
    #[arg(long, default_value_t = 300)]
    quiet: usize,
    /// Trials in which the load generator is disturbed
    #[arg(long, default_value_t = 200)]
    disturbed: usize,
    /// Lengths of the trials, used in turn
    #[arg(long, value_delimiter = ',', default_value = "1,10,60")]
    seconds: Vec<u64>,
    /// Seed of everything that is chosen
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only disturbances whose name begins so: saturated, paused, throttled or starved
    #[arg(long, value_name = "KIND")]
    only: Option<String>,
    /// Try this build in place of the release build of this tree
    #[arg(long, value_name = "PROGRAM")]
    knee: Option<PathBuf>,
    /// Write every trial with its evidence here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs all trials, prints a table, and fails if a goal is missed.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    ensure!(!options.seconds.is_empty() && !options.seconds.contains(&0), "a trial takes at least a second");
    let knee = options.knee.clone().unwrap_or_else(|| root.join("target/release/knee"));
    ensure!(knee.exists(), "`{}` is missing: build it, or name one with --knee", knee.display());
    let knee = Knee::get(root, Some(std::path::absolute(knee)?))?;
    let mut random = StdRng::seed_from_u64(options.seed);
    let places = Places::new();
    let disturbances = disturbance::possible(options.only.as_deref());
    let mut trials: Vec<Trial> =
        (0..options.quiet).map(|number| Trial::quiet(number, options, &places, &mut random)).collect();
    if !disturbances.is_empty() {
        trials.extend((0..options.disturbed).map(|number| {
            Trial::disturbed(number, &disturbances[number % disturbances.len()], options, &mut random)
        }));
    }
    let mut outcomes = Vec::new();
    for (number, trial) in trials.iter().enumerate() {
        let outcome = trial.run(&knee, &places)?;
        eprintln!("{}/{} {}", number + 1, trials.len(), outcome.line());
        outcomes.push(outcome);
    }
    println!("{}", table(&outcomes));
    places.left_out().iter().chain(&disturbance::left_out()).for_each(|what| println!("left out: {what}"));
    if let Some(path) = &options.json {
        let all: Vec<_> = outcomes.iter().map(Outcome::json).collect();
        std::fs::write(path, serde_json::to_vec_pretty(&json!({ "seed": options.seed, "trials": all }))?)?;
    }
    judge(&outcomes)
}

/// One row a kind: how many, what knee said, and by which rules.
fn table(outcomes: &[Outcome]) -> String {
    let mut kinds: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        kinds.entry(&outcome.kind).or_default().push(outcome);
    }
    let mut text =
        "| kind | trials | valid | suspect | invalid | failed | codes |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for (kind, of_kind) in kinds {
        let said = |word: &str| of_kind.iter().filter(|outcome| outcome.validity == word).count();
        let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
        for code in of_kind.iter().flat_map(|outcome| outcome.warnings.iter().map(|(code, _)| code)) {
            *codes.entry(code).or_default() += 1;
        }
        let codes: Vec<String> = codes.iter().map(|(code, count)| format!("{code} {count}")).collect();
        let _ = writeln!(
            text,
            "| {kind} | {} | {} | {} | {} | {} | {} |",
            of_kind.len(),
            said("valid"),
            said("suspect"),
            said("invalid"),
            said("failed"),
            codes.join(", ")
        );
    }
    text
}

/// Fails if a goal is missed.
fn judge(outcomes: &[Outcome]) -> Result<()> {
    let count = |quiet: bool, word: &str| {
        outcomes.iter().filter(|outcome| outcome.quiet == quiet && outcome.validity == word).count()
    };
    let quiet = outcomes.iter().filter(|outcome| outcome.quiet).count();
    let (suspect, invalid, silent) = (count(true, "suspect"), count(true, "invalid"), count(false, "valid"));
    let failed = count(true, "failed") + count(false, "failed");
    let allowed = (quiet as f64 * QUIET_SUSPECT).floor() as usize;
    if invalid > 0 || suspect > allowed || silent > 0 || failed > 0 {
        bail!(
            "of {quiet} quiet trials {invalid} are invalid (0 allowed) and {suspect} suspect ({allowed} allowed); \
             {silent} disturbed trials are called valid; {failed} trials failed"
        );
    }
    Ok(())
}
