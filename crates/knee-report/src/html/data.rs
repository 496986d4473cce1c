//! The data within a page: the JSON document of the result, as far as it is not too large, and what `knee report` needs
//! to print the result again.
//!
//! Does not read it back; see [`crate::page_data`].

use knee_core::record::compact::Compact;
use maud::{Markup, html};

use super::section::Section;
use super::{raw, words};
use crate::kept::KeptResult;
use crate::page_data::Carried;

/// Most bytes of data in a page. A larger file opens slowly, and attaches to no mail.
pub(super) const BYTES_MAX: usize = 3_000_000;

/// The data of a page.
pub(super) struct Data {
    /// The document as indented JSON; nothing if it is too large.
    json: Option<String>,
    /// What `knee report` reads; nothing if it is too large.
    carried: Option<Carried>,
    /// What is in the page, or what is not; sentences.
    said: Vec<String>,
}

impl Data {
    /// The whole document, or a sentence that it is too large.
    pub fn whole(json: String, kept: &KeptResult) -> Self {
        let whole =
            "This file contains the whole result as JSON, as `--output-format json` prints it.".to_owned();
        let mut data = Self::first_that_fits([(json, whole)], 0);
        let carried = Carried::Result(kept.pack());
        let room = BYTES_MAX.saturating_sub(data.json.as_ref().map_or(0, String::len));
        data.carry(Some(carried).filter(|carried| carried.encoded().len() <= room), 1);
        data
    }

    /// A document alone, which `knee report` does not read, or a sentence that it is too large.
    pub fn document(json: String) -> Self {
        let whole = "This file contains all of it as JSON, as `--format json` prints it.".to_owned();
        Self::first_that_fits([(json, whole)], 0)
    }

    /// The first document for which there is room, with what it contains, beside the record of the run.
    pub fn of_run(documents: impl IntoIterator<Item = (String, String)>, record: Option<&Compact>) -> Self {
        let carried = record.map(|record| Carried::Record(record.bytes.clone()));
        let taken = carried.as_ref().map_or(0, |carried| carried.encoded().len());
        let mut data = Self::first_that_fits(documents, taken);
        data.carry(carried, record.map_or(1, |record| record.shared));
        data
    }

    fn first_that_fits(documents: impl IntoIterator<Item = (String, String)>, taken: usize) -> Self {
        let fits = |(json, _): &(String, String)| json.len() + taken <= BYTES_MAX;
        let (json, said) = match documents.into_iter().find(fits) {
            Some((json, said)) => (Some(json), said),
            None => (
                None,
                "This file contains no JSON, because the JSON of the result is over 3 MB: `--output-format json` \
                 prints it."
                    .to_owned(),
            ),
        };
        Self { json, carried: None, said: vec![said] }
    }

    /// Takes what `knee report` reads, and says so. `shared`: how many intervals of the run share one of it.
    fn carry(&mut self, carried: Option<Carried>, shared: usize) {
        self.said.push(match (&carried, shared) {
            (None, _) => "The result is too large to be printed again from this file.".to_owned(),
            (Some(_), 1) => "`knee report FILE` prints the result again.".to_owned(),
            (Some(_), shared) => format!(
                "`knee report FILE` prints the result again, with {shared} intervals in one; the record has them all."
            ),
        });
        self.carried = carried;
    }

    /// What a reader must know about the data.
    pub fn section(&self) -> Section {
        let body = html! {
            @for said in &self.said { p { (words::sentence(said)) } }
            @if self.json.is_some() {
                p { "The JSON is the element with the name " code { "knee-data" } " at the end of the file." }
            }
        };
        Section::new("raw", "Raw data", "", body)
    }

    /// The elements that hold it.
    pub fn elements(&self) -> Markup {
        html! {
            @if let Some(json) = &self.json {
                script type="application/json" id="knee-data" { (raw::json(json)) }
            }
            @if let Some(carried) = &self.carried {
                script type="application/json" id=(carried.id()) { (raw::base64(&carried.encoded())) }
            }
        }
    }
}
