//! A sweep as Markdown, for a document or a pull request.
//!
//! Lays a [`SweepView`] out and calculates nothing. Foreign text is written as code or escaped.

use std::fmt::Write as _;

use super::events::REMARK;
use super::text::time;
use super::{SweepView, word};
use crate::clean;
use crate::study::{escaped, sentence_in_line};
use crate::text::Style;

/// The whole document.
pub fn render(view: &SweepView<'_>, style: &Style) -> String {
    let mut text = format!("# Sweep of `{}`\n\n", clean::line(&view.about.title).replace('`', "'"));
    // Writing into a text cannot fail.
    let _ = writeln!(text, "{}\n", sentence_in_line(&view.headline));
    let _ = writeln!(text, "{}.\n", view.terms.join(", "));
    text.push_str("| | | |\n|---|---|---|\n");
    for one in &view.findings {
        let _ = writeln!(text, "| {} | **{}** | {} |", one.name, cell(&one.value), cell(&one.remark));
    }
    text.push('\n');
    if let Some(stops) = &view.stops {
        text.push_str(&stops.markdown(style));
    }
    for remark in &view.remarks {
        let _ = writeln!(text, "## {}\n", remark.heading);
        for sentence in &remark.sentences {
            let _ = writeln!(text, "- {}", sentence_in_line(sentence));
        }
        text.push('\n');
    }
    steps(&mut text, view, style);
    events(&mut text, view, style);
    let _ = writeln!(text, "## Next\n");
    for sentence in &view.next {
        let _ = writeln!(text, "- {}", sentence_in_line(sentence));
    }
    text.push('\n');
    validity(&mut text, view);
    text
}

fn steps(text: &mut String, view: &SweepView<'_>, style: &Style) {
    let (unit, tail) = (view.curve.unit, view.tail);
    let columns = |texts: &[String]| {
        texts.iter().fold(String::new(), |mut cells, text| {
            let _ = write!(cells, " {text} |");
            cells
        })
    };
    let limits = columns(&view.limits);
    let _ = writeln!(text, "## Steps\n\n| | | {unit} | goodput/s | p50 | {tail} |{limits} failed | | |");
    let _ =
        writeln!(text, "|---:|---|---:|---:|---:|---:|{}---:|---|---|", "---:|".repeat(view.limits.len()));
    for row in &view.rows {
        let (p50, tail) = (time(row.p50, style.unit), time(row.tail, style.unit));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {p50} | {tail} |{} {} | {} | {} |",
            row.number,
            row.purpose.name(),
            row.level,
            row.goodput,
            columns(&row.over),
            row.failed,
            word(row.outcome),
            cell(&row.why)
        );
    }
    text.push('\n');
}

/// The times of events at each step, if responses are streams of them.
fn events(text: &mut String, view: &SweepView<'_>, style: &Style) {
    let Some(events) = &view.events else { return };
    let columns = events.columns(view.curve.unit);
    let _ = writeln!(text, "## Events\n\nIn each group: {REMARK}.\n\n| | {} |", columns.join(" | "));
    let _ = writeln!(text, "|---:|{}", "---:|".repeat(columns.len()));
    for row in &events.rows {
        let _ = write!(text, "| {} | {} |", row.number, row.level);
        for reading in row.readings() {
            let _ = write!(text, " {} |", time(reading, style.unit));
        }
        text.push('\n');
    }
    text.push('\n');
}

fn validity(text: &mut String, view: &SweepView<'_>) {
    let about = &view.about;
    let reasons: Vec<String> = view.reasons.iter().map(|reason| cell(reason)).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
    let _ = writeln!(text, "Validity: **{}**{reasons}.\n", view.state.name());
    let cpu = about.machine.cpu.as_deref().unwrap_or("an unknown CPU");
    let position = match about.co_located {
        Some(true) => ", with the service on the same machine",
        Some(false) => "",
        None => ", and it is not known where the service is",
    };
    let _ = writeln!(
        text,
        "Measured with knee {} on {} cores of {}{position}.",
        cell(&about.build.version),
        about.machine.cores,
        cell(cpu)
    );
}

/// Text that cannot end a cell or begin markup.
fn cell(text: &str) -> String {
    escaped(text)
}
