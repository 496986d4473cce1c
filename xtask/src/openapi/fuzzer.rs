//! Schemathesis, in a Python environment of its own below `target`.
//!
//! All versions are those of `requirements.txt`. Nothing is installed outside of that folder.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::lab::{Lab, Standing};
use crate::process;

/// What is installed: one line a package, with its version.
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// What its flags cannot say. A body that is too large, 413, is refused as well as any other.
const SETTINGS: &str = "[checks]\nnegative_data_rejection.expected-statuses = [\"4xx\"]\n";

/// The least Python that will do.
const PYTHON: (u32, u32) = (3, 10);

/// How long one lab may take before it counts as hung.
const PATIENCE: Duration = Duration::from_secs(300);

/// A program that reads documents and asks services.
pub struct Fuzzer {
    program: PathBuf,
}

impl Fuzzer {
    /// The one below `target`, installed if it is not there; nothing, and a notice, on a machine without Python.
    pub fn get(root: &Path) -> Result<Option<Self>> {
        if std::env::var_os("KNEE_WITHOUT_PYTHON").is_some_and(|value| value == "1") {
            println!("openapi: left out: the environment says that this machine has no Python");
            return Ok(None);
        }
        let Some(python) = ["python3", "python"].into_iter().find(|name| is_enough(name)) else {
            println!("openapi: left out: there is no Python {}.{} or newer here", PYTHON.0, PYTHON.1);
            return Ok(None);
        };
        let folder = root.join("target").join("schemathesis");
        let program = folder.join("bin").join("schemathesis");
        let installed = folder.join("installed.txt");
        if fs::read_to_string(&installed).is_ok_and(|text| text == REQUIREMENTS) && program.is_file() {
            return Ok(Some(Self { program }));
        }
        install(python, &folder).context(
            "schemathesis cannot be installed; it needs the module venv of Python (Debian: apt-get install \
             python3-venv) and, once, the network. KNEE_WITHOUT_PYTHON=1 leaves it out",
        )?;
        fs::write(installed, REQUIREMENTS)?;
        Ok(Some(Self { program }))
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

fn install(python: &str, folder: &Path) -> Result<()> {
    println!("openapi: installing schemathesis into {}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    run(Command::new(python).args(["-m", "venv"]).arg(folder))?;
    let wanted = folder.join("requirements.txt");
    fs::write(&wanted, REQUIREMENTS)?;
    let mut pip = Command::new(folder.join("bin").join("python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
        "--requirement",
    ]);
    run(pip.arg(wanted))
}

fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_owned();
    let status = command.status().with_context(|| format!("cannot run {}", name.display()))?;
    if !status.success() {
        let words: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
        bail!("`{} {}` ended with {status}", name.display(), words.join(" "));
    }
    Ok(())
}

/// Whether there is such a Python, and new enough.
fn is_enough(name: &str) -> bool {
    let script = "import sys; print('%d %d' % sys.version_info[:2])";
    let Ok(output) = Command::new(name).args(["-c", script]).output() else { return false };
    version(&String::from_utf8_lossy(&output.stdout)).is_some_and(|version| version >= PYTHON)
}

fn version(said: &str) -> Option<(u32, u32)> {
    let (major, minor) = said.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_is_enough_by_its_version_as_numbers() {
        assert!(version("3 11\n").unwrap() >= PYTHON);
        assert!(version("3 9\n").unwrap() < PYTHON);
        assert_eq!(version("no such thing"), None);
        assert!(!is_enough("a-python-that-nobody-has"));
    }

    #[test]
    fn every_package_has_one_version() {
        let packages: Vec<&str> = REQUIREMENTS.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(packages.iter().all(|line| line.split_once("==").is_some()), "{packages:?}");
        assert!(packages.iter().any(|line| line.starts_with("schemathesis==")));
    }
}
