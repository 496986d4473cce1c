//! `cargo xtask sentences`: sentences drawn at random from what users read, to be judged by people.
//!
//! Draws from documents, from help texts (documentation of the command line's flags) and from messages
//! (strings of the product). Code of any language, tests and texts that equal k6's are left out. The same seed
//! draws the same sentences from the same sources. Does not judge.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use clap::Args;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::index;

use crate::prose::{self, Fragment};
use crate::tidy::tree::{Tree, has_extension, is_fixture};

/// What to draw.
#[derive(Debug, Args)]
pub struct Options {
    /// Seed of the draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many sentences
    #[arg(long, default_value_t = 100)]
    count: usize,
    /// Draw only from paths that begin like this; repeat it for more
    #[arg(long, value_name = "PATH")]
    from: Vec<String>,
}

/// A shorter text is a label and no sentence.
const WORDS_MIN: usize = 4;

/// Documents whose sentences come from elsewhere: texts of labs, and pages made of help texts or of cases.
const EXCEPT: &[&str] = &["labs/", "docs/reference/flags.md", "docs/reference/k6-compatibility.md"];

/// Messages of k6 that scripts and their authors rely on, one per line. They must stay equal, so judging them is idle.
const K6: &str = include_str!("sentences/k6.txt");

/// Where flags are defined: their documentation is what `--help` prints.
const HELP: &str = "crates/knee/src/args";

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sentence {
    path: String,
    line: usize,
    /// The first cell of the table row, which readers have before their eyes.
    row: Option<String>,
    text: String,
}

/// Prints the drawn sentences, numbered, each with its source.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let tree = Tree::read(root)?;
    let mut all = all(&tree);
    if !options.from.is_empty() {
        all.retain(|sentence| options.from.iter().any(|from| sentence.path.starts_with(from.as_str())));
    }
    println!("seed {}: {} of {} sentences", options.seed, options.count.min(all.len()), all.len());
    for (number, sentence) in draw(&all, options.seed, options.count).iter().enumerate() {
        let row = sentence.row.as_ref().map(|row| format!("[row: {row}] ")).unwrap_or_default();
        println!("{:3}. {}:{}: {row}{}", number + 1, sentence.path, sentence.line, sentence.text);
    }
    Ok(())
}

fn draw(all: &[Sentence], seed: u64, count: usize) -> Vec<&Sentence> {
    let mut random = StdRng::seed_from_u64(seed);
    index::sample(&mut random, all.len(), count.min(all.len())).iter().map(|index| &all[index]).collect()
}

/// Every sentence that users read, each text once, in the order of the files.
fn all(tree: &Tree) -> Vec<Sentence> {
    let mut known: BTreeSet<String> = K6.lines().map(str::to_owned).collect();
    let mut sentences = Vec::new();
    for (path, fragment) in fragments(tree) {
        let found = split(&fragment.text).into_iter().filter(|(_, sentence)| is_sentence(sentence));
        for (offset, text) in found {
            if known.insert(text.to_owned()) {
                let line = fragment.line_at(offset);
                let row = fragment.row.clone();
                sentences.push(Sentence { path: path.to_owned(), line, row, text: text.to_owned() });
            }
        }
    }
    sentences
}

/// Documents, help texts and messages, in the order of the files.
fn fragments(tree: &Tree) -> Vec<(&str, Fragment)> {
    let is_read = |path: &str| !EXCEPT.iter().any(|except| path.starts_with(except));
    let is_product = |path: &str| path.starts_with("crates/") && path.contains("/src/");
    let mut found: Vec<(&str, Fragment)> = Vec::new();
    let mut of_tests = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| !is_fixture(path)) {
        if has_extension(path, "md") && is_read(path) {
            found.extend(prose::of_markdown(text).into_iter().map(|fragment| (path, fragment)));
        } else if has_extension(path, "rs") && is_product(path) {
            let rust = prose::of_rust(text);
            let help = if path.starts_with(HELP) { rust.help } else { Vec::new() };
            found.extend(help.into_iter().chain(rust.strings).map(|fragment| (path, fragment)));
            let folder = folder_of_modules(path);
            of_tests.extend(rust.test_modules.iter().map(|module| format!("{folder}/{module}")));
        }
    }
    let is_of_tests = |path: &str| {
        let file = path.strip_suffix(".rs").unwrap_or(path);
        of_tests.iter().any(|module| file == module || path.starts_with(&format!("{module}/")))
    };
    found.retain(|(path, _)| !is_of_tests(path));
    found
}

/// The folder with the files of the modules that this file declares.
fn folder_of_modules(path: &str) -> &str {
    let file = path.strip_suffix(".rs").unwrap_or(path);
    ["/lib", "/main"].iter().find_map(|root| file.strip_suffix(root)).unwrap_or(file)
}

fn is_sentence(text: &str) -> bool {
    text.split_whitespace().filter(|word| word.starts_with(char::is_alphabetic)).count() >= WORDS_MIN
}

/// The sentences of a text with their offsets: each ends with a mark that a capital, a digit or code follows.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(['.', '?', '!']) {
        let rest = &text[at + 1..];
        let next = rest.trim_start();
        let is_gap = rest.len() > next.len();
        let is_short = ["e.g", "i.e", "vs"].iter().any(|short| text[start..at].ends_with(short));
        if is_gap
            && !is_short
            && (next.starts_with(|c: char| c.is_uppercase() || c == '`' || c.is_ascii_digit())
                || next.starts_with("knee "))
        {
            sentences.push((start, text[start..=at].trim()));
            start = text.len() - next.len();
        }
    }
    sentences.push((start, text[start..].trim()));
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_where_a_new_sentence_begins() {
        let text = "It takes 1.5 s, e.g. Twice is more. `knee` runs. knee runs again. done";
        let sentences: Vec<&str> = split(text).into_iter().map(|(_, sentence)| sentence).collect();
        assert_eq!(
            sentences,
            ["It takes 1.5 s, e.g. Twice is more.", "`knee` runs.", "knee runs again. done"]
        );
    }

    #[test]
    fn sentences_come_from_documents_help_and_messages_and_not_from_tests_or_labs() {
        let tree = Tree::of(&[
            ("docs/a.md", "# Title\n\nThis is the first sentence. Too short.\n"),
            ("labs/a/README.md", "This one belongs to a lab.\n"),
            (
                "crates/knee/src/args.rs",
                "/// Of no user.\nstruct A {\n    /// Print the help of this\n    #[arg(long)]\n    a: bool,\n}\n",
            ),
            (
                "crates/a/src/b.rs",
                "/// Not read by any user.\nfn f() { g(\"cannot open the given file\") }\n",
            ),
        ]);
        let texts: Vec<String> = all(&tree).into_iter().map(|sentence| sentence.text).collect();
        assert_eq!(
            texts,
            ["cannot open the given file", "Print the help of this", "This is the first sentence."]
        );
    }

    #[test]
    fn code_proofs_tests_and_texts_of_k6_are_not_drawn() {
        let k6 = K6.lines().next().unwrap();
        let text = format!("fn f() {{\n g(\"{k6}\");\n h(\"this message is ours\");\n}}");
        let tree = Tree::of(&[
            ("crates/a/src/k6.rs", &text),
            ("crates/a/src/lib.rs", "#[cfg(test)]\nmod simulated;\nmod k6;\n"),
            ("crates/a/src/simulated.rs", "const A: &str = \"a text of a test\";\n"),
            ("crates/a/src/simulated/b.rs", "const A: &str = \"another text of a test\";\n"),
            ("crates/a/src/b.rs", "fn f() { a.expect(\"it was checked just before\"); }\n"),
            ("crates/a/src/c.rs", "const JS: &str = \"(a) => {\\n  const b = a of this;\\n}\";\n"),
        ]);
        let texts: Vec<String> = all(&tree).into_iter().map(|sentence| sentence.text).collect();
        assert_eq!(texts, ["this message is ours"]);
    }

    #[test]
    fn every_text_of_k6_that_is_left_out_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let tree = Tree::read(root).unwrap();
        let fragments = fragments(&tree);
        let texts: BTreeSet<&str> =
            fragments.iter().flat_map(|(_, fragment)| split(&fragment.text)).map(|(_, text)| text).collect();
        let gone: Vec<&str> = K6.lines().filter(|text| !texts.contains(text)).collect();
        assert!(gone.is_empty(), "{gone:#?}");
    }

    #[test]
    fn a_sentence_of_a_table_is_drawn_with_its_row() {
        let tree =
            Tree::of(&[("docs/a.md", "| key | meaning |\n|---|---|\n| `rate` | how many there are |\n")]);
        assert_eq!(all(&tree)[0].row.as_deref(), Some("`rate`"));
    }

    #[test]
    fn the_same_seed_draws_the_same_sentences() {
        let sentence = |line| Sentence { path: String::new(), line, row: None, text: String::new() };
        let all: Vec<Sentence> = (0..100).map(sentence).collect();
        assert_eq!(draw(&all, 7, 5), draw(&all, 7, 5));
        assert_eq!(draw(&all, 7, 500).len(), 100);
    }
}
