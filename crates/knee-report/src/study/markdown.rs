//! A study in Markdown, as a README or a comment on a pull request shows it.
//!
//! Does not calculate and does not format numbers.

use std::fmt::Write as _;

use super::block::{Block, Document, Table};
use crate::clean;

/// Marks the beginning of the results within a file.
pub const BEGIN: &str = "<!-- results: begin -->";

/// Marks their end.
pub const END: &str = "<!-- results: end -->";

/// The whole document; every line ends in a line feed.
pub fn markdown(document: &Document) -> String {
    let title = format!("# {}\n", escaped(&document.title));
    std::iter::once(title).chain(blocks(&document.blocks, "##")).collect::<Vec<_>>().join("\n")
}

/// The file `existing` with the document in place of the text between [`BEGIN`] and [`END`], each on a line of its
/// own; the rest is unchanged. There the document has no title, and its headings are a level lower. `None` if the file
/// does not have both, in this order, once.
pub fn within(existing: &str, document: &Document) -> Option<String> {
    let begin = alone(existing, BEGIN)?.1;
    let end = alone(existing, END)?.0;
    let (before, after) = (existing.get(..begin)?, existing.get(end..)?);
    if begin > end {
        return None;
    }
    let part = blocks(&document.blocks, "###").collect::<Vec<_>>().join("\n");
    Some(format!("{before}\n{part}\n{after}"))
}

/// The range of the only line that is `mark`, including its line feed.
fn alone(text: &str, mark: &str) -> Option<(usize, usize)> {
    let mut position = 0;
    let mut found = None;
    for line in text.split_inclusive('\n') {
        if line.trim() == mark {
            if found.is_some() {
                return None;
            }
            found = Some((position, position + line.len()));
        }
        position += line.len();
    }
    found
}

fn blocks<'a>(blocks: &'a [Block], level: &'a str) -> impl Iterator<Item = String> + 'a {
    blocks.iter().map(move |found| block(found, level))
}

fn block(block: &Block, level: &str) -> String {
    match block {
        Block::Heading(heading) => format!("{level} {}\n", escaped(heading)),
        Block::Lead(lead) => format!("**{}**\n", escaped(lead)),
        Block::Paragraph(paragraph) => format!("{}\n", escaped(paragraph)),
        Block::List(points) => {
            let points: Vec<String> = points.iter().map(|point| format!("- {}", escaped(point))).collect();
            points.join("\n") + "\n"
        }
        Block::Table(found) => table(found),
        Block::Code(code) => format!("```sh\n{}\n```\n", clean::line(code)),
        Block::Picture { alt, link } => format!("![{}]({})\n", escaped(alt), address(link)),
        Block::Folded { name, inside, .. } => {
            let inside: Vec<String> = blocks(inside, level).collect();
            format!("<details><summary>{}</summary>\n\n{}\n</details>\n", in_html(name), inside.join("\n"))
        }
    }
}

/// A link destination in which no character is mistaken for its end.
fn address(link: &str) -> String {
    let mut address = String::with_capacity(link.len());
    for byte in link.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                address.push(char::from(byte));
            }
            // Writing into a text cannot fail.
            byte => drop(write!(address, "%{byte:02X}")),
        }
    }
    address
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

/// Text that HTML shows as it is, where Markdown does not look.
fn in_html(text: &str) -> String {
    clean::line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
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
