//! Paths taken apart into steps.
//!
//! Does not look at any JSON but the names in a multipath.

use std::borrow::Cow;

use super::query::Query;
use super::{modifier, pattern, text};
use crate::json;

/// What follows a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next<'p> {
    /// Nothing.
    End,
    /// A path that leads on within the value that was found.
    Path(&'p str),
    /// A path for the result as a whole.
    Pipe(&'p str),
}

/// A step into an object.
pub struct KeyStep<'p> {
    key: Cow<'p, str>,
    wild: bool,
    /// What follows it.
    pub next: Next<'p>,
}

impl KeyStep<'_> {
    /// Whether it leads to the member of this key.
    pub fn fits(&self, key: &str) -> bool {
        if self.wild { pattern::fits(key, &self.key) } else { self.key == key }
    }
}

/// What follows a separator at the start of `rest`. A dot before a modifier or a multipath means a pipe.
fn next(rest: &str) -> Next<'_> {
    let Some(separator) = rest.chars().next() else { return Next::End };
    let path = &rest[1..];
    let piped = path.starts_with(['[', '{']) || modifier::is_one(path);
    if separator == '|' || piped { Next::Pipe(path) } else { Next::Path(path) }
}

/// The first step of a path, for an object.
pub fn key(path: &str) -> KeyStep<'_> {
    let mut key = Cow::Borrowed("");
    let mut wild = false;
    let mut letters = path.char_indices();
    while let Some((place, letter)) = letters.next() {
        match letter {
            '.' | '|' => return KeyStep { key: plain(path, place, key), wild, next: next(&path[place..]) },
            '*' | '?' => wild = true,
            '\\' => {
                if key.is_empty() {
                    key = Cow::Owned(path[..place].to_owned());
                }
                if let Some((_, letter)) = letters.next() {
                    key.to_mut().push(letter);
                }
                continue;
            }
            _ => {}
        }
        if let Cow::Owned(key) = &mut key {
            key.push(letter);
        }
    }
    KeyStep { key: plain(path, path.len(), key), wild, next: Next::End }
}

/// The unescaped key, or the path up to `end` if nothing in it was escaped.
fn plain<'p>(path: &'p str, end: usize, key: Cow<'p, str>) -> Cow<'p, str> {
    if matches!(key, Cow::Owned(_)) { key } else { Cow::Borrowed(&path[..end]) }
}

/// A step into an array.
pub struct ArrayStep<'p> {
    /// Which elements.
    pub pick: Pick<'p>,
    /// What follows it.
    pub next: Next<'p>,
}

/// Which elements of an array a step picks.
pub enum Pick<'p> {
    /// None.
    Nothing,
    /// One by its place.
    Index(usize),
    /// Their number.
    Count,
    /// All; what the path leads to in each.
    Each(&'p str),
    /// Those for which something holds.
    Query(Query<'p>),
}

/// The first step of a path, for an array.
pub fn array(path: &str) -> ArrayStep<'_> {
    if let Some(rest) = path.strip_prefix("#.") {
        return ArrayStep { pick: Pick::Each(rest), next: Next::End };
    }
    if path.starts_with("#(") || path.starts_with("#[") {
        let Some((mut query, rest)) = Query::read(path) else {
            return ArrayStep { pick: Pick::Nothing, next: Next::End };
        };
        query.all = rest.starts_with('#');
        return ArrayStep { pick: Pick::Query(query), next: after_query(rest) };
    }
    let end = path.find(['.', '|']).unwrap_or(path.len());
    let (part, rest) = path.split_at(end);
    let counts = part.contains('#');
    let pick = match part {
        "#" => Pick::Count,
        _ => index(part).map_or(Pick::Nothing, Pick::Index),
    };
    let next = if counts && rest.starts_with('.') { Next::Path(&rest[1..]) } else { next(rest) };
    ArrayStep { pick, next }
}

/// A dot behind a query leads into every element, whatever follows.
fn after_query(rest: &str) -> Next<'_> {
    let Some(place) = rest.find(['.', '|']) else { return Next::End };
    let (separator, path) = rest[place..].split_at(1);
    if separator == "|" { Next::Pipe(path) } else { Next::Path(path) }
}

fn index(part: &str) -> Option<usize> {
    part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten()
}

/// A path for elements, cut at the pipe that applies to all of them together.
pub fn split_pipe(path: &str) -> (&str, Option<&str>) {
    let bytes = path.as_bytes();
    if path.starts_with('{') {
        let end = text::value_end(bytes, 0);
        return match path[end..].strip_prefix('|') {
            Some(pipe) => (&path[..end], Some(pipe)),
            None => (path, None),
        };
    }
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'|' => return (&path[..at], Some(&path[at + 1..])),
            b'.' if matches!(bytes.get(at + 1..at + 3), Some(b"#(" | b"#[")) => {
                at = text::value_end(bytes, at + 2);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    (path, None)
}

/// One path of a multipath.
pub struct Selector<'p> {
    name: &'p str,
    /// The path.
    pub path: &'p str,
}

impl Selector<'_> {
    /// Its key in an object: the name that was given, or else the last step.
    pub fn key(&self) -> Cow<'_, str> {
        if self.name.starts_with('"') && json::is_valid(self.name) {
            return Cow::Borrowed(self.name);
        }
        if !self.name.is_empty() {
            return Cow::Owned(text::quote(self.name));
        }
        let last = last_step(self.path);
        let simple = !last.contains(|letter: char| letter < ' ' || "[]{}()#|!".contains(letter));
        Cow::Owned(text::quote(if simple { last } else { "_" }))
    }
}

fn last_step(path: &str) -> &str {
    let escaped = |place: usize| place > 0 && path.as_bytes()[place - 1] == b'\\';
    let mut places = path.rmatch_indices(['.', '|']);
    places.find(|(place, _)| !escaped(*place)).map_or(path, |(place, _)| &path[place + 1..])
}

/// The paths between the brackets at the start of `path`, and what follows them; `None` if the
/// brackets are never closed.
pub fn selectors(path: &str) -> Option<(Vec<Selector<'_>>, &str)> {
    let bytes = path.as_bytes();
    let mut found = Vec::new();
    let (mut start, mut colon, mut modified, mut depth) = (1, None, false, 1_usize);
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => {
                at = text::value_end(bytes, at);
                continue;
            }
            b'@' => modified |= matches!(bytes[at - 1], b'.' | b'|'),
            b':' if !modified && colon.is_none() && depth == 1 => colon = Some(at),
            b'[' | b'(' | b'{' => depth += 1,
            b']' | b')' | b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && *byte == b',') {
            let (name, from) = colon.map_or(("", start), |colon| (&path[start..colon], colon + 1));
            found.push(Selector { name, path: &path[from..at] });
            (start, colon, modified) = (at + 1, None, false);
        }
        if depth == 0 {
            return Some((found, &path[at + 1..]));
        }
        at += 1;
    }
    None
}
