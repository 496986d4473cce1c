//! A run in Locust's form: totals by request, running totals at each interval, failures by kind.
//!
//! The columns are Locust's; the figures are this project's, and differ where Locust's mislead:
//!
//! - Every request that came due counts, and every one that did not end ok is a failure. Locust counts only requests
//!   that were sent and got a response.
//! - Times are response times of all outcomes, from exact histograms and not from rounded ones. A percentile that the
//!   sample does not support is `N/A`.
//! - Rates of the history are those of the interval; Locust shows a mean over about ten seconds.
//!
//! This layout has no field for the validity. Does not write files; [`table`] lays the tables out.

use std::collections::BTreeMap;

use knee_core::estimate::Distribution;
use knee_core::interval::Interval;
use knee_core::outcome::Outcome;
use knee_core::plan::{EndpointId, Executor};
use knee_core::record::format::{Period, StoredInterval};
use knee_core::record::run::POINTS_MAX;
use knee_core::record::{Head, Run};
use knee_core::tally::EndpointTally;
use knee_core::unit::Nanos;

use crate::view::reading::Reading;

pub mod table;

/// Shares at which Locust gives times, with its names; the maximum comes after them.
pub const SHARES: [(&str, f64); 10] = [
    ("50%", 0.5),
    ("66%", 0.66),
    ("75%", 0.75),
    ("80%", 0.8),
    ("90%", 0.9),
    ("95%", 0.95),
    ("98%", 0.98),
    ("99%", 0.99),
    ("99.9%", 0.999),
    ("99.99%", 0.9999),
];

/// Most rows of failures; beyond that the most frequent are shown.
const FAILURES_MAX: usize = 10_000;

/// Most characters of the name of a failed request.
const NAME_CHARS_MAX: usize = 1_000;

/// Follows a run interval by interval.
#[derive(Clone, Debug)]
pub struct Follower {
    head: Head,
    so_far: EndpointTally,
    /// Of a very long run, earlier moments are further apart.
    moments: Vec<Moment>,
    seen: BTreeMap<(usize, String), Seen>,
}

/// When a failure occurred, on the run's clock: the ends of the first and the last interval that had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    first: Nanos,
    last: Nanos,
}

/// A run in Locust's terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Locust {
    /// By request, as Locust orders them: by name, then by type.
    pub requests: Vec<Row>,
    /// All requests together.
    pub total: Row,
    /// Running totals, interval by interval.
    pub history: Vec<Moment>,
    /// Failures, by request and kind.
    pub failures: Vec<Failure>,
}

/// Figures of one kind of request.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The method; empty where the name does not begin with one.
    pub kind: String,
    /// The name without it.
    pub name: String,
    /// Number of requests.
    pub requests: u64,
    /// Requests that did not end ok.
    pub failures: u64,
    /// Response times.
    pub times: TimeSummary,
    /// Mean body size of a response in bytes; 0 without any.
    pub size: f64,
    /// Requests per second; 0 where the run has no length.
    pub per_second: f64,
    /// Failures per second, likewise.
    pub failures_per_second: f64,
}

/// Response times of all outcomes.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeSummary {
    /// At [`SHARES`].
    pub percentiles: [Reading; 10],
    /// The mean; `None` without any request, like the two below.
    pub mean: Option<Nanos>,
    /// The least.
    pub min: Option<Nanos>,
    /// The greatest.
    pub max: Option<Nanos>,
}

/// The end of one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// Wall-clock time, in whole seconds since the Unix epoch.
    pub timestamp: u64,
    /// Users that the plan has active; for an open load, the requests in flight.
    pub users: u64,
    /// Everything so far, with the rates of this interval.
    pub so_far: Row,
}

/// One kind of failure of one kind of request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The method, or nothing.
    pub kind: String,
    /// The name without it.
    pub name: String,
    /// What went wrong.
    pub error: String,
    /// How often.
    pub count: u64,
    /// Wall-clock time of the first occurrence, in seconds since the Unix epoch.
    pub first: u64,
    /// Wall-clock time of the last occurrence.
    pub last: u64,
}

impl Follower {
    /// A run without intervals.
    pub fn new(head: &Head) -> Self {
        let (so_far, moments, seen) = (EndpointTally::default(), Vec::new(), BTreeMap::new());
        Self { head: head.clone(), so_far, moments, seen }
    }

    /// Adds the next interval; intervals must come in order. Omits the warm-up.
    pub fn add(&mut self, interval: &Interval) {
        if interval.to <= self.head.measured_from {
            return;
        }
        for (position, tally) in interval.measured.endpoints.iter().enumerate() {
            self.see(position, tally, interval.to);
        }
        self.close(interval, &interval.measured.all());
    }

    /// The same for an interval of a record, of which it unpacks one endpoint at a time.
    pub fn add_stored(&mut self, interval: &StoredInterval) {
        let outline = interval.outline();
        if outline.to <= self.head.measured_from {
            return;
        }
        let mut now = EndpointTally::default();
        for position in 0..interval.accounting(Period::Measured).len() {
            let mut tally = EndpointTally::default();
            interval.add_to(&mut tally, Period::Measured, EndpointId(position as u32));
            self.see(position, &tally, outline.to);
            now.merge(&tally);
        }
        self.close(outline, &now);
    }

    /// Notes when an endpoint failed.
    fn see(&mut self, position: usize, tally: &EndpointTally, to: Nanos) {
        for (error, _) in errors(tally) {
            let known = (position, error);
            if self.seen.len() < FAILURES_MAX || self.seen.contains_key(&known) {
                self.seen.entry(known).or_insert(Seen { first: to, last: to }).last = to;
            }
        }
    }

    /// Ends an interval in which all endpoints together counted `now`.
    fn close(&mut self, interval: &Interval, now: &EndpointTally) {
        self.so_far.merge(now);
        let seconds = interval.to.since(interval.from).as_secs_f64();
        let mut so_far = Row::of(String::new(), "Aggregated".to_owned(), &self.so_far, 0.0);
        let (ended, failed) = counts(now);
        (so_far.per_second, so_far.failures_per_second) = (rate(ended, seconds), rate(failed, seconds));
        let users = self.users(interval);
        if self.moments.len() == POINTS_MAX {
            let mut keep = true;
            self.moments.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.moments.push(Moment { timestamp: wall(&self.head, interval.to), users, so_far });
    }

    fn users(&self, interval: &Interval) -> u64 {
        let scenarios = &self.head.plan.scenarios;
        let active = scenarios.iter().map(|scenario| match &scenario.executor {
            Executor::Closed { vus: users } => {
                let is_over = scenario.stop.duration().is_some_and(|end| interval.from >= end);
                if is_over { 0.0 } else { users.at(interval.from) }
            }
            Executor::Open { .. } => 0.0,
        });
        let active = active.sum::<f64>().round() as u64;
        if active > 0 { active } else { interval.concurrency.at_end }
    }

    /// The run, which is the one that was followed.
    pub fn end(self, run: &Run) -> Locust {
        let seconds = run.window().as_secs_f64();
        let named =
            |position: usize| split(run.endpoints.get(position).map_or("", |endpoint| &endpoint.name));
        let mut requests = Vec::new();
        let mut failures = Vec::new();
        for (position, tally) in
            run.measured.endpoints.iter().enumerate().filter(|(_, tally)| counts(tally).0 > 0)
        {
            let (kind, name) = named(position);
            requests.push(Row::of(kind, name, tally, seconds));
            failures.extend(errors(tally).into_iter().map(|(error, count)| (position, error, count)));
        }
        if failures.len() > FAILURES_MAX {
            failures.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
            failures.truncate(FAILURES_MAX);
            failures.sort();
        }
        let failures = failures.into_iter().map(|(position, error, count)| {
            let never = Seen { first: run.ended, last: run.ended };
            let seen = self.seen.get(&(position, error.clone())).copied().unwrap_or(never);
            let (first, last) = (wall(&run.head, seen.first), wall(&run.head, seen.last));
            let (kind, name) = named(position);
            let name = name.chars().take(NAME_CHARS_MAX).collect();
            Failure { kind, name, error, count, first, last }
        });
        let failures = failures.collect();
        requests.sort_by(|a, b| (&a.name, &a.kind).cmp(&(&b.name, &b.kind)));
        let total = Row::of(String::new(), "Aggregated".to_owned(), &run.measured.all(), seconds);
        Locust { requests, total, history: self.moments, failures }
    }
}

impl Row {
    fn of(kind: String, name: String, tally: &EndpointTally, seconds: f64) -> Self {
        let (requests, failures) = counts(tally);
        let answers = tally.status.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        let size = if answers > 0 { tally.bytes_body as f64 / answers as f64 } else { 0.0 };
        let (per_second, failures_per_second) = (rate(requests, seconds), rate(failures, seconds));
        Self {
            kind,
            name,
            requests,
            failures,
            times: TimeSummary::of(tally),
            size,
            per_second,
            failures_per_second,
        }
    }
}

impl TimeSummary {
    fn of(tally: &EndpointTally) -> Self {
        let times = Distribution::response(tally);
        let summary = times.summary();
        Self {
            percentiles: SHARES.map(|(_, share)| times.quantile(share).into()),
            mean: summary.mean,
            min: summary.min,
            max: summary.max,
        }
    }
}

/// How many requests ended, and how many of them not ok.
fn counts(tally: &EndpointTally) -> (u64, u64) {
    let ended = tally.accounting().ended();
    (ended, ended.saturating_sub(tally.count(Outcome::Ok)))
}

/// Kinds of failures with their counts, which add up to the number of failures.
fn errors(tally: &EndpointTally) -> Vec<(String, u64)> {
    let mut left = counts(tally).1;
    let mut rows: Vec<(String, u64)> = Vec::new();
    let mut add = |error: String, count: u64| {
        let count = count.min(left);
        left -= count;
        if count > 0 {
            rows.push((error, count));
        }
    };
    let http = tally.count(Outcome::HttpError);
    let bad = tally.status.iter().filter(|(status, _)| *status >= 400);
    // A script can take any status for good or bad; then the two cannot be separated afterwards.
    if bad.clone().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count)) == http {
        bad.for_each(|(status, count)| add(format!("status {status}"), *count));
    } else {
        add("an unexpected status".to_owned(), http);
    }
    tally.faults.iter().for_each(|fault| add(fault.fault.sentence().to_owned(), fault.count));
    let unknown = &tally.unknown;
    unknown.faults.iter().for_each(|fault| add(format!("`{}`", fault.name), fault.count));
    unknown.outcomes.iter().for_each(|one| add(format!("`{}`", one.name), one.times.response.count()));
    add("no response when the run ended".to_owned(), tally.count(Outcome::Censored));
    add("not sent".to_owned(), tally.count(Outcome::Unsent));
    add("no answer".to_owned(), u64::MAX);
    rows
}

/// Method and name of `GET /path`.
fn split(name: &str) -> (String, String) {
    match name.split_once(' ') {
        Some((method, rest))
            if !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase()) =>
        {
            (method.to_owned(), rest.to_owned())
        }
        _ => (String::new(), name.to_owned()),
    }
}

fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

fn wall(head: &Head, at: Nanos) -> u64 {
    head.started.saturating_add(at).0 / 1_000_000_000
}
