//! Sentences of our own, whose commands and options stand between backticks: their pieces of text and of code.
//!
//! A name that others chose can be part of a sentence, so a piece is only ever text or code, and is escaped where it is
//! written. Does not escape.

/// A piece of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    /// As it is.
    Text(&'t str),
    /// What stood between two backticks.
    Code(&'t str),
}

/// The pieces of a sentence in order. A backtick without a partner is text, and so is everything if code touches code,
/// which Markdown reads in another way.
pub(crate) fn pieces(sentence: &str) -> Vec<Piece<'_>> {
    let parts: Vec<&str> = sentence.split('`').collect();
    let last = parts.len() - 1;
    let is_paired = last.is_multiple_of(2) && parts.iter().take(last).skip(1).all(|part| !part.is_empty());
    if !is_paired {
        return vec![Piece::Text(sentence)];
    }
    let kinds = parts.into_iter().enumerate().map(|(place, part)| match place % 2 {
        0 => Piece::Text(part),
        _ => Piece::Code(part),
    });
    kinds.filter(|piece| *piece != Piece::Text("")).collect()
}

#[cfg(test)]
mod tests {
    use super::Piece::{Code, Text};
    use super::*;

    #[test]
    fn what_stands_between_two_backticks_is_code() {
        assert_eq!(pieces("run `knee doctor` now"), [Text("run "), Code("knee doctor"), Text(" now")]);
        assert_eq!(pieces("`a`: `b`"), [Code("a"), Text(": "), Code("b")]);
        assert_eq!(pieces("plain"), [Text("plain")]);
    }

    #[test]
    fn backticks_without_a_partner_are_text() {
        for sentence in ["it`s", "a `b` c`", "``", "`a``b`", "a ``b`` c"] {
            assert_eq!(pieces(sentence), [Text(sentence)]);
        }
    }
}
