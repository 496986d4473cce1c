//! The program mdBook: from the PATH if it has the right version, else installed below `target/tools`.
//!
//! Does not run it to build anything.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::program;

/// What is installed.
const VERSION: &str = "0.5.4";

/// What is good enough on the PATH: settings and pages of these versions are alike.
const SERIES: &str = "mdbook v0.5.";

/// mdBook, installed if it is missing.
pub fn get(root: &Path) -> Result<PathBuf> {
    if let Some(program) = find(root)? {
        return Ok(program);
    }
    let tools = tools(root)?;
    println!("book: installing mdbook {VERSION} into {}: some minutes, once", tools.display());
    let package = format!("mdbook@{VERSION}");
    let mut command = program::cargo(root, &["install", "--locked", "--quiet", &package]);
    command.args(["--no-default-features", "--features", "search", "--root"]).arg(&tools);
    let status = command.status().context("cannot run cargo")?;
    if !status.success() {
        bail!("`cargo install --locked {package}` ended with {status}\n\nhint: it needs the network, once");
    }
    Ok(installed(&tools))
}

/// mdBook, if it is there.
pub fn find(root: &Path) -> Result<Option<PathBuf>> {
    let candidates = [PathBuf::from("mdbook"), installed(&tools(root)?)];
    Ok(candidates.into_iter().find(|program| is_enough(program)))
}

fn tools(root: &Path) -> Result<PathBuf> {
    Ok(program::target(root)?.join("tools"))
}

fn installed(tools: &Path) -> PathBuf {
    tools.join("bin").join("mdbook")
}

fn is_enough(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).starts_with(SERIES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_that_is_installed_is_of_the_series_that_is_accepted() {
        assert!(format!("mdbook v{VERSION}").starts_with(SERIES));
        assert!(!is_enough(Path::new("a-program-that-is-nowhere")));
    }
}
