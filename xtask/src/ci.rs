//! `cargo xtask ci`: the whole of continuous integration, in the order in which failures are cheap.
//!
//! Does not install anything (`check` at the root of the repository does) and does not measure:
//! its times are for people who wait.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::{compat, openapi, program, tidy};

/// Runs every step and stops at the first that fails.
pub fn run(root: &Path) -> Result<()> {
    let begun = Instant::now();
    step("fmt", || cargo(root, &["fmt", "--all", "--check"]))?;
    step("tidy", || tidy::run(root))?;
    step("clippy", || {
        cargo(root, &["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"])
    })?;
    step("test", || cargo(root, &["test", "--locked", "--workspace"]))?;
    // The tests have built the programs; without its path each would be built once more, with other features.
    step("compat", || compat::run(root, compat::Options::recorded(program::tested(root, "knee")?)))?;
    step("openapi", || openapi::run(root, &openapi::Options::brief()))?;
    println!("ci: everything passed in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Runs one step; says that it begins, how it ended and how long it took.
fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("ci: {name}");
    let begun = Instant::now();
    let result = work();
    let ending = if result.is_ok() { "passed" } else { "failed" };
    println!("ci: {name} {ending} in {:.1} s", begun.elapsed().as_secs_f64());
    result.with_context(|| format!("step `{name}`"))
}

/// Runs cargo in the root of the repository with this process's terminal.
fn cargo(root: &Path, arguments: &[&str]) -> Result<()> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(program)
        .args(arguments)
        .current_dir(root)
        .status()
        .with_context(|| format!("cannot run `cargo {}`", arguments.join(" ")))?;
    if !status.success() {
        bail!("`cargo {}` ended with {status}", arguments.join(" "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_fails_is_named_in_the_error() {
        let error = step("clippy", || bail!("two warnings")).unwrap_err();
        assert_eq!(format!("{error:#}"), "step `clippy`: two warnings");
    }
}
