//! What observers read in one interval, as the record stores it: new series once, then differences by index.
//!
//! Does not know what a reader must not trust; [`ObservationBuilder`](super::ObservationBuilder) checks everything.

use serde::{Deserialize, Serialize};

use super::{FigureUnit, SeriesKind, Source, Text};
use crate::unit::Nanos;

/// What was read since the last batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Sources that are new or that changed.
    pub sources: Vec<SourceChange>,
    /// New series. Each takes the next index.
    pub series: Vec<NewSeries>,
    /// Points of series.
    pub readings: Vec<Reading>,
    /// New texts. One with the source, name and label of an earlier one replaces it.
    pub texts: Vec<Text>,
}

impl Batch {
    /// Whether there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.series.is_empty() && self.readings.is_empty() && self.texts.is_empty()
    }
}

/// A source, new or as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceChange {
    /// Its index.
    pub index: u32,
    /// The source.
    pub source: Source,
}

/// A series before its first point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSeries {
    /// Index of its source.
    pub source: u32,
    /// As in [`Series`](super::Series).
    pub name: String,
    /// As in [`Series`](super::Series).
    pub label: String,
    /// What it counts in.
    pub unit: FigureUnit,
    /// How points follow each other.
    pub kind: SeriesKind,
}

/// Points of one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// When, since the start of the run.
    pub at: Nanos,
    /// Of which series, ascending: the index of the first one, then how far each is from the one before.
    pub series: Vec<u32>,
    /// The figures, in the order of `series`.
    pub values: Vec<Number>,
}

/// A figure as it is stored. Seconds are stored as nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// The difference from the series' point before, or from 0: whole.
    Whole(i64),
    /// The figure itself.
    Real(f64),
}

/// Whole numbers up to this are exact in an `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A figure in the steps in which it is stored.
pub(super) fn stored(unit: FigureUnit, value: f64) -> f64 {
    if unit == FigureUnit::Seconds { (value * 1e9).round() } else { value }
}

/// The figure of what [`stored`] returned.
pub(super) fn figure(unit: FigureUnit, stored: f64) -> f64 {
    if unit == FigureUnit::Seconds { stored / 1e9 } else { stored }
}

/// `value` after `before`, both as [`stored`] returns them.
pub(super) fn difference(before: f64, value: f64) -> Number {
    let whole = |number: f64| number.fract() == 0.0 && number.abs() < EXACT / 2.0;
    if whole(before) && whole(value) { Number::Whole((value - before) as i64) } else { Number::Real(value) }
}

/// The inverse of [`difference`].
pub(super) fn sum(before: f64, number: Number) -> f64 {
    match number {
        Number::Whole(difference) => before + difference as f64,
        Number::Real(value) => value,
    }
}
