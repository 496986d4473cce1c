//! Turns what sources report into batches: numbers the series, leaves out what did not change, stores differences.
//!
//! Does not read sources and does not write bytes. [`ObservationBuilder`](super::ObservationBuilder) is the inverse.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use super::batch::{difference, stored};
use super::{
    Batch, FigureUnit, NewSeries, Reading, SERIES_MAX, SOURCES_MAX, SeriesKind, Source, SourceChange,
    TEXT_BYTES_MAX, TEXT_MAX, TEXTS_MAX, Text,
};
use crate::unit::Nanos;

/// Most series beyond [`SERIES_MAX`] that are counted one by one.
const REFUSED_MAX: usize = 20_000;

/// One figure of a source, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// As in [`Series`](super::Series).
    pub name: String,
    /// As in [`Series`](super::Series).
    pub label: String,
    /// What it counts in.
    pub unit: FigureUnit,
    /// How it follows the one before.
    pub kind: SeriesKind,
    /// The figure. One that is not finite is left out.
    pub value: f64,
}

/// What identifies a series.
type Key = (u32, String, String);

/// What is known of a series that was written.
#[derive(Clone, Copy, Debug)]
struct Known {
    kind: SeriesKind,
    unit: FigureUnit,
    /// The last figure, as stored.
    value: f64,
    /// When it was read last.
    at: Nanos,
    /// Whether the reading at `at` was left out, because nothing had changed.
    left_out: bool,
}

/// Makes batches.
#[derive(Debug, Default)]
pub struct Encoder {
    indices: BTreeMap<Key, u32>,
    known: Vec<Known>,
    /// What was refused beyond the limits, each once.
    refused: BTreeSet<Key>,
    sources: Vec<Source>,
    texts: BTreeMap<Key, String>,
    text_bytes: usize,
    /// The last figure of each series that is in a batch, as stored.
    written: BTreeMap<u32, f64>,
    /// The points of the batch in the making, by their time.
    points: BTreeMap<Nanos, BTreeMap<u32, f64>>,
    batch: Batch,
}

impl Encoder {
    /// A new source; returns its index. `None` beyond [`SOURCES_MAX`].
    pub fn add_source(&mut self, source: Source) -> Option<u32> {
        let index = self.sources.len();
        if index == SOURCES_MAX {
            return None;
        }
        self.sources.push(source);
        self.announce(index as u32);
        Some(index as u32)
    }

    /// The sources as they are now.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Changes a source. Nothing is written if `change` changes nothing.
    pub fn change_source(&mut self, index: u32, change: impl FnOnce(&mut Source)) {
        let Some(source) = self.sources.get_mut(index as usize) else { return };
        let before = source.clone();
        change(source);
        if *source != before {
            self.announce(index);
        }
    }

    /// Adds figures that were read at `at`. One that is older than the last one of its series is left out;
    /// one of the same time replaces it, as long as its batch was not taken.
    pub fn add(&mut self, source: u32, at: Nanos, figures: Vec<Figure>) {
        for figure in figures {
            if figure.value.is_finite() {
                self.add_figure(source, at, figure);
            }
        }
    }

    /// Adds a text, cut to [`TEXT_MAX`] bytes.
    pub fn add_text(&mut self, source: u32, name: &str, label: &str, text: &str) {
        let text = cut(text);
        let key = (source, name.to_owned(), label.to_owned());
        if self.texts.get(&key).is_some_and(|known| known == text) {
            return;
        }
        let bytes = text.len() + name.len() + label.len();
        let full = self.texts.len() == TEXTS_MAX && !self.texts.contains_key(&key);
        if full || self.text_bytes + bytes > TEXT_BYTES_MAX {
            return self.refuse(key);
        }
        self.text_bytes += bytes;
        self.batch.texts.push(Text {
            source: source as usize,
            name: name.to_owned(),
            label: label.to_owned(),
            text: text.to_owned(),
        });
        self.texts.insert(key, text.to_owned());
    }

    /// The batch since the last call.
    pub fn take(&mut self) -> Batch {
        for (at, points) in mem::take(&mut self.points) {
            let reading = self.reading(at, &points);
            self.batch.readings.push(reading);
        }
        mem::take(&mut self.batch)
    }

    /// The last batch: with the points that were left out until then, so that every counter spans the run.
    pub fn end(&mut self) -> Batch {
        for (index, known) in self.known.iter_mut().enumerate() {
            if mem::take(&mut known.left_out) {
                self.points.entry(known.at).or_default().insert(index as u32, known.value);
            }
        }
        self.take()
    }

    fn announce(&mut self, index: u32) {
        let Some(source) = self.sources.get(index as usize) else { return };
        let change = SourceChange { index, source: source.clone() };
        // New ones stay in the order of their indices.
        match self.batch.sources.iter_mut().find(|known| known.index == index) {
            Some(known) => *known = change,
            None => self.batch.sources.push(change),
        }
    }

    fn add_figure(&mut self, source: u32, at: Nanos, figure: Figure) {
        let Figure { name, label, unit, kind, value } = figure;
        let value = stored(unit, value);
        let key = (source, name, label);
        let Some(index) = self.indices.get(&key).copied() else {
            return self.begin(key, at, Known { kind, unit, value, at, left_out: false });
        };
        let Some(known) = self.known.get_mut(index as usize).filter(|known| known.at <= at) else { return };
        if known.kind == SeriesKind::Counter && known.value.to_bits() == value.to_bits() {
            (known.at, known.left_out) = (at, true);
            return;
        }
        if known.left_out {
            self.points.entry(known.at).or_default().insert(index, known.value);
        }
        (known.value, known.at, known.left_out) = (value, at, false);
        self.points.entry(at).or_default().insert(index, value);
    }

    /// Writes a series for the first time.
    fn begin(&mut self, key: Key, at: Nanos, known: Known) {
        let bytes = key.1.len() + key.2.len();
        if self.known.len() == SERIES_MAX || self.text_bytes + bytes > TEXT_BYTES_MAX {
            return self.refuse(key);
        }
        self.text_bytes += bytes;
        let index = self.known.len() as u32;
        let (source, name, label) = key.clone();
        self.batch.series.push(NewSeries { source, name, label, unit: known.unit, kind: known.kind });
        self.points.entry(at).or_default().insert(index, known.value);
        self.known.push(known);
        self.indices.insert(key, index);
    }

    fn refuse(&mut self, key: Key) {
        let source = key.0;
        if self.refused.len() < REFUSED_MAX && self.refused.insert(key) {
            self.change_source(source, |source| source.left_out += 1);
        }
    }

    /// Stores points as differences. Points of one series arrive here in the order of their times.
    fn reading(&mut self, at: Nanos, points: &BTreeMap<u32, f64>) -> Reading {
        let mut reading = Reading { at, ..Reading::default() };
        let mut before = 0;
        for (index, value) in points {
            reading.series.push(index - before);
            before = *index;
            let last = self.written.entry(*index).or_insert(0.0);
            reading.values.push(difference(*last, *value));
            *last = *value;
        }
        reading
    }
}

/// The beginning of a text, at most [`TEXT_MAX`] bytes.
fn cut(text: &str) -> &str {
    if text.len() <= TEXT_MAX {
        return text;
    }
    let end = (0..=TEXT_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}
