//! What a SQL statement does, by the verb behind its comments, its parentheses and its common table expressions.
//!
//! All rules ask here. `EXPLAIN` is a verb of its own, because what it explains is not executed for a response. Does
//! not look into functions, which can change rows, too.

use super::token::{Token, is_sign, word};

/// A common table expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its name, as the statement names it where it reads it.
    pub name: String,
    /// Its first word in small letters.
    pub verb: String,
}

/// The verb of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Main {
    /// In small letters; `with` if the text was cut off before it, and empty without a word.
    pub verb: String,
    /// Its place.
    pub place: usize,
    pub parts: Vec<Part>,
}

/// With what the main part of a statement can begin.
const VERBS: [&str; 8] = ["select", "insert", "update", "delete", "merge", "replace", "values", "table"];

/// Whether a verb adds rows.
pub(super) fn adds(verb: &str) -> bool {
    matches!(verb, "insert" | "merge" | "replace")
}

/// Whether a verb changes rows.
pub(super) fn changes(verb: &str) -> bool {
    adds(verb) || matches!(verb, "update" | "delete")
}

/// Finds the verb.
pub(super) fn main(tokens: &[Token]) -> Main {
    let mut main = Main::default();
    loop {
        while is_sign(tokens, main.place, "(") || is_sign(tokens, main.place, ";") {
            main.place += 1;
        }
        let Some(first) = word(tokens, main.place) else { return main };
        first.clone_into(&mut main.verb);
        if first != "with" {
            return main;
        }
        let Some(behind) = parts(tokens, main.place + 1, &mut main.parts) else { return main };
        main.place = behind;
    }
}

/// Whether `COPY` at this place writes into its table.
pub(super) fn copies_in(tokens: &[Token], place: usize) -> bool {
    let mut depth = 0_i64;
    for place in place..tokens.len() {
        depth += i64::from(is_sign(tokens, place, "(")) - i64::from(is_sign(tokens, place, ")"));
        match word(tokens, place) {
            Some("from") if depth == 0 => return true,
            Some("to") if depth == 0 => return false,
            _ => {}
        }
    }
    false
}

/// Reads common table expressions from their first name on; the place behind them, `None` if the text ends before.
fn parts(tokens: &[Token], place: usize, parts: &mut Vec<Part>) -> Option<usize> {
    let mut place = place + usize::from(word(tokens, place) == Some("recursive"));
    loop {
        let Token::Word { text: name, .. } = tokens.get(place)? else { return None };
        place += 1;
        if is_sign(tokens, place, "(") {
            place = behind_parentheses(tokens, place)?;
        }
        if word(tokens, place) != Some("as") {
            return None;
        }
        place += 1;
        while matches!(word(tokens, place), Some("not" | "materialized")) {
            place += 1;
        }
        if !is_sign(tokens, place, "(") {
            return None;
        }
        let first = (place..tokens.len()).find(|place| !is_sign(tokens, *place, "("));
        let verb = first.and_then(|first| word(tokens, first)).unwrap_or_default().to_owned();
        parts.push(Part { name: name.clone(), verb });
        place = behind_clauses(tokens, behind_parentheses(tokens, place)?);
        if !is_sign(tokens, place, ",") {
            return Some(place);
        }
        place += 1;
    }
}

/// The place behind the parenthesis that closes the one at `place`.
fn behind_parentheses(tokens: &[Token], place: usize) -> Option<usize> {
    let mut depth = 0_i64;
    let closes = |place: &usize| {
        depth += i64::from(is_sign(tokens, *place, "(")) - i64::from(is_sign(tokens, *place, ")"));
        depth == 0
    };
    (place..tokens.len()).find(closes).map(|end| end + 1)
}

/// The place behind the clauses `SEARCH` and `CYCLE` of a common table expression, which have commas of their own.
fn behind_clauses(tokens: &[Token], place: usize) -> usize {
    if !matches!(word(tokens, place), Some("search" | "cycle")) {
        return place;
    }
    let is_next = |place: usize| {
        is_sign(tokens, place, ",")
            && (word(tokens, place + 2) == Some("as") || is_sign(tokens, place + 2, "("))
    };
    let is_verb = |place: usize| word(tokens, place).is_some_and(|word| VERBS.contains(&word));
    let ends = |place: &usize| is_next(*place) || is_verb(*place) || is_sign(tokens, *place, "(");
    (place..tokens.len()).find(ends).unwrap_or(tokens.len())
}
