//! Charts in a page: their names, their legends, their notes.
//!
//! Does not choose what is drawn.

use maud::{Markup, html};

use crate::chart::{Chart, Tone, draw, sample, sample_of_band};

/// A chart below its name and legend. A chart without anything to see is nothing.
pub(super) fn figure(chart: &Chart) -> Markup {
    html! {
        @if !chart.is_empty() {
            figure {
                figcaption { strong { (chart.name) } (legend(chart)) }
                (draw(chart))
            }
        }
    }
}

/// The names of a chart's lines, and of its bands that have no bar; nothing for a chart of one line, which has the name
/// of the chart.
fn legend(chart: &Chart) -> Markup {
    let named: Vec<_> = chart.lines.iter().filter(|line| !line.name.is_empty() && !line.is_empty()).collect();
    let bands = bands(chart);
    html! {
        @if !named.is_empty() || !bands.is_empty() {
            ul.legend {
                @for line in named { li { (sample(line.tone, line.stroke)) (line.name) } }
                @for (tone, names) in bands { li { (sample_of_band(tone)) (names.join(", ")) } }
            }
        }
    }
}

/// The names of bands of the same colour, from left to right. A narrow band has its name here alone.
fn bands(chart: &Chart) -> Vec<(Tone, Vec<&str>)> {
    let mut found: Vec<(Tone, Vec<&str>)> = Vec::new();
    for band in chart.bands.iter().filter(|band| !band.barred && !band.name.is_empty()) {
        match found.iter_mut().find(|(tone, _)| *tone == band.tone) {
            Some((_, names)) => names.push(&band.name),
            None => found.push((band.tone, vec![&band.name])),
        }
    }
    found
}
