//! Reads back a run whose record has one interval for all of it, with the points of its charts beside.
//!
//! Does not write such a record ([`crate::record::compact`] does). Trusts it no more than any other one.

use super::super::format::{Period, StoredInterval, Summed, Unfit};
use super::super::{Run, Tail};
use super::{POINTS_MAX, RunBuilder};
use crate::plan::EndpointId;
use crate::tally::EndpointTally;

impl RunBuilder {
    /// Whether the record has one interval for the whole run.
    pub(super) const fn is_summed(&self) -> bool {
        self.summed
    }

    /// Adds points that the record has beside its interval.
    ///
    /// # Errors
    /// `Memory` if there are more than any run has.
    pub(super) fn add_summed(&mut self, summed: Summed, bytes: usize) -> Result<(), Unfit> {
        if self.series.len() + summed.points.len() > POINTS_MAX {
            return Err(Unfit::memory(format!("over {POINTS_MAX} points")));
        }
        self.summed = true;
        self.from_warm_up = summed.from_warm_up;
        summed.points.into_iter().for_each(|point| self.series.push(point));
        self.fit_into(bytes)
    }

    /// Adds the interval that is the sum of all: its points are known, and its validity is in the tail.
    ///
    /// # Errors
    /// `Memory`, as for any interval.
    pub(super) fn add_whole(&mut self, interval: &StoredInterval, bytes: usize) -> Result<(), Unfit> {
        let outline = interval.outline();
        for period in [Period::WarmUp, Period::Measured] {
            for place in 0..interval.accounting(period).len() {
                self.fit_into(bytes)?;
                let id = EndpointId(place as u32);
                let mut unpacked = EndpointTally::default();
                interval.add_to(&mut unpacked, period, id);
                let part = if period == Period::WarmUp { &mut self.warm_up } else { &mut self.measured };
                part.add(id, &unpacked, outline.to);
            }
        }
        self.concurrency = outline.concurrency;
        self.meet(outline);
        self.fit_into(bytes)
    }

    /// The run with the validity of its tail: every problem of the intervals is part of that.
    pub(super) fn whole(self, tail: Tail) -> Run {
        let mut endpoints = self.endpoints();
        for (id, endpoint) in self.met {
            if let Some(known) = endpoints.get_mut(id.0 as usize) {
                *known = endpoint;
            }
        }
        Run {
            endpoints,
            head: self.head,
            warm_up: self.warm_up.into_tally(),
            measured: self.measured.into_tally(),
            from_warm_up: self.from_warm_up,
            concurrency: self.concurrency,
            ended: self.ended,
            series: self.series.into_points(),
            ending: tail.ending,
            stopped: tail.stopped,
            validity: tail.validity,
            observations: self.observations.finish(),
            metrics: self.metrics,
            sampled: tail.sampled,
            contributions: self.contributions,
            late: self.late,
            amendments: self.amendments,
        }
    }
}
