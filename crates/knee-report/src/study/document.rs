//! The document of a study: headings, paragraphs, lists and tables, every figure written.
//!
//! Does not know whether it becomes text or Markdown.

use knee_study::definition::Cell;
use knee_study::metric::{Metric, Unit};
use knee_study::study::{Conclusion, GrowthResult};

use super::block::{Block, Document, Table};
use super::plot::{Plot, PlotKind};
use super::provenance::Provenance;
use super::value::{self, UNKNOWN};
use super::{accounting, bound, headline, measuring, notes, switches, words};
use crate::number;

impl Document {
    /// Writes a conclusion. `plots` are shown if `provenance` says where they are.
    pub fn of(conclusion: &Conclusion, provenance: &Provenance, plots: &[Plot]) -> Self {
        let pictures = Pictures { folder: provenance.plots.as_deref(), plots };
        let mut blocks = Vec::new();
        blocks.extend(conclusion.question.clone().map(Block::Paragraph));
        blocks.extend(in_short(conclusion));
        section(&mut blocks, "Published claims", claims(conclusion, false));
        section(&mut blocks, "Goals", claims(conclusion, true));
        for (workload, _) in &conclusion.workloads {
            section(&mut blocks, &format!("Switches: {workload}"), switches::table(conclusion, workload));
        }
        section(&mut blocks, "Variants", variants(conclusion));
        for (workload, about) in &conclusion.workloads {
            let timeline = timeline(conclusion, workload);
            let about = if about.is_empty() { String::new() } else { format!(" ({about})") };
            let heading = format!("Timeline: {workload}{about}");
            pictured(&mut blocks, heading, pictures.of(PlotKind::Timeline, workload), timeline);
            let effects = effects(conclusion, workload);
            compared(&mut blocks, workload, pictures.of(PlotKind::Effects, workload), effects);
        }
        let grown = conclusion.workloads.iter().flat_map(|(name, _)| pictures.of(PlotKind::Growth, name));
        pictured(&mut blocks, "Growth".to_owned(), grown.collect(), growth(conclusion));
        section(&mut blocks, "Published and measured", published(conclusion));
        blocks.extend(bound::section(conclusion));
        blocks.extend(measuring::section(conclusion, provenance));
        blocks.push(Block::Heading("Validity".to_owned()));
        blocks.push(Block::List(trust(conclusion)));
        let accounting = accounting::table(conclusion);
        if !accounting.rows.is_empty() {
            blocks.push(Block::Table(accounting));
            let warnings = accounting::warnings(conclusion);
            if !warnings.is_empty() {
                blocks.push(Block::List(warnings));
            }
            let trials = vec![Block::Table(accounting::trials(conclusion))];
            blocks.push(Block::Folded { name: "Every trial".to_owned(), inside: trials, in_text: false });
        }
        Self { title: conclusion.title.clone(), blocks }
    }
}

/// The pictures of a study, and where they are.
struct Pictures<'a> {
    folder: Option<&'a str>,
    plots: &'a [Plot],
}

impl Pictures<'_> {
    fn of(&self, kind: PlotKind, workload: &str) -> Vec<Block> {
        let here = self.plots.iter().filter(|plot| plot.kind == kind && plot.workload == workload);
        let shown = here.filter_map(|plot| {
            let link = match self.folder? {
                "" => plot.file.clone(),
                folder => format!("{folder}/{}", plot.file),
            };
            Some(Block::Picture { alt: plot.alt.clone(), link })
        });
        shown.collect()
    }
}

/// A heading, pictures and a table, unless the table is empty.
fn pictured(blocks: &mut Vec<Block>, heading: String, pictures: Vec<Block>, table: Table) {
    if !table.rows.is_empty() {
        blocks.push(Block::Heading(heading));
        blocks.extend(pictures);
        blocks.push(Block::Table(table));
    }
}

/// The comparisons of a workload. If the first picture shows them, the other pictures and the long table are folded.
fn compared(blocks: &mut Vec<Block>, workload: &str, mut pictures: Vec<Block>, table: Table) {
    let heading = format!("Effects: {workload}");
    if pictures.is_empty() || table.rows.is_empty() {
        return pictured(blocks, heading, pictures, table);
    }
    let mut rest = pictures.split_off(1);
    rest.push(Block::Table(table));
    blocks.push(Block::Heading(heading));
    blocks.extend(pictures);
    let name = format!("Every comparison under {workload}");
    blocks.push(Block::Folded { name, inside: rest, in_text: true });
}

/// A heading and a table, unless the table is empty.
fn section(blocks: &mut Vec<Block>, heading: &str, table: Table) {
    if !table.rows.is_empty() {
        blocks.push(Block::Heading(heading.to_owned()));
        blocks.push(Block::Table(table));
    }
}

/// The answer: the decisive comparison, how far the data can be trusted, and what else the study shows.
fn in_short(conclusion: &Conclusion) -> Vec<Block> {
    let lead = headline::lead(conclusion);
    let mut points = vec![headline::trust(conclusion)];
    points.extend(headline::points(conclusion));
    points.extend(switches::in_short(conclusion));
    points.extend(growing(conclusion));
    let lead = if lead.is_empty() { None } else { Some(Block::Lead(lead)) };
    lead.into_iter().chain([Block::List(points)]).collect()
}

/// How the first metric grows in each variant, under the first workload.
fn growing(conclusion: &Conclusion) -> Option<String> {
    let first = conclusion.growth.first()?;
    let ends = [first.points.first()?, first.points.last()?].map(|(size, _)| number::count(*size));
    let alike = |growth: &&GrowthResult| growth.workload == first.workload && growth.metric == first.metric;
    let variant = |growth: &GrowthResult| {
        format!(
            "{} {} ({})",
            growth.variant,
            growth_class(growth),
            number::fixed(growth.exponent.estimate, 2)
        )
    };
    let variants: Vec<String> = conclusion.growth.iter().filter(alike).map(variant).collect();
    let (metric, workload) = (first.metric, &first.workload);
    let figure = if metric.unit() == Unit::PerSecond {
        format!("time per request (1 / {metric})")
    } else {
        metric.to_string()
    };
    Some(format!(
        "Growth of {figure}, {workload}, from {} to {} (exponent): {}.",
        ends[0],
        ends[1],
        variants.join(", ")
    ))
}

/// The meaning of an exponent, with a question mark if other meanings lie within its interval.
fn growth_class(growth: &GrowthResult) -> String {
    format!("{}{}", growth.class.name(), if growth.sure { "" } else { "?" })
}

/// Claims with their results: those that were published, or the study's own goals.
fn claims(conclusion: &Conclusion, goals: bool) -> Table {
    let mut table = Table::new([if goals { "goal" } else { "claim" }, "statement", "verdict", "why"]);
    let rows = conclusion.claims.iter().filter(|claim| claim.goal == goals);
    table.rows.extend(rows.map(|claim| {
        let mark = claim.changed_after.map_or_else(String::new, |began| {
            // An older version stored no times.
            let of =
                if began.as_nanos() > 0 { format!(" of {}", measuring::date(began)) } else { String::new() };
            format!(" (changed after the data{of})")
        });
        let verdict = words::claim(claim.verdict).to_owned();
        let why = words::why(claim, conclusion.confidence());
        vec![claim.id.clone(), format!("{}{mark}", claim.text), verdict, why]
    }));
    table
}

fn variants(conclusion: &Conclusion) -> Table {
    let mut table = Table::new(["variant", "what it is", "switches"]);
    table.rows.extend(conclusion.variants.iter().map(|variant| {
        let mut switches: Vec<String> =
            variant.differs.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        switches.extend(variant.revision.iter().map(|revision| format!("revision {revision}")));
        let lost = variant.lost.as_ref().map_or_else(String::new, |reason| format!(" (lost: {reason})"));
        vec![variant.name.clone(), format!("{}{lost}", variant.text), switches.join(", ")]
    }));
    table
}

/// One row per variant, one column per measured metric.
fn timeline(conclusion: &Conclusion, workload: &str) -> Table {
    let find = |variant: &str, metric: Metric| {
        let cell = Cell { variant: variant.to_owned(), workload: workload.to_owned() };
        conclusion.timeline.iter().find(move |row| row.cell == cell && row.metric == metric)
    };
    let had =
        |metric: &Metric| conclusion.variants.iter().any(|variant| find(&variant.name, *metric).is_some());
    let metrics: Vec<Metric> = conclusion.metrics.iter().copied().filter(had).collect();
    let mut table = Table::new(["variant"]);
    table.columns.extend(metrics.iter().map(Metric::to_string));
    for variant in &conclusion.variants {
        let figure = |metric: &Metric| find(&variant.name, *metric).map_or(UNKNOWN.to_owned(), value::row);
        let figures: Vec<String> = metrics.iter().map(figure).collect();
        if figures.iter().any(|figure| figure != "–") {
            table.rows.push([vec![variant.name.clone()], figures].concat());
        }
    }
    table
}

fn effects(conclusion: &Conclusion, workload: &str) -> Table {
    let mut table = Table::new([
        "from",
        "to",
        "metric",
        "change",
        "CI",
        "verdict",
        "blocks needed",
        "MDE",
        "published",
        "notes",
    ]);
    table.columns[4] = value::interval_heading(conclusion.confidence());
    let here = conclusion.effects.iter().filter(|effect| effect.to.workload == workload);
    table.rows.extend(here.map(|effect| {
        let metric = effect.metric;
        let change =
            |change: Option<f64>| change.map_or(UNKNOWN.to_owned(), |change| value::change(metric, change));
        let from = if effect.from.workload == workload {
            effect.from.variant.clone()
        } else {
            format!("{}, {}", effect.from.variant, effect.from.workload)
        };
        vec![
            from,
            effect.to.variant.clone(),
            metric.to_string(),
            change(effect.change.map(|range| range.estimate)),
            value::interval(metric, effect.change.as_ref()),
            words::verdict_of(effect),
            value::needed(effect.blocks_needed),
            change(effect.mde),
            change(effect.published),
            words::reasons(effect),
        ]
    }));
    table
}

fn growth(conclusion: &Conclusion) -> Table {
    let mut table =
        Table::new(["variant", "workload", "metric", "figures", "exponent", "last step", "class"]);
    table.rows.extend(conclusion.growth.iter().map(|growth| {
        let points: Vec<String> = growth
            .points
            .iter()
            .map(|(size, value)| {
                format!("{}: {}", number::count(*size), value::figure(growth.metric, *value))
            })
            .collect();
        let end = |end: Option<f64>| end.map_or("?".to_owned(), |end| number::fixed(end, 2));
        let exponent = &growth.exponent;
        let range = format!(
            "{} ({} to {})",
            number::fixed(exponent.estimate, 2),
            end(exponent.low),
            end(exponent.high)
        );
        vec![
            growth.variant.clone(),
            growth.workload.clone(),
            growth.metric.to_string(),
            points.join(", "),
            range,
            number::fixed(growth.last, 2),
            growth_class(growth),
        ]
    }));
    table
}

fn published(conclusion: &Conclusion) -> Table {
    let mut table = Table::new(["variant", "workload", "metric", "published", "measured", "ratio"]);
    table.rows.extend(conclusion.published.iter().map(|published| {
        let metric = published.published.metric;
        vec![
            published.published.cell.variant.clone(),
            published.published.cell.workload.clone(),
            metric.to_string(),
            value::figure(metric, published.published.value),
            published.measured.map_or("–".to_owned(), |measured| value::spread(metric, &measured)),
            published.ratio.map_or("–".to_owned(), |ratio| number::fixed(ratio, 2)),
        ]
    }));
    table
}

fn trust(conclusion: &Conclusion) -> Vec<String> {
    let totals = &conclusion.totals;
    let mut points = vec![
        format!(
            "{}, order by seed {}; {}",
            value::count(conclusion.blocks, "block"),
            conclusion.seed,
            accounting::totals(totals)
        ),
        format!("{} requests in usable trials", number::count(totals.requests)),
        measuring::READING.to_owned(),
    ];
    points.extend(unknown(conclusion));
    points.extend(notes(conclusion));
    points.extend(conclusion.lost.iter().map(|lost| {
        format!("lost: block {}, {}, {}: {}", lost.block + 1, lost.cell.variant, lost.cell.workload, lost.why)
    }));
    points.extend(conclusion.source.iter().map(|source| format!("re-tested story: {source}")));
    points
}

/// Notes on trials that were too short.
fn unknown(conclusion: &Conclusion) -> Option<String> {
    let totals = &conclusion.totals;
    (totals.steady_unknown > 0).then(|| {
        format!(
            "{} of {} usable trials are too short to check whether the service was steady (10 intervals of 1 s)",
            number::count(totals.steady_unknown as u64),
            number::count((totals.valid + totals.suspect) as u64)
        )
    })
}
