//! A program that a chore needs and cargo installs: from the PATH if it has the right version, else below `target/tools`.
//!
//! Does not run it for anything but its version.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::program;

/// A program, with the version of it that was tried.
pub struct CargoTool {
    /// Its name, and that of its crate.
    pub name: &'static str,
    /// What is installed.
    pub version: &'static str,
    /// How it is asked for its version.
    pub ask: &'static [&'static str],
    /// How the answer begins if it is good enough.
    pub series: &'static str,
    /// Arguments of `cargo install`.
    pub arguments: &'static [&'static str],
}

impl CargoTool {
    /// The program, installed if it is missing.
    pub fn get(&self, root: &Path) -> Result<PathBuf> {
        if let Some(program) = self.find(root)? {
            return Ok(program);
        }
        let (name, version, tools) = (self.name, self.version, tools(root)?);
        println!("{name}: installing {version} into {}: some minutes, once", tools.display());
        let package = format!("{name}@{version}");
        let mut command = program::cargo(root, &["install", "--locked", "--quiet", &package]);
        command.args(self.arguments).arg("--root").arg(&tools);
        let status = command.status().context("cannot run cargo")?;
        if !status.success() {
            bail!(
                "`cargo install --locked {package}` ended with {status}\n\nhint: it needs the network, once"
            );
        }
        Ok(self.installed(&tools))
    }

    /// The program, if it is there.
    pub fn find(&self, root: &Path) -> Result<Option<PathBuf>> {
        let candidates = [PathBuf::from(self.name), self.installed(&tools(root)?)];
        Ok(candidates.into_iter().find(|program| self.is_enough(program)))
    }

    fn installed(&self, tools: &Path) -> PathBuf {
        tools.join("bin").join(self.name)
    }

    fn is_enough(&self, program: &Path) -> bool {
        let output = Command::new(program).args(self.ask).output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).starts_with(self.series))
    }
}

fn tools(root: &Path) -> Result<PathBuf> {
    Ok(program::target(root)?.join("tools"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_nowhere_or_of_another_version_is_not_enough() {
        let (ask, series) = (&["--version"], "cargo 0.1");
        let tool = CargoTool { name: "cargo", version: "1", ask, series, arguments: &[] };
        assert!(!tool.is_enough(Path::new("a-program-that-is-nowhere")));
        assert!(!tool.is_enough(Path::new("cargo")));
        assert!(CargoTool { series: "cargo 1.", ..tool }.is_enough(Path::new("cargo")));
    }
}
