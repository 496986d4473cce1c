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
    /// The figure itself, with few digits behind the point: a whole number, and how many of its digits these are, at most
    /// [`DIGITS_MAX`]. It takes fewer bytes than [`Self::Real`], whose bits look like chance.
    Decimal(i64, u8),
    /// The figure itself.
    Real(f64),
}

/// Most digits behind the point of a [`Number::Decimal`].
const DIGITS_MAX: usize = 9;

/// By what whole numbers are divided for so many digits behind the point. All are exact, so a quotient of one that is
/// exact, too, is the `f64` that is closest to the decimal: what a reader of its text gets.
const POWERS: [f64; DIGITS_MAX + 1] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

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
    if whole(before) && whole(value) {
        return Number::Whole((value - before) as i64);
    }
    decimal(value).unwrap_or(Number::Real(value))
}

/// The figure as a decimal with few digits behind the point; `None` if it is not exactly that.
fn decimal(value: f64) -> Option<Number> {
    let as_decimal = |(digits, power): (usize, &f64)| {
        let whole = (value * power).round();
        let is_same = whole.abs() < EXACT && (whole / power).to_bits() == value.to_bits();
        is_same.then_some(Number::Decimal(whole as i64, digits as u8))
    };
    POWERS.iter().enumerate().find_map(as_decimal)
}

/// The inverse of [`difference`].
pub(super) fn sum(before: f64, number: Number) -> f64 {
    match number {
        Number::Whole(difference) => before + difference as f64,
        // Too many digits are in no record of this program.
        Number::Decimal(whole, digits) => {
            POWERS.get(usize::from(digits)).map_or(f64::NAN, |power| whole as f64 / power)
        }
        Number::Real(value) => value,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_figure_with_few_digits_is_stored_as_such_and_another_one_as_it_is() {
        assert_eq!(difference(0.0, 0.25), Number::Decimal(25, 2));
        assert_eq!(difference(0.5, -3.0), Number::Decimal(-3, 0), "after one that is not whole");
        assert_eq!(difference(7.0, 9.0), Number::Whole(2));
        for value in [0.1 + 0.2, 1.0 / 3.0, 1e300, 1e-12, f64::MIN_POSITIVE] {
            assert_eq!(difference(0.5, value), Number::Real(value));
        }
        assert!(sum(0.0, Number::Decimal(1, u8::MAX)).is_nan());
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_stored_to_the_last_bit(
            before in any::<i32>(), text in "-?[0-9]{1,9}\\.[0-9]{1,9}", any in any::<f64>(),
        ) {
            let decimal: f64 = text.parse().unwrap();
            for value in [decimal, any] {
                let number = difference(f64::from(before) / 8.0, value);
                let bytes = rmp_serde::to_vec_named(&number).unwrap();
                let read: Number = rmp_serde::from_slice(&bytes).unwrap();
                let is_whole = matches!(number, Number::Whole(_));
                let last = if is_whole { f64::from(before) / 8.0 } else { 0.0 };
                // The sign of zero is no figure.
                let (read, value) = (sum(last, read) + 0.0, value + 0.0);
                prop_assert_eq!(read.to_bits(), value.to_bits(), "{:?}", number);
            }
        }
    }
}
