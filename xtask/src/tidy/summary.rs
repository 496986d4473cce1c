//! Every document below `docs/` is a page of the book, and every page is in it once.
//!
//! That the files which `docs/SUMMARY.md` names exist is checked by the rule `path`, as for all documents. Does not
//! judge the order.

use std::collections::BTreeMap;

use super::Violation;
use super::tree::{Tree, has_extension};
use crate::book::summary::{self, Entry};

pub fn check(tree: &Tree) -> Vec<Violation> {
    let Some(text) = tree.text(summary::PATH) else {
        return vec![Violation::new(summary::PATH, 0, "does not exist; the book needs it")];
    };
    let entries = summary::entries(text);
    left_out(tree, &entries).into_iter().chain(repeated(&entries)).collect()
}

fn left_out(tree: &Tree, entries: &[Entry]) -> Vec<Violation> {
    let documents = tree
        .texts()
        .map(|(path, _)| path)
        .filter(|path| path.starts_with("docs/") && has_extension(path, "md") && *path != summary::PATH);
    let is_named = |path: &&str| entries.iter().any(|entry| entry.path == *path);
    let text = format!("is in no line of {}; readers of the book do not find it", summary::PATH);
    documents.filter(|path| !is_named(path)).map(|path| Violation::new(path, 0, text.clone())).collect()
}

fn repeated(entries: &[Entry]) -> Vec<Violation> {
    let mut first = BTreeMap::new();
    let mut violations = Vec::new();
    for Entry { path, line } in entries {
        match first.get(path) {
            None => _ = first.insert(path, *line),
            Some(before) => {
                let text = format!("names `{path}` again, after line {before}; a page has one place");
                violations.push(Violation::new(summary::PATH, *line, text));
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::path;
    use super::*;

    fn found(rule: super::super::Rule, summary: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("docs/SUMMARY.md", summary),
            ("docs/README.md", ""),
            ("docs/guide/one.md", ""),
            ("docs/guide/picture.svg", ""),
            ("CHANGES.md", ""),
        ]);
        rule(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_document_that_is_in_no_line_is_found() {
        let text = "[a](README.md)\n- [c](../CHANGES.md)\n";
        let expected =
            "docs/guide/one.md: is in no line of docs/SUMMARY.md; readers of the book do not find it";
        assert_eq!(found(check, text), [expected]);
    }

    #[test]
    fn a_page_that_is_named_twice_is_found() {
        let text = "[a](README.md)\n- [b](guide/one.md)\n- [c](../docs/guide/one.md)\n";
        let expected =
            "docs/SUMMARY.md:3: names `docs/guide/one.md` again, after line 2; a page has one place";
        assert_eq!(found(check, text), [expected]);
    }

    #[test]
    fn a_page_without_a_file_is_found_by_the_rule_about_paths() {
        let text = "[a](README.md)\n- [b](guide/one.md)\n- [c](guide/gone.md)\n- [Group]()\n";
        assert_eq!(found(check, text), [""; 0]);
        assert_eq!(found(path::check, text), ["docs/SUMMARY.md:3: `guide/gone.md` does not exist"]);
    }

    #[test]
    fn a_repository_without_a_summary_is_found() {
        assert_eq!(check(&Tree::of(&[("docs/a.md", "")])).len(), 1);
    }
}
