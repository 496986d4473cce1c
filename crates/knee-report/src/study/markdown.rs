//! A study in Markdown, as a README or a comment on a pull request shows it.
//!
//! Does not calculate and does not format numbers.

use super::document::{Block, Document, Table};
use crate::clean;

/// The whole document; every line ends in a line feed.
pub fn markdown(document: &Document) -> String {
    let mut blocks = vec![format!("# {}\n", escaped(&document.title))];
    blocks.extend(document.blocks.iter().map(block));
    blocks.join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(heading) => format!("## {}\n", escaped(heading)),
        Block::Paragraph(paragraph) => format!("{}\n", escaped(paragraph)),
        Block::List(points) => {
            let points: Vec<String> = points.iter().map(|point| format!("- {}", escaped(point))).collect();
            points.join("\n") + "\n"
        }
        Block::Table(found) => table(found),
        Block::Folded(name, found) => {
            format!("<details><summary>{}</summary>\n\n{}\n</details>\n", escaped(name), table(found))
        }
    }
}

fn table(table: &Table) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = format!("|{}\n", "---|".repeat(table.columns.len()));
    let rows: String = table.rows.iter().map(|cells| row(cells)).collect();
    format!("{}{rule}{rows}", row(&table.columns))
}

/// Text that Markdown and HTML show as it is.
fn escaped(text: &str) -> String {
    let clean = clean::line(text);
    let mut escaped = String::with_capacity(clean.len());
    for letter in clean.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => escaped.extend(['\\', letter]),
            letter => escaped.push(letter),
        }
    }
    escaped
}
