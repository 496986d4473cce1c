//! Queries: `#(path operator value)`, which pick elements of an array.

use std::borrow::Cow;

use super::list::Follow;
use super::pattern;
use super::text::{self, Kind};

/// A query.
pub struct Query<'p> {
    path: &'p str,
    operator: &'p str,
    value: Cow<'p, str>,
    /// Whether all elements that fit are picked, or the first one alone.
    pub all: bool,
}

const OPERATORS: [&str; 9] = ["!=", "!%", "<=", ">=", "==", "<", ">", "=", "%"];

impl<'p> Query<'p> {
    /// The query at the start of `path`, and what follows it; `None` if it is never closed.
    pub fn read(path: &'p str) -> Option<(Self, &'p str)> {
        let bytes = path.as_bytes();
        let end = close(bytes)?;
        let inner = &path[2..end];
        let rest = &path[end + 1..];
        let (path, condition) = match operator_at(inner) {
            Some(place) => inner.split_at(place),
            None => (inner, ""),
        };
        let condition = text::trim(condition);
        let operator = OPERATORS.into_iter().find(|known| condition.starts_with(known));
        let operator = if condition == "!" { "!" } else { operator.unwrap_or_default() };
        let value = text::trim(&condition[operator.len()..]);
        let quoted = value.len() >= 2 && value.starts_with('"') && value.ends_with('"');
        let value = if quoted { text::unescape(&value[1..value.len() - 1]) } else { Cow::Borrowed(value) };
        Some((Self { path: text::trim(path), operator, value, all: false }, rest))
    }

    /// Whether an element is picked.
    pub fn holds(&self, element: &str, depth: usize, follow: Follow) -> bool {
        let nested = matches!(text::kind(element), Some(Kind::Object | Kind::Array));
        if nested {
            let found = follow(element, self.path, depth + 1);
            return self.compare(found.as_deref());
        }
        self.path.is_empty() && self.compare(Some(element))
    }

    fn compare(&self, found: Option<&str>) -> bool {
        if let Some(wish) = self.value.strip_prefix('~') {
            return match leaning(found, wish) {
                Some(_) if self.operator.is_empty() => true,
                Some(leans) => bools(self.operator, leans, "true"),
                None => false,
            };
        }
        let Some(found) = found else { return false };
        if self.operator.is_empty() {
            return true;
        }
        match text::kind(found) {
            Some(Kind::String) => strings(self.operator, &text::unquote(found), &self.value),
            Some(Kind::Number) => {
                let number = |text: &str| text.parse::<f64>().unwrap_or(0.0);
                numbers(self.operator, number(text::trim(found)), number(&self.value))
            }
            Some(Kind::True) => bools(self.operator, true, &self.value),
            Some(Kind::False) => bools(self.operator, false, &self.value),
            _ => false,
        }
    }
}

/// Where the bracket that opens a query is closed.
fn close(path: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 1;
    while let Some(byte) = path.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => {
                at = text::value_end(path, at);
                continue;
            }
            b'[' | b'(' => depth += 1,
            b']' | b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the operator of a query begins: the first sign of one outside of brackets and quotes.
fn operator_at(inner: &str) -> Option<usize> {
    let bytes = inner.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'!' | b'=' | b'<' | b'>' | b'%' if depth == 0 => return Some(at),
            b'\\' => at += 1,
            b'"' => {
                at = text::value_end(bytes, at);
                continue;
            }
            b'[' | b'(' => depth += 1,
            b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Whether a value matches the condition after a tilde; `None` if there is no such condition.
fn leaning(found: Option<&str>, wish: &str) -> Option<bool> {
    let kind = found.and_then(text::kind);
    let word = |words: [&str; 3]| {
        let said = found.map(text::unquote).unwrap_or_default().to_lowercase();
        words.contains(&said.as_str())
    };
    let number = || found.map_or(0.0, |found| text::trim(found).parse::<f64>().unwrap_or(0.0));
    match wish {
        "*" => Some(found.is_some()),
        "null" => Some(matches!(kind, None | Some(Kind::Null))),
        "true" => Some(match kind {
            Some(Kind::True) => true,
            Some(Kind::String) => word(["1", "t", "true"]),
            Some(Kind::Number) => number() != 0.0,
            _ => false,
        }),
        "false" => Some(match kind {
            None | Some(Kind::Null | Kind::False) => true,
            Some(Kind::String) => word(["0", "f", "false"]),
            Some(Kind::Number) => number() == 0.0,
            _ => false,
        }),
        _ => None,
    }
}

fn strings(operator: &str, found: &str, value: &str) -> bool {
    match operator {
        "=" | "==" => found == value,
        "!=" => found != value,
        "<" => found < value,
        "<=" => found <= value,
        ">" => found > value,
        ">=" => found >= value,
        "%" => pattern::fits(found, value),
        "!%" => !pattern::fits(found, value),
        _ => false,
    }
}

#[allow(clippy::float_cmp, reason = "a query compares what was written, not what was computed")]
fn numbers(operator: &str, found: f64, value: f64) -> bool {
    match operator {
        "=" | "==" => found == value,
        "!=" => found != value,
        "<" => found < value,
        "<=" => found <= value,
        ">" => found > value,
        ">=" => found >= value,
        _ => false,
    }
}

fn bools(operator: &str, found: bool, value: &str) -> bool {
    match operator {
        "=" | "==" => value == if found { "true" } else { "false" },
        "!=" => value != if found { "true" } else { "false" },
        ">" => found && value == "false",
        "<" => !found && value == "true",
        ">=" => found,
        "<=" => !found,
        _ => false,
    }
}
