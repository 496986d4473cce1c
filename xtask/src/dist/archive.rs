//! The program with its manual pages, completions and licences, as a .tar.gz to unpack anywhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::platform::Platform;
use super::{Release, copy_folder, tool};

/// Makes the archive.
pub fn make(release: &Release, platform: &Platform, binary: &Path) -> Result<PathBuf> {
    let name = format!("knee-{}-{}", release.version, platform.name);
    let folder = release.folder.join(&name);
    copy_folder(&release.texts, &folder)?;
    fs::copy(binary, folder.join("knee"))?;
    let archive = release.folder.join(format!("{name}.tar.gz"));
    pack(&release.folder, &name, &archive)?;
    fs::remove_dir_all(&folder)?;
    Ok(archive)
}

/// Packs the folder `name` within `parent`, the same bytes each time.
pub fn pack(parent: &Path, name: &str, archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"]);
    tool::run(tar.arg("-czf").arg(archive).arg("-C").arg(parent).arg(name))
}
