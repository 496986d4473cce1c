//! From what is written to what it means: every name looked up, every number checked, with its place.
//!
//! Does not read text; see [`super::raw`].

use std::collections::BTreeMap;
use std::ops::Range;

use knee_core::fixture::{self, Declaration};
use knee_core::unit::Nanos;
use toml::Spanned;

use super::problem::{Finder, nearest};
use super::raw::{self, Document, Text};
use super::{Definition, DesignKind, Passed, Switch, claim, plan, variant, workload};
use crate::study::lineup;

/// What is known while the rest is looked up.
pub(super) struct Known {
    pub fixture: Declaration,
    pub switches: BTreeMap<String, Switch>,
    pub variants: Vec<String>,
    pub workloads: Vec<String>,
}

/// The definition, if it could be put together at all; what is wrong is with the finder.
pub(super) fn definition(
    document: Document,
    finder: &mut Finder<'_>,
    exists: &dyn Fn(&str) -> bool,
) -> Option<Definition> {
    let fixture = Declaration {
        service: document.service,
        postgres: document.postgres,
        redis: document.redis,
        generator: document.generator,
    };
    if document.title.get_ref().trim().is_empty() {
        finder.note(document.title.span(), "a study needs a title", "");
    }
    let mut known = Known { fixture, switches: BTreeMap::new(), variants: Vec::new(), workloads: Vec::new() };
    known.switches = switches(document.switches, &known, finder);
    let variants = variant::variants(document.variants, &known, finder);
    let workloads = workload::workloads(document.workloads, &known, finder, exists);
    known.variants = variants.iter().map(|variant| variant.name.clone()).collect();
    known.workloads = workloads.iter().map(|workload| workload.name.clone()).collect();
    let design = plan::design(document.design, &variants, &known, finder)?;
    // Claims and published figures can speak of variants that the design makes.
    let made = lineup::taking_part(&design, &variants).into_iter().map(|variant| variant.name);
    if design.kind == DesignKind::Growth {
        // There a variant takes part at its amounts alone: `stock at 1000`.
        known.variants.clear();
    }
    let more: Vec<String> = made.filter(|name| !known.variants.contains(name)).collect();
    known.variants.extend(more);
    let claims = claim::claims(document.claims, &known, finder);
    let published = claim::published(document.published, document.source.as_deref(), &known, finder);
    Some(Definition {
        title: document.title.into_inner(),
        question: document.question,
        source: document.source,
        fixture: known.fixture,
        switches: known.switches,
        variants,
        workloads,
        design,
        claims,
        published,
    })
}

fn switches(
    raw: BTreeMap<Text, raw::Switch>,
    known: &Known,
    finder: &mut Finder<'_>,
) -> BTreeMap<String, Switch> {
    let mut switches = BTreeMap::new();
    for (name, raw) in in_order(raw) {
        let values: Vec<String> = raw.values.iter().flatten().map(written).collect();
        let default = written(raw.default.get_ref());
        check_value(name.get_ref(), &default, &values, raw.default.span(), finder);
        let passed = match (raw.env, raw.argument) {
            (Some(variable), None) if !variable.get_ref().is_empty() => Passed::Env(variable.into_inner()),
            (None, Some(argument)) => {
                if !argument.get_ref().contains("{value}") {
                    finder.note(
                        argument.span(),
                        "the argument of a switch has no `{value}`",
                        "as in \"--mode={value}\"",
                    );
                }
                Passed::Argument(argument.into_inner())
            }
            _ => {
                let what = format!("switch `{}` needs either `env` or `argument`", name.get_ref());
                finder.note(name.span(), what, "it says how the service gets the value");
                // Variants can name it without a second complaint; the definition is refused as it is.
                Passed::Env(String::new())
            }
        };
        let service = service(raw.service, name.span(), known, finder);
        let text = raw.text.unwrap_or_default();
        switches.insert(name.into_inner(), Switch { text, default, values, passed, service });
    }
    switches
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

/// The service that is meant: the one named, or `main`, or the only one there is.
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
