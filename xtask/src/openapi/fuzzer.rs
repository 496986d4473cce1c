//! Schemathesis: asks a lab what its document allows, and what it does not.
//!
//! All versions are those of `requirements.txt`. Does not judge what it found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tempfile::TempDir;

use super::lab::{Lab, Standing};
use crate::{process, python};

/// What is installed: one line a package, with its version.
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// What its flags cannot say. A body that is too large, 413, is refused as well as any other.
const SETTINGS: &str = "[checks]\nnegative_data_rejection.expected-statuses = [\"4xx\"]\n";

/// How long one lab can take before it counts as hung.
const PATIENCE: Duration = Duration::from_secs(300);

/// A program that reads documents and asks services.
pub struct Fuzzer {
    program: PathBuf,
}

impl Fuzzer {
    /// The one below `target`, installed if it is not there; nothing, and a notice, on a machine without Python.
    pub fn get(root: &Path) -> Result<Option<Self>> {
        match python::installed(root, "schemathesis", REQUIREMENTS)? {
            Ok(program) => Ok(Some(Self { program })),
            Err(missing) => {
                println!("openapi: left out: {missing}");
                Ok(None)
            }
        }
    }

    /// Asks a lab whether it does what its `openapi.json` says.
    pub fn ask(&self, lab: &Lab, standing: &Standing, examples: u32, seed: u64) -> Result<bool> {
        // What it writes by the way goes with this folder.
        let folder = TempDir::new()?;
        fs::write(folder.path().join("schemathesis.toml"), SETTINGS)?;
        let mut command = Command::new(&self.program);
        command
            .current_dir(folder.path())
            .arg("--no-color")
            .arg("run")
            .arg(format!("{}/openapi.json", standing.url));
        command.args(["--phases", "examples,coverage,fuzzing,stateful", "--checks", "all"]);
        command.args(["--continue-on-failure", "--request-timeout", "20", "--generation-database", "none"]);
        command.args(["--max-examples", &examples.to_string(), "--seed", &seed.to_string()]);
        for header in &standing.headers {
            command.args(["--header", header]);
        }
        for path in lab.without {
            command.args(["--exclude-path", path]);
        }
        if !lab.unchecked.is_empty() {
            command.args(["--exclude-checks", &lab.unchecked.join(",")]);
        }
        let mut running = process::spawn(&mut command)?;
        let begun = Instant::now();
        loop {
            match running.child().try_wait()?.map(|status| status.code()) {
                Some(Some(0)) => return Ok(true),
                // Something was found; it has said what.
                Some(Some(1)) => return Ok(false),
                Some(code) => bail!("schemathesis ended with {code:?}"),
                None if begun.elapsed() > PATIENCE => bail!("schemathesis took more than {PATIENCE:?}"),
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_one_version() {
        let packages: Vec<&str> = REQUIREMENTS.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(packages.iter().all(|line| line.split_once("==").is_some()), "{packages:?}");
        assert!(packages.iter().any(|line| line.starts_with("schemathesis==")));
    }
}
