//! Tables of a page: a caption, headers with their scope, numbers to the right, a frame that scrolls on narrow pages.
//!
//! Does not know what is in a cell.

use maud::{Markup, html};

use crate::chart::Tone;

/// A column.
pub(super) struct Column {
    name: String,
    is_number: bool,
}

/// A column of words.
pub(super) fn words(name: &str) -> Column {
    Column { name: name.to_owned(), is_number: false }
}

/// A column of numbers.
pub(super) fn number(name: &str) -> Column {
    Column { name: name.to_owned(), is_number: true }
}

/// A table; the first cell of a row is its header.
pub(super) struct Table {
    /// What it shows.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each with one cell per column.
    pub rows: Vec<Vec<Markup>>,
}

impl Table {
    /// A table without rows.
    pub fn new(caption: impl Into<String>, columns: impl IntoIterator<Item = Column>) -> Self {
        Self { caption: caption.into(), columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// The table.
    pub fn markup(&self) -> Markup {
        html! {
            div.scroll role="region" aria-label=(self.caption) tabindex="0" {
                table {
                    caption { (self.caption) }
                    thead { tr { @for column in &self.columns { (header(column)) } } }
                    tbody { @for row in &self.rows { tr { @for (cell, column) in row.iter().zip(&self.columns).take(1) {
                        th scope="row" .n[column.is_number] { (cell) }
                    } @for (cell, column) in row.iter().zip(&self.columns).skip(1) {
                        td .n[column.is_number] { (cell) }
                    } } } }
                }
            }
        }
    }
}

/// The header of a column. A column without a name has no header that a screen reader would read.
fn header(column: &Column) -> Markup {
    html! {
        @if column.name.is_empty() { td {} } @else { th scope="col" .n[column.is_number] { (column.name) } }
    }
}

/// A cell of text.
pub(super) fn cell(text: impl AsRef<str>) -> Markup {
    html! { (text.as_ref()) }
}

/// A horizontal bar of a share of 0 to 1; of it, the share `open` is drawn as an outline.
pub(super) fn bar(share: f64, open: f64) -> Markup {
    let percent =
        |share: f64| format!("{:.2}", if share.is_finite() { share.clamp(0.0, 1.0) * 100.0 } else { 0.0 });
    html! {
        svg.bar viewBox="0 0 100 8" width="180" height="10" preserveAspectRatio="none" aria-hidden="true" {
            rect.c1 fill=(Tone::Blue.colour()) width=(percent(share - open)) height="8" {}
            @if open > 0.0 {
                rect.open.c1 fill=(Tone::Sky.colour()) opacity="0.6" x=(percent(share - open)) width=(percent(open))
                    height="8" {}
            }
        }
    }
}
