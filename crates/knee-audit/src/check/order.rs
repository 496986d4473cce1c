//! Minimum, percentiles and maximum rise in this order, and no time is longer than the run.
//!
//! Does not look at means.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement, Tool};
use crate::number::Figure;

/// Name of the check.
pub const NAME: &str = "order";

/// Checks every measurement.
pub fn check(document: &Document) -> Vec<Finding> {
    document.measurements.iter().flat_map(|one| order(one).into_iter().chain(too_long(one))).collect()
}

fn order(one: &Measurement) -> Option<Finding> {
    let mut figures: Vec<(&str, f64, &Figure)> =
        one.percentiles.iter().map(|each| (each.name.as_str(), each.share, &each.time)).collect();
    figures.extend(one.min.as_ref().map(|min| ("min", 0.0, min)));
    figures.extend(one.max.as_ref().map(|max| ("max", 1.0, max)));
    figures.sort_by(|a, b| a.1.total_cmp(&b.1));
    let wrong = figures.iter().enumerate().find_map(|(at, high)| {
        let low = figures[..at].iter().find(|low| low.1 < high.1 && high.2.range.is_below(low.2.range))?;
        Some((low, high))
    });
    let (low, high) = wrong?;
    let says = format!("{} is above {}", low.0, high.0);
    Some(
        Finding::new(NAME, Grade::Impossible, one, says)
            .step(format!("{} {} > {} {}", low.0, low.2.text, high.0, high.2.text)),
    )
}

fn too_long(one: &Measurement) -> Option<Finding> {
    let (max, duration) = (one.max.as_ref()?, one.duration.as_ref()?);
    // A vegeta attack ends before its last responses; Locust's and k6's durations can be those of the load alone.
    if matches!(one.tool, Tool::Vegeta | Tool::Locust | Tool::K6 | Tool::Wrk2 | Tool::Unknown) {
        return None;
    }
    if !duration.range.widened(0.001).is_below(max.range) {
        return None;
    }
    let says =
        format!("the slowest request took {}, longer than the whole run of {}", max.text, duration.text);
    Some(Finding::new(NAME, Grade::Impossible, one, says).step(format!("{} > {}", max.text, duration.text)))
}
