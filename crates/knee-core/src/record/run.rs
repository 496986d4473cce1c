//! Folds intervals into a [`Run`], one by one. Live runs and saved records are summed up by the same code.
//!
//! Does not keep intervals: it needs memory for the plan's tallies and one [`Point`] per interval, whether the run had
//! a thousand requests or 10^9. Does not read bytes itself except in [`read`], the loop over [`format`](super::format)
//! that every reader needs.

use std::collections::{BTreeMap, VecDeque};
use std::io::Read;

use super::format::{Frame, Note, ReadError, Reader};
use super::{Ending, Head, Point, Run, Tail};
use crate::generator::GeneratorSample;
use crate::histogram::Histogram;
use crate::interval::Interval;
use crate::outcome::Outcome;
use crate::plan::{Endpoint, EndpointId};
use crate::tally::{Accounting, Concurrency, Tally};
use crate::unit::Nanos;
use crate::validity::ValidityReport;
use crate::validity::collect::{Collector, Setting};
use crate::validity::judge::{conclude, judge};

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
    series: Vec<Point>,
    intervals: u64,
    /// When arrivals were ended before their plan.
    stopped: Option<Nanos>,
    collector: Collector,
    /// The interval that was added last, all endpoints together; kept for its memory.
    total: Total,
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
            series: Vec::new(),
            intervals: 0,
            stopped: None,
            collector,
            total: Total::default(),
        }
    }

    /// Adds the next interval; intervals must come in order.
    pub fn add(&mut self, interval: &Interval) {
        let measured = interval.from >= self.head.measured_from;
        if self.counts_who_stood(interval.from) && interval.warm_up.accounting().planned == 0 {
            let taken = self.measured.take_ended(&mut self.warm_up, &interval.warm_up);
            self.from_warm_up = self.from_warm_up.saturating_add(taken);
        } else {
            self.warm_up.add(&interval.warm_up, interval.to);
        }
        self.measured.add(&interval.measured, interval.to);
        if measured {
            self.concurrency.merge_after(&interval.concurrency);
        }
        self.total.clear();
        self.total.add(interval);
        self.collector.add(interval, &self.total.accounting, &self.total.service);
        self.series.push(self.total.point(interval, !measured));
        self.met.extend(interval.endpoints_met.iter().cloned());
        self.ended = self.ended.max(interval.to);
        self.intervals += 1;
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

    /// How many intervals were taken in: what [`Tail::intervals`] must say.
    pub const fn intervals(&self) -> u64 {
        self.intervals
    }

    /// The finished run with its validity check, for the program that made it. The tail of its record is
    /// `Tail { ending, stopped: run.stopped, validity: run.validity.clone(), intervals }`.
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
        let mut diagnostics = self.collector.diagnostics(&self.measured.tally, &self.concurrency);
        diagnostics.requests.from_warm_up = self.from_warm_up;
        diagnostics.requests.unaccounted = self.warm_up.off().saturating_add(self.measured.off());
        diagnostics.run.intervals_lost = intervals_written.abs_diff(self.intervals);
        diagnostics.run.truncated = truncated;
        diagnostics.run.interrupted = matches!(ending, Ending::Interrupted | Ending::Aborted);
        Run {
            endpoints: self.endpoints(),
            head: self.head,
            warm_up: self.warm_up.tally,
            measured: self.measured.tally,
            from_warm_up: self.from_warm_up,
            concurrency: self.concurrency,
            ended: self.ended,
            series: self.series,
            ending,
            stopped: self.stopped,
            validity: judge(diagnostics),
        }
    }

    /// A name for every endpoint that was planned, met or counted. A damaged record can contain any id, so the length
    /// of the list follows the counted endpoints, not the greatest id.
    fn endpoints(&self) -> Vec<Endpoint> {
        let mut endpoints = self.head.plan.endpoints.clone();
        let counted = self.warm_up.tally.endpoints.len().max(self.measured.tally.endpoints.len());
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
        let of_the_record = matches!(warning.code.as_str(), "books" | "intervals");
        if of_the_record && !warnings.iter().any(|known| known.code == warning.code) {
            warnings.push(warning);
        }
    }
    diagnostics.requests.unaccounted = fresh.diagnostics.requests.unaccounted;
    diagnostics.run.intervals_lost = fresh.diagnostics.run.intervals_lost;
    // Computed for records from before this was counted, too: it must agree with the tallies.
    diagnostics.requests.from_warm_up = fresh.diagnostics.requests.from_warm_up;
    conclude(warnings, notes, diagnostics)
}

/// The warm-up or the measured requests, with request accounting separate from the tallies.
#[derive(Clone, Debug, Default)]
struct Part {
    tally: Tally,
    /// The sum of the accounting of all intervals, for checking the merged tally.
    accounting: Accounting,
    /// By endpoint.
    open: Vec<Open>,
}

impl Part {
    fn add(&mut self, tally: &Tally, to: Nanos) {
        self.tally.merge(tally);
        self.accounting.merge(&tally.accounting());
        for (place, endpoint) in tally.endpoints.iter().enumerate() {
            self.open_mut(place).add(to, &endpoint.accounting());
        }
    }

    /// Moves the requests of `other` that `ended` here, with the times at which they came due; returns their number.
    fn take_ended(&mut self, other: &mut Self, ended: &Tally) -> u64 {
        self.tally.merge(ended);
        self.accounting.merge(&ended.accounting());
        let mut taken = 0_u64;
        for (place, endpoint) in ended.endpoints.iter().enumerate() {
            let count = endpoint.accounting().ended();
            let undue = other.open_mut(place).settle(count);
            let open = self.open_mut(place);
            open.undue = open.undue.saturating_add(undue);
            taken = taken.saturating_add(self.take_due(other, place, count - undue));
        }
        taken
    }

    /// Moves the requests of `other` that have not ended here; returns their number.
    fn take_open(&mut self, other: &mut Self) -> u64 {
        let mut taken = 0_u64;
        for place in 0..other.open.len() {
            let mut due = std::mem::take(&mut other.open[place].due);
            let count = due.iter().fold(0_u64, |sum, (_, count)| count.saturating_add(sum));
            // What came due in the warm-up is older than all else.
            due.append(&mut self.open_mut(place).due);
            self.open_mut(place).due = due;
            taken = taken.saturating_add(self.take_due(other, place, count));
        }
        taken
    }

    /// Moves `count` due requests of an endpoint from `other` to here. Returns the count.
    fn take_due(&mut self, other: &mut Self, place: usize, count: u64) -> u64 {
        let id = EndpointId(place as u32);
        for planned in [&mut other.tally.endpoint_mut(id).planned, &mut other.accounting.planned] {
            *planned = planned.saturating_sub(count);
        }
        for planned in [&mut self.tally.endpoint_mut(id).planned, &mut self.accounting.planned] {
            *planned = planned.saturating_add(count);
        }
        count
    }

    fn open_mut(&mut self, place: usize) -> &mut Open {
        if place >= self.open.len() {
            self.open.resize_with(place + 1, Open::default);
        }
        &mut self.open[place]
    }

    /// Counts open requests as censored at `now`.
    fn censor(&mut self, now: Nanos) {
        for (place, open) in self.open.iter_mut().enumerate() {
            let tally = self.tally.endpoint_mut(EndpointId(place as u32));
            let censored = &mut tally.outcomes[Outcome::Censored as usize].response;
            for (due_before, count) in open.due.drain(..) {
                censored.record_many(now.since(due_before), count);
                let counted = &mut self.accounting.by_outcome[Outcome::Censored as usize];
                *counted = counted.saturating_add(count);
            }
        }
    }

    /// How many requests are not in balance: by endpoint, so that two mistakes do not cancel
    /// out, plus those that merging lost (a fault of [`Tally::merge`]).
    fn off(&self) -> u64 {
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

/// Everything that came due or ended in an interval, of the warm-up or not, all endpoints
/// together, as far as charts over time and the validity check need it.
#[derive(Clone, Debug, Default)]
struct Total {
    accounting: Accounting,
    response: Histogram,
    service: Histogram,
    generator_lag: Histogram,
    bytes_received: u64,
}

impl Total {
    fn clear(&mut self) {
        (self.accounting, self.bytes_received) = (Accounting::default(), 0);
        self.response.clear();
        self.service.clear();
        self.generator_lag.clear();
    }

    fn add(&mut self, interval: &Interval) {
        for endpoint in interval.warm_up.endpoints.iter().chain(&interval.measured.endpoints) {
            self.accounting.merge(&endpoint.accounting());
            self.generator_lag.merge(&endpoint.generator_lag);
            self.bytes_received = self.bytes_received.saturating_add(endpoint.bytes_received);
            for outcome in &endpoint.outcomes {
                self.response.merge(&outcome.response);
                self.service.merge(&outcome.service);
            }
        }
    }

    fn point(&self, interval: &Interval, warm_up: bool) -> Point {
        Point {
            from: interval.from,
            to: interval.to,
            warm_up,
            planned: self.accounting.planned,
            by_outcome: self.accounting.by_outcome,
            response: four(&self.response),
            service: four(&self.service),
            generator_lag_p99: self.generator_lag.quantile(0.99),
            in_flight: interval.concurrency.at_end,
            backlog: interval.backlog,
            bytes_received: self.bytes_received,
            generator: GeneratorSample { loop_lag: None, ..interval.generator.clone() },
        }
    }
}

impl Point {
    /// The point of `interval` for charts over time, in a run whose warm-up ends at `measured_from`.
    pub fn of(interval: &Interval, measured_from: Nanos) -> Self {
        let mut total = Total::default();
        total.add(interval);
        total.point(interval, interval.from < measured_from)
    }
}

/// The figures of a histogram for charts over time, however few values it has.
fn four(histogram: &Histogram) -> Option<[Nanos; 4]> {
    let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|q| histogram.quantile(q));
    Some([p50?, p90?, p99?, histogram.max()?])
}

/// Most notes kept per record.
pub const NOTES_MAX: usize = 1_000;

/// A record, read as far as it goes.
#[derive(Debug)]
pub struct Reading {
    /// The run; [`Ending::Truncated`] if the tail is missing or cannot be reached.
    pub run: Run,
    /// The first [`NOTES_MAX`] lines of text.
    pub notes: Vec<Note>,
    /// The error that stopped the reader early; `run` has everything before it.
    pub damage: Option<ReadError>,
}

/// Reads a whole record from a buffered source.
///
/// # Errors
/// Only if not even the head can be read; see [`Reader::new`]. Later errors are in [`Reading::damage`].
pub fn read(source: impl Read) -> Result<Reading, ReadError> {
    let mut reader = Reader::new(source)?;
    let mut builder = RunBuilder::new(reader.head().clone());
    let (mut notes, mut tail, mut damage) = (Vec::new(), None, None);
    loop {
        match reader.next_frame() {
            Ok(Some(Frame::Interval(interval))) => builder.add(&interval),
            Ok(Some(Frame::Note(note))) if notes.len() < NOTES_MAX => notes.push(note),
            Ok(Some(Frame::Note(_))) => {}
            Ok(Some(Frame::Tail(read))) => tail = Some(*read),
            Ok(None) => break,
            Err(error) => {
                damage = Some(error);
                break;
            }
        }
    }
    let mut run = builder.finish(tail);
    if let Some(damage) = &damage {
        run.validity.notes.push(damage.to_string());
    }
    Ok(Reading { run, notes, damage })
}

#[cfg(test)]
mod tests;
