//! The source of the book: all pages where they lie in the repository, and everything else that they link to.
//!
//! With the same places, links between pages, to data of the labs and to code stay as they are. Changes no text but for the links to
//! results as pages, and does not check links.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::reports::Reports;
use super::summary;
use crate::folder::emptied;
use crate::markdown;
use crate::tidy::tree::{Tree, has_extension};

/// Settings of mdBook and what they name, below `docs`.
const SETTINGS: [&str; 2] = ["book.toml", "book.css"];

/// What was laid out.
#[derive(Debug)]
pub struct Layout {
    /// Number of pages.
    pub pages: usize,
    /// Folders to which pages link, relative to the root.
    pub folders: BTreeSet<String>,
}

/// Writes the source of the book into the folder `source`.
pub fn lay_out(root: &Path, tree: &Tree, reports: &Reports, source: &Path) -> Result<Layout> {
    emptied(source)?;
    for name in SETTINGS {
        copy(&root.join("docs").join(name), &source.join(name))?;
    }
    let pages = source.join("src");
    let summary = tree.text(summary::PATH).with_context(|| format!("cannot read {}", summary::PATH))?;
    fs::create_dir_all(&pages)?;
    fs::write(pages.join("SUMMARY.md"), summary::from_root(summary))?;
    let entries = summary::entries(summary);
    for entry in &entries {
        let text = tree.text(&entry.path).with_context(|| format!("cannot read {}", entry.path))?;
        write(&pages.join(&entry.path), &reports.linked(&entry.path, text))?;
    }
    let linked = linked(tree, entries.iter().map(|entry| entry.path.as_str()));
    for file in &linked.files {
        copy(&root.join(file), &pages.join(file))?;
    }
    Ok(Layout { pages: entries.len(), folders: linked.folders })
}

/// Where the page of a text is in the book.
pub fn built(text: &str) -> String {
    text.strip_suffix(".md").map_or_else(|| text.to_owned(), |stem| format!("{stem}.html"))
}

/// What pages link to that is no page.
#[derive(Debug, Default, PartialEq, Eq)]
struct Linked {
    files: BTreeSet<String>,
    folders: BTreeSet<String>,
}

fn linked<'a>(tree: &Tree, pages: impl Iterator<Item = &'a str>) -> Linked {
    let mut linked = Linked::default();
    for page in pages {
        let links = markdown::links(tree.text(page).unwrap_or_default());
        for path in links.iter().filter_map(|link| markdown::path(page, &link.target)) {
            linked.add(tree, path);
        }
    }
    linked
}

impl Linked {
    /// Adds what lies at a path. A text in Markdown is a page, and comes with the summary or not at all.
    fn add(&mut self, tree: &Tree, path: String) {
        let below = format!("{path}/");
        let files: Vec<&str> =
            tree.files().map(|(file, _)| file).filter(|file| file.starts_with(&below)).collect();
        if !files.is_empty() {
            self.files.extend(files.into_iter().filter(|file| !has_extension(file, "md")).map(str::to_owned));
            self.folders.insert(path);
        } else if tree.has(&path) && !has_extension(&path, "md") {
            self.files.insert(path);
        }
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Copies a file, and creates the folder it is copied to.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_that_pages_link_to_are_part_of_the_book_and_other_files_are_not() {
        let tree = Tree::of(&[
            (
                "docs/a.md",
                "[b](b.md) [data](../labs/x/study.toml) [all](../deploy) ![p](p.svg) [gone](no.txt)",
            ),
            ("docs/b.md", ""),
            ("docs/p.svg", ""),
            ("docs/unlinked.svg", ""),
            ("labs/x/study.toml", ""),
            ("labs/x/other.toml", ""),
            ("deploy/one.yaml", ""),
        ]);
        let linked = linked(&tree, ["docs/a.md", "docs/b.md"].into_iter());
        let files: Vec<&str> = linked.files.iter().map(String::as_str).collect();
        assert_eq!(files, ["deploy/one.yaml", "docs/p.svg", "labs/x/study.toml"]);
        assert_eq!(linked.folders.into_iter().collect::<Vec<_>>(), ["deploy"]);
    }

    #[test]
    fn a_text_in_markdown_becomes_a_page_with_the_same_name() {
        assert_eq!(built("docs/README.md"), "docs/README.html");
        assert_eq!(built("labs/x/study.toml"), "labs/x/study.toml");
    }
}
