//! Draws a chart as SVG, in a size for wide pages and in one for narrow pages; the style sheet shows the one that fits.
//!
//! Knows sizes, places and classes. Does not know what is drawn, and has no colours.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::axis::Axis;
use super::{Band, Chart, Dot, Line, Shape, Stroke, Tone};

/// The size of a drawing: its width in its own pixels, and its height as a share of the chart's.
struct Size {
    class: &'static str,
    width: f64,
    height: f64,
}

const WIDE: Size = Size { class: "chart wide", width: 920.0, height: 1.0 };
const NARROW: Size = Size { class: "chart narrow", width: 360.0, height: 0.85 };

/// Pixels that a letter of a label takes at the most on average.
const LETTER: f64 = 6.6;
/// Pixels of a line of text.
const LINE_HEIGHT: f64 = 16.0;
/// Pixels above the field: the name of the vertical axis.
const HEAD: f64 = 22.0;
/// Least pixels at its left, so that charts below each other begin at the same place.
const LEFT: f64 = 54.0;
/// Pixels at the right of the field.
const MARGIN: f64 = 14.0;
/// Pixels of a dot's radius.
const RADIUS: f64 = 4.0;

/// The drawings of a chart.
pub fn draw(chart: &Chart) -> Markup {
    html! {
        (picture(chart, &WIDE))
        (picture(chart, &NARROW))
    }
}

/// A short piece of a line, for a legend.
pub fn sample(tone: Tone, stroke: Stroke) -> Markup {
    html! {
        svg.sample viewBox="0 0 26 10" aria-hidden="true" {
            path class=(format!("line {} {}", tone.class(), stroke.class())) d="M1 5H25" {}
        }
    }
}

/// Where the field is whose edges are the axes.
struct Field<'c> {
    chart: &'c Chart,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl<'c> Field<'c> {
    fn of(chart: &'c Chart, size: &Size) -> Self {
        let longest = chart.y.ticks.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let lines = if chart.x.name.is_empty() { 1.0 } else { 2.0 };
        Self {
            chart,
            left: (longest as f64 * LETTER + 12.0).max(LEFT),
            right: size.width - MARGIN,
            top: HEAD,
            bottom: chart.height * size.height - lines * LINE_HEIGHT - 6.0,
        }
    }

    fn x(&self, value: f64) -> f64 {
        self.left + self.chart.x.share(value) * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - self.chart.y.share(value) * (self.bottom - self.top)
    }
}

fn picture(chart: &Chart, size: &Size) -> Markup {
    let field = Field::of(chart, size);
    let view_box = format!("0 0 {} {:.0}", size.width, chart.height * size.height);
    html! {
        svg class=(size.class) viewBox=(view_box) role="img" {
            title { (chart.name) }
            desc { (chart.description) }
            @for band in &chart.bands { (band_of(&field, band)) }
            (vertical(&field))
            (horizontal(&field))
            @for line in &chart.lines { (line_of(&field, line)) }
            @for (position, band) in chart.bands.iter().enumerate() { (name_of(&field, band, position)) }
            @for dot in &chart.dots { (dot_of(&field, dot)) }
        }
    }
}

/// Rules and labels of the vertical axis, and its name above.
fn vertical(field: &Field<'_>) -> Markup {
    let axis = &field.chart.y;
    let mut free = f64::INFINITY;
    let labels: Vec<(f64, &str)> = ascending(axis)
        .filter_map(|(value, text)| {
            let y = field.y(value);
            (y + LINE_HEIGHT <= free + 1.0).then(|| {
                free = y;
                (y, text)
            })
        })
        .collect();
    html! {
        @for (y, text) in labels {
            path.rule d=(format!("M{:.1} {y:.1}H{:.1}", field.left, field.right)) {}
            text.end x=(pixels(field.left - 6.0)) y=(pixels(y + 4.0)) { (text) }
        }
        text.name x="0" y="12" { (axis.name) }
    }
}

/// The horizontal axis: its line, as many labels as do not touch, and its name below.
fn horizontal(field: &Field<'_>) -> Markup {
    let axis = &field.chart.x;
    let mut free = 0.0;
    let mut labels: Vec<(f64, f64, &str)> = Vec::new();
    for (value, text) in ascending(axis) {
        let (x, half) = (field.x(value), text.chars().count() as f64 * LETTER / 2.0);
        // At the end, a label is moved to the left until it fits.
        let middle = x.min(field.right + MARGIN - half).max(half);
        if middle - half >= free {
            free = middle + half + 8.0;
            labels.push((x, middle, text));
        }
    }
    let (below, name) = (field.bottom + LINE_HEIGHT, field.bottom + 2.0 * LINE_HEIGHT);
    html! {
        path.edge d=(format!("M{:.1} {:.1}H{:.1}", field.left, field.bottom, field.right)) {}
        @for (x, middle, text) in labels {
            path.edge d=(format!("M{x:.1} {:.1}v4", field.bottom)) {}
            text.mid x=(pixels(middle)) y=(pixels(below)) { (text) }
        }
        @if !axis.name.is_empty() {
            text.end.name x=(pixels(field.right)) y=(pixels(name)) { (axis.name) }
        }
    }
}

fn ascending(axis: &Axis) -> impl Iterator<Item = (f64, &str)> {
    axis.ticks.iter().map(|(value, text)| (*value, text.as_str()))
}

/// A band over the whole height.
fn band_of(field: &Field<'_>, band: &Band) -> Markup {
    let (from, to) = (field.x(band.from), field.x(band.to));
    html! {
        rect class=(format!("band {}", band.tone.class())) x=(pixels(from)) y=(pixels(field.top))
            width=(pixels((to - from).max(1.0))) height=(pixels(field.bottom - field.top)) {}
    }
}

/// The name of a band, one line lower than that of the band before it: within the band, or beside its bar.
fn name_of(field: &Field<'_>, band: &Band, position: usize) -> Markup {
    let (from, to) = (field.x(band.from), field.x(band.to));
    let y = field.top + 14.0 + LINE_HEIGHT * position as f64;
    let letters = band.name.chars().count() as f64 * LETTER;
    let left = from - 6.0 - letters;
    let x = match band.barred {
        true if left >= field.left => left,
        false if letters + 8.0 <= to - from => from + 4.0,
        _ => (to + 6.0).min(field.right - letters).max(field.left),
    };
    html! {
        @if band.barred {
            path class=(format!("line {}", band.tone.class()))
                d=(format!("M{from:.1} {:.1}v8m0 -4H{to:.1}m0 -4v8", y - 8.0)) {}
        }
        text.halo x=(pixels(x)) y=(pixels(y)) { (band.name) }
    }
}

fn line_of(field: &Field<'_>, line: &Line) -> Markup {
    let mut path = String::new();
    let mut begun = false;
    for point in &line.points {
        let Some((x, y)) = point else {
            begun = false;
            continue;
        };
        let (x, y) = (field.x(*x), field.y(*y));
        // Writing into a text cannot fail. `h0` makes a point without neighbours visible.
        let _ = if begun { write!(path, "L{x:.1} {y:.1}") } else { write!(path, "M{x:.1} {y:.1}h0") };
        begun = true;
    }
    html! {
        @if !path.is_empty() {
            path class=(format!("line {} {}", line.tone.class(), line.stroke.class())) d=(path) {}
        }
    }
}

fn dot_of(field: &Field<'_>, dot: &Dot) -> Markup {
    let (x, y) = (field.x(dot.at.0), field.y(dot.at.1));
    let class = |shape: &str| format!("{shape} {}", dot.tone.class());
    let circle = |shape: &str| {
        html! {
            circle class=(class(shape)) cx=(pixels(x)) cy=(pixels(y)) r=(pixels(RADIUS)) { title { (dot.text) } }
        }
    };
    match dot.shape {
        Shape::Disc => circle("disc"),
        Shape::Ring => circle("ring"),
        Shape::Cross => {
            let (left, right) = (x - RADIUS, x + RADIUS);
            let (top, bottom) = (y - RADIUS, y + RADIUS);
            let path = format!(
                "M{left:.1} {top:.1}L{right:.1} {bottom:.1}M{left:.1} {bottom:.1}L{right:.1} {top:.1}"
            );
            html! { path class=(class("cross")) d=(path) { title { (dot.text) } } }
        }
    }
}

/// A length in pixels, with one decimal.
fn pixels(length: f64) -> String {
    format!("{length:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<Option<(f64, f64)>>) -> Chart {
        let line = Line::new("ok", Tone::Blue, Stroke::Solid, points);
        let (x, y) = (Axis::since_start(10.0), Axis::amounts("requests/s", 100.0));
        Chart::of_lines("Throughput", "About <100> requests/s & more.", x, y, vec![line])
    }

    #[test]
    fn a_gap_splits_a_line_and_a_point_without_neighbours_is_seen() {
        let points = vec![Some((1.0, 10.0)), Some((2.0, 20.0)), None, Some((4.0, 30.0))];
        let drawn = draw(&chart(points)).into_string();
        let path = drawn.split("class=\"line c1 solid\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(
            (path.matches('M').count(), path.matches('L').count(), path.matches("h0").count()),
            (2, 1, 2)
        );
    }

    #[test]
    fn a_chart_is_named_and_described_and_its_words_are_text() {
        let drawn = draw(&chart(vec![Some((1.0, 10.0))])).into_string();
        assert_eq!(drawn.matches("<title>Throughput</title>").count(), 2, "wide and narrow");
        assert!(drawn.contains("<desc>About &lt;100&gt; requests/s &amp; more.</desc>"), "{drawn}");
    }

    #[test]
    fn no_number_of_a_broken_run_gets_out_of_the_picture() {
        let points = [f64::NAN, f64::INFINITY, -1.0, 1e300].map(|y| Some((3.0, y)));
        let drawn = draw(&chart(points.to_vec())).into_string();
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
}
