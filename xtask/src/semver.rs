//! `cargo xtask semver`: whether the public API of the libraries breaks those who use it more than their version says.
//!
//! cargo-semver-checks compares with the last release, or with a commit that is named. Does not judge behaviour.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::cargo_tool::CargoTool;
use crate::program;

/// The libraries whose API is promised.
const LIBRARIES: [&str; 3] = ["knee-core", "knee-engine", "knee-report"];

const CHECKER: CargoTool = CargoTool {
    name: "cargo-semver-checks",
    version: "0.51.0",
    ask: &["--version"],
    series: "cargo-semver-checks 0.",
    arguments: &[],
};

/// What is compared with.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Compare with this commit [default: the newest tag of a release]
    #[arg(long, value_name = "COMMIT")]
    against: Option<String>,
}

/// Runs the command.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let released = || last_release(root);
    let Some(baseline) = options.against.clone().map_or_else(released, |commit| Ok(Some(commit)))? else {
        println!("semver: there is no release yet to compare with; --against COMMIT compares with a commit");
        return Ok(());
    };
    let checker = CHECKER.get(root)?;
    let mut command = Command::new(checker);
    command.args(["semver-checks", "check-release", "--baseline-rev", &baseline]).current_dir(root);
    command.args(LIBRARIES.iter().flat_map(|library| ["--package", library]));
    // Its builds are of other features than those of the workspace.
    command.env("CARGO_TARGET_DIR", program::target(root)?.join("semver"));
    let status = command.status()?;
    if !status.success() {
        bail!(
            "the API breaks what used it at {baseline}\n\nhint: raise the version in Cargo.toml, or keep the API"
        );
    }
    println!("semver: {} fit their version since {baseline}", LIBRARIES.join(", "));
    Ok(())
}

/// The newest tag `v*` of the history.
fn last_release(root: &Path) -> Result<Option<String>> {
    let mut git = Command::new("git");
    let output =
        git.args(["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]).current_dir(root).output()?;
    let tag = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok((output.status.success() && !tag.is_empty()).then_some(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_library_is_a_crate_of_this_project() {
        for library in LIBRARIES {
            assert!(crate::root().join("crates").join(library).join("Cargo.toml").is_file(), "{library}");
        }
    }

    #[test]
    fn a_history_without_tags_has_no_release() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            Command::new("git").arg("init").arg("-q").current_dir(folder.path()).status().unwrap().success()
        );
        assert_eq!(last_release(folder.path()).unwrap(), None);
    }
}
