//! A package for Debian, Ubuntu and what comes from them: the static program needs no other package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::platform::Platform;
use super::{Release, copy_folder, tool};

/// Makes the package.
pub fn make(release: &Release, platform: &Platform, binary: &Path) -> Result<PathBuf> {
    let tree = release.folder.join(format!("deb-{}", platform.name));
    let place = |path: &str| -> Result<PathBuf> {
        let folder = tree.join(path);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    };
    fs::copy(binary, place("usr/bin")?.join("knee"))?;
    let completions = release.texts.join("completions");
    for (file, folder) in [
        ("knee", "usr/share/bash-completion/completions"),
        ("_knee", "usr/share/zsh/vendor-completions"),
        ("knee.fish", "usr/share/fish/vendor_completions.d"),
    ] {
        fs::copy(completions.join(file), place(folder)?.join(file))?;
    }
    copy_folder(&release.texts.join("man"), &place("usr/share/man/man1")?)?;
    let doc = place("usr/share/doc/knee")?;
    fs::write(doc.join("copyright"), copyright(release)?)?;
    fs::copy(release.texts.join("THIRD-PARTY.txt"), doc.join("THIRD-PARTY.txt"))?;
    fs::write(place("DEBIAN")?.join("control"), control(release, platform, &tree)?)?;
    let package = release.folder.join(format!("knee_{}_{}.deb", release.version, platform.debian));
    let mut build = Command::new("dpkg-deb");
    build.args(["--build", "--root-owner-group", "-Zxz"]).arg(&tree).arg(&package);
    tool::run(build.env("SOURCE_DATE_EPOCH", "0"))?;
    fs::remove_dir_all(&tree)?;
    Ok(package)
}

fn control(release: &Release, platform: &Platform, tree: &Path) -> Result<String> {
    Ok(format!(
        "Package: knee\nVersion: {}\nArchitecture: {}\nMaintainer: The knee authors <knee@localhost>\n\
         Installed-Size: {}\nSection: net\nPriority: optional\n\
         Description: HTTP load generator that checks its own measurements\n \
         Loads services, runs k6 scripts, finds the capacity of a service, and compares\n \
         variants with confidence intervals. Each result says whether it can be trusted.\n",
        release.version,
        platform.debian,
        size(tree)?.div_ceil(1_024),
    ))
}

fn copyright(release: &Release) -> Result<String> {
    let mit = fs::read_to_string(release.texts.join("LICENSE-MIT"))?;
    Ok(format!(
        "knee is licensed under MIT or Apache-2.0, at your choice. The Apache licence is in\n\
         /usr/share/common-licenses/Apache-2.0; licences of the libraries in it are in THIRD-PARTY.txt.\n\n{mit}"
    ))
}

/// Bytes of all files below a folder.
fn size(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += if entry.file_type()?.is_dir() { size(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(sum)
}
