//! The document of a study: its results, the answer first, in at most [`LINES_MAX`] lines of Markdown.
//!
//! Every figure is written here once. What does not fit is in the JSON. Does not know whether the document becomes text
//! or Markdown.

use knee_study::definition::Cell;
use knee_study::metric::Metric;
use knee_study::study::Conclusion;

use super::block::{Block, Document, Table};
use super::plot::{Plot, PlotKind};
use super::provenance::Provenance;
use super::value::{self, UNKNOWN};
use super::{
    accounting, bound, claims, growth, headline, markdown, measuring, notes, resource, switches, words,
};
use crate::number;

/// Most lines of a document in Markdown. Two of them are for the program that writes it into a file.
pub const LINES_MAX: usize = 200;

/// Lines up to which a document gets tables that only complete it.
const LINES_SHORT: usize = 120;

/// Parts that every table and every list keeps, however many there are.
const PARTS_MIN: usize = 3;

/// Most characters of a point or a paragraph that others wrote.
const CHARACTERS_MAX: usize = 600;

/// Lost trials that are shown.
const LOST_SHOWN: usize = 3;

/// Workloads whose switches are shown.
const SWITCHES_SHOWN: usize = 3;

/// A part of a document.
struct Section {
    blocks: Vec<Block>,
    /// What it is called if it is left out; `None` if it never is.
    optional: Option<String>,
}

impl Document {
    /// Writes a conclusion. `plots` are shown if `provenance` says where they are.
    pub fn of(conclusion: &Conclusion, provenance: &Provenance, plots: &[Plot]) -> Self {
        chosen(&conclusion.title, &sections(conclusion, provenance, plots))
    }

    /// The same with every section and every row, for readers who can search and fold.
    pub fn whole(conclusion: &Conclusion, provenance: &Provenance, plots: &[Plot]) -> Self {
        let sections = sections(conclusion, provenance, plots);
        let blocks = sections.iter().flat_map(|section| section.blocks.iter().map(bounded)).collect();
        Self { title: headline::shortened(&conclusion.title, CHARACTERS_MAX), blocks }
    }
}

/// All sections, in order.
fn sections(conclusion: &Conclusion, provenance: &Provenance, plots: &[Plot]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut add = |blocks: Vec<Block>| sections.push(Section { blocks, optional: None });
    add(answer(conclusion));
    add(picture(provenance, plots));
    add(titled("Published claims", claims::published(conclusion)));
    add(titled("Goals", claims::goals(conclusion)));
    for (workload, _) in conclusion.workloads.iter().take(SWITCHES_SHOWN) {
        add(titled(&format!("Switches: {workload}"), switches::table(conclusion, workload)));
    }
    add(titled("Growth", growth::table(conclusion)));
    add(bound::section(conclusion));
    sections.extend(completing(conclusion));
    let mut add = |blocks: Vec<Block>| sections.push(Section { blocks, optional: None });
    add(vec![Block::Heading("Data".to_owned()), Block::List(trust(conclusion))]);
    add(measuring::section(conclusion, provenance));
    add(measuring::commands(provenance));
    add(other_pictures(provenance, plots));
    sections
}

/// Tables that a short document has: descriptions of the variants, their figures, comparisons, CPU time, and trials.
fn completing(conclusion: &Conclusion) -> Vec<Section> {
    let of_workloads = |heading: &str, table: &dyn Fn(&str) -> Table| -> Vec<Block> {
        let workloads = conclusion.workloads.iter().map(|(workload, about)| {
            let about = if about.is_empty() { String::new() } else { format!(" ({about})") };
            titled(&format!("{heading}: {workload}{about}"), table(workload))
        });
        workloads.flatten().collect()
    };
    let section = |name: &str, blocks: Vec<Block>| Section { blocks, optional: Some(name.to_owned()) };
    vec![
        section("descriptions of the variants", titled("Variants", variants(conclusion))),
        section("figures of every variant", of_workloads("Figures", &|name| timeline(conclusion, name))),
        section("every comparison", of_workloads("Comparisons", &|name| effects(conclusion, name))),
        section("CPU time per request", titled("CPU time per request", bound::table(conclusion))),
        section("observed resources", titled("Observed resources", resource::table(conclusion))),
        section("trials by validity", titled("Trials by validity", accounting::table(conclusion))),
    ]
}

/// The sections that fit, with a note on the others; tables and lists are cut if even the necessary ones do not fit.
fn chosen(title: &str, sections: &[Section]) -> Document {
    let mut taken: Vec<bool> = sections.iter().map(|section| section.optional.is_none()).collect();
    let document = |taken: &[bool]| {
        let chosen = sections.iter().zip(taken).filter(|(_, taken)| **taken);
        let mut blocks: Vec<Block> =
            chosen.flat_map(|(section, _)| section.blocks.iter().map(bounded)).collect();
        let left =
            sections.iter().zip(taken).filter(|(section, taken)| !**taken && !section.blocks.is_empty());
        let left: Vec<&str> = left.filter_map(|(section, _)| section.optional.as_deref()).collect();
        if !left.is_empty() {
            let names = headline::shortened(&left.join(", "), CHARACTERS_MAX);
            blocks.push(Block::Paragraph(format!("Left out here, and in the JSON: {names}.")));
        }
        Document { title: headline::shortened(title, CHARACTERS_MAX), blocks }
    };
    for (place, section) in sections.iter().enumerate() {
        if section.optional.is_some() && !section.blocks.is_empty() {
            taken[place] = true;
            taken[place] = lines(&document(&taken)) <= LINES_SHORT;
        }
    }
    cut(&document(&taken))
}

/// The document in at most [`LINES_MAX`] lines: the longest tables and lists lose their last parts.
fn cut(whole: &Document) -> Document {
    let mut parts: Vec<usize> = whole.blocks.iter().map(Block::parts).collect();
    loop {
        let blocks = whole.blocks.iter().zip(&parts).map(|(block, parts)| block.first(*parts)).collect();
        let document = Document { title: whole.title.clone(), blocks };
        let excess = lines(&document).saturating_sub(LINES_MAX - 2);
        let longest = (0..parts.len()).max_by_key(|block| parts[*block]);
        match longest.filter(|block| excess > 0 && parts[*block] > PARTS_MIN) {
            // The note on what is left out takes a line too.
            Some(block) => parts[block] = parts[block].saturating_sub(excess + 1).max(PARTS_MIN),
            None => return document,
        }
    }
}

fn lines(document: &Document) -> usize {
    markdown(document).lines().count()
}

/// A block whose texts have a bounded length.
fn bounded(block: &Block) -> Block {
    let short = |text: &String| headline::shortened(text, CHARACTERS_MAX);
    match block {
        Block::Lead(text) => Block::Lead(short(text)),
        Block::Paragraph(text) => Block::Paragraph(short(text)),
        Block::List(points) => Block::List(points.iter().map(short).collect()),
        other => other.clone(),
    }
}

/// The pictures of some kinds, with their links.
fn linked<'a>(provenance: &'a Provenance, plots: &'a [Plot]) -> impl Iterator<Item = (&'a Plot, String)> {
    plots.iter().filter_map(|plot| {
        let link = match provenance.plots.as_deref()? {
            "" => plot.file.clone(),
            folder => format!("{folder}/{}", plot.file),
        };
        Some((plot, link))
    })
}

/// The picture that shows the answer: the primary comparisons, or how figures grow.
fn main_picture(plots: &[Plot]) -> Option<&Plot> {
    let of = |kind: PlotKind| plots.iter().find(|plot| plot.kind == kind);
    of(PlotKind::Primary).or_else(|| of(PlotKind::Growth)).or_else(|| of(PlotKind::Effects))
}

fn picture(provenance: &Provenance, plots: &[Plot]) -> Vec<Block> {
    let main = main_picture(plots);
    let shown = linked(provenance, plots).filter(|(plot, _)| main == Some(*plot));
    shown.map(|(plot, link)| Block::Picture { alt: plot.alt.clone(), link }).collect()
}

fn other_pictures(provenance: &Provenance, plots: &[Plot]) -> Vec<Block> {
    let main = main_picture(plots);
    let others = linked(provenance, plots).filter(|(plot, _)| main != Some(*plot));
    let links: Vec<(String, String)> =
        others.map(|(plot, link)| (plot.file.trim_end_matches(".svg").to_owned(), link)).collect();
    if links.is_empty() { Vec::new() } else { vec![Block::Links { name: "More pictures".to_owned(), links }] }
}

/// A heading and a table; nothing if the table is empty.
fn titled(heading: &str, table: Table) -> Vec<Block> {
    if table.rows.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading(heading.to_owned()), Block::Table(table)]
}

/// The answer: the decisive comparisons, how far the data can be trusted, and what else the study shows.
fn answer(conclusion: &Conclusion) -> Vec<Block> {
    let lead = headline::lead(conclusion);
    let mut points = vec![headline::trust(conclusion)];
    points.extend(headline::points(conclusion));
    points.extend(switches::in_short(conclusion));
    vec![Block::Lead(lead), Block::List(points)]
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
        let cell = Cell::new(variant, workload);
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
            words::side(&effect.from)
        } else {
            words::cell(&effect.from)
        };
        vec![
            from,
            words::side(&effect.to),
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
    ];
    points.extend(unknown(conclusion));
    points.extend(notes(conclusion));
    points.extend(accounting::warnings(conclusion));
    points.extend(conclusion.lost.iter().take(LOST_SHOWN).map(|lost| {
        format!("lost: block {}, {}, {}: {}", lost.block + 1, lost.cell.variant, lost.cell.workload, lost.why)
    }));
    let more = conclusion.lost.len().saturating_sub(LOST_SHOWN);
    if more > 0 {
        points.push(format!("lost: {} more", number::count(more as u64)));
    }
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
