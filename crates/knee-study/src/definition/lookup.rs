//! Helpers for several tables of a `study.toml`: look up names, check numbers and times, with their positions.
//!
//! Does not know what a table means; [`super::resolve`] and what it calls do.

use std::collections::BTreeMap;
use std::ops::Range;

use knee_core::fixture::{self, Declaration};
use knee_core::unit::Nanos;
use toml::Spanned;

use super::Switch;
use super::problem::{Finder, nearest};
use super::raw::Text;

/// What is known while the rest is looked up.
pub(super) struct Known {
    pub fixture: Declaration,
    pub switches: BTreeMap<String, Switch>,
    /// Names of statements.
    pub statements: Vec<String>,
    pub variants: Vec<String>,
    pub workloads: Vec<String>,
    /// Workloads that send one request over and over, so that they have one endpoint.
    pub of_one_endpoint: Vec<String>,
    /// Workloads whose responses have no events: requests without `stream`.
    pub without_events: Vec<String>,
}

/// Refuses a value that a switch does not have.
pub(super) fn check_value(
    switch: &str,
    value: &str,
    values: &[String],
    span: Range<usize>,
    finder: &mut Finder<'_>,
) {
    if !values.is_empty() && !values.iter().any(|known| known == value) {
        let hint = nearest(value, values.iter().map(String::as_str));
        finder.note(span, format!("`{value}` is not a value of switch `{switch}`"), hint);
    }
}

/// The service: the named one, or `main`, or the only one.
pub(super) fn service(
    named: Option<Text>,
    position: Range<usize>,
    known: &Known,
    finder: &mut Finder<'_>,
) -> String {
    let services = || known.fixture.service.keys().map(String::as_str);
    match named {
        Some(name) => {
            lookup("service", &name, services(), finder);
            name.into_inner()
        }
        None if known.fixture.service.contains_key("main") => "main".to_owned(),
        None if known.fixture.service.len() == 1 => services().next().unwrap_or("main").to_owned(),
        None => {
            let what = if known.fixture.service.is_empty() {
                "there is no service to load"
            } else {
                "there are several services and none is called `main`"
            };
            finder.note(position, what, "declare [service.main], or name one with `service = \"…\"`");
            "main".to_owned()
        }
    }
}

/// Refuses what cannot change a service because the user runs it: every variant would be the same service.
pub(super) fn refuse_own(
    what: &str,
    service: &str,
    position: Range<usize>,
    known: &Known,
    finder: &mut Finder<'_>,
) {
    if known.fixture.service.get(service).is_some_and(|service| service.address.is_some()) {
        let what = format!("{what} cannot change service `{service}`: with `address` you run it, not knee");
        let hint = "give its `command` instead of `address`; or start both variants yourself and run `knee compare URL_A URL_B`";
        finder.note(position, what, hint);
    }
}

/// Whether a name is known; notes it if not.
pub(super) fn lookup<'a>(
    kind: &str,
    name: &Text,
    known: impl Iterator<Item = &'a str> + Clone,
    finder: &mut Finder<'_>,
) -> bool {
    let found = known.clone().any(|candidate| candidate == name.get_ref());
    if !found {
        let what = format!("there is no {kind} `{}`", name.get_ref());
        finder.note(name.span(), what, nearest(name.get_ref(), known));
    }
    found
}

/// Like [`lookup`] in a list of names.
pub(super) fn look_in(kind: &str, name: &Text, known: &[String], finder: &mut Finder<'_>) -> bool {
    lookup(kind, name, known.iter().map(String::as_str), finder)
}

/// A span of time.
pub(super) fn time(text: &Text, finder: &mut Finder<'_>) -> Option<Nanos> {
    match text.get_ref().parse() {
        Ok(nanos) => Some(nanos),
        Err(error) => {
            let error: knee_core::unit::DurationError = error;
            finder.note(text.span(), error.to_string(), "as in \"5s\" or \"500ms\"");
            None
        }
    }
}

/// A whole number in a range.
pub(super) fn whole(
    what: &str,
    number: &Spanned<i64>,
    (least, greatest): (i64, i64),
    finder: &mut Finder<'_>,
) -> Option<i64> {
    let value = *number.get_ref();
    if (least..=greatest).contains(&value) {
        return Some(value);
    }
    let text = format!("`{what} = {value}` is outside of {least} to {greatest}");
    finder.note(number.span(), text, "");
    None
}

/// A value as a service gets it, and as a person would have written it in quotes.
pub(super) fn written(setting: &fixture::Setting) -> String {
    match setting {
        fixture::Setting::Bool(value) => value.to_string(),
        fixture::Setting::Int(value) => value.to_string(),
        fixture::Setting::Float(value) => value.to_string(),
        fixture::Setting::Text(value) => value.clone(),
    }
}

/// Tables in the order of the file.
pub(super) fn in_order<T>(tables: BTreeMap<Text, T>) -> Vec<(Text, T)> {
    let mut tables: Vec<_> = tables.into_iter().collect();
    tables.sort_by_key(|(name, _)| name.span().start);
    tables
}
