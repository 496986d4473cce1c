//! A world of which the truth is known: two services on one machine, and what studies of them conclude.
//!
//! Response times of one run follow each other (an autoregression on their logarithms), runs differ from each other, the
//! machine drifts, some runs stall, and some requests fail, run into a time limit or are turned away. Studies go through
//! the same code as real ones: only the trials are arithmetic.

#![allow(clippy::unwrap_used, reason = "a world that cannot be made fails its test")]

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use knee_study::definition::Definition;
use knee_study::metric::Metric;
use knee_study::random::Random;
use knee_study::statistics::share::Counted;
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{
    Effect, Figure, Measured, MergedTimes, Options, Placement, ResponseTimes, Study, Trial, TrialResult,
};

/// Spread of the logarithm of a response time within a run.
const SPREAD: f64 = 0.35;

/// Median response time of a calm world, in nanoseconds.
const MEDIAN: f64 = 1e6;

/// Metrics that are the same on both sides in every world.
pub const UNTOUCHED: [Metric; 3] = [Metric::CpuPerRequest, Metric::StoreCpuPerRequest, Metric::Memory];

/// The shape of the noise of single requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Lognormal.
    Light,
    /// One request in fifty takes longer by a Pareto variable of index 2.1: its variance barely exists.
    Pareto,
}

/// One cell of the grid.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// How much of a request's deviation the next one shares, 0 to below 1.
    pub phi: f64,
    /// Spread of whole runs, as a share.
    pub run: f64,
    /// Step of the machine's drift from half-round to half-round, as a share.
    pub drift: f64,
    /// Noise of single requests.
    pub tail: Tail,
    /// Requests of a run.
    pub requests: usize,
    /// Share of the requests that fail, at once and fast.
    pub errors: f64,
    /// Spread of the share of errors between runs, relative to it: 0 where requests fail independently.
    pub bursts: f64,
    /// Share of the runs that stall: a tenth of the requests, each ten times as slow.
    pub stalls: f64,
    /// Share of the requests that are given up before they end.
    pub censored: f64,
    /// The time limit of a request, in median response times of a calm world. A response that takes longer is an
    /// error.
    pub limit: f64,
    /// Load of a service that turns away at once what it cannot serve, as a multiple of what it can serve in a calm
    /// world; 0 for one that turns nothing away.
    pub load: f64,
    /// Blocks of a study.
    pub blocks: usize,
    /// Whether percentiles of single trials are compared instead of merged ones, as for trials of older versions.
    pub per_trial: bool,
    /// Whether an undecided study goes on once for as many blocks again.
    pub extend: bool,
}

/// A machine at its best.
pub const CALM: World = World {
    phi: 0.0,
    run: 0.01,
    drift: 0.0,
    tail: Tail::Light,
    requests: 300,
    errors: 0.0,
    bursts: 0.0,
    stalls: 0.0,
    censored: 0.0,
    limit: f64::INFINITY,
    load: 0.0,
    blocks: 10,
    per_trial: false,
    extend: false,
};

impl World {
    /// The share of the requests that a service turns away if its responses take this many times as long as in a calm
    /// world.
    fn shed(&self, times: f64) -> f64 {
        if self.load > 0.0 { (1.0 - 1.0 / (self.load * times)).max(0.0) } else { 0.0 }
    }

    /// What is true of the second service, including that a slower one turns more away. Not of its percentiles then:
    /// their ranks depend on how many requests fail.
    fn expected(&self, truth: Truth) -> Truth {
        let shed = self.shed(1.0 + truth.slower) - self.shed(1.0);
        Truth { errors: truth.errors + shed, ..truth }
    }
}

/// How the second service differs from the first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Truth {
    /// By how much its responses are slower, as a share.
    pub slower: f64,
    /// How much more of its requests fail, as a share of all.
    pub errors: f64,
}

/// How studies of one world came out by one metric.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Studies with an estimate.
    pub measured: usize,
    /// Verdicts of a difference, whichever.
    pub different: usize,
    /// Verdicts of a difference in the true direction: slower, or more errors.
    pub worse: usize,
    /// Verdicts of `same`.
    pub same: usize,
    /// Intervals that hold the truth.
    pub covered: usize,
    /// Sum of the widths of the intervals, on the scale of the metric; of those that have two ends.
    pub width: f64,
    /// Sum of the minimum detectable effects, on the scale of the metric.
    pub mde: f64,
    /// Sum of the standard deviations of the blocks' contributions.
    pub deviation: f64,
    /// Sum of the blocks.
    pub blocks: usize,
}

/// How studies of one world came out.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// Studies.
    pub studies: usize,
    /// Studies in which any metric got a verdict of a difference.
    pub any: usize,
    /// By metric.
    pub by: BTreeMap<Metric, Outcome>,
}

impl Outcomes {
    /// A count as a share of the studies.
    pub fn share(&self, count: usize) -> f64 {
        count as f64 / self.studies.max(1) as f64
    }
}

/// Runs `studies` studies of a world by these metrics.
pub fn studies(world: &World, truth: Truth, metrics: &[Metric], studies: usize, seed: u64) -> Outcomes {
    let mut outcomes = Outcomes { studies, ..Outcomes::default() };
    let expected = world.expected(truth);
    for study in 0..studies {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(study as u64);
        let effects = one(world, truth, metrics, seed);
        outcomes.any += usize::from(effects.iter().any(|effect| effect.verdict.is_difference()));
        for effect in &effects {
            outcomes.by.entry(effect.metric).or_default().add(effect, expected);
        }
    }
    outcomes
}

impl Outcome {
    fn add(&mut self, effect: &Effect, truth: Truth) {
        let Some(change) = effect.change else { return };
        let metric = effect.metric;
        let scaled = |change: f64| if metric == Metric::Errors { change } else { change.ln_1p() };
        let true_value = match metric {
            Metric::Errors => truth.errors,
            Metric::Goodput => -truth.slower.ln_1p(),
            _ => truth.slower.ln_1p(),
        };
        let low = change.low.map_or(f64::NEG_INFINITY, scaled);
        let high = change.high.map_or(f64::INFINITY, scaled);
        self.measured += 1;
        self.different += usize::from(effect.verdict.is_difference());
        self.worse += usize::from(effect.verdict == Verdict::Worse);
        self.same += usize::from(effect.verdict == Verdict::Same);
        self.covered += usize::from(low <= true_value && true_value <= high);
        self.width += if (high - low).is_finite() { high - low } else { 0.0 };
        self.mde += effect.mde.map_or(0.0, scaled);
        self.deviation += effect.deviation;
        self.blocks += effect.n_blocks;
    }

    /// The share of the intervals that hold the truth.
    pub fn coverage(&self) -> f64 {
        self.covered as f64 / self.measured.max(1) as f64
    }

    /// The mean width of the intervals.
    pub fn mean_width(&self) -> f64 {
        self.width / self.measured.max(1) as f64
    }
}

/// The effects of one study.
fn one(world: &World, truth: Truth, metrics: &[Metric], seed: u64) -> Vec<Effect> {
    let mut study = Study::new(definition(world, metrics, seed), Options::default(), None).unwrap();
    let mut machine = Machine { random: Random::new(seed), level: 0.0, spare: None };
    while let Some(trial) = study.next() {
        let result = machine.trial(world, truth, &trial);
        study.record_result(&trial, result).unwrap();
    }
    study.conclude().effects
}

fn definition(world: &World, metrics: &[Metric], seed: u64) -> Definition {
    let names: Vec<String> = metrics.iter().map(|metric| format!("\"{metric}\"")).collect();
    let (metrics, extend, blocks) = (names.join(", "), world.extend, world.blocks.max(8));
    let text = format!(
        "title = \"a world\"\n[service.main]\ncommand = [\"server\", \"{{port}}\"]\n[switches.side]\ndefault = \"a\"\nenv = \"SIDE\"\n\
         [variants.a]\n[variants.b]\nextends = \"a\"\nswitches = {{ side = \"b\" }}\n[workloads.load]\npath = \"/\"\n\
         [design]\nkind = \"pairs\"\nblocks = {blocks}\nmetrics = [{metrics}]\nextend = {extend}\nseed = {}\n",
        seed >> 1
    );
    let mut definition = Definition::read(&text, "study.toml", &|_| true).unwrap();
    definition.design.blocks = world.blocks;
    definition
}

/// The machine that everything runs on.
struct Machine {
    random: Random,
    level: f64,
    /// Normal values come in twos.
    spare: Option<f64>,
}

impl Machine {
    /// What a trial measures.
    fn trial(&mut self, world: &World, truth: Truth, trial: &Trial) -> TrialResult {
        let (slower, more) = if trial.variant == "b" { (truth.slower, truth.errors) } else { (0.0, 0.0) };
        self.level += world.drift * self.normal();
        let stalls = self.random.fraction() < world.stalls;
        let stalled = if stalls { 10.0 } else { 1.0 };
        let level = (self.level + world.run * self.normal()).exp() * (1.0 + slower) * MEDIAN * stalled;
        let requests = if stalls { world.requests / 10 } else { world.requests };
        let burst = (world.bursts * self.normal() - world.bursts * world.bursts / 2.0).exp();
        let share = ((world.errors + more) * burst + world.shed(level / MEDIAN)).min(1.0);
        let times = self.times(world, level, requests);
        let (mut ok, mut failed, mut given_up) = (Vec::with_capacity(requests), 0, 0);
        for time in times {
            let chance = self.random.fraction();
            if chance < share {
                failed += 1;
            } else if chance > 1.0 - world.censored {
                given_up += 1;
            } else if time > world.limit * MEDIAN {
                failed += 1;
            } else {
                ok.push(time);
            }
        }
        let mut measured = measured(&ok, failed, given_up);
        if world.per_trial {
            let times = measured.times.take().unwrap();
            let merged = MergedTimes::of([&times]);
            for metric in [Metric::P50, Metric::P95, Metric::P99] {
                measured
                    .figures
                    .extend(merged.quantile(metric.quantile().unwrap()).map(|figure| (metric, figure)));
            }
        }
        // Metrics that the truth does not touch.
        for metric in UNTOUCHED {
            measured.figures.insert(metric, Figure::from(1e5 * (0.05 * self.normal()).exp()));
        }
        TrialResult::Measured(measured)
    }

    /// Response times in nanoseconds.
    fn times(&mut self, world: &World, level: f64, requests: usize) -> Vec<f64> {
        let innovation = SPREAD * (1.0 - world.phi * world.phi).sqrt();
        let mut state = SPREAD * self.normal();
        (0..requests)
            .map(|_| {
                state = world.phi * state + innovation * self.normal();
                let mut time = level * state.exp();
                if world.tail == Tail::Pareto && self.random.fraction() < 0.02 {
                    time += level * self.random.fraction().powf(-1.0 / 2.1);
                }
                time
            })
            .collect()
    }

    /// Both values of Box and Muller, one after the other.
    fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * self.random.fraction().ln()).sqrt();
        let (sine, cosine) = (std::f64::consts::TAU * self.random.fraction()).sin_cos();
        self.spare = Some(radius * sine);
        radius * cosine
    }
}

fn measured(ok: &[f64], failed: u64, given_up: u64) -> Measured {
    let requests = ok.len() as u64 + failed + given_up;
    let responses = Counted { failed, of: ok.len() as u64 + failed };
    let mut figures = BTreeMap::from([(Metric::Errors, Figure::from(responses.share()))]);
    let mean = ok.iter().sum::<f64>() / ok.len().max(1) as f64;
    if !ok.is_empty() {
        // Users who do not pause.
        figures.insert(Metric::Goodput, Figure::from(1e9 / mean));
        figures.insert(Metric::Mean, Figure { value: mean, at_least: failed + given_up > 0 });
    }
    Measured {
        figures,
        requests,
        times: Some(ResponseTimes::of_values(ok, failed + given_up)),
        responses: Some(responses),
        endpoints: BTreeMap::new(),
        statements: BTreeMap::new(),
        resources: BTreeMap::new(),
        validity: Validity::Valid,
        warnings: Vec::new(),
        steady: None,
        kept_up: None,
        host_busy: None,
        record: None,
        placement: Placement::default(),
    }
}
