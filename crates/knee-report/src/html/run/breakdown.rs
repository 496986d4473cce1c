//! Where the time goes: the measured parts of the mean response time as a table.
//!
//! Its words are those of the text report. Does not judge.

use knee_findings::Breakdown;
use maud::{Markup, html};

use crate::html::table::{Table, cell, number, words};
use crate::html::words as texts;
use crate::number::time;
use crate::text::Style;
use crate::text::breakdown::{remarks, rows};

/// What applies to all parts.
pub(super) const REMARK: &str = "mean time per complete response";

/// The section; `None` if no work was observed.
pub(super) fn section(breakdown: Option<&Breakdown>, style: &Style) -> Option<Markup> {
    let breakdown = breakdown?;
    let columns = [number("time"), number("share"), words("part")];
    let mut table = Table::new("Parts of the mean response time", columns);
    for row in rows(breakdown, &Style { all_findings: true, ..*style }) {
        table.rows.push(vec![cell(row.time), cell(row.share), texts::name(&row.what)]);
    }
    Some(html! {
        p.remark { "The mean response time is " (time(breakdown.response_s * 1e9, style.unit)) "." }
        (table.markup())
        @for remark in remarks(breakdown) { p.remark { (remark) } }
    })
}
