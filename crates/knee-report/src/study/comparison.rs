//! Two sides of a comparison as people and programs read them: driven in turns, or one run each.
//!
//! Does not calculate and does not judge: verdicts, intervals and noise come with what is shown.

use knee_core::validity::Validity;
use knee_study::beside::{Beside, Pair, Recorded};
use knee_study::compare::{Comparison, Line};
use knee_study::metric::Metric;
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{Calibration, Figure, Told};
use serde::Serialize;

use super::figure;
use super::{Block, Document, Table};
use crate::json::pretty;
use crate::number;

/// The layout's version; rises when a member is taken away or comes to mean something else.
pub const VERSION: u32 = 1;

/// Blocks for which the floor of a machine is shown.
const BLOCKS_SHOWN: [usize; 2] = [10, 20];

/// Lost rounds that are shown; when the machine is busy all may be lost for the same reason.
const LOST_SHOWN: usize = 3;

/// A comparison or two runs as JSON: the layout of `docs/reference/compare.schema.json`.
#[derive(Serialize)]
struct Json<'v, T> {
    format: &'static str,
    version: u32,
    kind: &'static str,
    #[serde(flatten)]
    body: &'v T,
}

/// A comparison that was driven, as JSON with a line feed at the end.
pub fn comparison_json(comparison: &Comparison) -> String {
    pretty(&Json { format: "knee-compare", version: VERSION, kind: "driven", body: comparison })
}

/// Two runs beside each other, as JSON with a line feed at the end.
pub fn beside_json(beside: &Beside) -> String {
    pretty(&Json { format: "knee-compare", version: VERSION, kind: "records", body: beside })
}

/// A comparison that was driven: the verdict first, as a comment on a pull request has it.
pub fn comparison(comparison: &Comparison) -> Document {
    let mut blocks = vec![
        Block::Paragraph(in_short(comparison)),
        Block::List(vec![
            format!("A: {}", comparison.a),
            format!("B: {}", comparison.b),
            format!("both were sent: {}", comparison.load),
        ]),
        Block::Table(metrics(comparison)),
        Block::Heading("How far this can be trusted".to_owned()),
        Block::List(trust(comparison)),
        Block::Folded {
            name: "Every trial".to_owned(),
            inside: vec![Block::Table(trials(comparison))],
            in_text: false,
        },
    ];
    if comparison.metrics.iter().all(|line| line.a.is_none() && line.b.is_none()) {
        blocks.remove(2);
    }
    Document { title: title(comparison), blocks }
}

fn title(comparison: &Comparison) -> String {
    match comparison.verdict {
        Verdict::Faster => format!("B is faster than A by {}", comparison.by),
        Verdict::Slower => format!("B is slower than A by {}", comparison.by),
        Verdict::Same => format!("B is the same as A by {}", comparison.by),
        Verdict::Undecided => format!("Undecided whether B differs from A by {}", comparison.by),
    }
}

/// What a person could send to a colleague.
fn in_short(comparison: &Comparison) -> String {
    let Some(line) = comparison.metrics.first().filter(|line| line.rounds > 0) else {
        return "No block could be compared: nothing was shown.".to_owned();
    };
    let change = line.change.map_or_else(String::new, |range| {
        let estimate = figure::change(line.metric, range.estimate);
        format!(": {estimate} ({})", figure::interval(line.metric, &range))
    });
    let names: Vec<&str> = comparison.regressions.iter().map(|metric| metric.name()).collect();
    let stops = if names.is_empty() {
        "B is by no metric slower by more than the margin.".to_owned()
    } else {
        format!("B is slower by more than the margin by {}.", names.join(", "))
    };
    let needed = line.blocks_needed.map_or_else(String::new, |blocks| format!(" (needs ~{blocks} blocks)"));
    format!(
        "{}{needed}{change}, over {} blocks. {stops}",
        line.verdict.name(),
        number::count(line.rounds as u64)
    )
}

fn verdict(line: &Line) -> String {
    match line.blocks_needed {
        Some(blocks) => format!("{}: needs ~{blocks} blocks", line.verdict.name()),
        None => line.verdict.name().to_owned(),
    }
}

fn table<const N: usize>(columns: [&str; N]) -> Table {
    Table { columns: columns.map(str::to_owned).to_vec(), rows: Vec::new() }
}

/// A change without its sign, for what noise does either way.
fn either_way(metric: Metric, change: f64) -> String {
    format!("± {}", figure::change(metric, change).trim_start_matches(['+', '-']))
}

fn metrics(comparison: &Comparison) -> Table {
    let mut table = table([
        "metric",
        "A",
        "B",
        "change",
        "interval",
        "verdict on B",
        "margin",
        "noise floor",
        "could see",
        "remarks",
    ]);
    table.columns[4] = format!("{} % interval", number::fixed((1.0 - comparison.alpha) * 100.0, 0));
    table.rows.extend(comparison.metrics.iter().map(|line| {
        let metric = line.metric;
        let spread =
            |spread: Option<_>| spread.map_or("–".to_owned(), |spread| figure::spread(metric, &spread));
        let change =
            |change: Option<f64>| change.map_or("–".to_owned(), |change| figure::change(metric, change));
        vec![
            metric.to_string(),
            spread(line.a),
            spread(line.b),
            change(line.change.map(|range| range.estimate)),
            line.change.map_or("–".to_owned(), |range| figure::interval(metric, &range)),
            verdict(line),
            either_way(metric, line.margin),
            line.noise_floor.map_or("–".to_owned(), |floor| either_way(metric, floor)),
            change(line.detectable),
            line.notes.join("; "),
        ]
    }));
    table
}

fn trust(comparison: &Comparison) -> Vec<String> {
    let totals = &comparison.totals;
    let count = |number: usize| number::count(number as u64);
    let mut points = vec![
        format!(
            "{} trials in {} blocks, A and B in turns, order by seed {}: {} valid, {} suspect, {} invalid, {} without a service",
            count(totals.trials),
            count(comparison.blocks),
            comparison.seed,
            count(totals.valid),
            count(totals.suspect),
            count(totals.invalid),
            count(totals.broken)
        ),
        format!("{} requests in trials that count", number::count(totals.requests)),
        "intervals and verdicts are over blocks, not over requests; \"could see\" is the smallest change that so many blocks find four times in five".to_owned(),
    ];
    if comparison.noise.is_none() {
        points.push("the noise floor of this machine is not known: `knee calibrate` measures it".to_owned());
    }
    points.extend(comparison.notes.iter().cloned());
    points.extend(
        comparison
            .lost
            .iter()
            .take(LOST_SHOWN)
            .map(|lost| format!("lost: block {}, {}: {}", lost.block + 1, lost.cell.arm, lost.why)),
    );
    let more = comparison.lost.len().saturating_sub(LOST_SHOWN);
    if more > 0 {
        points.push(format!("lost: {} more, for reasons that stand beside their trials", count(more)));
    }
    points
}

fn trials(comparison: &Comparison) -> Table {
    let mut table = table(["block", "side", "attempt", "state", "requests", "figures", "reasons"]);
    table.rows.extend(comparison.trials.iter().map(|entry| {
        let trial = &entry.trial;
        let place = [(trial.block + 1).to_string(), trial.arm.clone(), trial.attempt.to_string()];
        let rest = match &entry.told {
            Told::Measured(measured) => {
                let known = comparison.metrics.iter().filter_map(|line| {
                    let figure = measured.figures.get(&line.metric)?;
                    Some(format!("{} {}", line.metric, figure::figure(line.metric, figure.value)))
                });
                let figures: Vec<String> = known.filter(|_| measured.state != Validity::Invalid).collect();
                [
                    measured.state.name().to_owned(),
                    number::count(measured.requests),
                    figures.join(", "),
                    measured.reasons.join("; "),
                ]
            }
            Told::Died { reason } => told("died", reason),
            Told::NeverReady { reason } => told("never up", reason),
        };
        [place.to_vec(), rest.to_vec()].concat()
    }));
    table
}

fn told(word: &str, reason: &str) -> [String; 4] {
    [word.to_owned(), "–".to_owned(), String::new(), reason.to_owned()]
}

/// Two runs that were made already.
pub fn beside(beside: &Beside) -> Document {
    let mut blocks = vec![Block::Paragraph(
        "No verdict: from one run each nobody can tell what chance did. `knee compare URL_A URL_B` drives both in turns."
            .to_owned(),
    )];
    blocks.push(Block::Table(runs(beside)));
    if !beside.obstacles.is_empty() {
        blocks.push(Block::Heading("Why these two do not compare".to_owned()));
        blocks.push(Block::List(beside.obstacles.clone()));
    }
    blocks.push(Block::Heading("Figures".to_owned()));
    blocks.push(Block::Table(pairs(beside)));
    blocks.push(Block::Heading("What cannot be known from this".to_owned()));
    blocks.push(Block::List(unknown(beside)));
    Document { title: "A and B, one run each".to_owned(), blocks }
}

fn runs(beside: &Beside) -> Table {
    let mut table = table(["run", "target", "load", "requests", "state", "record"]);
    let row = |name: &str, run: &Recorded| {
        let why = run.reasons.first().map_or_else(String::new, |reason| format!(": {reason}"));
        vec![
            name.to_owned(),
            run.title.clone(),
            run.load.clone(),
            number::count(run.requests),
            format!("{}{why}", run.state.name()),
            run.record.clone(),
        ]
    };
    table.rows.extend([row("A", &beside.a), row("B", &beside.b)]);
    table
}

fn pairs(beside: &Beside) -> Table {
    let mut table = table(["metric", "A", "B", "difference", "noise", "that is"]);
    let cell = |pair: &Pair, figure: Option<Figure>| {
        figure.map_or("–".to_owned(), |figure| {
            let least = if figure.at_least { "≥ " } else { "" };
            format!("{least}{}", figure::figure(pair.metric, figure.value))
        })
    };
    table.rows.extend(beside.metrics.iter().map(|pair| {
        vec![
            pair.metric.to_string(),
            cell(pair, pair.a),
            cell(pair, pair.b),
            pair.change.map_or("–".to_owned(), |change| figure::change(pair.metric, change)),
            pair.noise.map_or("–".to_owned(), |noise| either_way(pair.metric, noise)),
            match pair.within_noise {
                Some(true) => "within the noise".to_owned(),
                Some(false) => "more than the noise".to_owned(),
                None => String::new(),
            },
        ]
    }));
    table
}

fn unknown(beside: &Beside) -> Vec<String> {
    let mut points = vec![
        "whether a difference would be there again: one run has no spread".to_owned(),
        "what else had changed between the two: a machine is not the same an hour later".to_owned(),
    ];
    points.push(match &beside.noise {
        Some(noise) => format!(
            "\"noise\" is how far two runs of the same service lie apart in 19 of 20 cases, made one right after the other on this machine ({}); runs of different times lie further apart",
            noise.of
        ),
        None => "how large a difference chance makes here: `knee calibrate` measures the noise floor of this machine"
            .to_owned(),
    });
    points
}

/// The noise of a machine. `notes` are what else is to be said of it.
pub fn calibration(calibration: &Calibration, machine: &str, notes: &[String]) -> Document {
    let mut table = table(["metric", "deviation of a round", "", ""]);
    for (place, blocks) in BLOCKS_SHOWN.iter().enumerate() {
        table.columns[2 + place] = format!("noise floor over {blocks} blocks");
    }
    table.rows.extend(calibration.deviations.iter().map(|(metric, deviation)| {
        let floor = |blocks: &usize| {
            calibration.change(*metric, *blocks).map_or("–".to_owned(), |floor| either_way(*metric, floor))
        };
        let mut row = vec![metric.to_string(), number::fixed(*deviation, 4)];
        row.extend(BLOCKS_SHOWN.iter().map(floor));
        row
    }));
    let mut points = vec![
        "the noise floor is what chance alone does to the mean of so many blocks; margins below one and a half times of it are refused".to_owned(),
        "deviations are of the logarithm of a ratio (of errors: of the arcsine of the root of a share)".to_owned(),
    ];
    points.extend(calibration.suspicious.iter().map(|metric| {
        format!("by {metric} the same service was called different from itself: once in twenty that is chance, again and again something on this machine is not balanced")
    }));
    points.extend(notes.iter().cloned());
    let about = format!(
        "{} blocks of a service against itself, on {machine}. {}.",
        calibration.blocks, calibration.of
    );
    let blocks = vec![Block::Paragraph(about), Block::Table(table), Block::List(points)];
    Document { title: "The noise of this machine".to_owned(), blocks }
}
