//! The program in a container of its own, made by the container file.
//!
//! With podman, which needs no daemon. Without it, nothing is tried, and that is said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use tempfile::TempDir;

use super::super::{Release, tool};
use super::{FIRST_RESULT, is_result};

/// The name of the image, which is removed again.
const IMAGE: &str = "localhost/knee-trial";

/// Builds the image as the container file says, and runs it: without a volume, and with a folder of the user.
pub fn try_in(release: &Release, archive: &Path) -> Result<()> {
    if Command::new("podman").arg("--version").output().is_err() {
        println!("dist: the container was not tried: podman is not installed");
        return Ok(());
    }
    let folder = TempDir::new()?;
    let mut unpack = Command::new("tar");
    unpack.arg("-xzf").arg(archive).args(["--strip-components", "1", "-C"]).arg(folder.path());
    tool::run(&mut unpack)?;
    let runs = folder.path().join("runs");
    fs::create_dir(&runs)?;
    let podman = Podman { store: folder.path().join("store") };
    let mut build = podman.command(&["build", "--quiet", "--tag", IMAGE, "--file"]);
    tool::run(build.arg(release.folder.join("Containerfile")).arg(folder.path()))?;
    let first = podman.run(&[]).args(FIRST_RESULT).output()?;
    let said = String::from_utf8_lossy(&first.stderr);
    // Within another container, podman can be forbidden to run any.
    if said.contains("OCI permission denied") {
        println!("dist: the container was built and not run: {}", said.trim());
        return Ok(());
    }
    is_result(&first)?;
    let volume = format!("{}:/runs", runs.display());
    is_result(&podman.run(&["--user", "0:0", "--volume", &volume]).args(FIRST_RESULT).output()?)?;
    anyhow::ensure!(
        fs::read_dir(runs.join("runs"))?.next().is_some(),
        "the record is not in the mounted folder"
    );
    Ok(())
}

/// Podman with images and containers in a folder of this trial.
struct Podman {
    store: PathBuf,
}

impl Podman {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("podman");
        command.arg("--root").arg(self.store.join("images")).arg("--runroot").arg(self.store.join("run"));
        // What every kernel has, also within a container.
        command.args(["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "file"]);
        command.args(words);
        command
    }

    /// A container with these options, which lasts as long as its program. The demo server is in it too.
    fn run(&self, options: &[&str]) -> Command {
        let mut command = self.command(&["run", "--rm", "--network", "none"]);
        command.args(options).arg(IMAGE);
        command
    }
}
