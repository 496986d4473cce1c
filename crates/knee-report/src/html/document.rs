//! Studies and comparisons as pages: the document of text and Markdown, with all of its rows, pictures and data.
//!
//! Does not write a word of a result; [`crate::study`] does.

use knee_core::record::Run;
use knee_study::compare::Comparison;
use knee_study::record_pair::RecordPair;
use knee_study::study::Conclusion;
use maud::{Markup, html};

use super::data::Data;
use super::forest::{By, table as forest_table};
use super::front::{Front, Standing, Trust};
use super::page::{Page, Place};
use super::picture::figure;
use super::run::distribution;
use super::section::Section;
use super::table::{Table as Grid, cell, words as of_words};
use super::{raw, words};
use crate::View;
use crate::kept::{self, KeptResult};
use crate::study::plot::{self, Plot, PlotKind};
use crate::study::{self, Block, Document, ForestRow, Provenance, Table, forest};

/// Rows of a table that is not folded.
const ROWS_OPEN: usize = 40;
/// Comparisons on the first screen.
const FOREST_MAX: usize = 12;

/// The page of a study.
pub fn study(conclusion: &Conclusion, provenance: &Provenance) -> String {
    let plots = plot::all(conclusion);
    // Pictures are found by the names of their files.
    let linked = Provenance { plots: Some(String::new()), ..provenance.clone() };
    let document = Document::whole(conclusion, &linked, &plots);
    let data = data(&kept::study(conclusion, provenance));
    let rows = forest::rows(conclusion, |effect| effect.primary);
    let forest = table_of(&rows, By::Sides, conclusion);
    page("Study", &document, Some(trust(conclusion)), (&plots, forest), data)
}

/// The page of a comparison with a verdict.
pub fn comparison(comparison: &Comparison) -> String {
    let mut document = study::comparison::comparison(comparison);
    let mut plots = plot::all(&comparison.study);
    plots.retain(|plot| plot.kind == PlotKind::Effects);
    let pictures = plots.iter().map(|plot| Block::Picture { alt: plot.alt.clone(), link: plot.file.clone() });
    // Below the table of metrics, if there is one.
    let place = document.blocks.iter().position(|block| matches!(block, Block::Heading(_)));
    let place = place.unwrap_or(document.blocks.len());
    document.blocks.splice(place..place, pictures);
    let data = data(&kept::comparison(comparison));
    let forest = table_of(&forest::rows(&comparison.study, |_| true), By::Metric, &comparison.study);
    page("Comparison", &document, Some(trust(&comparison.study)), (&plots, forest), data)
}

/// The page of two saved runs, with the response times of both in one picture.
pub fn record_pair(pair: &RecordPair, runs: (&Run, &Run)) -> String {
    let data = data(&kept::record_pair(pair));
    let picture = distribution::of_two([("A", &View::of(runs.0)), ("B", &View::of(runs.1))]);
    let picture = picture.map(|chart| html! { (figure(&chart)) p.note { (distribution::SPECTRUM) } });
    page("Two runs", &study::comparison::record_pair(pair), None, (&[], picture), data)
}

/// The page of the noise floor of a machine.
pub fn calibration(document: &Document, kept: &KeptResult) -> String {
    page("Calibration", document, None, (&[], None), data(kept))
}

fn data(kept: &KeptResult) -> Data {
    Data::whole(kept.printed.json.clone(), kept)
}

/// The forest table of comparisons; nothing without one.
fn table_of(rows: &[ForestRow], by: By, conclusion: &Conclusion) -> Option<Markup> {
    (!rows.is_empty()).then(|| forest_table(rows, by, &forest::interval_heading(conclusion), FOREST_MAX))
}

fn trust(conclusion: &Conclusion) -> Trust {
    let totals = &conclusion.totals;
    let standing = match () {
        () if totals.valid + totals.suspect == 0 => Standing::Bad,
        () if totals.valid != totals.trials || !conclusion.over => Standing::Doubtful,
        () if conclusion.blocks < conclusion.least_blocks => Standing::Neutral,
        () => Standing::Good,
    };
    let summary = study::trust(conclusion);
    let reasons = study::notes(conclusion).into_iter().map(|note| (note, String::new())).collect();
    Trust { standing, summary, reasons, evidence: Vec::new() }
}

/// A page with a forest table on its first screen, or without one with the first picture there.
fn page(
    kind: &'static str,
    document: &Document,
    trust: Option<Trust>,
    (plots, forest): (&[Plot], Option<Markup>),
    data: Data,
) -> String {
    let begins = document.blocks.iter().position(|block| matches!(block, Block::Heading(_)));
    let (first, rest) = document.blocks.split_at(begins.unwrap_or(document.blocks.len()));
    let (mut front, mut tables) = front(kind, document, trust, (first, plots, forest));
    // Without a verdict, the tables are the answer.
    if front.trust.is_none() {
        let tables = std::mem::take(&mut tables);
        front.picture =
            html! { @for block in tables { (self::block(block, plots, &document.title)) } (front.picture) };
    }
    let mut sections = Vec::new();
    if !tables.is_empty() {
        let body = html! { @for block in tables { (self::block(block, plots, "In detail")) } };
        sections.push(Section::new("detail", "In detail", "", body));
    }
    sections.extend(self::sections(rest, plots));
    Page { front, sections, data, moments: Vec::new(), place: Place::File }.render()
}

/// The first screen, and the blocks that do not belong there.
fn front<'b>(
    kind: &'static str,
    document: &Document,
    mut trust: Option<Trust>,
    (first, plots, forest): (&'b [Block], &[Plot], Option<Markup>),
) -> (Front, Vec<&'b Block>) {
    let (mut answer, mut points, mut tables) = (Vec::new(), Vec::new(), Vec::new());
    let mut picture = forest;
    for block in first {
        match block {
            Block::Lead(text) | Block::Paragraph(text) => answer.push(text.clone()),
            Block::List(texts) => points.extend(texts.iter().cloned()),
            Block::Picture { .. } if picture.is_none() => picture = Some(self::block(block, plots, "")),
            other => tables.push(other),
        }
    }
    // How far the data can be trusted stands beside its sign already.
    if let Some(trust) = &mut trust {
        points.retain(|point| trust.summary != *point);
        trust.summary = trust.summary.trim_start_matches("⚠ ").to_owned();
    }
    let front = Front {
        kind,
        subject: document.title.clone(),
        terms: Vec::new(),
        answer,
        points,
        limits: Vec::new(),
        trust,
        tiles: Vec::new(),
        picture: html! { @if let Some(picture) = picture { (picture) } },
    };
    (front, tables)
}

/// A section per heading. Links to pictures are a section with the pictures.
fn sections(blocks: &[Block], plots: &[Plot]) -> Vec<Section> {
    let mut sections: Vec<(String, Vec<Markup>)> = Vec::new();
    for block in blocks {
        match block {
            Block::Heading(heading) => sections.push((heading.clone(), Vec::new())),
            Block::Links { name, .. } => sections.push((name.clone(), vec![self::block(block, plots, name)])),
            block => {
                if let Some((heading, inside)) = sections.last_mut() {
                    inside.push(self::block(block, plots, heading));
                }
            }
        }
    }
    let numbered = sections.into_iter().enumerate();
    numbered
        .map(|(position, (heading, inside))| {
            let id = match heading.as_str() {
                "Data" | "Validity" => "validity".to_owned(),
                _ => format!("part-{position}"),
            };
            let body = html! { @for block in inside { (block) } };
            Section::new(&id, &words::plain_name(&heading), "", body)
        })
        .collect()
}

/// A block below the heading `within`.
fn block(block: &Block, plots: &[Plot], within: &str) -> Markup {
    match block {
        Block::Heading(text) => html! { h3 { (words::text(text)) } },
        Block::Lead(text) | Block::Paragraph(text) => html! { p { (words::sentence(text)) } },
        Block::List(points) => html! { ul { @for point in points { li { (words::sentence(point)) } } } },
        Block::Table(table) => self::table(table, within),
        Block::Code(commands) => html! {
            pre role="region" aria-label="Commands" tabindex="0" {
                code { @for command in commands { (words::text(command)) "\n" } }
            }
        },
        Block::Picture { link, .. } => drawing(link, plots),
        Block::Links { links, .. } => html! {
            @for (name, link) in links {
                details { summary { (words::text(name)) } (drawing(link, plots)) }
            }
        },
        Block::Folded { name, inside, .. } => html! {
            details {
                summary { (words::text(name)) }
                @for one in inside { (self::block(one, plots, name)) }
            }
        },
    }
}

/// A picture that this page contains.
fn drawing(link: &str, plots: &[Plot]) -> Markup {
    let plot = plots.iter().find(|plot| plot.file == link);
    html! {
        @if let Some(plot) = plot {
            figure {
                div.drawing role="region" aria-label=(words::text(&plot.alt)) tabindex="0" { (raw::drawing(&plot.svg)) }
                figcaption.sideways hidden { "The picture is wider than the page: scroll it to the side." }
            }
        }
    }
}

/// A table without the columns that are empty in every row; a long one is folded.
fn table(table: &Table, within: &str) -> Markup {
    let used: Vec<usize> = (0..table.columns.len())
        .filter(|column| table.rows.iter().any(|row| !matches!(row[*column].as_str(), "" | "–")))
        .collect();
    let columns = used.iter().map(|column| of_words(&table.columns[*column]));
    let by = used.first().map_or_else(String::new, |first| format!("by {}", table.columns[*first]));
    let caption = format!("{}, {by}", words::plain_name(within));
    let mut shown = Grid::new(caption, columns);
    let cells =
        |row: &Vec<String>| used.iter().map(|column| cell(words::text(&row[*column]))).collect::<Vec<_>>();
    shown.rows.extend(table.rows.iter().map(cells));
    let count = shown.rows.len();
    html! {
        @if count > ROWS_OPEN { details { summary { "Show " (count) " rows" } (shown.markup()) } }
        @else { (shown.markup()) }
    }
}
