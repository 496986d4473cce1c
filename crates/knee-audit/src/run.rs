//! The figures of one whole run, with the same meaning for every tool, for commands that show or compare outputs.
//!
//! Chooses the measurement that is of the whole run. Does not judge figures (the checks do) and does not lay them out.

mod failures;

mod figure;

mod gaps;

use crate::measurement::{Document, Measurement, Tool};
use crate::number::Figure;

pub(crate) use figure::amount_of;
use figure::is_capped;
pub use figure::{Quantity, RunFigure, RunLoad, Unit, Value};

/// k6's measurement of requests.
const K6_REQUESTS: &str = "http_req_duration";

/// The measurement of a history of Locust.
const LOCUST_HISTORY: &str = "all requests";

/// Upper end of a duration over its lower end from which no rate is computed from it.
const DURATION_WIDTH: f64 = 1.05;

/// Why a document is not one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// No measurement is of requests of a whole run.
    #[error("the file has no figures of the requests of a run")]
    None,
    /// Several outputs are in one text.
    #[error("the file has the outputs of {0} runs")]
    Several(usize),
}

impl RunError {
    /// What to do next.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::None => {
                "give the output as the tool wrote it; `knee audit` also reads tables and statements"
            }
            Self::Several(_) => "give each output as a file of its own",
        }
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The program that made it.
    pub tool: &'static str,
    /// Its load.
    pub load: RunLoad,
    /// Its figures, each quantity once.
    pub figures: Vec<RunFigure>,
    /// What the file does not have, each as a few words.
    pub missing: Vec<String>,
    /// What to know about the figures, each as a sentence without a full stop.
    pub notes: Vec<String>,
}

impl Run {
    /// The run of a document.
    ///
    /// # Errors
    ///
    /// If the document has no run, or several.
    pub fn of(document: &Document) -> Result<Self, RunError> {
        let one = whole(document)?;
        let load = RunLoad::of(document, one);
        let figures = figures(document, one);
        let missing = gaps::missing(document, one, &figures, &load);
        Ok(Self { tool: one.tool.name(), load, figures, missing, notes: gaps::notes(document, one) })
    }

    /// The value of a quantity.
    pub fn value(&self, quantity: Quantity) -> Option<Value> {
        self.figures.iter().find(|each| each.quantity.is(quantity)).map(|each| each.value)
    }
}

/// The measurement of the whole run.
fn whole(document: &Document) -> Result<&Measurement, RunError> {
    let is_whole = |one: &&Measurement| match one.tool {
        Tool::Unknown => false,
        Tool::K6 => one.label == K6_REQUESTS,
        Tool::Locust => one.is_total || one.label == LOCUST_HISTORY,
        Tool::Oha | Tool::Hey | Tool::Wrk | Tool::Wrk2 | Tool::Ab | Tool::Vegeta => true,
    };
    let mut found = document.measurements.iter().filter(is_whole);
    match (found.next(), found.count()) {
        (Some(one), 0) => Ok(one),
        (Some(_), more) => Err(RunError::Several(more + 1)),
        (None, _) => Err(RunError::None),
    }
}

fn figures(document: &Document, one: &Measurement) -> Vec<RunFigure> {
    let requests = requests(one);
    let throughput = throughput(one, requests);
    let failures = failures::of(document, one);
    let goodput = throughput.zip(failures).map(|(throughput, failures)| throughput.times(failures.kept));
    let of = |figure: &Option<Figure>| figure.as_ref().map(Value::of);
    let mut found = Vec::new();
    let mut add = |quantity: Quantity, value: Option<Value>| {
        // A damaged file can have numbers that are none.
        found.extend(value.filter(|value| value.is_finite()).map(|value| RunFigure { quantity, value }));
    };
    add(Quantity::Requests, requests);
    add(Quantity::Throughput, throughput);
    add(Quantity::Goodput, goodput);
    add(Quantity::Errors, failures.map(|failures| failures.share));
    add(Quantity::Mean, of(&one.mean));
    add(Quantity::Min, of(&one.min));
    for (share, value) in percentiles(one) {
        add(Quantity::Percentile(share), Some(value));
    }
    add(Quantity::Max, of(&one.max));
    found
}

/// Percentiles, ascending, each share once: Locust has a median beside its 50 %.
fn percentiles(one: &Measurement) -> Vec<(f64, Value)> {
    let mut found: Vec<(f64, Value)> = Vec::new();
    for each in &one.percentiles {
        let is_known = found.iter().any(|(share, _)| (share - each.share).abs() < 1e-9);
        if !is_known && (0.0..1.0).contains(&each.share) {
            found.push((each.share, Value::of(&each.time)));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

/// Requests that ended, with and without a response. Those that the tool itself gave up at its deadline did not end.
fn requests(one: &Measurement) -> Option<Value> {
    let more = match one.tool {
        Tool::Oha | Tool::Hey => one.unanswered.saturating_sub(one.cut_off),
        Tool::Wrk | Tool::Wrk2 => one.lost,
        _ => 0,
    } as f64;
    match &one.requests {
        _ if is_capped(one) => None,
        Some(count) => Some(Value::of(count).plus(Value::exact(more))),
        None if more > 0.0 => Some(Value::exact(more)),
        None => None,
    }
}

/// The printed rate, or one computed from single requests if their time is known well enough.
fn throughput(one: &Measurement, requests: Option<Value>) -> Option<Value> {
    match &one.rate {
        // Its rate is the one at which it sent. A service that falls behind answers long after the last send.
        Some(_) if one.tool == Tool::Vegeta => {
            let whole = Value::of(one.duration.as_ref()?).plus(Value::of(one.wait.as_ref()?));
            return requests?.over(whole);
        }
        Some(rate) => return Some(Value::of(rate)),
        None => {}
    }
    let duration = Value::of(one.duration.as_ref()?);
    let is_known = duration.range.high <= duration.range.low * DURATION_WIDTH;
    requests?.over(duration).filter(|_| is_known)
}
