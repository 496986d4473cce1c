//! The data within a page: the JSON document of the result, as far as it is not too large.
//!
//! Does not read it back.

use maud::{Markup, html};

use super::raw;
use super::section::Section;

/// Most bytes of data in a page. A larger file opens slowly, and attaches to no mail.
pub(super) const BYTES_MAX: usize = 3_000_000;

/// The data of a page.
pub(super) struct Data {
    /// The document as indented JSON; nothing if it is too large.
    json: Option<String>,
    /// What is in it, or what is not; a sentence.
    said: String,
}

impl Data {
    /// The whole document, or a sentence that it is too large.
    pub fn whole(json: String) -> Self {
        Self::first_that_fits([(
            json,
            "This file contains the whole result as JSON, as `--output-format json` prints it.".to_owned(),
        )])
    }

    /// The first document that is not too large, with what it contains.
    pub fn first_that_fits(documents: impl IntoIterator<Item = (String, String)>) -> Self {
        let fits = |(json, _): &(String, String)| json.len() <= BYTES_MAX;
        match documents.into_iter().find(fits) {
            Some((json, said)) => Self { json: Some(json), said },
            None => Self {
                json: None,
                said: "This file contains no data, because the JSON of the result is over 3 MB: \
                       `--output-format json` prints it."
                    .to_owned(),
            },
        }
    }

    /// What a reader must know about the data.
    pub fn section(&self) -> Section {
        let body = html! {
            p { (self.said) }
            @if self.json.is_some() {
                p { "It is the element with the name " code { "knee-data" } " at the end of the file." }
            }
        };
        Section::new("raw", "Raw data", "", body)
    }

    /// The element that holds it.
    pub fn element(&self) -> Markup {
        html! {
            @if let Some(json) = &self.json {
                script type="application/json" id="knee-data" { (raw::json(json)) }
            }
        }
    }
}
