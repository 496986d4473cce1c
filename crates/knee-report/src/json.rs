//! A run as JSON: the layout of `docs/reference/result-json.md`, checked by
//! `docs/reference/result.schema.json`.
//!
//! Every figure comes from the [`View`]; numbers are finite or null. Does not shorten: all
//! reasons, errors, endpoints and intervals are there.

pub mod document;

mod figure;

mod harmless;

use serde_json::Serializer;

use crate::View;
use document::Document;
use harmless::Harmless;

pub use document::VERSION;
pub(crate) use figure::finite;

/// The document as a value.
pub fn value(view: &View) -> serde_json::Value {
    serde_json::to_value(Document::of(view)).unwrap_or(serde_json::Value::Null)
}

/// The document as text, indented, with a line feed at the end. Characters that act on a
/// terminal are escaped.
pub fn render(view: &View) -> String {
    pretty(&Document::of(view))
}

/// The document without its intervals, whose list is empty.
pub fn without_series(view: &View) -> String {
    pretty(&Document::of(view).without_series())
}

/// The document as a value, without its intervals.
pub(crate) fn summary(view: &View) -> serde_json::Value {
    serde_json::to_value(Document::of(view).without_series()).unwrap_or(serde_json::Value::Null)
}

/// JSON on one line, without a line feed at its end. Characters that act on a terminal are escaped.
pub fn line(document: &serde_json::Value) -> String {
    let mut text = Vec::new();
    // Writing into memory cannot fail.
    let _ = harmless::escape(&mut text, &document.to_string());
    String::from_utf8(text).unwrap_or_default()
}

/// Indented JSON of anything whose maps have text as keys, with a line feed at the end. Characters that act on a
/// terminal are escaped.
pub fn pretty(document: &impl serde::Serialize) -> String {
    let mut text = Vec::new();
    // Strings, numbers and maps with text as keys cannot fail to serialize.
    let _ = document.serialize(&mut Serializer::with_formatter(&mut text, Harmless::default()));
    text.push(b'\n');
    String::from_utf8(text).unwrap_or_default()
}
