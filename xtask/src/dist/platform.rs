//! The platforms that there are programs for, and how these programs are built.
//!
//! Static, with musl, so that one program runs on every Linux. Other platforms build from source.

use std::env::consts::ARCH;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::{Release, tool};
use crate::program::{cargo, target};

/// A platform.
#[derive(Debug)]
pub struct Platform {
    /// Its name in the names of files.
    pub name: &'static str,
    /// Its name for Rust.
    pub target: &'static str,
    /// Architecture for Debian.
    pub debian: &'static str,
    /// Tags of a wheel: one program for both C libraries.
    pub wheel: &'static str,
    /// Architecture for Node.
    pub node: &'static str,
    /// Architecture for Rust, and for QEMU.
    pub arch: &'static str,
}

/// All platforms; the first one runs on most machines.
pub const PLATFORMS: [Platform; 2] = [
    Platform {
        name: "linux-x86_64",
        target: "x86_64-unknown-linux-musl",
        debian: "amd64",
        wheel: "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64",
        node: "x64",
        arch: "x86_64",
    },
    Platform {
        name: "linux-arm64",
        target: "aarch64-unknown-linux-musl",
        debian: "arm64",
        wheel: "py3-none-manylinux_2_17_aarch64.musllinux_1_1_aarch64",
        node: "arm64",
        arch: "aarch64",
    },
];

impl Platform {
    /// Whether its programs run on this machine.
    pub fn runs_here(&self) -> bool {
        cfg!(target_os = "linux") && self.arch == ARCH
    }
}

/// The release build for a platform.
pub fn build(release: &Release, platform: &Platform) -> Result<PathBuf> {
    tool::run(std::process::Command::new("rustup").args(["target", "add", platform.target])).with_context(
        || format!("the standard library for {} is needed: rustup target add {0}", platform.target),
    )?;
    let zigbuild = tool::zigbuild(&release.root)?;
    let bin = zigbuild.parent().context("cargo-zigbuild is in no folder")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(bin.to_owned()).chain(std::env::split_paths(&path));
    let mut command = cargo(&release.root, &["zigbuild", "--release", "--locked", "--package", "knee"]);
    command.args(["--target", platform.target]).env("PATH", std::env::join_paths(folders)?);
    println!("dist: builds {} (some minutes)", platform.name);
    let status = command.status().context("cannot run cargo")?;
    if !status.success() {
        bail!("the build for {} failed", platform.name);
    }
    program(release, platform)
}

/// Where the program of a platform is, once it is built.
pub fn program(release: &Release, platform: &Platform) -> Result<PathBuf> {
    Ok(target(&release.root)?.join(platform.target).join("release").join("knee"))
}
