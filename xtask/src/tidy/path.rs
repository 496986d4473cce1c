//! Paths that the documents name exist: a map that lies is worse than none.
//!
//! Looks at inline code that begins like a path of this repository, and at links that stay in it.
//! Does not follow links to other hosts, and does not read code blocks, which show other places too.

use pulldown_cmark::{Event, Parser, Tag};

use super::Violation;
use super::tree::{Tree, has_extension};
use crate::markdown;

/// Documents at the root whose paths are checked; everything under `docs/` is too.
const DOCUMENTS: &[&str] =
    &["ARCHITECTURE.md", "BENCHMARKS.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"];

/// First parts of what is meant as a path of this repository.
const TOPS: &[&str] =
    &[".cargo", ".ci", "bench", "compat", "crates", "docs", "fuzz", "labs", "scripts", "web", "xtask"];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let documents = tree.texts().filter(|(path, _)| {
        DOCUMENTS.contains(path) || (path.starts_with("docs/") && has_extension(path, "md"))
    });
    documents.flat_map(|(path, text)| missing(tree, path, text)).collect()
}

fn missing(tree: &Tree, document: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        let (named, path) = match event {
            Event::Code(code) => (code.to_string(), in_code(&code)),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                (dest_url.to_string(), markdown::path(document, &dest_url))
            }
            _ => continue,
        };
        if path.is_some_and(|path| !tree.has(&path)) {
            let line = 1 + text[..range.start].matches('\n').count();
            violations.push(Violation::new(document, line, format!("`{named}` does not exist")));
        }
    }
    violations
}

/// The path that inline code names, if it is one: `crates/knee/src/main.rs:12`, `docs/concept/`, `README.md`.
fn in_code(code: &str) -> Option<String> {
    let (path, _line) = code.split_once(':').unwrap_or((code, ""));
    let path = path.trim_end_matches('/');
    let is_plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
    let is_ours = match path.split_once('/') {
        Some((top, _)) => TOPS.contains(&top),
        None => TOPS.contains(&path) || is_document(path),
    };
    (is_plain && is_ours).then(|| path.to_owned())
}

/// Whether a bare name is that of a document at the root: `CHANGELOG.md`.
fn is_document(name: &str) -> bool {
    let stem = name.strip_suffix(".md").unwrap_or_default();
    !stem.is_empty() && stem.chars().all(|c| c.is_ascii_uppercase() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(document: &str, text: &str) -> Vec<String> {
        let tree = Tree::of(&[
            (document, text),
            ("crates/a/src/lib.rs", ""),
            ("docs/concept/time.md", ""),
            ("check", ""),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_path_in_backticks_that_does_not_exist_is_found() {
        let text = "See `crates/a/src/lib.rs`.\n\nAnd `crates/a/src/gone.rs`, `docs/nowhere/`, `GONE.md`.\n";
        let line = "ARCHITECTURE.md:3:";
        assert_eq!(
            found_in("ARCHITECTURE.md", text),
            [
                format!("{line} `crates/a/src/gone.rs` does not exist"),
                format!("{line} `docs/nowhere/` does not exist"),
                format!("{line} `GONE.md` does not exist"),
            ]
        );
    }

    #[test]
    fn a_link_is_followed_from_the_place_of_its_document() {
        assert_eq!(
            found_in("docs/guide.md", "[a](concept/time.md#lag) [b](../check) [c](#here)"),
            [] as [&str; 0]
        );
        assert_eq!(found_in("docs/guide.md", "[a](time.md)\n![b](../images/b.svg)\n").len(), 2);
        assert_eq!(found_in("README.md", "[docs.rs](https://docs.rs/none) [gone](docs/gone.md)").len(), 1);
    }

    #[test]
    fn what_only_looks_a_little_like_a_path_is_not_meant() {
        let text =
            "`application/json` `user+sys` `/proc/stat` `crates/<name>/src` `a/b` `study.toml` `cargo xtask`";
        assert_eq!(found_in("README.md", text), [] as [&str; 0]);
    }

    #[test]
    fn lines_after_a_path_and_slashes_at_its_end_are_allowed() {
        assert_eq!(found_in("README.md", "`crates/a/src/lib.rs:12` `crates/a/` `docs`"), [] as [&str; 0]);
    }

    #[test]
    fn other_texts_are_not_read() {
        assert_eq!(found_in("crates/a/notes.md", "`crates/gone`"), [] as [&str; 0]);
    }
}
