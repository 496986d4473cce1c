//! What the output of a run does not have, and what to know about its figures.
//!
//! Does not look for contradictions; the checks do.

use crate::measurement::{Document, Load, Measurement, Tool};
use crate::number::group;

use super::failures::{is_error, of_other_length};
use super::figure::{Quantity, RunFigure, RunLoad, is_capped};

/// The format of hey's single requests.
const HEY_CSV: &str = "hey CSV";

/// Formats of single requests.
const SINGLE: [&str; 4] = ["k6 JSON lines", "k6 CSV", HEY_CSV, "vegeta results"];

/// What is not there, each as a few words.
pub fn missing(document: &Document, one: &Measurement, figures: &[RunFigure], load: &RunLoad) -> Vec<String> {
    let has = |quantity: Quantity| figures.iter().any(|each| each.quantity.is(quantity));
    let mut gaps = Vec::new();
    for quantity in [Quantity::Requests, Quantity::Throughput, Quantity::Mean, Quantity::Min, Quantity::Max] {
        if !has(quantity) {
            gaps.push(quantity.name());
        }
    }
    if !has(Quantity::Errors) {
        let why = match () {
            () if document.format == HEY_CSV => ": hey's CSV leaves out requests without a response",
            () if is_capped(one) => ": hey counts the first 1,000,000 responses only",
            () => "",
        };
        gaps.push(format!("share of failed requests, and so the goodput{why}"));
    } else if !has(Quantity::Goodput) {
        gaps.push(Quantity::Goodput.name());
    }
    if !figures.iter().any(|each| matches!(each.quantity, Quantity::Percentile(_))) {
        let how = if one.tool == Tool::Wrk { ": `wrk --latency` prints them" } else { "" };
        gaps.push(format!("percentiles{how}"));
    }
    if load.places.is_none() && load.model != Load::Open {
        gaps.push("connections or users".to_owned());
    }
    if load.rate.is_none() && load.model == Load::Open {
        gaps.push("scheduled rate".to_owned());
    }
    if load.duration.is_none() {
        gaps.push("duration".to_owned());
    }
    gaps
}

/// What ab counts as failed, and what is made of it.
fn of_ab(one: &Measurement, notes: &mut Vec<String>) {
    if one.not_success > 0 {
        notes.push("ab counts a status 3xx like an error".to_owned());
    }
    let other_length = of_other_length(one);
    if other_length > 0.0 {
        let count = group(other_length as u64);
        notes.push(format!("{count} responses have another length than the first; they are not failed here"));
    }
}

/// What to know about the figures.
pub fn notes(document: &Document, one: &Measurement) -> Vec<String> {
    let mut notes = Vec::new();
    match one.tool {
        Tool::K6 => notes.push("times are `http_req_duration`, without the time to connect".to_owned()),
        Tool::Wrk => {
            notes.push("wrk adds estimated times to those that it measured before it prints them".to_owned());
        }
        Tool::Wrk2 => notes.push("times begin at the scheduled send".to_owned()),
        Tool::Ab => of_ab(one, &mut notes),
        _ => {}
    }
    if one.lost > 0 {
        let count = group(one.lost);
        notes.push(format!("{count} errors of connections are failed requests; throughput leaves them out"));
    }
    if let (true, Some(count)) = (SINGLE.contains(&document.format.as_str()), one.samples) {
        let count = group(count);
        notes.push(format!(
            "mean and percentiles are computed from {count} single requests, percentiles to 1 %"
        ));
    }
    if matches!(one.tool, Tool::Wrk | Tool::Wrk2) && one.timed_out > 0 {
        let count = group(one.timed_out);
        notes.push(format!(
            "{count} time-outs are not among the failed requests: a response can still follow"
        ));
    }
    if document.format == HEY_CSV {
        let errors = one.statuses.iter().filter(|(code, _)| is_error(*code)).map(|(_, count)| *count);
        let errors = errors.fold(0, u64::saturating_add);
        if errors > 0 {
            notes.push(format!("{} of the responses have status 400 or more", group(errors)));
        }
    }
    notes
}
