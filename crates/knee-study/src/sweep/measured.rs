//! The figures of a step that a sweep needs, taken from a finished run.
//!
//! Does not judge; [`super::rule`] does.

use knee_core::estimate::Distribution;
use knee_core::outcome::{Fault, Outcome};
use knee_core::record::{Ending, Point, Run};
use knee_core::tally::{Accounting, EndpointTally, OutcomeTally, Phase};
use knee_core::unit::Nanos;
use knee_core::validity::{Validity, Warning};

use super::bound::ProgramUse;
use super::resource::ResourceUse;
use super::slo::Timed;

/// What a step measured. Rates are in the unit of the sweep's levels where they count arrivals
/// (`offered`, `achieved`), and in requests per second otherwise.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// Seconds measured.
    pub seconds: f64,
    /// Seconds that the whole step took: warm-up, measurement, grace period and overhead.
    pub took: f64,
    /// Arrivals per second that came due while it was measured, counted.
    pub offered: f64,
    /// Arrivals per second that were answered in that time, whatever the outcome of the response. Only shows whether the
    /// service keeps up; what it serves is `goodput`.
    pub achieved: f64,
    /// The same, of those answered ok.
    pub goodput: f64,
    /// Requests that the service turned away: with status 429 or 5xx, or by refusing or closing the connection.
    pub rejected: u64,
    /// Requests per arrival: 1 unless a script makes more.
    pub requests_per_arrival: f64,
    /// The request accounting of all measured requests.
    pub books: Accounting,
    /// Response times of the requests that did not fail with an error: a rejection is fast, and no service.
    pub response: Distribution,
    /// Service times of the same requests.
    pub service: Distribution,
    /// Times until the first event; empty unless responses are streams of events.
    pub first_event: Distribution,
    /// The longest times between two events.
    pub longest_gap: Distribution,
    /// Seconds since the start, and arrivals in flight or waiting then.
    pub waiting: Vec<(f64, f64)>,
    /// Most requests that were in flight.
    pub in_flight_max: u64,
    /// The limit on requests in flight.
    pub in_flight_cap: u64,
    /// Median over the intervals of the arrivals that waited for a free connection or VU. A median, so that a moment
    /// in which the generator stood still does not count.
    pub queued: u64,
    /// Validity of the step's run.
    pub state: Validity,
    /// Why.
    pub reasons: Vec<Warning>,
    /// CPU seconds that the target used during the step, if measured.
    pub cpu: Option<f64>,
    /// Share of this machine's CPUs, 0 to 1, that was busy with anything while it was measured; `None` if the platform
    /// does not report it. The caller can replace it by the share of the CPUs that the service can use.
    pub host_busy: Option<f64>,
    /// The programs of this machine that used the most CPU time, most first; empty if they were not looked at.
    pub programs: Vec<ProgramUse>,
    /// What observers saw of resources, the tightest first; empty if nothing was observed.
    pub resources: Vec<ResourceUse>,
    /// How late the generator sent a request and read its response, in seconds: the sum of both at p90. `None` if it
    /// could not be measured.
    pub generator_delay: Option<f64>,
    /// Whether it was ended early.
    pub interrupted: bool,
    /// The name of its record, if it was kept.
    pub record: Option<String>,
}

impl StepResult {
    /// The figures of `run`, if one arrival makes `requests_per_arrival` requests (above zero).
    ///
    /// Rates count the requests that came due and those that were answered within the measured time, even if the
    /// answered ones were due earlier. A service that keeps up but takes a second per response therefore achieves the
    /// whole offered rate. The caller sets `took`, `cpu`, `programs`, `resources`
    /// and `record`.
    pub fn of(run: &Run, requests_per_arrival: f64) -> Self {
        let window = Window::of(run);
        let all = run.measured.all();
        let tally = without_errors(&all);
        let arrivals = |requests: f64| requests / requests_per_arrival;
        let per_second = |count: f64| if window.seconds > 0.0 { count / window.seconds } else { 0.0 };
        let left_over =
            window.waiting_at_end(requests_per_arrival) - window.waiting_at_start(requests_per_arrival);
        let ok = window.ended(&[Outcome::Ok]);
        let answered =
            window.ended(&[Outcome::Ok, Outcome::HttpError, Outcome::TransportError, Outcome::Timeout]);
        let given_up = window.ended(&[Outcome::Unsent, Outcome::Censored]);
        Self {
            seconds: window.seconds,
            took: run.ended.as_secs_f64(),
            offered: per_second((arrivals(answered + given_up) + left_over).max(0.0)),
            achieved: per_second(arrivals(answered)),
            goodput: per_second(arrivals(ok)),
            rejected: rejected(&all),
            requests_per_arrival,
            books: run.measured.accounting(),
            response: Distribution::response(&tally),
            service: Distribution::service(&tally),
            first_event: Distribution::first_event(&all),
            longest_gap: Distribution::exact(&all.phases[Phase::LongestGap as usize]),
            waiting: window.series(requests_per_arrival),
            in_flight_max: run.concurrency.max,
            in_flight_cap: run.head.plan.users_max(),
            queued: window.queued(),
            state: run.validity.validity,
            reasons: run.validity.warnings.clone(),
            cpu: None,
            host_busy: window.host_busy(),
            programs: Vec::new(),
            resources: Vec::new(),
            generator_delay: generator_delay(run),
            interrupted: matches!(run.ending, Ending::Interrupted | Ending::Aborted | Ending::Truncated),
            record: None,
        }
    }

    /// Answered requests as a share of the due requests in the same time; can be a little above 1.
    pub fn share(&self) -> f64 {
        if self.offered > 0.0 { self.achieved / self.offered } else { 0.0 }
    }

    /// Share of the requests that failed. Requests that were still waiting or in flight at the end do not count; they
    /// are part of the backlog.
    pub fn failed(&self) -> f64 {
        let failures = [Outcome::HttpError, Outcome::TransportError, Outcome::Timeout];
        let failed: u64 = failures.iter().map(|outcome| self.books.count(*outcome)).sum();
        let answered = failed + self.books.count(Outcome::Ok);
        if answered == 0 { 0.0 } else { failed as f64 / answered as f64 }
    }

    /// Whether the service turned requests away and hardly one failed otherwise.
    pub fn failed_by_rejection(&self) -> bool {
        let failures = [Outcome::HttpError, Outcome::TransportError, Outcome::Timeout];
        let failed: u64 = failures.iter().map(|outcome| self.books.count(*outcome)).sum();
        self.rejected > 0 && self.rejected as f64 >= REJECTIONS_MIN * failed as f64
    }

    /// The shortest time, in seconds, that is mostly the service's in this step: a tenth of it at most is the generator's
    /// delay. `None` if the delay is unknown.
    pub fn resolution(&self) -> Option<f64> {
        Some(self.generator_delay? / DELAY_MAX)
    }

    /// Whether responses took so much longer than the generator's delay that the delay cannot be the cause.
    pub fn is_slow_by_itself(&self) -> bool {
        let slow = self.response.all().quantile(0.9).map(Nanos::as_secs_f64);
        slow.zip(self.resolution()).is_some_and(|(slow, resolution)| slow >= resolution)
    }

    /// The times that limits can be about.
    pub const fn times(&self, of: Timed) -> &Distribution {
        match of {
            Timed::Response => &self.response,
            Timed::FirstEvent => &self.first_event,
            Timed::LongestGap => &self.longest_gap,
        }
    }

    /// Mean response time in seconds; a lower bound when requests did not end.
    pub fn response_mean(&self) -> Option<f64> {
        self.response.all().mean().map(|nanos| nanos / 1e9)
    }

    /// Mean service time in seconds.
    pub fn service_mean(&self) -> Option<f64> {
        self.service.all().mean().map(|nanos| nanos / 1e9)
    }
}

/// A delay of the generator up to this share of a response time is not what made it long. A judgement: the same as for
/// the median in the validity check.
const DELAY_MAX: f64 = 0.1;

fn generator_delay(run: &Run) -> Option<f64> {
    let generator = &run.validity.diagnostics.generator;
    let [sent, read] = [generator.lag?, generator.loop_lag?].map(|delay| delay.p90.as_secs_f64());
    Some(sent + read)
}

/// From this share of rejections among the failures on, requests fail because the service turns them away. A judgement.
const REJECTIONS_MIN: f64 = 0.9;

/// The requests that did not fail with an error: answered ok, or not answered in time.
pub fn without_errors(tally: &EndpointTally) -> EndpointTally {
    let mut rest = tally.clone();
    for outcome in [Outcome::HttpError, Outcome::TransportError] {
        rest.outcomes[outcome as usize] = OutcomeTally::default();
    }
    rest
}

/// Requests that the service turned away.
fn rejected(tally: &EndpointTally) -> u64 {
    let statuses = tally.status.iter().filter(|(status, _)| *status == 429 || *status >= 500);
    let refusals = tally.faults.iter().filter(|one| matches!(one.fault, Fault::Refused | Fault::ClosedEarly));
    statuses.map(|(_, count)| count).sum::<u64>() + refusals.map(|one| one.count).sum::<u64>()
}

/// The intervals of a run between the end of its warm-up and the last planned arrival.
struct Window<'a> {
    inside: Vec<&'a Point>,
    before: Option<&'a Point>,
    seconds: f64,
}

impl<'a> Window<'a> {
    fn of(run: &'a Run) -> Self {
        let end = run.head.plan.arrivals_end();
        // An interval belongs where most of it lies.
        let middle = |point: &Point| Nanos(point.from.0.midpoint(point.to.0));
        let inside: Vec<&Point> = run
            .series
            .iter()
            .filter(|point| middle(point) >= run.head.measured_from && middle(point) < end)
            .collect();
        let before = run.series.iter().take_while(|point| middle(point) < run.head.measured_from).last();
        let seconds = inside.iter().map(|point| point.to.since(point.from).as_secs_f64()).sum();
        Self { inside, before, seconds }
    }

    fn ended(&self, outcomes: &[Outcome]) -> f64 {
        let of =
            |point: &&Point| outcomes.iter().map(|outcome| point.by_outcome[*outcome as usize]).sum::<u64>();
        self.inside.iter().map(of).sum::<u64>() as f64
    }

    fn waiting_at_start(&self, requests_per_arrival: f64) -> f64 {
        self.before.map_or(0.0, |point| waiting(point, requests_per_arrival))
    }

    fn waiting_at_end(&self, requests_per_arrival: f64) -> f64 {
        self.inside.last().map_or(0.0, |point| waiting(point, requests_per_arrival))
    }

    fn host_busy(&self) -> Option<f64> {
        let shares = self
            .inside
            .iter()
            .filter_map(|point| Some((point.generator.host_busy?, point.to.since(point.from).as_secs_f64())));
        let (busy, seconds) =
            shares.fold((0.0, 0.0), |(busy, all), (share, seconds)| (busy + share * seconds, all + seconds));
        (seconds > 0.0).then(|| busy / seconds)
    }

    fn queued(&self) -> u64 {
        let mut backlogs: Vec<u64> = self.inside.iter().map(|point| point.backlog).collect();
        backlogs.sort_unstable();
        backlogs.get(backlogs.len() / 2).copied().unwrap_or(0)
    }

    fn series(&self, requests_per_arrival: f64) -> Vec<(f64, f64)> {
        let at = |point: &&Point| (point.to.as_secs_f64(), waiting(point, requests_per_arrival));
        self.inside.iter().map(at).collect()
    }
}

/// Arrivals in flight or waiting at the end of an interval. Waiting arrivals are not requests yet.
fn waiting(point: &Point, requests_per_arrival: f64) -> f64 {
    point.in_flight as f64 / requests_per_arrival + point.backlog as f64
}
