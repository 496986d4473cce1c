//! Folds intervals into a [`Run`], one by one. Live runs and saved records are summed up by the same code.
//!
//! Does not keep intervals: it needs memory for the plan's tallies and for a bounded number of [`Point`]s, whether the
//! run had a thousand requests or 10^9. Does not read bytes; [`read`] does.
//!
//! [`Point`]: super::Point

use std::collections::BTreeMap;

use super::format::{ENDPOINTS_MAX, Period, StoredInterval, Unfit};
use super::{Contribution, Ending, Head, Lateness, Run, Tail};
use crate::amendment::{AMENDMENTS_MAX, Amendment};
use crate::histogram::COARSENESS_MAX;
use crate::interval::Interval;
use crate::metric::Metrics;
use crate::observation::{Batch, ObservationBuilder};
use crate::plan::{Endpoint, EndpointId};
use crate::sampled::Sampled;
use crate::share::SEGMENTS_MAX;
use crate::tally::{Concurrency, EndpointTally, Tally};
use crate::unit::Nanos;
use crate::validity::ValidityReport;
use crate::validity::collect::{Collector, Setting};
use crate::validity::diagnostics::{Damage, Http2Offer};
use crate::validity::judge::{conclude, judge};

mod memory;
mod part;
mod parts;
mod reading;
mod series;
mod summed;
mod total;
mod unknown;

pub use memory::MEMORY_MAX;
pub(super) use parts::Parts;
pub use reading::{NOTES_MAX, Reading, read, read_within};
pub use series::{POINTS_MAX, halve};

use part::Part;
use parts::worst;
use series::Series;
use total::Total;

/// Sums a run up, interval by interval.
#[derive(Clone, Debug)]
pub struct RunBuilder {
    head: Head,
    met: BTreeMap<EndpointId, Endpoint>,
    warm_up: Part,
    measured: Part,
    from_warm_up: u64,
    concurrency: Concurrency,
    ended: Nanos,
    series: Series,
    intervals: u64,
    /// When arrivals were ended before their plan.
    stopped: Option<Nanos>,
    collector: Collector,
    /// The interval that was added last, all endpoints together; kept for its memory.
    total: Total,
    /// Arrivals that were due and not taken up when it ended.
    waiting: u64,
    /// How coarse the histograms of single endpoints are.
    coarseness: u8,
    /// What names and other texts take.
    text_bytes: usize,
    /// Where the record is damaged.
    damaged: Option<Damage>,
    /// Why the writer of the record gave up.
    gave_up: Option<String>,
    /// How often an interval did not begin where the one before ended.
    gaps: u64,
    /// What a target's offer of HTTP/2 means for this load.
    http2: Option<Http2Offer>,
    /// What observers read.
    observations: ObservationBuilder,
    /// What scripts counted, and about how many bytes that takes.
    metrics: Metrics,
    metrics_bytes: usize,
    /// How sampled responses looked.
    sampled: Sampled,
    /// Whether the record has one interval for the whole run.
    summed: bool,
    /// What each of several machines contributed.
    contributions: Vec<Contribution>,
    /// What only the program that merged their records knows of the machines.
    parts: Option<Parts>,
    /// When the part of an agent began.
    late: Option<Lateness>,
    /// Changes of the plan, in order.
    amendments: Vec<Amendment>,
}

impl RunBuilder {
    /// A run without intervals.
    pub fn new(head: Head) -> Self {
        let collector = Collector::new(Setting {
            plan: head.plan.clone(),
            measured_from: head.measured_from,
            cores: head.machine.cores,
            co_located: head.co_located,
            optimized: head.build.optimized,
        });
        Self {
            head,
            met: BTreeMap::new(),
            warm_up: Part::default(),
            measured: Part::default(),
            from_warm_up: 0,
            concurrency: Concurrency::default(),
            ended: Nanos::ZERO,
            series: Series::default(),
            intervals: 0,
            stopped: None,
            collector,
            total: Total::default(),
            waiting: 0,
            coarseness: 0,
            text_bytes: 0,
            damaged: None,
            gave_up: None,
            gaps: 0,
            http2: None,
            observations: ObservationBuilder::default(),
            metrics: Metrics::default(),
            metrics_bytes: 0,
            sampled: Sampled::default(),
            summed: false,
            contributions: Vec::new(),
            parts: None,
            late: None,
            amendments: Vec::new(),
        }
    }

    /// Adds the next interval; intervals must come in order.
    pub fn add(&mut self, interval: &Interval) {
        let spanned = self.counts_who_stood(interval.from) && interval.warm_up.accounting().planned == 0;
        self.total.clear();
        for (period, tally) in [(Period::WarmUp, &interval.warm_up), (Period::Measured, &interval.measured)] {
            for (place, endpoint) in tally.endpoints.iter().enumerate() {
                self.add_endpoint(period, spanned, EndpointId(place as u32), endpoint, interval.to);
            }
        }
        self.close(interval);
    }

    /// Adds the next interval of a record. If the run would take more than `bytes`, the times of single endpoints
    /// become coarser.
    ///
    /// # Errors
    /// `Memory` if that is not enough. The interval is then not or only in part added.
    pub(super) fn add_stored(&mut self, interval: &StoredInterval, bytes: usize) -> Result<(), Unfit> {
        if self.summed {
            return self.add_whole(interval, bytes);
        }
        let outline = interval.outline();
        let planned = interval.accounting(Period::WarmUp).any(|accounting| accounting.planned > 0);
        let spanned = self.counts_who_stood(outline.from) && !planned;
        self.total = Total::default();
        for period in [Period::WarmUp, Period::Measured] {
            for place in 0..interval.accounting(period).len() {
                self.fit_into(bytes)?;
                let id = EndpointId(place as u32);
                // A new one is made faster than a used one is cleared.
                let mut unpacked = EndpointTally::default();
                interval.add_to(&mut unpacked, period, id);
                self.add_endpoint(period, spanned, id, &unpacked, outline.to);
            }
        }
        self.close(outline);
        self.fit_into(bytes)
    }

    /// Adds what an interval that ended at `to` counted for an endpoint. `spanned`: what ended of the warm-up spanned
    /// the measurement.
    fn add_endpoint(
        &mut self,
        period: Period,
        spanned: bool,
        id: EndpointId,
        endpoint: &EndpointTally,
        to: Nanos,
    ) {
        self.total.add(endpoint);
        match period {
            Period::WarmUp if spanned => {
                let taken = self.measured.take_ended(&mut self.warm_up, id, endpoint);
                self.from_warm_up = self.from_warm_up.saturating_add(taken);
            }
            Period::WarmUp => self.warm_up.add(id, endpoint, to),
            Period::Measured => self.measured.add(id, endpoint, to),
        }
    }

    /// Ends the interval whose endpoints were added. Of `interval` it reads all but the tallies.
    fn close(&mut self, interval: &Interval) {
        let measured = interval.from >= self.head.measured_from;
        if measured {
            self.concurrency.merge_after(&interval.concurrency);
        }
        self.collector.add(interval, &self.total.accounting, &self.total.service);
        self.series.push(self.total.point(interval, !measured, self.waiting));
        self.waiting = interval.backlog;
        self.gaps += u64::from(interval.from > self.ended);
        self.meet(interval);
    }

    /// Takes the names that an interval brought, and its end.
    fn meet(&mut self, interval: &Interval) {
        // A damaged record can contain any id.
        let met = interval.endpoints_met.iter().filter(|(id, _)| u64::from(id.0) < ENDPOINTS_MAX);
        for (id, endpoint) in met {
            self.text_bytes += memory::text_bytes(&endpoint.name);
            self.met.insert(*id, endpoint.clone());
        }
        self.ended = self.ended.max(interval.to);
        self.intervals += 1;
    }

    /// Makes room for one more endpoint within `bytes`, if necessary by making the times of single endpoints coarser.
    ///
    /// # Errors
    /// `Memory` if that is not enough.
    pub(super) fn fit_into(&mut self, bytes: usize) -> Result<(), Unfit> {
        while self.memory() + memory::ENDPOINT_BYTES_MAX > bytes {
            if self.coarseness == COARSENESS_MAX {
                let what = format!("{} endpoints in {} intervals", self.rows(), self.intervals);
                return Err(Unfit::memory(what));
            }
            self.coarseness += 1;
            self.warm_up.coarsen(self.coarseness);
            self.measured.coarsen(self.coarseness);
        }
        Ok(())
    }

    /// Notes that the record is damaged at `offset`.
    pub(super) fn note_damage(&mut self, offset: u64) {
        self.damaged.get_or_insert(Damage { first: offset, places: 0 }).places += 1;
    }

    /// Notes why the writer of the record gave up.
    pub(super) fn note_end(&mut self, reason: &str) {
        self.gave_up = Some(reason.to_owned());
    }

    /// Counts the texts of a head or a tail of `bytes` as memory of the run.
    pub(super) const fn count_texts(&mut self, bytes: usize) {
        self.text_bytes += memory::TEXT_COPIES * bytes;
    }

    /// How coarse the times of single endpoints are; 0 if they are as in the record.
    pub(super) const fn coarseness(&self) -> u8 {
        self.coarseness
    }

    fn memory(&self) -> usize {
        let rows = self.rows() * memory::ROW_BYTES + self.text_bytes + self.observations.memory();
        let rows = rows + self.metrics_bytes;
        rows + self.warm_up.memory() + self.measured.memory() + self.series.len() * memory::POINT_BYTES
    }

    /// How many endpoints a report will have, or a few more.
    fn rows(&self) -> usize {
        let named = self.head.plan.endpoints.len() + self.met.len();
        named.max(self.warm_up.endpoints()).max(self.measured.endpoints())
    }

    /// Whether requests of the warm-up that are open at `moment` spanned the whole measurement and count as measured.
    /// In a closed model a user who waits for a response sends nothing else, so no other request shows that wait.
    /// In an open model the arrivals of the measurement show it, so requests of the warm-up do not count.
    fn counts_who_stood(&self, moment: Nanos) -> bool {
        let plan = &self.head.plan;
        let end = plan.arrivals_end();
        !plan.is_open() && end > self.head.measured_from && moment >= end
    }

    /// Arrivals ended at `at`, because the run was asked to stop. Call it before the interval that contains `at`
    /// is added.
    pub fn stop(&mut self, at: Nanos) {
        self.stopped = Some(self.stopped.map_or(at, |known| known.min(at)));
        self.collector.stop(at);
    }

    /// Adds what observers read.
    pub fn observe(&mut self, batch: &Batch) {
        self.observations.add(batch);
    }

    /// Adds what scripts counted since the last call.
    pub fn count(&mut self, metrics: &Metrics) {
        self.metrics.merge_after(metrics);
        self.metrics_bytes = self.metrics.bytes();
    }

    /// How sampled responses looked: the last call counts.
    pub fn sample(&mut self, sampled: Sampled) {
        self.sampled = sampled;
    }

    /// Takes when the part of an agent began; what all say counts.
    pub fn began(&mut self, lateness: Lateness) {
        self.late = Some(self.late.map_or(lateness, |known| known.and(lateness)));
    }

    /// The plan was changed. Call it before the interval that the change begins with is added. Ignores more than a run
    /// can have.
    pub fn amend(&mut self, amendment: Amendment) {
        if self.amendments.len() < AMENDMENTS_MAX {
            self.amendments.push(amendment);
            self.collector.amend();
        }
    }

    /// Adds what one of several machines contributed; ignores more than any load has.
    pub fn contribute(&mut self, contribution: Contribution) {
        if self.contributions.len() < SEGMENTS_MAX {
            self.contributions.push(contribution);
        }
    }

    /// Notes what is known of the machines whose records were merged.
    pub(super) fn note_parts(&mut self, parts: Parts) {
        self.parts = Some(parts);
    }

    /// The requests that are open, as censored at the end of the last interval: of the warm-up and measured.
    pub(super) fn open_requests(&self) -> [Tally; 2] {
        [self.warm_up.open_at(self.ended), self.measured.open_at(self.ended)]
    }

    /// A target offers HTTP/2, and the load did not use it.
    pub const fn offered_http2(&mut self, offer: Http2Offer) {
        self.http2 = Some(offer);
    }

    /// How many intervals were taken in: what [`Tail::intervals`] must say.
    pub const fn intervals(&self) -> u64 {
        self.intervals
    }

    /// The finished run with its validity check, for the program that made it. The tail of its record is
    /// `Tail { ending, stopped: run.stopped, validity: run.validity.clone(), intervals, sampled: run.sampled.clone() }`.
    pub fn end(self, ending: Ending) -> Run {
        let intervals = self.intervals;
        self.conclude(ending, intervals)
    }

    /// The run as its record has it; without a tail it is [`Ending::Truncated`].
    ///
    /// Keeps the validity from the tail, so that a result does not change when a later version has other rules. Adds
    /// only the problems of the record itself.
    pub fn finish(mut self, tail: Option<Tail>) -> Run {
        let Some(tail) = tail else {
            let intervals = self.intervals;
            return self.conclude(Ending::Truncated, intervals);
        };
        self.stopped = tail.stopped;
        if self.summed && self.damaged.is_none() && self.intervals == tail.intervals {
            return self.whole(tail);
        }
        self.sampled = tail.sampled;
        let mut run = self.conclude(tail.ending, tail.intervals);
        run.validity = with_warnings_of_the_record(tail.validity, run.validity);
        run
    }

    fn conclude(mut self, ending: Ending, intervals_written: u64) -> Run {
        let truncated = ending == Ending::Truncated;
        if truncated {
            if self.counts_who_stood(self.ended) {
                let taken = self.measured.take_open(&mut self.warm_up);
                self.from_warm_up = self.from_warm_up.saturating_add(taken);
            }
            self.warm_up.censor(self.ended);
            self.measured.censor(self.ended);
        }
        let mut diagnostics = self.collector.diagnostics(self.measured.tally(), &self.concurrency);
        diagnostics.requests.from_warm_up = self.from_warm_up;
        diagnostics.requests.unaccounted = self.warm_up.off().saturating_add(self.measured.off());
        // Without a tail, only gaps show that intervals are missing; without damage there are none.
        let gaps = if self.damaged.is_some() { self.gaps } else { 0 };
        diagnostics.run.intervals_lost =
            if truncated { gaps } else { intervals_written.abs_diff(self.intervals) };
        diagnostics.run.truncated = truncated;
        (diagnostics.run.damaged, diagnostics.run.gave_up) = (self.damaged, self.gave_up.clone());
        diagnostics.run.http2 = self.http2;
        if let Some(parts) = &self.parts {
            diagnostics.generator = worst(diagnostics.generator, &parts.generators);
            diagnostics.run.parts = Some(parts.figures);
        }
        // What was to change after the load had been stopped changed nothing.
        let stopped = self.stopped.unwrap_or(Nanos::MAX);
        self.amendments.retain(|amendment| amendment.at < stopped);
        diagnostics.run.changes_of_rate = self.amendments.len() as u64;
        diagnostics.run.interrupted = matches!(ending, Ending::Interrupted | Ending::Aborted);
        Run {
            endpoints: self.endpoints(),
            head: self.head,
            warm_up: self.warm_up.into_tally(),
            measured: self.measured.into_tally(),
            from_warm_up: self.from_warm_up,
            concurrency: self.concurrency,
            ended: self.ended,
            series: self.series.into_points(),
            ending,
            stopped: self.stopped,
            validity: judge(diagnostics),
            observations: self.observations.finish(),
            metrics: self.metrics,
            sampled: self.sampled,
            contributions: self.contributions,
            late: self.late,
            amendments: self.amendments,
        }
    }

    /// A name for every endpoint that was planned, met or counted. A damaged record can contain any id, so the length
    /// of the list follows the counted endpoints, not the greatest id.
    fn endpoints(&self) -> Vec<Endpoint> {
        let mut endpoints = self.head.plan.endpoints.clone();
        let counted = self.warm_up.endpoints().max(self.measured.endpoints());
        loop {
            let id = EndpointId(endpoints.len() as u32);
            match self.met.get(&id) {
                Some(endpoint) => endpoints.push(endpoint.clone()),
                None if endpoints.len() < counted => {
                    endpoints.push(Endpoint { name: format!("endpoint {}", id.0) });
                }
                None => return endpoints,
            }
        }
    }
}

/// `recorded`, plus those results of `fresh` that only a reader of the record can find.
fn with_warnings_of_the_record(recorded: ValidityReport, fresh: ValidityReport) -> ValidityReport {
    let ValidityReport { mut warnings, notes, mut diagnostics, .. } = recorded;
    for warning in fresh.warnings {
        let of_the_record = matches!(warning.code.as_str(), "books" | "intervals" | "damaged");
        if of_the_record && !warnings.iter().any(|known| known.code == warning.code) {
            warnings.push(warning);
        }
    }
    diagnostics.requests.unaccounted = fresh.diagnostics.requests.unaccounted;
    diagnostics.run.intervals_lost = fresh.diagnostics.run.intervals_lost;
    diagnostics.run.damaged = fresh.diagnostics.run.damaged;
    // Computed for records from before this was counted, too: it must agree with the tallies.
    diagnostics.requests.from_warm_up = fresh.diagnostics.requests.from_warm_up;
    conclude(warnings, notes, diagnostics)
}

#[cfg(test)]
mod tests;
