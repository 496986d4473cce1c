//! A world of which the truth is known: two services on one machine, and what studies of them conclude.
//!
//! Response times of one run follow each other (an autoregression on their logarithms), runs differ from each other,
//! and the machine drifts. Shared by the test and by the example that runs the whole grid.

use knee_study::design;
use knee_study::random::Random;
use knee_study::statistics::paired::Paired;
use knee_study::statistics::verdict::{self, Rule, Verdict};
use knee_study::statistics::{holm, sign_flip};

/// Requests of a round.
const REQUESTS: usize = 300;

/// Figures taken of a round: mean, median, 90th and 95th percentile.
pub const METRICS: usize = 4;

/// Spread of the logarithm of a response time within a run.
const SPREAD: f64 = 0.35;

/// What counts as no difference.
pub const MARGIN: f64 = 0.05;

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
    /// Blocks of a study.
    pub blocks: usize,
    /// Whether an undecided study goes on once for as many blocks again.
    pub extend: bool,
}

/// How studies of one world came out, as counts of all of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Studies.
    pub studies: usize,
    /// Tests of single metrics that called the services different, over all metrics.
    pub rejected: usize,
    /// Studies in which any metric did after Holm's correction.
    pub any: usize,
    /// Intervals of the mean that held the truth. Only that of the mean response time: its truth is known.
    pub covered: usize,
    /// Studies that found the second service slower by the median alone.
    pub found: usize,
    /// Studies that found it faster by the median alone.
    pub wrong_way: usize,
    /// Verdicts of `same` by the median alone.
    pub same: usize,
    /// Sum of the standard deviations of the differences of medians.
    pub deviation: f64,
    /// Sum of blocks that were run.
    pub blocks: usize,
}

impl Outcome {
    /// A count as a share of the studies.
    pub fn share(&self, count: usize) -> f64 {
        count as f64 / self.studies as f64
    }
}

/// Runs `studies` studies of a world, each once with every one of `slower`: by how much the second service is
/// slower, as a share. Whatever the noise, a slower service only stretches it, so one run serves all.
pub fn studies(world: &World, slower: &[f64], studies: usize, seed: u64) -> Vec<Outcome> {
    let mut outcomes = vec![Outcome { studies, ..Outcome::default() }; slower.len()];
    for study in 0..studies {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(study as u64);
        let mut machine = Machine { random: Random::new(seed), level: 0.0, spare: None };
        let blocks = if world.extend { 2 * world.blocks } else { world.blocks };
        let noise = machine.blocks(world, seed, blocks);
        for (slower, outcome) in slower.iter().zip(&mut outcomes) {
            one(world, seed, &noise, slower.ln_1p(), outcome);
        }
    }
    outcomes
}

/// One study with the difference `truth` on top of its noise.
fn one(world: &World, seed: u64, noise: &[Vec<f64>; METRICS], truth: f64, outcome: &mut Outcome) {
    let alpha = if world.extend { verdict::ALPHA_OF_TWO } else { verdict::ALPHA };
    let rule = Rule { alpha, margin: MARGIN.ln_1p(), large_only: false, more_is_better: false };
    let look = |blocks: usize| {
        let differences =
            noise.each_ref().map(|noise| noise[..blocks].iter().map(|noise| noise + truth).collect());
        judge(&differences, &rule, seed)
    };
    let (mut blocks, mut judged) = (world.blocks, look(world.blocks));
    if world.extend && judged.iter().any(|(_, _, verdict)| *verdict == Verdict::Undecided) {
        blocks *= 2;
        judged = look(blocks);
    }
    outcome.blocks += blocks;
    outcome.rejected +=
        judged.iter().filter(|(paired, p, _)| *p < alpha && paired.interval(alpha).excludes(0.0)).count();
    outcome.any += usize::from(judged.iter().any(|(_, _, v)| matches!(v, Verdict::Faster | Verdict::Slower)));
    // The truth of the mean is the ratio alone: both sides have the same noise.
    outcome.covered += usize::from(judged[0].0.interval(verdict::ALPHA).holds(truth));
    // One metric alone, as a study with one metric would have it.
    let (median, p, _) = &judged[1];
    outcome.deviation += median.deviation();
    match verdict::read(median, *p, &rule) {
        Verdict::Slower => outcome.found += 1,
        Verdict::Faster => outcome.wrong_way += 1,
        Verdict::Same => outcome.same += 1,
        Verdict::Undecided => {}
    }
}

/// Each metric with its p before, and its verdict after Holm's correction.
fn judge(differences: &[Vec<f64>; METRICS], rule: &Rule, seed: u64) -> Vec<(Paired, f64, Verdict)> {
    let p: Vec<f64> = differences.iter().map(|differences| sign_flip::p_value(differences, seed)).collect();
    let adjusted = holm::adjust(&p);
    let each = differences.iter().zip(p).zip(adjusted).filter_map(|((differences, p), adjusted)| {
        let paired = Paired::new(differences.clone())?;
        let verdict = verdict::read(&paired, adjusted, rule);
        Some((paired, p, verdict))
    });
    each.collect()
}

/// The machine that everything runs on.
struct Machine {
    random: Random,
    level: f64,
    /// Normal values come in twos.
    spare: Option<f64>,
}

impl Machine {
    /// Differences of two identical services, by metric and block.
    fn blocks(&mut self, world: &World, seed: u64, blocks: usize) -> [Vec<f64>; METRICS] {
        let mut differences: [Vec<f64>; METRICS] = Default::default();
        for block in 0..blocks {
            let mut figures = [[0.0; METRICS]; 2];
            for variant in design::order(seed, block, 2) {
                figures[variant] = self.round(world);
            }
            for metric in 0..METRICS {
                differences[metric].push((figures[1][metric] / figures[0][metric]).ln());
            }
        }
        differences
    }

    /// One half-round: mean, median, p90 and p95 of its response times.
    fn round(&mut self, world: &World) -> [f64; METRICS] {
        self.level += world.drift * self.normal();
        let baseline = (self.level + world.run * self.normal()).exp();
        let innovation = SPREAD * (1.0 - world.phi * world.phi).sqrt();
        let mut state = SPREAD * self.normal();
        let mut times: Vec<f64> = Vec::with_capacity(REQUESTS);
        for _ in 0..REQUESTS {
            state = world.phi * state + innovation * self.normal();
            let mut time = baseline * state.exp();
            if world.tail == Tail::Pareto && self.random.fraction() < 0.02 {
                time += baseline * self.random.fraction().powf(-1.0 / 2.1);
            }
            times.push(time);
        }
        times.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| times[((share * REQUESTS as f64).ceil() as usize).clamp(1, REQUESTS) - 1];
        [times.iter().sum::<f64>() / REQUESTS as f64, at(0.5), at(0.9), at(0.95)]
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
