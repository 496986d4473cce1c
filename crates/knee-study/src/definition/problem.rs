//! Mistakes in a `study.toml`, with their positions.
//!
//! Does not print.

use std::fmt;
use std::ops::Range;

/// One mistake. Shown as `what, file:line:column`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}, {file}:{line}:{column}")]
pub struct Problem {
    /// What is wrong; names what was written. No full stop.
    pub what: String,
    /// The file, by the caller's name for it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Character in the line, from 1.
    pub column: usize,
    /// The next step, without a full stop; empty when there is nothing to say.
    pub hint: String,
}

/// All mistakes that were found, in the order of the file; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.0.iter().enumerate() {
            let between = if position > 0 { "\n" } else { "" };
            write!(f, "{between}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Collects mistakes of one text.
pub(super) struct Finder<'a> {
    text: &'a str,
    file: &'a str,
    found: Vec<Problem>,
}

impl<'a> Finder<'a> {
    pub(super) const fn new(text: &'a str, file: &'a str) -> Self {
        Self { text, file, found: Vec::new() }
    }

    /// Notes a mistake at a range of bytes.
    pub(super) fn note(&mut self, span: Range<usize>, what: impl Into<String>, hint: impl Into<String>) {
        let (line, column) = position(self.text, span.start);
        let (what, hint, file) = (what.into(), hint.into(), self.file.to_owned());
        let problem = Problem { what, file, line, column, hint };
        // The same name can be looked up for several purposes.
        if !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }

    /// `value`, unless something was wrong.
    pub(super) fn or(mut self, value: Option<super::Definition>) -> Result<super::Definition, Problems> {
        self.found.sort_by_key(|problem| (problem.line, problem.column));
        match value {
            Some(value) if self.found.is_empty() => Ok(value),
            _ => Err(Problems(self.found)),
        }
    }
}

/// Line and character, both from 1, of a byte.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte.min(text.len())).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// A mistake found by the parser, in the words of the reference page.
pub(super) fn syntax(finder: &mut Finder<'_>, error: &toml::de::Error) {
    let message = error.message().lines().next().unwrap_or_default();
    let what = message
        .replacen("unknown field", "unknown key", 1)
        .replacen("missing field", "missing key", 1)
        .replacen("unknown variant", "unknown word", 1);
    let hint =
        if what.starts_with("unknown key") { "docs/reference/study-toml.md lists all keys" } else { "" };
    finder.note(error.span().unwrap_or(0..0), what, hint);
}

/// The known name that is nearest to `name`, if one is near: for hints.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let near = known.iter().map(|candidate| (strsim::levenshtein(name, candidate), candidate)).min();
    match near {
        Some((distance, candidate)) if distance <= 1 + name.chars().count() / 4 => {
            format!("did you mean `{candidate}`?")
        }
        Some(_) => format!("known: {}", known.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let text = "a = 1\nü = \"ß\" x\n";
        assert_eq!(position(text, 0), (1, 1));
        assert_eq!(position(text, text.find('x').unwrap()), (2, 9));
        assert_eq!(position(text, 10_000), (3, 1));
    }

    #[test]
    fn a_hint_names_the_nearest_or_all() {
        let known = ["stock", "immediate"];
        assert_eq!(nearest("stok", known.into_iter()), "did you mean `stock`?");
        assert_eq!(nearest("xyz", known.into_iter()), "known: stock, immediate");
        assert_eq!(nearest("xyz", std::iter::empty()), "");
    }
}
