//! Placeholders in braces: `{port}`, `{postgres.main.url}`, and what the fixture puts there.
//!
//! `{{port}}` is the text `{port}`. What stands in braces and does not look like a placeholder, as `{"a": 1}` or
//! `${HOME}`, is left as it is. Does not know what the placeholders stand for.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;

/// What the placeholders of a text stand for, by their names.
pub(crate) type Placeholders = BTreeMap<String, String>;

/// A piece of a text.
enum Piece<'a> {
    Text(&'a str),
    Placeholder(&'a str),
}

/// `text` with its placeholders filled in. `at` names the text in an error.
pub(crate) fn fill(text: &str, placeholders: &Placeholders, at: &str) -> Result<String, Error> {
    let mut filled = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::Placeholder(name) => match placeholders.get(name) {
                Some(value) => filled.push_str(value),
                None => return Err(unknown(at, name, placeholders)),
            },
        }
    }
    Ok(filled)
}

/// The names of the placeholders in a text.
pub(crate) fn named(text: &str) -> BTreeSet<&str> {
    let name = |piece| match piece {
        Piece::Placeholder(name) => Some(name),
        Piece::Text(_) => None,
    };
    pieces(text).into_iter().filter_map(name).collect()
}

pub(crate) fn unknown(at: &str, placeholder: &str, placeholders: &Placeholders) -> Error {
    let known = placeholders.keys().map(|name| format!("`{{{name}}}`")).collect();
    Error::Placeholder { at: at.to_owned(), placeholder: placeholder.to_owned(), known }
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        let inside = &from[1..];
        if let Some(name) =
            inside.strip_prefix('{').and_then(placeholder).filter(|name| doubled(inside, name))
        {
            pieces.push(Piece::Text(before));
            pieces.push(Piece::Text(&inside[..name.len() + 2]));
            rest = &inside[name.len() + 3..];
        } else if let Some(name) = placeholder(inside).filter(|_| !before.ends_with('$')) {
            pieces.push(Piece::Text(before));
            pieces.push(Piece::Placeholder(name));
            rest = &inside[name.len() + 1..];
        } else {
            pieces.push(Piece::Text(&rest[..=at]));
            rest = inside;
        }
    }
    pieces.push(Piece::Text(rest));
    pieces
}

/// The name that `inside` begins with, if it is one of a placeholder, small letter first, and closed by a brace.
fn placeholder(inside: &str) -> Option<&str> {
    let name = &inside[..inside.find('}')?];
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(fits)).then_some(name)
}

/// Whether the placeholder `name` in `{name}}` is closed by two braces.
fn doubled(inside: &str, name: &str) -> bool {
    inside[name.len() + 2..].starts_with('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders() -> Placeholders {
        [("port", "80"), ("postgres.main.url", "postgres://x")].map(|(a, b)| (a.into(), b.into())).into()
    }

    #[test]
    fn placeholders_are_filled_and_other_braces_left() {
        let cases = [
            ("--port={port}", "--port=80"),
            ("{port}{port}", "8080"),
            ("{{port}}", "{port}"),
            ("x{{port}}{port}", "x{port}80"),
            (r#"{"a": {"b": {}}}"#, r#"{"a": {"b": {}}}"#),
            ("{{ port }} {{port}", "{{ port }} {80"),
            ("${port} ${HOME} {", "${port} ${HOME} {"),
            ("ä{postgres.main.url}ö", "äpostgres://xö"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(fill(text, &placeholders(), "x").unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_placeholder_that_does_not_exist_is_named_with_those_that_do() {
        let error = fill("a {prot}", &placeholders(), "service.main.command").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`service.main.command` refers to `{prot}`, which does not exist; there are `{port}`, `{postgres.main.url}`"
        );
    }

    #[test]
    fn a_text_tells_which_placeholders_it_has() {
        let names: Vec<&str> = named("{postgres.a.url} {{x}} {port} ${y}").into_iter().collect();
        assert_eq!(names, ["port", "postgres.a.url"]);
    }
}
