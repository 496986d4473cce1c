//! Two runs beside each other: the figures that both have, and what differs besides the service.
//!
//! Draws no verdict: one run each cannot separate a change from noise.

use crate::measurement::Load;
use crate::number::{amount, show_time};
use crate::run::{Quantity, Run, Unit, Value, amount_of};

/// What a reader must know about every comparison of two outputs.
pub const CAVEAT: &str = "one run each: no interval, no verdict";

/// Difference of two durations from which they count as different, as a share.
const DURATION_DIFFERS: f64 = 0.05;

/// The same of two scheduled rates. vegeta's is one that it measured, and never the same twice.
const RATE_DIFFERS: f64 = 0.02;

/// A figure that both runs have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// What it measures.
    pub quantity: Quantity,
    /// The value of A.
    pub a: Value,
    /// The value of B.
    pub b: Value,
    /// From A to B: of shares the difference, of everything else `b / a - 1`. `None` if A is zero.
    pub change: Option<f64>,
    /// Whether both can be the same value: printed digits and computed percentiles are too coarse.
    pub within_rounding: bool,
}

/// The figures that both runs have, in the order of A.
pub fn figures(a: &Run, b: &Run) -> Vec<Compared> {
    let both = a.figures.iter().filter_map(|figure| {
        let other = b.value(figure.quantity)?;
        Some(compared(figure.quantity, figure.value, other))
    });
    both.collect()
}

fn compared(quantity: Quantity, a: Value, b: Value) -> Compared {
    let change = match quantity.unit() {
        Unit::Share => Some(b.value - a.value),
        _ if a.value > 0.0 => Some(b.value / a.value - 1.0),
        _ => None,
    };
    let within_rounding = (a.is_rounded() || b.is_rounded()) && !a.range.excludes(b.range);
    Compared { quantity, a, b, change, within_rounding }
}

/// Whether the figures say anything about the service: numbers of requests and extremes alone do not.
pub fn is_enough(figures: &[Compared]) -> bool {
    let is_telling =
        |quantity: Quantity| !matches!(quantity, Quantity::Requests | Quantity::Min | Quantity::Max);
    figures.iter().any(|figure| is_telling(figure.quantity))
}

/// What differs besides the service, each as a sentence without a full stop.
pub fn differences(a: &Run, b: &Run) -> Vec<String> {
    let mut found = Vec::new();
    if a.tool != b.tool {
        found.push(format!(
            "the tools differ: {} and {}; each can time another part of a request",
            a.tool, b.tool
        ));
    }
    let (one, other) = (&a.load, &b.load);
    if let (Load::Closed, Load::Open) | (Load::Open, Load::Closed) = (one.model, other.model) {
        let name = |model: Load| if model == Load::Open { "on a schedule" } else { "after each response" };
        let (one, other) = (name(one.model), name(other.model));
        found.push(format!("the load models differ: A sends {one}, B {other}"));
    }
    if let Some((left, right)) = apart(one.places, other.places) {
        let (left, right) = (amount_of(left), amount_of(right));
        found.push(format!(
            "the numbers of users or connections differ: {left} {} and {right} {}",
            one.places_name, other.places_name
        ));
    }
    let rates = apart(one.rate, other.rate);
    if let Some((left, right)) = rates.filter(|(left, right)| !is_near(*left, *right, RATE_DIFFERS)) {
        found.push(format!("the scheduled rates differ: {}/s and {}/s", amount(left), amount(right)));
    }
    found.extend(durations(a, b));
    found
}

/// Both values, if they cannot be the same.
fn apart(a: Option<Value>, b: Option<Value>) -> Option<(f64, f64)> {
    let (a, b) = a.zip(b)?;
    a.range.excludes(b.range).then_some((a.value, b.value))
}

/// Whether two values differ by no more than a share of the larger one.
fn is_near(a: f64, b: f64, share: f64) -> bool {
    (a - b).abs() <= share * a.max(b)
}

/// Of two runs with the same number of requests, the durations are results.
fn durations(a: &Run, b: &Run) -> Option<String> {
    let (one, other) = a.load.duration.zip(b.load.duration)?;
    let requests = a.value(Quantity::Requests).zip(b.value(Quantity::Requests));
    let is_result = requests.is_some_and(|(a, b)| (a.value - b.value).abs() < 0.5);
    if is_result || is_near(one.value, other.value, DURATION_DIFFERS) {
        return None;
    }
    Some(format!("the durations differ: {} and {}", show_time(one.value), show_time(other.value)))
}
