//! The documents of the labs can be read in one go: a README of 150 lines, results of 200.
//!
//! Results without saved trials beside them are older than the limit and are not counted. Does not read what they say.

use super::Violation;
use super::tree::Tree;

/// The labs that re-test a published story. The lab of findings has a row for each of its defects and is not one.
const LABS: &[&str] = &["lorem-news", "runlater", "tickets", "todos", "trenova"];

const README_MAX: usize = 150;

/// The same as that of the program that writes them.
const RESULTS_MAX: usize = 200;

const RESULTS: &str = "RESULTS.md";

/// The saved trials from which results can be made again.
const TRIALS: &str = "trials.jsonl.zst";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let documents = tree.texts().filter_map(|(path, text)| Some((path, text, most(tree, path)?)));
    documents.filter_map(|(path, text, most)| long(path, text, most)).collect()
}

/// Most lines of a document; `None` if it has no limit.
fn most(tree: &Tree, path: &str) -> Option<usize> {
    let inside = path.strip_prefix("labs/")?;
    if LABS.iter().any(|lab| inside.strip_prefix(lab) == Some("/README.md")) {
        return Some(README_MAX);
    }
    let folder = path.strip_suffix(RESULTS)?;
    (folder.ends_with('/') && tree.has(&format!("{folder}{TRIALS}"))).then_some(RESULTS_MAX)
}

fn long(path: &str, text: &str, most: usize) -> Option<Violation> {
    let lines = text.lines().count();
    (lines > most).then(|| Violation::new(path, 0, format!("has {lines} lines; at most {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(path: &str, lines: usize) -> Vec<String> {
        let text = "a line\n".repeat(lines);
        let tree = Tree::of(&[(path, text.as_str()), ("labs/todos/growth/trials.jsonl.zst", "")]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_readme_of_a_lab_has_at_most_150_lines() {
        let path = "labs/todos/README.md";
        assert_eq!(found_in(path, 150), [""; 0]);
        assert_eq!(found_in(path, 151), ["labs/todos/README.md: has 151 lines; at most 150"]);
        for other in ["labs/findings/README.md", "labs/todos/scripts/README.md", "labs/README.md"] {
            assert_eq!(found_in(other, 400), [""; 0], "{other}");
        }
    }

    #[test]
    fn results_with_saved_trials_have_at_most_200_lines_and_older_ones_have_no_limit() {
        let path = "labs/todos/growth/RESULTS.md";
        assert_eq!(found_in(path, 200), [""; 0]);
        assert_eq!(found_in(path, 201), ["labs/todos/growth/RESULTS.md: has 201 lines; at most 200"]);
        assert_eq!(found_in("labs/todos/order/RESULTS.md", 400), [""; 0]);
    }
}
