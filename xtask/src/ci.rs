//! `cargo xtask ci`: the whole of continuous integration, in the order in which failures are cheap.
//!
//! `--fast` is the part of it that concerns the product and needs nothing but Rust. What either of them leaves out is listed at its
//! end. Does not install stores or Python (`check` at the root of the repository does) and does not measure: its times are for
//! people who wait.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::{book, compat, openapi, program, tidy};

mod deny;
mod scope;
mod suite;

use scope::Scope;

/// What `cargo xtask ci` takes.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// The product alone, without the labs and without databases, mounts, Python or cargo-deny
    #[arg(long)]
    fast: bool,
}

/// Runs every step and stops at the first that fails.
pub fn run(root: &Path, options: Options) -> Result<()> {
    let begun = Instant::now();
    let scope = Scope::new(root, options.fast)?;
    step("fmt", || cargo(root, &["fmt", "--all", "--check"], &[]))?;
    step("tidy", || tidy::run(root))?;
    step("clippy", || {
        let lints: &[&str] = &["--all-targets", "--", "-D", "warnings"];
        cargo(root, &["clippy", "--locked"], &[scope.arguments(), &words(lints)].concat())
    })?;
    if !options.fast {
        step("deny", || deny::run(root))?;
        step("doc", || documentation(root))?;
    }
    step("test", || suite::run(root, scope.arguments()))?;
    // The tests have built the programs; without its path each would be built once more, with other features.
    let knee = program::tested(root, "knee")?;
    step("compat", || compat::run(root, compat::Options::recorded(knee.clone())))?;
    if !options.fast {
        step("book", || book::run_if_possible(root, &knee))?;
        step("openapi", || openapi::run(root, &openapi::Options::brief()))?;
    }
    report_what_was_left_out(root, &scope)?;
    println!("ci: everything passed in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Links of the documentation in the source lead somewhere. Readers of the source follow those to private items too.
fn documentation(root: &Path) -> Result<()> {
    let arguments = ["doc", "--locked", "--workspace", "--no-deps", "--document-private-items", "--quiet"];
    let flags = "-D warnings -A rustdoc::private_intra_doc_links";
    finished(program::cargo(root, &arguments).env("RUSTDOCFLAGS", flags))
}

/// Prints the steps, packages and tests that were not run.
fn report_what_was_left_out(root: &Path, scope: &Scope) -> Result<()> {
    for what in scope.left_out() {
        println!("ci: left out: {what}");
    }
    if !scope.leaves_tests_out() {
        return Ok(());
    }
    let tests = ignored(root, scope)?;
    println!("ci: left out: {} tests, which need what is not there:", tests.len());
    for test in tests {
        println!("  {test}");
    }
    Ok(())
}

/// Names of the tests that were compiled and not run.
fn ignored(root: &Path, scope: &Scope) -> Result<Vec<String>> {
    let mut command = program::cargo(root, &["test", "--locked", "--quiet"]);
    command.args(scope.arguments()).args(["--tests", "--", "--ignored", "--list", "--format", "terse"]);
    let output = command.stderr(Stdio::inherit()).output().context("cannot run `cargo test -- --list`")?;
    if !output.status.success() {
        bail!("`cargo test -- --ignored --list` ended with {}", output.status);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
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
fn cargo(root: &Path, command: &[&str], arguments: &[String]) -> Result<()> {
    finished(program::cargo(root, command).args(arguments))
}

/// Runs a command; an error names it if it fails.
fn finished(command: &mut Command) -> Result<()> {
    let line = shown(command);
    let status = command.status().with_context(|| format!("cannot run `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// A command as one would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_fails_is_named_in_the_error() {
        let error = step("clippy", || bail!("two warnings")).unwrap_err();
        assert_eq!(format!("{error:#}"), "step `clippy`: two warnings");
    }

    #[test]
    fn a_command_that_fails_is_named_as_one_would_type_it() {
        let error = finished(Command::new("/bin/sh").args(["-c", "exit 3"])).unwrap_err().to_string();
        assert!(error.starts_with("`sh -c exit 3` ended with "), "{error}");
    }
}
