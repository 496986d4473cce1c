//! The parts of the report that show times: the table of both times, the histogram, the phases.
//!
//! One unit for a whole table. A figure that the sample does not support is a dash with the sample size that it needs.

use knee_core::outcome::Outcome;
use knee_core::tally::Phase;

use super::ink::{Tone, right, wrap, wrap_words};
use super::style::{Style, heading};
use super::table::{Cell, Side, Table};
use crate::View;
use crate::number::{self, Scale, Unit};
use crate::view::event_stats::{COLUMNS, EventStats};
use crate::view::reading::Reading;
use crate::view::time_summary::TimeSummary;

/// Longest bar of the histogram.
const BAR_MAX: usize = 32;

/// One unit for all times of a kind.
pub fn scale(times: &TimeSummary, style: &Style) -> Scale {
    let largest = times.max.nanos().unwrap_or(0.0);
    let unit = style.unit.unwrap_or_else(|| Unit::fitting(times.typical(), largest));
    Scale::new(unit, times.typical())
}

/// A figure in the unit of its table.
pub fn reading(reading: Reading, scale: Scale) -> String {
    match reading {
        Reading::Exactly(nanos) => scale.write(nanos.0 as f64),
        Reading::AtLeast(nanos) => format!("≥ {}", scale.write(nanos.0 as f64)),
        Reading::TooFew { needed } => format!("– (n < {})", number::count(needed)),
        Reading::Nothing => "–".to_owned(),
    }
}

/// The same without the sample size that a figure needs, for tables without room for it.
pub(crate) fn short(figure: Reading, scale: Scale) -> String {
    match figure {
        Reading::TooFew { .. } => "–".to_owned(),
        known => reading(known, scale),
    }
}

/// Response time, service time and send delay side by side; OK responses in separate columns if other responses exist.
pub fn table(view: &View, style: &Style) -> Vec<String> {
    let total = &view.total;
    if total.response.count == 0 {
        return Vec::new();
    }
    let columns = columns(view);
    let scale = scale(&total.response, style);
    let scales: Vec<_> = columns.iter().map(|(_, times)| Scale::new(scale.unit, times.typical())).collect();
    let header = columns.iter().map(|(name, _)| (*name, Side::Right));
    let mut table = Table::new([("", Side::Left)].into_iter().chain(header));
    let rows: Vec<_> = columns.iter().map(|(_, times)| times.rows()).collect();
    for (position, (name, _)) in total.response.rows().iter().enumerate() {
        let cells =
            rows.iter().zip(&scales).map(|(rows, scale)| Cell::from(reading(rows[position].1, *scale)));
        table.row(std::iter::once(Cell::from(*name)).chain(cells).collect());
    }
    let mut lines = vec![heading("Times", &remark(view, scale), style)];
    lines.extend(table.lines(style.width, style.palette));
    lines.extend(wrap("  – ", missing(view).iter().map(String::as_str), ", ", style.width));
    for (sign, text) in footnotes(view, scale) {
        lines.extend(wrap_words(&format!("  {sign} "), &text, style.width));
    }
    lines
}

/// The kinds of times that a table shows, with their names.
pub(crate) fn columns(view: &View) -> Vec<(&'static str, &TimeSummary)> {
    let total = &view.total;
    let mut columns = vec![
        ("response time", &total.response),
        ("service time", &total.service),
        ("send delay", &total.send_delay),
    ];
    let all_ok = total.books.count(Outcome::Ok) == total.books.ended();
    if !all_ok && total.response_ok.count > 0 {
        columns.push(("response, ok only", &total.response_ok));
    }
    columns
}

/// The unit of the table of times, and its sample.
pub(crate) fn remark(view: &View, scale: Scale) -> String {
    let over = match view.total.response.count {
        1 => "over one request".to_owned(),
        count => format!("over all {} requests", number::count(count)),
    };
    format!("in {}, {over}", scale.unit)
}

/// Notes on the table of times, each with the sign that marks it.
pub(crate) fn footnotes(view: &View, scale: Scale) -> Vec<(char, String)> {
    let mut notes = Vec::new();
    let bounds = view.total.response.bounds;
    if bounds > 0 {
        let times = if bounds == 1 { "its full time is" } else { "their full times are" };
        let requests = number::counted(bounds, "request");
        let text = format!("at least: {requests} did not end in time, so {times} unknown.");
        notes.push(('≥', text));
    }
    if let Some((all, ok)) = view.tail_contrast() {
        let unit = scale.unit;
        let text = format!(
            "The p99 of the response time is {} {unit} over all requests and {} {unit} over OK responses alone: the tail contains failed requests.",
            reading(all, scale),
            reading(ok, scale)
        );
        notes.push(('!', text));
    }
    notes
}

/// The requests that the missing percentiles need, as parts of a sentence.
pub(crate) fn missing(view: &View) -> Vec<String> {
    let pieces = view.missing.iter().enumerate().map(|(position, missing)| {
        let verb = if position == 0 { " needs" } else { "" };
        let requests = number::count(missing.requests);
        let unit = if position == 0 { " requests" } else { "" };
        let at = if position == 0 { " at this rate" } else { "" };
        let duration = missing.duration.map_or_else(String::new, |duration| format!(" ({duration}{at})"));
        format!("{}{verb} {requests}{unit}{duration}", missing.name)
    });
    pieces.collect()
}

/// The distribution of response times.
pub fn histogram(view: &View, style: &Style) -> Vec<String> {
    let rows = &view.histogram;
    let Some(most) = rows.iter().map(|row| row.count).max() else { return Vec::new() };
    let steps = rows.windows(2).map(|pair| pair[1].upto - pair[0].upto);
    let scale = scale(&view.total.response, style).telling(steps.reduce(f64::min).unwrap_or(1e9));
    let limits: Vec<String> = rows.iter().map(|row| scale.write(row.upto)).collect();
    let counts: Vec<String> = rows.iter().map(|row| number::count(row.count)).collect();
    let widest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
    let (limit_width, count_width) = (widest(&limits), widest(&counts));
    let room = style.width.saturating_sub(limit_width + count_width + 9).min(BAR_MAX);
    let bounded = rows.iter().any(|row| row.bounds > 0);
    let remark =
        format!("up to, in {}{}", scale.unit, if bounded { "; □ took at least that long" } else { "" });
    let mut lines = vec![heading("Response time histogram", &remark, style)];
    for (row, (limit, count)) in rows.iter().zip(limits.iter().zip(&counts)) {
        let share = |part: u64| (part as f64 / most.max(1) as f64 * room as f64).round() as usize;
        let length = share(row.count).max(usize::from(row.count > 0));
        let open = share(row.bounds).max(usize::from(row.bounds > 0)).min(length);
        let bar = "■".repeat(length - open) + &"□".repeat(open);
        let line = format!("  {}  [{}]  {bar}", right(limit, limit_width), right(count, count_width));
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// How many events there were, as the heading of their times.
pub(crate) fn remark_on_events(view: &View, events: &EventStats<'_>, unit: Unit) -> String {
    let seconds = view.span.window.as_secs_f64();
    let per_second = if seconds > 0.0 { events.events as f64 / seconds } else { 0.0 };
    format!(
        "in {unit}, of {} in {}, {} each, {} per second",
        number::counted(events.events, "event"),
        number::counted(events.responses, "response"),
        number::level(events.per_response()),
        number::rate(per_second)
    )
}

/// One unit for the times of events, with the decimals that the shortest one needs.
pub(crate) fn scale_of_events(events: &EventStats<'_>, style: &Style) -> Scale {
    let unit = scale(events.first, style).unit;
    let least = events.times().map(|(_, times)| times.typical()).filter(|typical| *typical > 0.0);
    Scale::new(unit, least.reduce(f64::min).unwrap_or(0.0))
}

/// The times of events: until the first, between two, and the longest between two.
pub fn events(view: &View, style: &Style) -> Vec<String> {
    let Some(events) = EventStats::of(&view.total) else { return Vec::new() };
    let scale = scale_of_events(&events, style);
    let columns = COLUMNS.map(|name| (name, Side::Right));
    let mut table = Table::new([("", Side::Left)].into_iter().chain(columns));
    for (name, figures) in events.rows() {
        let cells = figures.into_iter().map(|figure| Cell::from(short(figure, scale)));
        table.row(std::iter::once(Cell::from(name)).chain(cells).collect());
    }
    let mut lines = vec![heading("Events", &remark_on_events(view, &events, scale.unit), style)];
    lines.extend(table.lines(style.width, style.palette));
    lines
}

/// A figure that is not zero is never shown as zero.
pub(crate) fn above_zero(figure: Reading, scale: Scale) -> String {
    let step = 10_f64.powf(-(scale.decimals as f64)) * scale.unit.nanos();
    match figure.nanos() {
        Some(nanos) if nanos > 0.0 && nanos < 0.5 * step => format!("< {}", scale.write(step)),
        _ => reading(figure, scale),
    }
}

/// The phases that took time, with their names.
pub(crate) fn timed_phases(view: &View) -> Vec<(&str, &TimeSummary)> {
    let took_time = |times: &TimeSummary| times.max.nanos().is_some_and(|max| max > 0.0);
    let mut phases: Vec<(&str, &TimeSummary)> = Vec::new();
    for (phase, times) in Phase::ALL.into_iter().zip(&view.total.phases) {
        if !phase.is_of_events() {
            phases.push((phase.name(), times));
        }
    }
    phases.extend(view.total.unknown_phases.iter().map(|(name, times)| (name.as_str(), times)));
    phases.retain(|(_, times)| took_time(times));
    phases
}

/// One unit for all phases, with the decimals that the shortest one needs.
pub(crate) fn scale_of_phases(view: &View, phases: &[(&str, &TimeSummary)], style: &Style) -> Scale {
    let unit = scale(&view.total.service, style).unit;
    let least = phases.iter().map(|(_, times)| times.typical()).reduce(f64::min).unwrap_or(0.0);
    let decimals = Scale::new(unit, least).decimals.min(3);
    Scale { unit, decimals }
}

/// The phases of a request's time. A phase that never took any time has no row: a response that arrives in a single
/// read is received in zero time.
pub fn phases(view: &View, style: &Style) -> Vec<String> {
    let phases = timed_phases(view);
    if phases.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new([
        ("", Side::Left),
        ("average", Side::Right),
        ("p50", Side::Right),
        ("max", Side::Right),
        ("requests", Side::Right),
    ]);
    let scale = scale_of_phases(view, &phases, style);
    for (name, times) in phases {
        let figure = |figure| Cell::from(above_zero(figure, scale));
        table.row(vec![
            name.into(),
            figure(times.mean),
            figure(times.percentiles[0]),
            figure(times.max),
            Cell::toned(number::count(times.count), Tone::Faint),
        ]);
    }
    let mut lines =
        vec![heading("Phases", &format!("in {}, of the requests that had the phase", scale.unit), style)];
    lines.extend(table.lines(style.width, style.palette));
    lines
}
