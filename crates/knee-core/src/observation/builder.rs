//! Turns batches into observations. Live runs and saved records use the same code.
//!
//! Trusts nothing: a batch of a record can contain anything. What does not fit is left out. Memory is bounded: beyond
//! [`POINTS_MAX`] points, or fewer if that is asked for, every series keeps every second one.

use std::collections::BTreeMap;

use super::batch::{figure, sum};
use super::{
    Batch, Observations, Reading, SERIES_MAX, SOURCES_MAX, Series, SourceChange, TEXT_BYTES_MAX, TEXT_MAX,
    TEXTS_MAX, Text,
};

/// Most points of all series together.
pub const POINTS_MAX: usize = 1 << 20;

/// What a point takes: in a run, in its view, and as text of a report.
const POINT_BYTES: usize = 128;

/// What a series, a text or a source takes beside its texts.
const ROW_BYTES: usize = 1_024;

/// How often a text is copied. In a JSON document, six bytes can stand for one.
const TEXT_COPIES: usize = 9;

/// Puts observations together, batch by batch.
#[derive(Clone, Debug)]
pub struct ObservationBuilder {
    observations: Observations,
    /// The last figure of each series, as stored.
    last: Vec<f64>,
    /// How many points there are, and how many there can be.
    points: usize,
    points_max: usize,
    /// Bytes of all names and texts.
    text_bytes: usize,
    /// Where each text is.
    texts: BTreeMap<(usize, String, String), usize>,
}

impl Default for ObservationBuilder {
    fn default() -> Self {
        Self::with_points_max(POINTS_MAX)
    }
}

impl Observations {
    /// Adds what was learned after the run: texts, and what is known of its sources. Points stay as they are.
    pub fn include(&mut self, batch: &Batch) {
        for change in &batch.sources {
            if let Some(source) = self.sources.get_mut(change.index as usize) {
                source.clone_from(&change.source);
            }
        }
        let sources = self.sources.len();
        for text in batch.texts.iter().filter(|text| text.source < sources) {
            let known = self.texts.iter_mut().find(|known| {
                known.source == text.source && known.name == text.name && known.label == text.label
            });
            match known {
                Some(known) => known.text.clone_from(&text.text),
                None => self.texts.push(text.clone()),
            }
        }
    }
}

impl ObservationBuilder {
    /// Keeps at most `points_max` points, or two for each series.
    pub fn with_points_max(points_max: usize) -> Self {
        Self {
            observations: Observations::default(),
            last: Vec::new(),
            points: 0,
            points_max,
            text_bytes: 0,
            texts: BTreeMap::new(),
        }
    }

    /// What there is so far; series can be without points or of an unknown source.
    pub const fn so_far(&self) -> &Observations {
        &self.observations
    }

    /// Adds a batch.
    pub fn add(&mut self, batch: &Batch) {
        batch.sources.iter().for_each(|change| self.change_source(change));
        for new in &batch.series {
            // An index that is not used would shift all that follow.
            if self.last.len() == SERIES_MAX || !self.has_room() {
                break;
            }
            self.count_text(&[&new.name, &new.label]);
            self.last.push(0.0);
            self.observations.series.push(Series {
                source: new.source as usize,
                name: new.name.clone(),
                label: new.label.clone(),
                unit: new.unit,
                kind: new.kind,
                points: Vec::new(),
            });
        }
        batch.readings.iter().for_each(|reading| self.add_reading(reading));
        batch.texts.iter().for_each(|text| self.add_text(text));
    }

    /// How much memory the run and its reports need for this, in bytes.
    pub fn memory(&self) -> usize {
        let rows = self.observations.sources.len() + self.last.len() + self.observations.texts.len();
        self.points * POINT_BYTES + rows * ROW_BYTES + self.text_bytes * TEXT_COPIES
    }

    /// The observations.
    pub fn finish(mut self) -> Observations {
        let sources = self.observations.sources.len();
        self.observations.series.retain(|series| series.source < sources && !series.points.is_empty());
        self.observations.texts.retain(|text| text.source < sources);
        self.observations
    }

    fn change_source(&mut self, change: &SourceChange) {
        let index = change.index as usize;
        if index > self.observations.sources.len() || index == SOURCES_MAX || !self.has_room() {
            return;
        }
        let source = &change.source;
        self.count_text(&[&source.name, source.version.as_deref().unwrap_or_default()]);
        source.without.iter().for_each(|text| self.count_text(&[text]));
        match self.observations.sources.get_mut(index) {
            Some(known) => *known = source.clone(),
            None => self.observations.sources.push(source.clone()),
        }
    }

    fn add_reading(&mut self, reading: &Reading) {
        let mut index = 0_usize;
        for (gap, number) in reading.series.iter().zip(&reading.values) {
            index = index.saturating_add(*gap as usize);
            let Some((series, last)) = self.observations.series.get_mut(index).zip(self.last.get_mut(index))
            else {
                return;
            };
            *last = sum(*last, *number);
            let value = figure(series.unit, *last);
            if !value.is_finite() || series.points.last().is_some_and(|(at, _)| *at >= reading.at) {
                continue;
            }
            series.points.push((reading.at, value));
            self.points += 1;
        }
        if self.points > self.points_max.max(2 * self.last.len()) {
            self.halve();
        }
    }

    /// Keeps the first, the last and every second point between them.
    fn halve(&mut self) {
        for series in &mut self.observations.series {
            let last = series.points.len().saturating_sub(1);
            let mut places = 0_usize..;
            series
                .points
                .retain(|_| places.next().is_some_and(|place| place.is_multiple_of(2) || place == last));
        }
        self.points = self.observations.series.iter().map(|series| series.points.len()).sum();
    }

    fn add_text(&mut self, text: &Text) {
        let key = (text.source, text.name.clone(), text.label.clone());
        if text.text.len() > TEXT_MAX || !self.has_room() {
            return;
        }
        if let Some(known) = self.texts.get(&key).and_then(|place| self.observations.texts.get_mut(*place)) {
            known.text.clone_from(&text.text);
        } else if self.observations.texts.len() < TEXTS_MAX {
            self.texts.insert(key, self.observations.texts.len());
            self.observations.texts.push(text.clone());
        } else {
            return;
        }
        self.count_text(&[&text.name, &text.label, &text.text]);
    }

    const fn has_room(&self) -> bool {
        self.text_bytes < 2 * TEXT_BYTES_MAX
    }

    fn count_text(&mut self, texts: &[&str]) {
        self.text_bytes += texts.iter().map(|text| text.len()).sum::<usize>();
    }
}

#[cfg(test)]
mod tests;
