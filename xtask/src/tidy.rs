//! `cargo xtask tidy`: the rules of the house that the compiler does not know.
//!
//! Each rule is a module with a function from the [`Tree`] to what violates it, and tests that show
//! it finds a violation. Does not repair anything and does not repeat what clippy and rustfmt check.

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

mod changelog;
mod cycle;
mod decision;
mod header;
mod identifier;
mod lab;
mod layering;
mod leftover;
mod length;
mod line;
mod module;
mod path;
mod purity;
mod size;
mod summary;
mod tokens;
pub mod tree;
mod words;

use tree::Tree;

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    /// The file, relative to the root of the repository.
    path: String,
    /// The line, from 1; 0 for the file as a whole.
    line: usize,
    /// What is wrong and what would be right.
    text: String,
}

impl Violation {
    fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.text),
            line => write!(f, "{}:{line}: {}", self.path, self.text),
        }
    }
}

/// What finds the violations of one rule.
type Rule = fn(&Tree) -> Vec<Violation>;

const RULES: &[(&str, Rule)] = &[
    ("layering", layering::check),
    ("purity", purity::check),
    ("cycle", cycle::check),
    ("header", header::check),
    ("path", path::check),
    ("leftover", leftover::check),
    ("length", length::check),
    ("size", size::check),
    ("module", module::check),
    ("identifier", identifier::check),
    ("words", words::check),
    ("line", line::check),
    ("lab", lab::check),
    ("summary", summary::check),
    ("decision", decision::check),
    ("changelog", changelog::check),
];

/// Checks every rule on the repository at `root` and prints what it finds.
pub fn run(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let mut count = 0;
    for (name, rule) in RULES {
        let mut violations = rule(&tree);
        violations.sort();
        count += violations.len();
        for violation in violations {
            eprintln!("tidy: {violation} [{name}]");
        }
    }
    match count {
        0 => Ok(()),
        1 => bail!("1 violation of the rules of the house"),
        count => bail!("{count} violations of the rules of the house"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_prints_as_a_place_that_editors_can_open() {
        assert_eq!(
            Violation::new("crates/a/src/lib.rs", 3, "is wrong").to_string(),
            "crates/a/src/lib.rs:3: is wrong"
        );
        assert_eq!(Violation::new("docs/a.bin", 0, "is large").to_string(), "docs/a.bin: is large");
    }
}
