//! The generator at its limit: starts that were left out, and a schedule that was not kept.
//!
//! The figures are then those of less load than was asked for.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement};
use crate::number::show_share;

/// Name of the check.
pub const NAME: &str = "generator";

/// Share of the scheduled rate below which a schedule was not kept.
const KEPT: f64 = 0.95;

/// Checks every measurement.
pub fn check(document: &Document) -> Vec<Finding> {
    document.measurements.iter().filter_map(|one| dropped(one).or_else(|| behind(one))).collect()
}

fn dropped(one: &Measurement) -> Option<Finding> {
    let dropped = one.dropped.as_ref().filter(|count| count.value > 0.0)?;
    let done = one.requests.as_ref().map_or(0.0, |count| count.value);
    let share = dropped.value / (dropped.value + done);
    let says = format!("{} iterations were not started, and are missing in every time", dropped.text);
    let done = one.requests.as_ref().map_or("0", |count| count.text.as_str());
    Some(
        Finding::new(NAME, Grade::Misleading, one, says)
            .step(format!(
                "{} / ({} + {done}) = {} of the schedule",
                dropped.text,
                dropped.text,
                show_share(share)
            ))
            .cause(
                "all virtual users were waiting for responses; rate and percentiles are those of less load",
            ),
    )
}

fn behind(one: &Measurement) -> Option<Finding> {
    let (rate, goal) = (one.rate.as_ref()?, one.goal_rate.as_ref()?);
    if rate.range.high >= goal.range.low * KEPT {
        return None;
    }
    let says = format!("{} requests/s were scheduled, {} were sent", goal.text, rate.text);
    let share = rate.value / goal.value.max(f64::MIN_POSITIVE);
    Some(
        Finding::new(NAME, Grade::Misleading, one, says)
            .step(format!("{} / {} = {}", rate.text, goal.text, show_share(share)))
            .cause("generator or server could not keep the schedule; times without the wait before sending are too low"),
    )
}
