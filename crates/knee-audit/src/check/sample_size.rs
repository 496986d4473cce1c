//! Percentiles that are the maximum: fewer than one time lies above them. Also outputs without any time.
//!
//! The 99.9th percentile needs over 1,000 times to be anything but the longest one.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement, Tool};
use crate::number::group;

/// Name of the check.
pub const NAME: &str = "sample_size";

/// Checks every measurement with a count. One finding of each kind is enough for all of them.
pub fn check(document: &Document) -> Vec<Finding> {
    let kinds: [fn(&Measurement) -> Option<Finding>; 2] = [few, untimed];
    let first = |kind: &fn(&Measurement) -> Option<Finding>| {
        let mut found = document.measurements.iter().filter_map(kind);
        let first = found.next()?;
        let more = found.count();
        Some(if more > 0 { first.step(format!("the same holds for {more} more")) } else { first })
    };
    kinds.iter().filter_map(first).collect()
}

/// Every load testing tool prints times, unless an option leaves them out. A table of an author need not have any.
fn untimed(one: &Measurement) -> Option<Finding> {
    let count = one.requests.as_ref().filter(|count| count.value >= 1.0)?;
    let has_times =
        one.mean.is_some() || one.min.is_some() || one.max.is_some() || !one.percentiles.is_empty();
    if has_times || one.tool == Tool::Unknown {
        return None;
    }
    let says = format!("no time of {} requests was read, so none was checked", count.text);
    Some(
        Finding::new(NAME, Grade::Note, one, says)
            .cause("the output has no times, or has them in another form"),
    )
}

fn few(one: &Measurement) -> Option<Finding> {
    let count = one.samples.filter(|count| *count > 0)?;
    let above = |share: f64| count as f64 * (1.0 - share);
    let meant = || one.percentiles.iter().filter(|each| each.share < 1.0 && above(each.share) < 1.0);
    let first = meant().next()?;
    let names: Vec<&str> = meant().map(|each| each.name.as_str()).collect();
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
