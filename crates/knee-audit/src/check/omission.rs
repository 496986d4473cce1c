//! Coordinated omission: in a stall, a closed load sends one request per connection instead of all that were due.
//!
//! A stall is certain if as many requests as half of the connections took over half of the maximum. With single requests,
//! it is if several were slow, and no response came for half of the slowest one's time, which is unusual in that run. With
//! S as its length and T as the duration, an open load has the percentile q(p) = S − (1 − p) T for 1 − p < S / T.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Load, Measurement, Tool};
use crate::number::{amount, show_time};

/// Name of the check.
pub const NAME: &str = "omission";

/// Checks every closed load.
pub fn check(document: &Document) -> Vec<Finding> {
    document.measurements.iter().filter_map(finding).collect()
}

fn finding(one: &Measurement) -> Option<Finding> {
    if one.load == Load::Open || matches!(one.tool, Tool::Wrk2 | Tool::Vegeta) {
        return None;
    }
    let (max, duration) = (one.max.as_ref()?.value, one.duration.as_ref()?.value);
    let p99 = one.percentile(0.99)?;
    let should = max - 0.01 * duration;
    if max < 0.5 || should < 3.0 * p99.range.high || !is_stall(one, max) {
        return None;
    }
    let says = format!("p99 {} hides a stall of {}", p99.text, show_time(max));
    let mut finding = Finding::new(NAME, Grade::Misleading, one, says).step(format!(
        "stall {} - 1 % of {} = {}: p99 of requests on a schedule",
        show_time(max),
        show_time(duration),
        show_time(should)
    ));
    if let Some(rate) = &one.rate {
        let due = rate.value * max;
        finding = finding.step(format!(
            "{} requests/s x {} = {} requests due meanwhile",
            rate.text,
            show_time(max),
            amount(due)
        ));
    }
    Some(
        finding
            .cause("each connection waited for its response, so requests that were due then were never sent"),
    )
}

/// How many times as long as typical a time without responses is that is unusual.
const UNUSUAL: f64 = 3.0;

/// Whether the server stopped, and not one request alone.
fn is_stall(one: &Measurement, max: f64) -> bool {
    if let Some(silence) = &one.silence {
        let is_unusual = silence.longest >= UNUSUAL * silence.typical;
        return silence.longest >= max / 2.0 && is_unusual && silence.n_slow > 1;
    }
    let between = |from: f64, to: f64| {
        let bars = one.bars.iter().filter(|bar| bar.time.value > max * from && bar.time.value <= max * to);
        bars.map(|bar| bar.count).fold(0, u64::saturating_add)
    };
    // Requests of a stall are together at the end; the tail of a busy server gets thinner.
    let slow = between(0.75, 1.01);
    if slow <= between(0.4, 0.75) {
        return false;
    }
    let connections = one.connections.as_ref().map_or(one.cut_off as f64, |figure| figure.value);
    connections >= 4.0 && slow as f64 >= connections / 2.0
}
