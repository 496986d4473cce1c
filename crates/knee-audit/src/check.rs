//! The checks: each looks at a document and says what in it cannot be true, or does not mean what it seems to mean.
//!
//! One file per check. A check is silent if the intervals of the printed figures have common values.

mod capped;
mod count;
mod cut_off;
mod generator;
mod little;
mod mean;
mod noise;
mod omission;
mod optimum;
mod order;
mod part;
mod row;
mod sample_size;
mod scaling;
mod share;
mod statement;
mod success;

use crate::finding::{Finding, Grade};
use crate::measurement::Document;

/// Most findings of one document; more would not be read.
const FINDINGS_MAX: usize = 500;

/// Every check. Each is independent of the others.
const CHECKS: [fn(&Document) -> Vec<Finding>; 17] = [
    little::check,
    count::check,
    capped::check,
    order::check,
    mean::check,
    part::check,
    share::check,
    success::check,
    statement::check,
    omission::check,
    cut_off::check,
    generator::check,
    row::check,
    optimum::check,
    scaling::check,
    noise::check,
    sample_size::check,
];

/// Names of the checks.
pub const NAMES: [&str; 17] = [
    little::NAME,
    count::NAME,
    capped::NAME,
    order::NAME,
    mean::NAME,
    part::NAME,
    share::NAME,
    success::NAME,
    statement::NAME,
    omission::NAME,
    cut_off::NAME,
    generator::NAME,
    row::NAME,
    optimum::NAME,
    scaling::NAME,
    noise::NAME,
    sample_size::NAME,
];

/// What all checks find, the worst first, then in the order of the document.
pub fn all(document: &Document) -> Vec<Finding> {
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(document)).collect();
    findings.sort_by(|a, b| a.grade.cmp(&b.grade).then(a.line.cmp(&b.line)));
    findings.truncate(FINDINGS_MAX);
    findings
}

/// Whether any finding is more than a note.
pub fn is_consistent(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.grade == Grade::Note)
}
