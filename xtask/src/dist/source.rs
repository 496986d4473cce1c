//! The source as it is committed, with the source of all dependencies: it builds without a network.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::{Release, archive, tool};
use crate::program::cargo;

/// Makes the archive.
pub fn make(release: &Release) -> Result<PathBuf> {
    let name = format!("knee-{}-source", release.version);
    let folder = release.folder.join(&name);
    let packed = release.folder.join("source.tar");
    let mut git = Command::new("git");
    git.args(["archive", "--format=tar", &format!("--prefix={name}/"), "HEAD", "-o"]).arg(&packed);
    tool::run(git.current_dir(&release.root))?;
    tool::run(Command::new("tar").arg("-xf").arg(&packed).arg("-C").arg(&release.folder))?;
    fs::remove_file(packed)?;
    let settings = tool::output(&mut cargo(&folder, &["vendor", "--locked", "--versioned-dirs", "vendor"]))?;
    fs::create_dir_all(folder.join(".cargo"))?;
    let config = folder.join(".cargo/config.toml");
    let own = fs::read_to_string(&config).unwrap_or_default();
    fs::write(config, format!("{own}\n{settings}"))?;
    let path = release.folder.join(format!("{name}.tar.gz"));
    archive::pack(&release.folder, &name, &path)?;
    fs::remove_dir_all(&folder)?;
    Ok(path)
}
