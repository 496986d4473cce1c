//! What the library `knee-sqlite` costs the statements of a service: its example `cost`, on a CPU of its own.
//!
//! Prints a table, and asserts nothing.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::process::{self, SERVER_CPU};
use crate::{paired, program};

/// Statements of one kind.
#[derive(Debug, PartialEq)]
struct Laps {
    name: String,
    /// Nanoseconds per statement with a watch and without, by pair.
    pairs: Vec<(f64, f64)>,
}

/// Measures so many pairs, and prints the table.
pub fn print(root: &Path, pairs: u32) -> Result<()> {
    let build = ["build", "--locked", "--release", "--package", "knee-sqlite", "--example", "cost"];
    let status = program::cargo(root, &build).status().context("cannot run cargo")?;
    ensure!(status.success(), "`cargo {}` failed", build.join(" "));
    let path = program::target(root)?.join("release/examples/cost");
    let ran = process::run_on(SERVER_CPU, Command::new(path).arg(pairs.to_string()))?;
    ensure!(ran.ended.success(), "the example `cost` ended with {}", ran.ended);
    println!("The library knee-sqlite, {pairs} pairs of laps with a watch and without");
    println!("| statement | time, by the watch | without it |\n|---|---|---|");
    for laps in measured(&ran.stdout)? {
        println!("{}", row(&laps));
    }
    Ok(())
}

fn row(laps: &Laps) -> String {
    let (low, mean, high) = paired::change(laps.pairs.iter().copied());
    let added: Vec<f64> = laps.pairs.iter().map(|(with, without)| with - without).collect();
    let (_, nanos, _) = paired::interval(&added);
    let without = laps.pairs.iter().map(|(_, without)| without).sum::<f64>() / laps.pairs.len() as f64;
    format!(
        "| {} | {mean:+.1} % (95 % CI {low:+.1} to {high:+.1}), {nanos:+.0} ns | {without:.0} ns |",
        laps.name
    )
}

/// The lines of the example by what the statements are, in the order of the lines.
fn measured(lines: &str) -> Result<Vec<Laps>> {
    let mut all: Vec<Laps> = Vec::new();
    for line in lines.lines() {
        let mut parts = line.split('\t');
        let mut part = || parts.next().with_context(|| format!("the example printed `{line}`"));
        let (name, with, without) = (part()?, part()?.parse::<f64>()?, part()?.parse::<f64>()?);
        let place = all.iter().position(|laps| laps.name == name).unwrap_or_else(|| {
            all.push(Laps { name: name.to_owned(), pairs: Vec::new() });
            all.len() - 1
        });
        all[place].pairs.push((with, without));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_example_are_a_row_per_statement() {
        let lines = "a row\t110.0\t100.0\na write\t5.0\t5.0\na row\t220.0\t200.0\na row\t330.0\t300.0\n";
        let laps = measured(lines).unwrap();
        assert_eq!(laps.len(), 2);
        assert_eq!(
            laps[0],
            Laps { name: "a row".to_owned(), pairs: vec![(110.0, 100.0), (220.0, 200.0), (330.0, 300.0)] }
        );
        assert_eq!(row(&laps[0]), "| a row | +10.0 % (95 % CI +10.0 to +10.0), +20 ns | 200 ns |");
        assert!(measured("a row\t1.0\n").is_err());
    }
}
