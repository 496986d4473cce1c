//! A search as a page: the sentence in which it ended, the load that was looked at, what was tried.
//!
//! Its sentences are those of the text. Does not find, try or judge anything.

use maud::{Markup, html};

use super::data::Data;
use super::forest::{By, table as forest_table};
use super::page::{Page, Place};
use super::run;
use super::section::Section;
use super::words;
use crate::find::{self, Proof, Search, Tried};
use crate::kept;
use crate::study::{self, forest};
use crate::text::{Style, answer};

/// Comparisons of the proof.
const FOREST_MAX: usize = 12;

/// The page of a search. Of `style`, only the unit of times matters.
pub fn search(search: &Search, style: &Style) -> String {
    let (mut front, of_the_load, moments) = run::parts(&search.look, style);
    front.kind = "Search for what stops it";
    front.subject.clone_from(&search.title);
    front.answer.insert(0, find::sentence(search));
    front.points.extend(search.notes.iter().cloned());
    let mut sections = proof(search, style);
    sections.extend(of_the_load);
    let data = Data::whole(find::json(search), &kept::search(search, style));
    Page { front, sections, data, moments, place: Place::File }.render()
}

fn proof(search: &Search, style: &Style) -> Vec<Section> {
    match &search.proof {
        Proof::NotTried { by_hand, .. } if by_hand.is_empty() => Vec::new(),
        Proof::NotTried { by_hand, .. } => {
            vec![Section::new("by-hand", "To prove it by hand", "", lines(by_hand))]
        }
        Proof::Tried(tried) => {
            let remark = "trials with and without the remedy, in random order";
            let mut sections =
                vec![Section::new("proof", "Proof", remark, trials(tried, &search.left_out()))];
            sections.extend(after(tried, style));
            sections
        }
    }
}

/// Lines to be copied.
fn lines(lines: &[String]) -> Markup {
    html! { pre tabindex="0" role="region" aria-label="Lines to copy" { (lines.join("\n")) } }
}

fn trials(tried: &Tried, left_out: &[String]) -> Markup {
    let conclusion = &tried.conclusion;
    let rows = forest::rows(conclusion, |_| true);
    html! {
        p { (words::name(&tried.change)) }
        @if !rows.is_empty() {
            (forest_table(&rows, By::Metric, &forest::interval_heading(conclusion), FOREST_MAX))
        }
        p.note { (words::sentence(&study::trust(conclusion))) }
        @for line in left_out { p.note { (words::sentence(line)) } }
    }
}

/// What bounds the service with the remedy.
fn after(tried: &Tried, style: &Style) -> Option<Section> {
    let view = tried.after.as_ref()?;
    let found = run::what_stops_it(view, style);
    let body = html! {
        p { (words::sentence(&answer::pieces(view, style.unit).join(", "))) }
        @match found { Some(found) => (found), None => p { "Nothing was found." } }
    };
    Some(Section::new("after", "With the remedy", "what stops it now", body))
}
