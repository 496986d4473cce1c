//! Percentiles that are the maximum: fewer than one time lies above them.
//!
//! The 99.9th percentile needs over 1,000 times to be anything but the longest one.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement};
use crate::number::group;

/// Name of the check.
pub const NAME: &str = "sample_size";

/// Checks every measurement with a count. One finding is enough for all of them.
pub fn check(document: &Document) -> Vec<Finding> {
    let mut found = document.measurements.iter().filter_map(finding);
    let Some(mut first) = found.next() else { return Vec::new() };
    let more = found.count();
    if more > 0 {
        first = first.step(format!("the same holds for {more} more"));
    }
    vec![first]
}

fn finding(one: &Measurement) -> Option<Finding> {
    let count = one.samples.filter(|count| *count > 0)?;
    let above = |share: f64| count as f64 * (1.0 - share);
    let few = || one.percentiles.iter().filter(|each| each.share < 1.0 && above(each.share) < 1.0);
    let first = few().next()?;
    let names: Vec<&str> = few().map(|each| each.name.as_str()).collect();
    let says =
        format!("there are only {} times for {}, which is the longest one", group(count), names.join(", "));
    Some(Finding::new(NAME, Grade::Note, one, says).step(format!(
        "{} x (1 - {:.6}) = {:.2} times above {}",
        group(count),
        first.share,
        above(first.share),
        first.name
    )))
}
