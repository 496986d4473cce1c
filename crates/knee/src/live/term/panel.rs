//! The panels of the screen: rate and times over time, figures of the last interval, answers.
//!
//! Does not decide where a panel stands (see [`super::draw`]).

use knee_core::outcome::Outcome;
use knee_core::record::Point;
use knee_core::unit::Nanos;
use knee_report::number;
use knee_report::view::reading::Reading;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Paragraph, Sparkline, SparklineBar};

use super::screen::Picture;
use crate::live::figure::{clock, percent, rate, short, time_or_dash};
use crate::live::history::Moment;

/// Places of the times in a [`Moment`].
const P50: usize = 0;
const MAX: usize = 2;

/// Which times a chart shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Response time alone.
    Response,
    /// Service time alone.
    Service,
    /// Both.
    Both,
}

/// The rate as bars, newest at the right. They are stretched to the whole width, as the lines over
/// time below them are.
pub fn draw_rates(picture: &Picture, frame: &mut Frame, area: Rect) {
    let block = Block::bordered();
    let count = usize::from(block.inner(area).width);
    let (width, name) = picture.bar(count);
    let bars = (picture.run.history.end().0.div_ceil(width.0) as usize).min(count);
    let rates = picture.run.history.rates(width, bars);
    let most = rates.iter().flatten().copied().fold(0.0, f64::max);
    let title = if most > 0.0 {
        format!(" Requests/s (bar {name}, top {}) ", short(most))
    } else {
        " Requests/s ".to_owned()
    };
    // A sparkline takes whole numbers; a thousandth of the highest bar is finer than any cell.
    let scale = if most > 0.0 { 1_000.0 / most } else { 0.0 };
    let columns = if bars == 0 { 0 } else { count };
    let bars = (0..columns).map(|column| {
        let rate = rates[column * bars / count];
        SparklineBar::from(rate.map(|rate| (rate * scale).round() as u64))
    });
    let sparkline = Sparkline::default()
        .block(block.title(title))
        .data(bars)
        .max(1_000)
        .absent_value_symbol(" ")
        .style(picture.tone(Color::Cyan));
    frame.render_widget(sparkline, area);
}

/// The figures of the last interval, in a box.
pub fn draw_figures(picture: &Picture, frame: &mut Frame, area: Rect) {
    let title = picture
        .run
        .last
        .as_ref()
        .map_or_else(|| " Last interval ".to_owned(), |last| format!(" Last {} ", clock(tenths(last))));
    frame.render_widget(Paragraph::new(figures(picture)).block(Block::bordered().title(title)), area);
}

/// The length of an interval to a tenth of a second: none ends to the nanosecond.
fn tenths(interval: &Point) -> Nanos {
    const TENTH: u64 = 100_000_000;
    let length = interval.to.since(interval.from).0;
    Nanos((length + TENTH / 2) / TENTH * TENTH)
}

/// The figures of the last interval.
pub fn figures(picture: &Picture) -> Vec<Line<'static>> {
    let Some(last) = &picture.run.last else {
        return vec![Line::from("the first interval is not complete yet")];
    };
    let row = |name: &str, times: [Reading; 4]| {
        let [p50, _, p99, most] = times.map(|reading| time_or_dash(reading.time(), picture.unit()));
        Line::from(format!("{name:<9}{p50:>9}{p99:>9}{most:>9}"))
    };
    let moment = knee_report::view::moment::Moment::of(last);
    let per_second = |count| last.per_second(count).unwrap_or(0.0);
    vec![
        Line::styled(format!("{:<9}{:>9}{:>9}{:>9}", "", "p50", "p99", "max"), Style::new().bold()),
        row("response", moment.response),
        row("service", moment.service),
        Line::from(format!(
            "completed {}, scheduled {}",
            rate(per_second(last.ended())),
            rate(per_second(last.planned))
        )),
        Line::from(format!(
            "in flight {}, waiting {}",
            number::count(last.in_flight),
            number::count(last.backlog)
        )),
        Line::from(format!(
            "received {}/s, {} in total",
            number::bytes(per_second(last.bytes_received)),
            number::bytes(picture.run.bytes as f64)
        )),
    ]
}

/// Outcomes other than ok, status codes, and errors with their cause, so far.
pub fn draw_answers(picture: &Picture, frame: &mut Frame, area: Rect) {
    let block = Block::bordered().title(" Responses and errors so far ");
    let inner = block.inner(area);
    let mut lines = answers(picture, usize::from(inner.width));
    let room = usize::from(inner.height);
    if lines.len() > room && room > 0 {
        let more = lines.len() - (room - 1);
        lines.truncate(room - 1);
        lines.push(Line::from(format!("and {more} more kinds")));
    }
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn answers(picture: &Picture, width: usize) -> Vec<Line<'static>> {
    let ended = picture.run.ended();
    let row = |name: String, count: u64, style: Style| {
        let count = number::count(count);
        let room = width.saturating_sub(count.chars().count() + 1);
        let name: String = name.chars().take(room).collect();
        Line::from(vec![Span::styled(format!("{name:<room$} "), style), Span::raw(count)])
    };
    let mut lines = Vec::new();
    if ended > 0 {
        let ok = picture.run.by_outcome[Outcome::Ok as usize];
        let share = ok as f64 / ended as f64;
        // Only all of them are 100 %.
        let share = if ok < ended && share > 0.995 { "over 99 %".to_owned() } else { percent(share) };
        lines.push(row(format!("ok, {share} of {}", number::count(ended)), ok, Style::new()));
    }
    for outcome in Outcome::ALL.into_iter().skip(1) {
        let count = picture.run.by_outcome[outcome as usize];
        if count > 0 {
            lines.push(row(outcome.name().replace('_', " "), count, picture.tone(Color::Red)));
        }
    }
    for (fault, count) in most_first(picture.run.faults.iter().map(|(fault, count)| (*fault, *count))) {
        let blame = fault.blame().name();
        let sentence = format!("{blame}: {}", fault.sentence());
        // The count and a blank must fit beside it.
        let fits = sentence.chars().count() + number::count(count).len() < width;
        let name = if fits { sentence } else { format!("{blame}: {}", fault.name().replace('_', " ")) };
        lines.push(row(name, count, picture.tone(Color::Red)));
    }
    for (code, count) in most_first(picture.run.status.iter().map(|(code, count)| (*code, *count))) {
        let color = if code < 400 { Color::Green } else { Color::Red };
        lines.push(row(format!("[{code}]"), count, picture.tone(color)));
    }
    lines
}

fn most_first<K: Ord>(counts: impl Iterator<Item = (K, u64)>) -> Vec<(K, u64)> {
    let mut counts: Vec<_> = counts.collect();
    counts.sort_by(|(one, a), (other, b)| b.cmp(a).then(one.cmp(other)));
    counts
}

/// A line of a chart: what it shows, and how.
struct Curve {
    name: &'static str,
    color: Color,
    marker: Marker,
    points: Vec<(f64, f64)>,
}

/// Medians and maxima over time on a logarithmic axis.
pub fn draw_times(picture: &Picture, frame: &mut Frame, area: Rect, which: Times) {
    let count = usize::from(area.width.saturating_sub(10));
    let (bar, _) = picture.bar(count.max(1));
    let end = picture.run.history.end().as_secs_f64();
    let start = (end - bar.as_secs_f64() * count as f64).max(0.0);
    let curves = curves(picture, which, start);
    let title = times_title(picture, which, &curves);
    let values = curves.iter().flat_map(|curve| curve.points.iter().map(|(_, value)| *value));
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        frame.render_widget(Block::bordered().title(title), area);
        return;
    }
    let (low, labels) = decades(low, high);
    let high = low + (labels.len() - 1) as f64;
    let datasets = curves
        .iter()
        .map(|curve| {
            Dataset::default()
                .marker(curve.marker)
                .graph_type(GraphType::Line)
                .style(picture.tone(curve.color))
                .data(&curve.points)
        })
        .collect();
    let [from, to] = [start, end].map(|seconds| clock(Nanos::from_secs_f64(seconds)));
    let chart = Chart::new(datasets)
        .block(Block::bordered().title(title))
        .x_axis(Axis::default().bounds([start, end.max(start + 1.0)]).labels([from, to]))
        .y_axis(Axis::default().bounds([low, high]).labels(labels));
    frame.render_widget(chart, area);
}

fn curves(picture: &Picture, which: Times, start: f64) -> Vec<Curve> {
    let points = |times: fn(&Moment) -> [Option<Nanos>; 3], place: usize| {
        let middle = |moment: &Moment| f64::midpoint(moment.from.as_secs_f64(), moment.to.as_secs_f64());
        let moments = picture.run.history.moments().iter();
        moments
            .filter(|moment| moment.to.as_secs_f64() > start)
            .filter_map(|moment| Some((middle(moment), times(moment)[place]?.0)))
            // A time of zero has no place on a logarithmic axis; a nanosecond is the least there is.
            .map(|(at, nanos)| (at, (nanos.max(1) as f64).log10()))
            .collect()
    };
    let curve = |name, color, marker, points| Curve { name, color, marker, points };
    let response = |place| points(|moment| moment.response, place);
    let service = |place| points(|moment| moment.service, place);
    let mut curves = Vec::new();
    if which != Times::Service {
        curves.push(curve("max", Color::Yellow, Marker::Braille, response(MAX)));
        curves.push(curve("p50", Color::Green, Marker::Braille, response(P50)));
    }
    if which != Times::Response {
        curves.push(curve("max", Color::Magenta, Marker::Dot, service(MAX)));
        curves.push(curve("p50", Color::Blue, Marker::Dot, service(P50)));
    }
    curves
}

fn times_title(picture: &Picture, which: Times, curves: &[Curve]) -> Line<'static> {
    let legend = |curve: &Curve| Span::styled(format!("{} ", curve.name), picture.tone(curve.color));
    let mut spans = Vec::new();
    for (place, curve) in curves.iter().enumerate() {
        if place % 2 == 0 {
            let service = curve.marker == Marker::Dot;
            spans.push(Span::raw(match (which, service) {
                (Times::Both, true) => "service • ",
                (Times::Both, false) => " response ⠒ ",
                (_, true) => " Service time ",
                (_, false) => " Response time ",
            }));
        }
        spans.push(legend(curve));
    }
    Line::from(spans)
}

/// The power of ten below `low`, and a label for each power from there to the one above `high`.
/// Both are logarithms of nanoseconds.
fn decades(low: f64, high: f64) -> (f64, Vec<String>) {
    let low = low.floor().max(0.0);
    let high = high.ceil().max(low + 1.0);
    let labels = (low as u32..=high as u32).map(|power| decade(10u64.saturating_pow(power))).collect();
    (low, labels)
}

/// A power of ten of nanoseconds, short: `1 ms`, `10 s`.
fn decade(nanos: u64) -> String {
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{} us", nanos / 1_000),
        1_000_000..1_000_000_000 => format!("{} ms", nanos / 1_000_000),
        _ => format!("{} s", nanos / 1_000_000_000),
    }
}
