//! Reports of a comparison: of two sides loaded alternately, or of two saved runs.
//!
//! Does not calculate and does not judge: verdicts, intervals and noise are inputs.

use knee_core::validity::Validity;
use knee_study::compare::{A, B, Comparison, Line};
use knee_study::metric::Metric;
use knee_study::record_pair::{MetricPair, RecordPair, RecordedRun};
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{Calibration, CpuUse, Entry, Figure, LostBlock, Row, Totals, TrialResult};
use serde::Serialize;

use super::block::{Block, Document, Table};
use super::value::{self, UNKNOWN, either_way};
use super::{accounting, headline, measuring, notes, words};
use crate::json::pretty;
use crate::number;

/// The layout's version; rises when a member is removed or changes its meaning.
pub const VERSION: u32 = 1;

/// Numbers of blocks for which the noise floor is shown.
const BLOCKS_SHOWN: [usize; 2] = [10, 20];

/// Lost blocks that are shown; on a busy machine all blocks can be lost for the same reason.
const LOST_SHOWN: usize = 3;

/// The caveat of sides that knee does not start.
const ONE_PROCESS: &str =
    "one process each: differences between two starts of the same service are not in the interval";

/// A comparison or two runs as JSON: the layout of `docs/reference/compare.schema.json`.
#[derive(Serialize)]
struct Json<'v, T> {
    format: &'static str,
    version: u32,
    kind: &'static str,
    #[serde(flatten)]
    body: &'v T,
}

/// The members of a comparison in JSON.
#[derive(Serialize)]
struct Driven<'a> {
    a: &'a str,
    b: &'a str,
    load: &'a str,
    sentence: String,
    verdict: Verdict,
    by: Metric,
    regressions: &'a [Metric],
    same_service: bool,
    metrics: &'a [Line],
    noise: Option<&'a Calibration>,
    blocks: usize,
    seed: u64,
    alpha: f64,
    over: bool,
    totals: Totals,
    cpus: Option<&'a CpuUse>,
    not_restarted: &'a [String],
    lost: &'a [LostBlock],
    notes: Vec<String>,
    trials: &'a [Entry],
}

/// A comparison with verdict, as JSON with a line feed at the end.
pub fn comparison_json(comparison: &Comparison) -> String {
    let study = &comparison.study;
    let body = Driven {
        a: &comparison.a,
        b: &comparison.b,
        load: &comparison.load,
        sentence: lead(comparison),
        verdict: comparison.verdict,
        by: comparison.by,
        regressions: &comparison.regressions,
        same_service: comparison.same_service,
        metrics: &comparison.metrics,
        noise: study.noise.as_ref(),
        blocks: study.blocks,
        seed: study.seed,
        alpha: study.alpha,
        over: study.over,
        totals: study.totals,
        cpus: study.cpus.as_ref(),
        not_restarted: &comparison.not_restarted,
        lost: &study.lost,
        notes: remarks(comparison),
        trials: &study.trials,
    };
    pretty(&Json { format: "knee-compare", version: VERSION, kind: "driven", body: &body })
}

/// Two saved runs, as JSON with a line feed at the end.
pub fn record_pair_json(pair: &RecordPair) -> String {
    pretty(&Json { format: "knee-compare", version: VERSION, kind: "records", body: pair })
}

/// A comparison with verdict; the verdict comes first, so that it suits a comment on a pull request.
pub fn comparison(comparison: &Comparison) -> Document {
    let mut points = vec![headline::trust(&comparison.study)];
    points.extend(others(comparison));
    points.extend(next(comparison));
    points.extend([
        format!("A: {}", comparison.a),
        format!("B: {}", comparison.b),
        format!("load: {}", comparison.load),
    ]);
    let mut blocks = vec![Block::Lead(lead(comparison)), Block::List(points)];
    if comparison.metrics.iter().any(|line| line.a.is_some() || line.b.is_some()) {
        blocks.push(Block::Table(metrics(comparison)));
    }
    blocks.extend([
        Block::Heading("Validity".to_owned()),
        Block::List(trust(comparison)),
        Block::Folded {
            name: "Every trial".to_owned(),
            inside: vec![Block::Table(trials(comparison))],
            in_text: false,
        },
    ]);
    Document { title: title(comparison), blocks }
}

/// Names what got worse by more than its margin before what the first metric says.
fn title(comparison: &Comparison) -> String {
    if comparison.regressions.is_empty() {
        return format!("B vs A: {} {}", comparison.by, words::verdict(comparison.by, comparison.verdict));
    }
    let worse: Vec<String> = comparison
        .regressions
        .iter()
        .map(|metric| format!("{metric} {}", words::verdict(*metric, Verdict::Worse)))
        .collect();
    format!("B vs A: {}", worse.join(", "))
}

/// The verdict by the first metric, in a sentence.
fn lead(comparison: &Comparison) -> String {
    let Some(line) = comparison.metrics.first().filter(|line| line.effect.n_blocks > 0) else {
        let why = comparison.metrics.first().and_then(|line| line.effect.missing);
        let why =
            why.map_or_else(String::new, |why| format!(" ({})", words::missing_of(comparison.by, &why)));
        return format!("Nothing was compared: no block has both sides{why}.");
    };
    let effect = &line.effect;
    let result = words::result(effect, comparison.study.confidence());
    let open = words::not_ruled_out(effect).map_or_else(String::new, |open| format!("; {open}"));
    let not = if effect.verdict == Verdict::Undecided { "Not decided. " } else { "" };
    format!("{not}{}, B vs A: {result}{open}.", effect.metric)
}

/// What the other metrics say: differences first, then what is not ruled out.
fn others(comparison: &Comparison) -> Vec<String> {
    let level = comparison.study.confidence();
    let rest = || comparison.metrics.iter().skip(1).map(|line| &line.effect);
    let mut points: Vec<String> = rest()
        .filter(|effect| effect.verdict.is_difference())
        .map(|effect| format!("{}: {}.", effect.metric, words::result(effect, level)))
        .collect();
    let names = |verdict: Verdict| {
        let named = rest().filter(|effect| effect.verdict == verdict).map(|effect| effect.metric.name());
        named.collect::<Vec<_>>().join(", ")
    };
    let same = names(Verdict::Same);
    if !same.is_empty() {
        points.push(format!("The same within the margin: {same}."));
    }
    points.extend(errors(comparison));
    points.extend(sizes(comparison));
    points
}

/// How large the responses of both sides are: whether both did the same work.
fn sizes(comparison: &Comparison) -> Option<String> {
    let [a, b] = [A, B].map(|side| comparison.response_size(side));
    let (a, b) = (a?, b?);
    let (shown_a, shown_b) = (number::bytes(a), number::bytes(b));
    let text = if shown_a == shown_b {
        format!("Mean response: {shown_a} on both sides.")
    } else {
        format!("Mean response: {shown_a} from A, {shown_b} from B.")
    };
    Some(text)
}

/// How few errors there can be, if there is none.
fn errors(comparison: &Comparison) -> Option<String> {
    let line = comparison.metrics.iter().find(|line| line.effect.metric == Metric::Errors)?;
    let none = [&line.a, &line.b].iter().all(|row| row.as_ref().is_some_and(|row| row.spread.high <= 0.0));
    let most = line.effect.change.and_then(|change| change.high).filter(|_| none)?;
    let requests = number::count(comparison.study.totals.requests);
    Some(format!(
        "No errors in {requests} requests (a difference of at most {}).",
        value::unsigned(Metric::Errors, most)
    ))
}

/// What to do next, and how a gate comes out. "No regression" needs a verdict on every metric.
fn next(comparison: &Comparison) -> Vec<String> {
    let list = |metrics: &[Metric]| metrics.iter().map(|metric| metric.name()).collect::<Vec<_>>().join(", ");
    let open: Vec<Metric> = comparison
        .metrics
        .iter()
        .map(|line| &line.effect)
        .filter(|effect| effect.verdict == Verdict::Undecided)
        .map(|effect| effect.metric)
        .collect();
    let gate = match (comparison.regressions.is_empty(), open.is_empty()) {
        (true, true) => "No metric is worse by more than its margin.".to_owned(),
        (true, false) => format!("A regression is not ruled out: {}.", list(&open)),
        (false, _) => {
            format!("Worse by more than the margin: {} (exit code 121).", list(&comparison.regressions))
        }
    };
    let needed = comparison.metrics.iter().filter_map(|line| line.effect.blocks_needed).max();
    let needed = needed.map(|blocks| format!("Next: `--blocks {blocks}` would decide."));
    std::iter::once(gate).chain(needed).collect()
}

/// The notes of the study, one on sides that were never restarted, and one on two sides that are the same.
fn remarks(comparison: &Comparison) -> Vec<String> {
    let mut notes = notes(&comparison.study);
    match comparison.not_restarted.as_slice() {
        [] => {}
        [side] => notes.insert(
            0,
            format!("{side} is one process: differences between two starts of it are not in the interval"),
        ),
        _ => notes.insert(0, ONE_PROCESS.to_owned()),
    }
    notes.extend(comparison.metrics.iter().filter(|line| is_opposed(line)).map(|line| {
        format!(
            "{}: A and B beside the change are medians of all blocks; the change compares A and B within each block, and points the other way",
            line.effect.metric
        )
    }));
    if comparison.same_service {
        notes.insert(0, "A and B are the same service: any difference is noise".to_owned());
    }
    notes
}

/// Whether the figures of A and B, as they are shown, differ in another direction than the change says.
fn is_opposed(line: &Line) -> bool {
    let (Some(a), Some(b), Some(change)) = (&line.a, &line.b, line.effect.change) else { return false };
    if a.merged.is_some() || b.merged.is_some() {
        return false;
    }
    let shown = b.spread.median - a.spread.median;
    shown * change.estimate < 0.0
}

fn table<const N: usize>(columns: [&str; N]) -> Table {
    Table { columns: columns.map(str::to_owned).to_vec(), rows: Vec::new() }
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
    table.columns[4] = value::interval_heading(comparison.study.confidence());
    table.rows.extend(comparison.metrics.iter().map(|line| {
        let (effect, metric) = (&line.effect, line.effect.metric);
        let row = |row: &Option<Row>| row.as_ref().map_or(UNKNOWN.to_owned(), value::row);
        let change =
            |change: Option<f64>| change.map_or(UNKNOWN.to_owned(), |change| value::change(metric, change));
        vec![
            metric.to_string(),
            row(&line.a),
            row(&line.b),
            change(effect.change.map(|range| range.estimate)),
            value::interval(metric, effect.change.as_ref()),
            words::verdict_of(effect),
            value::needed(effect.blocks_needed),
            either_way(metric, effect.margin),
            line.noise_floor.map_or(UNKNOWN.to_owned(), |floor| either_way(metric, floor)),
            change(effect.mde),
            words::reasons(effect),
        ]
    }));
    table
}

fn trust(comparison: &Comparison) -> Vec<String> {
    let study = &comparison.study;
    let mut points = vec![
        format!(
            "{}, A and B alternate, order by seed {}; {}",
            value::count(study.blocks, "block"),
            study.seed,
            accounting::totals(&study.totals)
        ),
        format!("{} requests in usable trials", number::count(study.totals.requests)),
        measuring::READING.to_owned(),
    ];
    if study.noise.is_none() {
        points.push("noise floor of this machine unknown: run `knee calibrate`".to_owned());
    }
    points.extend(remarks(comparison));
    points.extend(
        study
            .lost
            .iter()
            .take(LOST_SHOWN)
            .map(|lost| format!("lost: block {}, {}: {}", lost.block + 1, lost.cell.variant, lost.why)),
    );
    let more = study.lost.len().saturating_sub(LOST_SHOWN);
    if more > 0 {
        points.push(format!("lost: {} more; see the trials", number::count(more as u64)));
    }
    points
}

fn trials(comparison: &Comparison) -> Table {
    let mut table = table(["block", "side", "attempt", "validity", "requests", "figures", "warnings"]);
    table.rows.extend(comparison.study.trials.iter().map(|entry| {
        let trial = &entry.trial;
        let position = [(trial.block + 1).to_string(), trial.variant.clone(), trial.attempt.to_string()];
        let rest = match &entry.result {
            TrialResult::Measured(measured) => {
                let known = comparison.metrics.iter().filter_map(|line| {
                    let metric = line.effect.metric;
                    let figure = measured.figures.get(&metric)?;
                    Some(format!("{metric} {}", value::figure(metric, figure.value)))
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
    Document { title: "A against B: one run each".to_owned(), blocks }
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
            format!("{least}{}", value::figure(pair.metric, figure.value))
        })
    };
    table.rows.extend(pair.metrics.iter().map(|pair| {
        vec![
            pair.metric.to_string(),
            cell(pair, pair.a),
            cell(pair, pair.b),
            pair.change.map_or("–".to_owned(), |change| value::change(pair.metric, change)),
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

/// The noise of a machine in one line.
pub fn noise_floor(calibration: &Calibration) -> String {
    let blocks = BLOCKS_SHOWN[0];
    let floors = calibration.deviations.keys().filter_map(|metric| {
        let change = calibration.change(*metric, blocks)?;
        Some(format!("{metric} {}", either_way(*metric, change)))
    });
    format!("{} over {blocks} blocks", floors.collect::<Vec<_>>().join(", "))
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
        "deviation: standard deviation of the logarithm of the ratio (for errors: of the difference of the shares)".to_owned(),
    ];
    points.extend(calibration.suspicious.iter().map(|metric| {
        format!("{metric}: the A/A test found a difference; chance does so once in 20 tests, but if it repeats, this machine favours one side")
    }));
    points.extend(notes.iter().cloned());
    let about = format!(
        "A/A test of {} on {machine}. {}.",
        number::counted(calibration.blocks as u64, "block"),
        calibration.of
    );
    let blocks = vec![Block::Paragraph(about), Block::Table(table), Block::List(points)];
    Document { title: "Noise floor of this machine".to_owned(), blocks }
}
