//! Each artefact installed in a clean place and run there.
//!
//! A clean place is an empty root, an empty container, an empty Python environment, or an empty npm folder. Each must show a
//! result of the demo server. Programs of another architecture run in an emulator. What cannot be tried for want of a
//! program is said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::platform::PLATFORMS;
use super::{Release, npm, platform, tool};

mod container;
mod emulated;
mod texts;

/// What shows a first result: a second of load on the program's own server.
const FIRST_RESULT: [&str; 5] = ["demo", "-z", "1s", "--no-tui", "--no-color"];

/// Tries all that can be tried here.
pub fn all(release: &Release, made: &[PathBuf]) -> Result<()> {
    let local = PLATFORMS.iter().find(|platform| platform.runs_here()).context("no platform runs here")?;
    let find = |end: &str| {
        let name =
            |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(end));
        made.iter().find(name).with_context(|| format!("there is no artefact that ends in {end}"))
    };
    timed("checksums", || checksums(release))?;
    let archive = find(&format!("{}.tar.gz", local.name))?;
    let debian = find(&format!("{}.deb", local.debian))?;
    let wheel = find(&format!("{}.whl", local.wheel))?;
    let node = [
        find(&format!("{}-{}.tgz", npm::NAME, release.version))?,
        find(&format!("linux-{}-{}.tgz", local.node, release.version))?,
    ];
    timed("archive in an empty root", || in_empty_root(archive))?;
    timed("completions and manual pages", || texts::read(&release.texts))?;
    timed("container", || container::try_in(release, archive))?;
    timed("Debian package in an empty root", || as_package(debian))?;
    timed("wheel in an empty environment", || as_wheel(wheel))?;
    timed("npm package in an empty folder", || as_npm(node))?;
    if let Ok(source) = find("-source.tar.gz") {
        timed("source, built without a network", || as_source(source))?;
    }
    let native = platform::program(release, local)?;
    for other in PLATFORMS.iter().filter(|platform| !platform.runs_here()) {
        let program = platform::program(release, other)?;
        timed(other.name, || emulated::try_in(&program, &native, other))?;
    }
    Ok(())
}

fn checksums(release: &Release) -> Result<()> {
    tool::run(Command::new("sha256sum").args(["-c", "--quiet", "SHA256SUMS"]).current_dir(&release.folder))
}

fn timed(what: &str, attempt: impl FnOnce() -> Result<()>) -> Result<()> {
    let begun = Instant::now();
    attempt().with_context(|| format!("the trial of the {what} failed"))?;
    println!("dist: tried: {what}, {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Runs the program, which must print a result.
fn shows_a_result(command: &mut Command, home: &Path) -> Result<()> {
    // Of the environment only what finds an interpreter.
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.args(FIRST_RESULT).env_clear().env("PATH", path).env("KNEE_HOME", home);
    is_result(&command.output()?)
}

/// Whether a program printed a result and kept it.
fn is_result(done: &Output) -> Result<()> {
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    // On a machine that does other things, a valid first result is not to be had.
    let ended = matches!(done.status.code(), Some(0 | 120));
    let kept = !err.contains("is not saved");
    ensure!(ended && kept && out.contains("planned ="), "it ended with {}:\n{out}{err}", done.status);
    Ok(())
}

/// A program in a root that has nothing but `/proc`, as in a container.
fn alone(root: &Path, program: &str) -> Result<Command> {
    fs::create_dir_all(root.join("proc"))?;
    let mut command = Command::new("unshare");
    // The mount ends with the process.
    let script = r#"mount -t proc proc "$1/proc" && root=$1 && shift && exec chroot "$root" "$@""#;
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(root).arg(program);
    Ok(command)
}

fn in_empty_root(archive: &Path) -> Result<()> {
    let root = TempDir::new()?;
    tool::run(
        Command::new("tar").arg("-xzf").arg(archive).args(["--strip-components", "1", "-C"]).arg(root.path()),
    )?;
    for file in ["LICENSE-MIT", "THIRD-PARTY.txt", "man/knee.1", "man/knee-run.1", "completions/knee"] {
        ensure!(root.path().join(file).is_file(), "the archive has no {file}");
    }
    shows_a_result(&mut alone(root.path(), "/knee")?, Path::new("/runs"))
}

fn as_package(package: &Path) -> Result<()> {
    let root = TempDir::new()?;
    let state = root.path().join("var/lib/dpkg");
    for folder in ["info", "updates"] {
        fs::create_dir_all(state.join(folder))?;
    }
    for file in ["status", "available"] {
        fs::write(state.join(file), "")?;
    }
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", root.path().display())).args(["--force-script-chrootless", "--install"]);
    tool::run(dpkg.arg(package))?;
    shows_a_result(&mut alone(root.path(), "/usr/bin/knee")?, Path::new("/runs"))
}

fn as_wheel(wheel: &Path) -> Result<()> {
    let folder = TempDir::new()?;
    tool::run(Command::new("python3").args(["-m", "venv"]).arg(folder.path()))?;
    let mut pip = Command::new(folder.path().join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"]);
    tool::run(pip.arg(wheel))?;
    shows_a_result(&mut Command::new(folder.path().join("bin/knee")), folder.path())
}

fn as_npm(packages: [&PathBuf; 2]) -> Result<()> {
    let folder = TempDir::new()?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--offline", "--prefix"]).arg(folder.path());
    tool::run(npm.args(packages))?;
    shows_a_result(&mut Command::new(folder.path().join("node_modules/.bin/knee")), folder.path())
}

/// Builds the program from the archive alone, which takes some minutes, and runs it.
fn as_source(archive: &Path) -> Result<()> {
    let folder = TempDir::new()?;
    tool::run(
        Command::new("tar")
            .arg("-xzf")
            .arg(archive)
            .args(["--strip-components", "1", "-C"])
            .arg(folder.path()),
    )?;
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--offline", "--locked", "--package", "knee"]).current_dir(folder.path());
    // Neither crates that were fetched before, nor what was built of them.
    cargo.env("CARGO_HOME", folder.path().join("home")).env("CARGO_TARGET_DIR", folder.path().join("target"));
    tool::run(&mut cargo)?;
    shows_a_result(&mut Command::new(folder.path().join("target/debug/knee")), folder.path())
}
