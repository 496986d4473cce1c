//! `cargo xtask book`: the documentation as a book, below `target/book`.
//!
//! Lays out the pages that `docs/SUMMARY.md` names as they lie in the repository, with everything they link to, builds the
//! book with mdBook, has `knee` make the pages of the labs' results, and checks every link. Needs the network only to install
//! mdBook. Publishes nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo_tool::CargoTool;
use crate::folder::emptied;
use crate::program;
use crate::tidy::tree::Tree;

mod check;
mod layout;
mod page;
mod reports;
pub mod summary;

use reports::Reports;

/// Settings and pages of the versions of this series are alike.
const MDBOOK: CargoTool = CargoTool {
    name: "mdbook",
    version: "0.5.4",
    ask: &["--version"],
    series: "mdbook v0.5.",
    arguments: &["--no-default-features", "--features", "search"],
};

/// The first page, relative to the root of the repository.
const FIRST: &str = "docs/README.md";

/// Builds the book; installs mdBook and builds `knee` if they are missing.
pub fn run(root: &Path) -> Result<()> {
    let mdbook = MDBOOK.get(root)?;
    build(root, &mdbook, &program::debug_build(root)?)
}

/// Builds the book with a `knee` that is there, if mdBook is there; otherwise prints that it is left out.
pub fn run_if_possible(root: &Path, knee: &Path) -> Result<()> {
    let Some(program) = MDBOOK.find(root)? else {
        println!("book: left out, because mdbook is not there; `cargo xtask book` installs it");
        return Ok(());
    };
    build(root, &program, knee)
}

fn build(root: &Path, mdbook: &Path, knee: &Path) -> Result<()> {
    let target = program::target(root)?;
    let (source, book) = (target.join("book-source"), target.join("book"));
    let tree = Tree::read(root)?;
    let reports = Reports::of(&tree);
    let layout = layout::lay_out(root, &tree, &reports, &source)?;
    emptied(&book)?;
    run_mdbook(mdbook, &source, &book)?;
    reports.make(root, &tree, knee, &target.join("book-labs"), &book)?;
    // mdBook copies the first page to here, where its links would lead nowhere.
    fs::write(book.join("index.html"), page::redirection(&layout::built(FIRST)))?;
    for folder in &layout.folders {
        fs::write(book.join(folder).join("index.html"), listing(&book, folder)?)?;
    }
    let count = checked(&book)?;
    let (pages, results) = (layout.pages, reports.len());
    let first = book.join("index.html");
    println!(
        "book: {pages} pages and {results} pages of results, {count} links checked: {}",
        first.display()
    );
    Ok(())
}

fn run_mdbook(mdbook: &Path, source: &Path, book: &Path) -> Result<()> {
    let mut command = Command::new(mdbook);
    let output = command.arg("build").arg(source).arg("--dest-dir").arg(book).output();
    let output = output.with_context(|| format!("cannot run {}", mdbook.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    // mdBook goes on after what it warns of.
    if !output.status.success() || said.contains("WARN") || said.contains("ERROR") {
        bail!("mdbook ended with {} and said:\n{said}", output.status);
    }
    Ok(())
}

/// A page that lists the files of a folder to which a page links.
fn listing(book: &Path, folder: &str) -> Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(book.join(folder))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(page::listing(folder, &names))
}

/// Checks the links and that the book can be searched; the number of links.
fn checked(book: &Path) -> Result<usize> {
    if !has_search(book)? {
        bail!("the book has no search index in {}", book.display());
    }
    let found = check::check(book)?;
    for fault in &found.faults {
        eprintln!("error: {fault}\n");
    }
    match found.faults.len() {
        0 => Ok(found.links),
        count => bail!("links of the book that lead nowhere: {count}"),
    }
}

/// Whether there is an index for the search: mdBook adds a hash to its name.
fn has_search(book: &Path) -> Result<bool> {
    let names: Vec<PathBuf> = fs::read_dir(book)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    let is_index = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("searchindex"))
    };
    Ok(names.iter().any(is_index))
}
