//! Markdown: tables, outputs of tools in code blocks, lists of figures, and statements about them.
//!
//! Does not read pictures, and no text of other languages than English.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::measurement::{Document, Load, Measurement, Tool};
use crate::number::{Rounding, number, shortened, time};

use super::block::{self, Command};
use super::statement;
use super::table::{Row, measurements};

/// Whether a text has a table, a code block, a heading or a list of bold names.
pub fn is_markdown(text: &str) -> bool {
    let is_rule = |line: &str| {
        line.starts_with('|')
            && line.contains("--")
            && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
    };
    text.lines().map(str::trim_start).any(|line| {
        line.starts_with("```")
            || line.starts_with("# ")
            || line.starts_with("## ")
            || is_rule(line)
            || line.starts_with("- **")
    })
}

/// State while the events go by.
#[derive(Default)]
struct Reader {
    document: Document,
    n_tables: usize,
    titles: Vec<String>,
    rows: Vec<Row>,
    cells: Vec<String>,
    text: String,
    text_line: usize,
    code: Option<(usize, String)>,
    command: Option<Command>,
    item_depth: usize,
    items: Vec<(usize, String)>,
    heading: String,
}

/// Reads a text.
pub fn read(text: &str) -> Document {
    let mut reader = Reader::default();
    "Markdown".clone_into(&mut reader.document.format);
    let mut lines = LineCounter { text, at: 0, line: 1 };
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let line = lines.line_of(range.start);
        reader.take(event, line);
    }
    reader.document.measurements.sort_by_key(|one| one.line);
    reader.document
}

/// Line numbers of ascending places.
struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl LineCounter<'_> {
    fn line_of(&mut self, place: usize) -> usize {
        if place < self.at {
            (self.at, self.line) = (0, 1);
        }
        let between = self.text.as_bytes().get(self.at..place).unwrap_or_default();
        self.line += between.split(|byte| *byte == b'\n').count() - 1;
        self.at = place;
        self.line
    }
}

impl Reader {
    fn take(&mut self, event: Event<'_>, line: usize) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let offset = usize::from(matches!(kind, CodeBlockKind::Fenced(_)));
                self.code = Some((line + offset - 1, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => self.end_code(),
            Event::Text(text) if self.code.is_some() => {
                if let Some((_, code)) = &mut self.code {
                    code.push_str(&text);
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if self.text.is_empty() {
                    self.text_line = line;
                }
                self.text.push_str(&text);
            }
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            Event::End(TagEnd::TableCell) => self.cells.push(std::mem::take(&mut self.text)),
            Event::End(TagEnd::TableHead) => self.titles = std::mem::take(&mut self.cells),
            Event::End(TagEnd::TableRow) => self.rows.push((line, std::mem::take(&mut self.cells))),
            Event::End(TagEnd::Table) => self.end_table(),
            Event::Start(Tag::Item) => {
                self.item_depth += 1;
                self.text.clear();
            }
            Event::End(TagEnd::Item) => {
                self.item_depth = self.item_depth.saturating_sub(1);
                self.end_item();
            }
            Event::End(TagEnd::List(_)) if self.item_depth == 0 => self.end_list(),
            Event::End(TagEnd::Heading(_)) => self.heading = std::mem::take(&mut self.text),
            Event::End(TagEnd::Paragraph) if self.item_depth == 0 => {
                let text = std::mem::take(&mut self.text);
                self.document.statements.extend(statement::read(&text, self.text_line));
            }
            _ => {}
        }
    }

    fn end_code(&mut self) {
        let Some((before, code)) = self.code.take() else { return };
        let first = self.document.measurements.len();
        block::read(&code, before, &mut self.document);
        let new = &mut self.document.measurements[first..];
        match block::command(&code) {
            command @ Some(_) if new.is_empty() => self.command = command,
            // A block can have both, the command first.
            Some(command) => {
                for one in new {
                    command.complete(one);
                }
            }
            None => {
                if let Some(command) = self.command.take_if(|_| !new.is_empty()) {
                    for one in new {
                        command.complete(one);
                    }
                }
            }
        }
        self.document.statements.extend(statement::read_code(&code, before));
    }

    fn end_table(&mut self) {
        self.n_tables += 1;
        let (titles, rows) = (std::mem::take(&mut self.titles), std::mem::take(&mut self.rows));
        self.document.measurements.extend(measurements(&titles, &rows, self.n_tables));
    }

    fn end_item(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return;
        }
        self.document.statements.extend(statement::read(&text, self.text_line));
        self.document.measurements.extend(inline(&text, self.text_line));
        self.items.push((self.text_line, text));
    }

    /// A list of names and figures is one measurement: `Total Requests: 1,000`.
    fn end_list(&mut self) {
        let items = std::mem::take(&mut self.items);
        self.document.statements.extend(statement::repeated(&items));
        let pairs = items.iter().filter_map(|(line, text)| {
            let (name, value) = text.split_once(':')?;
            (name.len() < 40).then(|| (*line, name.trim().to_owned(), value.trim().to_owned()))
        });
        let pairs: Vec<(usize, String, String)> = pairs.collect();
        let Some((line, _, _)) = pairs.first() else { return };
        let titles: Vec<String> = pairs.iter().map(|(_, name, _)| name.clone()).collect();
        let cells: Vec<String> = pairs.iter().map(|(_, _, value)| value.clone()).collect();
        for mut one in measurements(&titles, &[(*line, cells)], 0) {
            // Ranges and advice have the form of a measurement, too: at least three figures must be there.
            let has =
                [one.connections.is_some(), one.rate.is_some(), one.mean.is_some(), one.requests.is_some()];
            if has.iter().filter(|has| **has).count() < 3 {
                continue;
            }
            one.table = None;
            self.heading.trim().clone_into(&mut one.label);
            self.document.measurements.push(one);
        }
    }
}

/// Measurements in a sentence: `50 concurrent: 358 req/s (118.9ms avg response)`; more can follow after `vs`.
fn inline(text: &str, line: usize) -> Vec<Measurement> {
    let Some(at) = text.find(" concurrent") else { return Vec::new() };
    let before = text[..at].rsplit(' ').next().unwrap_or_default();
    let Some((connections, rest)) = shortened(before, Rounding::Nearest) else { return Vec::new() };
    if !rest.is_empty() || connections.value < 1.0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for part in text[at..].split(" vs ") {
        let Some(rate_at) = part.find(" req/s") else { continue };
        let rate = part[..rate_at].rsplit(' ').next().and_then(|word| shortened(word, Rounding::Hand));
        let rate = rate.filter(|(_, rest)| rest.is_empty());
        let after = part[rate_at..].split_once('(').map_or("", |(_, inside)| inside);
        let mean = time(after, Rounding::Hand);
        if let (Some((rate, _)), Some((mean, _)), true) = (rate, mean, number(after).is_some()) {
            let mut one = Measurement::new(Tool::Unknown, line);
            one.label = format!("{} concurrent", connections.text);
            one.load = Load::Closed;
            one.connections = Some(connections.clone());
            (one.rate, one.mean) = (Some(rate), Some(mean));
            found.push(one);
        }
    }
    found
}
