//! Formats figures for the JSON document: finite numbers, and times in the unit that the member's name states.
//!
//! Does not choose what is shown.

use knee_core::unit::Nanos;
use serde::Serialize;

use crate::view::reading::Reading;

/// A number that JSON can hold.
pub(crate) fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

/// Milliseconds, with nanosecond precision; null without a figure.
pub(super) fn reading(reading: Reading) -> Option<f64> {
    reading.nanos().and_then(finite).map(|nanos| nanos.round() / 1e6)
}

pub(super) fn millis(nanos: Nanos) -> f64 {
    nanos.as_millis_f64()
}

pub(super) fn seconds(nanos: Nanos) -> f64 {
    nanos.as_secs_f64()
}

/// How many different bodies came back.
#[derive(Debug, Serialize)]
pub(super) struct Bodies {
    distinct: u64,
    more: bool,
}

impl Bodies {
    pub(super) fn of((distinct, more): (u64, bool)) -> Self {
        Self { distinct, more }
    }
}
