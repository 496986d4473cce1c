//! The tests of all packages: built once, then some executables beside each other.
//!
//! cargo runs one executable after another, and many tests mostly wait: for servers to start, for loads of some seconds.
//! Each executable has a folder for temporary files of its own, because series of trials wait for each other through a
//! file there. Prints what each executable printed, when it has ended. Does not decide which packages and features.

use std::collections::VecDeque;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cargo_metadata::Message;
use tempfile::TempDir;

use crate::process::children_cpu;
use crate::program;

/// How many executables run at a time, each with as many threads as there are CPUs.
const BESIDE: usize = 2;

/// The longest time for one executable. One that hangs is ended, so that its name is in the output.
const LIMIT: Duration = Duration::from_secs(25 * 60);

/// Executables that take minutes, the longest first: they begin first, so that none of them is alone at the end.
const LONG: [&str; 10] =
    ["cli", "report", "truth", "service", "jobs", "script", "faults", "fixture", "sim", "sale"];

/// How many lines are repeated of an executable that failed without naming a test.
const LAST_LINES: usize = 20;

/// Between two looks at what runs.
const PAUSE: Duration = Duration::from_millis(20);

/// An executable with tests.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Executable {
    /// Its target: `cli`, or the library or program whose unit tests it has.
    name: String,
    package: String,
    path: PathBuf,
    /// Folder of its package, in which cargo runs tests.
    folder: PathBuf,
}

/// An executable that runs.
struct Running {
    executable: Executable,
    child: Child,
    begun: Instant,
    output: PathBuf,
    /// Its temporary files, removed with this.
    scratch: TempDir,
}

/// An executable of which a test failed.
#[derive(Debug, PartialEq, Eq)]
struct Failure {
    /// Its name, its package and how it ended.
    executable: String,
    /// What its failed tests printed. Repeated at the end, where a reader looks first and where a log that is cut has it.
    said: String,
}

/// Builds all tests of these packages and features, runs them, and runs the tests in the documentation.
pub(super) fn run(root: &Path, arguments: &[String]) -> Result<()> {
    let executables = build(root, arguments)?;
    let failed = run_all(in_order(executables))?;
    if !failed.is_empty() {
        let names: Vec<&str> = failed.iter().map(|failure| failure.executable.as_str()).collect();
        for failure in &failed {
            println!("ci: failed: {}\n{}", failure.executable, failure.said);
        }
        bail!("tests failed in {}", names.join(", "));
    }
    super::cargo(root, &["test", "--locked", "--doc"], arguments)
}

/// Builds them, and returns where they are.
fn build(root: &Path, arguments: &[String]) -> Result<Vec<Executable>> {
    let mut command = program::cargo(root, &["test", "--locked", "--no-run", "--message-format"]);
    command.arg("json-render-diagnostics").args(arguments).stderr(Stdio::inherit());
    let output = command.output().context("cannot run `cargo test --no-run`")?;
    if !output.status.success() {
        bail!("`cargo test --no-run` ended with {}", output.status);
    }
    let mut found = Vec::new();
    for message in Message::parse_stream(output.stdout.as_slice()) {
        let Message::CompilerArtifact(artifact) = message? else { continue };
        let (true, Some(path)) = (artifact.profile.test, artifact.executable) else { continue };
        let folder = artifact.manifest_path.parent().unwrap_or(&artifact.manifest_path);
        found.push(Executable {
            name: artifact.target.name,
            package: folder.file_name().unwrap_or_default().to_owned(),
            path: path.into_std_path_buf(),
            folder: folder.to_path_buf().into_std_path_buf(),
        });
    }
    Ok(found)
}

/// The long ones first.
fn in_order(mut executables: Vec<Executable>) -> VecDeque<Executable> {
    let place = |name: &str| LONG.iter().position(|long| *long == name).unwrap_or(LONG.len());
    executables.sort_by_key(|executable| place(&executable.name));
    executables.into()
}

/// Runs all of them; returns which failed.
fn run_all(mut waiting: VecDeque<Executable>) -> Result<Vec<Failure>> {
    let (mut running, mut failed) = (Vec::new(), Vec::new());
    while !(waiting.is_empty() && running.is_empty()) {
        while running.len() < BESIDE
            && let Some(executable) = waiting.pop_front()
        {
            running.push(start(executable)?);
        }
        let mut at = 0;
        while at < running.len() {
            // What ends between the two is this one, with all that it had waited for.
            let before = children_cpu()?;
            match ended(&mut running[at])? {
                Some(status) => {
                    let done = running.swap_remove(at);
                    failed.extend(conclude(&done, status, children_cpu()?.saturating_sub(before))?);
                }
                None => at += 1,
            }
        }
        thread::sleep(PAUSE);
    }
    Ok(failed)
}

fn start(executable: Executable) -> Result<Running> {
    // Stores are started as another user, and have their folders in it.
    let everybody = Permissions::from_mode(0o1777);
    let scratch = tempfile::Builder::new().permissions(everybody).tempdir()?;
    let output = scratch.path().join("output");
    let file = File::create(&output)?;
    let mut command = Command::new(&executable.path);
    command.current_dir(&executable.folder).env("CARGO_MANIFEST_DIR", &executable.folder);
    command.env("TMPDIR", scratch.path());
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let child = command.spawn().with_context(|| format!("cannot run `{}`", executable.path.display()))?;
    Ok(Running { executable, child, begun: Instant::now(), output, scratch })
}

/// How it ended; `None` if it still runs.
fn ended(running: &mut Running) -> Result<Option<ExitStatus>> {
    if let Some(status) = running.child.try_wait()? {
        return Ok(Some(status));
    }
    if running.begun.elapsed() < LIMIT {
        return Ok(None);
    }
    running.child.kill()?;
    println!("ci: {} runs for more than {} s and is ended", running.executable.name, LIMIT.as_secs());
    Ok(Some(running.child.wait()?))
}

/// Prints what it printed; returns it with what its failed tests said if it failed.
fn conclude(done: &Running, status: ExitStatus, cpu: Duration) -> Result<Option<Failure>> {
    let Executable { name, package, path, .. } = &done.executable;
    let text = String::from_utf8_lossy(&std::fs::read(&done.output)?).into_owned();
    println!("     Running {name} of {package} ({})", path.display());
    println!("{text}");
    let (took, cpu) = (done.begun.elapsed().as_secs_f64(), cpu.as_secs_f64());
    println!(
        "ci: {name} of {package} took {took:.1} s, and {cpu:.1} s of CPU time without what it left running"
    );
    debug_assert!(done.output.starts_with(done.scratch.path()), "the output goes with the temporary files");
    Ok((!status.success()).then(|| Failure {
        executable: format!("{name} of {package} ({status})"),
        said: what_failed(&text).to_owned(),
    }))
}

/// The part of a test executable's output that is about its failures; the end of it if no test had ended as failed, as when
/// the process was ended.
fn what_failed(text: &str) -> &str {
    if let Some(at) = text.find("\nfailures:\n") {
        return text[at..].trim();
    }
    let lines_before = text.rmatch_indices('\n').nth(LAST_LINES);
    lines_before.map_or(text, |(at, _)| &text[at..]).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executable(name: &str, path: &str) -> Executable {
        let (name, package) = (name.to_owned(), "a-package".to_owned());
        Executable { name, package, path: path.into(), folder: "/".into() }
    }

    #[test]
    fn what_takes_minutes_begins_first() {
        let order = in_order(["laws", "jobs", "cli"].map(|name| executable(name, "")).into());
        assert_eq!(order.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["cli", "jobs", "laws"]);
    }

    #[test]
    fn all_executables_run_and_those_that_fail_are_named() {
        let all = [
            executable("one", "/bin/true"),
            executable("two", "/bin/false"),
            executable("three", "/bin/true"),
        ];
        let failed = run_all(all.into()).unwrap();
        let names: Vec<_> = failed.into_iter().map(|failure| failure.executable).collect();
        assert_eq!(names, ["two of a-package (exit status: 1)"]);
    }

    #[test]
    fn the_failed_tests_are_repeated_and_otherwise_the_last_lines() {
        let listed = "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nleft: 1\n\nfailures:\n    b\n";
        let said = "failures:\n\n---- b stdout ----\nleft: 1\n\nfailures:\n    b";
        assert_eq!(what_failed(listed), said);
        let ended = (0..100).fold(String::new(), |text, line| text + &format!("test {line} ... ok\n"));
        assert!(what_failed(&ended).starts_with("test 80 "), "{}", what_failed(&ended));
        assert_eq!(what_failed("killed"), "killed");
    }
}
