//! What one reading of a source has: figures and texts, some of them with an earlier time.
//!
//! Does not number series and does not store anything; the encoder of `knee_core::observation` does.

use knee_core::observation::{Figure, FigureUnit, SeriesKind};
use knee_core::unit::Nanos;

pub(crate) use knee_core::observation::FigureUnit::{Bytes, Count, Seconds, Share};
pub(crate) use knee_core::observation::SeriesKind::{Counter, Gauge};

/// What one reading has.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Figures of the moment of reading.
    pub(crate) now: Vec<Figure>,
    /// Figures of an earlier moment, on the clock of the sampler.
    pub(crate) earlier: Vec<(Nanos, Vec<Figure>)>,
    /// Texts: name, label, text.
    pub(crate) texts: Vec<(&'static str, String, String)>,
}

impl Figures {
    /// Adds a figure of this moment, if it is known.
    pub(crate) fn put(
        &mut self,
        name: &str,
        label: &str,
        unit: FigureUnit,
        kind: SeriesKind,
        value: impl Into<Option<f64>>,
    ) {
        self.now.extend(value.into().map(|value| figure(name, label, unit, kind, value)));
    }

    /// Adds a counter of this moment that has no label, if it is known.
    pub(crate) fn counter(&mut self, name: &str, unit: FigureUnit, value: impl Into<Option<f64>>) {
        self.put(name, "", unit, Counter, value);
    }

    /// Adds a gauge of this moment that has no label, if it is known.
    pub(crate) fn gauge(&mut self, name: &str, unit: FigureUnit, value: impl Into<Option<f64>>) {
        self.put(name, "", unit, Gauge, value);
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, name: &'static str, label: impl Into<String>, text: impl Into<String>) {
        self.texts.push((name, label.into(), text.into()));
    }
}

/// One figure.
pub(crate) fn figure(name: &str, label: &str, unit: FigureUnit, kind: SeriesKind, value: f64) -> Figure {
    Figure { name: name.to_owned(), label: label.to_owned(), unit, kind, value }
}

/// The tests of samplers ask for single figures.
#[cfg(test)]
impl Figures {
    pub(crate) fn value(&self, name: &str, label: &str) -> Option<f64> {
        let is_it = |one: &&Figure| one.name == name && one.label == label;
        self.now.iter().find(is_it).map(|one| one.value)
    }
}
