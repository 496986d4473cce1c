//! The section "Beside the run": what observers saw, a few lines per source.
//!
//! Lays out what [`crate::view::beside`] has computed.

use super::ink::{Tone, cut, wrap_words};
use super::style::{Style, heading};
use super::table::{Cell, Side, Table};
use crate::number::{bytes, level, percent, time};
use crate::view::beside::{Amount, Beside, Fact};
use crate::{View, clean};

/// Columns of the names of figures.
const NAME_MAX: usize = 44;

/// The section; empty without sources.
pub fn lines(view: &View, style: &Style) -> Vec<String> {
    if view.beside.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![heading("Beside the run", "", style)];
    for source in &view.beside {
        lines.extend(of_source(source, style));
    }
    lines
}

fn of_source(source: &Beside, style: &Style) -> Vec<String> {
    let mut title = clean::line(&source.name).into_owned();
    if let Some(version) = &source.version {
        title = format!("{title}, {}", clean::line(version));
    }
    let mut lines = vec![format!("  {}", cut(&title, style.width - 2))];
    if let Some((since, reason)) = &source.trouble {
        let reason = clean::line(reason);
        let text = match since {
            Some(at) => format!("lost at {at}: {reason}"),
            None => format!("not read: {reason}"),
        };
        let wrapped = wrap_words("    ", &text, style.width);
        lines.extend(wrapped.into_iter().map(|line| style.palette.paint(Tone::Warn, &line)));
    }
    let mut table = Table::new([("", Side::Flexible), ("", Side::Right), ("", Side::Left)]);
    for fact in &source.facts {
        table.row(row(fact, style));
    }
    lines.extend(
        table.lines(style.width.saturating_sub(2), style.palette).into_iter().map(|line| format!("  {line}")),
    );
    if !source.without.is_empty() {
        let without: Vec<_> = source.without.iter().map(|words| clean::line(words).into_owned()).collect();
        let text = format!("without {}", without.join("; "));
        lines.extend(wrap_words("    ", &text, style.width));
    }
    lines.extend(source.note.iter().flat_map(|note| wrap_words("    ", note, style.width)));
    lines
}

fn row(fact: &Fact, style: &Style) -> Vec<Cell> {
    let more = fact.more.map(|(amount, of)| format!("{} {of}", written(amount, style))).unwrap_or_default();
    vec![cut(&clean::line(&fact.name), NAME_MAX).into(), written(fact.amount, style).into(), more.into()]
}

/// A figure with its unit.
pub(crate) fn written(amount: Amount, style: &Style) -> String {
    match amount {
        Amount::Share(share) => percent(share),
        Amount::Time(nanos) => time(nanos, style.unit),
        Amount::Bytes(size) => bytes(size),
        Amount::Count(number) => level(number),
    }
}
