//! Every Rust file opens with `//!` and says what it is for.
//!
//! Does not judge what it says; reviewers do.

use super::Violation;
use super::tree::Tree;

/// Fewer words than this are no sentence.
const WORDS_MIN: usize = 3;

pub fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust().filter_map(|(path, text)| violation(path, text)).collect()
}

fn violation(path: &str, text: &str) -> Option<Violation> {
    let first = text.lines().next().unwrap_or_default();
    let Some(sentence) = first.strip_prefix("//!") else {
        return Some(Violation::new(path, 1, "does not open with `//!` and what the file is for"));
    };
    (sentence.split_whitespace().count() < WORDS_MIN)
        .then(|| Violation::new(path, 1, "the header does not say what the file is for"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_header_is_found() {
        for text in
            ["", "fn main() {}\n", "// A comment, but no header of the file.\n", "\n//! Comes too late.\n"]
        {
            assert_eq!(check(&Tree::of(&[("crates/a/src/lib.rs", text)])).len(), 1, "{text:?}");
        }
    }

    #[test]
    fn a_header_that_says_nothing_is_found() {
        assert_eq!(check(&Tree::of(&[("xtask/src/main.rs", "//! Main program.\nfn main() {}\n")])).len(), 1);
    }

    #[test]
    fn a_sentence_of_purpose_is_enough() {
        let text = "//! Record to bytes.\n";
        assert_eq!(check(&Tree::of(&[("crates/a/tests/b.rs", text), ("crates/a/x.md", "")])), []);
    }
}
