//! Draws a chart as SVG, in a size for wide pages and in one for narrow pages; the style sheet shows the one that fits.
//!
//! Knows sizes and places. Does not know what is drawn; [`super::paint`] has the elements with their colours.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::axis::Axis;
use super::paint::{self, Anchor};
use super::{Band, Chart, Dot, Limit, Line, Shape, Stroke, Tone};

/// The size of a drawing: its width in its own pixels, and its height as a share of the chart's.
struct Size {
    class: &'static str,
    width: f64,
    height: f64,
    /// Whether it is not shown without a style sheet.
    hidden: bool,
}

const WIDE: Size = Size { class: "chart wide", width: 920.0, height: 1.0, hidden: false };
const NARROW: Size = Size { class: "chart narrow", width: 360.0, height: 0.85, hidden: true };
/// The letters where no style sheet chooses them.
const LETTERS: &str = "system-ui, Helvetica, Arial, sans-serif";

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
        svg.sample viewBox="0 0 26 10" width="26" height="10" aria-hidden="true" {
            (paint::line(tone, stroke, "M1 5H25"))
        }
    }
}

/// A short piece of a band, for a legend.
pub fn sample_of_band(tone: Tone) -> Markup {
    html! {
        svg.sample viewBox="0 0 26 10" width="26" height="10" aria-hidden="true" {
            (paint::band(tone, ("0", "0"), ("26", "10")))
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
    /// The height of the whole drawing.
    height: f64,
}

impl<'c> Field<'c> {
    fn of(chart: &'c Chart, size: &Size) -> Self {
        let longest = chart.y.ticks.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let lines = if chart.x.name.is_empty() { 1.0 } else { 2.0 };
        let left = (longest as f64 * LETTER + 12.0).max(LEFT);
        let right = size.width - MARGIN;
        let flat = Self { chart, left, right, top: HEAD, bottom: HEAD, height: HEAD };
        let above = rows_above(&flat) as f64 * LINE_HEIGHT;
        let height = (chart.height * size.height + above).round();
        Self { top: HEAD + above, bottom: height - lines * LINE_HEIGHT - 6.0, height, ..flat }
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
    let (width, height) = (size.width.to_string(), field.height.to_string());
    // Where the field is, for the cursor.
    let of_run = |text: String| chart.x.of_run.then_some(text);
    html! {
        svg class=(size.class) viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height)
            font-size="12" font-family=(LETTERS) display=[size.hidden.then_some("none")] role="img"
            data-left=[of_run(pixels(field.left))] data-right=[of_run(pixels(field.right))]
            data-top=[of_run(pixels(field.top))] data-bottom=[of_run(pixels(field.bottom))]
            data-end=[of_run(chart.x.to.to_string())] {
            title { (chart.name) }
            desc { (chart.description) }
            @for band in &chart.bands { (band_of(&field, band)) }
            (vertical(&field))
            (horizontal(&field))
            @for line in &chart.lines { (line_of(&field, line)) }
            (names_of_bands(&field))
            @for limit in &chart.limits { (limit_of(&field, limit)) }
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
            (paint::rule(&format!("M{:.1} {y:.1}H{:.1}", field.left, field.right)))
            (paint::label(Some("end"), Anchor::End, (&pixels(field.left - 6.0), &pixels(y + 4.0)), text))
        }
        (paint::label(Some("name"), Anchor::Start, ("0", "12"), &axis.name))
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
        (paint::edge(&format!("M{:.1} {:.1}H{:.1}", field.left, field.bottom, field.right)))
        @for (x, middle, text) in labels {
            (paint::edge(&format!("M{x:.1} {:.1}v4", field.bottom)))
            (paint::label(Some("mid"), Anchor::Middle, (&pixels(middle), &pixels(below)), text))
        }
        @if !axis.name.is_empty() {
            (paint::label(Some("end name"), Anchor::End, (&pixels(field.right), &pixels(name)), &axis.name))
        }
    }
}

fn ascending(axis: &Axis) -> impl Iterator<Item = (f64, &str)> {
    axis.ticks.iter().map(|(value, text)| (*value, text.as_str()))
}

/// A band over the whole height.
fn band_of(field: &Field<'_>, band: &Band) -> Markup {
    let (from, to) = (field.x(band.from), field.x(band.to));
    let size = (pixels((to - from).max(1.0)), pixels(field.bottom - field.top));
    paint::band(band.tone, (&pixels(from), &pixels(field.top)), (&size.0, &size.1))
}

/// Lines of text above the field: one for each band with a bar, and one for all others whose names fit.
fn rows_above(field: &Field<'_>) -> usize {
    let (barred, others): (Vec<&Band>, Vec<&Band>) = field.chart.bands.iter().partition(|band| band.barred);
    barred.len() + usize::from(others.into_iter().any(|band| fits_within(field, band)))
}

/// Whether a band has a name that fits into its width.
fn fits_within(field: &Field<'_>, band: &Band) -> bool {
    !band.name.is_empty() && length(&band.name) <= field.x(band.to) - field.x(band.from)
}

/// The names of the bands above the field, so that they cover no line. A band that is too narrow for its name has it in
/// the legend alone.
fn names_of_bands(field: &Field<'_>) -> Markup {
    let bands = &field.chart.bands;
    let row = |place: usize| HEAD + LINE_HEIGHT * place as f64 + 10.0;
    let (barred, others): (Vec<&Band>, Vec<&Band>) = bands.iter().partition(|band| band.barred);
    html! {
        @for (place, band) in barred.iter().enumerate() { (name_beside_bar(field, band, row(place))) }
        @for band in others { (name_within(field, band, row(barred.len()))) }
    }
}

/// The name of a band in the middle of its width, if it fits there.
fn name_within(field: &Field<'_>, band: &Band, y: f64) -> Markup {
    let middle = pixels(f64::midpoint(field.x(band.from), field.x(band.to)));
    html! {
        @if fits_within(field, band) { (paint::halo(Anchor::Middle, (&middle, &pixels(y)), &band.name)) }
    }
}

/// A bar from end to end of a band, with its name at the left if it fits there.
fn name_beside_bar(field: &Field<'_>, band: &Band, y: f64) -> Markup {
    let (from, to) = (field.x(band.from), field.x(band.to));
    let left = from - 6.0 - length(&band.name);
    // There are no labels of an axis at the left of this row.
    let x = if left >= 0.0 { left } else { (to + 6.0).min(field.right - length(&band.name)).max(0.0) };
    let bar = format!("M{from:.1} {:.1}v8m0 -4H{to:.1}m0 -4v8", y - 8.0);
    html! {
        (paint::line(band.tone, Stroke::Solid, &bar))
        (paint::halo(Anchor::Start, (&pixels(x), &pixels(y)), &band.name))
    }
}

/// Pixels that a text takes at the most.
fn length(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// A line over the whole width with its name above it, or below it at the upper edge.
fn limit_of(field: &Field<'_>, limit: &Limit) -> Markup {
    let y = field.y(limit.at);
    let text = if y - LINE_HEIGHT < field.top { y + 14.0 } else { y - 5.0 };
    html! {
        (paint::limit(&format!("M{:.1} {y:.1}H{:.1}", field.left, field.right)))
        (paint::halo(Anchor::Start, (&pixels(field.left + 4.0), &pixels(text)), &limit.name))
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
    html! { @if !path.is_empty() { (paint::line(line.tone, line.stroke, &path)) } }
}

fn dot_of(field: &Field<'_>, dot: &Dot) -> Markup {
    let (x, y) = (field.x(dot.at.0), field.y(dot.at.1));
    let circle = |filled: bool| paint::circle(filled, dot.tone, (&pixels(x), &pixels(y)), RADIUS, &dot.text);
    match dot.shape {
        Shape::Disc => circle(true),
        Shape::Ring => circle(false),
        Shape::Cross => {
            let (left, right) = (x - RADIUS, x + RADIUS);
            let (top, bottom) = (y - RADIUS, y + RADIUS);
            let path = format!(
                "M{left:.1} {top:.1}L{right:.1} {bottom:.1}M{left:.1} {bottom:.1}L{right:.1} {top:.1}"
            );
            paint::cross(dot.tone, &path, &dot.text)
        }
    }
}

/// A length in pixels, with one decimal.
pub(crate) fn pixels(length: f64) -> String {
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
        let line = drawn.split("class=\"line c1 solid\"").nth(1).unwrap().split('>').next().unwrap();
        let path = line.split(" d=\"").nth(1).unwrap();
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

    /// The value of an attribute of an element.
    fn get<'e>(element: &'e str, name: &str) -> Option<&'e str> {
        element.split(&format!(" {name}=\"")).nth(1)?.split('"').next()
    }

    #[test]
    fn a_chart_is_right_on_a_page_whose_style_sheet_is_refused() {
        let band = Band { from: 2.0, to: 8.0, tone: Tone::Sky, name: "knee".to_owned(), barred: true };
        let dot = |shape| Dot { at: (3.0, 30.0), tone: Tone::Grey, shape, text: "a step".to_owned() };
        let chart = Chart {
            bands: vec![band.clone(), Band { barred: false, ..band }],
            dots: [Shape::Disc, Shape::Ring, Shape::Cross].map(dot).to_vec(),
            limits: vec![Limit { at: 50.0, name: "p99 ≤ 50 ms".to_owned() }],
            ..chart(vec![Some((1.0, 10.0)), Some((2.0, 20.0))])
        };
        let drawn =
            format!("{}{}", draw(&chart).into_string(), sample(Tone::Blue, Stroke::Dashed).into_string());
        for element in drawn.split('<').filter(|element| !element.starts_with('/')) {
            let known = |names: &[&str]| names.iter().all(|name| get(element, name).is_some());
            let right = match element.split([' ', '>']).next().unwrap() {
                "path" if get(element, "class").unwrap().starts_with("disc") => known(&["fill"]),
                "path" => get(element, "fill") == Some("none") && known(&["stroke"]),
                "rect" => known(&["fill", "opacity", "width", "height"]),
                "circle" => known(&["fill", "stroke", "r"]),
                "text" => known(&["fill", "text-anchor"]),
                "svg" => known(&["viewBox", "width", "height"]),
                _ => true,
            };
            assert!(right, "{element}");
        }
        let pictures: Vec<&str> = drawn.split("<svg class=\"chart").skip(1).collect();
        assert_eq!(pictures.iter().map(|svg| get(svg, "display")).collect::<Vec<_>>(), [None, Some("none")]);
        assert!(pictures.iter().all(|svg| get(svg, "font-size") == Some("12")), "letters have a size");
        assert!(drawn.contains("stroke-dasharray=\"7 5\""), "{drawn}");
    }

    #[test]
    fn the_name_of_a_band_covers_no_line_and_is_left_out_where_it_does_not_fit() {
        let band =
            |from, to, name: &str| Band { from, to, tone: Tone::Grey, name: name.to_owned(), barred: false };
        let bands = vec![band(0.0, 1.0, "warm-up"), band(7.0, 10.0, "grace period")];
        let chart = Chart { bands, ..chart(vec![Some((1.0, 10.0))]) };
        let drawn = draw(&chart).into_string();
        let (wide, narrow) = drawn.split_once("chart narrow").unwrap();
        assert_eq!((wide.matches("warm-up").count(), wide.matches("grace period").count()), (1, 1), "{wide}");
        assert_eq!((narrow.matches("warm-up").count(), narrow.matches("grace period").count()), (0, 1));
        let field = |svg: &str| get(svg.split("<rect").nth(1).unwrap(), "y").unwrap().parse::<f64>().unwrap();
        for name in wide.split("<text class=\"halo\"").skip(1) {
            assert!(get(name, "y").unwrap().parse::<f64>().unwrap() < field(wide), "{name}");
        }
    }

    #[test]
    fn a_limit_is_a_line_over_the_whole_width_with_its_name() {
        let limits = vec![Limit { at: 50.0, name: "p99 ≤ 50 ms".to_owned() }];
        let drawn = draw(&Chart { limits, ..chart(vec![Some((1.0, 10.0))]) }).into_string();
        assert_eq!(drawn.matches("class=\"limit\"").count(), 2, "wide and narrow");
        assert!(drawn.contains(">p99 ≤ 50 ms</text>"), "{drawn}");
    }
}
