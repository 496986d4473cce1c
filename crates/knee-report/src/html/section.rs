//! A part of a page below the first screen: its place, its heading, its content.
//!
//! Does not know the page.

use maud::{Markup, html};

use super::words;

/// A part of a page.
pub(super) struct Section {
    /// Name of its place, for links: small letters and `-`.
    pub id: String,
    /// Its heading.
    pub heading: String,
    /// What applies to all of it; can be empty.
    pub remark: String,
    /// What it shows.
    pub body: Markup,
}

impl Section {
    /// A section.
    pub fn new(id: &str, heading: &str, remark: impl Into<String>, body: Markup) -> Self {
        Self { id: id.to_owned(), heading: heading.to_owned(), remark: remark.into(), body }
    }

    /// The element.
    pub fn markup(&self) -> Markup {
        let heading = format!("{}-heading", self.id);
        html! {
            section id=(self.id) aria-labelledby=(heading) {
                h2 id=(heading) { (self.heading) }
                @if !self.remark.is_empty() { p.remark { (words::sentence(&self.remark)) } }
                (self.body)
            }
        }
    }
}
