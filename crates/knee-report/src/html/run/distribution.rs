//! The times of a run: the table of both times, the percentile spectrum, the histogram, the phases.
//!
//! Figures and notes are those of the text report. Does not calculate.

use maud::{Markup, html};

use super::over_time;
use crate::View;
use crate::chart::axis::nines;
use crate::chart::{Axis, Chart, Line, Stroke, Tone};
use crate::html::picture::figure;
use crate::html::table::{Table, bar, cell, number, words};
use crate::number::{self as numbers, Scale};
use crate::text::Style;
use crate::text::times::{
    above_zero, columns, footnotes, missing, reading, remark_on_events, scale, scale_of_events,
    scale_of_phases, timed_phases,
};
use crate::view::bars::Bar;
use crate::view::column::Columns;
use crate::view::event_stats::{COLUMNS, EventStats};
use crate::view::spectrum::Percentile;

/// How to read the spectrum.
pub(in crate::html) const SPECTRUM: &str = "To the right, each mark has a tenth of the requests of the mark before it above itself. \
    A line ends where fewer than 100 requests are above.";

/// The table of times with its notes, the times over time, the histogram.
pub(super) fn times(view: &View, over: &Columns, style: &Style) -> Option<Markup> {
    if view.total.response.count == 0 {
        return None;
    }
    let scale = scale(&view.total.response, style);
    let missing = missing(view);
    Some(html! {
        (table(view, scale))
        @if !missing.is_empty() { p.note { "– " (missing.join(", ")) } }
        @for (sign, note) in footnotes(view, scale) { p.note { (sign) " " (note) } }
        @if let Some(chart) = over_time::both_times(view, over) { (figure(&chart)) }
        @if let Some(note) = over_time::missing_tail(view, over) { p.note { (note) } }
        h3 { "Histogram of response times" }
        (histogram(view, scale))
    })
}

fn table(view: &View, scale: Scale) -> Markup {
    let kinds = columns(view);
    let scales: Vec<Scale> = kinds.iter().map(|(_, times)| Scale::new(scale.unit, times.typical())).collect();
    let rows: Vec<_> = kinds.iter().map(|(_, times)| times.rows()).collect();
    let header = kinds.iter().map(|(name, _)| number(name));
    let mut table =
        Table::new("Response time, service time and send delay", std::iter::once(words("")).chain(header));
    for (position, (name, _)) in view.total.response.rows().iter().enumerate() {
        let figures = rows.iter().zip(&scales).map(|(rows, scale)| cell(reading(rows[position].1, *scale)));
        table.rows.push(std::iter::once(cell(name)).chain(figures).collect());
    }
    table.markup()
}

fn histogram(view: &View, scale: Scale) -> Markup {
    let rows = &view.histogram;
    let most = rows.iter().map(|row| row.count).max().unwrap_or(0).max(1) as f64;
    let steps = rows.windows(2).map(|pair| pair[1].upto - pair[0].upto);
    let scale = scale.telling(steps.reduce(f64::min).unwrap_or(1e9));
    let bounded = rows.iter().any(|row| row.bounds > 0);
    let columns = [number(&format!("up to, {}", scale.unit)), number("requests"), words("")];
    let mut table = Table::new("How many requests took how long", columns);
    let drawn =
        |row: &Bar| html! { div.wide-cell { (bar(row.count as f64 / most, row.bounds as f64 / most)) } };
    table.rows.extend(
        rows.iter().map(|row| vec![cell(scale.write(row.upto)), cell(numbers::count(row.count)), drawn(row)]),
    );
    html! {
        (table.markup())
        @if bounded { p.note { "Pale: requests that did not end in time; they took at least that long." } }
    }
}

/// The spectrum, as a section.
pub(super) fn spectrum(view: &View) -> Option<Markup> {
    let chart = chart(view)?;
    let bounded = view.spectrum.response.iter().any(|one| one.reading.is_lower_bound());
    Some(html! {
        (figure(&chart))
        @if bounded { p.note { "Dotted: lower bounds, because requests did not end in time." } }
    })
}

/// The percentiles as a chart; nothing if the sample supports none.
pub(super) fn chart(view: &View) -> Option<Chart> {
    let found = &view.spectrum;
    let kinds = [
        ("service time", Tone::Ochre, Stroke::Dashed, &found.service),
        ("response time, ok only", Tone::Green, Stroke::Dashed, &found.response_ok),
        ("response time", Tone::Blue, Stroke::Solid, &found.response),
    ];
    let lines: Vec<Line> =
        kinds.iter().flat_map(|(name, tone, stroke, of)| lines(name, *tone, *stroke, of)).collect();
    let highest = kinds.iter().filter_map(|(.., of)| of.last()).map(|one| one.share).reduce(f64::max)?;
    spectrum_of("Percentiles of response time and service time", highest, lines)
}

/// The response times of two runs as a chart; nothing if neither sample supports a percentile.
pub(in crate::html) fn of_two(runs: [(&str, &View); 2]) -> Option<Chart> {
    let styles = [(Tone::Blue, Stroke::Solid), (Tone::Orange, Stroke::Dashed)];
    let drawn = runs.iter().zip(styles);
    let lines =
        drawn.flat_map(|((name, view), (tone, stroke))| lines(name, tone, stroke, &view.spectrum.response));
    let highest = runs.iter().filter_map(|(_, view)| view.spectrum.response.last()).map(|one| one.share);
    spectrum_of("Percentiles of response time, A and B", highest.reduce(f64::max)?, lines.collect())
}

/// Lines of times over percentiles up to the share `highest`.
fn spectrum_of(name: &str, highest: f64, lines: Vec<Line>) -> Option<Chart> {
    let drawn = || lines.iter().flat_map(|line| line.points.iter().flatten());
    let times = || drawn().map(|(_, nanos)| *nanos);
    let (least, most) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
    let description = format!(
        "Times from {} to {} over percentiles that get ten times rarer from mark to mark.",
        numbers::time(least, None),
        numbers::time(most, None)
    );
    let (x, y) = (Axis::percentiles("percentile", highest), Axis::times("logarithmic", least, most));
    Some(Chart::of_lines(name, &description, x, y, lines))
}

/// The percentiles of one kind: a line of known times, and a dotted one of lower bounds.
fn lines(name: &str, tone: Tone, stroke: Stroke, of: &[Percentile]) -> Vec<Line> {
    let point =
        |one: &Percentile| Some((nines(one.share), one.reading.nanos().filter(|nanos| *nanos > 0.0)?));
    let known = of.iter().filter(|one| !one.reading.is_lower_bound()).map(point).collect();
    // The dotted line begins where the other one ends.
    let first = of.iter().position(|one| one.reading.is_lower_bound());
    let bounds: Vec<_> =
        first.map_or_else(Vec::new, |first| of[first.saturating_sub(1)..].iter().map(point).collect());
    let whole = if first == Some(0) { name } else { "" };
    vec![Line::new(name, tone, stroke, known), Line::new(whole, tone, Stroke::Dotted, bounds)]
}

/// The times of events.
pub(super) fn events(view: &View, style: &Style) -> Option<Markup> {
    let events = EventStats::of(&view.total)?;
    let scale = scale_of_events(&events, style);
    let columns = std::iter::once(words("")).chain(COLUMNS.iter().map(|name| number(name)));
    let mut table = Table::new("How far events were apart", columns);
    for (name, figures) in events.rows() {
        let figures = figures.into_iter().map(|figure| cell(reading(figure, scale)));
        table.rows.push(std::iter::once(cell(name)).chain(figures).collect());
    }
    let remark = remark_on_events(view, &events, scale.unit);
    Some(html! {
        p.remark { "I" (remark.trim_start_matches('i')) "." }
        (table.markup())
    })
}

/// The phases of requests.
pub(super) fn phases(view: &View, style: &Style) -> Option<Markup> {
    let phases = timed_phases(view);
    if phases.is_empty() {
        return None;
    }
    let scale = scale_of_phases(view, &phases, style);
    let columns = [words("phase"), number("average"), number("p50"), number("max"), number("requests")];
    let mut table = Table::new("How long the phases of requests took", columns);
    for (name, times) in phases {
        table.rows.push(vec![
            crate::html::words::name(name),
            cell(above_zero(times.mean, scale)),
            cell(above_zero(times.percentiles[0], scale)),
            cell(above_zero(times.max, scale)),
            cell(numbers::count(times.count)),
        ]);
    }
    Some(html! {
        p.remark { "In " (scale.unit.name()) ", of the requests that had the phase." }
        (table.markup())
    })
}
