//! The results of the labs as pages: made from the trials that are saved in the repository, and linked from the texts of the book.
//!
//! The texts in the repository have no such links, because the pages are not part of it: they would be large, and old after every
//! change of the report. Does not look into the pages that `knee study` makes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::layout::copy;
use crate::folder::emptied;
use crate::markdown;
use crate::tidy::tree::Tree;

/// What a study saves its trials as.
const TRIALS: &str = "trials.jsonl.zst";

/// The results of a study as a text.
const TEXT: &str = "RESULTS.md";

/// The results of a study as a page, beside the text. mdBook makes `RESULTS.html` of the text.
const PAGE: &str = "report.html";

/// The folders of the studies whose trials are saved.
#[derive(Debug)]
pub struct Reports(BTreeSet<String>);

impl Reports {
    /// Those of a tree.
    pub fn of(tree: &Tree) -> Self {
        let folders = tree.files().filter_map(|(path, _)| path.strip_suffix(TRIALS)?.strip_suffix('/'));
        Self(folders.map(str::to_owned).collect())
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The text of a page with links to the pages of results: behind each link to their text, and in the text itself.
    pub fn linked(&self, path: &str, text: &str) -> String {
        let mut written = String::new();
        let mut end = 0;
        for link in markdown::links(text) {
            let Some(folder) = markdown::path(path, &link.target).as_deref().and_then(folder) else {
                continue;
            };
            // A picture that is a link is two links, one within the other.
            if link.range.end <= end || !self.0.contains(&folder) || link.target.contains('#') {
                continue;
            }
            let page = link.target.replace(TEXT, PAGE);
            written.extend([&text[end..link.range.end], " ([as a page](", &page, "))"]);
            end = link.range.end;
        }
        written.push_str(&text[end..]);
        if folder(path).is_some_and(|folder| self.0.contains(&folder)) {
            below_title(&written)
        } else {
            written
        }
    }

    /// Makes the pages, in the folders of the book in which their texts are. Works on a copy of the labs below `scratch`,
    /// because a study also writes its text and its pictures.
    pub fn make(&self, root: &Path, tree: &Tree, knee: &Path, scratch: &Path, book: &Path) -> Result<()> {
        emptied(scratch)?;
        let labs = self.0.iter().filter_map(|folder| folder.split('/').nth(1)).collect::<BTreeSet<_>>();
        for (path, _) in tree.files() {
            if path
                .strip_prefix("labs/")
                .and_then(|rest| rest.split('/').next())
                .is_some_and(|lab| labs.contains(lab))
            {
                copy(&root.join(path), &scratch.join(path))?;
            }
        }
        self.0.iter().try_for_each(|folder| make(knee, &scratch.join(folder), &book.join(folder).join(PAGE)))
    }
}

/// The folder of a text with results.
fn folder(path: &str) -> Option<String> {
    path.strip_suffix(TEXT)?.strip_suffix('/').map(str::to_owned)
}

/// A text with a link to its page below its first line, which is the title.
fn below_title(text: &str) -> String {
    let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
    format!("{title}\n\n[The same as a page, with all charts and the raw data]({PAGE})\n{rest}")
}

/// Has `knee study` write one page.
fn make(knee: &Path, study: &Path, page: &Path) -> Result<()> {
    let folder = page.parent().context("a page is in a folder")?;
    fs::create_dir_all(folder)?;
    let mut command = Command::new(knee);
    command.arg("study").arg(study).args(["--report-only", "--output-format", "html", "--output"]).arg(page);
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {}", knee.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "`knee study {} --report-only` ended with {}:\n{said}",
        study.display(),
        output.status
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports() -> Reports {
        let files = ["labs/a/trials.jsonl.zst", "labs/a/more/trials.jsonl.zst", "labs/b/RESULTS.md"];
        Reports::of(&Tree::of(&files.map(|path| (path, ""))))
    }

    #[test]
    fn links_to_results_whose_trials_are_saved_are_followed_by_one_to_their_page() {
        let rows = [
            (
                "docs/x.md",
                "See [a](../labs/a/RESULTS.md).",
                "See [a](../labs/a/RESULTS.md) ([as a page](../labs/a/report.html)).",
            ),
            (
                "labs/a/README.md",
                "| [r](more/RESULTS.md) |",
                "| [r](more/RESULTS.md) ([as a page](more/report.html)) |",
            ),
            (
                "docs/x.md",
                "[b](../labs/b/RESULTS.md), [part](../labs/a/RESULTS.md#part)",
                "[b](../labs/b/RESULTS.md), [part](../labs/a/RESULTS.md#part)",
            ),
            (
                "docs/x.md",
                "[![p](p.svg)](../labs/a/RESULTS.md)",
                "[![p](p.svg)](../labs/a/RESULTS.md) ([as a page](../labs/a/report.html))",
            ),
        ];
        for (path, text, expected) in rows {
            assert_eq!(reports().linked(path, text), expected);
        }
    }

    #[test]
    fn a_text_of_results_names_its_page_below_its_title() {
        let text = reports().linked("labs/a/RESULTS.md", "# A\n\nThe answer.\n");
        assert_eq!(
            text,
            "# A\n\n[The same as a page, with all charts and the raw data](report.html)\n\nThe answer.\n"
        );
        assert_eq!(reports().linked("labs/b/RESULTS.md", "# B\n"), "# B\n");
    }
}
