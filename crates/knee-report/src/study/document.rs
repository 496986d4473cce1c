//! The document of a study: headings, paragraphs, lists and tables, every figure written.
//!
//! Does not know whether it becomes text or Markdown.

use knee_study::definition::Cell;
use knee_study::metric::Metric;
use knee_study::study::{ClaimVerdict, Conclusion, Effect, GrowthResult, Relation, wording};

use super::block::{Block, Document, Table};
use super::plot::{Plot, PlotKind};
use super::provenance::Provenance;
use super::{accounting, bound, figure, measuring, switches};
use crate::number;

impl Document {
    /// Writes a conclusion. `plots` are shown if `provenance` says where they are.
    pub fn of(conclusion: &Conclusion, provenance: &Provenance, plots: &[Plot]) -> Self {
        let pictures = Pictures { folder: provenance.plots.as_deref(), plots };
        let mut blocks = Vec::new();
        blocks.extend(conclusion.question.clone().map(Block::Paragraph));
        blocks.push(Block::List(in_short(conclusion)));
        section(&mut blocks, "Claims", claims(conclusion));
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

/// The summary: claims, the effect of all steps together, and the number of trials by validity.
fn in_short(conclusion: &Conclusion) -> Vec<String> {
    let count = |verdict: ClaimVerdict| {
        let number = conclusion.claims.iter().filter(|claim| claim.verdict == verdict).count();
        (number > 0).then(|| format!("{number} {}", verdict.name()))
    };
    let verdicts =
        [ClaimVerdict::Confirmed, ClaimVerdict::Refuted, ClaimVerdict::Undecided, ClaimVerdict::Untestable];
    let counts: Vec<String> = verdicts.into_iter().filter_map(count).collect();
    let mut sentences = Vec::new();
    if !counts.is_empty() {
        let claims = figure::counted(conclusion.claims.len(), "claim");
        sentences.push(format!("{claims}: {}.", counts.join(", ")));
    }
    sentences.extend(whole_way(conclusion).map(|effect| {
        let (from, to, metric) = (&effect.from.variant, &effect.to.variant, effect.metric);
        let change = effect.change.map_or_else(String::new, |change| {
            let level = conclusion.confidence();
            format!(" {},", wording::estimate(metric, &change, level, effect.n_blocks))
        });
        let needed =
            effect.blocks_needed.map_or_else(String::new, |blocks| format!("; ~{blocks} blocks needed"));
        let verdict = wording::verdict(metric, effect.verdict, effect.margin, conclusion.quick);
        format!("{to} vs {from}, {}: {metric}{change} {verdict}{needed}.", effect.to.workload)
    }));
    sentences.extend(switches::in_short(conclusion));
    sentences.extend(growing(conclusion));
    if sentences.is_empty() {
        sentences.push("Nothing was compared yet.".to_owned());
    }
    sentences.push(format!("Data: {}.", accounting::totals(&conclusion.totals)));
    sentences
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
    let figure =
        if metric.more_is_better() { format!("time per request (1 / {metric})") } else { metric.to_string() };
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

/// The effect of everything together by the first metric, under the first workload.
fn whole_way(conclusion: &Conclusion) -> Option<&Effect> {
    let first = conclusion.metrics.first()?;
    let measured = || {
        conclusion
            .effects
            .iter()
            .filter(|effect| effect.primary && effect.metric == *first && effect.n_blocks > 0)
    };
    let workload = &measured().next()?.to.workload;
    let whole = |effect: &&Effect| matches!(effect.relation, Relation::SinceFirst | Relation::Whole);
    let here = || measured().filter(|effect| effect.to.workload == *workload);
    here().rfind(whole).or_else(|| here().next())
}

fn claims(conclusion: &Conclusion) -> Table {
    let mut table = Table::new(["claim", "statement", "verdict", "why"]);
    let rows = conclusion.claims.iter();
    table.rows.extend(rows.map(|claim| {
        vec![claim.id.clone(), claim.text.clone(), claim.verdict.name().to_owned(), claim.why.clone()]
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
        let figure = |metric: &Metric| {
            find(&variant.name, *metric).map_or("–".to_owned(), |row| figure::spread(*metric, &row.spread))
        };
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
    table.columns[4] = figure::interval_heading(conclusion.confidence());
    let here = conclusion.effects.iter().filter(|effect| effect.to.workload == workload);
    table.rows.extend(here.map(|effect| {
        let metric = effect.metric;
        let change =
            |change: Option<f64>| change.map_or("–".to_owned(), |change| figure::change(metric, change));
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
            effect.change.map_or("–".to_owned(), |range| figure::interval(metric, &range)),
            figure::verdict(effect, conclusion.quick),
            figure::needed(effect.blocks_needed),
            change(effect.mde),
            change(effect.published),
            effect.notes.join("; "),
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
                format!("{}: {}", number::count(*size), figure::figure(growth.metric, *value))
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
            figure::figure(metric, published.published.value),
            published.measured.map_or("–".to_owned(), |measured| figure::spread(metric, &measured)),
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
            figure::counted(conclusion.blocks, "block"),
            conclusion.seed,
            accounting::totals(totals)
        ),
        format!("{} requests in usable trials", number::count(totals.requests)),
        "intervals and verdicts are over blocks, not requests; MDE: the smallest change that this many blocks detect \
         with 80 % power"
            .to_owned(),
    ];
    points.extend(unknown(conclusion));
    points.extend(conclusion.notes.iter().cloned());
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
            "{} of {} usable trials are too short to check whether the service was steady (20 intervals of 1 s)",
            number::count(totals.steady_unknown as u64),
            number::count((totals.valid + totals.suspect) as u64)
        )
    })
}
