//! A run as JSON: the layout of `docs/reference/result-json.md`, checked by
//! `docs/reference/result.schema.json`.
//!
//! Every figure comes from the [`View`]; numbers are finite or null. Does not shorten: all
//! reasons, errors, endpoints and intervals are there.

pub mod document;

use crate::{View, clean};
use document::Document;

/// The layout's version. Members can be added without a new one; it rises when a member is
/// removed or changes its meaning.
pub const VERSION: u32 = 1;

/// The document as a value.
pub fn value(view: &View) -> serde_json::Value {
    serde_json::to_value(Document::of(view)).unwrap_or(serde_json::Value::Null)
}

/// The document as text, indented, with a line feed at the end. Characters that act on a
/// terminal are escaped.
pub fn render(view: &View) -> String {
    pretty(&Document::of(view))
}

/// Indented JSON, fit to be shown.
pub(crate) fn pretty(document: &impl serde::Serialize) -> String {
    // Strings, numbers and maps with text as keys cannot fail to serialize.
    let text = serde_json::to_string_pretty(document).unwrap_or_default();
    clean::json(text) + "\n"
}

/// A number that JSON can hold.
pub(crate) fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}
