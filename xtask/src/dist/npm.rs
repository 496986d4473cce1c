//! Packages for npm: one for each platform with the program, and one that needs whichever fits.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::platform::{PLATFORMS, Platform};
use super::{Release, tool};

/// Its name in npm, where `knee` is taken.
pub const NAME: &str = "knee-load";

/// Starts the program of the platform.
const LAUNCHER: &str = include_str!("../../dist/launcher.js");

/// The package of a platform.
pub fn of_platform(release: &Release, platform: &Platform, binary: &Path) -> Result<PathBuf> {
    let mut package = common(release, &name(platform));
    package.insert("os".into(), json!(["linux"]));
    package.insert("cpu".into(), json!([platform.node]));
    package.insert("files".into(), json!(["knee", "THIRD-PARTY.txt"]));
    pack(release, &package, |folder| {
        fs::copy(release.texts.join("THIRD-PARTY.txt"), folder.join("THIRD-PARTY.txt"))?;
        program(&fs::read(binary)?, &folder.join("knee"))
    })
}

/// The package that people install.
pub fn of_all(release: &Release) -> Result<PathBuf> {
    let mut package = common(release, NAME);
    let needs = PLATFORMS.iter().map(|platform| (name(platform), json!(release.version)));
    package.insert("optionalDependencies".into(), Value::Object(needs.collect()));
    package.insert("bin".into(), json!({ "knee": "launcher.js" }));
    package.insert("files".into(), json!(["launcher.js"]));
    package.insert("engines".into(), json!({ "node": ">=18" }));
    pack(release, &package, |folder| {
        fs::copy(release.texts.join("README.md"), folder.join("README.md"))?;
        program(LAUNCHER.as_bytes(), &folder.join("launcher.js"))
    })
}

fn name(platform: &Platform) -> String {
    format!("{NAME}-linux-{}", platform.node)
}

fn common(release: &Release, name: &str) -> Map<String, Value> {
    let about = "HTTP load generator that checks its own measurements";
    let fields = [
        ("name", name),
        ("version", &release.version),
        ("description", about),
        ("license", "MIT OR Apache-2.0"),
    ];
    fields.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect()
}

fn program(bytes: &[u8], to: &Path) -> Result<()> {
    fs::write(to, bytes)?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(0o755))?)
}

fn pack(
    release: &Release,
    package: &Map<String, Value>,
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let name = package.get("name").and_then(Value::as_str).context("a package has no name")?;
    let folder = release.folder.join(format!("npm-{name}"));
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.json"), serde_json::to_string_pretty(package)? + "\n")?;
    fill(&folder)?;
    tool::run(
        Command::new("npm").args(["pack", "--silent", "--pack-destination", ".."]).current_dir(&folder),
    )?;
    fs::remove_dir_all(&folder)?;
    Ok(release.folder.join(format!("{name}-{}.tgz", release.version)))
}
