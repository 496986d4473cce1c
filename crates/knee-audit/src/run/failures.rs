//! Failed requests of a run: what each tool counts as failed, made one share.
//!
//! A request failed if it ended without a response, or with a status below 100 or from 400 on. Where a tool counts
//! otherwise, its own words are used, and the notes say so.

use crate::measurement::{Document, Measurement, Relation, Tool};

use super::figure::{Value, is_capped};

/// Failed requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failures {
    /// As a share of all requests.
    pub share: Value,
    /// Successful requests as a share of those that the tool's rate counts.
    pub kept: Value,
}

/// The failures of a run; `None` if its output leaves some out.
pub fn of(document: &Document, one: &Measurement) -> Option<Failures> {
    match one.tool {
        Tool::Oha | Tool::Vegeta => by_status(one).or_else(|| by_success(one)),
        // Its CSV has no rows for requests without a response; only its text has a rate.
        Tool::Hey => by_status(one).filter(|_| one.rate.is_some() && !is_capped(one)),
        Tool::Wrk | Tool::Wrk2 => of_wrk(one),
        Tool::Ab => of_ab(one),
        Tool::K6 => of_k6(document, one),
        Tool::Locust => {
            let (failed, all) = (one.failed.as_ref()?.value, one.requests.as_ref()?.value);
            counted(all, failed, all)
        }
        Tool::Unknown => None,
    }
}

/// From numbers of requests: all, failed, and those that the rate of the tool counts.
fn counted(all: f64, failed: f64, in_rate: f64) -> Option<Failures> {
    if all <= 0.0 {
        return None;
    }
    let failed = failed.min(all);
    let kept = if in_rate > 0.0 { ((all - failed) / in_rate).min(1.0) } else { 0.0 };
    Some(Failures { share: Value::exact(failed / all), kept: Value::exact(kept) })
}

/// From status codes; vegeta gives 0 to a request without a response.
fn by_status(one: &Measurement) -> Option<Failures> {
    let count = |is_meant: fn(u16) -> bool| -> f64 {
        one.statuses.iter().filter(|(code, _)| is_meant(*code)).map(|(_, count)| *count as f64).sum()
    };
    let lost = one.unanswered.saturating_sub(one.cut_off) as f64;
    let answered = count(|_| true);
    counted(answered + lost, count(is_error) + lost, answered + one.unanswered as f64)
}

/// Whether a status is one of a failed request.
pub fn is_error(status: u16) -> bool {
    !(100..400).contains(&status)
}

/// From the success rate of vegeta's text. That of oha counts every response as a success.
fn by_success(one: &Measurement) -> Option<Failures> {
    let success = one.success_share.as_ref().filter(|_| one.tool == Tool::Vegeta)?;
    let kept = Value::of(success);
    Some(Failures { share: kept.rest(), kept })
}

/// wrk prints no line where it has no errors. Its rate is of responses.
fn of_wrk(one: &Measurement) -> Option<Failures> {
    let responses = one.requests.as_ref()?.value;
    let errors = one.failed.as_ref().map_or(0.0, |count| count.value);
    let lost = one.lost as f64;
    counted(responses + lost, errors + lost, responses)
}

/// ab counts a response as failed if it is not as long as the first, and no status as failed.
fn of_ab(one: &Measurement) -> Option<Failures> {
    let (all, failed) = (one.requests.as_ref()?.value, one.failed.as_ref()?.value);
    let failed = (failed - of_other_length(one)).max(0.0) + one.not_success as f64;
    counted(all, failed, all)
}

/// Responses that ab counts as failed only because the first one is longer or shorter.
pub fn of_other_length(one: &Measurement) -> f64 {
    let other_length = one.relations.iter().find_map(|relation| match relation {
        Relation::Sum { parts, whole } if whole.name == "failed requests" => {
            parts.iter().find(|part| part.name == "Length").map(|part| part.figure.value)
        }
        _ => None,
    });
    other_length.unwrap_or(0.0)
}

/// k6's rate `http_req_failed`.
fn of_k6(document: &Document, one: &Measurement) -> Option<Failures> {
    let relations = document.measurements.iter().filter(|each| each.tool == Tool::K6);
    let mut relations = relations.flat_map(|each| each.relations.iter());
    let counts = relations.find_map(|relation| match relation {
        Relation::Share { part, whole, .. } if part.name == "http_req_failed: part" => {
            Some((part.figure.value, whole.figure.value))
        }
        _ => None,
    });
    if let Some((failed, all)) = counts {
        return counted(all, failed, all);
    }
    let share = Value::of(one.failed_share.as_ref()?);
    Some(Failures { share, kept: share.rest() })
}
