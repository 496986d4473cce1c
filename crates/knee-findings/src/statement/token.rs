//! The tokens of a SQL statement: words, values and signs.
//!
//! Leaves out blanks and comments. Does not know what a token means, and never finds fault with a text.

/// A part of a text that has a meaning of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a word; quoted names keep their letters.
    Word { text: String, quoted: bool },
    /// A literal or a parameter.
    Value,
    /// An operator or a sign.
    Sign(String),
}

/// The tokens of a text, without comments.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut place = 0;
    while let Some(&first) = chars.get(place) {
        let next = chars.get(place + 1).copied();
        place = match first {
            c if c.is_whitespace() => place + 1,
            '-' if next == Some('-') => after(&chars, place, |c| c == '\n'),
            '/' if next == Some('*') => after_comment(&chars, place),
            '\'' => {
                tokens.push(Token::Value);
                after(&chars, place + 1, |c| c == '\'')
            }
            '"' => {
                let end = after(&chars, place + 1, |c| c == '"');
                let inner = &chars[place + 1..end.saturating_sub(1).max(place + 1).min(chars.len())];
                tokens.push(Token::Word { text: inner.iter().collect(), quoted: true });
                end
            }
            c if c.is_ascii_digit() || (c == '$' && next.is_some_and(|next| next.is_ascii_digit())) => {
                tokens.push(Token::Value);
                after(&chars, place + 1, |c| !(c.is_ascii_alphanumeric() || c == '.')) - 1
            }
            '?' => {
                tokens.push(Token::Value);
                place + 1
            }
            c if c.is_alphabetic() || c == '_' => {
                let end = after(&chars, place + 1, |c| !(c.is_alphanumeric() || c == '_' || c == '$')) - 1;
                let text: String = chars[place..end].iter().collect();
                tokens.push(Token::Word { text: text.to_lowercase(), quoted: false });
                end
            }
            c if "<>=!:~".contains(c) => {
                let end = after(&chars, place + 1, |c| !"<>=:~".contains(c)) - 1;
                tokens.push(Token::Sign(chars[place..end].iter().collect()));
                end
            }
            c => {
                tokens.push(Token::Sign(c.to_string()));
                place + 1
            }
        };
    }
    tokens
}

/// The place behind the first character from `place` on for which `is_end` holds; one behind the end without one.
fn after(chars: &[char], place: usize, is_end: impl Fn(char) -> bool) -> usize {
    let rest = chars.get(place..).unwrap_or_default();
    place + rest.iter().position(|c| is_end(*c)).unwrap_or(rest.len()) + 1
}

/// The place behind the comment that begins at `place`. Comments of PostgreSQL have comments in them, those of SQLite
/// do not: without an end for each of these, the first end counts.
fn after_comment(chars: &[char], place: usize) -> usize {
    let rest = chars.get(place..).unwrap_or_default();
    let mut depth = 0_usize;
    let mut first = None;
    let mut at = 0;
    while at + 1 < rest.len() {
        match (rest[at], rest[at + 1]) {
            ('/', '*') => {
                depth += 1;
                at += 2;
            }
            ('*', '/') => {
                depth = depth.saturating_sub(1);
                at += 2;
                first = first.or(Some(at));
                if depth == 0 {
                    return place + at;
                }
            }
            _ => at += 1,
        }
    }
    place + first.unwrap_or(rest.len())
}

/// The word at a place, unless it is quoted: then it is a name.
pub(super) fn word(tokens: &[Token], place: usize) -> Option<&str> {
    match tokens.get(place)? {
        Token::Word { text, quoted: false } => Some(text),
        _ => None,
    }
}

/// Whether this sign stands at a place.
pub(super) fn is_sign(tokens: &[Token], place: usize, sign: &str) -> bool {
    matches!(tokens.get(place), Some(Token::Sign(found)) if found == sign)
}
