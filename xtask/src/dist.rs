//! `cargo xtask dist`: everything that can be installed without Rust, below `target/dist`.
//!
//! Static programs for Linux, archives of them, a Debian package, a Python wheel, packages for npm, the source with its
//! dependencies, a list of what is in them, and checksums. `--try` installs each one in a clean place and runs it.
//! Publishes nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Parser;

use crate::program;

mod archive;
mod debian;
mod licences;
mod notes;
mod npm;
mod packages;
mod platform;
mod sbom;
mod source;
mod tool;
mod trial;
mod wheel;

use platform::{PLATFORMS, Platform};

/// What is built, and whether it is tried.
#[derive(Debug, Parser)]
pub struct Options {
    /// Build for this platform only; repeatable [default: all]
    #[arg(long = "platform", value_name = "NAME")]
    platforms: Vec<String>,
    /// Leave out the source archive, which has all dependencies
    #[arg(long)]
    no_source: bool,
    /// Install each artefact in a clean place and run it there; as root, on Linux
    #[arg(long = "try")]
    tried: bool,
}

/// What all artefacts have in common.
struct Release {
    /// The repository.
    root: PathBuf,
    /// `target/dist`.
    folder: PathBuf,
    /// Version of the program.
    version: String,
    /// Pages, completions and licences, as every archive has them.
    texts: PathBuf,
}

/// Runs the command.
pub fn dist(root: &Path, options: &Options) -> Result<()> {
    let platforms = chosen(&options.platforms)?;
    if !options.no_source {
        refuse_uncommitted(root)?;
    }
    let release = begin(root)?;
    let mut made = Vec::new();
    for (number, platform) in platforms.iter().enumerate() {
        let binary = platform::build(&release, platform)?;
        if number == 0 {
            write_texts(&release, &binary, platform)?;
        }
        made.push(archive::make(&release, platform, &binary)?);
        made.push(debian::make(&release, platform, &binary)?);
        made.push(wheel::make(&release, platform, &binary)?);
        made.push(npm::of_platform(&release, platform, &binary)?);
    }
    made.push(npm::of_all(&release)?);
    if !options.no_source {
        made.push(source::make(&release)?);
    }
    made.push(sbom::make(&release)?);
    made.push(copied(&release, "xtask/dist/Containerfile", "Containerfile")?);
    made.push(notes::make(&release)?);
    write_checksums(&release, &made)?;
    for path in &made {
        println!("dist: {:>8.1} MB  {}", fs::metadata(path)?.len() as f64 / 1e6, path.display());
    }
    if options.tried {
        let begun = Instant::now();
        trial::all(&release, &made)?;
        println!("dist: all artefacts tried in {:.0} s", begun.elapsed().as_secs_f64());
    }
    Ok(())
}

/// The source archive is of the last commit. Programs of another source beside it would be no release.
fn refuse_uncommitted(root: &Path) -> Result<()> {
    let changed = tool::output(
        std::process::Command::new("git")
            .args(["status", "--porcelain", "--untracked-files=no"])
            .current_dir(root),
    )?;
    if !changed.is_empty() {
        bail!(
            "the tree has changes that are not committed\n\nhint: commit them, or leave out the source with --no-source"
        );
    }
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<&'static Platform>> {
    if names.is_empty() {
        return Ok(PLATFORMS.iter().collect());
    }
    let find = |name: &String| {
        let known = || PLATFORMS.map(|platform| platform.name).join(", ");
        let found = PLATFORMS.iter().find(|platform| platform.name == name);
        found.with_context(|| format!("there is no platform `{name}`; there are {}", known()))
    };
    names.iter().map(find).collect()
}

fn begin(root: &Path) -> Result<Release> {
    let folder = program::target(root)?.join("dist");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let texts = folder.join("texts");
    fs::create_dir_all(&texts)?;
    Ok(Release { root: root.to_owned(), version: version(root)?, folder, texts })
}

/// The version of the workspace.
fn version(root: &Path) -> Result<String> {
    let manifest: toml::Table = fs::read_to_string(root.join("Cargo.toml"))?.parse()?;
    let version = manifest.get("workspace").and_then(|all| all.get("package")?.get("version")?.as_str());
    Ok(version.context("Cargo.toml has no workspace.package.version")?.to_owned())
}

/// Licences, manual pages and completions. The pages come from the program itself, which runs here.
fn write_texts(release: &Release, binary: &Path, platform: &Platform) -> Result<()> {
    if !platform.runs_here() {
        bail!("the first platform must run on this machine, because it writes the manual pages");
    }
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"] {
        fs::copy(release.root.join(name), release.texts.join(name))?;
    }
    fs::write(release.texts.join("THIRD-PARTY.txt"), licences::text(release)?)?;
    let man = release.texts.join("man");
    fs::create_dir_all(&man)?;
    tool::run(std::process::Command::new(binary).arg("man").arg(&man))?;
    let completions = release.texts.join("completions");
    fs::create_dir_all(&completions)?;
    for (shell, file) in [("bash", "knee"), ("zsh", "_knee"), ("fish", "knee.fish")] {
        let text = tool::output(std::process::Command::new(binary).args(["completions", shell]))?;
        fs::write(completions.join(file), text)?;
    }
    Ok(())
}

fn copied(release: &Release, from: &str, name: &str) -> Result<PathBuf> {
    let to = release.folder.join(name);
    fs::copy(release.root.join(from), &to)?;
    Ok(to)
}

/// `sha256sum -c SHA256SUMS` checks all artefacts.
fn write_checksums(release: &Release, made: &[PathBuf]) -> Result<()> {
    let names = made.iter().filter_map(|path| path.file_name());
    let sums =
        tool::output(std::process::Command::new("sha256sum").args(names).current_dir(&release.folder))?;
    fs::write(release.folder.join("SHA256SUMS"), sums)?;
    Ok(())
}

/// Copies a folder with all that is in it.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_chosen_by_name_and_a_wrong_name_lists_them() {
        assert_eq!(chosen(&[]).unwrap().len(), PLATFORMS.len());
        assert_eq!(chosen(&["linux-x86_64".into()]).unwrap()[0].name, "linux-x86_64");
        let error = chosen(&["windows".into()]).unwrap_err().to_string();
        assert!(error.contains("there are linux-x86_64, linux-arm64"), "{error}");
    }

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(version(root).unwrap(), env!("CARGO_PKG_VERSION"));
    }
}
