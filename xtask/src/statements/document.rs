//! `statements.toml`: the statements of one published document, in our own words, and what becomes of each.
//!
//! Checks a statement by itself. Does not know the studies that its claims belong to.

use anyhow::Result;
use serde::Deserialize;

/// The statements of a document, in its order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    /// What the document is about.
    pub title: String,
    /// Where it is published.
    pub source: String,
    /// Its statements.
    #[serde(default)]
    pub statement: Vec<Statement>,
}

/// One statement. Exactly one of `claims`, `not_testable` and `open` says what becomes of it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Statement {
    /// Its short name, unique in the document.
    pub id: String,
    /// The statement in our own words.
    pub text: String,
    /// Its published figure with unit; `None` if it has none.
    pub published: Option<String>,
    /// The lines of the document that state it: `12` or `12-14`.
    pub lines: String,
    /// The claims that test it: `CLAIM` of the lab's own study, `STUDY/CLAIM` of the study in the folder `STUDY`.
    #[serde(default)]
    pub claims: Vec<String>,
    /// Why no study on this machine can test it.
    pub not_testable: Option<String>,
    /// What it would take to test it; there is no study yet.
    pub open: Option<String>,
}

impl Document {
    /// Reads the file.
    ///
    /// # Errors
    /// If the text is not TOML of this form.
    pub(super) fn read(text: &str) -> Result<Self> {
        Ok(toml::from_str(text)?)
    }
}

impl Statement {
    /// Whether it names this claim.
    pub(super) fn names(&self, reference: &str) -> bool {
        self.claims.iter().any(|claim| claim == reference)
    }

    /// What is missing from the statement, or is too much.
    pub(super) fn incomplete(&self) -> Vec<String> {
        let mut found = Vec::new();
        let texts = [
            ("id", Some(&self.id)),
            ("text", Some(&self.text)),
            ("published", self.published.as_ref()),
            ("not_testable", self.not_testable.as_ref()),
            ("open", self.open.as_ref()),
        ];
        let is_empty = |text: &&String| text.trim().is_empty();
        for (key, _) in texts.iter().filter(|(_, text)| text.as_ref().is_some_and(is_empty)) {
            found.push(format!("`{key}` is empty"));
        }
        if !is_lines(&self.lines) {
            found.push(format!("`{}` are no lines; write \"12\" or \"12-14\"", self.lines));
        }
        let ways = [!self.claims.is_empty(), self.not_testable.is_some(), self.open.is_some()];
        if ways.iter().filter(|way| **way).count() != 1 {
            found.push("needs exactly one of `claims`, `not_testable` and `open`".to_owned());
        }
        found
    }
}

/// `12`, or `12-14` in rising order.
fn is_lines(text: &str) -> bool {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let line = |text: &str| text.parse::<u32>().ok().filter(|line| *line > 0);
    matches!((line(first), line(last)), (Some(first), Some(last)) if first <= last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement() -> Statement {
        Statement {
            id: "a".to_owned(),
            text: "it is fast".to_owned(),
            lines: "12".to_owned(),
            claims: vec!["fast".to_owned()],
            ..Statement::default()
        }
    }

    #[test]
    fn a_statement_with_text_lines_and_one_claim_is_complete() {
        assert_eq!(statement().incomplete(), [] as [&str; 0]);
    }

    #[test]
    fn a_statement_says_exactly_one_thing_about_what_becomes_of_it() {
        let expected = ["needs exactly one of `claims`, `not_testable` and `open`"];
        let both = Statement { open: Some("a study".to_owned()), ..statement() };
        assert_eq!(both.incomplete(), expected);
        assert_eq!(Statement { claims: Vec::new(), ..statement() }.incomplete(), expected);
    }

    #[test]
    fn empty_texts_and_places_that_are_no_lines_are_found() {
        let text = Statement { text: " ".to_owned(), ..statement() };
        assert_eq!(text.incomplete(), ["`text` is empty"]);
        for lines in ["", "0", "a", "14-12", "12-", "3,4"] {
            let found = Statement { lines: lines.to_owned(), ..statement() }.incomplete();
            assert_eq!(found.len(), 1, "{lines}: {found:?}");
        }
    }

    #[test]
    fn a_key_that_the_format_does_not_have_is_refused() {
        let text = "title = \"a\"\nsource = \"b\"\n[[statement]]\nid = \"a\"\ntext = \"b\"\nlines = \"1\"\nverdict = \"c\"\n";
        assert!(Document::read(text).is_err());
    }
}
