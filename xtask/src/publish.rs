//! `cargo xtask publish --dry-run`: packs every crate below `crates/` as crates.io would get it, and builds each from its
//! package, from the lowest to the highest.
//!
//! A package must have all that it needs: a file outside of its crate would be missing for users. Uploads nothing.

use std::path::Path;

use anyhow::{Result, bail};
use cargo_metadata::{MetadataCommand, Package};

use crate::program;

/// Keywords that crates.io takes.
const KEYWORDS_MAX: usize = 5;

/// Texts that licences want in each copy.
const TEXTS: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// What is tried.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Options {
    /// Upload nothing; needed, because this command never uploads
    #[arg(long)]
    dry_run: bool,
    /// Check and pack only, and do not build the packages: seconds instead of many minutes
    #[arg(long)]
    no_verify: bool,
    /// Pack files that are not committed, too
    #[arg(long)]
    allow_dirty: bool,
}

/// Runs the command.
pub fn run(root: &Path, options: Options) -> Result<()> {
    if !options.dry_run {
        bail!(
            "this command uploads nothing\n\nhint: add --dry-run; docs/contributing/release.md says how to upload"
        );
    }
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let crates = metadata.workspace_root.join("crates");
    let (ours, others): (Vec<&Package>, Vec<&Package>) =
        metadata.packages.iter().partition(|package| package.manifest_path.starts_with(&crates));
    let faults = ours.iter().flat_map(|package| [incomplete(package), without_texts(package)].concat());
    let public = others.iter().filter(|package| package.publish != Some(Vec::new()));
    let public =
        public.map(|package| format!("{} could be published; set `publish.workspace = true`", package.name));
    let faults: Vec<String> = faults.chain(public).collect();
    for fault in &faults {
        eprintln!("error: {fault}");
    }
    if !faults.is_empty() {
        bail!("mistakes in manifests: {}", faults.len());
    }
    pack(root, options)?;
    println!("publish: {} crates can be published", ours.len());
    Ok(())
}

/// What crates.io needs and a manifest lacks.
fn incomplete(package: &Package) -> Vec<String> {
    let name = &package.name;
    let lacks = [
        (package.publish.is_some(), "can only be published without the key `publish`"),
        (package.description.is_none(), "has no description"),
        (package.license.is_none(), "has no licence"),
        (package.keywords.is_empty() || package.keywords.len() > KEYWORDS_MAX, "needs one to five keywords"),
        (package.categories.is_empty(), "has no categories"),
    ];
    lacks.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, what)| format!("{name} {what}")).collect()
}

/// Texts of licences that a package lacks. They are links to those of the repository, which cargo packs as files.
fn without_texts(package: &Package) -> Vec<String> {
    let folder = package.manifest_path.with_file_name("");
    let missing = TEXTS.iter().filter(|name| !folder.join(name).exists());
    missing
        .map(|name| format!("{} has no {name}; link it to the one of the repository", package.name))
        .collect()
}

/// Packs all crates in their order; builds each package, if wanted, with those below it.
fn pack(root: &Path, options: Options) -> Result<()> {
    let mut command = program::cargo(root, &["publish", "--workspace", "--dry-run", "--locked"]);
    if options.no_verify {
        command.arg("--no-verify");
    }
    if options.allow_dirty {
        command.arg("--allow-dirty");
    }
    let status = command.status()?;
    if !status.success() {
        bail!("`cargo publish --workspace --dry-run` ended with {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(more: &str) -> Package {
        let json = format!(
            r#"{{"name": "knee-core", "version": "0.1.0", "id": "knee-core", "dependencies": [], "targets": [],
                "features": {{}}, "manifest_path": "/crates/knee-core/Cargo.toml"{more}}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn a_manifest_without_what_crates_io_needs_is_found() {
        let complete =
            r#", "description": "a", "license": "MIT", "keywords": ["http"], "categories": ["web"]"#;
        assert_eq!(incomplete(&package(complete)), [""; 0]);
        let found = incomplete(&package(r#", "publish": [], "keywords": ["1", "2", "3", "4", "5", "6"]"#));
        let expected = [
            "can only be published without the key `publish`",
            "has no description",
            "has no licence",
            "needs one to five keywords",
            "has no categories",
        ];
        assert_eq!(found, expected.map(|what| format!("knee-core {what}")));
    }

    #[test]
    fn a_crate_without_the_texts_of_its_licences_is_found() {
        let expected =
            TEXTS.map(|name| format!("knee-core has no {name}; link it to the one of the repository"));
        assert_eq!(without_texts(&package("")), expected);
    }

    #[test]
    fn nothing_is_packed_without_the_flag_that_says_so() {
        let options = Options { dry_run: false, no_verify: true, allow_dirty: true };
        let error = run(&crate::root(), options).unwrap_err().to_string();
        assert!(error.contains("hint: add --dry-run"), "{error}");
    }
}
