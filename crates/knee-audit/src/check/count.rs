//! Requests = rate × duration, and the other products that a tool's own arithmetic guarantees.
//!
//! oha's rate also counts requests without a response; both counts pass.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement, Relation, Tool};
use crate::number::{Range, amount, show_range};

/// Name of the check.
pub const NAME: &str = "count";

/// Tolerance for durations that the tool did not use for its rate.
const TOLERANCE: f64 = 0.01;

/// Checks every measurement.
pub fn check(document: &Document) -> Vec<Finding> {
    document.measurements.iter().flat_map(|one| count(one).into_iter().chain(products(one))).collect()
}

fn count(one: &Measurement) -> Option<Finding> {
    let (rate, duration, requests) = (one.rate.as_ref()?, one.duration.as_ref()?, one.requests.as_ref()?);
    let mut counted = requests.range;
    counted.high += one.unanswered as f64;
    let mut product = rate.range.times(duration.range);
    // k6 prints the time since the first iteration, and a table can have a duration that was planned.
    if matches!(one.tool, Tool::K6 | Tool::Unknown | Tool::Locust) {
        product = product.widened(TOLERANCE);
    }
    // Responses above the limit of hey are the business of the check of capped samples.
    let is_capped = one.tool == Tool::Hey && requests.value >= 1e6;
    // A vegeta attack of one request has no duration.
    if is_capped || (one.tool == Tool::Vegeta && requests.value < 2.0) || !product.excludes(counted) {
        return None;
    }
    let says = format!(
        "{} requests/s for {} are {} requests, not {}",
        rate.text,
        duration.text,
        show_range(product, amount),
        requests.text
    );
    let step = format!("{} x {} = {}", rate.text, duration.text, show_range(product, amount));
    Some(Finding::new(NAME, Grade::Impossible, one, says).step(step))
}

fn products(one: &Measurement) -> Vec<Finding> {
    let mut found = Vec::new();
    for relation in &one.relations {
        let Relation::Product { first, second, product } = relation else { continue };
        let calculated = first.figure.range.times(second.figure.range);
        let is_capped = one.tool == Tool::Hey && one.samples.is_some_and(|count| count >= 1_000_000);
        // Sums of sizes can miss the headers of a last, unfinished response.
        if is_capped || !calculated.widened(0.001).excludes(product.figure.range) {
            continue;
        }
        let ratio = product.figure.range.over(calculated).unwrap_or(Range::exact(0.0));
        let says = format!("{} times {} is not {}", first.name, second.name, product.name);
        let step = format!(
            "{} x {} = {}, but {} is {} ({} of it)",
            first.figure.text,
            second.figure.text,
            amount(calculated.middle()),
            product.name,
            product.figure.text,
            amount(ratio.middle())
        );
        found.push(Finding::new(NAME, Grade::Impossible, one, says).step(step));
    }
    found
}
