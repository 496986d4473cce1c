//! A forest table: one row per comparison, with the change, its interval and the margin as a picture beside the words.
//!
//! A table and not a chart, so that it is read aloud, wraps and prints. Does not place anything itself; see
//! [`crate::study`].

use knee_study::statistics::verdict::Verdict;
use maud::{Markup, html};

use super::table::{Table, cell, words as of_words};
use super::words;
use crate::chart::{Stroke, Tone, paint, pixels};
use crate::study::ForestRow;

/// Pixels from no change to an end of the scale.
const HALF: f64 = 74.0;
/// The place of no change, in pixels.
const MIDDLE: f64 = 80.0;

/// What the first column of a forest table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The sides that are compared.
    Sides,
    /// The metric.
    Metric,
}

/// The first rows, with a note on how many there are more.
pub(super) fn table(rows: &[ForestRow], by: By, interval: &str, most: usize) -> Markup {
    let (caption, first) = match by {
        By::Sides => ("Changes by comparison", "comparison"),
        By::Metric => ("Changes by metric", "metric"),
    };
    let change = format!("change ({interval})");
    let header = [of_words(first), of_words(""), of_words(&change), of_words("verdict")];
    let mut table = Table::new(caption, header);
    for row in rows.iter().take(most) {
        let name = match by {
            By::Sides => format!("{}: {}", row.sides, row.metric),
            By::Metric => row.metric.clone(),
        };
        table.rows.push(vec![
            words::name(&name),
            picture(row),
            html! { strong { (words::text(&row.change)) } span.aside { (words::text(&row.interval)) } },
            cell(words::text(&row.verdict)),
        ]);
    }
    let more = rows.len().saturating_sub(most);
    html! {
        div.forest { (table.markup()) }
        p.note {
            "Dot: change. Line: its interval. Vertical line: no change. Band: changes too small to matter."
            @if more > 0 { " " (more) " more are below." }
        }
    }
}

fn picture(row: &ForestRow) -> Markup {
    let tone = tone(row.kind);
    let at = |place: f64| MIDDLE + HALF * place.clamp(-1.0, 1.0);
    let (low, high) = (at(row.low.unwrap_or(-1.0)), at(row.high.unwrap_or(1.0)));
    let (begin, end) = (at(row.margin.0), at(row.margin.1));
    let tick = |x: f64| format!("M{x:.1} 6v8");
    let line = |path: &str| paint::line(tone, Stroke::Solid, path);
    html! {
        svg.interval viewBox="0 0 160 20" width="160" height="20" aria-hidden="true" {
            (paint::band(Tone::Grey, (&pixels(begin), "0"), (&pixels((end - begin).max(0.5)), "20")))
            (paint::edge(&format!("M{MIDDLE:.1} 0v20")))
            (line(&format!("M{low:.1} 10H{high:.1}")))
            @if row.low.is_some() { (line(&tick(low))) } @else { (paint::disc(tone, "M0 10L8 5V15Z")) }
            @if row.high.is_some() { (line(&tick(high))) } @else { (paint::disc(tone, "M160 10L152 5V15Z")) }
            (paint::circle(true, tone, (&pixels(at(row.estimate)), "10"), 4.0, ""))
        }
    }
}

const fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Better => Tone::Green,
        Verdict::Worse => Tone::Orange,
        Verdict::Same | Verdict::More | Verdict::Less => Tone::Blue,
        Verdict::Undecided | Verdict::Open => Tone::Grey,
    }
}
