//! `cargo xtask fuzz`: runs the fuzz targets one after another, from the corpora that the repository keeps.
//!
//! Needs a nightly compiler and cargo-fuzz, and installs neither. Does not repair what it finds: libFuzzer stops a target
//! at its first finding and leaves the input in `fuzz/artifacts`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

mod corpus;

/// How long to fuzz.
#[derive(Args)]
pub struct Options {
    /// Targets; all without one
    targets: Vec<String>,
    /// Minutes of CPU time for each target
    #[arg(long, default_value_t = 60.0)]
    minutes: f64,
}

/// Fuzzes and prints a row for each target.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let known = targets(root)?;
    let chosen = if options.targets.is_empty() { &known } else { &options.targets };
    if let Some(unknown) = chosen.iter().find(|target| !known.contains(target)) {
        bail!("{unknown} is no fuzz target; there are {}", known.join(", "));
    }
    ensure!(options.minutes > 0.0, "--minutes is above 0");
    println!("{:<14} {:>9} {:>12} {:>9} {:>14}", "target", "minutes", "inputs", "coverage", "last growth");
    for target in chosen {
        corpus::unpack(root, target)?;
        let outcome = fuzz(root, target, options.minutes)?;
        println!("{target:<14} {outcome}");
        corpus::pack(root, target)?;
    }
    Ok(())
}

/// The names of all targets.
fn targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// What fuzzing one target gave.
#[derive(Debug, Default)]
struct Outcome {
    /// CPU time.
    minutes: f64,
    inputs: u64,
    /// Places of the code that were reached, as libFuzzer counts them.
    coverage: u64,
    /// After which part of the time the last new place was reached.
    last_growth: f64,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { minutes, inputs, coverage, last_growth } = self;
        write!(out, "{minutes:>9.1} {inputs:>12} {coverage:>9} {:>11.0} %", last_growth * 100.0)
    }
}

/// Runs a target until it has used its CPU time. Fails if the target found something.
fn fuzz(root: &Path, target: &str, minutes: f64) -> Result<Outcome> {
    build(root, target)?;
    let mut outcome = Outcome::default();
    let mut grown_at = 0.0;
    while outcome.minutes < minutes {
        let before = cpu_minutes()?;
        // On a busy machine a process gets less than a CPU: the rest of its time is another turn.
        let seconds = ((minutes - outcome.minutes) * 60.0).ceil().max(1.0);
        let turn = turn(root, target, seconds as u64)?;
        let used = cpu_minutes()? - before;
        if turn.coverage > outcome.coverage {
            grown_at = outcome.minutes + used * turn.last_growth;
        }
        outcome.coverage = outcome.coverage.max(turn.coverage);
        outcome.inputs += turn.inputs;
        outcome.minutes += used;
    }
    outcome.last_growth = grown_at / outcome.minutes;
    Ok(outcome)
}

/// Builds a target, so that its compilation does not count as fuzzing.
fn build(root: &Path, target: &str) -> Result<()> {
    let mut command = Command::new("cargo");
    let built = command.current_dir(root).args(["+nightly", "fuzz", "build", target]).status();
    let is_built = built.context("cannot start cargo")?.success();
    ensure!(
        is_built,
        "{target} cannot be built: fuzzing needs a nightly compiler and `cargo install cargo-fuzz`"
    );
    Ok(())
}

/// CPU time of the children of this process that have ended.
fn cpu_minutes() -> Result<f64> {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok((used.user_time() + used.system_time()).num_milliseconds() as f64 / 60_000.0)
}

/// Runs a target for some seconds.
fn turn(root: &Path, target: &str, seconds: u64) -> Result<Outcome> {
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["+nightly", "fuzz", "run", target, "--"]);
    command.args(["-max_len=65536", "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1"]);
    command.arg(format!("-max_total_time={seconds}"));
    let mut child =
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().context("cannot start cargo")?;
    let errors = child.stderr.take().context("the output of cargo is not there")?;
    let (mut outcome, mut begun, mut grown) = (Outcome::default(), None, Duration::ZERO);
    let mut last_lines = Vec::new();
    for line in BufReader::new(errors).lines() {
        let line = line?;
        if let Some(coverage) = number_after(&line, " cov: ") {
            let begun: &Instant = begun.get_or_insert_with(Instant::now);
            if coverage > outcome.coverage {
                (outcome.coverage, grown) = (coverage, begun.elapsed());
            }
        }
        if let Some(inputs) = number_after(&line, "stat::number_of_executed_units:") {
            outcome.inputs = inputs;
        }
        if last_lines.len() == 40 {
            last_lines.remove(0);
        }
        last_lines.push(line);
    }
    if !child.wait()?.success() {
        bail!("{target} found something:\n{}", last_lines.join("\n"));
    }
    let whole = begun.map_or(Duration::ZERO, |begun| begun.elapsed()).max(Duration::from_millis(1));
    outcome.last_growth = grown.as_secs_f64() / whole.as_secs_f64();
    Ok(outcome)
}

/// The number that follows `name` in a line.
fn number_after(line: &str, name: &str) -> Option<u64> {
    let rest = line.split_once(name)?.1.trim_start();
    rest.split(|char: char| !char.is_ascii_digit()).next()?.parse().ok()
}

/// The folder of the inputs of a target.
fn inputs_of(root: &Path, target: &str) -> PathBuf {
    root.join("fuzz/corpus").join(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_the_lines_of_lib_fuzzer() {
        let line = "#1024\tNEW    cov: 377 ft: 901 corp: 55/1203b lim: 21 exec/s: 512 rss: 60Mb";
        assert_eq!(number_after(line, " cov: "), Some(377));
        assert_eq!(number_after("stat::number_of_executed_units: 12", "executed_units:"), Some(12));
        assert_eq!(number_after("INFO: seed corpus", " cov: "), None);
    }
}
