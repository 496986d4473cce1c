//! Figures over the amount of data, both by their logarithms: a straight line has its exponent as its slope.
//!
//! Does not fit the line; the exponent is the conclusion's.

use knee_study::metric::{Metric, Unit};
use knee_study::study::{Conclusion, GrowthResult};
use plotters::prelude::*;

use super::axis;
use super::canvas::{self, Area, Drawing, Drawn, INK, LINES, PANELS, Side, WIDTH};
use crate::number;

/// Pixels of the field, of what is above it, and of a line of the legend.
const FIELD: u32 = 300;
const HEAD: u32 = 84;
const LINE: u32 = 20;
/// Pixels for what is written at the vertical axis.
const LABELS: u32 = 84;

/// The pictures of one workload: two metrics in each; none unless the study was made for growth.
pub(super) fn all(conclusion: &Conclusion, workload: &str) -> Vec<Drawing> {
    let here: Vec<&GrowthResult> = conclusion
        .growth
        .iter()
        .filter(|growth| growth.workload == workload && growth.points.len() > 1)
        .collect();
    let known = |metric: &Metric| here.iter().any(|growth| growth.metric == *metric);
    let metrics: Vec<Metric> = conclusion.metrics.iter().copied().filter(known).collect();
    let pages = metrics.chunks(PANELS).map(|metrics| {
        let of = |metric: &Metric| here.iter().copied().filter(|growth| growth.metric == *metric).collect();
        let panels: Vec<Vec<&GrowthResult>> = metrics.iter().map(of).collect();
        let names: Vec<String> = metrics.iter().map(Metric::to_string).collect();
        let alt = format!("{} over the amount of data under {workload}", names.join(" and "));
        let most = panels.iter().map(Vec::len).max().unwrap_or(0) as u32;
        let height = HEAD + FIELD + most * LINE + 12;
        let svg = canvas::picture(height, |area| draw(area, workload, &panels));
        let lines = panels.iter().flatten().map(|growth| format!("{}, {}", growth.metric, exponent(growth)));
        Drawing { alt, description: lines.collect::<Vec<_>>().join("; "), svg }
    });
    pages.collect()
}

fn draw(area: &Area<'_>, workload: &str, panels: &[Vec<&GrowthResult>]) -> Drawn {
    let reading = "both scales are logarithmic: the slope is b in figure ~ amount^b · for a rate, the figure is the time per request";
    canvas::heading(area, &format!("Growth: {workload}"), reading)?;
    let width = (WIDTH - 16) / panels.len().max(1) as u32;
    for (position, series) in panels.iter().enumerate() {
        panel(area, (8 + width * position as u32, width), series)?;
    }
    Ok(())
}

fn panel(area: &Area<'_>, (left, width): (u32, u32), series: &[&GrowthResult]) -> Drawn {
    let Some(metric) = series.first().map(|growth| growth.metric) else { return Ok(()) };
    let mut amounts: Vec<u64> =
        series.iter().flat_map(|growth| growth.points.iter().map(|(size, _)| *size)).collect();
    amounts.sort_unstable();
    amounts.dedup();
    let at = |value: f64| axis::position(metric, value);
    let positions: Vec<f64> =
        series.iter().flat_map(|growth| &growth.points).filter_map(|(_, value)| at(*value)).collect();
    let (Some(x), Some(y)) = (axis::of_amounts(&amounts), axis::of_figures(metric, &positions)) else {
        return Ok(());
    };
    let unit = if metric.unit() == Unit::PerSecond { ", requests/s" } else { "" };
    canvas::write(
        area,
        &format!("{metric}{unit}"),
        ((left + LABELS) as i32, HEAD as i32),
        13,
        Side::Left,
        INK,
    )?;
    let field = area.clone().shrink((left, HEAD + 12), (width - 12, FIELD - 12));
    let mut chart = canvas::frame(&field, &x, &y, "amount of data", LABELS)?;
    for (position, growth) in series.iter().enumerate() {
        let colour = LINES[position % LINES.len()];
        let points =
            || growth.points.iter().filter_map(|(size, value)| Some(((*size as f64).ln(), at(*value)?)));
        chart.draw_series(LineSeries::new(points(), colour.stroke_width(2)))?;
        chart.draw_series(points().map(|point| Circle::new(point, 4, colour.filled())))?;
        let line = (HEAD + FIELD + LINE * position as u32 + LINE / 2) as i32;
        let start = (left + LABELS) as i32;
        area.draw(&Circle::new((start + 5, line), 4, colour.filled()))?;
        let text = canvas::fitting(&exponent(growth), width - LABELS - 12);
        canvas::write(area, &text, (start + 16, line), 12, Side::Left, INK)?;
    }
    Ok(())
}

/// What a line shows, in words.
fn exponent(growth: &GrowthResult) -> String {
    let exponent = &growth.exponent;
    let end = |end: Option<f64>| end.map_or("?".to_owned(), |end| number::fixed(end, 2));
    let sure = if growth.sure { "" } else { "?" };
    format!(
        "{}: exponent {} ({} to {}), {}{sure}",
        growth.variant,
        number::fixed(exponent.estimate, 2),
        end(exponent.low),
        end(exponent.high),
        growth.class.name()
    )
}
