//! Differences within noise: two means of one endpoint that differ by less than their own requests scatter.
//!
//! The standard error of a mean is its deviation divided by the square root of the count. This is the least noise there
//! is; runs differ by more.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement};
use crate::number::{show_share, show_time};

/// Name of the check.
pub const NAME: &str = "noise";

/// Compares each measurement with the one of the same label before it.
pub fn check(document: &Document) -> Vec<Finding> {
    let mut found = Vec::new();
    let all = &document.measurements;
    for (at, one) in all.iter().enumerate() {
        let same = |other: &&Measurement| {
            other.label == one.label
                && other.tool == one.tool
                && (other.table != one.table || one.table.is_none())
        };
        if let Some(before) = all[..at].iter().rev().find(same) {
            found.extend(compare(before, one));
        }
    }
    found
}

/// Standard error of the mean, from the distance between the median and the 95th percentile.
fn error(one: &Measurement) -> Option<f64> {
    let (median, p95) = (one.percentile(0.5)?, one.percentile(0.95)?);
    // The distance is 1.645 deviations of a normal distribution, and 2.3 of an exponential one.
    let deviation = (p95.value - median.value) / 2.3;
    Some(deviation / (one.samples.filter(|count| *count > 0)? as f64).sqrt())
}

fn compare(before: &Measurement, after: &Measurement) -> Option<Finding> {
    let (old, new) = (before.mean.as_ref()?, after.mean.as_ref()?);
    let limit = 2.0 * error(before)?.hypot(error(after)?);
    let change = new.value - old.value;
    if change.abs() >= limit || change == 0.0 {
        return None;
    }
    let says =
        format!("the mean differs from that at line {} by less than the noise of the requests", before.line);
    Some(
        Finding::new(NAME, Grade::Note, after, says)
            .step(format!(
                "{} - {} = {} ({})",
                show_time(new.value),
                show_time(old.value),
                show_time(change),
                show_share(change / old.value.max(f64::MIN_POSITIVE))
            ))
            .step(format!("two standard errors of the difference: {}", show_time(limit)))
            .cause("one run each cannot show so small a difference"),
    )
}
