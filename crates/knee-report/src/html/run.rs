//! A run as a page.
//!
//! The first screen answers; the sections below show what the answer rests on. Does not calculate; see [`crate::view`].

mod about;

mod breakdown;

pub(super) mod distribution;

mod findings;

mod first;

mod observers;

mod over_time;

mod parts;

mod requests;

mod script;

mod validity;

use knee_core::record::compact::Compact;
use knee_findings::Report;
use maud::{Markup, html};

use super::cursor::Moment;
use super::data::Data;
use super::front::Front;
use super::page::{Page, Place};
use super::section::Section;
use super::words;
use crate::number::count;
use crate::text::Style;
use crate::text::finding::nothing_words;
use crate::text::times::{remark, scale};
use crate::view::column::Columns;
use crate::{View, json};

/// Most columns of a chart over time.
const COLUMNS_MAX: usize = 300;
/// What applies to all observers.
const OBSERVED: &str =
    "what observers saw of databases, caches, processes and this machine, on the clock of the run";
/// Most intervals in the data; a day of seconds would be some 80 MB.
const INTERVALS_MAX: usize = 3_600;

/// The page of a run, which carries `record` if there is one. Of `style`, only the unit of times matters.
pub fn run(view: &View, record: Option<&Compact>, style: &Style) -> String {
    let columns = Columns::of(&view.series, COLUMNS_MAX);
    let page = Page {
        front: first::front(view, &columns, style),
        sections: sections(view, &columns, style),
        data: data(view, record),
        moments: over_time::moments(view, &columns, style),
        place: Place::File,
    };
    page.render()
}

/// The first screen, the sections and the moments of a run, for the page of a search that loaded it.
pub(super) fn parts(view: &View, style: &Style) -> (Front, Vec<Section>, Vec<Moment>) {
    let columns = Columns::of(&view.series, COLUMNS_MAX);
    let moments = over_time::moments(view, &columns, style);
    (first::front(view, &columns, style), sections(view, &columns, style), moments)
}

/// What stops the service; `None` if nothing was found.
pub(super) fn what_stops_it(view: &View, style: &Style) -> Option<Markup> {
    findings::section(&view.findings, style)
}

/// What stops the service at one level of a sweep. `notes` belong to the findings, in their order.
pub(super) fn what_stops_it_at(found: &Report, notes: &[String], style: &Style) -> Markup {
    html! {
        @if found.findings.is_empty() { p { (words::sentence(&nothing_words(found))) "." } }
        (findings::of_level(found, notes, style))
    }
}

/// A sentence for each of the first findings.
pub(super) fn first_findings(found: &Report) -> Vec<String> {
    findings::first(found)
}

fn sections(view: &View, columns: &Columns, style: &Style) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut add = |id: &str, heading: &str, remark: String, body: Option<Markup>| {
        sections.extend(body.map(|body| Section::new(id, heading, remark, body)));
    };
    let of_times = remark(view, scale(&view.total.response, style));
    add("findings", "What stops it", String::new(), findings::section(&view.findings, style));
    let times = breakdown::section(view.findings.breakdown.as_ref(), style);
    add("breakdown", "Where the time goes", breakdown::REMARK.to_owned(), times);
    add("script", "Script", String::new(), script::section(view));
    add("events", "Events", String::new(), distribution::events(view, style));
    add("times", "Times", of_times, distribution::times(view, columns, style));
    add("spectrum", "Percentile spectrum", distribution::SPECTRUM.to_owned(), distribution::spectrum(view));
    add("throughput", "Throughput", String::new(), Some(throughput(view, columns)));
    add("errors", "Errors", requests::blame(view), Some(requests::errors(view, columns)));
    add("endpoints", "Endpoints", String::new(), requests::endpoints(view, style));
    add("parts", "Parts", String::new(), parts::section(view, style));
    add("phases", "Phases", String::new(), distribution::phases(view, style));
    add("observers", "Beside the run", OBSERVED.to_owned(), observers::section(view, columns, style));
    add("validity", "Validity", String::new(), Some(validity::section(view)));
    add("generator", "Load generator", String::new(), Some(validity::generator(view, columns, style)));
    add("intervals", "Intervals", String::new(), over_time::table(view, style));
    add("plan", "Plan and machine", String::new(), Some(about::section(view)));
    sections
}

/// The summary, and requests over time.
fn throughput(view: &View, columns: &Columns) -> Markup {
    let charts = [over_time::throughput(view, columns), over_time::in_flight(view, columns)];
    html! {
        (about::summary(view))
        (over_time::figures(&charts, view, columns))
    }
}

fn data(view: &View, record: Option<&Compact>) -> Data {
    let intervals = view.series.len();
    let whole = (intervals <= INTERVALS_MAX).then(|| {
        let said = "This file contains the whole result as JSON, as `--output-format json` prints it.";
        (json::render(view), said.to_owned())
    });
    let without_series = std::iter::once_with(|| {
        let said = format!(
            "This file contains the result as JSON without its {} intervals, which `--output-format json` prints.",
            count(intervals as u64)
        );
        (json::without_series(view), said)
    });
    Data::of_run(whole.into_iter().chain(without_series), record)
}
