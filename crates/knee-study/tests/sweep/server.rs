//! Services in simulated time: c workers, a queue in front of them, and what can be wrong with that.
//!
//! Events are arrivals and departures; state that outlives a step (a service that has tipped over)
//! is kept from step to step. Everything random comes from the step's seed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use knee_core::estimate::Distribution;
use knee_core::outcome::Outcome;
use knee_core::tally::{Accounting, EndpointTally};
use knee_core::unit::Nanos;
use knee_core::validity::{Validity, Warning};
use knee_study::sweep::conclusion::Facts;
use knee_study::sweep::measured::without_errors;
use knee_study::sweep::{Config, Ladder, LoadKind, Report, Step, StepLoad, StepResult, Sweep};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// How long a worker needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    Fixed,
    Exponential,
}

/// A simulated service.
#[derive(Clone, Debug)]
pub struct Service {
    pub workers: usize,
    /// Mean time of a request, in seconds.
    pub time: f64,
    pub law: Law,
    /// Each request in the service makes every other slower by this share.
    pub crosstalk: f64,
    /// More requests than this in the service, and it tips over until it is idle.
    pub tips_over_at: Option<usize>,
    /// Requests beyond so many in the service are refused with an error.
    pub refuses_above: Option<usize>,
    /// Share of the requests, 0 to 1, that it does and then answers with an error.
    pub fails: f64,
    /// Share by which each request that it did makes all later ones slower: data that grow.
    pub slows: f64,
    /// Requests that it did since it was new or reset.
    pub done: u64,
    /// Whether it has.
    pub tipped: bool,
    /// Arrivals per second that the generator can send; beyond, it is late.
    pub generator: Option<f64>,
    /// By so many seconds the generator is late in every step.
    pub late: Option<f64>,
}

impl Service {
    pub fn new(workers: usize, time: f64, law: Law) -> Self {
        Self {
            workers,
            time,
            law,
            crosstalk: 0.0,
            tips_over_at: None,
            refuses_above: None,
            fails: 0.0,
            slows: 0.0,
            done: 0,
            tipped: false,
            generator: None,
            late: None,
        }
    }

    /// Requests per second that all workers can do.
    pub fn limit(&self) -> f64 {
        self.workers as f64 / self.time
    }

    pub fn measure(&mut self, step: &Step, config: &Config) -> StepResult {
        if step.reset {
            (self.tipped, self.done) = (false, 0);
        }
        let cap = match step.load {
            StepLoad::ArrivalRate(_) => config.in_flight_max,
            StepLoad::Connections(count) => count,
        };
        let mut run = Run::new(step, cap as usize);
        run.simulate(self);
        let mut result = run.result(step, self.generator);
        if self.late.is_some() {
            result.generator_delay = self.late;
            invalidate(&mut result, "run_delay", "CPU waits delayed reading of responses");
        }
        result
    }
}

/// A config for a service of which nothing is known.
pub fn config(seed: u64) -> Config {
    Config {
        kind: LoadKind::Requests,
        ladder: Ladder::Auto,
        ceiling: None,
        seconds: 10.0,
        slos: Vec::new(),
        errors_max: 0.001,
        precision: 0.05,
        connections_min: 1,
        in_flight_max: 1_000,
        resets: false,
        seconds_max: None,
        seed,
    }
}

/// Sweeps a service to the end.
pub fn sweep(config: &Config, service: &mut Service) -> Report {
    let mut sweep = Sweep::new(config.clone());
    while let Some(step) = sweep.next() {
        let result = service.measure(&step, config);
        sweep.record_result(result);
        assert!(sweep.trials().len() < 100, "the sweep does not end");
    }
    sweep.conclude(Facts::default())
}

/// A moment in seconds that can be compared.
#[derive(Clone, Copy, Debug, PartialEq)]
struct At(f64);

impl Eq for At {}

impl PartialOrd for At {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for At {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A request: when it was due, and when it was sent.
#[derive(Clone, Copy)]
struct Request {
    due: f64,
    sent: f64,
}

struct Run {
    random: ChaCha8Rng,
    load: StepLoad,
    cap: usize,
    begin: f64,
    end: f64,
    /// Waiting for one of the generator's connections.
    outside: VecDeque<f64>,
    /// In the service, waiting for a worker.
    queue: VecDeque<Request>,
    /// Connections of a closed load that were turned away; they try again when a request is done.
    turned_away: usize,
    /// Workers at work: when they are done, and with what (its bits, because heaps want an order).
    busy: BinaryHeap<Reverse<(At, u64, u64)>>,
    in_service_max: usize,
    tally: EndpointTally,
    answered: [u64; 2],
    left_over_before: f64,
    waiting: Vec<(f64, f64)>,
}

impl Run {
    fn new(step: &Step, cap: usize) -> Self {
        Self {
            random: ChaCha8Rng::seed_from_u64(step.seed),
            load: step.load,
            cap,
            begin: step.warm_up,
            end: step.warm_up + step.seconds,
            outside: VecDeque::new(),
            queue: VecDeque::new(),
            turned_away: 0,
            busy: BinaryHeap::new(),
            in_service_max: 0,
            tally: EndpointTally::default(),
            answered: [0; 2],
            left_over_before: 0.0,
            waiting: Vec::new(),
        }
    }

    fn uniform(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    fn simulate(&mut self, service: &mut Service) {
        let width = (self.end - self.begin) / 10.0;
        let mut tick = self.begin;
        let mut next = match self.load {
            StepLoad::ArrivalRate(rate) => self.exponential() / rate,
            StepLoad::Connections(count) => {
                (0..count).for_each(|_| self.arrive(0.0, service));
                f64::INFINITY
            }
        };
        loop {
            let done = self.busy.peek().map_or(f64::INFINITY, |Reverse((At(done), ..))| *done);
            let now = next.min(done);
            while tick <= now.min(self.end) + 1e-12 {
                let left_over = self.left_over();
                if tick <= self.begin {
                    self.left_over_before = left_over;
                } else {
                    self.waiting.push((tick, left_over));
                }
                tick += width;
            }
            if now > self.end {
                break;
            }
            if done <= next {
                self.depart(service);
            } else {
                self.arrive(next, service);
                let StepLoad::ArrivalRate(rate) = self.load else {
                    unreachable!("closed arrivals follow departures")
                };
                next += self.exponential() / rate;
            }
        }
        self.censor();
    }

    fn in_service(&self) -> usize {
        self.queue.len() + self.busy.len()
    }

    fn left_over(&self) -> f64 {
        (self.in_service() + self.outside.len()) as f64
    }

    fn arrive(&mut self, now: f64, service: &mut Service) {
        self.outside.push_back(now);
        self.send(now, service);
    }

    fn send(&mut self, now: f64, service: &mut Service) {
        while self.in_service() < self.cap
            && let Some(due) = self.outside.pop_front()
        {
            let request = Request { due, sent: now };
            if service.refuses_above.is_some_and(|most| self.in_service() >= most) {
                self.answer(request, now, Outcome::HttpError);
                self.turned_away += usize::from(matches!(self.load, StepLoad::Connections(_)));
                continue;
            }
            self.queue.push_back(request);
            self.in_service_max = self.in_service_max.max(self.in_service());
            service.tipped |= service.tips_over_at.is_some_and(|most| self.in_service() > most);
        }
        while self.busy.len() < service.workers
            && let Some(request) = self.queue.pop_front()
        {
            let draw = if service.law == Law::Fixed { 1.0 } else { self.exponential() };
            let slower = 1.0 + service.crosstalk * self.in_service() as f64;
            let tipped = if service.tipped { 2.0 } else { 1.0 };
            let grown = 1.0 + service.slows * service.done as f64;
            service.done += 1;
            let done = now + draw * service.time * slower * tipped * grown;
            self.busy.push(Reverse((At(done), request.due.to_bits(), request.sent.to_bits())));
        }
    }

    fn depart(&mut self, service: &mut Service) {
        let Some(Reverse((At(now), due, sent))) = self.busy.pop() else { return };
        let fails = service.fails > 0.0 && self.uniform() < service.fails;
        let outcome = if fails { Outcome::HttpError } else { Outcome::Ok };
        self.answer(Request { due: f64::from_bits(due), sent: f64::from_bits(sent) }, now, outcome);
        service.tipped &= self.in_service() > 0;
        if matches!(self.load, StepLoad::Connections(_)) {
            let again = std::mem::take(&mut self.turned_away) + 1;
            self.outside.extend(std::iter::repeat_n(now, again));
        }
        self.send(now, service);
    }

    fn answer(&mut self, request: Request, now: f64, outcome: Outcome) {
        if now >= self.begin {
            self.answered[usize::from(outcome != Outcome::Ok)] += 1;
        }
        if request.due >= self.begin {
            self.tally.planned += 1;
            let times = &mut self.tally.outcomes[outcome as usize];
            times.response.record(Nanos::from_secs_f64(now - request.due));
            times.service.record(Nanos::from_secs_f64(now - request.sent));
        }
    }

    /// What did not end.
    fn censor(&mut self) {
        let busy = self.busy.iter().map(|Reverse((_, due, _))| f64::from_bits(*due));
        let open: Vec<f64> = busy
            .chain(self.queue.iter().map(|request| request.due))
            .chain(self.outside.iter().copied())
            .collect();
        for due in open.into_iter().filter(|due| *due >= self.begin) {
            self.tally.planned += 1;
            let times = &mut self.tally.outcomes[Outcome::Censored as usize];
            times.response.record(Nanos::from_secs_f64(self.end - due));
        }
    }

    fn result(&self, step: &Step, generator: Option<f64>) -> StepResult {
        let [ok, error] = self.answered.map(|count| count as f64 / step.seconds);
        let left_over = (self.left_over() - self.left_over_before) / step.seconds;
        let accepted = without_errors(&self.tally);
        let mut result = StepResult {
            seconds: step.seconds,
            took: step.seconds + step.warm_up,
            offered: ok + error + left_over,
            achieved: ok + error,
            goodput: ok,
            rejected: self.tally.accounting().count(Outcome::HttpError),
            requests_per_arrival: 1.0,
            books: Accounting { planned: self.tally.planned, ..self.tally.accounting() },
            response: Distribution::response(&accepted),
            service: Distribution::service(&accepted),
            first_event: Distribution::default(),
            longest_gap: Distribution::default(),
            waiting: self.waiting.clone(),
            in_flight_max: self.in_service_max as u64,
            in_flight_cap: self.cap as u64,
            queued: self.outside.len() as u64,
            state: Validity::Valid,
            reasons: Vec::new(),
            cpu: None,
            host_busy: None,
            programs: Vec::new(),
            resources: Vec::new(),
            generator_delay: None,
            interrupted: false,
            record: None,
        };
        if let Some(most) = generator.filter(|most| result.achieved > *most) {
            slow_down(&mut result, most);
        }
        result
    }
}

/// What is measured when the generator sends `most` a second and no more.
fn slow_down(result: &mut StepResult, most: f64) {
    let grows = result.offered - most;
    for (position, (_, waiting)) in result.waiting.iter_mut().enumerate() {
        *waiting += grows * result.seconds * (position + 1) as f64 / 10.0;
    }
    (result.achieved, result.goodput) = (most, most);
    invalidate(result, "worker_cpu", "a worker of knee used over 90 % of its CPU");
}

fn invalidate(result: &mut StepResult, code: &str, message: &str) {
    result.state = Validity::Invalid;
    result.reasons.push(Warning {
        code: code.to_owned(),
        validity: Validity::Invalid,
        message: message.to_owned(),
        hint: String::new(),
    });
}
