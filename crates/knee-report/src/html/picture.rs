//! Charts in a page: their names, their legends, their notes.
//!
//! Does not choose what is drawn.

use maud::{Markup, html};

use crate::chart::{Chart, draw, sample};

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

/// The names of a chart's lines; nothing for a chart of one line, which has the name of the chart.
fn legend(chart: &Chart) -> Markup {
    let named: Vec<_> = chart.lines.iter().filter(|line| !line.name.is_empty() && !line.is_empty()).collect();
    html! {
        @if !named.is_empty() {
            ul.legend { @for line in named { li { (sample(line.tone, line.stroke)) (line.name) } } }
        }
    }
}
