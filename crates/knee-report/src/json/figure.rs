//! Figures as the JSON document has them: finite numbers, times in the unit that their member names.
//!
//! Does not choose what is shown.

use knee_core::unit::Nanos;
use serde::Serialize;

use crate::view::reading::Reading;

/// A number that JSON can hold.
pub(crate) fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

/// Milliseconds to the nanosecond; null where there is no figure.
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
