//! Batches of observations that are complete: the inverse of [`ObservationBuilder`](super::ObservationBuilder).
//!
//! For a run that is written once more. Live runs have an [`Encoder`](super::Encoder).

use std::collections::BTreeMap;

use super::batch::{difference, stored};
use super::{Batch, NewSeries, Number, Observations, Reading, Series, SourceChange};
use crate::unit::Nanos;

/// Most values of the readings of a batch; a reader decodes 262,144 at once.
const VALUES_MAX: usize = 100_000;

/// Values of a reading beside its points.
const READING_VALUES: usize = 8;

/// Batches from which a builder makes the same observations.
pub fn batches(observations: &Observations) -> Vec<Batch> {
    let sources = (0_u32..).zip(observations.sources.iter().cloned());
    let mut batches = vec![
        Batch {
            sources: sources.map(|(index, source)| SourceChange { index, source }).collect(),
            series: observations.series.iter().map(new).collect(),
            ..Batch::default()
        },
        Batch { texts: observations.texts.clone(), ..Batch::default() },
    ];
    let mut values = VALUES_MAX;
    for reading in readings(&observations.series) {
        let weight = READING_VALUES + 2 * reading.values.len();
        if values + weight > VALUES_MAX {
            batches.push(Batch::default());
            values = 0;
        }
        values += weight;
        if let Some(batch) = batches.last_mut() {
            batch.readings.push(reading);
        }
    }
    batches
}

fn new(series: &Series) -> NewSeries {
    NewSeries {
        source: series.source as u32,
        name: series.name.clone(),
        label: series.label.clone(),
        unit: series.unit,
        kind: series.kind,
    }
}

/// All points by their time, each as the difference from the one before in its series.
fn readings(series: &[Series]) -> Vec<Reading> {
    let mut moments: BTreeMap<Nanos, Vec<(u32, Number)>> = BTreeMap::new();
    for (index, series) in (0_u32..).zip(series) {
        let mut before = 0.0;
        for (at, value) in &series.points {
            let value = stored(series.unit, *value);
            moments.entry(*at).or_default().push((index, difference(before, value)));
            before = value;
        }
    }
    moments.into_iter().map(|(at, points)| reading(at, &points)).collect()
}

fn reading(at: Nanos, points: &[(u32, Number)]) -> Reading {
    let mut before = 0;
    let mut gap = |index: u32| index - std::mem::replace(&mut before, index);
    Reading {
        at,
        series: points.iter().map(|(index, _)| gap(*index)).collect(),
        values: points.iter().map(|(_, number)| *number).collect(),
    }
}
