//! Plain words: prose uses the glossary's words, and none that have to be decoded.
//!
//! Reads Markdown, comments of Rust, names of functions that are sentences, texts in strings except those of tests,
//! and the texts of studies. Code spans and code blocks are left out. Catches what a program can catch without false
//! alarms; `docs/reference/glossary.md` has the rest. Other identifiers belong to the rule `identifier`.

use super::Violation;
use super::tree::{Tree, has_extension, is_fixture};
use crate::prose::{self, Fragment};

/// Where the rule holds: beginnings of paths.
const SCOPE: &[&str] = &[
    "ARCHITECTURE.md",
    "BENCHMARKS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "crates/",
    "docs/",
    "fuzz/README.md",
    "xtask/",
];

/// What lies in the scope and is left out: this list.
const EXCEPT: &[&str] = &["xtask/src/tidy/words.rs"];

/// Texts that must stay as they are, each with its file.
const QUOTED: &[(&str, &str)] = &[
    // Messages that equal k6's.
    ("crates/knee-js/src/module/check.rs", "group and check names may not contain '::'"),
    ("crates/knee-k6/src/options/scenario/check.rs", "at least one stage has to be specified"),
    // A page that scripts read: recorded results contain its values.
    ("xtask/src/compat/server/page.rs", r#"<input type="text" name="user" value="nobody">"#),
];

/// A word or a few in a row, in small letters, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    // The subject has a name.
    ("whoever", "name the subject"),
    ("whosoever", "name the subject"),
    ("whatsoever", "leave it out"),
    ("somebody", "name the subject"),
    ("anybody", "name the subject"),
    ("everybody", "name the subject"),
    ("nobody", "name the subject"),
    // Words of the glossary.
    ("arm", "variant"),
    ("arms", "variants"),
    ("specimen", "system under test"),
    ("specimens", "systems under test"),
    ("instrument", "load generator"),
    ("instrument's", "load generator's"),
    ("truth block", "validity check"),
    ("truth blocks", "validity checks"),
    ("own lag", "generator lag"),
    ("the books", "request accounting"),
    ("books balance", "every request has exactly one outcome"),
    ("the rig", "the test fixture"),
    ("a rig", "a test fixture"),
    ("rigs", "test fixtures"),
    ("washout", "settle time"),
    ("kept run", "saved run"),
    ("kept runs", "saved runs"),
    ("what chance does", "A/A test, or noise floor"),
    ("could see", "minimum detectable effect (MDE)"),
    // Metaphors that only this project had.
    ("gunner", "HTTP user"),
    ("volley", "request set"),
    ("errand", "name the task"),
    // Grammar that has to be decoded.
    ("told", "reported, passed in, detected"),
    ("has to", "must"),
    ("have to", "must"),
    ("may", "can, might or must not"),
    ("comes to", "is"),
    ("come to", "reach"),
    ("in turns", "alternately"),
    ("thereby", "so"),
    ("therein", "in it"),
    ("thereof", "of it"),
    ("whereby", "by which"),
    ("wherein", "in which"),
    ("lest", "so that ... not"),
    ("in order to", "to"),
    ("utilize", "use"),
    ("requests a second", "requests/s, or requests per second"),
    ("arrivals a second", "arrivals/s, or arrivals per second"),
    ("iterations a second", "iterations/s, or iterations per second"),
    ("users a second", "users per second"),
    ("a request each", "one request each"),
    ("time a request", "time per request"),
    ("a line a", "one line per"),
    ("one a cpu", "one per CPU"),
    ("a core a", "one per core"),
];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let within = |path: &str, list: &[&str]| list.iter().any(|start| path.starts_with(start));
    tree.texts()
        .filter(|(path, _)| within(path, SCOPE) || is_study(path))
        .filter(|(path, _)| !within(path, EXCEPT) && !is_fixture(path))
        .flat_map(|(path, text)| found_in(path, text))
        .collect()
}

/// Whether a file defines a study; the lab's other files are read where a scope names them.
fn is_study(path: &str) -> bool {
    path.starts_with("labs/") && path.ends_with("/study.toml")
}

/// The violations in one file, whatever its scope.
fn found_in(path: &str, text: &str) -> Vec<Violation> {
    let fragments = if has_extension(path, "md") {
        prose::of_markdown(text)
    } else if has_extension(path, "rs") {
        let rust = prose::of_rust(text);
        [rust.docs, rust.strings, rust.internal, rust.comments, rust.names].concat()
    } else if is_study(path) {
        prose::of_study(text)
    } else {
        Vec::new()
    };
    let is_quoted = |fragment: &&Fragment| !QUOTED.contains(&(path, fragment.text.as_str()));
    fragments.iter().filter(is_quoted).flat_map(|fragment| banned(path, fragment)).collect()
}

fn banned(path: &str, fragment: &Fragment) -> Vec<Violation> {
    let text = fragment.without_code();
    let words = words(&text);
    let mut violations = Vec::new();
    for start in 0..words.len() {
        for (banned, instead) in WORDS {
            let banned_words = banned.split(' ');
            let length = banned_words.clone().count();
            let here = words[start..].iter().take(length).map(|(_, word)| word.as_str());
            // A word by itself may be a month, a licence's or a processor's name.
            let is_name =
                length == 1 && starts_with_capital(&text, words[start].0) && !opens(&text, words[start].0);
            // What a string fills in between braces has the name of a variable.
            let is_variable = text[..words[start].0].ends_with('{');
            if here.eq(banned_words) && !is_name && !is_variable {
                let line = fragment.line_at(words[start].0);
                violations.push(Violation::new(path, line, format!("`{banned}`: {instead}")));
            }
        }
    }
    violations
}

/// The words of a text in small letters, each with its offset.
fn words(text: &str) -> Vec<(usize, String)> {
    let is_inside = |c: char| c.is_alphanumeric() || "'’-_".contains(c);
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, is_inside(c)) {
            (None, true) => start = Some(at),
            (Some(begin), false) => {
                words.push((begin, text[begin..at].to_lowercase().replace('’', "'")));
                start = None;
            }
            _ => {}
        }
    }
    words
}

fn starts_with_capital(text: &str, at: usize) -> bool {
    text[at..].starts_with(char::is_uppercase)
}

/// Whether a sentence or the text begins at `at`.
fn opens(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end();
    before.is_empty() || before.ends_with(['.', ':', '?', '!', '('])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<(usize, String)> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|found| (found.line, found.text)).collect()
    }

    #[test]
    fn a_banned_word_is_found_with_its_line_and_what_to_write() {
        assert_eq!(
            lines("docs/a.md", "One line.\nWhoever reads\nthis *has\nto* wait.\n"),
            [(2, "`whoever`: name the subject".to_owned()), (3, "`has to`: must".to_owned())]
        );
    }

    #[test]
    fn code_names_and_parts_of_words_are_not_meant() {
        let text = "`told` and arm64, in May 2026, for Arm, alarm, thistle.\n\n```\ntold\n```\n";
        assert_eq!(lines("docs/a.md", text), []);
    }

    #[test]
    fn documentation_and_messages_of_rust_are_read_and_tests_are_not() {
        let text = "/// What it is told.\nfn f() -> &'static str { \"somebody said so\" }\n\
                    #[cfg(test)]\nmod tests { const A: &str = \"whoever said so\"; }\n";
        let found: Vec<usize> = found_in("crates/a/src/a.rs", text).iter().map(|found| found.line).collect();
        assert_eq!(found, [1, 2]);
    }

    #[test]
    fn comments_and_names_of_tests_are_read() {
        let text = "#[test]\nfn what_somebody_gets() {\n    // It has to be right.\n}\n";
        let found: Vec<usize> = found_in("crates/a/src/a.rs", text).iter().map(|found| found.line).collect();
        assert_eq!(found, [3, 2]);
    }

    #[test]
    fn messages_of_k6_and_variables_in_strings_are_not_meant() {
        let (path, quoted) = QUOTED[0];
        assert_eq!(found_in(path, &format!("const A: &str = \"{quoted}\";")).len(), 0);
        assert_eq!(found_in("crates/a/src/b.rs", &format!("const A: &str = \"{quoted}\";")).len(), 1);
        assert_eq!(found_in("crates/a/src/b.rs", "const A: &str = \"one of these {told}\";").len(), 0);
    }

    #[test]
    fn texts_of_a_study_are_read() {
        assert_eq!(lines("labs/a/b/study.toml", "title = \"the best arm\"\n").len(), 1);
    }

    #[test]
    fn files_out_of_scope_are_not_read() {
        assert_eq!(lines("labs/a/README.md", "whoever"), []);
    }
}
