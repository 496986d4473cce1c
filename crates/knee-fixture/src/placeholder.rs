//! Fills in placeholders.
//!
//! Does not find them in a text ([`knee_core::fixture::placeholder`] does), and does not know their meaning.

use std::collections::BTreeMap;

use knee_core::fixture::placeholder::{Piece, pieces};

use crate::error::Error;

/// Values of placeholders, by name.
pub(crate) type Placeholders = BTreeMap<String, String>;

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

pub(crate) fn unknown(at: &str, placeholder: &str, placeholders: &Placeholders) -> Error {
    let known = placeholders.keys().map(|name| format!("`{{{name}}}`")).collect();
    Error::Placeholder { at: at.to_owned(), placeholder: placeholder.to_owned(), known }
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
            "`service.main.command` refers to `{prot}`, which does not exist; known placeholders: `{port}`, `{postgres.main.url}`"
        );
    }
}
