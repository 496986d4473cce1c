//! A finished run as a small record: the intervals summed up to one, beside the points of its charts.
//!
//! Read back, it is the same run, so every report of it is the same. What only single intervals show is lost: the
//! times of a part of the run, and Locust's totals over time. Does not choose where the bytes go.

use std::borrow::Cow;
use std::io;

use super::format::{POINTS_OF_FRAME, Summed, Writer};
use super::run::halve;
use super::{Point, Run, Tail};
use crate::interval::Interval;
use crate::observation::{Batch, Observations, batches};
use crate::plan::EndpointId;
use crate::tally::EndpointTally;

/// Fewest points that are left when neighbouring ones are joined to save bytes.
const POINTS_LEAST: usize = 1_800;

/// Most bytes of the histograms of a run, and most points of its observations, that are tried: more never become small.
/// The limit also keeps the memory of a report within its bound.
const TALLY_BYTES_MAX: usize = 32 << 20;
const OBSERVED_MAX: usize = 250_000;

/// A run as a small record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compact {
    /// The bytes of the record.
    pub bytes: Vec<u8>,
    /// How many points of the run share one of the record; 1 if it has all of them.
    pub shared: usize,
}

impl Compact {
    /// The run in at most `bytes_max` bytes. Of a long run, neighbouring points are joined until it fits. `None` if that
    /// is not enough, as with a thousand busy endpoints, or if the totals of the run are more precise than its parts.
    pub fn of(run: &Run, bytes_max: usize) -> Option<Self> {
        if is_large(run) {
            return None;
        }
        let (mut points, mut shared) = (Cow::Borrowed(&run.series[..]), 1);
        loop {
            let bytes = write(run, &points).ok()?;
            if bytes.len() <= bytes_max {
                return Some(Self { bytes, shared });
            }
            if points.len() < 2 * POINTS_LEAST {
                return None;
            }
            (points, shared) = (Cow::Owned(halve(&points)), shared * 2);
        }
    }
}

/// Whether a run has too much for a small record, or totals that are more precise than the sum of its endpoints.
fn is_large(run: &Run) -> bool {
    let tallies = [&run.warm_up, &run.measured];
    let bytes: usize = tallies.iter().flat_map(|tally| &tally.endpoints).map(EndpointTally::heap_bytes).sum();
    let observed: usize = run.observations.series.iter().map(|series| series.points.len()).sum();
    bytes > TALLY_BYTES_MAX || observed > OBSERVED_MAX || tallies.iter().any(|tally| tally.whole.is_some())
}

fn write(run: &Run, points: &[Point]) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new(Vec::new(), &run.head)?;
    // The first frame says that there is one interval, also without any point.
    let first = points.chunks(POINTS_OF_FRAME).next().unwrap_or_default();
    let rest = points.chunks(POINTS_OF_FRAME).skip(1);
    for points in std::iter::once(first).chain(rest) {
        writer.summed(&Summed { from_warm_up: run.from_warm_up, points: points.to_vec() })?;
    }
    writer.interval(&interval(run))?;
    for batch in observed(&run.observations) {
        writer.observations(&batch)?;
    }
    writer.metrics(run.metrics.clone())?;
    for amendment in &run.amendments {
        writer.amendment(amendment)?;
    }
    if let Some(late) = &run.late {
        writer.lateness(late)?;
    }
    for contribution in &run.contributions {
        writer.contribution(contribution)?;
    }
    let tail = Tail {
        ending: run.ending.clone(),
        stopped: run.stopped,
        validity: run.validity.clone(),
        intervals: writer.intervals(),
        sampled: run.sampled.clone(),
    };
    writer.tail(&tail)
}

fn observed(observations: &Observations) -> Vec<Batch> {
    if observations == &Observations::default() { Vec::new() } else { batches(observations) }
}

/// The whole run as one interval.
fn interval(run: &Run) -> Interval {
    let named = (0_u32..).map(EndpointId).zip(run.endpoints.iter().cloned());
    let planned = |id: &EndpointId| run.head.plan.endpoints.get(id.0 as usize);
    Interval {
        from: run.head.measured_from.min(run.ended),
        to: run.ended,
        warm_up: run.warm_up.clone(),
        measured: run.measured.clone(),
        concurrency: run.concurrency,
        endpoints_met: named.filter(|(id, endpoint)| planned(id) != Some(endpoint)).collect(),
        ..Interval::default()
    }
}

#[cfg(test)]
mod tests;
