//! The timeline: what each variant measured, in the order of the study, beside what was published.
//!
//! Published figures are of another machine, so they are scaled as a whole: the first variant that has both coincides, and the
//! ratios are what is compared. Does not draw shares: a share of errors is one number, and its table has it.

use knee_study::definition::Cell;
use knee_study::metric::{Direction, Metric, Unit};
use knee_study::study::{Conclusion, Spread};
use plotters::prelude::*;

use super::axis;
use super::canvas::{self, Area, BLUE, Drawing, Drawn, INK, ORANGE, PANELS, Row, Rows};
use crate::number;
use crate::study::value;

/// Pixels for the words beside a panel: a figure, the ratio measured, the ratio published.
const WORDS: u32 = 186;
const RATIO: i32 = 84;
const PUBLISHED: i32 = 132;

/// One metric of all variants.
struct Line {
    metric: Metric,
    /// By variant: what was measured, and what was published.
    variants: Vec<(Option<Spread>, Option<f64>)>,
}

impl Line {
    fn of(conclusion: &Conclusion, workload: &str, metric: Metric) -> Self {
        let variant = |name: &str| {
            let cell = Cell::new(name, workload);
            let row = conclusion.timeline.iter().find(|row| row.cell == cell && row.metric == metric);
            let beside = conclusion.published.iter().map(|beside| &beside.published);
            let published = beside.filter(|figure| figure.cell == cell && figure.metric == metric);
            (row.map(|row| row.spread), published.map(|figure| figure.value).next())
        };
        Self { metric, variants: conclusion.variants.iter().map(|each| variant(&each.name)).collect() }
    }

    /// Measured median over published figure where both are known first; that variant's place.
    fn anchor(&self) -> Option<(usize, f64)> {
        let both = self.variants.iter().enumerate().filter_map(|(position, (measured, published))| {
            Some((position, measured.as_ref()?.median / published.filter(|value| *value > 0.0)?))
        });
        both.filter(|(_, scale)| scale.is_finite() && *scale > 0.0).take(1).last()
    }

    /// Whether more than the anchor was published, so that there is a ratio to compare.
    fn compares(&self) -> bool {
        self.anchor().is_some()
            && self.variants.iter().filter(|(_, published)| published.is_some()).count() > 1
    }
}

/// The pictures of one workload: one, or none if nothing was measured.
pub(super) fn all(conclusion: &Conclusion, workload: &str) -> Vec<Drawing> {
    let measured = conclusion.metrics.iter().filter(|metric| metric.unit() != Unit::Share);
    let lines: Vec<Line> = measured
        .map(|metric| Line::of(conclusion, workload, *metric))
        .filter(|line| line.variants.iter().any(|(measured, _)| measured.is_some()))
        .take(PANELS)
        .collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Row> = conclusion.variants.iter().map(|variant| Row::Named(variant.name.clone())).collect();
    let names: Vec<String> = lines.iter().map(|line| line.metric.to_string()).collect();
    let alt = format!("{} of each variant under {workload}", names.join(" and "));
    let svg =
        canvas::picture(canvas::height(rows.len()), |area| draw(area, conclusion, workload, &rows, &lines));
    vec![Drawing { alt, description: figures(conclusion, &lines), svg }]
}

/// The figures of every variant, in words.
fn figures(conclusion: &Conclusion, lines: &[Line]) -> String {
    let variants = conclusion.variants.iter().enumerate().map(|(row, variant)| {
        let figure = |line: &Line| {
            let spread = line.variants.get(row)?.0?;
            Some(format!("{} {}", line.metric, value::spread(line.metric, &spread)))
        };
        let figures: Vec<String> = lines.iter().filter_map(figure).collect();
        format!("{}: {}", variant.name, figures.join(", "))
    });
    variants.collect::<Vec<_>>().join("; ")
}

fn draw(area: &Area<'_>, conclusion: &Conclusion, workload: &str, rows: &[Row], lines: &[Line]) -> Drawn {
    let compares = lines.iter().any(Line::compares);
    let anchors: Vec<usize> = lines.iter().filter_map(|line| Some(line.anchor()?.0)).collect();
    let anchor = anchors.first().filter(|_| compares).map(|position| &conclusion.variants[*position].name);
    let published = anchor.map_or_else(String::new, |variant| {
        format!(
            " · diamond: published, multiplied by one factor so that {variant} is equal · ×: factor to {variant}, measured and published"
        )
    });
    let reading = format!("dot: median of the blocks, line: least to greatest{published}");
    canvas::heading(area, &format!("Timeline: {workload}"), &reading)?;
    let layout = Rows::new(rows, lines.len(), WORDS);
    layout.names(area)?;
    for (position, line) in lines.iter().enumerate() {
        panel(area, &layout, position, line)?;
    }
    Ok(())
}

fn panel(area: &Area<'_>, layout: &Rows<'_>, position: usize, line: &Line) -> Drawn {
    let metric = line.metric;
    let scale = line.anchor().filter(|_| line.compares());
    let at = |value: f64| axis::position(metric, value);
    let published = |value: f64| at(value * scale?.1);
    let positions = line.variants.iter().flat_map(|(measured, known)| {
        let ends = measured.iter().flat_map(|spread| [spread.low, spread.median, spread.high]).filter_map(at);
        ends.chain(known.and_then(published)).collect::<Vec<f64>>()
    });
    let Some(axis) = axis::of_figures(metric, &positions.collect::<Vec<f64>>()) else { return Ok(()) };
    let direction = match metric.direction() {
        Direction::More => "more is better",
        Direction::Less => "less is better",
        Direction::None => "neither more nor less is better",
    };
    let unit = if metric.unit() == Unit::PerSecond { ", requests/s" } else { "" };
    let mut chart = layout.panel(area, position, &axis, &format!("{metric}{unit} ({direction})"))?;
    for (row, (measured, known)) in line.variants.iter().enumerate() {
        let y = layout.position(row);
        if let Some(x) = known.and_then(published) {
            let diamond = EmptyElement::at((x, y))
                + Polygon::new(vec![(0, -6), (6, 0), (0, 6), (-6, 0)], WHITE.filled())
                + PathElement::new(vec![(0, -6), (6, 0), (0, 6), (-6, 0), (0, -6)], ORANGE.stroke_width(2));
            chart.draw_series([diamond])?;
        }
        if let Some(spread) = measured {
            range(&mut chart, metric, spread, y)?;
        }
    }
    words(area, layout, position, line, scale.map(|(anchor, _)| anchor))
}

/// The median of a cell and how far its blocks reach.
fn range(chart: &mut canvas::Chart<'_, '_>, metric: Metric, spread: &Spread, y: f64) -> Drawn {
    let at = |value: f64| axis::position(metric, value);
    if let (Some(low), Some(high)) = (at(spread.low), at(spread.high)) {
        chart.draw_series([PathElement::new(vec![(low, y), (high, y)], BLUE.stroke_width(2))])?;
    }
    let dot = at(spread.median).map(|median| Circle::new((median, y), 4, BLUE.filled()));
    chart.draw_series(dot)?;
    Ok(())
}

/// The figure of each variant, and its ratio to the first, measured and published.
fn words(area: &Area<'_>, layout: &Rows<'_>, position: usize, line: &Line, anchor: Option<usize>) -> Drawn {
    let first =
        anchor.unwrap_or_else(|| line.variants.iter().position(|(known, _)| known.is_some()).unwrap_or(0));
    let baseline = line.variants.get(first).copied().unwrap_or_default();
    for (row, (measured, known)) in line.variants.iter().enumerate() {
        let Some(spread) = measured else {
            layout.word(area, position, row, (0, "–"), INK)?;
            continue;
        };
        let least = if spread.at_least { "≥ " } else { "" };
        let text = format!("{least}{}", value::figure(line.metric, spread.median));
        layout.word(area, position, row, (0, &text), INK)?;
        let times = |value: f64, of: f64| format!("×{}", significant(value / of));
        if let Some(baseline) = baseline.0.filter(|baseline| baseline.median > 0.0 && row != first) {
            layout.word(area, position, row, (RATIO, &times(spread.median, baseline.median)), BLUE)?;
        }
        if let (Some(baseline), Some(known), Some(_)) =
            (baseline.1, *known, anchor.filter(|anchor| *anchor != row))
        {
            layout.word(area, position, row, (PUBLISHED, &times(known, baseline)), ORANGE)?;
        }
    }
    Ok(())
}

/// A ratio in three digits.
fn significant(ratio: f64) -> String {
    let decimals = match ratio {
        r if r >= 100.0 => 0,
        r if r >= 10.0 => 1,
        r if r >= 0.1 => 2,
        _ => 3,
    };
    number::fixed(ratio, decimals)
}
