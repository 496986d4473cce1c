//! Modifiers: `@name` or `@name:argument`, which make one JSON text of another.
//!
//! `@pretty` sorts keys where its argument says so. It does not change the layout, because a script sees the
//! layout only where it is shown the text.

use std::borrow::Cow;
use std::collections::HashMap;

use super::list::{DEPTH_MAX, Follow, List, RESULT_MAX, own};
use super::text::{self, Kind};
use crate::json;

/// Depth limit of `@dig` and `@flatten`: every level reads all levels within it.
const LEVELS_MAX: usize = 512;

const NAMES: [&str; 13] = [
    "pretty", "ugly", "reverse", "this", "flatten", "join", "valid", "keys", "values", "tostr", "fromstr",
    "group", "dig",
];

/// Whether a path begins with a modifier.
pub fn is_one(path: &str) -> bool {
    path.strip_prefix('@').is_some_and(|path| NAMES.contains(&split_name(path).0))
}

fn split_name(path: &str) -> (&str, &str) {
    path.split_at(path.find([':', '|', '.']).unwrap_or(path.len()))
}

/// The result of a modifier for a text, and the rest of the path; `None` if the path does not begin with one.
pub fn apply<'a, 'p>(
    json: &'a str,
    path: &'p str,
    depth: usize,
    follow: Follow,
) -> Option<(Cow<'a, str>, &'p str)> {
    if !is_one(path) {
        return None;
    }
    let (name, rest) = split_name(&path[1..]);
    let (argument, rest) = match rest.strip_prefix(':') {
        Some(rest) => split_argument(rest),
        None => ("", rest),
    };
    let made = match name {
        "this" => Some(Cow::Borrowed(json)),
        "valid" => json::is_valid(json).then_some(Cow::Borrowed(json)),
        "reverse" => Some(reverse(json)),
        "flatten" => Some(flatten(json, flag(argument, "deep"))),
        "join" => Some(join(json, flag(argument, "preserve"))),
        "keys" => Some(Cow::Owned(keys(json))),
        "values" => Some(values(json)),
        "tostr" => Some(Cow::Owned(text::quote(json))),
        "fromstr" => json::is_valid(json).then(|| Cow::Owned(text::content(json).into_owned())),
        "group" => group(json).map(Cow::Owned),
        "dig" => Some(Cow::Owned(dig(json, argument, depth, follow))),
        "pretty" if flag(argument, "sortKeys") => Some(Cow::Owned(sort_keys(&ugly(json), depth))),
        _ => Some(Cow::Owned(ugly(json))),
    };
    // A modifier that makes nothing makes an empty text, in which a path can still go on.
    Some((made.unwrap_or_default(), rest))
}

/// The argument of a modifier: a JSON value, or everything up to the next pipe.
fn split_argument(rest: &str) -> (&str, &str) {
    let bytes = rest.as_bytes();
    if rest.starts_with(['{', '[', '"']) {
        return rest.split_at(text::value_end(bytes, 0));
    }
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'|' => break,
            b'{' | b'[' | b'"' | b'(' => at = text::value_end(bytes, at),
            _ => at += 1,
        }
    }
    rest.split_at(at)
}

/// Whether an argument is an object that says yes to `name`.
fn flag(argument: &str, name: &str) -> bool {
    let is_true = |value: &str| match text::kind(value) {
        Some(Kind::True) => true,
        Some(Kind::String) => matches!(text::unquote(value).to_lowercase().as_str(), "1" | "t" | "true"),
        Some(Kind::Number) => value.parse::<f64>().is_ok_and(|number| number != 0.0),
        _ => false,
    };
    text::kind(argument) == Some(Kind::Object)
        && text::members(argument)
            .filter(|(key, _)| text::unquote(key) == name)
            .any(|(_, value)| is_true(value))
}

fn reverse(json: &str) -> Cow<'_, str> {
    let (open, close, parts): (_, _, Vec<Cow<'_, str>>) = match text::kind(json) {
        Some(Kind::Array) => ('[', ']', text::elements(json).map(Cow::Borrowed).collect()),
        Some(Kind::Object) => {
            let pairs = text::members(json).map(|(key, value)| Cow::Owned(format!("{key}:{value}")));
            ('{', '}', pairs.collect())
        }
        _ => return Cow::Borrowed(json),
    };
    let reversed: Vec<_> = parts.into_iter().rev().collect();
    Cow::Owned(format!("{open}{}{close}", reversed.join(",")))
}

/// Arrays within an array opened up: those of the first level, or all of them.
fn flatten(json: &str, deep: bool) -> Cow<'_, str> {
    let levels = if deep { LEVELS_MAX } else { 2 };
    if text::kind(json) != Some(Kind::Array) {
        return Cow::Borrowed(json);
    }
    let mut list = List::default();
    // The arrays that are open, innermost last.
    let mut open = vec![text::elements(json)];
    while let Some(innermost) = open.last_mut() {
        match innermost.next() {
            None => drop(open.pop()),
            Some(element) if text::kind(element) == Some(Kind::Array) && open.len() < levels => {
                open.push(text::elements(element));
            }
            Some(element) => list.push(element),
        }
    }
    Cow::Owned(list.end())
}

/// Objects of an array as one object. A later value of a key replaces an earlier one, unless duplicate keys are
/// preserved.
fn join(json: &str, preserve: bool) -> Cow<'_, str> {
    if text::kind(json) != Some(Kind::Array) {
        return Cow::Borrowed(json);
    }
    let objects = text::elements(json).filter(|element| text::kind(element) == Some(Kind::Object));
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let mut places: HashMap<Cow<'_, str>, usize> = HashMap::new();
    for (key, value) in objects.flat_map(text::members) {
        let place = *places.entry(text::unquote(key)).or_insert(pairs.len());
        if preserve || place == pairs.len() {
            pairs.push((key, value));
        } else {
            pairs[place].1 = value;
        }
    }
    let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}:{value}")).collect();
    Cow::Owned(format!("{{{}}}", pairs.join(",")))
}

fn keys(json: &str) -> String {
    let mut list = List::default();
    match text::kind(json) {
        Some(Kind::Object) => text::members(json).for_each(|(key, _)| list.push(key)),
        Some(Kind::Array) => text::elements(json).for_each(|_| list.push("null")),
        Some(_) => list.push("null"),
        None => {}
    }
    list.end()
}

fn values(json: &str) -> Cow<'_, str> {
    let mut list = List::default();
    match text::kind(json) {
        Some(Kind::Object) => text::members(json).for_each(|(_, value)| list.push(value)),
        Some(Kind::Array) => return Cow::Borrowed(json),
        Some(_) => list.push(text::trim(json)),
        None => {}
    }
    Cow::Owned(list.end())
}

/// An object of arrays as an array of objects: the first ones together, the second ones, and so on.
fn group(json: &str) -> Option<String> {
    if text::kind(json) != Some(Kind::Object) {
        return None;
    }
    let mut groups: Vec<String> = Vec::new();
    for (key, value) in text::members(json).filter(|(_, value)| text::kind(value) == Some(Kind::Array)) {
        for (place, element) in text::elements(value).enumerate() {
            if place == groups.len() {
                groups.push(String::new());
            }
            let group = &mut groups[place];
            group.push(if group.is_empty() { '{' } else { ',' });
            group.push_str(key);
            group.push(':');
            group.push_str(element);
        }
    }
    Some(format!("[{}]", groups.iter().map(|group| format!("{group}}}")).collect::<Vec<_>>().join(",")))
}

/// What a path leads to in every value of a text, the outer ones first.
fn dig(json: &str, path: &str, depth: usize, follow: Follow) -> String {
    let mut list = List::default();
    let mut left: Vec<(&str, usize)> = text::first(json).into_iter().map(|value| (value, 0)).collect();
    while let Some((value, level)) = left.pop() {
        if let Some(found) = own(follow(value, path, depth + 1)) {
            list.push(&found);
        }
        let inner: Vec<&str> = match text::kind(value) {
            Some(Kind::Object) => text::members(value).map(|(_, value)| value).collect(),
            Some(Kind::Array) => text::elements(value).collect(),
            _ => continue,
        };
        if level < LEVELS_MAX {
            left.extend(inner.into_iter().rev().map(|value| (value, level + 1)));
        }
    }
    list.end()
}

/// The text without spaces between values.
fn ugly(json: &str) -> String {
    let bytes = json.as_bytes();
    let mut out = String::with_capacity(json.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            0..=b' ' => {
                at += 1;
                continue;
            }
            b'"' => text::value_end(bytes, at),
            _ => at + json[at..].chars().next().map_or(1, char::len_utf8),
        };
        out.push_str(&json[at..end]);
        at = end;
    }
    out
}

/// The text with the keys of its objects in order. Objects that are nested too deep stay as they are.
fn sort_keys(json: &str, depth: usize) -> String {
    if depth > DEPTH_MAX || json.len() > RESULT_MAX {
        return json.to_owned();
    }
    match text::kind(json) {
        Some(Kind::Object) => {
            let mut pairs: Vec<(&str, &str)> = text::members(json).collect();
            pairs.sort_by(|one, other| text::unquote(one.0).cmp(&text::unquote(other.0)));
            let pairs = pairs.iter().map(|(key, value)| format!("{key}:{}", sort_keys(value, depth + 1)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
        }
        Some(Kind::Array) => {
            let elements = text::elements(json).map(|element| sort_keys(element, depth + 1));
            format!("[{}]", elements.collect::<Vec<_>>().join(","))
        }
        _ => json.to_owned(),
    }
}
