//! How a report for a terminal looks: its width, its colours, the unit of its times, its headings.
//!
//! Does not look at a terminal.

use super::ink::{Palette, Tone, cut};
use crate::number::Unit;

/// How a report looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of a line.
    pub width: usize,
    /// Colours.
    pub palette: Palette,
    /// The unit of all times; `None` chooses one that fits.
    pub unit: Option<Unit>,
    /// Whether all findings are shown with all of their evidence, and the rules that could not run. Without it, findings
    /// take ten lines at most.
    pub all_findings: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 80, palette: Palette::None, unit: None, all_findings: false }
    }
}

/// A heading with a remark that applies to everything below it.
pub(crate) fn heading(name: &str, remark: &str, style: &Style) -> String {
    let remark = cut(remark, style.width.saturating_sub(name.len() + 1));
    let name = style.palette.paint(Tone::Strong, name);
    if remark.is_empty() { name } else { format!("{name} {}", style.palette.paint(Tone::Faint, &remark)) }
}
