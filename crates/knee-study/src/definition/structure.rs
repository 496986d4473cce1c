//! Reads a `study.toml` as tables and keys. Finds every mistake of form and every unknown placeholder.
//!
//! Does not look up the names that tables give; see [`super::resolve`].

use std::ops::Range;

use knee_core::fixture::placeholder::{self, named};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::problem::{self, Finder, nearest};
use super::raw::Document;

/// The document, if it is complete; the finder has the mistakes.
///
/// The parser stops at the first mistake of form. So each faulty entry is removed and the rest is read again.
pub(super) fn document(text: &str, finder: &mut Finder<'_>) -> Option<Document> {
    let (mut tables, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        for error in &errors {
            problem::syntax(finder, error);
        }
        return None;
    }
    // Whether all tables are there, and all keys that were written under a name that is known.
    let (mut whole, mut known) = (true, true);
    loop {
        let error = match Document::deserialize(Deserializer::from(tables.clone())) {
            // Where a table is gone, names that it declared would be missing for this alone.
            Ok(document) => return whole.then_some(document),
            Err(error) => error,
        };
        let missing = error.message().starts_with("missing field");
        if !missing || (whole && known) {
            problem::syntax(finder, &error);
        }
        known &= missing || error.message().starts_with("unknown field");
        // Of a missing key it is the table that lacks it.
        let removed = error.span().and_then(|span| remove(tables.get_mut(), &span));
        match removed {
            Some(was_table) => whole &= !was_table,
            None => return None,
        }
    }
}

/// Removes the entry whose key or value is at `span`. Returns whether it was a table; `None` if there is no such entry.
fn remove(table: &mut DeTable<'_>, span: &Range<usize>) -> Option<bool> {
    let here = table.iter().find(|(key, value)| key.span() == *span || value.span() == *span);
    if let Some((name, is_table)) =
        here.map(|(key, value)| (key.get_ref().to_string(), value.get_ref().is_table()))
    {
        table.remove(name.as_str());
        return Some(is_table);
    }
    table.iter_mut().find_map(|(_, value)| remove_in(value.get_mut(), span))
}

fn remove_in(value: &mut DeValue<'_>, span: &Range<usize>) -> Option<bool> {
    match value {
        DeValue::Table(table) => remove(table, span),
        DeValue::Array(array) => array.iter_mut().find_map(|item| remove_in(item.get_mut(), span)),
        _ => None,
    }
}

/// Notes every placeholder that does not exist: `names` are those that every text can have.
pub(super) fn placeholders(text: &str, names: &[String], finder: &mut Finder<'_>) {
    let Ok(tables) = DeTable::parse(text) else { return };
    let of_service: Vec<&str> = names.iter().map(String::as_str).chain(placeholder::OF_SERVICE).collect();
    let of_argument: Vec<&str> = of_service.iter().copied().chain(["value"]).collect();
    let of_script: Vec<&str> = names.iter().map(String::as_str).chain([placeholder::DURATION]).collect();
    let filled: [(&str, &[&str], &[&str]); 4] = [
        ("service", &["command", "seed", "env"], &of_service),
        ("variants", &["command", "env", "switches"], &of_service),
        ("switches", &["argument", "default", "values"], &of_argument),
        ("workloads", &["env"], &of_script),
    ];
    for (kind, keys, known) in filled {
        let declared = tables.get_ref().get(kind).and_then(|value| value.get_ref().as_table());
        for entry in declared.into_iter().flat_map(DeTable::values) {
            for key in keys {
                let value = entry.get_ref().as_table().and_then(|table| table.get(*key));
                if let Some(value) = value {
                    check(value, known, finder);
                }
            }
        }
    }
}

/// Looks at every text in a value.
fn check(value: &Spanned<DeValue<'_>>, known: &[&str], finder: &mut Finder<'_>) {
    match value.get_ref() {
        DeValue::String(text) => {
            for name in named(text).into_iter().filter(|name| !known.contains(name)) {
                let what = format!("there is no placeholder `{{{name}}}`");
                let near = nearest(name, known.iter().copied());
                finder.note(
                    value.span(),
                    what,
                    format!("{near}; `{{{{{name}}}}}` stands for the text `{{{name}}}`"),
                );
            }
        }
        DeValue::Array(array) => array.iter().for_each(|item| check(item, known, finder)),
        DeValue::Table(table) => table.values().for_each(|item| check(item, known, finder)),
        _ => {}
    }
}
