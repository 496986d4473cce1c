//! The files of the repository, read once.
//!
//! Does not know any rule. What `.gitignore` names is not part of the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::{MetadataCommand, Package};
use ignore::WalkBuilder;

/// Files over this size are not read: no rule looks into them, and one rule refuses them.
const READ_MAX: u64 = 4 << 20;

/// All files of the repository by path, relative to its root, with `/` between the parts; and what
/// cargo knows of its packages.
#[derive(Debug, Default)]
pub struct Tree {
    root: PathBuf,
    files: BTreeMap<String, File>,
    directories: BTreeSet<String>,
    packages: Vec<Package>,
}

/// One file.
#[derive(Debug)]
pub struct File {
    /// Length in bytes.
    pub size: u64,
    /// What it says; `None` if that is not UTF-8 or the file is too large to be a text.
    pub text: Option<String>,
}

impl Tree {
    /// Reads the repository at `root`.
    pub fn read(root: &Path) -> Result<Self> {
        let root = &root.canonicalize().with_context(|| format!("cannot find {}", root.display()))?;
        let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
        let mut tree = Self { root: root.clone(), packages: metadata.packages, ..Self::default() };
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .parents(false)
            .git_global(false)
            .require_git(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        for entry in walk {
            let entry = entry?;
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let size = entry.metadata()?.len();
            let text = if size > READ_MAX {
                None
            } else {
                let bytes = fs::read(entry.path())
                    .with_context(|| format!("cannot read {}", entry.path().display()))?;
                String::from_utf8(bytes).ok()
            };
            if let Some(path) = tree.relative(entry.path()) {
                tree.add(&path, File { size, text });
            }
        }
        Ok(tree)
    }

    /// A tree that exists only in a test.
    #[cfg(test)]
    pub fn of(texts: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in texts {
            tree.add(path, File { size: text.len() as u64, text: Some((*text).to_owned()) });
        }
        tree
    }

    /// Adds a file and the directories it lies in.
    pub fn add(&mut self, path: &str, file: File) {
        let ends = path.match_indices('/').map(|(end, _)| path[..end].to_owned());
        self.directories.extend(ends);
        self.files.insert(path.to_owned(), file);
    }

    /// A path below the root as the tree names it.
    pub fn relative(&self, path: &Path) -> Option<String> {
        let parts: Vec<_> =
            path.strip_prefix(&self.root).ok()?.iter().map(|part| part.to_string_lossy()).collect();
        Some(parts.join("/"))
    }

    /// The members of the workspace.
    pub fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// Every file in the order of its path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// Every text in the order of its path.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter_map(|(path, file)| Some((path, file.text.as_deref()?)))
    }

    /// Every Rust file of the project. Fixtures are data, whatever their name ends in.
    pub fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| has_extension(path, "rs") && !is_fixture(path))
    }

    /// What the file at `path` says.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.text.as_deref()
    }

    /// Whether a file or a directory has this path.
    pub fn has(&self, path: &str) -> bool {
        path.is_empty() || self.files.contains_key(path) || self.directories.contains(path)
    }
}

/// Whether a path ends in this extension, written in lower case.
pub fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

/// Whether a file is material of a test and not part of the project's own text.
pub fn is_fixture(path: &str) -> bool {
    path.split('/').any(|part| part == "fixtures")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_knows_its_files_and_the_directories_above_them() {
        let tree = Tree::of(&[("crates/a/src/lib.rs", "")]);
        for path in ["crates/a/src/lib.rs", "crates/a/src", "crates/a", "crates", ""] {
            assert!(tree.has(path), "{path}");
        }
        assert!(!tree.has("crates/a/src/li"));
    }

    #[test]
    fn the_repository_is_read_without_what_git_ignores() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let tree = Tree::read(root).unwrap();
        assert!(
            tree.has("Cargo.toml") && tree.has(".cargo/config.toml") && tree.has("xtask/src/tidy/tree.rs")
        );
        assert!(!tree.has("target") && !tree.has(".git"));
    }

    #[test]
    fn fixtures_are_not_rust_files_of_the_project() {
        let tree = Tree::of(&[("crates/a/tests/fixtures/x.rs", ""), ("crates/a/tests/x.rs", "")]);
        assert_eq!(tree.rust().map(|(path, _)| path).collect::<Vec<_>>(), ["crates/a/tests/x.rs"]);
    }
}
