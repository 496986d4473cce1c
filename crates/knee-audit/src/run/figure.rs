//! What a figure and a load of a run are, and the arithmetic of values that are known as printed.
//!
//! Does not take figures out of an output.

use crate::measurement::{Document, Load, Measurement, Tool};
use crate::number::{Figure, Range, amount, group, show_time};

/// k6's measurement of iterations, which has the users.
const K6_ITERATIONS: &str = "iteration_duration";

/// Number of responses that hey keeps; those beyond them are in no count.
const HEY_KEEPS: f64 = 1e6;

/// What a figure measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// Requests that ended, whatever their outcome.
    Requests,
    /// The same, per second.
    Throughput,
    /// Requests that succeeded, per second.
    Goodput,
    /// Requests that failed, as a share of all.
    Errors,
    /// Mean time.
    Mean,
    /// Shortest time.
    Min,
    /// Percentile of the times; the share is from 0 to 1.
    Percentile(f64),
    /// Longest time.
    Max,
}

/// What a value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// Per second.
    PerSecond,
    /// From 0 to 1.
    Share,
    /// Seconds.
    Time,
}

impl Quantity {
    /// Its name: `goodput`, `p95`.
    pub fn name(self) -> String {
        match self {
            Self::Requests => "requests".to_owned(),
            Self::Throughput => "throughput".to_owned(),
            Self::Goodput => "goodput".to_owned(),
            Self::Errors => "errors".to_owned(),
            Self::Mean => "mean".to_owned(),
            Self::Min => "min".to_owned(),
            Self::Percentile(share) => format!("p{}", (share * 1e8).round() / 1e6),
            Self::Max => "max".to_owned(),
        }
    }

    /// What its values are in.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Requests => Unit::Count,
            Self::Throughput | Self::Goodput => Unit::PerSecond,
            Self::Errors => Unit::Share,
            Self::Mean | Self::Min | Self::Percentile(_) | Self::Max => Unit::Time,
        }
    }

    /// Whether both are the same.
    pub fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Percentile(one), Self::Percentile(other)) => (one - other).abs() < 1e-9,
            (one, other) => one == other,
        }
    }
}

/// A value in base units (s, per second, a share, a number), with the values that print like it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// As printed, or computed from printed figures.
    pub value: f64,
    /// What it can stand for.
    pub range: Range,
}

impl Value {
    /// A value that was not rounded.
    pub const fn exact(value: f64) -> Self {
        Self { value, range: Range::exact(value) }
    }

    pub(super) fn of(figure: &Figure) -> Self {
        Self { value: figure.value, range: figure.range }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { value: self.value + other.value, range: self.range.plus(other.range) }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self { value: self.value * other.value, range: self.range.times(other.range) }
    }

    pub(super) fn over(self, other: Self) -> Option<Self> {
        Some(Self { range: self.range.over(other.range)?, value: self.value / other.value })
    }

    /// Of a share, the rest to 1.
    pub(super) fn rest(self) -> Self {
        let range = Range::new((1.0 - self.range.high).max(0.0), (1.0 - self.range.low).max(0.0));
        Self { value: (1.0 - self.value).max(0.0), range }
    }

    pub(super) fn is_finite(self) -> bool {
        self.value.is_finite() && self.range.low.is_finite() && self.range.high.is_finite()
    }

    /// Whether rounding hides more than the inexactness of floating-point numbers.
    pub fn is_rounded(self) -> bool {
        self.range.high > self.range.low + self.range.high.abs() * 1e-6
    }
}

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunFigure {
    /// What it measures.
    pub quantity: Quantity,
    /// Its value.
    pub value: Value,
}

/// The load of a run, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunLoad {
    /// What decides when the next request is sent.
    pub model: Load,
    /// Most requests in flight.
    pub places: Option<Value>,
    /// What holds them: connections or users.
    pub places_name: &'static str,
    /// Scheduled requests per second.
    pub rate: Option<Value>,
    /// Length in s.
    pub duration: Option<Value>,
}

impl RunLoad {
    pub(super) fn of(document: &Document, one: &Measurement) -> Self {
        let iterations = document.measurements.iter().find(|each| each.label == K6_ITERATIONS);
        let iterations = iterations.filter(|_| one.tool == Tool::K6);
        let places =
            one.connections.as_ref().or_else(|| iterations.and_then(|each| each.connections.as_ref()));
        // vegeta sends nothing but what is scheduled.
        let sent = one.rate.as_ref().filter(|_| one.tool == Tool::Vegeta);
        Self {
            model: one.load,
            places: places.map(Value::of),
            places_name: if one.tool == Tool::K6 { "users" } else { one.places() },
            rate: one.goal_rate.as_ref().or(sent).map(Value::of),
            duration: one.duration.as_ref().map(Value::of),
        }
    }

    /// The load in words, one part each; none if nothing is known.
    pub fn words(&self) -> Vec<String> {
        let places = self.places.map(|places| format!("{} {}", amount_of(places.value), self.places_name));
        let rate = self.rate.map(|rate| format!("{} scheduled requests/s", amount(rate.value)));
        let duration = self.duration.map(|duration| format!("for {}", show_time(duration.value)));
        [places, rate, duration].into_iter().flatten().collect()
    }
}

/// A whole number without decimals, and any other with three digits.
pub(crate) fn amount_of(value: f64) -> String {
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) { group(value as u64) } else { amount(value) }
}

/// Whether hey counted only a part of the responses, but all errors.
pub(super) fn is_capped(one: &Measurement) -> bool {
    one.tool == Tool::Hey && one.requests.as_ref().is_some_and(|count| count.value >= HEY_KEEPS)
}
