//! Nothing half-done is committed: no markers of work left over, no merge half resolved, no
//! debugging, no test switched off.
//!
//! What is left to do belongs in an issue, where it can be found.

use super::Violation;
use super::tokens::{self, Token};
use super::tree::{Tree, has_extension, is_fixture};

/// Written in halves, so that this file does not find itself.
const MARKERS: &[&str] =
    &[concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X"), concat!("HA", "CK")];

/// What git leaves at the start of a line where two changes meet.
const CONFLICTS: &[&str] = &["<<<<<<< ", ">>>>>>> "];

/// Macros that stand for code that is not there, or print what only its author wanted to see.
const MACROS: &[&str] = &["dbg", "todo", "unimplemented"];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let texts = tree.texts().filter(|(path, _)| !is_fixture(path) && !has_extension(path, "lock"));
    let mut violations: Vec<_> = texts.flat_map(|(path, text)| markers(path, text)).collect();
    violations.extend(tree.rust().flat_map(|(path, text)| code(path, text)));
    violations
}

fn markers(path: &str, text: &str) -> Vec<Violation> {
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let text = if CONFLICTS.iter().any(|conflict| line.starts_with(conflict)) {
                "a conflict of a merge is not resolved".to_owned()
            } else {
                let marker = MARKERS.iter().find(|marker| has_word(line, marker))?;
                format!("`{marker}`: finish it, or open an issue")
            };
            Some(Violation::new(path, index + 1, text))
        })
        .collect()
}

/// Whether `word` stands in `line` with neither a letter, a digit nor an underscore beside it.
fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(start, _)| !line[..start].ends_with(joins) && !line[start + word.len()..].starts_with(joins))
}

fn code(path: &str, text: &str) -> Vec<Violation> {
    tokens::of(text)
        .windows(3)
        .filter_map(|window| {
            let text = match window {
                [name, bang, _] if is_unfinished(name, bang) => format!("`{}!` is left over", name.text),
                [hash, open, name] if hash.text == "#" && open.text == "[" && name.text == "ignore" => {
                    "a test that is switched off tests nothing".to_owned()
                }
                _ => return None,
            };
            Some(Violation::new(path, window[0].line, text))
        })
        .collect()
}

fn is_unfinished(name: &Token, bang: &Token) -> bool {
    name.is_name && MACROS.contains(&name.text.as_str()) && bang.text == "!"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_marker_is_found_in_any_text() {
        for marker in MARKERS {
            assert_eq!(found_in("README.md", &format!("fine\nnot fine, {marker}: later\n")), [2], "{marker}");
            assert_eq!(found_in("crates/a/src/lib.rs", &format!("// {marker}\n")), [1], "{marker}");
        }
    }

    #[test]
    fn a_marker_inside_a_longer_word_is_not_meant() {
        let text = format!("mktemp {0}{0}; {1}MVC; MAS{1}", MARKERS[2], MARKERS[1]);
        assert_eq!(found_in("a.sh", &text), [] as [usize; 0]);
    }

    #[test]
    fn a_conflict_that_is_not_resolved_is_found() {
        let text = "[a]\n<<<<<<< ours\nb = 1\n=======\nb = 2\n>>>>>>> theirs\n";
        assert_eq!(found_in("crates/a/Cargo.toml", text), [2, 6]);
    }

    #[test]
    fn debugging_and_missing_code_are_found_but_not_in_strings() {
        let text = "fn f() {\n    dbg!(1);\n    todo!()\n}\nfn g() { unimplemented!(\"x\") }\nconst S: &str = \"dbg!(1)\";\n";
        assert_eq!(found_in("crates/a/src/lib.rs", text), [2, 3, 5]);
    }

    #[test]
    fn a_test_that_is_switched_off_is_found() {
        for attribute in ["#[ignore]", "#[ignore = \"slow\"]"] {
            let text = format!("#[test]\n{attribute}\nfn a_test() {{}}\n");
            assert_eq!(found_in("crates/a/src/lib.rs", &text), [2], "{attribute}");
        }
    }

    #[test]
    fn lock_files_and_fixtures_are_not_read() {
        let text = MARKERS[0];
        assert_eq!(found_in("Cargo.lock", text), [] as [usize; 0]);
        assert_eq!(found_in("crates/a/tests/fixtures/script.js", text), [] as [usize; 0]);
    }
}
