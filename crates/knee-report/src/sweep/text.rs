//! The report of a sweep for a terminal: the answer first, then the curve and the steps.
//!
//! Lays a [`SweepView`] out and calculates only the positions of dots on a grid. Lines never
//! exceed the width.

use knee_study::sweep::conclusion::Facts;
use knee_study::sweep::rule::Outcome;
use knee_study::sweep::{Config, FinishedStep, Report};

use super::curve::Curve;
use super::events::REMARK;
use super::{About, Row, SweepView, row, word};
use crate::clean;
use crate::number::{self, Unit, level};
use crate::text::Style;
use crate::text::ink::{Tone, cut, left, right, width, wrap, wrap_words};
use crate::text::table::{Cell, Side, Table};
use crate::text::validity::headline;
use crate::view::reading::Reading;

/// Narrower than this nothing can be laid out.
const WIDTH_MIN: usize = 60;
/// Rows of the curve.
const HEIGHT: usize = 12;

/// The whole report; every line ends in a line feed.
pub fn render(view: &SweepView<'_>, style: &Style) -> String {
    let style = &Style { width: style.width.max(WIDTH_MIN), ..*style };
    let mut blocks = vec![words("", &view.headline, style), title(view, style), findings(view, style)];
    blocks.extend(view.stops.as_ref().map(|stops| stops.lines(style)));
    blocks.push(curve(&view.curve, style));
    blocks.push(goodput(&view.curve, style));
    blocks.push(steps(view, style));
    blocks.push(events(view, style));
    for remark in &view.remarks {
        let mut lines = vec![style.palette.paint(Tone::Strong, remark.heading)];
        lines.extend(remark.sentences.iter().flat_map(|sentence| words("  ", sentence, style)));
        blocks.push(lines);
    }
    blocks.push(validity(view, style));
    blocks.push(next(view, style));
    let texts: Vec<String> =
        blocks.iter().filter(|block| !block.is_empty()).map(|block| block.join("\n")).collect();
    texts.join("\n\n") + "\n"
}

fn title(view: &SweepView<'_>, style: &Style) -> Vec<String> {
    let build = format!("knee {}", clean::line(&view.about.build.version));
    let rest = format!("sweep of {}", clean::line(&view.about.title));
    let rest = cut(&rest, style.width.saturating_sub(width(&build) + 2));
    let mut lines = vec![format!("{}  {rest}", style.palette.paint(Tone::Strong, &build))];
    lines.extend(wrap("", view.terms.iter().map(String::as_str), ", ", style.width));
    lines
}

/// A sentence, wrapped at its spaces.
fn words(first: &str, sentence: &str, style: &Style) -> Vec<String> {
    wrap_words(first, &clean::line(sentence), style.width)
}

fn findings(view: &SweepView<'_>, style: &Style) -> Vec<String> {
    let name = view.findings.iter().map(|one| width(one.name)).max().unwrap_or(0);
    let value = view.findings.iter().map(|one| width(&one.value)).max().unwrap_or(0);
    let mut lines = Vec::new();
    for one in &view.findings {
        let start = format!("  {}  ", left(one.name, name));
        let room = style.width.saturating_sub(width(&start));
        let beside = one.remark.is_empty() || value + 2 + width(&one.remark) <= room;
        let shown = style.palette.paint(Tone::Strong, &one.value);
        let pad = " ".repeat(value.saturating_sub(width(&one.value)) + 2);
        if beside {
            lines.push(
                format!("{start}{shown}{pad}{}", style.palette.paint(Tone::Faint, &one.remark))
                    .trim_end()
                    .to_owned(),
            );
        } else {
            lines.push(format!("{start}{shown}"));
            let remark = words(&" ".repeat(width(&start)), &one.remark, style);
            lines.extend(remark.iter().map(|line| style.palette.paint(Tone::Faint, line)));
        }
    }
    lines
}

/// A field of characters with an axis at its left.
struct Grid {
    cells: Vec<Vec<char>>,
    labels: Vec<String>,
}

impl Grid {
    fn new(columns: usize, rows: usize) -> Self {
        Self { cells: vec![vec![' '; columns]; rows], labels: vec![String::new(); rows] }
    }

    /// Puts a sign at shares of the field, 0 to 1 from the lower left.
    fn put(&mut self, x: f64, y: f64, sign: char) {
        let rows = self.cells.len();
        let row = rows - 1 - position(y, rows);
        let column = position(x, self.cells[row].len());
        self.cells[row][column] = sign;
    }

    fn label(&mut self, y: f64, text: String) {
        let rows = self.labels.len();
        self.labels[rows - 1 - position(y, rows)] = text;
    }

    fn lines(&self) -> Vec<String> {
        let label = self.labels.iter().map(|text| width(text)).max().unwrap_or(0);
        let mut lines: Vec<String> = Vec::new();
        for (cells, text) in self.cells.iter().zip(&self.labels) {
            let tick = if text.is_empty() { '│' } else { '┤' };
            let line: String = cells.iter().collect();
            lines.push(format!("  {} {tick}{}", right(text, label), line.trim_end()));
        }
        lines.push(format!("  {} └{}", " ".repeat(label), "─".repeat(self.cells[0].len())));
        lines
    }

    fn indent(&self) -> usize {
        4 + self.labels.iter().map(|text| width(text)).max().unwrap_or(0)
    }
}

/// Index, among `count`, of a share of 0 to 1.
fn position(share: f64, count: usize) -> usize {
    ((share.clamp(0.0, 1.0) * (count - 1) as f64).round() as usize).min(count - 1)
}

/// Where between two ends a value lies, 0 to 1.
fn share(value: f64, (low, high): (f64, f64), log: bool) -> f64 {
    if high <= low {
        return 0.5;
    }
    if log { (value / low).ln() / (high / low).ln() } else { (value - low) / (high - low) }
}

/// Columns left of a field: indent, label, axis.
const MARGIN: usize = 14;

fn curve(curve: &Curve, style: &Style) -> Vec<String> {
    let (Some(levels), Some(times)) = (curve.levels(), curve.times()) else { return Vec::new() };
    let mut grid = Grid::new(style.width - MARGIN, HEIGHT);
    for exponent in -7..4 {
        let time = 10f64.powi(exponent);
        if time >= times.0 && time <= times.1 {
            grid.label(share(time, times, true), number::time(time * 1e9, style.unit));
        }
    }
    for (y, time) in [(0.0, times.0), (1.0, times.1)] {
        grid.label(y, number::time(time * 1e9, style.unit));
    }
    for dot in &curve.dots {
        let x = share(dot.level, levels, curve.log_levels);
        for (time, sign) in [(dot.tail, '○'), (dot.p50, '●')] {
            if let Some(time) = time.filter(|time| *time > 0.0) {
                grid.put(x, share(time, times, true), if dot.outcome == Outcome::Void { '?' } else { sign });
            }
        }
    }
    let heading = style.palette.paint(Tone::Strong, "Response time");
    let remark = format!("over {}: ● p50  ○ {}, logarithmic", curve.unit, curve.tail);
    let remark = cut(&remark, style.width - "Response time ".len());
    let mut lines = vec![format!("{heading} {}", style.palette.paint(Tone::Faint, &remark))];
    lines.extend(grid.lines());
    lines.extend(axis(curve, levels, &grid, style));
    lines
}

/// Numbers below the axis, and the places that are marked on it.
fn axis(curve: &Curve, levels: (f64, f64), grid: &Grid, style: &Style) -> Vec<String> {
    let columns = grid.cells[0].len();
    let indent = " ".repeat(grid.indent());
    let (first, last) = (level(levels.0), level(levels.1));
    let gap = columns.saturating_sub(width(&first) + width(&last));
    let mut lines = vec![format!("{indent}{first}{}{last}", " ".repeat(gap))];
    for mark in &curve.marks {
        let at = |value: f64| position(share(value, levels, curve.log_levels), columns);
        let (low, high) = (at(mark.interval.low), at(mark.interval.high));
        let band = match high - low {
            0 => "┃".to_owned(),
            wide => format!("┣{}┫", "━".repeat(wide - 1)),
        };
        let text = format!("{} {} to {}", mark.name, level(mark.interval.low), level(mark.interval.high));
        let band_width = high - low + 1;
        let line = if high + 2 + width(&text) <= columns {
            format!("{indent}{}{band} {text}", " ".repeat(low))
        } else if width(&text) < low {
            format!("{indent}{}{text} {band}", " ".repeat(low - 1 - width(&text)))
        } else {
            format!("{indent}{}{band}", " ".repeat(low.min(columns.saturating_sub(band_width))))
        };
        lines.push(cut(&line, style.width));
    }
    lines
}

/// Goodput over the offered load: on the diagonal as long as the service keeps up.
fn goodput(curve: &Curve, style: &Style) -> Vec<String> {
    let Some(levels) = curve.levels() else { return Vec::new() };
    let most = curve.dots.iter().map(|dot| dot.goodput).fold(0.0, f64::max);
    if most <= 0.0 {
        return Vec::new();
    }
    let mut grid = Grid::new(style.width - MARGIN, HEIGHT - 4);
    for share in [0.0, 0.5, 1.0] {
        grid.label(share, level(most * share));
    }
    for dot in &curve.dots {
        let sign = match dot.outcome {
            Outcome::Pass => '●',
            Outcome::Fail => '✗',
            Outcome::Void => '?',
        };
        grid.put(share(dot.level, levels, curve.log_levels), dot.goodput / most, sign);
    }
    let heading = style.palette.paint(Tone::Strong, "Goodput");
    let remark = format!("{} over {}: ● pass  ✗ fail  ? void", curve.rate_unit, curve.unit);
    let remark = cut(&remark, style.width - "Goodput ".len());
    let mut lines = vec![format!("{heading} {}", style.palette.paint(Tone::Faint, &remark))];
    lines.extend(grid.lines());
    lines.extend(axis(&Curve { marks: Vec::new(), ..curve.clone() }, levels, &grid, style));
    lines
}

fn steps(view: &SweepView<'_>, style: &Style) -> Vec<String> {
    let before =
        [("", Side::Left), (view.curve.unit, Side::Right), ("goodput", Side::Right), ("p50", Side::Right)];
    // A line has room for one of them: the share above a limit says more than a percentile that is not limited.
    let limit = view.limits.first();
    let limits = [(limit.map_or(view.tail, String::as_str), Side::Right)];
    let after = [("", Side::Left), ("", Side::Flexible)];
    let mut table = Table::new(before.into_iter().chain(limits).chain(after));
    for row in &view.rows {
        let before: [Cell; 4] = [
            format!("{:>2} {}", row.number, row.purpose.name()).into(),
            row.level.clone().into(),
            row.goodput.clone().into(),
            time(row.p50, style.unit).into(),
        ];
        let limit = row.over.first().cloned().unwrap_or_else(|| time(row.tail, style.unit));
        let after =
            [Cell::toned(word(row.outcome), tone(row.outcome)), clean::line(&row.brief).into_owned().into()];
        table.row(before.into_iter().chain([Cell::from(limit)]).chain(after).collect());
    }
    let mut lines = vec![style.palette.paint(Tone::Strong, "Steps")];
    lines.extend(table.lines(style.width, style.palette));
    lines
}

/// The times of events at each step, if responses are streams of them.
fn events(view: &SweepView<'_>, style: &Style) -> Vec<String> {
    let Some(events) = &view.events else { return Vec::new() };
    let columns = std::iter::once("").chain(events.columns(view.curve.unit));
    let mut table = Table::new(columns.map(|name| (name, Side::Right)));
    for row in &events.rows {
        let step = [Cell::from(row.number.to_string()), Cell::from(row.level.clone())];
        let times = row.readings().map(|reading| Cell::from(time(reading, style.unit)));
        table.row(step.into_iter().chain(times).collect());
    }
    let heading = style.palette.paint(Tone::Strong, "Events");
    let remark = cut(REMARK, style.width - "Events ".len());
    let mut lines = vec![format!("{heading} {}", style.palette.paint(Tone::Faint, &remark))];
    lines.extend(table.lines(style.width, style.palette));
    lines
}

const fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Pass => Tone::Good,
        Outcome::Fail => Tone::Bad,
        Outcome::Void => Tone::Warn,
    }
}

/// A time, or that there is none.
pub(crate) fn time(reading: Reading, unit: Option<Unit>) -> String {
    match reading {
        Reading::Exactly(nanos) => number::time(nanos.0 as f64, unit),
        Reading::AtLeast(nanos) => format!("≥ {}", number::time(nanos.0 as f64, unit)),
        Reading::TooFew { .. } | Reading::Nothing => "–".to_owned(),
    }
}

fn validity(view: &SweepView<'_>, style: &Style) -> Vec<String> {
    let mut lines = vec![headline(view.state, view.reasons.len(), style)];
    for reason in &view.reasons {
        lines.extend(words("  ", reason, style));
    }
    for note in &view.notes {
        lines.extend(words("  note: ", note, style));
    }
    lines
}

/// What to do next.
fn next(view: &SweepView<'_>, style: &Style) -> Vec<String> {
    let mut lines = vec![style.palette.paint(Tone::Strong, "Next")];
    lines.extend(view.next.iter().flat_map(|sentence| words("  ", sentence, style)));
    lines
}

/// What to know before the first step, if service and load generator share CPUs.
pub fn sharing(facts: Facts, about: &About) -> Option<String> {
    super::next::sharing(facts, about.place())
}

/// What to do while the sweep still runs, if a late generator made a step void.
pub fn advice(report: &Report, about: &About) -> Option<String> {
    super::next::advice(report, about.place())
}

/// The line printed when a step is done: its result, and about how much time is left.
pub fn step_line(trial: &FinishedStep, config: &Config, seconds_left: f64, unit: Option<Unit>) -> String {
    let Row { number, purpose, level, goodput, p50, tail, outcome, why, .. } = row(trial, config, 0.99, &[]);
    let what = format!("step {number:>2}  {:<7}  {level:>9}", purpose.name());
    let times = format!("p50 {:>8}  p99 {:>8}", time(p50, unit), time(tail, unit));
    let why = if why.is_empty() { String::new() } else { format!(": {}", cut(&clean::line(&why), 60)) };
    format!("{what}  goodput {goodput:>9}/s  {times}  {}{why}{}", word(outcome), left_text(seconds_left))
}

fn left_text(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => String::new(),
        s if s < 90.0 => format!("  (about {} s left)", (s / 10.0).ceil() * 10.0),
        s => format!("  (about {} min left)", (s / 60.0).ceil()),
    }
}
