//! `cargo xtask sentences`: sentences drawn at random from what users read, to be judged by people.
//!
//! Draws from documents, from help texts (documentation of the command line's flags) and from messages
//! (strings of the product). The same seed draws the same sentences from the same sources. Does not judge.

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

/// Where flags are defined: their documentation is what `--help` prints.
const HELP: &str = "crates/knee/src/args";

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sentence {
    path: String,
    line: usize,
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
        println!("{:3}. {}:{}: {}", number + 1, sentence.path, sentence.line, sentence.text);
    }
    Ok(())
}

fn draw(all: &[Sentence], seed: u64, count: usize) -> Vec<&Sentence> {
    let mut random = StdRng::seed_from_u64(seed);
    index::sample(&mut random, all.len(), count.min(all.len())).iter().map(|index| &all[index]).collect()
}

/// Every sentence that users read, each text once, in the order of the files.
fn all(tree: &Tree) -> Vec<Sentence> {
    let mut known = BTreeSet::new();
    let mut sentences = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| !is_fixture(path)) {
        for fragment in fragments(path, text) {
            let found = split(&fragment.text).into_iter().filter(|(_, sentence)| is_sentence(sentence));
            for (offset, sentence) in found {
                if known.insert(sentence.to_owned()) {
                    let line = fragment.line_at(offset);
                    sentences.push(Sentence { path: path.to_owned(), line, text: sentence.to_owned() });
                }
            }
        }
    }
    sentences
}

fn fragments(path: &str, text: &str) -> Vec<Fragment> {
    if has_extension(path, "md") && !EXCEPT.iter().any(|except| path.starts_with(except)) {
        prose::of_markdown(text)
    } else if path.starts_with("crates/") && path.contains("/src/") && has_extension(path, "rs") {
        let rust = prose::of_rust(text);
        let docs = if path.starts_with(HELP) { rust.docs } else { Vec::new() };
        docs.into_iter().chain(rust.strings).collect()
    } else {
        Vec::new()
    }
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
            && next.starts_with(|c: char| c.is_uppercase() || c == '`' || c.is_ascii_digit())
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
        let text = "It takes 1.5 s, e.g. Twice is more. `knee` runs. done";
        let sentences: Vec<&str> = split(text).into_iter().map(|(_, sentence)| sentence).collect();
        assert_eq!(sentences, ["It takes 1.5 s, e.g. Twice is more.", "`knee` runs. done"]);
    }

    #[test]
    fn sentences_come_from_documents_help_and_messages_and_not_from_tests_or_labs() {
        let tree = Tree::of(&[
            ("docs/a.md", "# Title\n\nThis is the first sentence. Too short.\n"),
            ("labs/a/README.md", "This one belongs to a lab.\n"),
            ("crates/knee/src/args.rs", "/// Print the help of this\nstruct A;\n"),
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
    fn the_same_seed_draws_the_same_sentences() {
        let sentence = |line| Sentence { path: String::new(), line, text: String::new() };
        let all: Vec<Sentence> = (0..100).map(sentence).collect();
        assert_eq!(draw(&all, 7, 5), draw(&all, 7, 5));
        assert_eq!(draw(&all, 7, 500).len(), 100);
    }
}
