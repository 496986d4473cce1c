//! The frame of a page: its head with the content policy and the style, the first screen, the sections with links to
//! them, the data and the foot.
//!
//! Does not know what a section shows.

use maud::{DOCTYPE, Markup, html};

use super::cursor::{self, Moment};
use super::data::Data;
use super::front::Front;
use super::inline::Inline;
use super::section::Section;
use super::{raw, words};

/// What a browser can load for a page: nothing but its own style and pictures within it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'";

/// Where a page is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a file.
    File,
    /// At a server on this machine, which has other pages too.
    Served,
}

impl Place {
    /// Where forms can be sent.
    const fn forms(self) -> &'static str {
        match self {
            Self::File => "form-action 'none'",
            Self::Served => "form-action 'self'",
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
    /// What the cursor says over the charts of a run; empty without one.
    pub moments: Vec<Moment>,
    /// Where it is read.
    pub place: Place,
}

impl Page {
    /// What a browser can load and run for it: of scripts, the cursor alone, if there is one.
    fn policy(&self) -> String {
        let forms = self.place.forms();
        if self.moments.is_empty() {
            return format!("{POLICY}; {forms}");
        }
        format!("{POLICY}; {forms}; script-src {}", Inline::Cursor.source())
    }

    /// The file; it ends in a line feed.
    pub fn render(&self) -> String {
        let title = format!("{} · {}", words::plain_name(&self.front.subject), self.front.kind);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(self.policy());
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    meta name="generator" content=(MADE_BY);
                    title { (title) }
                    // Else browsers ask `knee serve` for an icon, which the content policy forbids.
                    link rel="icon" href="data:,";
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
                    (cursor::elements(&self.moments))
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
