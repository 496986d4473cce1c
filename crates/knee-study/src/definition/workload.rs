//! Workloads: a repeated request, or a script.
//!
//! Does not open scripts, and does not compute when a request is due.

use std::collections::BTreeMap;

use super::lookup::{Known, in_order, service, time, whole};
use super::problem::Finder;
use super::raw::{self, Text};
use super::{Load, Request, Workload};

/// Default number of connections.
const CONNECTIONS: u32 = 20;

/// Methods that a request can have.
const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// All workloads, in the order of the file.
pub(super) fn workloads(
    raw: BTreeMap<Text, raw::Workload>,
    known: &Known,
    finder: &mut Finder<'_>,
    exists: &dyn Fn(&str) -> bool,
) -> Vec<Workload> {
    if raw.is_empty() {
        finder.note(0..0, "a study needs workloads", "declare one as [workloads.NAME]");
    }
    let mut workloads = Vec::new();
    for (name, mut raw) in in_order(raw) {
        let service = service(raw.service.take(), name.span(), known, finder);
        let measure = raw.measure.take().and_then(|text| time(&text, finder));
        let (text, reset) = (raw.text.take().unwrap_or_default(), raw.reset.unwrap_or(true));
        let Some(load) = load(&name, raw, finder, exists) else { continue };
        workloads.push(Workload { name: name.into_inner(), text, service, load, measure, reset });
    }
    workloads
}

fn load(
    name: &Text,
    raw: raw::Workload,
    finder: &mut Finder<'_>,
    exists: &dyn Fn(&str) -> bool,
) -> Option<Load> {
    match (&raw.path, &raw.script) {
        (Some(_), None) => request(raw, finder).map(Load::Request),
        (None, Some(_)) => script(raw, finder, exists),
        _ => {
            let what = format!("workload `{}` needs either `path` or `script`", name.get_ref());
            finder.note(name.span(), what, "");
            None
        }
    }
}

fn request(raw: raw::Workload, finder: &mut Finder<'_>) -> Option<Request> {
    if let Some(env) = raw.env {
        finder.note(env.span(), "`env` is for scripts", "a service's environment belongs to a variant");
    }
    let path = raw.path?;
    if !path.get_ref().starts_with('/') || path.get_ref().contains(char::is_whitespace) {
        let what = format!("`{}` is not a path", path.get_ref());
        finder.note(
            path.span(),
            what,
            "begin it with `/`, without spaces; knee puts the service's address before it",
        );
    }
    let method = raw.method.as_ref().map_or("GET", |method| method.get_ref());
    if !METHODS.contains(&method) {
        let span = raw.method.as_ref().map_or(0..0, toml::Spanned::span);
        finder.note(span, format!("`{method}` is not a method"), METHODS.join(", "));
    }
    if let Some(rate) =
        raw.arrival_rate.as_ref().filter(|rate| !(*rate.get_ref() > 0.0 && rate.get_ref().is_finite()))
    {
        finder.note(rate.span(), "`arrival_rate` must be above 0 requests/s", "");
    }
    let stream = raw.stream.is_some_and(toml::Spanned::into_inner);
    if let Some(until) = raw.until.as_ref().filter(|_| !stream) {
        finder.note(until.span(), "`until` is for streams of events", "add `stream = true`");
    }
    let connections = raw.connections.and_then(|number| whole("connections", &number, (1, 65_535), finder));
    Some(Request {
        method: method.to_owned(),
        path: path.into_inner(),
        headers: raw.headers,
        body: raw.body,
        connections: connections.map_or(CONNECTIONS, |number| number as u32),
        arrival_rate: raw.arrival_rate.map(toml::Spanned::into_inner),
        arrivals: raw.arrivals.unwrap_or_default(),
        timeout: raw.timeout.and_then(|text| time(&text, finder)),
        stream,
        until: raw.until.map(toml::Spanned::into_inner),
    })
}

fn script(raw: raw::Workload, finder: &mut Finder<'_>, exists: &dyn Fn(&str) -> bool) -> Option<Load> {
    let script = raw.script?;
    let positions = [
        ("method", raw.method.map(|key| key.span())),
        ("timeout", raw.timeout.map(|key| key.span())),
        ("stream", raw.stream.map(|key| key.span())),
        ("until", raw.until.map(|key| key.span())),
        ("connections", raw.connections.map(|key| key.span())),
        ("arrival_rate", raw.arrival_rate.map(|key| key.span())),
    ];
    for (key, span) in positions {
        if let Some(span) = span {
            finder.note(
                span,
                format!("`{key}` is for requests, not for scripts"),
                "the script's options decide",
            );
        }
    }
    let other = [
        ("headers", !raw.headers.is_empty()),
        ("body", raw.body.is_some()),
        ("arrivals", raw.arrivals.is_some()),
    ];
    for (key, _) in other.iter().filter(|(_, given)| *given) {
        finder.note(script.span(), format!("`{key}` is for requests, not for scripts"), "the script decides");
    }
    if !exists(script.get_ref()) {
        let what = format!("there is no script `{}`", script.get_ref());
        finder.note(script.span(), what, "the path is relative to the folder of the study");
    }
    let env = raw.env.map(toml::Spanned::into_inner).unwrap_or_default();
    Some(Load::Script { path: script.into_inner(), env })
}
