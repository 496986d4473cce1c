//! What is saved as a page: what changed persistently, the list, the figures of runs that can be compared. Served, the
//! list can be searched and leads to the results.
//!
//! Lays out a [`History`] and finds no changes; [`crate::history::trends`] does.

use knee_core::validity::Validity;
use knee_study::change_point::{ChangePoint, SIDE_LEAST};
use knee_study::metric::Metric;
use maud::{Markup, html};

use super::data::Data;
use super::front::{Front, Tile};
use super::page::{Page, Place};
use super::picture::figure;
use super::section::Section;
use super::served;
use super::table::{Table, cell, words as of_words};
use super::words;
use crate::chart::{Axis, Band, Chart, Dot, Line, Shape, Stroke, Tone};
use crate::history::{Entry, History, Trend, TrendMetric, moment, value};
use crate::number::{count, counted};
use crate::study::change as change_of;

/// Most rows of the list; the JSON has all.
const ROWS_MAX: usize = 200;
/// Rows that are not folded.
const ROWS_OPEN: usize = 30;
/// Most lines of runs with charts of their own.
const LINES_MAX: usize = 40;
/// Fewest runs that are shown as a trend.
const RUNS_MIN: usize = 3;
/// Most dots of all charts together, and of one chart: a page of 10,000 runs stays small.
const DOTS_MAX: usize = 600;
const CHART_DOTS_MAX: usize = 300;
/// Fewest dots of a chart of many runs.
const CHART_DOTS_MIN: usize = 20;
/// Most changes in the first screen.
const CHANGES_MAX: usize = 5;
/// The height of a chart on a wide page, in pixels.
const HEIGHT: f64 = 170.0;

/// The page. The trends are those of all entries, newest line first.
pub fn history(history: &History) -> String {
    let lines = lines(history.trends.as_deref().unwrap_or_default());
    let list = list(history, |entry| words::name(&entry.record));
    let mut sections = vec![Section::new("saved", "Everything saved", "Newest first.", list)];
    sections.extend(trends(&lines));
    sections.extend(skipped(history));
    let json = crate::history::json(history);
    Page {
        front: front(history, &lines),
        sections,
        data: Data::document(json),
        moments: Vec::new(),
        place: Place::File,
    }
    .render()
}

/// The same for a server that has the results too. `search` is what the entries were chosen by; empty without a choice.
pub fn served_history(history: &History, search: &str) -> String {
    let lines = lines(history.trends.as_deref().unwrap_or_default());
    let list = list(history, served::chosen);
    let body = html! { (served::search_form(search)) (served::choice_form(&list)) };
    let remark = "Newest first. A name leads to its result.";
    let mut sections = vec![Section::new("saved", "Everything saved", remark, body)];
    sections.extend(trends(&lines));
    sections.extend(skipped(history));
    let json = crate::history::json(history);
    Page {
        front: front(history, &lines),
        sections,
        data: Data::document(json),
        moments: Vec::new(),
        place: Place::Served,
    }
    .render()
}

/// Whether there are enough runs for a trend: one that counts has at least so many.
fn is_drawn(line: &[Trend]) -> bool {
    line.iter().any(|trend| trend.points.len() >= RUNS_MIN)
}

fn drawn<'l, 't>(lines: &'l [&'t [Trend]]) -> impl Iterator<Item = &'t [Trend]> + use<'l, 't> {
    lines.iter().copied().filter(|line| is_drawn(line))
}

/// Trends of the same runs, together.
fn lines(trends: &[Trend]) -> Vec<&[Trend]> {
    trends.chunk_by(|one, other| one.newest == other.newest).collect()
}

fn front(history: &History, lines: &[&[Trend]]) -> Front {
    let entries = &history.entries;
    let span = match (entries.last(), entries.first()) {
        (Some(oldest), Some(newest)) => format!("from {} to {} UTC", moment(oldest.at), moment(newest.at)),
        _ => String::new(),
    };
    let mut changes: Vec<(&Trend, &ChangePoint)> = lines
        .iter()
        .flat_map(|line| line.iter())
        .flat_map(|trend| trend.changes.iter().flatten().map(move |change| (trend, change)))
        .collect();
    // The largest first, up or down.
    changes.sort_by(|one, other| size(other.1).total_cmp(&size(one.1)));
    let invalid = entries.iter().filter(|entry| entry.validity == Some(Validity::Invalid)).count();
    let tile = |name: &str, number: usize, beside: &str| Tile {
        name: name.to_owned(),
        figure: count(number as u64),
        beside: beside.to_owned(),
    };
    Front {
        kind: "History",
        subject: "What is saved".to_owned(),
        terms: vec![span].into_iter().filter(|span| !span.is_empty()).collect(),
        answer: vec![answer(entries.len(), lines, changes.len())],
        points: changes.iter().take(CHANGES_MAX).map(|(trend, change)| of_change(trend, change)).collect(),
        limits: Vec::new(),
        trust: None,
        tiles: vec![
            tile("Saved", entries.len() + history.older, "runs and other results"),
            tile("Trends", drawn(lines).count(), "of runs with the same name, plan, target and machine"),
            tile("Changes", changes.len(), "that last"),
            tile("Invalid", invalid, "runs, which no trend counts"),
        ],
        picture: Markup::default(),
    }
}

fn answer(saved: usize, lines: &[&[Trend]], changes: usize) -> String {
    let long = lines.iter().filter(|line| line.iter().any(|trend| trend.missing() == 0)).count();
    match (saved, lines.len(), long, changes) {
        (0, ..) => "Nothing is saved.".to_owned(),
        (_, 0, ..) => {
            "No two runs can be compared: none have the same name, plan, target and machine.".to_owned()
        }
        (_, _, 0, _) => {
            format!("No answer yet: a persistent change needs {SIDE_LEAST} runs on each side.")
        }
        (.., 0) => "No figure has changed persistently.".to_owned(),
        (.., 1) => "One figure has changed persistently.".to_owned(),
        (.., changes) => format!("{} persistent changes of figures.", count(changes as u64)),
    }
}

/// How large a change is, as the logarithm of its ratio.
fn size(change: &ChangePoint) -> f64 {
    (change.after / change.before).ln().abs()
}

fn of_change(trend: &Trend, change: &ChangePoint) -> String {
    let record = trend.points.get(change.at).map_or("", |(record, _)| record);
    format!(
        "{} {}: {} to {}, {} (95 % CI {} to {}), from {record} on",
        trend.newest.name,
        trend.metric.name(),
        value(trend.metric, change.before),
        value(trend.metric, change.after),
        change_of(Metric::Goodput, change.change),
        change_of(Metric::Goodput, change.low),
        change_of(Metric::Goodput, change.high),
    )
}

fn trends(lines: &[&[Trend]]) -> Vec<Section> {
    let dots = dots_of_each(drawn(lines).take(LINES_MAX).flatten().count());
    let of_line = |(place, line)| of_line(place, line, dots);
    let mut sections: Vec<Section> = drawn(lines).take(LINES_MAX).enumerate().map(of_line).collect();
    let (shown, all) = (drawn(lines).count(), lines.len());
    if shown < all {
        let body = html! { p.note { (too_short(all - shown)) } };
        sections.push(Section::new("short", "Too few runs for a trend", "", body));
    }
    if shown > LINES_MAX {
        let more = count((shown - LINES_MAX) as u64);
        let body = html! { p.note { (more) " more trends in the data." } };
        sections.push(Section::new("more", "More trends", "", body));
    }
    sections
}

fn too_short(lines: usize) -> String {
    let of = if lines == 1 { "One group of like runs has" } else { "groups of like runs have" };
    let many = if lines == 1 { String::new() } else { format!("{} ", count(lines as u64)) };
    format!("{many}{of} fewer than {RUNS_MIN} runs that count; a trend needs {RUNS_MIN}.")
}

/// Most dots of each of so many charts.
fn dots_of_each(charts: usize) -> usize {
    (DOTS_MAX / charts.max(1)).clamp(CHART_DOTS_MIN, CHART_DOTS_MAX)
}

fn of_line(place: usize, line: &[Trend], dots: usize) -> Section {
    let newest = &line[0].newest;
    let remark = [&newest.title, &newest.load, &newest.machine].map(|part| words::text(part)).join(" · ");
    let heading = format!("{} [{}]", words::plain_name(&newest.name), newest.like());
    let body = html! {
        ul { @for trend in line { @for sentence in sentences(trend) { li { (words::sentence(&sentence)) } } } }
        (pictures(line, dots))
    };
    Section::new(&format!("trend-{}", place + 1), &heading, remark, body)
}

fn sentences(trend: &Trend) -> Vec<String> {
    let (name, runs) = (trend.metric.name(), counted(trend.points.len() as u64, "run"));
    let left_out = match trend.left_out {
        0 => String::new(),
        left_out => format!(", {left_out} not counted"),
    };
    match &trend.changes {
        None if trend.missing() > 0 => {
            vec![format!("{name}: {runs}{left_out}; a change needs {SIDE_LEAST} runs on each side")]
        }
        None => vec![format!("{name}: {runs}{left_out}; a figure is not above 0")],
        Some(changes) if changes.is_empty() => {
            vec![format!("{name}: {runs}{left_out}, no persistent change")]
        }
        Some(changes) => changes.iter().map(|change| of_change(trend, change)).collect(),
    }
}

fn pictures(line: &[Trend], dots: usize) -> Markup {
    let shown = line.iter().filter(|trend| trend.points.len() >= RUNS_MIN);
    html! {
        @for trend in shown {
            @let together = trend.points.len().div_ceil(dots);
            (figure(&chart(trend, together)))
            @if together > 1 { p.note { "Each dot is the median of " (together) " runs; " code { "knee history --trend --format json" } " prints them all." } }
        }
    }
}

/// A figure over the runs, so many of them `together` in a dot, with the levels between its changes.
fn chart(trend: &Trend, together: usize) -> Chart {
    let (drawn, unit): (fn(f64) -> f64, &str) = match trend.metric {
        TrendMetric::Goodput => (|value| value, "OK responses/s"),
        TrendMetric::P50 | TrendMetric::P99 => (|value| value * 1e3, "ms"),
    };
    let dots: Vec<Dot> = trend
        .points
        .chunks(together)
        .enumerate()
        .map(|(place, runs)| {
            let figure = median(runs.iter().map(|(_, figure)| *figure).collect());
            let first = words::plain_name(&runs[0].0);
            let many = if runs.len() > 1 {
                format!(" and the next {}, median", runs.len() - 1)
            } else {
                String::new()
            };
            Dot {
                at: ((place * together) as f64 + (runs.len() + 1) as f64 / 2.0, drawn(figure)),
                tone: Tone::Blue,
                shape: Shape::Disc,
                text: format!("{first}{many}: {}", value(trend.metric, figure)),
            }
        })
        .collect();
    let points: Vec<(f64, f64)> = dots.iter().map(|dot| dot.at).collect();
    let most = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let x = Axis::places("runs, oldest first", trend.points.len());
    let name = format!("{} of {}", trend.metric.name(), words::plain_name(&trend.newest.name));
    let description = format!(
        "{} of {}, at most {}.",
        trend.metric.name(),
        counted(trend.points.len() as u64, "run"),
        value(trend.metric, most_of(trend))
    );
    let run_line = Line::new("", Tone::Blue, Stroke::Thin, points.iter().copied().map(Some).collect());
    let chart = Chart::of_lines(&name, &description, x, Axis::amounts(unit, most), vec![run_line]);
    Chart { dots, bands: bands(trend), height: HEIGHT, ..chart }
}

/// The middle of figures, of which there is one at least.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    if figures.len() % 2 == 1 { figures[middle] } else { f64::midpoint(figures[middle - 1], figures[middle]) }
}

fn most_of(trend: &Trend) -> f64 {
    trend.points.iter().map(|(_, value)| *value).fold(0.0, f64::max)
}

/// The runs since each change, every second stretch shaded.
fn bands(trend: &Trend) -> Vec<Band> {
    let changes = trend.changes.as_deref().unwrap_or_default();
    let ends = changes.iter().skip(1).map(|change| change.at as f64 + 0.5);
    let ends = ends.chain([trend.points.len() as f64 + 0.5]);
    let band = |(change, to): (&ChangePoint, f64)| Band {
        from: change.at as f64 + 0.5,
        to,
        tone: if (change.change > 0.0) == (trend.metric == TrendMetric::Goodput) {
            Tone::Sky
        } else {
            Tone::Orange
        },
        name: format!("{} to {}", value(trend.metric, change.before), value(trend.metric, change.after)),
        barred: true,
    };
    changes.iter().zip(ends).map(band).collect()
}

fn list(history: &History, first: fn(&Entry) -> Markup) -> Markup {
    let (open, folded) = history.entries.split_at(history.entries.len().min(ROWS_OPEN));
    let folded = &folded[..folded.len().min(ROWS_MAX - ROWS_OPEN)];
    let more = history.entries.len().saturating_sub(ROWS_MAX) + history.older;
    html! {
        (table("List of everything saved", open, first))
        @if !folded.is_empty() {
            details {
                summary { "Show " (folded.len()) " more" }
                (table("List of everything saved before", folded, first))
            }
        }
        @if more > 0 { p.note { (count(more as u64)) " more are older." } }
    }
}

fn table(caption: &str, entries: &[Entry], first: fn(&Entry) -> Markup) -> Markup {
    let columns = ["record", "kind", "like", "validity", "load", "target", "result"].map(of_words);
    let mut table = Table::new(caption, columns);
    table.rows.extend(entries.iter().map(|entry| row(entry, first)));
    table.markup()
}

/// A row; its first cell names the record.
fn row(entry: &Entry, first: fn(&Entry) -> Markup) -> Vec<Markup> {
    let known = |text: &str| if text.is_empty() { cell("–") } else { words::name(text) };
    vec![
        first(entry),
        known(&entry.kind),
        known(&entry.like()),
        cell(entry.validity.map_or("–", Validity::name)),
        known(&entry.load),
        known(&entry.title),
        html! { div.wide-cell { (words::text(&entry.answer)) } },
    ]
}

fn skipped(history: &History) -> Option<Section> {
    let files = &history.skipped;
    let list = html! { ul { @for (file, reason) in files { li { (words::name(file)) ": " (words::text(reason)) } } } };
    (!files.is_empty()).then(|| Section::new("skipped", "Files that are not in the list", "", list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_figure_or_between_the_two_in_the_middle() {
        assert_eq!((median(vec![3.0, 1.0, 2.0]), median(vec![4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
    }

    #[test]
    fn few_charts_have_many_dots_each_and_many_charts_have_few() {
        assert_eq!((dots_of_each(0), dots_of_each(2), dots_of_each(10)), (300, 300, 60));
        assert_eq!(dots_of_each(120), 20);
    }
}
