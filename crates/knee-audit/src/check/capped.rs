//! hey keeps 1,000,000 times. Its percentiles are then those of the first million, and its mean is wrong.
//!
//! Looks at hey's own outputs; Little's law finds the same in figures that were copied from them.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement, Tool};
use crate::number::{amount, show_time};

/// Name of the check.
pub const NAME: &str = "capped";

/// Number of times that hey keeps.
const KEPT: u64 = 1_000_000;

/// Checks every output of hey.
pub fn check(document: &Document) -> Vec<Finding> {
    document.measurements.iter().filter(|one| one.tool == Tool::Hey).filter_map(finding).collect()
}

fn finding(one: &Measurement) -> Option<Finding> {
    if one.samples != Some(KEPT) {
        return None;
    }
    let (Some(rate), Some(duration)) = (&one.rate, &one.duration) else {
        let says = "the file has exactly 1,000,000 rows, the most that hey keeps";
        return Some(Finding::new(NAME, Grade::Note, one, says).cause("later requests are missing"));
    };
    let sent = rate.range.times(duration.range);
    if sent.low <= KEPT as f64 * 1.001 {
        return None;
    }
    let says = format!("the status codes count 1,000,000 responses, but {} were sent", amount(sent.middle()));
    let mut finding = Finding::new(NAME, Grade::Impossible, one, says).step(format!(
        "{} requests/s x {} = {} requests",
        rate.text,
        duration.text,
        amount(sent.middle())
    ));
    if let Some(mean) = &one.mean {
        let all = mean.value * KEPT as f64 / sent.middle();
        finding = finding.step(format!(
            "mean of all: {} x 1,000,000 / {} = {}",
            mean.text,
            amount(sent.middle()),
            show_time(all)
        ));
    }
    Some(finding.cause(
        "hey keeps 1,000,000 times but divides the sum of all by it; percentiles are those of the first million",
    ))
}
