//! A study for a terminal.
//!
//! Does not calculate, does not format numbers, and does not look at a terminal: its width is a parameter. A
//! table that is too wide for it is written row by row instead of being cut.

use super::block::{Block, Document, Table};
use crate::clean;
use crate::text::ink::{Palette, Tone, left, width, wrap_words};

/// Spaces between columns.
const GAP: usize = 2;

/// The whole document; every line ends in a line feed. `columns` is the width of a line, 60 or more.
pub fn text(document: &Document, columns: usize, palette: Palette) -> String {
    let columns = columns.max(60);
    let mut lines = vec![palette.paint(Tone::Strong, &clean::line(&document.title))];
    for block in &document.blocks {
        position(block, columns, palette, &mut lines);
    }
    lines.join("\n") + "\n"
}

fn position(block: &Block, columns: usize, palette: Palette, lines: &mut Vec<String>) {
    if matches!(block, Block::Heading(_) | Block::Lead(_) | Block::Paragraph(_) | Block::Code(_)) {
        lines.push(String::new());
    }
    match block {
        Block::Heading(heading) => lines.push(palette.paint(Tone::Strong, &clean::line(heading))),
        Block::Lead(lead) => {
            let wrapped = wrap_words("", &clean::line(lead), columns);
            lines.extend(wrapped.iter().map(|line| palette.paint(Tone::Strong, line)));
        }
        Block::Paragraph(paragraph) => lines.extend(wrap_words("", &clean::line(paragraph), columns)),
        Block::List(points) => {
            lines.extend(points.iter().flat_map(|point| wrap_words("  - ", &clean::line(point), columns)));
        }
        Block::Table(found) => lines.extend(table(found, columns, palette)),
        Block::Code(commands) => {
            lines.extend(commands.iter().map(|command| format!("  {}", clean::line(command))));
        }
        Block::Folded { inside, in_text: true, .. } => {
            for block in inside {
                position(block, columns, palette, lines);
            }
        }
        Block::Folded { .. } | Block::Picture { .. } | Block::Links { .. } => {}
    }
}

/// Columns that are empty in every row are left out.
fn table(table: &Table, columns: usize, palette: Palette) -> Vec<String> {
    let used: Vec<usize> = (0..table.columns.len())
        .filter(|column| table.rows.iter().any(|row| !matches!(row[*column].as_str(), "" | "–")))
        .collect();
    let widest = |column: &usize| {
        let cells = table.rows.iter().map(|row| width(&clean::line(&row[*column])));
        cells.max().unwrap_or_default().max(width(&table.columns[*column]))
    };
    let widths: Vec<usize> = used.iter().map(widest).collect();
    let whole: usize = 2 + widths.iter().map(|width| width + GAP).sum::<usize>();
    if whole > columns + GAP {
        return table.rows.iter().flat_map(|row| apart(table, row, &used, columns, palette)).collect();
    }
    let line = |cells: &[String]| {
        let cells =
            used.iter().zip(&widths).map(|(column, width)| left(&clean::line(&cells[*column]), *width));
        format!("  {}", cells.collect::<Vec<_>>().join(&" ".repeat(GAP))).trim_end().to_owned()
    };
    let mut lines = vec![palette.paint(Tone::Faint, &line(&table.columns))];
    lines.extend(table.rows.iter().map(|row| line(row)));
    lines
}

/// One row as a paragraph: its first cell, and below it every other with its name.
fn apart(table: &Table, row: &[String], used: &[usize], columns: usize, palette: Palette) -> Vec<String> {
    let Some((first, rest)) = used.split_first() else { return Vec::new() };
    let begin = wrap_words("  ", &clean::line(&row[*first]), columns);
    let mut lines: Vec<String> = begin.iter().map(|line| palette.paint(Tone::Strong, line)).collect();
    for column in rest.iter().filter(|column| !row[**column].is_empty()) {
        let name = format!("    {}: ", table.columns[*column]);
        lines.extend(wrap_words(&name, &clean::line(&row[*column]), columns));
    }
    lines
}
