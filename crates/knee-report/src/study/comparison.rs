//! Reports of a comparison: of two sides loaded alternately, or of two saved runs.
//!
//! Does not calculate and does not judge: verdicts, intervals and noise are inputs.

use knee_core::validity::Validity;
use knee_study::compare::{Comparison, Line};
use knee_study::metric::Metric;
use knee_study::record_pair::{MetricPair, RecordPair, RecordedRun};
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{Calibration, Figure, TrialResult, wording};
use serde::Serialize;

use super::block::{Block, Document, Table};
use super::{accounting, figure};
use crate::json::pretty;
use crate::number;

/// The layout's version; rises when a member is removed or changes its meaning.
pub const VERSION: u32 = 1;

/// Numbers of blocks for which the noise floor is shown.
const BLOCKS_SHOWN: [usize; 2] = [10, 20];

/// Lost blocks that are shown; on a busy machine all blocks can be lost for the same reason.
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

/// A comparison with verdict, as JSON with a line feed at the end.
pub fn comparison_json(comparison: &Comparison) -> String {
    pretty(&Json { format: "knee-compare", version: VERSION, kind: "driven", body: comparison })
}

/// Two saved runs, as JSON with a line feed at the end.
pub fn record_pair_json(pair: &RecordPair) -> String {
    pretty(&Json { format: "knee-compare", version: VERSION, kind: "records", body: pair })
}

/// A comparison with verdict; the verdict comes first, so that it suits a comment on a pull request.
pub fn comparison(comparison: &Comparison) -> Document {
    let mut blocks = vec![
        Block::Paragraph(in_short(comparison)),
        Block::List(vec![
            format!("A: {}", comparison.a),
            format!("B: {}", comparison.b),
            format!("load: {}", comparison.load),
        ]),
        Block::Table(metrics(comparison)),
        Block::Heading("Validity".to_owned()),
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
        Verdict::Undecided => format!("B vs A: {} undecided", comparison.by),
        verdict => format!("B vs A: {} {}", comparison.by, verdict.name()),
    }
}

/// The summary.
fn in_short(comparison: &Comparison) -> String {
    let data = format!("Data: {}.", accounting::totals(&comparison.totals));
    let Some(line) = comparison.metrics.first().filter(|line| line.n_blocks > 0) else {
        return format!("No block has both sides: nothing was compared. {data}");
    };
    let change = line.change.map_or_else(String::new, |change| {
        let level = Some(1.0 - comparison.alpha);
        format!(": {}", wording::estimate(line.metric, &change, level, line.n_blocks))
    });
    let needed = line.blocks_needed.map_or_else(String::new, |blocks| format!("; ~{blocks} blocks needed"));
    let verdict = line.verdict.name();
    format!("{}, B vs A{change}, {verdict}{needed}. {} {data}", line.metric, regressions(comparison))
}

/// The metrics that got worse, and the undecided ones: "no regression" requires a verdict on every metric.
fn regressions(comparison: &Comparison) -> String {
    let names = |found: &dyn Fn(&&Line) -> bool| {
        let named = comparison.metrics.iter().filter(found).map(|line| line.metric.name());
        named.collect::<Vec<_>>().join(", ")
    };
    let regressions = names(&|line| line.regression);
    let open = names(&|line| line.verdict == Verdict::Undecided);
    match (regressions.is_empty(), open.is_empty()) {
        (true, true) => "No metric is worse by more than its margin.".to_owned(),
        (true, false) => format!("A regression is not ruled out: {open}."),
        (false, _) => format!("Worse by more than the margin: {regressions}."),
    }
}

fn table<const N: usize>(columns: [&str; N]) -> Table {
    Table { columns: columns.map(str::to_owned).to_vec(), rows: Vec::new() }
}

/// A change without its sign, for noise, which has both signs.
fn either_way(metric: Metric, change: f64) -> String {
    format!("± {}", figure::change(metric, change).trim_start_matches(['+', '-']))
}

fn metrics(comparison: &Comparison) -> Table {
    let mut table = table([
        "metric",
        "A",
        "B",
        "change",
        "CI",
        "verdict on B",
        "blocks needed",
        "margin",
        "noise floor",
        "MDE",
        "notes",
    ]);
    table.columns[4] = figure::interval_heading(Some(1.0 - comparison.alpha));
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
            line.verdict.name().to_owned(),
            figure::needed(line.blocks_needed),
            either_way(metric, line.margin),
            line.noise_floor.map_or("–".to_owned(), |floor| either_way(metric, floor)),
            change(line.mde),
            line.notes.join("; "),
        ]
    }));
    table
}

fn trust(comparison: &Comparison) -> Vec<String> {
    let totals = &comparison.totals;
    let mut points = vec![
        format!(
            "{}, A and B alternate, order by seed {}; {}",
            figure::counted(comparison.blocks, "block"),
            comparison.seed,
            accounting::totals(totals)
        ),
        format!("{} requests in usable trials", number::count(totals.requests)),
        "intervals and verdicts are over blocks, not requests; MDE: the smallest change that this many blocks detect \
         with 80 % power"
            .to_owned(),
    ];
    if comparison.noise.is_none() {
        points.push("noise floor of this machine unknown: run `knee calibrate`".to_owned());
    }
    points.extend(comparison.notes.iter().cloned());
    points.extend(
        comparison
            .lost
            .iter()
            .take(LOST_SHOWN)
            .map(|lost| format!("lost: block {}, {}: {}", lost.block + 1, lost.cell.variant, lost.why)),
    );
    let more = comparison.lost.len().saturating_sub(LOST_SHOWN);
    if more > 0 {
        points.push(format!("lost: {} more; see the trials", number::count(more as u64)));
    }
    points
}

fn trials(comparison: &Comparison) -> Table {
    let mut table = table(["block", "side", "attempt", "validity", "requests", "figures", "warnings"]);
    table.rows.extend(comparison.trials.iter().map(|entry| {
        let trial = &entry.trial;
        let position = [(trial.block + 1).to_string(), trial.variant.clone(), trial.attempt.to_string()];
        let rest = match &entry.result {
            TrialResult::Measured(measured) => {
                let known = comparison.metrics.iter().filter_map(|line| {
                    let figure = measured.figures.get(&line.metric)?;
                    Some(format!("{} {}", line.metric, figure::figure(line.metric, figure.value)))
                });
                let figures: Vec<String> = known.filter(|_| measured.validity != Validity::Invalid).collect();
                [
                    measured.validity.name().to_owned(),
                    number::count(measured.requests),
                    figures.join(", "),
                    accounting::codes(measured),
                ]
            }
            TrialResult::Died { reason } => failed_cells("died", reason),
            TrialResult::NeverReady { reason } => failed_cells("never up", reason),
        };
        [position.to_vec(), rest.to_vec()].concat()
    }));
    table
}

fn failed_cells(word: &str, reason: &str) -> [String; 4] {
    [word.to_owned(), "–".to_owned(), String::new(), reason.to_owned()]
}

/// Two saved runs.
pub fn record_pair(pair: &RecordPair) -> Document {
    let mut blocks = vec![Block::Paragraph(
        "No verdict: one run per side cannot separate change from noise. `knee compare URL_A URL_B` alternates both."
            .to_owned(),
    )];
    blocks.push(Block::Table(runs(pair)));
    if !pair.obstacles.is_empty() {
        blocks.push(Block::Heading("Why these runs are not comparable".to_owned()));
        blocks.push(Block::List(pair.obstacles.clone()));
    }
    blocks.push(Block::Heading("Figures".to_owned()));
    blocks.push(Block::Table(pairs(pair)));
    blocks.push(Block::Heading("What two runs cannot show".to_owned()));
    blocks.push(Block::List(unknown(pair)));
    Document { title: "A and B, one run each".to_owned(), blocks }
}

fn runs(pair: &RecordPair) -> Table {
    let mut table = table(["run", "target", "load", "requests", "validity", "record"]);
    let row = |name: &str, run: &RecordedRun| {
        let why = run.warnings.first().map_or_else(String::new, |warning| format!(": {}", warning.message));
        vec![
            name.to_owned(),
            run.title.clone(),
            run.load.clone(),
            number::count(run.requests),
            format!("{}{why}", run.validity.name()),
            run.record.clone(),
        ]
    };
    table.rows.extend([row("A", &pair.a), row("B", &pair.b)]);
    table
}

fn pairs(pair: &RecordPair) -> Table {
    let mut table = table(["metric", "A", "B", "difference", "noise", "difference vs noise"]);
    let cell = |pair: &MetricPair, figure: Option<Figure>| {
        figure.map_or("–".to_owned(), |figure| {
            let least = if figure.at_least { "≥ " } else { "" };
            format!("{least}{}", figure::figure(pair.metric, figure.value))
        })
    };
    table.rows.extend(pair.metrics.iter().map(|pair| {
        vec![
            pair.metric.to_string(),
            cell(pair, pair.a),
            cell(pair, pair.b),
            pair.change.map_or("–".to_owned(), |change| figure::change(pair.metric, change)),
            pair.noise.map_or("–".to_owned(), |noise| either_way(pair.metric, noise)),
            match pair.within_noise {
                Some(true) => "within noise".to_owned(),
                Some(false) => "above noise".to_owned(),
                None => String::new(),
            },
        ]
    }));
    table
}

fn unknown(pair: &RecordPair) -> Vec<String> {
    let mut points = vec![
        "whether the difference repeats: one run has no spread".to_owned(),
        "what else changed between the runs: machines drift".to_owned(),
    ];
    points.push(match &pair.noise {
        Some(noise) => format!(
            "noise: in 19 of 20 cases, two consecutive runs of one service on this machine differ by at most this ({}); runs at different times differ more",
            noise.of
        ),
        None => "the noise of this machine: run `knee calibrate`"
            .to_owned(),
    });
    points
}

/// The noise of a machine. `notes` are further remarks.
pub fn calibration(calibration: &Calibration, machine: &str, notes: &[String]) -> Document {
    let mut table = table(["metric", "deviation per block", "", ""]);
    for (position, blocks) in BLOCKS_SHOWN.iter().enumerate() {
        table.columns[2 + position] = format!("noise floor over {blocks} blocks");
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
        "noise floor: how much noise alone changes the mean of this many blocks; margins below 1.5 times the floor are refused".to_owned(),
        "deviation: standard deviation of the logarithm of the ratio (for errors: of the arcsine of the square root of the share)".to_owned(),
    ];
    points.extend(calibration.suspicious.iter().map(|metric| {
        format!("{metric}: the A/A test found a difference; chance does so once in 20 tests, but if it repeats, this machine favours one side")
    }));
    points.extend(notes.iter().cloned());
    let about = format!("A/A test of {} blocks on {machine}. {}.", calibration.blocks, calibration.of);
    let blocks = vec![Block::Paragraph(about), Block::Table(table), Block::List(points)];
    Document { title: "Noise floor of this machine".to_owned(), blocks }
}
