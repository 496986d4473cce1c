//! A run over time: charts of times, throughput, requests in flight and the load generator; a table of intervals.
//!
//! Places the columns of [`crate::view::column`]. Does not calculate.

use knee_core::outcome::Outcome;
use maud::{Markup, html};

use crate::View;
use crate::chart::{Axis, Band, Chart, Line, Stroke, Tone};
use crate::html::cursor::Moment;
use crate::html::picture::figure;
use crate::html::table::{self, Table, cell};
use crate::number::{self, Scale, count, rate};
use crate::text::Style;
use crate::text::times::{scale, short};
use crate::view::column::{Column, Columns};
use crate::view::reading::Reading;

/// Fewer columns than this are no course over time.
const COLUMNS_MIN: usize = 2;
/// Most rows of the table.
const ROWS_MAX: usize = 60;
/// The grace period is marked if it is longer than this share of the run.
const GRACE_SHOWN: f64 = 0.01;

/// Positions of a column's times, with their names.
const TIMES: [&str; 4] = ["p50", "p90", "p99", "max"];

/// The position of the p99.
const P99: usize = 2;

/// Charts over time, with a note on what their columns are or why there are none.
pub(super) fn figures(charts: &[Option<Chart>], view: &View, columns: &Columns) -> Markup {
    html! {
        @for chart in charts.iter().flatten() { (figure(chart)) }
        @if let Some(note) = note(view, columns) { p.note { (note) } }
    }
}

/// What the columns are, or why there are none.
fn note(view: &View, columns: &Columns) -> Option<String> {
    let intervals = view.series.len();
    if columns.columns.len() < COLUMNS_MIN {
        let seconds = view.head.plan.interval;
        return Some(format!(
            "The run is too short for figures over time: it takes two intervals of {seconds}."
        ));
    }
    let merged = columns.merged;
    (merged > 1).then(|| {
        format!(
            "Each point covers {merged} of the {} intervals: the mean of rates, the worst of times and shares.",
            count(intervals as u64)
        )
    })
}

/// Why no p99 is drawn over time although the whole run has one; `None` if one is drawn, or if there is no chart.
pub(super) fn missing_tail(view: &View, columns: &Columns) -> Option<String> {
    let times: Figures = |column| &column.response;
    let is_known = view.total.response.percentile(TIMES[P99]).time().is_some();
    let needed = columns.columns.iter().find_map(|column| match column.response[P99] {
        Reading::TooFew { needed } => Some(needed),
        _ => None,
    })?;
    let is_missing = is_known && tail(columns, times) != P99 && columns.columns.len() >= COLUMNS_MIN;
    is_missing
        .then(|| format!("There is no p99 over time: it takes {} requests per interval.", count(needed)))
}

/// Response times alone, for the first screen.
pub(super) fn response(view: &View, columns: &Columns) -> Option<Chart> {
    let times: Figures = |column| &column.response;
    let lines = [
        (3, "response time max", Tone::Grey, Stroke::Thin, times),
        (tail(columns, times), "response time", Tone::Orange, Stroke::Solid, times),
        (0, "response time p50", Tone::Blue, Stroke::Solid, times),
    ];
    of_times(view, columns, "Response time over time", &lines)
}

/// Response time beside service time.
pub(super) fn both_times(view: &View, columns: &Columns) -> Option<Chart> {
    let (response, service): (Figures, Figures) = (|column| &column.response, |column| &column.service);
    let tail = tail(columns, response);
    let lines = [
        (tail, "response time", Tone::Orange, Stroke::Solid, response),
        (tail, "service time", Tone::Ochre, Stroke::Dashed, service),
        (0, "response time p50", Tone::Blue, Stroke::Solid, response),
        (0, "service time p50", Tone::Sky, Stroke::Dashed, service),
    ];
    of_times(view, columns, "Response time and service time over time", &lines)
}

/// The times of a column.
type Figures = fn(&Column) -> &[Reading; 4];

/// A line of times: which of a column's times, its name, its colour, its stroke, whose times.
type Wanted = (usize, &'static str, Tone, Stroke, Figures);

/// The highest percentile that most columns support; the greatest time if they support none but the median.
fn tail(columns: &Columns, times: Figures) -> usize {
    let of = |position: usize| {
        columns.columns.iter().filter(|column| times(column)[position].time().is_some()).count()
    };
    [P99, 1].into_iter().find(|position| of(*position) * 2 > of(3)).unwrap_or(3)
}

fn of_times(view: &View, columns: &Columns, name: &str, wanted: &[Wanted]) -> Option<Chart> {
    let mut lines: Vec<Line> = Vec::new();
    for (position, name, tone, stroke, times) in wanted {
        let figure = |column: &Column| times(column)[*position].nanos().filter(|nanos| *nanos > 0.0);
        let of_tail = !name.ends_with(TIMES[*position]);
        let name = if of_tail { format!("{name} {}", TIMES[*position]) } else { (*name).to_owned() };
        // The tail can be the greatest time, which has a line already.
        if lines.iter().all(|line| line.name != name) {
            lines.push(line(&name, *tone, *stroke, columns, figure));
        }
    }
    let drawn = || lines.iter().flat_map(|line| line.points.iter().flatten()).map(|(_, nanos)| *nanos);
    let (least, most) = (drawn().reduce(f64::min)?, drawn().reduce(f64::max)?);
    let y = Axis::times("logarithmic", least, most);
    let description = format!("{name}, from {} to {}.", number::time(least, None), number::time(most, None));
    chart(view, columns, name, &description, y, lines)
}

/// Requests that came due, ended ok, and ended otherwise.
pub(super) fn throughput(view: &View, columns: &Columns) -> Option<Chart> {
    let mut lines = Vec::new();
    if view.head.plan.is_open() {
        lines.push(line("scheduled", Tone::Grey, Stroke::Dashed, columns, Column::offered));
    }
    lines.push(line("ok", Tone::Green, Stroke::Solid, columns, |column| column.rate(Outcome::Ok)));
    if view.total.not_ok() > 0 {
        lines.push(line("not ok", Tone::Orange, Stroke::Dotted, columns, Column::not_ok_rate));
    }
    amounts(view, columns, "Throughput over time", "requests/s", lines)
}

/// Requests in flight, and those that waited for a connection.
pub(super) fn in_flight(view: &View, columns: &Columns) -> Option<Chart> {
    if columns.columns.iter().all(|column| column.in_flight == 0 && column.backlog == 0) {
        return None;
    }
    let mut lines =
        vec![line("in flight", Tone::Blue, Stroke::Solid, columns, |column| Some(column.in_flight as f64))];
    if columns.columns.iter().any(|column| column.backlog > 0) {
        let backlog = |column: &Column| Some(column.backlog as f64);
        lines.push(line("waiting for a connection", Tone::Orange, Stroke::Dashed, columns, backlog));
    }
    let chart = amounts(view, columns, "Requests in flight over time", "requests", lines)?;
    Some(Chart { y: chart.y.clone().of_counts(), ..chart })
}

/// Requests that did not end ok, by outcome.
pub(super) fn outcomes(view: &View, columns: &Columns) -> Option<Chart> {
    const SHOWN: [(Outcome, Tone, Stroke); 5] = [
        (Outcome::HttpError, Tone::Orange, Stroke::Solid),
        (Outcome::TransportError, Tone::Purple, Stroke::Solid),
        (Outcome::Timeout, Tone::Blue, Stroke::Dashed),
        (Outcome::Unsent, Tone::Ochre, Stroke::Dashed),
        (Outcome::Censored, Tone::Grey, Stroke::Dotted),
    ];
    let happened = SHOWN.iter().filter(|(outcome, ..)| view.total.books.count(*outcome) > 0);
    let lines = happened.map(|(outcome, tone, stroke)| {
        line(outcome.name(), *tone, *stroke, columns, |column| column.rate(*outcome))
    });
    amounts(view, columns, "Requests not ok over time", "requests/s", lines.collect())
}

/// The generator lag.
pub(super) fn generator_lag(view: &View, columns: &Columns) -> Option<Chart> {
    let lag = |column: &Column| column.generator_lag_p99.map(|lag| lag.0 as f64).filter(|lag| *lag > 0.0);
    let lines = vec![line("generator lag p99", Tone::Purple, Stroke::Solid, columns, lag)];
    let drawn = || lines.iter().flat_map(|line| line.points.iter().flatten()).map(|(_, nanos)| *nanos);
    let y = Axis::times("logarithmic", drawn().reduce(f64::min)?, drawn().reduce(f64::max)?);
    let description = "How late the load generator itself sent requests.";
    chart(view, columns, "Generator lag over time", description, y, lines)
}

/// The CPUs.
pub(super) fn cpus(view: &View, columns: &Columns) -> Option<Chart> {
    let lines = vec![
        line("busiest worker", Tone::Purple, Stroke::Solid, columns, |column| column.worker_cpu),
        line("all CPUs of this machine", Tone::Grey, Stroke::Dashed, columns, |column| column.host_busy),
        line("steal", Tone::Orange, Stroke::Dotted, columns, |column| {
            column.steal.filter(|steal| *steal > 0.0)
        }),
    ];
    let description = "Shares of a CPU that the busiest worker used, and of all CPUs that were busy.";
    chart(view, columns, "CPU use over time", description, Axis::shares("of a CPU, or of all"), lines)
}

fn amounts(view: &View, columns: &Columns, name: &str, unit: &str, lines: Vec<Line>) -> Option<Chart> {
    let drawn = lines.iter().flat_map(|line| line.points.iter().flatten()).map(|(_, amount)| *amount);
    let most = drawn.reduce(f64::max)?;
    let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
    let description = format!("{name}: {}; at most {} {unit}.", names.join(", "), rate(most));
    chart(view, columns, name, &description, Axis::amounts(unit, most), lines)
}

/// A chart over the whole run, if it has a course.
pub(super) fn chart(
    view: &View,
    columns: &Columns,
    name: &str,
    description: &str,
    y: Axis,
    lines: Vec<Line>,
) -> Option<Chart> {
    if columns.columns.len() < COLUMNS_MIN {
        return None;
    }
    let end = columns.columns.last()?.to.max(view.span.total).as_secs_f64();
    let chart = Chart::of_lines(name, description, Axis::since_start(end), y, lines);
    Some(Chart { bands: bands(view), ..chart })
}

/// The warm-up, and a grace period that is long enough to be seen.
fn bands(view: &View) -> Vec<Band> {
    let (warm_up, window, total) = (view.span.warm_up, view.span.window, view.span.total);
    let measured = warm_up.saturating_add(window).as_secs_f64();
    let band = |from: f64, to: f64, name: &str| Band {
        from,
        to,
        tone: Tone::Grey,
        name: name.to_owned(),
        barred: false,
    };
    let mut bands = Vec::new();
    if warm_up.0 > 0 {
        bands.push(band(0.0, warm_up.as_secs_f64(), "warm-up"));
    }
    if view.span.grace.as_secs_f64() > GRACE_SHOWN * total.as_secs_f64() {
        bands.push(band(measured, total.as_secs_f64(), "grace period"));
    }
    bands
}

/// What the cursor says at each column; nothing for a run without a course.
pub(super) fn moments(view: &View, columns: &Columns, style: &Style) -> Vec<Moment> {
    if columns.columns.len() < COLUMNS_MIN {
        return Vec::new();
    }
    let unit = scale(&view.total.response, style);
    columns.columns.iter().map(|column| moment(column, view, unit)).collect()
}

fn moment(column: &Column, view: &View, unit: Scale) -> Moment {
    let mut pieces = Vec::new();
    let mut per_second = |name: &str, figure: Option<f64>| {
        pieces.extend(figure.map(|figure| format!("{name} {}/s", rate(figure))));
    };
    if view.head.plan.is_open() {
        per_second("scheduled", column.offered());
    }
    per_second("ok", column.rate(Outcome::Ok));
    if column.not_ok() > 0 {
        per_second("not ok", column.not_ok_rate());
    }
    for (name, times) in [("response", &column.response), ("service", &column.service)] {
        let known: Vec<String> = TIMES
            .iter()
            .zip(times)
            .filter(|(_, time)| time.time().is_some())
            .map(|(which, time)| format!("{which} {}", short(*time, unit)))
            .collect();
        if !known.is_empty() {
            pieces.push(format!("{name} {} {}", known.join(", "), unit.unit));
        }
    }
    pieces.push(format!("in flight {}", count(column.in_flight)));
    if column.backlog > 0 {
        pieces.push(format!("waiting {}", count(column.backlog)));
    }
    let warm_up = if column.warm_up { " (warm-up)" } else { "" };
    let text = format!("{} to {}{warm_up}: {}", column.from, column.to, pieces.join(" · "));
    Moment { from: column.from.as_secs_f64(), to: column.to.as_secs_f64(), text }
}

fn line(
    name: &str,
    tone: Tone,
    stroke: Stroke,
    columns: &Columns,
    figure: impl Fn(&Column) -> Option<f64>,
) -> Line {
    let known = |column: &Column| figure(column).filter(|figure| figure.is_finite());
    let points = columns.columns.iter().map(|column| Some((column.middle(), known(column)?)));
    Line::new(name, tone, stroke, points.collect())
}

/// The figures of the intervals, for readers who want numbers.
pub(super) fn table(view: &View, style: &Style) -> Option<Markup> {
    let columns = Columns::of(&view.series, ROWS_MAX);
    if columns.columns.len() < COLUMNS_MIN {
        return None;
    }
    let scale = scale(&view.total.response, style);
    let of_time = |name: &str| table::number(&format!("{name}, {}", scale.unit));
    let mut table = Table::new(
        "Figures of the run over time",
        [
            table::number("until"),
            table::number("scheduled/s"),
            table::number("ok/s"),
            table::number("not ok"),
            of_time("response p50"),
            of_time("response max"),
            of_time("service p50"),
            of_time("service max"),
            table::number("in flight"),
        ],
    );
    for column in &columns.columns {
        let per_second = |figure: Option<f64>| cell(figure.map_or_else(|| "–".to_owned(), rate));
        let time = |figure: Reading| cell(short(figure, scale));
        table.rows.push(vec![
            cell(format!("{}{}", column.to, if column.warm_up { " *" } else { "" })),
            per_second(column.offered()),
            per_second(column.rate(Outcome::Ok)),
            cell(count(column.not_ok())),
            time(column.response[0]),
            time(column.response[3]),
            time(column.service[0]),
            time(column.service[3]),
            cell(count(column.in_flight)),
        ]);
    }
    let warm_up = columns.columns.iter().any(|column| column.warm_up);
    Some(html! {
        details {
            summary { "Show " (columns.columns.len()) " rows" }
            (table.markup())
            @if warm_up { p.note { "* warm-up" } }
            @if columns.merged > 1 { p.note { "Each row covers " (columns.merged) " intervals; times are the worst of them." } }
        }
    })
}
