//! The curve of a sweep as an SVG: response time above, goodput below, with the findings marked on both. Drawn by
//! `plotters`.
//!
//! Does not calculate. People who see red and green alike can distinguish the colours, and every mark
//! has its name beside it.

use plotters::coord::combinators::LogCoord;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use super::SweepView;
use super::curve::{Curve, Dot, Mark};
use crate::clean;
use crate::number::{self, level};
use knee_study::sweep::rule::Outcome;

/// Pixels.
const SIZE: (u32, u32) = (900, 640);
const FONT: &str = "sans-serif";

const BLUE_P50: RGBColor = RGBColor(0x00, 0x72, 0xb2);
const ORANGE_TAIL: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
const GREY: RGBColor = RGBColor(0x77, 0x77, 0x77);
/// Colours of the percentiles with their names, the median first.
const PERCENTILES: [(RGBColor, &str); 3] =
    [(BLUE_P50, "blue"), (ORANGE_TAIL, "orange"), (RGBColor(0x99, 0x77, 0x00), "ochre")];

/// The colour of a mark's band.
const fn colour(mark: &Mark) -> RGBColor {
    match mark.letter {
        'K' => RGBColor(0x56, 0xb4, 0xe9),
        'C' => RGBColor(0x00, 0x9e, 0x73),
        _ => RGBColor(0xcc, 0x79, 0xa7),
    }
}

/// The picture. With fewer than two levels, a text says that there is no curve.
pub fn render(view: &SweepView<'_>) -> String {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        // Writing into a text cannot fail; what plotters refuses to lay out leaves the picture bare.
        let _ = draw(view, &area);
        let _ = area.present();
    }
    svg
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(view: &SweepView<'_>, area: &Area<'_>) -> Drawn {
    area.fill(&WHITE)?;
    let title = format!("knee sweep of {}", clean::line(&view.about.title));
    let title: String = title.chars().take(90).collect();
    let area = area.titled(&title, (FONT, 20))?;
    let curve = &view.curve;
    let (Some(levels), Some(times)) = (curve.levels(), curve.times_with_limits()) else {
        let text = "There are too few steps for a curve.";
        area.draw(&Text::new(text, (40, 60), (FONT, 16).into_font().color(&GREY)))?;
        return Ok(());
    };
    // Levels that span far are drawn in proportion; each scale is a type of its own.
    let (upper, lower) = area.split_vertically(360);
    let times = (times.0 * 0.7, times.1 * 1.4);
    let most = curve.dots.iter().map(|dot| dot.goodput).fold(0.0, f64::max) * 1.1;
    if curve.log_levels {
        let range = || (levels.0 * 0.9..levels.1 * 1.1).log_scale();
        response(curve, &upper, range(), times)?;
        goodput(curve, &lower, range(), most)
    } else {
        let range = || levels.0..levels.1 * 1.05;
        response(curve, &upper, range(), times)?;
        goodput(curve, &lower, range(), most)
    }
}

/// Response times over levels.
fn response<X>(curve: &Curve, area: &Area<'_>, levels: X, times: (f64, f64)) -> Drawn
where
    X: AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>>,
{
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(80)
        .build_cartesian_2d(levels, (times.0..times.1).log_scale())?;
    for (position, mark) in curve.marks.iter().enumerate() {
        band(&mut chart, mark, times)?;
        // One name below the other, from the top of the field.
        let y = chart.plotting_area().get_y_axis_pixel_range().start + 6 + 16 * position as i32;
        let x = chart.plotting_area().get_x_axis_pixel_range().start + 12;
        let text = format!("{} {} to {}", mark.name, level(mark.interval.low), level(mark.interval.high));
        area.draw(&Rectangle::new([(x, y), (x + 10, y + 10)], colour(mark).mix(0.5).filled()))?;
        area.draw(&Text::new(text, (x + 16, y - 1), (FONT, 13).into_font().color(&BLACK)))?;
    }
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_label_formatter(&|x| level(*x))
        .y_label_formatter(&|seconds| number::time(seconds * 1e9, None))
        .y_desc(format!("response time ({})", names(curve)))
        .draw()?;
    for (one, (colour, _)) in curve.percentiles.iter().zip(PERCENTILES.into_iter().cycle()) {
        chart.draw_series(LineSeries::new(one.medians.iter().copied(), colour.mix(0.5)))?;
        let dot = |(level, seconds, outcome): &(f64, f64, Outcome)| {
            Circle::new((*level, *seconds), 4, fill(*outcome, colour))
        };
        chart.draw_series(one.steps.iter().map(dot))?;
    }
    limits(curve, &mut chart)
}

/// A line over the whole width for each limit, with its name.
fn limits<X>(
    curve: &Curve,
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<X, LogCoord<f64>>>,
) -> Drawn
where
    X: Ranged<ValueType = f64>,
{
    let Some((first, last)) = curve.levels() else { return Ok(()) };
    for (name, seconds) in &curve.limits {
        chart.draw_series([PathElement::new(vec![(first, *seconds), (last, *seconds)], BLACK.mix(0.7))])?;
        let style = (FONT, 13).into_font().color(&BLACK);
        chart.draw_series([Text::new(name.clone(), (first, *seconds * 1.02), style)])?;
    }
    Ok(())
}

/// The percentiles with their colours, in words.
fn names(curve: &Curve) -> String {
    let named = curve.percentiles.iter().zip(PERCENTILES.into_iter().cycle());
    named.map(|(one, (_, colour))| format!("{colour}: {}", one.name)).collect::<Vec<_>>().join(", ")
}

/// Passes are filled; void steps are rings.
fn fill(outcome: Outcome, colour: RGBColor) -> ShapeStyle {
    match outcome {
        Outcome::Pass | Outcome::Fail => colour.filled(),
        Outcome::Void => colour.mix(0.5).stroke_width(1),
    }
}

/// Goodput over levels.
fn goodput<X>(curve: &Curve, area: &Area<'_>, levels: X, most: f64) -> Drawn
where
    X: AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>>,
{
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(42)
        .y_label_area_size(80)
        .build_cartesian_2d(levels, 0.0..most.max(1e-9))?;
    for mark in &curve.marks {
        band(&mut chart, mark, (0.0, most))?;
    }
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_label_formatter(&|x| level(*x))
        .y_label_formatter(&|y| level(*y))
        .x_desc(curve.unit)
        .y_desc(format!("goodput, {} (cross: fail)", curve.rate_unit))
        .draw()?;
    let dots = |wanted: Outcome| curve.dots.iter().filter(move |dot| dot.outcome == wanted);
    let at = |dot: &Dot| (dot.level, dot.goodput);
    chart.draw_series(dots(Outcome::Pass).map(|dot| Circle::new(at(dot), 4, BLUE_P50.filled())))?;
    chart.draw_series(dots(Outcome::Void).map(|dot| Circle::new(at(dot), 4, GREY.stroke_width(1))))?;
    chart.draw_series(dots(Outcome::Fail).map(|dot| Cross::new(at(dot), 4, ORANGE_TAIL.stroke_width(2))))?;
    Ok(())
}

/// The band of a finding, over the whole height.
fn band<X, Y>(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<X, Y>>,
    mark: &Mark,
    (bottom, top): (f64, f64),
) -> Drawn
where
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    let corners = [(mark.interval.low, bottom), (mark.interval.high, top)];
    chart.draw_series([Rectangle::new(corners, colour(mark).mix(0.18).filled())])?;
    Ok(())
}
