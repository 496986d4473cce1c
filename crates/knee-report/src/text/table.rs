//! A table: columns as wide as their cells, numbers to the right.
//!
//! Does not format numbers and does not draw lines.

use super::ink::{Palette, Tone, cut, left, right, width};

/// Spaces between columns.
const GAP: usize = 3;
/// Spaces before the first column.
const INDENT: usize = 2;

/// One cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// A cell in a tone of its own.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), tone: Tone::Plain }
    }
}

/// Alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
    /// Words that can be cut; if a line is too long, the first such column is cut.
    Flexible,
}

/// Rows of cells under a header.
#[derive(Clone, Debug)]
pub struct Table {
    sides: Vec<Side>,
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows. Headers can be empty.
    pub fn new<'n>(columns: impl IntoIterator<Item = (&'n str, Side)>) -> Self {
        let (header, sides) = columns.into_iter().map(|(name, side)| (name.to_owned(), side)).unzip();
        Self { sides, header, rows: Vec::new() }
    }

    /// Adds a row; it has a cell for every column.
    pub fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.sides.len());
        self.rows.push(cells);
    }

    /// Lines of at most `columns`. Flexible columns are cut to make room; if that is not enough,
    /// columns are left out from the right. A header of empty names is no line.
    pub fn lines(&self, columns: usize, palette: Palette) -> Vec<String> {
        let widths = self.widths(columns);
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        if self.header.iter().any(|name| !name.is_empty()) {
            let cells: Vec<Cell> =
                self.header.iter().map(|name| Cell::toned(name.clone(), Tone::Faint)).collect();
            lines.push(self.line(&cells, &widths, palette));
        }
        lines.extend(self.rows.iter().map(|row| self.line(row, &widths, palette)));
        lines
    }

    /// The width of every column that has room.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..self.sides.len())
            .map(|position| {
                let cells = self.rows.iter().filter_map(|row| row.get(position));
                cells.map(|cell| width(&cell.text)).chain([width(&self.header[position])]).max().unwrap_or(0)
            })
            .collect();
        let taken = |widths: &[usize]| INDENT + widths.iter().sum::<usize>() + GAP * (widths.len() - 1);
        for (position, side) in self.sides.iter().enumerate() {
            let excess = taken(&widths).saturating_sub(columns);
            if *side == Side::Flexible && excess > 0 {
                let least = width(&self.header[position]).max(8).min(widths[position]);
                widths[position] = widths[position].saturating_sub(excess).max(least);
            }
        }
        while widths.len() > 1 && taken(&widths) > columns {
            widths.pop();
        }
        widths
    }

    fn line(&self, cells: &[Cell], widths: &[usize], palette: Palette) -> String {
        let mut line = " ".repeat(INDENT);
        for (position, ((cell, columns), side)) in cells.iter().zip(widths).zip(&self.sides).enumerate() {
            if position > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            let text = cut(&cell.text, *columns);
            let last = position + 1 == widths.len();
            let padded = match side {
                Side::Right => right(&text, *columns),
                Side::Left | Side::Flexible if last => text,
                Side::Left | Side::Flexible => left(&text, *columns),
            };
            line.push_str(&palette.paint(cell.tone, &padded));
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new([("name", Side::Flexible), ("count", Side::Right), ("max", Side::Right)]);
        table.row(vec!["a long name of an endpoint".into(), "1".into(), "1.25".into()]);
        table.row(vec!["b".into(), "12,345".into(), "10.00".into()]);
        table
    }

    #[test]
    fn names_give_way_and_numbers_keep_their_column() {
        assert_eq!(
            table().lines(32, Palette::None),
            [
                "  name             count     max",
                "  a long name …        1    1.25",
                "  b               12,345   10.00",
            ]
        );
    }

    #[test]
    fn a_table_that_is_too_wide_loses_its_last_column() {
        assert!(table().lines(20, Palette::None).iter().all(|line| width(line) <= 20));
    }
}
