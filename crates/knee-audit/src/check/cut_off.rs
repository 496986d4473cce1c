//! Tails cut off: requests that ran into a time limit are missing in the times.
//!
//! Percentiles above their share are then too low. Requests that were open at the end belong to Little's law.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement};
use crate::number::{group, show_share};

/// Name of the check.
pub const NAME: &str = "cut_off";

/// Checks every measurement with time-outs.
pub fn check(document: &Document) -> Vec<Finding> {
    document.measurements.iter().filter(|one| one.timed_out > 0).filter_map(finding).collect()
}

fn finding(one: &Measurement) -> Option<Finding> {
    let answered = one.requests.as_ref()?.value;
    let share = one.timed_out as f64 / (answered + one.timed_out as f64);
    let wrong: Vec<&str> = one
        .percentiles
        .iter()
        .filter(|each| each.share < 1.0 && 1.0 - each.share < share)
        .map(|each| each.name.as_str())
        .collect();
    let says = format!("{} requests that timed out are missing in the times", group(one.timed_out));
    let grade = if wrong.is_empty() { Grade::Note } else { Grade::Misleading };
    let mut finding = Finding::new(NAME, grade, one, says).step(format!(
        "{} / ({} + {}) = {} of the requests",
        group(one.timed_out),
        group(answered as u64),
        group(one.timed_out),
        show_share(share)
    ));
    if !wrong.is_empty() {
        finding =
            finding.step(format!("so {} of all requests are at least the time limit", wrong.join(", ")));
    }
    Some(finding.cause("the tool keeps no time of a request that timed out; mean and maximum are too low"))
}
