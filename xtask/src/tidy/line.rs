//! Lines of Markdown have at most 120 characters, so that differences between versions can be read.
//!
//! Rows of tables cannot be wrapped and are not counted. Does not wrap anything.

use super::Violation;
use super::tree::{Tree, has_extension, is_fixture};

const CHARACTERS_MAX: usize = 120;

/// Documents that are generated, that quote long lines of other programs, or in which each entry must be one line.
const EXCEPT: &[&str] =
    &["labs/", "docs/SUMMARY.md", "docs/reference/flags.md", "docs/reference/k6-compatibility.md"];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let documents = tree.texts().filter(|(path, _)| {
        has_extension(path, "md")
            && !is_fixture(path)
            && !EXCEPT.iter().any(|except| path.starts_with(except))
    });
    documents.flat_map(|(path, text)| long(path, text)).collect()
}

fn long<'a>(path: &'a str, text: &'a str) -> impl Iterator<Item = Violation> + 'a {
    text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('|')).filter_map(
        move |(index, line)| {
            let count = line.chars().count();
            let text = format!("{count} characters; wrap it at {CHARACTERS_MAX}");
            (count > CHARACTERS_MAX).then(|| Violation::new(path, index + 1, text))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_long_line_is_found_and_one_that_just_fits_is_not() {
        let text = format!("{}\n{}\n", "ü".repeat(120), "ü".repeat(121));
        assert_eq!(found_in("docs/a.md", &text), [2]);
    }

    #[test]
    fn rows_of_tables_other_texts_and_generated_documents_are_not_meant() {
        let long = "x".repeat(200);
        assert_eq!(found_in("docs/a.md", &format!("| {long} |\n")), [] as [usize; 0]);
        assert_eq!(found_in("docs/a.txt", &long), [] as [usize; 0]);
        assert_eq!(found_in("labs/a/README.md", &long), [] as [usize; 0]);
    }
}
