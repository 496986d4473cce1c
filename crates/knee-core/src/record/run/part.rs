//! The requests of the warm-up or of the measurement: their tally, their accounting, and which of them are open.
//!
//! Does not decide which requests belong where; see [`super::RunBuilder`].

use std::collections::VecDeque;

use super::memory::weight;
use crate::outcome::Outcome;
use crate::plan::EndpointId;
use crate::tally::{Accounting, EndpointTally, Tally};
use crate::unit::Nanos;

/// The warm-up or the measured requests, with request accounting separate from the tallies.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    tally: Tally,
    /// The sum of the accounting of all intervals, for checking the merged tally.
    accounting: Accounting,
    /// By endpoint.
    open: Vec<Open>,
    /// How coarse the histograms of single endpoints are.
    coarseness: u8,
    /// What tallies and open requests take, beside their fixed parts.
    heap_bytes: usize,
}

impl Part {
    /// What was counted.
    pub(super) const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// What was counted, at the end.
    pub(super) fn into_tally(self) -> Tally {
        self.tally
    }

    /// How many endpoints have a tally.
    pub(super) fn endpoints(&self) -> usize {
        self.tally.endpoints.len()
    }

    /// Bytes that it takes, and what a report takes for it.
    pub(super) fn memory(&self) -> usize {
        let tallies = self.tally.endpoints.capacity() * size_of::<EndpointTally>();
        tallies + self.open.capacity() * size_of::<Open>() + self.heap_bytes
    }

    /// Makes the histograms of single endpoints coarser, which frees memory. All endpoints together stay exact.
    pub(super) fn coarsen(&mut self, coarseness: u8) {
        self.coarseness = coarseness;
        let before: usize = self.tally.endpoints.iter().map(weight).sum();
        self.tally.coarsen(coarseness);
        let after: usize = self.tally.endpoints.iter().map(weight).sum();
        self.heap_bytes = (self.heap_bytes + after).saturating_sub(before);
    }

    /// Adds what an interval that ended at `to` counted for an endpoint.
    pub(super) fn add(&mut self, id: EndpointId, tally: &EndpointTally, to: Nanos) {
        let accounting = tally.accounting();
        self.accounting.merge(&accounting);
        self.change(id, |endpoint| endpoint.merge(tally));
        let open = self.open_mut(id);
        let before = open.due.capacity();
        open.add(to, &accounting);
        let grown = open.due.capacity() - before;
        self.heap_bytes += grown * size_of::<(Nanos, u64)>();
    }

    /// Moves the requests of an endpoint of `other` that `ended` here, with the times at which they came due; returns
    /// their number.
    pub(super) fn take_ended(&mut self, other: &mut Self, id: EndpointId, ended: &EndpointTally) -> u64 {
        let accounting = ended.accounting();
        self.accounting.merge(&accounting);
        self.change(id, |endpoint| endpoint.merge(ended));
        let count = accounting.ended();
        let undue = other.open_mut(id).settle(count);
        let open = self.open_mut(id);
        open.undue = open.undue.saturating_add(undue);
        self.take_due(other, id, count - undue)
    }

    /// Moves the requests of `other` that have not ended here; returns their number.
    pub(super) fn take_open(&mut self, other: &mut Self) -> u64 {
        let mut taken = 0_u64;
        for place in 0..other.open.len() {
            let id = EndpointId(place as u32);
            let mut due = std::mem::take(&mut other.open[place].due);
            let count = due.iter().fold(0_u64, |sum, (_, count)| count.saturating_add(sum));
            // What came due in the warm-up is older than all else.
            due.append(&mut self.open_mut(id).due);
            self.open_mut(id).due = due;
            taken = taken.saturating_add(self.take_due(other, id, count));
        }
        taken
    }

    /// Moves `count` due requests of an endpoint from `other` to here. Returns the count.
    fn take_due(&mut self, other: &mut Self, id: EndpointId, count: u64) -> u64 {
        other.accounting.planned = other.accounting.planned.saturating_sub(count);
        other.change(id, |endpoint| endpoint.planned = endpoint.planned.saturating_sub(count));
        self.accounting.planned = self.accounting.planned.saturating_add(count);
        self.change(id, |endpoint| endpoint.planned = endpoint.planned.saturating_add(count));
        count
    }

    /// Changes the tally of an endpoint, and that of all together if it is separate.
    fn change(&mut self, id: EndpointId, change: impl Fn(&mut EndpointTally)) {
        if let Some(whole) = &mut self.tally.whole {
            change(whole);
        }
        let endpoint = self.tally.endpoint_mut(id);
        let before = weight(endpoint);
        endpoint.coarsen(self.coarseness);
        change(endpoint);
        self.heap_bytes = (self.heap_bytes + weight(endpoint)).saturating_sub(before);
    }

    fn open_mut(&mut self, id: EndpointId) -> &mut Open {
        let place = id.0 as usize;
        if place >= self.open.len() {
            self.open.resize_with(place + 1, Open::default);
        }
        &mut self.open[place]
    }

    /// Counts open requests as censored at `now`.
    pub(super) fn censor(&mut self, now: Nanos) {
        let censored = self.open_at(now);
        self.open.iter_mut().for_each(|open| open.due.clear());
        for (place, tally) in censored.endpoints.iter().enumerate() {
            self.accounting.merge(&tally.accounting());
            self.change(EndpointId(place as u32), |endpoint| endpoint.merge(tally));
        }
    }

    /// The open requests alone, as censored at `now`.
    pub(super) fn open_at(&self, now: Nanos) -> Tally {
        let mut tally = Tally::default();
        for (place, open) in self.open.iter().enumerate().filter(|(_, open)| !open.due.is_empty()) {
            let endpoint = tally.endpoint_mut(EndpointId(place as u32));
            for (due_before, count) in &open.due {
                let censored = &mut endpoint.outcomes[Outcome::Censored as usize].response;
                censored.record_many(now.since(*due_before), *count);
            }
        }
        tally
    }

    /// How many requests are not in balance: by endpoint, so that two mistakes do not cancel
    /// out, plus those that merging lost (a fault of [`Tally::merge`]).
    pub(super) fn off(&self) -> u64 {
        let merged = self.tally.accounting();
        let lost_due = merged.planned.abs_diff(self.accounting.planned);
        let lost = lost_due.saturating_add(merged.ended().abs_diff(self.accounting.ended()));
        self.open.iter().fold(lost, |sum, open| sum.saturating_add(open.off()))
    }
}

/// The requests of one endpoint that came due and have not ended, by when they came due.
///
/// Which of them ended is not recorded, so the earliest count as ended first. The ages of the open requests are then
/// lower bounds: whichever requests really ended, the k-th oldest open one is at least as old as here. Holds no more
/// entries than requests are open.
#[derive(Clone, Debug, Default)]
struct Open {
    /// End of the interval in which they came due, and how many; ascending.
    due: VecDeque<(Nanos, u64)>,
    /// Requests that ended without having come due.
    undue: u64,
}

impl Open {
    fn add(&mut self, to: Nanos, accounting: &Accounting) {
        if accounting.planned > 0 {
            self.due.push_back((to, accounting.planned));
        }
        self.undue = self.settle(self.undue.saturating_add(accounting.ended()));
    }

    /// Removes `ended` requests; returns how many of them had not come due.
    fn settle(&mut self, mut ended: u64) -> u64 {
        while ended > 0
            && let Some((_, count)) = self.due.front_mut()
        {
            let settled = ended.min(*count);
            *count -= settled;
            ended -= settled;
            if *count == 0 {
                self.due.pop_front();
            }
        }
        ended
    }

    fn off(&self) -> u64 {
        self.due.iter().fold(self.undue, |sum, (_, count)| count.saturating_add(sum))
    }
}
