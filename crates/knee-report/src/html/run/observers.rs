//! What observers saw beside the run: per source its figures, and their course on the axis of the other charts.
//!
//! Lays out what [`crate::view::beside`] and [`crate::view::observed`] have computed.

use maud::{Markup, html};

use super::over_time;
use crate::View;
use crate::chart::{Axis, Chart, Line, Stroke, Tone};
use crate::clean;
use crate::html::picture::figure;
use crate::html::table::{self, Table, cell};
use crate::html::words;
use crate::number::level;
use crate::text::Style;
use crate::text::beside::written;
use crate::view::beside::{Beside, Fact};
use crate::view::column::Columns;
use crate::view::observed::{Course, courses};

/// How the lines of a chart differ, the greatest first.
const LOOKS: [(Tone, Stroke); 5] = [
    (Tone::Blue, Stroke::Solid),
    (Tone::Orange, Stroke::Dashed),
    (Tone::Green, Stroke::Solid),
    (Tone::Purple, Stroke::Dotted),
    (Tone::Ochre, Stroke::Dashed),
];

/// The sources; `None` without one.
pub(super) fn section(view: &View, columns: &Columns, style: &Style) -> Option<Markup> {
    let courses = courses(&view.observations);
    let sources = view.beside.iter().zip(courses);
    (!view.beside.is_empty()).then(|| {
        html! { @for (source, courses) in sources { (of_source(source, &courses, view, columns, style)) } }
    })
}

fn of_source(source: &Beside, courses: &[Course], view: &View, columns: &Columns, style: &Style) -> Markup {
    let charts = courses.iter().filter_map(|course| Some((course, chart(course, view, columns)?)));
    html! {
        h3 {
            (words::text(&source.name))
            @if let Some(version) = &source.version { ", " (words::text(version)) }
        }
        @if let Some((since, reason)) = &source.trouble {
            p.note {
                @match since { Some(at) => { "Lost at " (at) ": " } None => "Not read: " }
                (words::text(reason))
            }
        }
        @for (course, chart) in charts {
            (figure(&chart))
            @if course.left_out > 0 { p.note { "Lines left out: " (course.left_out) "; the JSON has them." } }
        }
        @if !source.facts.is_empty() { (facts(source, style)) }
        @if !source.without.is_empty() { p.note { "Without " (words::text(&source.without.join("; "))) "." } }
        @if let Some(note) = source.note { p.note { "Read " (note) "." } }
    }
}

fn chart(course: &Course, view: &View, columns: &Columns) -> Option<Chart> {
    let drawn = course.lines.iter().flat_map(|line| &line.points).map(|(_, figure)| *figure);
    let most = drawn.reduce(f64::max)?;
    let lines: Vec<Line> = course
        .lines
        .iter()
        .zip(LOOKS)
        .map(|(line, (tone, stroke))| {
            let points = line.points.iter().copied().map(Some).collect();
            Line::new(&clean::line(&line.name), tone, stroke, points)
        })
        .collect();
    let names: Vec<&str> =
        lines.iter().map(|line| line.name.as_str()).filter(|name| !name.is_empty()).collect();
    let of = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    let description = format!("{}{of}; at most {} {}.", course.title, level(most), course.unit);
    over_time::chart(view, columns, course.title, &description, Axis::amounts(course.unit, most), lines)
}

fn facts(source: &Beside, style: &Style) -> Markup {
    let columns = [table::words("figure"), table::number("amount"), table::words("")];
    let mut table = Table::new(format!("Figures of {} over the run", clean::line(&source.name)), columns);
    for Fact { name, amount, more } in &source.facts {
        let more = more.map(|(amount, of)| format!("{} {of}", written(amount, style))).unwrap_or_default();
        table.rows.push(vec![cell(words::text(name)), cell(written(*amount, style)), cell(more)]);
    }
    table.markup()
}
