//! The fold of a run's events: everything that the live screen and the live page show.
//!
//! Pure: events go in, and the time at which they came. Does not read a clock, draw or serve. Its memory is bounded,
//! however long the run is and however many endpoints it has.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use knee_core::event::Event;
use knee_core::interval::Interval;
use knee_core::outcome::{Fault, Outcome};
use knee_core::record::{Head, Point, Run};
use knee_core::tally::EndpointTally;
use knee_core::unit::Nanos;
use knee_core::validity::{Validity, ValidityReport};
use knee_report::view::moment;

use super::history::{History, Moment};
use super::observed::Observed;
use super::provisional::Signs;

/// Most warnings kept; the first ones name the cause.
const WARNINGS_MAX: usize = 20;

/// Most endpoints with figures of their own: those that the run met first.
pub const ENDPOINTS_MAX: usize = 50;

/// Most lines of progress kept; the newest ones stay.
const LINES_MAX: usize = 200;

/// A gap between two intervals that is longer than this is a lost event, not rounding.
const GAP: Nanos = Nanos::from_millis(1);

/// Where the run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Before the first request.
    #[default]
    Waiting,
    /// Requests are sent.
    Loading,
    /// No new requests; the flag says whether a person asked for that.
    Stopping(bool),
    /// All requests have an outcome.
    Ended,
}

/// One endpoint so far, without the warm-up.
#[derive(Clone, Debug, Default)]
pub struct EndpointSoFar {
    /// Its name.
    pub name: String,
    /// What was counted.
    pub tally: EndpointTally,
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// The answer in a sentence; empty if it is that of the one run, which the figures show.
    pub answer: String,
    /// Whether it can be trusted; `None` if that is part of the answer.
    pub validity: Option<Validity>,
    /// The report as a page.
    pub page: Option<String>,
}

/// A run so far.
#[derive(Debug, Default)]
pub struct Fold {
    /// Changes with every event.
    pub sequence: u64,
    /// Number of this run, from 1; 0 before the first one. A sweep and a study have many.
    pub number: u64,
    /// What is known before the load.
    pub head: Option<Arc<Head>>,
    /// Where the run stands.
    pub phase: Phase,
    /// Its seconds, or wider spans of a long run.
    pub history: History,
    /// The last interval.
    pub last: Option<Point>,
    /// Open connections.
    pub connections: u64,
    /// Requests by outcome, with those of the warm-up.
    pub by_outcome: [u64; 6],
    /// Complete responses by status code, likewise.
    pub status: BTreeMap<u16, u64>,
    /// Faults by kind, likewise: what goes wrong in the warm-up is seen at once.
    pub faults: BTreeMap<Fault, u64>,
    /// Bytes received, likewise.
    pub bytes: u64,
    /// Requests that came due since the warm-up ended.
    pub scheduled: u64,
    /// All endpoints together, without the warm-up.
    pub total: EndpointTally,
    /// The first endpoints, without the warm-up.
    pub endpoints: Vec<EndpointSoFar>,
    /// Endpoints without figures of their own.
    pub endpoints_left_out: u64,
    /// Provisional validity.
    pub signs: Signs,
    /// The validity of the run, once it has ended.
    pub validity: Option<ValidityReport>,
    /// Time whose intervals were lost on the way here. The record has them.
    pub missed: Nanos,
    /// What observers have seen.
    pub observed: Observed,
    /// Warnings of this run.
    pub warnings: Vec<String>,
    /// Lines of progress of the command, such as the steps of a sweep.
    pub lines: VecDeque<String>,
    /// The result of the command, once it is known.
    pub conclusion: Option<Arc<Conclusion>>,
    /// Whether the command is about to end.
    pub over: bool,
    /// Requests that ended ok within the span of rates, and that span.
    ok_within: f64,
    window: Nanos,
    /// The reader's clock when the run began, and when it ended.
    began: Nanos,
    ended: Option<Nanos>,
}

impl Fold {
    /// Takes an event that arrived at `now` on the reader's clock.
    pub fn handle(&mut self, event: &Event, now: Nanos) {
        self.sequence += 1;
        match event {
            Event::Started(head) => self.begin(head, now),
            Event::Interval(interval) => self.add(interval),
            Event::Observed { batch, number } => self.observed.add(batch, *number),
            Event::Stopping { interrupted } => self.phase = Phase::Stopping(*interrupted),
            Event::Warning(text) => {
                if self.warnings.len() < WARNINGS_MAX {
                    self.warnings.push(text.clone());
                }
            }
            Event::Ended => self.end(now),
        }
    }

    /// A new run: only its number and the lines of the command stay.
    fn begin(&mut self, head: &Arc<Head>, now: Nanos) {
        let names = head.plan.endpoints.iter().map(|endpoint| endpoint.name.clone());
        let endpoints = names.clone().take(ENDPOINTS_MAX);
        *self = Self {
            sequence: self.sequence,
            number: self.number + 1,
            lines: std::mem::take(&mut self.lines),
            endpoints: endpoints.map(|name| EndpointSoFar { name, ..EndpointSoFar::default() }).collect(),
            endpoints_left_out: names.skip(ENDPOINTS_MAX).count() as u64,
            head: Some(head.clone()),
            phase: Phase::Loading,
            began: now,
            ..Self::default()
        };
    }

    fn end(&mut self, now: Nanos) {
        self.phase = Phase::Ended;
        self.ended.get_or_insert(now);
    }

    fn add(&mut self, interval: &Interval) {
        let measured_from = self.head.as_ref().map_or(Nanos::ZERO, |head| head.measured_from);
        let waiting = self.last.as_ref().map_or(0, |last| last.backlog);
        let point = Point::of(interval, measured_from, waiting);
        let missed = point.from.since(self.history.end());
        if missed > GAP {
            self.missed = self.missed.saturating_add(missed);
        }
        self.count(interval, &point);
        self.measure(interval);
        self.add_to_rates(&point);
        self.connections = interval.connections_open;
        self.history.push(Moment::of(&point));
        self.last = Some(point);
    }

    /// What is counted interval by interval.
    fn count(&mut self, interval: &Interval, point: &Point) {
        let tallies = || interval.warm_up.endpoints.iter().chain(&interval.measured.endpoints);
        for endpoint in tallies() {
            endpoint.status.iter().for_each(|(code, count)| *self.status.entry(*code).or_default() += count);
            let faults = endpoint.faults.iter();
            faults.for_each(|tally| *self.faults.entry(tally.fault).or_default() += tally.count);
        }
        let faults =
            tallies().flat_map(|endpoint| endpoint.faults.iter().map(|tally| (tally.fault, tally.count)));
        self.signs.add(point, faults);
        if !point.warm_up {
            self.scheduled += point.planned;
        }
        self.by_outcome.iter_mut().zip(point.by_outcome).for_each(|(sum, count)| *sum += count);
        self.bytes += point.bytes_received;
    }

    /// What is counted without the warm-up.
    fn measure(&mut self, interval: &Interval) {
        self.total.merge(&interval.measured.all());
        for (id, endpoint) in &interval.endpoints_met {
            let place = id.0 as usize;
            if place >= ENDPOINTS_MAX {
                self.endpoints_left_out += 1;
                continue;
            }
            if place >= self.endpoints.len() {
                self.endpoints.resize_with(place + 1, EndpointSoFar::default);
            }
            self.endpoints[place].name.clone_from(&endpoint.name);
        }
        let tallies = interval.measured.endpoints.iter();
        self.endpoints.iter_mut().zip(tallies).for_each(|(so_far, tally)| so_far.tally.merge(tally));
    }

    /// Rates count from the end of the warm-up to the last planned arrival, as in the report.
    fn add_to_rates(&mut self, point: &Point) {
        let Some(head) = &self.head else { return };
        let (from, until) = (head.measured_from, head.plan.arrivals_end());
        let ok = point.by_outcome[Outcome::Ok as usize] as f64;
        self.ok_within += ok * moment::share_inside(point, from, until);
        self.window = point.to.min(until).since(from);
    }

    /// The run is over and summed up. Its record has everything, also what was lost on the way here.
    pub fn finish(&mut self, run: &Run, now: Nanos) {
        self.sequence += 1;
        self.end(now);
        let (from, window) = (run.head.measured_from, run.window());
        let ok = |point: &Point| point.by_outcome[Outcome::Ok as usize];
        self.ok_within = moment::within(&run.series, from, from.saturating_add(window), ok);
        self.window = window;
        self.total = run.measured.all();
        self.scheduled = self.total.planned.saturating_sub(run.from_warm_up);
        for (so_far, tally) in self.endpoints.iter_mut().zip(&run.measured.endpoints) {
            so_far.tally = tally.clone();
        }
        self.validity = Some(run.validity.clone());
    }

    /// A line of progress, in the order in which they came. A warning of this run is not a line as well.
    pub fn note(&mut self, line: &str) {
        let is_warning = |text: &str| self.warnings.iter().any(|warning| warning == text);
        if line.strip_prefix("warning: ").is_some_and(is_warning) {
            return;
        }
        self.sequence += 1;
        if self.lines.len() >= LINES_MAX {
            self.lines.pop_front();
        }
        self.lines.push_back(line.to_owned());
    }

    /// The result of the command is known.
    pub fn conclude(&mut self, conclusion: Conclusion) {
        self.sequence += 1;
        self.conclusion = Some(Arc::new(conclusion));
    }

    /// The command is about to end.
    pub fn close(&mut self) {
        self.sequence += 1;
        self.over = true;
    }

    /// Time since the run began, or that it took.
    pub fn elapsed(&self, now: Nanos) -> Nanos {
        if self.phase == Phase::Waiting { Nanos::ZERO } else { self.ended.unwrap_or(now).since(self.began) }
    }

    /// Requests that have ended.
    pub fn ended(&self) -> u64 {
        self.by_outcome.iter().sum()
    }

    /// The span of rates.
    pub fn window(&self) -> Nanos {
        self.window
    }

    /// Requests that ended ok per second; `None` before the measurement has begun.
    pub fn goodput(&self) -> Option<f64> {
        self.per_second(self.ok_within)
    }

    /// Requests that came due per second, likewise.
    pub fn scheduled_rate(&self) -> Option<f64> {
        self.per_second(self.scheduled as f64)
    }

    fn per_second(&self, count: f64) -> Option<f64> {
        let seconds = self.window.as_secs_f64();
        (seconds > 0.0).then(|| count / seconds)
    }

    /// How much is done, from 0 to 1, and the time that is left if it is known.
    pub fn progress(&self, now: Nanos) -> (f64, Option<Nanos>) {
        let Some(plan) = self.head.as_ref().map(|head| &head.plan) else { return (0.0, None) };
        let elapsed = self.elapsed(now);
        if let Some(duration) = plan.duration().filter(|duration| *duration > Nanos::ZERO) {
            let share = elapsed.as_secs_f64() / duration.as_secs_f64();
            return (share.min(1.0), Some(duration.since(elapsed)));
        }
        let Some(requests) = plan.requests().filter(|requests| *requests > 0) else { return (0.0, None) };
        let ended = self.ended();
        let share = (ended as f64 / requests as f64).min(1.0);
        // What is left at the pace of the run so far, as of its last interval.
        let left = (ended > 0).then(|| {
            let pace = ended as f64 / self.history.end().as_secs_f64();
            Nanos::from_secs_f64(requests.saturating_sub(ended) as f64 / pace)
        });
        (share, left.map(|left| left.since(elapsed.since(self.history.end()))))
    }
}

#[cfg(test)]
mod tests;
