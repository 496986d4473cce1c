//! Parts add up to their whole: rows of a histogram, rows of a table, kinds of failures.
//!
//! Which parts belong to which whole is the reader's knowledge.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement, Named, Relation};
use crate::number::{Range, amount, show_range};

/// Name of the check.
pub const NAME: &str = "part";

/// Error of sums of long decimals.
const TOLERANCE: f64 = 1e-6;

/// Most parts that a finding lists.
const SHOWN_MAX: usize = 6;

/// Checks every sum.
pub fn check(document: &Document) -> Vec<Finding> {
    let sums = document
        .measurements
        .iter()
        .flat_map(|one| one.relations.iter().map(move |relation| (one, relation)));
    sums.filter_map(|(one, relation)| match relation {
        Relation::Sum { parts, whole } => sum(one, parts, whole),
        Relation::Product { .. } | Relation::Share { .. } => None,
    })
    .collect()
}

fn sum(one: &Measurement, parts: &[Named], whole: &Named) -> Option<Finding> {
    let total = parts.iter().fold(Range::exact(0.0), |sum, part| sum.plus(part.figure.range));
    if !total.widened(TOLERANCE).excludes(whole.figure.range.widened(TOLERANCE)) {
        return None;
    }
    let mut shown: Vec<String> = parts.iter().take(SHOWN_MAX).map(|part| part.figure.text.clone()).collect();
    if parts.len() > SHOWN_MAX {
        shown.push(format!("{} more", parts.len() - SHOWN_MAX));
    }
    let says = format!(
        "the parts add up to {}, not to {} ({})",
        show_range(total, amount),
        whole.figure.text,
        whole.name
    );
    let step = format!("{} = {}", shown.join(" + "), show_range(total, amount));
    Some(Finding::new(NAME, Grade::Impossible, one, says).step(step))
}
