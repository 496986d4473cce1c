//! Figures for the truth block, collected interval by interval.
//!
//! Does not judge them (see [`super::judge`]) and keeps no interval: its memory is a histogram
//! and a few numbers, however long the run.

use crate::histogram::Histogram;
use crate::outcome::{Blame, Outcome};
use crate::plan::{Executor, Plan};
use crate::record::Head;
use crate::tally::{Books, Concurrency, EndpointTally, Interval, Tally};
use crate::unit::Nanos;

use super::{Figures, InstrumentSample};

/// Fewest requests that must have ended in the steady part before Little's law is held against it.
const LITTLE_ENDED_MIN: u64 = 100;

/// Fewest whole intervals of the steady part, likewise.
const LITTLE_INTERVALS_MIN: u64 = 3;

/// An interval counts as whole from this share of the planned width on.
const WHOLE: f64 = 0.9;

/// Folds intervals, in their order, into what [`Figures`] needs beyond the final tallies.
#[derive(Clone, Debug)]
pub struct Collector {
    measured_from: Nanos,
    /// No arrival is planned from here on.
    arrivals_end: Nanos,
    width: Nanos,
    steady: Steady,
    instrument: Instrument,
    /// In flight and waiting at the end of the interval before.
    in_flight: u64,
}

impl Collector {
    /// Nothing collected yet.
    pub fn new(head: &Head) -> Self {
        Self {
            measured_from: head.measured_from,
            arrivals_end: head.plan.arrivals_end(),
            width: head.plan.interval,
            steady: Steady::default(),
            instrument: Instrument::default(),
            in_flight: 0,
        }
    }

    /// Takes the next interval into account, with what its whole tally says: `books` and `service`
    /// of all endpoints and outcomes, the warm-up's stragglers included, because those were in
    /// flight like all others.
    pub fn add(&mut self, interval: &Interval, books: &Books, service: &Histogram) {
        let width = interval.to.since(interval.from);
        // An interval belongs to the arrivals if most of it lies before their end.
        let middle = interval.from.saturating_add(Nanos(width.0 / 2));
        let measured = interval.from >= self.measured_from;
        let sending = measured && middle < self.arrivals_end;
        if measured {
            self.instrument.add(&interval.instrument, width);
        }
        if sending {
            let late = interval.to.min(self.arrivals_end).since(interval.from).since(self.width);
            self.instrument.stall = self.instrument.stall.max(late);
            if width.as_secs_f64() >= WHOLE * self.width.as_secs_f64() {
                self.instrument.add_whole(&interval.instrument);
                self.steady.add_window(&interval.concurrency, width, self.in_flight);
                self.steady.add_requests(books, service);
            }
        }
        self.instrument.note_wall(interval.instrument.wall_drift_ns, measured);
        self.in_flight = interval.concurrency.at_end;
    }

    /// Everything that intervals, head and the final tallies say. The books' imbalance, lost
    /// intervals and the way the run ended are for the caller, who knows them.
    pub fn figures(&self, head: &Head, measured: &Tally, concurrency: &Concurrency) -> Figures {
        let all = measured.all();
        let instrument = &self.instrument;
        let mut figures = Figures {
            books: measured.books(),
            in_flight_max: concurrency.max,
            area_residual: relative_difference(concurrency.area, concurrency.clipped),
            intervals: instrument.whole,
            stall: instrument.stall,
            worker_cpu_max: instrument.cpu_max,
            worker_cpu_saturated: instrument
                .cpu_max
                .map(|_| instrument.saturated as f64 / instrument.whole as f64),
            run_delay: instrument.run_delay.iter().map(Mean::value).reduce(f64::max),
            throttled: instrument.throttled,
            steal: instrument.steal.map(|mean| mean.value()),
            descriptors: instrument.descriptors,
            ports: instrument.ports,
            wall_drift_ns: instrument.wall_step,
            suspended: instrument.suspended,
            users_max: head.plan.users_max(),
            co_located: head.co_located,
            closed: !head.plan.is_open(),
            debug_build: !head.build.optimized,
            ..Figures::default()
        };
        add_request_figures(&mut figures, &all);
        add_body_figures(&mut figures, measured, &all);
        self.steady.add_figures(&mut figures, &head.plan);
        figures
    }
}

/// What the tally of all endpoints says.
fn add_request_figures(figures: &mut Figures, all: &EndpointTally) {
    figures.own_lag = three(&all.own_lag);
    figures.connections_opened = all.connections;
    figures.resent = all.resent;
    figures.surplus = all.surplus;
    figures.generator_faults = all
        .faults
        .iter()
        .filter(|tally| tally.fault.blame() == Blame::Generator)
        .fold(0, |sum, tally| tally.count.saturating_add(sum));
    let mut response = Histogram::new();
    let mut answered = Histogram::new();
    for outcome in Outcome::ALL {
        response.merge(&all.outcomes[outcome as usize].response);
    }
    for outcome in [Outcome::Ok, Outcome::HttpError] {
        answered.merge(&all.outcomes[outcome as usize].service);
    }
    figures.response = three(&response).map(|(p50, p99, _)| (p50, p99));
    figures.answered_p99 = answered.quantile(0.99);
    let censored = &all.outcomes[Outcome::Censored as usize].response;
    figures.censored = censored.max().map(|oldest| (censored.count(), oldest));
    if let Some(p99) = figures.answered_p99 {
        let stuck = Nanos(p99.0.saturating_mul(2));
        figures.censored_stuck = censored.count() - censored.count_at_or_below(stuck).min(censored.count());
    }
}

/// What the answers' bodies say.
fn add_body_figures(figures: &mut Figures, measured: &Tally, all: &EndpointTally) {
    figures.bodies = (all.bodies.seen.len() as u64, all.bodies.more);
    for endpoint in &measured.endpoints {
        let mut lengths = endpoint.bodies.seen.iter().map(|(_, length)| *length);
        let first = lengths.next();
        figures.endpoints_of_many_lengths += u64::from(lengths.any(|length| Some(length) != first));
        figures.endpoints_of_empty_bodies +=
            u64::from(endpoint.bodies.seen.iter().any(|(_, length)| *length == 0));
    }
}

/// Median, 99th percentile and maximum. Of any number of values: the instrument is held to what
/// it did, not to what a sample of it would prove.
fn three(histogram: &Histogram) -> Option<(Nanos, Nanos, Nanos)> {
    Some((histogram.quantile(0.5)?, histogram.quantile(0.99)?, histogram.max()?))
}

/// `|a - b|` in parts of the larger; `None` if both are zero.
fn relative_difference(a: u128, b: u128) -> Option<f64> {
    let larger = a.max(b);
    (larger > 0).then(|| a.abs_diff(b) as f64 / larger as f64)
}

/// The requests of the steady part.
#[derive(Clone, Debug, Default)]
struct Steady {
    width: Nanos,
    area: u128,
    /// Service times of everything that ended in it.
    service: Histogram,
    planned: u64,
    /// Requests that were sent and ended in it.
    answered: u64,
    /// In flight when it began; `None` before it began.
    at_start: Option<u64>,
    at_end: u64,
}

impl Steady {
    fn add_window(&mut self, concurrency: &Concurrency, width: Nanos, in_flight_before: u64) {
        self.width = self.width.saturating_add(width);
        self.area = self.area.saturating_add(concurrency.area);
        self.at_start.get_or_insert(in_flight_before);
        self.at_end = concurrency.at_end;
    }

    fn add_requests(&mut self, books: &Books, service: &Histogram) {
        self.service.merge(service);
        self.planned = self.planned.saturating_add(books.planned);
        let not_sent = books.count(Outcome::Unsent).saturating_add(books.count(Outcome::Censored));
        self.answered = self.answered.saturating_add(books.ended().saturating_sub(not_sent));
    }

    fn add_figures(&self, figures: &mut Figures, plan: &Plan) {
        let width = self.width.0 as f64;
        if width > 0.0 {
            figures.in_flight_mean = Some(self.area as f64 / width);
        }
        if plan.is_open() && self.planned > 0 {
            let started = self.at_start.unwrap_or(0);
            let sent = (self.answered.saturating_add(self.at_end)).saturating_sub(started);
            figures.sent_share = Some(sent as f64 / self.planned as f64);
        }
        let enough = self.service.count() >= LITTLE_ENDED_MIN && figures.intervals >= LITTLE_INTERVALS_MIN;
        if is_steady(plan) && enough && self.area > 0 {
            let area = self.area as f64;
            figures.little_residual = Some((self.service.sum() as f64 - area).abs() / area);
            figures.little_allowance = self.age_in_flight() * self.at_edges() / area;
        }
    }

    /// How many requests stick out of the steady part at the edge that has more of them.
    fn at_edges(&self) -> f64 {
        self.at_start.unwrap_or(0).max(self.at_end) as f64
    }

    /// The mean age, in nanoseconds, of a request in flight at a random moment:
    /// `E[S^2] / (2 E[S])` (the inspection paradox of renewal theory; Kleinrock, Queueing
    /// Systems, volume 1, section 5.2). From bucket middles, so good to a thousandth.
    fn age_in_flight(&self) -> f64 {
        let squares: f64 = self
            .service
            .iter()
            .map(|(low, high, count)| {
                let middle = low.0.midpoint(high.0) as f64;
                middle * middle * count as f64
            })
            .sum();
        squares / (2.0 * (self.service.sum() as f64).max(1.0))
    }
}

/// Whether the plan asks for the same load from the end of the warm-up on. With stages the number
/// in flight moves by intention, and Little's law would blame the plan.
fn is_steady(plan: &Plan) -> bool {
    plan.scenarios.iter().all(|scenario| match &scenario.executor {
        Executor::Closed { users: curve } | Executor::Open { rate: curve, .. } => curve.stages.is_empty(),
    })
}

/// A mean weighted by the widths of the intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    seconds: f64,
}

impl Mean {
    fn add(&mut self, value: f64, width: Nanos) {
        self.sum += value * width.as_secs_f64();
        self.seconds += width.as_secs_f64();
    }

    fn value(&self) -> f64 {
        if self.seconds > 0.0 { self.sum / self.seconds } else { 0.0 }
    }
}

/// The instrument over the measured part.
#[derive(Clone, Debug, Default)]
struct Instrument {
    whole: u64,
    saturated: u64,
    cpu_max: Option<f64>,
    /// By worker.
    run_delay: Vec<Mean>,
    throttled: Option<(u64, u64)>,
    steal: Option<Mean>,
    descriptors: Option<(u64, u64)>,
    ports: Option<(u64, u64)>,
    wall_last: i64,
    wall_step: i64,
    suspended: Option<Nanos>,
    stall: Nanos,
}

/// Above this share of a CPU a worker counts as saturated.
const SATURATED: f64 = 0.9;

impl Instrument {
    fn add(&mut self, sample: &InstrumentSample, width: Nanos) {
        for (place, worker) in sample.workers.iter().enumerate() {
            if let Some(delay) = worker.run_delay {
                if place >= self.run_delay.len() {
                    self.run_delay.resize_with(place + 1, Mean::default);
                }
                self.run_delay[place].add(delay, width);
            }
        }
        if let Some((throttled, periods)) = sample.throttled {
            let sum = self.throttled.get_or_insert((0, 0));
            *sum = (sum.0.saturating_add(throttled), sum.1.saturating_add(periods));
        }
        if let Some(steal) = sample.steal {
            self.steal.get_or_insert_default().add(steal, width);
        }
        self.descriptors = fuller(self.descriptors, sample.descriptors);
        self.ports = fuller(self.ports, sample.ports);
        self.suspended = self.suspended.max(sample.suspended);
    }

    /// CPU use counts in whole intervals only: in a short one the start and end of the run show,
    /// not the load.
    fn add_whole(&mut self, sample: &InstrumentSample) {
        self.whole += 1;
        if let Some(busiest) = sample.busiest() {
            self.cpu_max = Some(self.cpu_max.map_or(busiest, |max| max.max(busiest)));
            self.saturated += u64::from(busiest > SATURATED);
        }
    }

    /// Steps, not drift: the run's clock is slewed together with the wall clock, so that their
    /// difference moves when one of them jumps, and a slow walk over hours is no jump.
    fn note_wall(&mut self, drift: i64, measured: bool) {
        let step = drift.saturating_sub(self.wall_last);
        if measured && step.unsigned_abs() > self.wall_step.unsigned_abs() {
            self.wall_step = step;
        }
        self.wall_last = drift;
    }
}

/// Of two pairs of use and limit the one that is nearer to its limit.
fn fuller(one: Option<(u64, u64)>, other: Option<(u64, u64)>) -> Option<(u64, u64)> {
    let share = |pair: Option<(u64, u64)>| pair.map(|(used, limit)| used as f64 / limit.max(1) as f64);
    if share(other) > share(one) { other } else { one }
}
