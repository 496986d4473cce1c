//! Diagnostics for the validity check, collected interval by interval.
//!
//! Does not judge them (see [`super::judge`]) and keeps no interval: its memory is two histograms
//! and a few numbers, however long the run.

use crate::generator::{GeneratorSample, LoopLag, both};
use crate::histogram::Histogram;
use crate::interval::Interval;
use crate::outcome::{Blame, Outcome};
use crate::plan::{Executor, Overflow, Plan};
use crate::tally::{Accounting, Concurrency, EndpointTally, Tally};
use crate::unit::Nanos;

use super::diagnostics::{Circumstances, Diagnostics, Generator, Load, Quantiles, Requests};

/// Fewest requests that must have ended in the steady part for Little's law to be checked.
const LITTLE_ENDED_MIN: u64 = 100;

/// Fewest whole intervals of the steady part, likewise.
const LITTLE_INTERVALS_MIN: u64 = 3;

/// An interval counts as whole from this share of the planned width on.
const WHOLE: f64 = 0.9;

/// The facts known before the first interval.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What is to be sent.
    pub plan: Plan,
    /// Start of the measured time.
    pub measured_from: Nanos,
    /// CPUs that this process can use.
    pub cores: u32,
    /// Whether the target runs on this machine.
    pub co_located: Option<bool>,
    /// Whether the program was built with optimizations.
    pub optimized: bool,
}

/// Folds intervals, in their order, into what [`Diagnostics`] need beyond the final tallies.
#[derive(Clone, Debug)]
pub struct Collector {
    setting: Setting,
    /// No arrival is planned from here on.
    arrivals_end: Nanos,
    width: Nanos,
    steady: Steady,
    watch: Watch,
    /// Whether the planned rate was changed during the run.
    amended: bool,
    /// In flight, and due and waiting, at the end of the interval before.
    left: (u64, u64),
}

impl Collector {
    /// Nothing collected yet.
    pub fn new(setting: Setting) -> Self {
        Self {
            arrivals_end: setting.plan.arrivals_end(),
            width: setting.plan.interval,
            steady: Steady::default(),
            watch: Watch { cores: setting.cores, ..Watch::default() },
            amended: false,
            left: (0, 0),
            setting,
        }
    }

    /// Arrivals ended at `at`, before their plan did.
    pub fn stop(&mut self, at: Nanos) {
        self.arrivals_end = self.arrivals_end.min(at);
    }

    /// The planned rate was changed.
    pub const fn amend(&mut self) {
        self.amended = true;
    }

    /// Adds the next interval. `accounting` and `service` are those of all endpoints and outcomes, including requests
    /// left from the warm-up, because those were in flight like all others.
    pub fn add(&mut self, interval: &Interval, accounting: &Accounting, service: &Histogram) {
        let width = interval.to.since(interval.from);
        // An interval belongs to the arrivals if most of it lies before their end.
        let middle = interval.from.saturating_add(Nanos(width.0 / 2));
        let measured = interval.from >= self.setting.measured_from;
        let sending = measured && middle < self.arrivals_end;
        if measured {
            self.watch.add(&interval.generator, width);
        }
        if sending {
            let late = interval.to.min(self.arrivals_end).since(interval.from).since(self.width);
            self.watch.stall = self.watch.stall.max(late);
            if width.as_secs_f64() >= WHOLE * self.width.as_secs_f64() {
                self.watch.add_whole(&interval.generator);
                self.steady.add_window(&interval.concurrency, width, self.left, interval.backlog);
                self.steady.add_requests(accounting, service);
            }
        }
        self.watch.note_wall(interval.generator.wall_drift_ns, measured);
        self.left = (interval.concurrency.at_end, interval.backlog);
    }

    /// The diagnostics from the intervals, the setting and the final tallies. The caller adds missing requests, lost
    /// intervals and the way the run ended.
    pub fn diagnostics(&self, measured: &Tally, concurrency: &Concurrency) -> Diagnostics {
        let all = measured.all();
        let plan = &self.setting.plan;
        let drops = |overflow: Overflow| overflow == Overflow::Drop;
        let mut load = Load {
            closed: !plan.is_open(),
            drops: plan.scenarios.iter().any(|scenario| drops(scenario.terms.overflow)),
            vus_max: plan.users_max(),
            in_flight_max: concurrency.max,
            area_residual: relative_difference(concurrency.area, concurrency.clipped),
            ..Load::default()
        };
        let longest = all.outcomes().filter_map(|(_, tally)| tally.service.max()).max().unwrap_or_default();
        let is_steady = !self.amended && is_steady(plan);
        self.steady.describe(&mut load, (plan, is_steady), self.watch.whole, longest);
        let mut generator = self.watch.generator();
        generator.lag = quantiles(&all.generator_lag);
        Diagnostics {
            requests: requests(measured, &all),
            load,
            generator,
            run: Circumstances {
                intervals: self.watch.whole,
                co_located: self.setting.co_located.or(self.watch.co_located),
                debug_build: !self.setting.optimized,
                ..Circumstances::default()
            },
        }
    }
}

/// The diagnostics from the tallies.
fn requests(measured: &Tally, all: &EndpointTally) -> Requests {
    let mut response = Histogram::new();
    let mut service = Histogram::new();
    let mut answered = Histogram::new();
    for (_, tally) in all.outcomes() {
        response.merge(&tally.response);
        service.merge(&tally.service);
    }
    for outcome in [Outcome::Ok, Outcome::HttpError] {
        answered.merge(&all.outcomes[outcome as usize].service);
    }
    let answered_p99 = answered.quantile(0.99);
    let censored = &all.outcomes[Outcome::Censored as usize].response;
    let mut requests = Requests {
        accounting: measured.accounting(),
        generator_faults: all.failed_by(Blame::Generator),
        response: quantiles(&response),
        service: quantiles(&service),
        answered_p99,
        connections_opened: all.connections,
        resent: all.resent,
        redirects_refused: all.redirects_refused,
        surplus: all.surplus,
        doubtful: all.doubtful,
        censored: censored.max().map(|oldest| (censored.count(), oldest)),
        censored_stuck: answered_p99.map_or(0, |p99| {
            let stuck = Nanos(p99.0.saturating_mul(2));
            censored.count() - censored.count_at_or_below(stuck).min(censored.count())
        }),
        bodies: (all.bodies.seen.len() as u64, all.bodies.more),
        ..Requests::default()
    };
    for endpoint in &measured.endpoints {
        let mut lengths = endpoint.bodies.seen.iter().map(|(_, length)| *length);
        let first = lengths.next();
        requests.endpoints_of_many_lengths += u64::from(lengths.any(|length| Some(length) != first));
        let is_empty = |(_, length): &(u32, u64)| *length == 0;
        requests.endpoints_of_empty_bodies += u64::from(endpoint.bodies.seen.iter().any(is_empty));
    }
    requests
}

/// Quantiles of any number of values: they state what the generator did, not what the sample proves.
fn quantiles(histogram: &Histogram) -> Option<Quantiles> {
    let at = |q: f64| histogram.quantile(q);
    Some(Quantiles { p50: at(0.5)?, p90: at(0.9)?, p99: at(0.99)?, max: histogram.max()? })
}

/// The lower confidence bound of a quantile lies this many standard errors below its rank. It is too high with a
/// chance of 1 in 700.
const SIGMAS: f64 = 3.0;

/// Lower confidence bounds of the quantiles, by the binomial distribution of the number of values above them (Hahn and
/// Meeker, Statistical Intervals, section 5.2). A run of a second has 200 tries, two of which lie above its p99: a
/// single hiccup must not become its p99, however many responses one try represents.
fn quantiles_at_least(seen: &LoopLag) -> Option<Quantiles> {
    let histogram = &seen.lateness;
    let sample = seen.tries.min(histogram.count()) as f64;
    let at = |q: f64| histogram.quantile((q - SIGMAS * (q * (1.0 - q) / sample).sqrt()).max(0.0));
    Some(Quantiles { p50: at(0.5)?, p90: at(0.9)?, p99: at(0.99)?, max: histogram.max()? })
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
    /// In flight, and due and waiting, when it began; `None` before it began.
    at_start: Option<(u64, u64)>,
    at_end: (u64, u64),
}

impl Steady {
    fn add_window(&mut self, concurrency: &Concurrency, width: Nanos, before: (u64, u64), backlog: u64) {
        self.width = self.width.saturating_add(width);
        self.area = self.area.saturating_add(concurrency.area);
        self.at_start.get_or_insert(before);
        self.at_end = (concurrency.at_end, backlog);
    }

    fn add_requests(&mut self, accounting: &Accounting, service: &Histogram) {
        self.service.merge(service);
        self.planned = self.planned.saturating_add(accounting.planned);
        let unsent = accounting.count(Outcome::Unsent);
        let not_sent = unsent.saturating_add(accounting.count(Outcome::Censored));
        self.answered = self.answered.saturating_add(accounting.ended().saturating_sub(not_sent));
    }

    fn describe(&self, load: &mut Load, (plan, is_steady): (&Plan, bool), intervals: u64, longest: Nanos) {
        let width = self.width.as_secs_f64();
        if width > 0.0 {
            load.in_flight_mean = Some(self.area as f64 / self.width.0 as f64);
        }
        let (in_flight, waiting) = self.at_start.unwrap_or_default();
        // An arrival counts as planned when a user takes it up. Those that wait have come due as well.
        let due = (self.planned.saturating_add(self.at_end.1)).saturating_sub(waiting);
        if plan.is_open() && due > 0 && width > 0.0 {
            let sent = (self.answered.saturating_add(self.at_end.0)).saturating_sub(in_flight);
            load.sent_share = Some(sent as f64 / due as f64);
            load.due_per_s = Some(due as f64 / width);
            load.taken_per_s = Some(self.answered as f64 / width);
        }
        let enough = self.service.count() >= LITTLE_ENDED_MIN && intervals >= LITTLE_INTERVALS_MIN;
        if is_steady && enough && self.area > 0 {
            let area = self.area as f64;
            load.little_residual = Some((self.service.sum() as f64 - area).abs() / area);
            load.little_allowance = self.sticking_out(longest) / area;
        }
    }

    /// How much of the requests in flight at an edge can lie within the steady part, in nanoseconds. Takes the edge
    /// with more requests. Each counts with its mean age, and one of them with the longest service time: with one or
    /// two requests at the edge the mean says little, because edges cut long requests.
    fn sticking_out(&self, longest: Nanos) -> f64 {
        let count = self.at_start.unwrap_or_default().0.max(self.at_end.0);
        count.checked_sub(1).map_or(0.0, |others| longest.0 as f64 + others as f64 * self.age_in_flight())
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

/// Whether the plan asks for the same load from the end of the warm-up on. With stages the number in flight changes by
/// plan, which Little's law would report as a fault.
fn is_steady(plan: &Plan) -> bool {
    plan.scenarios.iter().all(|scenario| match &scenario.executor {
        Executor::Closed { vus: curve } | Executor::Open { rate: curve, .. } => curve.stages.is_empty(),
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

/// The load generator over the measured part.
#[derive(Clone, Debug, Default)]
struct Watch {
    cores: u32,
    measured: Nanos,
    whole: u64,
    saturated: u64,
    cpu_max: Option<f64>,
    collector_max: Option<f64>,
    /// By worker.
    run_delay: Vec<Mean>,
    loop_lag: Option<LoopLag>,
    co_located: Option<bool>,
    timer_slack: Nanos,
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

impl Watch {
    fn add(&mut self, sample: &GeneratorSample, width: Nanos) {
        self.measured = self.measured.saturating_add(width);
        for (place, worker) in sample.workers.iter().enumerate() {
            if let Some(delay) = worker.run_delay {
                if place >= self.run_delay.len() {
                    self.run_delay.resize_with(place + 1, Mean::default);
                }
                self.run_delay[place].add(delay, width);
            }
        }
        if let Some(seen) = &sample.loop_lag {
            let sum = self.loop_lag.get_or_insert_default();
            sum.lateness.merge(&seen.lateness);
            sum.tries = sum.tries.saturating_add(seen.tries);
            sum.paused = sum.paused.saturating_add(seen.paused);
        }
        self.timer_slack = self.timer_slack.max(sample.timer_slack);
        self.co_located = both(self.co_located, sample.co_located);
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

    /// CPU use counts in whole intervals only: a short one shows the start and end of the run, not the load.
    fn add_whole(&mut self, sample: &GeneratorSample) {
        self.whole += 1;
        let collector = sample.collector.map(|thread| thread.cpu);
        self.collector_max = [self.collector_max, collector].into_iter().flatten().reduce(f64::max);
        if let Some(busiest) = sample.busiest() {
            self.cpu_max = Some(self.cpu_max.map_or(busiest, |max| max.max(busiest)));
            // Threads that share fewer CPUs than they are saturate those, and none of them alone.
            let threads = sample.workers.iter().chain(&sample.collector);
            let all: f64 = threads.map(|thread| thread.cpu).sum();
            let of_all = all / f64::from(self.cores.max(1));
            self.saturated += u64::from(busiest.max(of_all) > SATURATED);
        }
    }

    fn generator(&self) -> Generator {
        Generator {
            loop_lag: self.loop_lag.as_ref().and_then(quantiles_at_least),
            timer_slack: self.timer_slack,
            measured: self.measured,
            paused: self.loop_lag.as_ref().map_or(Nanos::ZERO, |seen| seen.paused),
            stall: self.stall,
            worker_cpu_max: self.cpu_max,
            collector_cpu_max: self.collector_max,
            worker_cpu_saturated: self.cpu_max.map(|_| self.saturated as f64 / self.whole as f64),
            run_delay: self.run_delay.iter().map(Mean::value).reduce(f64::max),
            throttled: self.throttled,
            steal: self.steal.map(|mean| mean.value()),
            descriptors: self.descriptors,
            ports: self.ports,
            wall_drift_ns: self.wall_step,
            suspended: self.suspended,
            ..Generator::default()
        }
    }

    /// Detects steps, not drift. The run's clock is slewed together with the wall clock, so their difference changes
    /// when one of them jumps. A slow drift over hours is not a jump.
    fn note_wall(&mut self, drift: i64, measured: bool) {
        let step = drift.saturating_sub(self.wall_last);
        if measured && step.unsigned_abs() > self.wall_step.unsigned_abs() {
            self.wall_step = step;
        }
        self.wall_last = drift;
    }
}

/// The pair of use and limit that is nearer to its limit.
pub(crate) fn fuller(one: Option<(u64, u64)>, other: Option<(u64, u64)>) -> Option<(u64, u64)> {
    let share = |pair: Option<(u64, u64)>| pair.map(|(used, limit)| used as f64 / limit.max(1) as f64);
    if share(other) > share(one) { other } else { one }
}
