//! The record of one part while it is merged: its next interval, and its own sum.
//!
//! Does not know the other parts.

use std::collections::BTreeMap;
use std::io;

use super::super::format::{Frame, METRICS, Note, Period, ReadError, Reader, StoredInterval};
use super::super::run::{MEMORY_MAX, RunBuilder};
use super::super::{Contribution, Ending, Head, Run, Tail};
use super::error::{MergeError, Place};
use super::names::Names;
use crate::interval::Interval;
use crate::metric::{Adds, Key, Metrics, Series};
use crate::plan::{EndpointId, Plan};
use crate::share::Share;
use crate::tally::EndpointTally;
use crate::unit::Nanos;
use crate::validity::{ValidityReport, Warning};

/// Most notes of a part that are taken.
const NOTES_MAX: usize = 1_000;

/// A part that is being read.
pub(super) struct Part<R: io::Read> {
    place: Place,
    share: Share,
    reader: Reader<R>,
    builder: RunBuilder,
    next: Option<Box<StoredInterval>>,
    /// The number of the next interval on the grid of all parts, from 0.
    number: u64,
    /// End of the interval before.
    reached: Nanos,
    /// The names of its endpoints, by its own ids.
    endpoints: Vec<String>,
    /// What scripts counted until the next interval.
    metrics: Metrics,
    /// The last value of each gauge that still counts when the part has ended.
    kept: BTreeMap<Key, Series>,
    notes: Vec<Note>,
    noted: usize,
    tail: Option<Tail>,
}

impl<R: io::Read> Part<R> {
    /// Reads up to the first interval.
    pub(super) fn begin(place: Place, share: Share, reader: Reader<R>) -> Result<Self, MergeError> {
        let builder = RunBuilder::new(reader.head().clone());
        let endpoints = reader.head().plan.endpoints.iter().map(|endpoint| endpoint.name.clone()).collect();
        let mut part = Self {
            place,
            share,
            reader,
            builder,
            next: None,
            number: 0,
            reached: Nanos::ZERO,
            endpoints,
            metrics: Metrics::default(),
            kept: BTreeMap::new(),
            notes: Vec::new(),
            noted: 0,
            tail: None,
        };
        part.advance()?;
        Ok(part)
    }

    /// The number of its next interval; `None` after the last one.
    pub(super) fn number(&self) -> Option<u64> {
        self.next.as_ref().map(|_| self.number)
    }

    /// Adds its next interval to `cell` and goes on to the one after.
    pub(super) fn add_next(&mut self, names: &mut Names, cell: &mut Interval) -> Result<(), MergeError> {
        let Some(next) = self.next.take() else { return Ok(()) };
        let outline = next.outline();
        cell.to = cell.to.max(outline.to);
        cell.concurrency.merge_beside(&outline.concurrency);
        cell.backlog = cell.backlog.saturating_add(outline.backlog);
        cell.connections_open = cell.connections_open.saturating_add(outline.connections_open);
        self.learn(outline);
        (self.reached, self.number) = (outline.to, self.number + 1);
        for period in [Period::WarmUp, Period::Measured] {
            for place in 0..next.accounting(period).len() {
                let mut tally = EndpointTally::default();
                next.add_to(&mut tally, period, EndpointId(place as u32));
                self.add(names, cell, period, place, &tally);
            }
        }
        self.advance()?;
        if self.next.is_none() && self.tail.is_none() {
            // What was open when its load generator was cut off has no outcome in any interval.
            let [warm_up, measured] = self.builder.open_requests();
            for (period, open) in [(Period::WarmUp, warm_up), (Period::Measured, measured)] {
                for (place, tally) in open.endpoints.iter().enumerate() {
                    self.add(names, cell, period, place, tally);
                }
            }
        }
        Ok(())
    }

    fn add(
        &self,
        names: &mut Names,
        cell: &mut Interval,
        period: Period,
        place: usize,
        tally: &EndpointTally,
    ) {
        if *tally == EndpointTally::default() {
            return;
        }
        let id = match self.endpoints.get(place) {
            Some(name) => names.id(name),
            None => names.id(&format!("endpoint {place}")),
        };
        let of = if period == Period::WarmUp { &mut cell.warm_up } else { &mut cell.measured };
        of.endpoint_mut(id).merge(tally);
    }

    /// Takes the names that an interval brought.
    fn learn(&mut self, interval: &Interval) {
        for (id, endpoint) in &interval.endpoints_met {
            let place = id.0 as usize;
            while self.endpoints.len() < place {
                self.endpoints.push(format!("endpoint {}", self.endpoints.len()));
            }
            if place == self.endpoints.len() {
                self.endpoints.push(endpoint.name.clone());
            }
        }
    }

    /// Reads up to the next interval, or to the end.
    fn advance(&mut self) -> Result<(), MergeError> {
        let place = self.place;
        let failed = |error| MergeError::Read { place, error };
        loop {
            let offset = self.reader.offset();
            match self.reader.next_frame() {
                Ok(Some(Frame::Interval(interval))) => {
                    let added = self.builder.add_stored(&interval, MEMORY_MAX);
                    added.map_err(|unfit| failed(ReadError::of(unfit, offset, MEMORY_MAX)))?;
                    let from = interval.outline().from;
                    if from > self.reached {
                        // Some are lost: only the time says which one this is.
                        self.number = self.number.max(planned_ends(&self.reader.head().plan, from));
                    }
                    self.next = Some(interval);
                    return Ok(());
                }
                Ok(Some(Frame::Note(note))) => self.note(note),
                Ok(Some(Frame::Observations(batch))) => self.builder.observe(&batch),
                Ok(Some(Frame::Metrics(metrics))) => self.metrics.merge_after(&metrics),
                Ok(Some(Frame::Lateness(lateness))) => self.builder.began(lateness),
                Ok(Some(Frame::Tail(tail))) => self.tail = Some(*tail),
                Ok(Some(Frame::Amendment(_))) => return Err(MergeError::Steered { place }),
                // Only in records that are none of a part.
                Ok(Some(Frame::Summed(_) | Frame::Contribution(_))) => {
                    return Err(MergeError::NotAPart { place });
                }
                Ok(None) => return Ok(()),
                Err(error @ (ReadError::Memory { .. } | ReadError::Later { .. } | ReadError::Io(_))) => {
                    return Err(failed(error));
                }
                Err(error) => self.builder.note_damage(error.offset().unwrap_or(offset)),
            }
        }
    }

    fn note(&mut self, mut note: Note) {
        self.noted += 1;
        if self.noted <= NOTES_MAX {
            note.text = format!("{}: {}", self.share.segment(), note.text);
            self.notes.push(note);
        }
    }

    /// What scripts counted until its next interval, or until its end.
    pub(super) fn take_metrics(&mut self) -> Metrics {
        let taken = std::mem::take(&mut self.metrics);
        let kept = taken.series.iter().filter(|(_, series)| series.adds == Some(Adds::Kept));
        self.kept.extend(kept.map(|(key, series)| (key.clone(), series.clone())));
        taken
    }

    /// The values that still count in an interval in which it has ended.
    pub(super) fn kept(&self) -> Metrics {
        Metrics { series: self.kept.clone(), ..Metrics::default() }
    }

    /// The notes that were read since the last call, which name the part.
    pub(super) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// The part, read to its end.
    pub(super) fn end(self) -> Read {
        let unread = self.reader.skipped().filter(|skipped| skipped.kind == METRICS);
        Read {
            unread: unread.map(|skipped| skipped.frames).sum(),
            head: self.reader.head().clone(),
            run: self.builder.finish(self.tail),
            share: self.share,
        }
    }
}

/// How many intervals are planned to end until `at`: one at each multiple of the width, and one at the end of the warm-up
/// and of the arrivals.
fn planned_ends(plan: &Plan, at: Nanos) -> u64 {
    let width = plan.interval.0.max(1);
    let mut cuts = vec![plan.warm_up, plan.arrivals_end()];
    cuts.dedup();
    cuts.retain(|cut| cut.0 > 0 && cut.0 % width > 0 && *cut <= at);
    at.0 / width + cuts.len() as u64
}

/// A part that was read to its end.
pub(super) struct Read {
    /// Its share of the load.
    pub share: Share,
    /// How many frames with metrics could not be read.
    pub unread: u64,
    /// What was known before its first request.
    pub head: Head,
    /// Its sum.
    pub run: Run,
}

impl Read {
    /// What the merged record says of it. `lost`: requests of its plan that it did not send because it ended early;
    /// `lost_share`: the share of its load.
    pub(super) fn contribution(&self, lost: Option<u64>, lost_share: Option<f64>) -> Contribution {
        let Run { validity, .. } = &self.run;
        let ValidityReport { diagnostics, warnings, validity, .. } = validity;
        Contribution {
            segment: self.share.segment().to_string(),
            agent: self.agent().map(str::to_owned),
            late: self.run.late,
            requests: diagnostics.requests.accounting,
            response: diagnostics.requests.response,
            generator_lag: diagnostics.generator.lag,
            worker_cpu_max: diagnostics.generator.worker_cpu_max,
            ended: self.run.ended,
            ending: self.run.ending.clone(),
            lost,
            lost_share,
            validity: *validity,
            warnings: warnings.clone(),
        }
    }

    /// What it is called.
    pub(super) fn name(&self) -> String {
        let segment = self.share.segment();
        self.agent().map_or_else(|| format!("part {segment}"), str::to_owned)
    }

    /// Its warnings, which name the part.
    pub(super) fn warnings(&self) -> impl Iterator<Item = Warning> {
        let part = self.name();
        self.run.validity.warnings.iter().map(move |warning| Warning {
            message: format!("{part}: {}", warning.message),
            ..warning.clone()
        })
    }

    /// The agent of a fleet that it is.
    pub(super) fn agent(&self) -> Option<&str> {
        self.head.segment.as_ref()?.agent.as_ref().map(|agent| agent.name.as_str())
    }

    /// Whether it ended by something else than its plan or a request to stop.
    pub(super) fn was_cut_off(&self) -> bool {
        self.run.ending == Ending::Truncated
    }
}
