//! A study as JSON: the layout of `docs/reference/study-json.md`, checked by `docs/reference/study.schema.json`.
//!
//! The conclusion as it is, with its headline in words and how it was made. Times are in nanoseconds. Does not shorten
//! and does not compute.

use knee_study::study::Conclusion;
use serde::Serialize;

use super::provenance::{Provenance, Session};
use super::{headline, notes};
use crate::json::pretty;

/// The layout's version; rises when a member is removed or changes its meaning.
pub const VERSION: u32 = 1;

/// The document as text, indented, with a line feed at the end.
pub fn render(conclusion: &Conclusion, provenance: &Provenance) -> String {
    let command = provenance.commands.as_ref().map(|commands| commands.repeat.as_str());
    let sessions = provenance.sessions.as_slice();
    let sentence = headline::lead(conclusion);
    pretty(&Document { version: VERSION, command, sessions, sentence, notes: notes(conclusion), conclusion })
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    command: Option<&'a str>,
    sessions: &'a [Session],
    sentence: String,
    notes: Vec<String>,
    #[serde(flatten)]
    conclusion: &'a Conclusion,
}
