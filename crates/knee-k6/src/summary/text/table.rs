//! The lines of k6's summary: names padded with dots, and columns as wide as their widest cell.

use std::fmt::Write as _;

use super::style::{Style, Tone};

/// The cells after a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// A value and what belongs to it.
    Figures(String, Vec<String>),
    /// Figures of a trend, each with its name.
    Trend(Vec<(String, String)>),
}

#[derive(Clone, Debug)]
enum Line {
    Heading(&'static str),
    Row(String, Row),
}

/// Lines that share the widths of their columns.
#[derive(Clone, Debug, Default)]
pub struct Table {
    lines: Vec<Line>,
}

/// Widths of the columns.
#[derive(Default)]
struct Widths {
    name: usize,
    value: usize,
    details: Vec<usize>,
    trend: Vec<usize>,
}

impl Table {
    /// Adds a heading, set off by an empty line from what stands above.
    pub fn heading(&mut self, name: &'static str) {
        self.lines.push(Line::Heading(name));
    }

    /// Adds a line.
    pub fn push(&mut self, name: String, row: Row) {
        self.lines.push(Line::Row(name, row));
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Writes all lines.
    pub fn write(&self, text: &mut String, indent: usize, style: Style) {
        let widths = self.widths();
        let pad = " ".repeat(indent);
        for (place, line) in self.lines.iter().enumerate() {
            match line {
                Line::Heading(name) => {
                    if place > 0 {
                        text.push('\n');
                    }
                    let _ = writeln!(text, "{pad}{}", style.paint(Tone::Bold, name));
                }
                Line::Row(name, row) => {
                    // Three dots at the least, and a colon.
                    let dots = ".".repeat(widths.name - width(name) + 3);
                    let dots = style.paint(Tone::Faint, &format!("{dots}:"));
                    let _ = writeln!(text, "{pad}{name}{dots} {}", widths.cells(row, style));
                }
            }
        }
    }

    fn widths(&self) -> Widths {
        let mut widths = Widths::default();
        for line in &self.lines {
            let Line::Row(name, row) = line else { continue };
            widths.name = widths.name.max(width(name));
            match row {
                Row::Figures(value, details) => {
                    widths.value = widths.value.max(width(value));
                    details
                        .iter()
                        .enumerate()
                        .for_each(|(place, detail)| widen(&mut widths.details, place, width(detail)));
                }
                Row::Trend(figures) => {
                    figures
                        .iter()
                        .enumerate()
                        .for_each(|(place, (_, value))| widen(&mut widths.trend, place, width(value)));
                }
            }
        }
        widths
    }
}

impl Widths {
    fn cells(&self, row: &Row, style: Style) -> String {
        match row {
            Row::Figures(value, details) => {
                let mut text = padded(value, self.value, Tone::Value, style);
                text.push(' ');
                // One detail is not padded, several are, the last one too.
                if let [detail] = details.as_slice() {
                    text.push_str(&style.paint(Tone::FaintValue, detail));
                } else {
                    let cells: Vec<String> = details
                        .iter()
                        .zip(&self.details)
                        .map(|(detail, width)| padded(detail, *width, Tone::FaintValue, style))
                        .collect();
                    text.push_str(&cells.join(" "));
                }
                text
            }
            Row::Trend(figures) => {
                let cell = |((name, value), width): (&(String, String), &usize)| {
                    format!("{name}={}", padded(value, *width, Tone::Value, style))
                };
                figures.iter().zip(&self.trend).map(cell).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

fn padded(text: &str, to: usize, tone: Tone, style: Style) -> String {
    let blanks = to.saturating_sub(width(text));
    format!("{}{}", style.paint(tone, text), " ".repeat(blanks))
}

fn widen(widths: &mut Vec<usize>, place: usize, width: usize) {
    if widths.len() <= place {
        widths.resize(place + 1, 0);
    }
    widths[place] = widths[place].max(width);
}

fn width(text: &str) -> usize {
    text.chars().count()
}
