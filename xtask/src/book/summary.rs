//! `docs/SUMMARY.md`: which pages the book has, and in which order.
//!
//! Its paths begin at its folder, so that its links also work in the repository. mdBook gets them from the root.

use crate::markdown;

/// Where it lies, relative to the root of the repository.
pub const PATH: &str = "docs/SUMMARY.md";

/// A page of the book.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its text, relative to the root of the repository.
    pub path: String,
    /// Line of the summary, from 1.
    pub line: usize,
}

/// The pages, in their order.
pub fn entries(text: &str) -> Vec<Entry> {
    let links = markdown::links(text).into_iter();
    links
        .filter_map(|link| Some(Entry { path: markdown::path(PATH, &link.target)?, line: link.line }))
        .collect()
}

/// The summary with paths from the root of the repository.
pub fn from_root(text: &str) -> String {
    let mut written = String::new();
    let mut end = 0;
    for link in markdown::links(text) {
        let Some(path) = markdown::path(PATH, &link.target) else { continue };
        let link_text = &text[link.range.clone()];
        written.push_str(&text[end..link.range.start]);
        written.push_str(&link_text.replacen(&format!("]({})", link.target), &format!("]({path})"), 1));
        end = link.range.end;
    }
    written + &text[end..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Summary\n\n[knee](README.md)\n\n- [One](guide/one.md)\n- [Group]()\n    - [Changes](../CHANGES.md)\n";

    #[test]
    fn pages_are_named_from_the_root_in_their_order() {
        let found: Vec<_> = entries(TEXT).into_iter().map(|entry| (entry.path, entry.line)).collect();
        let expected = [("docs/README.md", 3), ("docs/guide/one.md", 5), ("CHANGES.md", 7)];
        assert_eq!(found, expected.map(|(path, line)| (path.to_owned(), line)));
    }

    #[test]
    fn mdbook_gets_paths_from_the_root_and_everything_else_as_it_is() {
        let expected = "# Summary\n\n[knee](docs/README.md)\n\n- [One](docs/guide/one.md)\n- [Group]()\n    - [Changes](CHANGES.md)\n";
        assert_eq!(from_root(TEXT), expected);
    }
}
