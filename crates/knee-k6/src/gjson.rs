//! Evaluates a path in a JSON text, in the syntax of `response.json(path)`: keys, indices, `#`, queries, wildcards,
//! pipes, modifiers, multipaths and literals.
//!
//! Works on the text itself and builds no values; the result is JSON again. The text should be valid; any other text
//! gives wrong results but no panic. Paths deeper than [`DEPTH_MAX`] and results longer than [`RESULT_MAX`] give no
//! result, because scripts could crash the process with them.

use std::borrow::Cow;

mod list;
mod modifier;
mod pattern;
mod query;
mod step;
mod text;

#[cfg(test)]
mod tests;

pub use list::{DEPTH_MAX, RESULT_MAX};

use list::{List, own};
use step::{ArrayStep, Next, Pick, Selector};

/// JSON of what `path` leads to in `json`; `None` if it leads nowhere.
pub fn get<'a>(json: &'a str, path: &str) -> Option<Cow<'a, str>> {
    at(json, path, 0)
}

fn at<'a>(json: &'a str, path: &str, depth: usize) -> Option<Cow<'a, str>> {
    if depth > DEPTH_MAX {
        return None;
    }
    match path.as_bytes() {
        [b'@', _, ..] => {
            if let Some((text, rest)) = modifier::apply(json, path, depth, at) {
                return follow(&text, rest, depth);
            }
        }
        [b'!', _, ..] => {
            if let Some((text, rest)) = literal(path) {
                return follow(text, rest, depth);
            }
        }
        [b'[' | b'{', _, ..] => {
            // What is no multipath after all is not read as anything else either.
            let (parts, rest) = step::selectors(path).unwrap_or_default();
            if !parts.is_empty() && (rest.is_empty() || rest.starts_with(['.', '|'])) {
                return follow(&multipath(json, &path[..1], &parts, depth), rest, depth);
            }
            return search(json, rest, depth);
        }
        _ => {}
    }
    search(json, path, depth)
}

/// What a path of plain steps leads to, and the pipe behind it.
fn search<'a>(json: &'a str, path: &str, depth: usize) -> Option<Cow<'a, str>> {
    let mut search = Search { found: None, pipe: None, depth };
    match path.strip_prefix("..") {
        // A text of lines, of which a body that is valid has one.
        Some(path) => drop(search.array(std::iter::once(text::first(json)?), path)),
        // As k6 does it, brackets in a text that is a string count.
        None => drop(json.find(['{', '[']).map(|from| search.value(&json[from..], path))),
    }
    let Search { found, pipe, .. } = search;
    match pipe {
        Some(pipe) => own(at(found.as_deref().unwrap_or_default(), pipe, depth + 1)),
        None => found,
    }
}

/// The result of the rest of a path in a generated text.
fn follow<'a>(text: &str, rest: &str, depth: usize) -> Option<Cow<'a, str>> {
    if text.len() > RESULT_MAX {
        return None;
    }
    match rest.strip_prefix(['.', '|']) {
        Some(rest) => own(at(text, rest, depth + 1)),
        None => own(text::first(text).map(Cow::Borrowed)),
    }
}

/// A search by one path.
struct Search<'a, 'p> {
    /// The result so far; a later match can replace it until it is certain.
    found: Option<Cow<'a, str>>,
    /// The path that goes on from there.
    pipe: Option<&'p str>,
    depth: usize,
}

impl<'a, 'p> Search<'a, 'p> {
    /// Searches a value; whether something was certainly found.
    fn value(&mut self, value: &'a str, path: &'p str) -> bool {
        let value = text::trim(value);
        self.depth += 1;
        let found = self.depth <= DEPTH_MAX
            && match value.as_bytes().first() {
                Some(b'{') => self.object(value, path),
                Some(b'[') => self.array(text::elements(value), path),
                _ => false,
            };
        self.depth -= 1;
        found
    }

    fn object(&mut self, object: &'a str, path: &'p str) -> bool {
        let step = step::key(path);
        if let Next::Pipe(pipe) = step.next {
            self.pipe = Some(pipe);
        }
        // A key that leads nowhere can occur again, or another one can fit the pattern.
        text::members(object).filter(|(key, _)| step.fits(&text::unquote(key))).any(|(_, value)| {
            match step.next {
                Next::Path(path) => self.value(value, path),
                Next::End | Next::Pipe(_) => self.keep(value),
            }
        })
    }

    fn keep(&mut self, value: &'a str) -> bool {
        self.found = Some(Cow::Borrowed(value));
        true
    }

    fn array(&mut self, mut elements: impl Iterator<Item = &'a str>, path: &'p str) -> bool {
        let ArrayStep { pick, next } = step::array(path);
        if let Next::Pipe(pipe) = next {
            self.pipe = Some(pipe);
        }
        match pick {
            Pick::Nothing => false,
            Pick::Index(index) => elements.nth(index).is_some_and(|element| match next {
                Next::Path(path) => self.value(element, path),
                Next::End | Next::Pipe(_) => self.keep(element),
            }),
            Pick::Count => {
                self.found = Some(Cow::Owned(elements.count().to_string()));
                true
            }
            Pick::Each(path) => self.each(elements, path),
            Pick::Query(query) => self.query(elements, &query, next),
        }
    }

    /// What a path leads to in every element, as an array.
    fn each(&mut self, elements: impl Iterator<Item = &'a str>, path: &'p str) -> bool {
        let (path, pipe) = step::split_pipe(path);
        self.pipe = pipe.or(self.pipe);
        let mut list = List::default();
        for element in elements {
            if let Some(found) = at(element, path, self.depth + 1) {
                list.push(&found);
            }
        }
        self.found = Some(Cow::Owned(list.end()));
        true
    }

    fn query(
        &mut self,
        elements: impl Iterator<Item = &'a str>,
        query: &query::Query<'p>,
        next: Next<'p>,
    ) -> bool {
        let mut all = List::default();
        let mut rest = match next {
            Next::Path(path) => Some(path),
            Next::End | Next::Pipe(_) => None,
        };
        for element in elements.filter(|element| query.holds(element, self.depth, at)) {
            let found = match rest {
                Some(path) => {
                    let (path, pipe) = step::split_pipe(path);
                    self.pipe = pipe.or(self.pipe);
                    rest = Some(path);
                    at(element, path, self.depth + 1)
                }
                None => Some(Cow::Borrowed(element)),
            };
            if !query.all {
                self.found = found;
                return true;
            }
            if let Some(found) = found {
                all.push(&found);
            }
        }
        if query.all && self.found.is_none() {
            self.found = Some(Cow::Owned(all.end()));
        }
        false
    }
}

/// A literal value in the path, after `!`, and the rest of the path.
fn literal(path: &str) -> Option<(&str, &str)> {
    let text = &path[1..];
    if text.starts_with(['{', '[', '"', '+', '-']) || text.starts_with(|first: char| first.is_ascii_digit()) {
        let bytes = text.as_bytes();
        let end = match bytes[0] {
            b'{' | b'[' | b'"' => text::value_end(bytes, 0),
            // A dot is part of a number.
            _ => text.len(),
        };
        return Some(text.split_at(end));
    }
    let (name, rest) = text.split_at(text.find(['.', '|']).unwrap_or(text.len()));
    let known = ["true", "false", "null", "nan", "inf"].iter().any(|known| name.eq_ignore_ascii_case(known));
    known.then_some((name, rest))
}

/// A new array or object of what several paths lead to.
fn multipath(json: &str, bracket: &str, parts: &[Selector<'_>], depth: usize) -> String {
    let is_object = bracket == "{";
    let mut out = bracket.to_owned();
    for part in parts {
        let Some(found) = at(json, part.path, depth + 1) else { continue };
        if out.len() > 1 {
            out.push(',');
        }
        if is_object {
            out.push_str(&part.key());
            out.push(':');
        }
        out.push_str(&found);
        if out.len() > RESULT_MAX {
            break;
        }
    }
    out.push(if is_object { '}' } else { ']' });
    out
}
