//! Statements of databases that a study names, each by a pattern of its text.
//!
//! Does not know which statements a database executes.

use std::collections::BTreeMap;

use knee_core::fixture::Declaration;

use super::Statement;
use super::lookup::{in_order, lookup};
use super::problem::Finder;
use super::raw::{self, Text};

/// Stands for any part of a text, also for none.
const ANY: char = '%';

impl Statement {
    /// Whether it is this statement of a server: the whole text is like the pattern. Upper and lower case are the same, and
    /// so are blanks and ends of lines; blanks beside a `%` do not count.
    pub fn is(&self, server: &str, text: &str) -> bool {
        self.postgres == server && is_like(&plain(text), &plain(&self.like))
    }
}

/// A text in small letters, with single blanks.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Each part of the pattern is looked for behind the one before; the first and the last are bound to the ends.
fn is_like(text: &str, pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.split(ANY).map(str::trim).collect();
    let [first, between @ .., last] = parts.as_slice() else { return text == pattern };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// All statements. Faulty ones are noted and left out.
pub(super) fn statements(
    raw: BTreeMap<Text, raw::Statement>,
    fixture: &Declaration,
    finder: &mut Finder<'_>,
) -> BTreeMap<String, Statement> {
    let mut statements = BTreeMap::new();
    for (name, raw) in in_order(raw) {
        let like = raw.like.get_ref().trim();
        if like.is_empty() {
            let hint = "as in `like = \"select % from tasks %\"`";
            finder.note(raw.like.span(), "the pattern of a statement is empty", hint);
        }
        let Some(postgres) = server(raw.postgres.as_ref(), &name, fixture, finder) else { continue };
        let text = raw.text.unwrap_or_default();
        let statement = Statement { text, postgres, like: like.to_owned() };
        statements.insert(name.into_inner(), statement);
    }
    statements
}

/// The server: the named one, or the only one that knee starts.
fn server(
    named: Option<&Text>,
    statement: &Text,
    fixture: &Declaration,
    finder: &mut Finder<'_>,
) -> Option<String> {
    let started = fixture.postgres.iter().filter(|(_, store)| store.address.is_none());
    let started: Vec<&str> = started.map(|(name, _)| name.as_str()).collect();
    if started.is_empty() {
        let what = "statements are counted only by a PostgreSQL server that knee starts";
        finder.note(statement.span(), what, "declare one as [postgres.NAME] without `address`");
        return None;
    }
    match (named, started.as_slice()) {
        (Some(name), _) => {
            let kind = "PostgreSQL server that knee starts with the name";
            lookup(kind, name, started.iter().copied(), finder).then(|| name.get_ref().clone())
        }
        (None, [only]) => Some((*only).to_owned()),
        (None, several) => {
            let what = format!("statement `{}` does not say of which server it is", statement.get_ref());
            finder.note(statement.span(), what, format!("write `postgres = \"{}\"`", several[0]));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(pattern: &str, text: &str) -> bool {
        let statement =
            Statement { text: String::new(), postgres: "db".to_owned(), like: pattern.to_owned() };
        assert!(!statement.is("other", text), "of another server");
        statement.is("db", text)
    }

    #[test]
    fn a_pattern_is_like_the_whole_text_whatever_its_case_and_its_lines() {
        let text = "SELECT t.id, t.name\n  FROM tasks t\n WHERE t.org = $1 ORDER BY t.id LIMIT $2";
        for pattern in [
            "%",
            "select % from tasks %",
            "select%from tasks t where % order by t.id limit $2",
            "% order by %",
            "select t.id, t.name from tasks t where t.org = $1 order by t.id limit $2",
            "select % limit $2 %",
            "% select t.id %",
        ] {
            assert!(is(pattern, text), "{pattern}");
        }
        for pattern in [
            "select t.id",
            "from tasks %",
            "select % from tasks",
            "% order by % from tasks %",
            "select % limit $2 % limit $2",
            "select _.id %",
        ] {
            assert!(!is(pattern, text), "{pattern}");
        }
        assert!(is("a", "A") && !is("a % a", "a") && is("a % a", "a a"), "ends do not overlap");
    }
}
