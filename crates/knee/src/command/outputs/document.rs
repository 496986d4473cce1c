//! The documents of outputs of other tools: one run, and two runs beside each other.
//!
//! Does not compare and does not choose a format.

use knee_audit::finding::{Finding, Grade};
use knee_audit::number::amount;
use knee_audit::pair::{CAVEAT, Compared};
use knee_audit::run::{Quantity, RunFigure, Unit};
use knee_report::number::{self, Unit as TimeUnit};
use knee_report::study::{Block, Document, Table, change};
use knee_study::metric::Metric;

use super::side::Side;

/// What no output of another tool has.
const NEVER: &str =
    "validity: the file does not say whether the load generator kept its schedule and had enough CPU";

/// A value with its unit.
fn shown(quantity: Quantity, value: f64, unit: Option<TimeUnit>) -> String {
    match quantity.unit() {
        Unit::Count => number::count(value.round() as u64),
        Unit::PerSecond => format!("{}/s", amount(value)),
        Unit::Share => number::percent(value),
        Unit::Time => number::time(value * 1e9, unit),
    }
}

/// A change of a quantity.
fn shown_change(quantity: Quantity, size: f64) -> String {
    let metric = if quantity.unit() == Unit::Share { Metric::Errors } else { Metric::Throughput };
    change(metric, size)
}

fn table<const N: usize>(columns: [&str; N], rows: Vec<Vec<String>>) -> Block {
    Block::Table(Table { columns: columns.map(str::to_owned).to_vec(), rows })
}

/// A heading with a list; nothing if the list is empty.
fn section(heading: &str, points: Vec<String>) -> Vec<Block> {
    if points.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading(heading.to_owned()), Block::List(points)]
}

/// The load in one text.
fn load(side: &Side) -> String {
    if side.load.is_empty() { "not stated".to_owned() } else { side.load.join(", ") }
}

/// The document of one output. `answer` is what the checks say of it.
pub fn one(side: &Side, answer: &str, unit: Option<TimeUnit>) -> Document {
    let mut points = vec![format!("output of {}", side.run.tool), format!("load: {}", load(side))];
    points.extend(side.findings.iter().map(point));
    let row =
        |figure: &RunFigure| vec![figure.quantity.name(), shown(figure.quantity, figure.value.value, unit)];
    let rows = side.run.figures.iter().map(row).collect();
    let mut blocks = vec![Block::Lead(answer.to_owned()), Block::List(points)];
    blocks.push(Block::Heading("Figures".to_owned()));
    blocks.push(table(["figure", "value"], rows));
    blocks.extend(section("About the figures", side.run.notes.clone()));
    let missing = side.run.missing.iter().cloned().chain([NEVER.to_owned()]).collect();
    blocks.extend(section("What the file does not have", missing));
    Document { title: format!("{}: {}", side.format, side.name), blocks }
}

/// A finding with its arithmetic, as a point of a list.
fn point(finding: &Finding) -> String {
    let grade = match finding.grade {
        Grade::Impossible => "cannot be true",
        Grade::Misleading => "misleading",
        Grade::Note => "note",
    };
    let mut parts = vec![format!("{grade}: {} [{}]", finding.says, finding.check)];
    parts.extend(finding.arithmetic.iter().cloned());
    if !finding.cause.is_empty() {
        parts.push(format!("probably: {}", finding.cause));
    }
    parts.join("; ")
}

/// The document of two runs.
pub fn pair(a: &Side, b: &Side, differences: &[String], figures: &[Compared]) -> Document {
    let mut blocks = vec![
        Block::Lead(CAVEAT.to_owned()),
        Block::Paragraph(
            "One run per side cannot separate change from noise. `knee compare URL_A URL_B` alternates both."
                .to_owned(),
        ),
    ];
    blocks.extend(section("Warnings", of_both(a, b, |side| &side.warnings)));
    let row =
        |name: &str, side: &Side| vec![name.to_owned(), side.name.clone(), side.format.clone(), load(side)];
    blocks.push(table(["run", "file", "format", "load"], vec![row("A", a), row("B", b)]));
    blocks.extend(section("What differs besides the service", differences.to_vec()));
    blocks.push(Block::Heading("Figures".to_owned()));
    blocks.push(table(["figure", "A", "B", "change", "note"], figures.iter().map(compared).collect()));
    blocks.extend(section("About the figures", of_both(a, b, |side| &side.run.notes)));
    blocks.extend(section("What the files do not have", of_both(a, b, |side| &side.run.missing)));
    Document { title: "A against B: one run each".to_owned(), blocks }
}

/// The points of both sides, each with the name of its side.
fn of_both(a: &Side, b: &Side, points: fn(&Side) -> &Vec<String>) -> Vec<String> {
    let named = |name: &'static str, side: &Side| -> Vec<String> {
        points(side).iter().map(|point| format!("{name}: {point}")).collect()
    };
    [named("A", a), named("B", b)].concat()
}

fn compared(figure: &Compared) -> Vec<String> {
    let quantity = figure.quantity;
    vec![
        quantity.name(),
        shown(quantity, figure.a.value, None),
        shown(quantity, figure.b.value, None),
        figure.change.map_or_else(|| "–".to_owned(), |size| shown_change(quantity, size)),
        if figure.within_rounding { "can be equal".to_owned() } else { String::new() },
    ]
}
