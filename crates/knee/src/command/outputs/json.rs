//! The JSON of outputs of other tools: layouts of `docs/reference/compare-json.md` and `docs/reference/output-json.md`.
//!
//! Times are in nanoseconds, rates per second, shares from 0 to 1. Does not compare.

use knee_audit::finding::Finding;
use knee_audit::pair::{CAVEAT, Compared};
use knee_audit::run::{Quantity, RunFigure, Unit, Value};
use knee_report::json::pretty;
use knee_report::study::comparison;
use serde::Serialize;

use super::side::Side;

/// Version of the layout of one output.
const VERSION: u32 = 1;

/// Two runs.
#[derive(Serialize)]
struct Pair<'a> {
    format: &'static str,
    version: u32,
    kind: &'static str,
    caveat: &'static str,
    a: OneRun<'a>,
    b: OneRun<'a>,
    differences: &'a [String],
    figures: Vec<Both>,
}

/// One output.
#[derive(Serialize)]
struct One<'a> {
    format: &'static str,
    version: u32,
    answer: &'a str,
    run: OneRun<'a>,
}

#[derive(Serialize)]
struct OneRun<'a> {
    name: &'a str,
    tool: &'a str,
    format: &'a str,
    load: &'a [String],
    figures: Vec<Single>,
    missing: &'a [String],
    notes: &'a [String],
    warnings: &'a [String],
    findings: &'a [Finding],
}

#[derive(Serialize)]
struct Single {
    figure: String,
    value: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct Both {
    figure: String,
    a: f64,
    b: f64,
    change: Option<f64>,
    within_rounding: bool,
}

/// What a value in base units is multiplied with.
fn factor(quantity: Quantity) -> f64 {
    if quantity.unit() == Unit::Time { 1e9 } else { 1.0 }
}

fn single(figure: &RunFigure) -> Single {
    let factor = factor(figure.quantity);
    let Value { value, range } = figure.value;
    Single {
        figure: figure.quantity.name(),
        value: value * factor,
        low: range.low * factor,
        high: range.high * factor,
    }
}

fn both(figure: &Compared) -> Both {
    let factor = factor(figure.quantity);
    Both {
        figure: figure.quantity.name(),
        a: figure.a.value * factor,
        b: figure.b.value * factor,
        change: figure.change,
        within_rounding: figure.within_rounding,
    }
}

fn run(side: &Side) -> OneRun<'_> {
    OneRun {
        name: &side.name,
        tool: side.run.tool,
        format: &side.format,
        load: &side.load,
        figures: side.run.figures.iter().map(single).collect(),
        missing: &side.run.missing,
        notes: &side.run.notes,
        warnings: &side.warnings,
        findings: &side.findings,
    }
}

/// Two runs, with a line feed at the end.
pub fn pair(a: &Side, b: &Side, differences: &[String], figures: &[Compared]) -> String {
    pretty(&Pair {
        format: "knee-compare",
        version: comparison::VERSION,
        kind: "outputs",
        caveat: CAVEAT,
        a: run(a),
        b: run(b),
        differences,
        figures: figures.iter().map(both).collect(),
    })
}

/// One output, with a line feed at the end.
pub fn one(side: &Side, answer: &str) -> String {
    pretty(&One { format: "knee-output", version: VERSION, answer, run: run(side) })
}
