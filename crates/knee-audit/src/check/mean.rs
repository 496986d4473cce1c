//! The mean lies between bounds that follow from minimum, percentiles and maximum, and the deviation within the spread.
//!
//! Lower bound: the share of times between two percentiles is at least the lower one; upper bound: at most the upper
//! one. Deviation: s² ≤ (max − mean)(mean − min) n/(n − 1) (Bhatia and Davis, 2000).

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement, Tool};
use crate::number::{Range, show_range, show_time};

/// Name of the check.
pub const NAME: &str = "mean";

/// Error of a share where the number of times is not known.
const SHARE_ERROR: f64 = 0.02;

/// Checks every measurement with a mean.
pub fn check(document: &Document) -> Vec<Finding> {
    document.measurements.iter().filter_map(|one| mean(one).or_else(|| deviation(one))).collect()
}

fn mean(one: &Measurement) -> Option<Finding> {
    let mean = one.mean.as_ref()?;
    if one.tool == Tool::Hey && one.samples.is_some_and(|count| count >= 1_000_000) {
        return None;
    }
    let (bounds, steps) = bounds(one)?;
    if !bounds.excludes(mean.range) {
        return None;
    }
    let says = if bounds.low > mean.range.high {
        format!(
            "the mean {} is below what the percentiles allow, at least {}",
            mean.text,
            show_time(bounds.low)
        )
    } else {
        format!(
            "the mean {} is above what the percentiles allow, at most {}",
            mean.text,
            show_time(bounds.high)
        )
    };
    let mut finding = Finding::new(NAME, Grade::Impossible, one, says);
    finding.arithmetic = steps;
    let range = show_range(bounds, show_time);
    Some(
        finding
            .step(format!("so the mean is {range}"))
            .cause("mean and percentiles are not of the same requests"),
    )
}

/// Bounds of the mean, and the steps to them.
fn bounds(one: &Measurement) -> Option<(Range, Vec<String>)> {
    let error = one.samples.map_or(SHARE_ERROR, |count| 2.0 / count.max(1) as f64);
    let mut points: Vec<(f64, Range, String)> = one
        .percentiles
        .iter()
        .filter(|each| each.share > 0.0 && each.share < 1.0)
        .map(|each| (each.share, each.time.range, format!("{} {}", each.name, each.time.text)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let min = one.min.as_ref().map_or(0.0, |min| min.range.low);
    let max = one.max.as_ref().map_or(f64::INFINITY, |max| max.range.high);
    if points.is_empty() && one.min.is_none() && one.max.is_none() {
        return None;
    }
    let (mut low, mut high) = (0.0, 0.0);
    let (mut before_low, mut before_high, mut time_before) = (0.0, 0.0, min);
    for (share, time, _) in &points {
        // Shares above each percentile are uncertain by the number of times.
        let late = (share + error).min(1.0);
        let early = (share - error).max(0.0);
        low += (late - before_low).max(0.0) * time_before;
        high += (early - before_high).max(0.0) * time.high;
        (before_low, before_high, time_before) = (late, early.max(before_high), time.low.max(time_before));
    }
    low += (1.0 - before_low).max(0.0) * time_before;
    high += (1.0 - before_high).max(0.0) * max;
    let named: Vec<String> = points.iter().map(|(_, _, text)| text.clone()).collect();
    let ends = [
        one.min.as_ref().map(|min| format!("min {}", min.text)),
        one.max.as_ref().map(|max| format!("max {}", max.text)),
    ];
    let all: Vec<String> = ends.into_iter().flatten().chain(named).collect();
    Some((Range { low: low.min(high), high }, vec![format!("from {}", all.join(", "))]))
}

fn deviation(one: &Measurement) -> Option<Finding> {
    let (deviation, mean, max) = (one.deviation.as_ref()?, one.mean.as_ref()?, one.max.as_ref()?);
    let min = one.min.as_ref().map_or(0.0, |min| min.range.low);
    let n = one.requests.as_ref().map_or(2.0, |count| count.range.low).max(2.0);
    let most = ((max.range.high - mean.range.low).max(0.0) * (mean.range.high - min).max(0.0) * n
        / (n - 1.0))
        .sqrt();
    if deviation.range.low <= most * 1.001 {
        return None;
    }
    let says = format!(
        "the standard deviation {} is more than mean and maximum allow, {}",
        deviation.text,
        show_time(most)
    );
    let step = format!(
        "sqrt((max {} - mean {}) x (mean {} - min)) = {}",
        max.text,
        mean.text,
        mean.text,
        show_time(most)
    );
    Some(Finding::new(NAME, Grade::Impossible, one, says).step(step))
}
