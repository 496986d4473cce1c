//! Other programs that make or try the artefacts.
//!
//! Runs them and reports their failures with their words. Does not install them, except those of Python.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::python;

/// Compiles C for other platforms, with one download.
const ZIG: &str = "cargo-zigbuild==0.24.1\nziglang==0.15.2\n";

/// Packs wheels.
const WHEEL: &str = "wheel==0.45.1\n";

/// Runs a program to its end.
pub fn run(command: &mut Command) -> Result<()> {
    output(command).map(drop)
}

/// What a program prints.
pub fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().with_context(|| format!("cannot run `{name}`; install it"))?;
    if !done.status.success() {
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        let said = String::from_utf8_lossy(&done.stderr);
        bail!("`{name} {}` ended with {}:\n{said}", words.join(" "), done.status);
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// `cargo zigbuild`, in a Python environment below `target`.
pub fn zigbuild(root: &Path) -> Result<PathBuf> {
    of_python(root, "cargo-zigbuild", ZIG)
}

/// `wheel`, likewise.
pub fn wheel(root: &Path) -> Result<PathBuf> {
    of_python(root, "wheel", WHEEL)
}

fn of_python(root: &Path, name: &str, requirements: &str) -> Result<PathBuf> {
    match python::installed(root, name, requirements)? {
        Ok(program) => Ok(program),
        Err(why) => bail!("`{name}` is needed: {why}"),
    }
}
