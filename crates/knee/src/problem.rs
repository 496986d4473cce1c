//! An error for people: what is wrong, where, and what to do next.
//!
//! Does not print and does not choose an exit code; `main` does.

use std::fmt;

use knee_report::clean;

pub use knee_engine::journal::reason;

/// A problem that prevents a command from starting, found before any load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problem {
    /// What is wrong, and where; names what was given. No full stop.
    pub what: String,
    /// The next step, without a full stop; empty when there is nothing to say.
    pub hint: String,
}

impl Problem {
    /// A problem with a next step.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

/// `error: what`, a blank line, `hint: next step`, without a newline at the end. Control
/// characters of what was given are escaped, so that an argument cannot steer the terminal.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", printable(&self.what))?;
        if !self.hint.is_empty() {
            write!(f, "\n\nhint: {}", printable(&self.hint))?;
        }
        Ok(())
    }
}

/// `text` with everything escaped that acts on a terminal instead of being seen, line breaks too:
/// for foreign text (file names, notes, warnings) within a line of this program.
pub fn on_one_line(text: &str) -> String {
    clean::line(text).into_owned()
}

/// The same, but with line breaks and tabs as they are: for text of several lines, such as the error of a script.
pub fn printable(text: &str) -> String {
    let escape = |c: char| clean::is_hostile(c) && !matches!(c, '\n' | '\t');
    text.chars().fold(String::with_capacity(text.len()), |mut safe, c| {
        if escape(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
        safe
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_two_paragraphs_and_cannot_steer_the_terminal() {
        let problem = Problem::new("`a\u{1b}[2J` is no URL", "write it as `http://host:port/path`");
        assert_eq!(
            problem.to_string(),
            "error: `a\\u{1b}[2J` is no URL\n\nhint: write it as `http://host:port/path`"
        );
        assert_eq!(Problem::new("it broke", "").to_string(), "error: it broke");
        let turned = Problem::new("`a\u{202e}b\u{200b}`\n  at line 1", "").to_string();
        assert_eq!(turned, "error: `a\\u{202e}b\\u{200b}`\n  at line 1");
    }
}
