//! What each of several machines contributed to a run.
//!
//! Does not calculate; see [`crate::text::parts`].

use maud::{Markup, html};

use crate::View;
use crate::html::table::{Table, cell, number, words};
use crate::html::words as texts;
use crate::text::Style;
use crate::text::parts::{COLUMNS, cells, label, remark, state};

/// A row a machine; nothing in the run of one.
pub(super) fn section(view: &View, style: &Style) -> Option<Markup> {
    if view.contributions.is_empty() {
        return None;
    }
    let columns = [words("part"), words("figures")].into_iter().chain(COLUMNS.map(number));
    let mut table = Table::new("What each machine contributed", columns);
    for part in &view.contributions {
        let mut row = vec![texts::name(label(part)), cell(state(part))];
        row.extend(cells(part, view, style).map(cell));
        table.rows.push(row);
    }
    Some(html! {
        p.remark { (remark(view, style)) ". All other figures are of all requests together." }
        (table.markup())
    })
}
