//! The program as a Python wheel: `pip install` puts it on PATH. It has no Python in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::platform::Platform;
use super::{Release, tool};

/// Its name in `PyPI`, where `knee` is taken.
pub const NAME: &str = "knee-load";

/// Makes the wheel.
pub fn make(release: &Release, platform: &Platform, binary: &Path) -> Result<PathBuf> {
    let stem = format!("{}-{}", NAME.replace('-', "_"), release.version);
    let tree = release.folder.join(format!("wheel-{}", platform.name));
    let scripts = tree.join(format!("{stem}.data/scripts"));
    let info = tree.join(format!("{stem}.dist-info"));
    fs::create_dir_all(&scripts)?;
    fs::create_dir_all(info.join("licenses"))?;
    fs::copy(binary, scripts.join("knee"))?;
    fs::set_permissions(scripts.join("knee"), fs::Permissions::from_mode(0o755))?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"] {
        fs::copy(release.texts.join(name), info.join("licenses").join(name))?;
    }
    let readme = fs::read_to_string(release.texts.join("README.md"))?;
    fs::write(info.join("METADATA"), metadata(&release.version, &readme))?;
    let tags: Vec<String> = tags(platform.wheel).map(|tag| format!("Tag: {tag}\n")).collect();
    let wheel = format!("Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\n{}", tags.concat());
    fs::write(info.join("WHEEL"), wheel)?;
    let pack = tool::wheel(&release.root)?;
    let mut command = Command::new(pack);
    command
        .args(["pack", "--dest-dir"])
        .arg(&release.folder)
        .arg(&tree)
        .env("SOURCE_DATE_EPOCH", "315532800");
    tool::run(&mut command)?;
    fs::remove_dir_all(&tree)?;
    Ok(release.folder.join(format!("{stem}-{}.whl", platform.wheel)))
}

/// `py3-none-a.b` as `py3-none-a` and `py3-none-b`.
fn tags(compressed: &str) -> impl Iterator<Item = String> {
    let (start, platforms) = compressed.rsplit_once('-').unwrap_or(("", compressed));
    platforms.split('.').map(move |platform| format!("{start}-{platform}"))
}

fn metadata(version: &str, readme: &str) -> String {
    format!(
        "Metadata-Version: 2.4\nName: {NAME}\nVersion: {version}\n\
         Summary: HTTP load generator that checks its own measurements\n\
         License-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-MIT\nLicense-File: LICENSE-APACHE\n\
         License-File: THIRD-PARTY.txt\nDescription-Content-Type: text/markdown\n\n{readme}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_several_platforms_has_a_tag_for_each() {
        let found: Vec<_> = tags("py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64").collect();
        assert_eq!(found, ["py3-none-manylinux_2_17_x86_64", "py3-none-musllinux_1_1_x86_64"]);
    }
}
