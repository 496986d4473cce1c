//! The first sentence of a report: what was measured.
//!
//! Does not say whether it can be trusted; see [`super::validity`].

use knee_core::validity::Validity;

use super::Style;
use super::ink::wrap;
use crate::View;
use crate::number::{self, percent, rate};
use crate::view::reading::Reading;

/// Goodput, response time and errors in a sentence; empty if nothing was measured, or if the figures must not be used.
pub fn lines(view: &View, style: &Style) -> Vec<String> {
    if view.total.response.count == 0 || view.validity.validity == Validity::Invalid {
        return Vec::new();
    }
    let goodput = view.rate.achieved.map(|achieved| format!("Goodput {}/s", rate(achieved)));
    let pieces: Vec<String> = goodput.into_iter().chain([times(view, style), errors(view)]).collect();
    wrap("", pieces.iter().map(String::as_str), ", ", style.width)
}

/// Two response times: p50 and p99, or the nearest figures that the sample supports.
fn times(view: &View, style: &Style) -> String {
    let times = &view.total.response;
    let shown = |name: &str, reading: Reading| {
        let sign = if reading.is_lower_bound() { "≥ " } else { "" };
        reading.nanos().map(|nanos| format!("{name} {sign}{}", number::time(nanos, style.unit)))
    };
    let percentile = |name: &str| shown(name, times.percentile(name));
    let typical = percentile("p50").or_else(|| shown("mean", times.mean)).unwrap_or_default();
    let tail = percentile("p99").or_else(|| shown("max", times.max)).unwrap_or_default();
    format!("response time {typical} and {tail}")
}

fn errors(view: &View) -> String {
    let planned = number::count(view.total.books.planned);
    match view.total.not_ok() {
        0 if view.total.books.planned == 1 => "the one request ok".to_owned(),
        0 => format!("all {planned} requests ok"),
        not_ok => {
            let share = not_ok as f64 / view.total.books.planned as f64;
            format!("{} of {planned} requests not ok", percent(share))
        }
    }
}
