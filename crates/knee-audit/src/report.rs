//! What an audit says: the answer first, then each finding with its arithmetic. As data for JSON, and as text.
//!
//! Does not print, and does not make foreign text harmless; the caller does.

use std::fmt::Write;

use serde::Serialize;

use crate::check::is_consistent;
use crate::finding::{Finding, Grade};
use crate::measurement::Document;

/// Version of the JSON layout.
pub const VERSION: u32 = 1;

/// Columns of a text.
const WIDTH: usize = 100;

/// The result of one output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Name of the output.
    pub name: String,
    /// Its format.
    pub format: String,
    /// Number of measurements that were read.
    pub measurements: usize,
    /// Number of figures that were read.
    pub figures: usize,
    /// Number of statements of a text that were read.
    pub statements: usize,
    /// Whether no finding is more than a note.
    pub consistent: bool,
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
}

/// All results, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Documents<'a> {
    /// What the document is.
    pub kind: &'static str,
    /// Version of the layout.
    pub version: u32,
    /// The answer as one sentence.
    pub answer: String,
    /// Whether no finding in any output is more than a note.
    pub consistent: bool,
    /// One result per output.
    pub outputs: &'a [Report],
}

impl Report {
    /// The result of a document.
    pub fn new(name: &str, document: &Document, findings: Vec<Finding>) -> Self {
        Self {
            name: name.to_owned(),
            format: document.format.clone(),
            measurements: document.measurements.len(),
            figures: document.measurements.iter().map(crate::Measurement::n_figures).sum(),
            statements: document.statements.len(),
            consistent: is_consistent(&findings),
            findings,
        }
    }

    /// Number of findings of a grade.
    pub fn count(&self, grade: Grade) -> usize {
        self.findings.iter().filter(|finding| finding.grade == grade).count()
    }
}

impl<'a> Documents<'a> {
    /// All results as one document.
    pub fn new(outputs: &'a [Report]) -> Self {
        Self {
            kind: "audit",
            version: VERSION,
            answer: answer(outputs),
            consistent: outputs.iter().all(|one| one.consistent),
            outputs,
        }
    }
}

/// The answer as one sentence.
pub fn answer(reports: &[Report]) -> String {
    let count = |grade| reports.iter().map(|one| one.count(grade)).sum::<usize>();
    let figures: usize = reports.iter().map(|one| one.figures).sum();
    let words = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let impossible = words(count(Grade::Impossible), "finding cannot be true", "findings cannot be true");
    let misleading = words(count(Grade::Misleading), "is misleading", "are misleading");
    match (count(Grade::Impossible), count(Grade::Misleading)) {
        (0, 0) => {
            format!("consistent: nothing in {} contradicts the rest", words(figures, "figure", "figures"))
        }
        (0, _) => misleading.replacen(' ', " findings ", 1).replacen("1 findings", "1 finding", 1),
        (_, 0) => impossible.replacen("finding cannot", "statement cannot", 1).replacen(
            "findings cannot",
            "statements cannot",
            1,
        ),
        (_, _) => {
            let first = impossible.replacen("finding cannot", "statement cannot", 1).replacen(
                "findings cannot",
                "statements cannot",
                1,
            );
            format!("{first}, {misleading}")
        }
    }
}

/// All results as text.
pub fn text(reports: &[Report]) -> String {
    let mut text = format!("{}\n", answer(reports));
    for report in reports {
        let _ = writeln!(
            text,
            "\n{}: {}, {} measurements, {} figures, {} statements",
            report.name, report.format, report.measurements, report.figures, report.statements
        );
        if report.consistent {
            text.push_str("  consistent\n");
        }
        for finding in &report.findings {
            write_finding(&mut text, finding);
        }
    }
    text
}

/// A finding: its grade and sentence, where it is, the arithmetic, what it probably is.
fn write_finding(text: &mut String, finding: &Finding) {
    let grade = match finding.grade {
        Grade::Impossible => "cannot be true",
        Grade::Misleading => "misleading",
        Grade::Note => "note",
    };
    text.push('\n');
    paragraph(text, "  ", &format!("{grade}: {} ({})", finding.says, finding.check));
    let subject = if finding.subject.is_empty() { String::new() } else { format!(", {}", finding.subject) };
    paragraph(text, "    ", &format!("line {}{subject}", finding.line));
    for step in &finding.arithmetic {
        paragraph(text, "    = ", step);
    }
    if !finding.cause.is_empty() {
        paragraph(text, "    probably: ", &finding.cause);
    }
}

/// Wraps words into lines; the first begins with `head`, the others are indented as much.
fn paragraph(text: &mut String, head: &str, words: &str) {
    let indent = head.chars().count();
    let mut column = indent;
    text.push_str(head);
    for (at, word) in words.split_whitespace().enumerate() {
        let width = word.chars().count();
        if at > 0 && column + 1 + width > WIDTH {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if at > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    text.push('\n');
}
