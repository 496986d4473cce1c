//! The frame of a page: its head with the content policy and the style, the first screen, the sections with links to
//! them, the data and the foot.
//!
//! Does not know what a section shows.

use maud::{DOCTYPE, Markup, html};

use super::data::Data;
use super::front::Front;
use super::section::Section;
use super::{raw, words};

/// What a browser can load and run for a page: nothing but its own style and pictures within it.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
/// The same for a page with forms.
const POLICY_WITH_FORMS: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'self'";

/// Where a page is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a file.
    File,
    /// At a server on this machine, which has other pages too.
    Served,
}

impl Place {
    const fn policy(self) -> &'static str {
        match self {
            Self::File => POLICY,
            Self::Served => POLICY_WITH_FORMS,
        }
    }

    const fn foot(self) -> &'static str {
        match self {
            Self::File => "This file loads nothing and needs no network.",
            Self::Served => "This page is there as long as `knee serve` runs.",
        }
    }
}

/// The program that writes the page.
const MADE_BY: &str = concat!("knee ", env!("CARGO_PKG_VERSION"));

/// A page.
pub(super) struct Page {
    /// The first screen.
    pub front: Front,
    /// What follows, in order.
    pub sections: Vec<Section>,
    /// The data within.
    pub data: Data,
    /// Where it is read.
    pub place: Place,
}

impl Page {
    /// The file; it ends in a line feed.
    pub fn render(&self) -> String {
        let title = format!("{} · {}", words::plain_name(&self.front.subject), self.front.kind);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(self.place.policy());
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    meta name="generator" content=(MADE_BY);
                    title { (title) }
                    style { (raw::style()) }
                }
                body {
                    a.skip href="#figures" { "Skip to the figures" }
                    main {
                        header.front { (self.front.markup()) }
                        (self.links())
                        div id="figures" tabindex="-1" { @for section in &self.sections { (section.markup()) } }
                        (self.data.section().markup())
                    }
                    footer { p { "Written by " (MADE_BY) ". " (words::sentence(self.place.foot())) } }
                    (self.data.elements())
                }
            }
        };
        page.into_string() + "\n"
    }

    fn links(&self) -> Markup {
        html! {
            nav aria-label="Sections" {
                ul {
                    @for section in &self.sections { li { a href=(format!("#{}", section.id)) { (section.heading) } } }
                    li { a href="#raw" { "Raw data" } }
                }
            }
        }
    }
}
