//! The first sentence of a report: what was measured.
//!
//! Does not say whether it can be trusted; see [`super::validity`].

use knee_core::validity::Validity;

use super::Style;
use super::ink::wrap;
use crate::View;
use crate::number::{self, Unit, counted, percent, rate};
use crate::view::reading::Reading;
use crate::view::script::thresholds_in_words;

/// Goodput, response time and errors in a sentence; empty if nothing was measured, or if the figures must not be used.
pub fn lines(view: &View, style: &Style) -> Vec<String> {
    wrap("", pieces(view, style.unit).iter().map(String::as_str), ", ", style.width)
}

/// The same as the parts of a sentence.
pub(crate) fn pieces(view: &View, unit: Option<Unit>) -> Vec<String> {
    if view.total.response.count == 0 || view.validity.validity == Validity::Invalid {
        return Vec::new();
    }
    let goodput = view.rate.achieved.map(|achieved| format!("Goodput {}/s", rate(achieved)));
    let written = |(name, text): (&str, String)| format!("{name} {text}");
    let [typical, tail] = times(view, unit).map(|time| time.map(written).unwrap_or_default());
    let times = format!("response time {typical} and {tail}");
    let thresholds = thresholds_in_words(&view.metrics);
    goodput.into_iter().chain([times, errors(view)]).chain(thresholds).collect()
}

/// Two response times, each with its name: p50 and p99, or the nearest figures that the sample supports.
pub(crate) fn times(view: &View, unit: Option<Unit>) -> [Option<(&'static str, String)>; 2] {
    let times = &view.total.response;
    let shown = |name: &'static str, reading: Reading| {
        let sign = if reading.is_lower_bound() { "≥ " } else { "" };
        reading.nanos().map(|nanos| (name, format!("{sign}{}", number::time(nanos, unit))))
    };
    let percentile = |name: &'static str| shown(name, times.percentile(name));
    [
        percentile("p50").or_else(|| shown("mean", times.mean)),
        percentile("p99").or_else(|| shown("max", times.max)),
    ]
}

fn errors(view: &View) -> String {
    let planned = counted(view.total.books.planned, "request");
    match view.total.not_ok() {
        0 if view.total.books.planned == 1 => "the one request ok".to_owned(),
        0 => format!("all {planned} ok"),
        not_ok => {
            format!("{} of {planned} not ok", percent(share_not_ok(view, not_ok)))
        }
    }
}

/// The share of the requests that did not end ok, in per cent, and the numbers behind it.
pub(crate) fn failed(view: &View) -> (String, String) {
    let (not_ok, planned) = (view.total.not_ok(), view.total.books.planned);
    let numbers = format!("{} of {}", number::count(not_ok), counted(planned, "request"));
    (percent(share_not_ok(view, not_ok)), numbers)
}

fn share_not_ok(view: &View, not_ok: u64) -> f64 {
    not_ok as f64 / view.total.books.planned as f64
}
