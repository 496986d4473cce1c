//! The program that is tried: its release build, as the chores that measure run it, or its debug build.
//!
//! Knows its command line and its JSON document, and nothing of its crates: what is tried is the
//! program that users have.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::process::{self, GENERATOR_CPU, Ran, Running};

/// The program, and a directory for what it writes.
pub struct Knee {
    path: PathBuf,
    scratch: TempDir,
}

impl Knee {
    /// The build at `path`, or if there is none the release build of this tree, made now.
    pub fn get(root: &Path, path: Option<PathBuf>) -> Result<Self> {
        let path = path.map_or_else(|| build(root, &["--release", "--package", "knee"], "release"), Ok)?;
        Ok(Self { path, scratch: TempDir::new()? })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A command with `arguments` that prints nothing and keeps its record in the scratch
    /// directory of this process.
    pub fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.path);
        let record = self.record();
        // A record of an earlier run would be in the way.
        let _ = std::fs::remove_file(&record);
        command.args(arguments).arg("--record").arg(record);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// A command that runs `script`, prints nothing and keeps its record in the scratch directory.
    pub fn script(&self, script: &Path, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.path);
        command.arg("run").args(arguments).arg(script).env("KNEE_HOME", self.scratch.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// A command that keeps its records in `home` and prints what it is asked to.
    pub fn plain(&self, arguments: &[String], home: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.args(arguments).env("KNEE_HOME", home).stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Sweeps, and reads what it prints.
    pub fn sweep(&self, arguments: &[String]) -> Result<Measured> {
        let mut command = Command::new(&self.path);
        command.arg("sweep").args(arguments).args(["--output-format", "json", "--quiet"]);
        command.env("KNEE_HOME", self.scratch.path()).stdin(Stdio::null()).stderr(Stdio::null());
        let ran = process::run_on(GENERATOR_CPU, command.stdout(Stdio::piped()))?;
        let json = serde_json::from_str(&ran.stdout).context("`knee sweep` printed no JSON")?;
        Ok(Measured { json, resident_peak: ran.resident_peak })
    }

    /// Where the record of the last command lies.
    fn record(&self) -> PathBuf {
        self.scratch.path().join("last.knee")
    }

    /// Starts a run whose result will be read by [`Knee::result`].
    pub fn start(&self, arguments: &[String]) -> Result<Running> {
        let mut command = self.command(arguments);
        command.args(["--output-format", "quiet", "--no-tui"]);
        process::spawn_on(GENERATOR_CPU, &mut command)
    }

    /// Starts a run beside another one, which keeps its record in the scratch directory.
    pub fn beside(&self, arguments: &[String]) -> Result<Beside> {
        let mut command = Command::new(&self.path);
        command.args(arguments).args(["--output-format", "quiet", "--no-tui"]);
        command.env("KNEE_HOME", self.scratch.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Beside(process::spawn_on(GENERATOR_CPU, &mut command)?))
    }

    /// Makes a run and reads its result.
    pub fn measure(&self, arguments: &[String]) -> Result<Measured> {
        self.result(self.start(arguments)?)
    }

    /// Waits for the end of `running`, the last that was started, and reads its result.
    pub fn result(&self, mut running: Running) -> Result<Measured> {
        let (status, resident_peak) = process::watch(&mut running)?;
        if !is_measured(status) {
            bail!("knee ended with {status}");
        }
        let report = Command::new(&self.path)
            .arg("report")
            .arg(self.record())
            .args(["--format", "json"])
            .output()
            .context("cannot run `knee report`")?;
        let json = serde_json::from_slice(&report.stdout).context("`knee report` printed no JSON")?;
        Ok(Measured { json, resident_peak })
    }

    /// Makes a run for what it costs, with the lines it prints by default and no screen.
    pub fn cost(&self, arguments: &[String]) -> Result<Ran> {
        process::run_on(GENERATOR_CPU, self.command(arguments).arg("--no-tui"))
    }
}

/// Makes the debug build, which is no good for measuring; returns where it is.
pub fn debug_build(root: &Path) -> Result<PathBuf> {
    // With the features of the whole workspace, which is how the tests before it were built: nothing is built twice.
    build(root, &["--workspace", "--bin", "knee"], "debug")
}

/// A program as the tests of the workspace have built it.
pub fn tested(root: &Path, name: &str) -> Result<PathBuf> {
    let path = target(root)?.join("debug").join(name);
    anyhow::ensure!(path.exists(), "{} is missing: the tests build it", path.display());
    Ok(path)
}

/// Makes the release build of a lab; returns where it is.
pub fn lab(root: &Path, name: &str) -> Result<PathBuf> {
    Ok(build(root, &["--release", "--package", name], "release")?.with_file_name(name))
}

/// Makes the debug build of a lab, as its tests have it; returns where it is.
pub fn lab_build(root: &Path, name: &str) -> Result<PathBuf> {
    let knee = build(root, &["--workspace", "--bin", name], "debug")?;
    Ok(knee.with_file_name(name))
}

/// Makes a build with more `arguments` for cargo; returns where `knee` is in it.
fn build(root: &Path, arguments: &[&str], folder: &str) -> Result<PathBuf> {
    let status = cargo(root, &["build", "--locked"]).args(arguments).status().context("cannot run cargo")?;
    if !status.success() {
        bail!("`cargo build {}` failed", arguments.join(" "));
    }
    Ok(target(root)?.join(folder).join("knee"))
}

/// cargo in the root of the repository.
pub fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).current_dir(root);
    // What cargo tells this program about itself would have build scripts run once more.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_cargo(name)) {
        cargo.env_remove(name);
    }
    cargo
}

/// Where cargo builds.
pub fn target(root: &Path) -> Result<PathBuf> {
    Ok(MetadataCommand::new().current_dir(root).no_deps().exec()?.target_directory.into_std_path_buf())
}

/// Whether a variable is what cargo sets for the programs it runs.
fn is_of_cargo(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// Splits a command line at its spaces.
pub fn words(line: &str) -> Vec<String> {
    line.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Whether a run measured: an invalid measurement has an exit code of its own and a result all the same.
fn is_measured(status: ExitStatus) -> bool {
    status.success() || status.code() == Some(120)
}

/// A run that goes on beside another one.
#[derive(Debug)]
pub struct Beside(Running);

impl Beside {
    /// Whether it goes on.
    pub fn is_running(&mut self) -> Result<bool> {
        Ok(self.0.child().try_wait()?.is_none())
    }

    /// Stops it until [`Beside::go_on`].
    pub fn pause(&self) -> Result<()> {
        self.0.signal(Signal::SIGSTOP)
    }

    /// Lets it go on.
    pub fn go_on(&self) -> Result<()> {
        self.0.signal(Signal::SIGCONT)
    }

    /// Waits for its end.
    pub fn end(mut self) -> Result<()> {
        let (status, _) = process::watch(&mut self.0)?;
        is_measured(status).then_some(()).with_context(|| format!("knee ended with {status}"))
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Measured {
    json: Value,
    /// Largest resident set in bytes.
    pub resident_peak: u64,
}

impl Measured {
    /// The figure at `pointer`, as in `/response_time_ms/p99`; an error where there is none.
    pub fn figure(&self, pointer: &str) -> Result<f64> {
        self.json
            .pointer(pointer)
            .and_then(Value::as_f64)
            .with_context(|| format!("the result has no figure at {pointer}"))
    }

    /// The whole number at `pointer`.
    pub fn count(&self, pointer: &str) -> Result<u64> {
        self.json
            .pointer(pointer)
            .and_then(Value::as_u64)
            .with_context(|| format!("the result has no count at {pointer}"))
    }

    /// The verdict in one line.
    pub fn says(&self) -> String {
        let (state, reasons) = self.verdict();
        if reasons.is_empty() { state } else { format!("{state}: {}", reasons.join(", ")) }
    }

    /// The state of the verdict and the codes of its reasons.
    pub fn verdict(&self) -> (String, Vec<String>) {
        let state = self.json.pointer("/validity").and_then(Value::as_str).unwrap_or("none");
        let reasons = self.json.pointer("/warnings").and_then(Value::as_array);
        let code = |reason: &Value| Some(reason.get("code")?.as_str()?.to_owned());
        (state.to_owned(), reasons.into_iter().flatten().filter_map(code).collect())
    }
}
