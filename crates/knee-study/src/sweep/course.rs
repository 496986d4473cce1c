//! The course of a sweep: a state machine that returns the next step and takes its measurement.
//!
//! Does not draw conclusions; [`super::conclusion`] does, from the finished steps.

mod left;

use super::knee;
use super::measured::StepResult;
use super::rule::{self, Broken, Context, Outcome};
use super::search::{self, below, between, round, tenth_above};
use super::{Config, FinishedStep, Ladder, LoadKind, Purpose, Step, StepLoad};
use crate::random::Random;

/// Probes double their connections until the throughput grows by less than this factor.
const PROBE_GAIN: f64 = 1.15;
/// Most connections of a probe.
const PROBE_MAX: u32 = 256;
/// Most seconds of a probe.
const PROBE_SECONDS: f64 = 2.0;
/// The climb ends after this many consecutive rungs that fail without breaking the service.
const FAILS_MAX: u32 = 3;
/// The climb ends at this multiple of the first rung that failed.
const WELL_ABOVE: f64 = 2.5;
/// How often the ladder restarts lower because its first rung fails.
const LOWER_MAX: u32 = 6;
/// Passes that confirm the lower end.
pub(super) const PASSES: usize = 3;
/// Failures that confirm the upper end, in at most [`PASSES`] trials.
pub(super) const FAILS: usize = 2;
/// How often a bracket can move during its confirmation.
const MOVES_MAX: u32 = 4;
/// Precision of the breaking point.
const BREAK_PRECISION: f64 = 0.15;
/// The sweep ends when the generator was the limit at so many levels, each tried twice.
const VOID_LEVELS_MAX: usize = 2;
/// Seconds within which a service must recover after an overload.
pub const RECOVERY: f64 = 30.0;
/// Levels of the way down, as shares of the capacity: of the levels that passed on the way up, the highest at or below
/// each share is tried again.
const DESCENT: [f64; 4] = [0.98, 0.75, 0.5, 0.25];
/// The first of them must be at least this share of the capacity. If none is, the capacity itself is tried; where the
/// service can be reset, a level below it is tried before the overload.
const NEAR_CAPACITY: f64 = 0.85;
/// Requests that a repeat near the knee should have: its mean response time is compared, and no percentile.
const REPEAT_SAMPLES: f64 = 3_000.0;
/// Purposes of streams of random numbers begin here.
const ORDER: u64 = 0x6b6e_6565;

/// Phase of the sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// A closed load with this many connections, to estimate the capacity.
    Probe(u32),
    /// The ladder, at this rung.
    Climb(f64),
    /// Below the ladder, because its first rung failed.
    Lower(f64),
    /// Between the highest level that passed and the lowest that failed.
    Bisect(f64),
    /// The level that passed, once more.
    Lowest(f64),
    /// A tenth above it, where a step must fail.
    Highest(f64),
    /// Between the highest level that held and the lowest that broke.
    Break(f64),
    /// Below the capacity, before the overload, to compare with afterwards.
    Before(f64),
    /// The levels near the knee, once more: which of them, in their random order.
    Repeat(usize),
    /// The highest level tried, once more, before the way down.
    Surge(f64),
    /// The way down: which of its levels.
    Descend(usize),
    /// The first level of the way down, after a reset.
    Recheck,
    /// Over.
    Done,
}

/// How a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By its own rules.
    Complete,
    /// By a signal.
    Interrupted,
    /// Its time was up.
    OutOfTime,
    /// It was asked to conclude early.
    Early,
    /// The load generator was the limit at two levels: higher ones would not show more.
    GeneratorLimit,
}

/// A sweep under way.
#[derive(Clone, Debug)]
pub struct Sweep {
    pub(super) config: Config,
    pub(super) trials: Vec<FinishedStep>,
    phase: Phase,
    /// Highest level that passed, below `high`.
    pub(super) low: Option<f64>,
    /// Lowest level that did not.
    pub(super) high: Option<f64>,
    /// Whether both are confirmed.
    pub(super) confirmed: bool,
    /// Most arrivals per second that were answered ok in any probe.
    reached: f64,
    fails_in_row: u32,
    lowered: u32,
    moves: u32,
    /// Levels near the knee, block after block, in the order in which they are tried; `None` before they were chosen.
    repeats: Option<Vec<f64>>,
    /// Levels of the way down.
    descent: Vec<f64>,
    spent: f64,
    ended: Option<Ended>,
}

impl Sweep {
    /// A new sweep.
    pub fn new(config: Config) -> Self {
        let first = match &config.ladder {
            Ladder::Auto if config.kind.is_open() => Phase::Probe(config.connections_min),
            Ladder::Auto => Phase::Climb(f64::from(config.connections_min)),
            Ladder::Geometric { from, .. } => Phase::Climb(round(config.kind, *from)),
            Ladder::List(levels) => levels.first().map_or(Phase::Done, |level| Phase::Climb(*level)),
        };
        Self {
            config,
            trials: Vec::new(),
            phase: first,
            low: None,
            high: None,
            confirmed: false,
            reached: 0.0,
            fails_in_row: 0,
            lowered: 0,
            moves: 0,
            repeats: None,
            descent: Vec::new(),
            spent: 0.0,
            ended: None,
        }
    }

    /// The next step; `None` when nothing is left to do. A second call returns the same step.
    #[allow(clippy::should_implement_trait, reason = "the next step depends on results recorded in between")]
    pub fn next(&mut self) -> Option<Step> {
        let step = self.step()?;
        let takes = step.warm_up + step.seconds;
        if self.config.seconds_max.is_some_and(|max| self.spent + takes > max) {
            self.ended.get_or_insert(Ended::OutOfTime);
        }
        self.ended.is_none().then_some(step)
    }

    /// Takes the measurement of the step that [`Self::next`] returned. A step that was ended early ends the sweep and
    /// is not judged.
    pub fn record_result(&mut self, result: StepResult) -> Option<&FinishedStep> {
        let step = self.step()?;
        self.spent += result.took.max(step.warm_up + step.seconds);
        if result.interrupted {
            self.interrupt();
            return None;
        }
        let judged = rule::judge(&self.config, &result, self.context(&step));
        self.trials.push(FinishedStep { step, result, judged });
        self.phase = self.advance();
        if self.void_levels() >= VOID_LEVELS_MAX {
            self.ended = Some(Ended::GeneratorLimit);
        }
        self.trials.last()
    }

    /// Ends the sweep: [`Self::next`] returns no more steps.
    pub fn interrupt(&mut self) {
        self.ended = Some(Ended::Interrupted);
    }

    /// How it ended, as far as it has.
    pub fn ended(&self) -> Ended {
        let early = if self.phase == Phase::Done { Ended::Complete } else { Ended::Early };
        self.ended.unwrap_or(early)
    }

    /// The finished steps, in order.
    pub fn trials(&self) -> &[FinishedStep] {
        &self.trials
    }

    fn step(&self) -> Option<Step> {
        let (purpose, level) = match self.phase {
            Phase::Probe(connections) => (Purpose::Probe, f64::from(connections)),
            Phase::Climb(level) | Phase::Lower(level) => (Purpose::Climb, level),
            Phase::Bisect(level) => (Purpose::Bisect, level),
            Phase::Lowest(level) | Phase::Highest(level) | Phase::Before(level) => (Purpose::Confirm, level),
            Phase::Break(level) => (Purpose::Break, level),
            Phase::Surge(level) => (Purpose::Surge, level),
            Phase::Repeat(place) => (Purpose::Repeat, *self.repeats.as_ref()?.get(place)?),
            Phase::Descend(part) => (Purpose::Descend, *self.descent.get(part)?),
            Phase::Recheck => (Purpose::Recheck, *self.descent.first()?),
            Phase::Done => return None,
        };
        let closed = purpose == Purpose::Probe || self.config.kind == LoadKind::Connections;
        let load = if closed { StepLoad::Connections(level as u32) } else { StepLoad::ArrivalRate(level) };
        let seconds = self.seconds(purpose, level);
        let number = self.trials.len() + 1;
        // On the way down only the service itself can bring it back.
        let reset = self.config.resets && purpose != Purpose::Descend;
        Some(Step {
            number,
            load,
            warm_up: warm_up(seconds),
            seconds,
            seed: self.seed(number),
            purpose,
            reset,
        })
    }

    /// Where it matters, steps of slow services take longer: long enough for the requests that the limits need, but at
    /// most three times the usual time.
    fn seconds(&self, purpose: Purpose, level: f64) -> f64 {
        let usual = self.config.seconds;
        match purpose {
            Purpose::Probe => usual.min(PROBE_SECONDS),
            Purpose::Bisect | Purpose::Confirm | Purpose::Break if self.config.kind.is_open() => {
                let samples = self.config.slos.iter().map(super::Slo::samples).max().unwrap_or(0);
                let needed = (samples.max(search::SAMPLES) as f64 / level).ceil();
                needed.clamp(usual, 3.0 * usual)
            }
            // Several short steps show what varies better than one long one.
            Purpose::Repeat if self.config.kind.is_open() => {
                (REPEAT_SAMPLES / level).ceil().clamp(usual / 2.0, usual)
            }
            Purpose::Repeat => usual / 2.0,
            _ => usual,
        }
    }

    /// The seed of a step: different for every step, but the same in every sweep with this seed. Computed by one step
    /// of the generator `SplitMix64` (Steele, Lea, Flood, 2014), so that saved sweeps can be repeated.
    fn seed(&self, number: usize) -> u64 {
        let mut z = self.config.seed.wrapping_add((number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        // A reader of JSON with doubles still has it exactly.
        (z ^ (z >> 31)) >> 11
    }

    fn context(&self, step: &Step) -> Context {
        if step.purpose == Purpose::Probe {
            return Context::default();
        }
        let level = step.load.level();
        let ladder = || self.trials.iter().filter(|trial| trial.step.purpose != Purpose::Probe);
        let lower = ladder().filter(|trial| trial.step.load.level() < level);
        let lowest = ladder().min_by(|a, b| a.step.load.level().total_cmp(&b.step.load.level()));
        Context {
            goodput_below: lower.map(|trial| trial.result.goodput).fold(0.0, f64::max),
            service_p50: lowest
                .and_then(|trial| trial.result.service.all().quantile(0.5))
                .map(knee_core::unit::Nanos::as_secs_f64),
        }
    }

    /// How many levels were void twice and never passed or failed.
    fn void_levels(&self) -> usize {
        let mut levels: Vec<f64> =
            self.trials.iter().filter(|trial| is_up(trial)).map(|trial| trial.step.load.level()).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        levels.into_iter().filter(|level| matches!(self.count(*level), (0, 0, 2..))).count()
    }

    /// Passes, failures and voids at a level, on the way up.
    pub(super) fn count(&self, level: f64) -> (usize, usize, usize) {
        let of = |wanted| {
            let at = |trial: &&FinishedStep| {
                is_up(trial) && same(trial.step.load.level(), level) && trial.judged.outcome == wanted
            };
            self.trials.iter().filter(at).count()
        };
        (of(Outcome::Pass), of(Outcome::Fail), of(Outcome::Void))
    }
}

/// Chooses the next phase from the last step.
impl Sweep {
    fn advance(&mut self) -> Phase {
        let Some(last) = self.trials.last() else { return self.phase };
        // A service that sheds load still works: higher rungs show what it keeps serving.
        let outcome = last.judged.outcome;
        let broken = last.judged.broken.is_some_and(|broken| broken != Broken::Rejects);
        let goodput = last.result.goodput;
        let repeats = outcome == Outcome::Void && self.count(last.step.load.level()).2 < 2;
        match self.phase {
            Phase::Probe(connections) => self.after_probe(connections, goodput),
            Phase::Repeat(place) => self.after_repeat(place),
            Phase::Descend(part) => self.after_descent(part, outcome),
            Phase::Recheck => Phase::Done,
            Phase::Surge(_) => self.descend(),
            phase if repeats => phase,
            Phase::Climb(level) => self.after_rung(level, outcome, broken),
            Phase::Lower(level) => self.after_lower(level, outcome),
            Phase::Bisect(level) => {
                self.note(level, outcome);
                self.bisect()
            }
            Phase::Lowest(_) | Phase::Highest(_) => self.confirm(),
            Phase::Break(_) => self.approach_break(),
            Phase::Before(_) => self.repeat(),
            Phase::Done => Phase::Done,
        }
    }

    fn after_probe(&mut self, connections: u32, reached: f64) -> Phase {
        let gained = reached > self.reached * PROBE_GAIN || self.reached <= 0.0;
        self.reached = self.reached.max(reached);
        let next = connections * 2;
        let most = PROBE_MAX.min(self.config.in_flight_max);
        let above_ceiling = self.config.ceiling.is_some_and(|ceiling| self.reached >= ceiling);
        if gained && next <= most && !above_ceiling {
            return Phase::Probe(next);
        }
        let first = if self.reached > 0.0 { self.reached * search::FIRST } else { 1.0 };
        let first = self.config.ceiling.map_or(first, |ceiling| first.min(ceiling));
        Phase::Climb(round(self.config.kind, first))
    }

    fn after_rung(&mut self, level: f64, outcome: Outcome, broken: bool) -> Phase {
        if outcome == Outcome::Pass {
            // What failed below it failed by bad luck; the bracket begins above.
            (self.low, self.high, self.fails_in_row) = (Some(level), None, 0);
        } else {
            self.high.get_or_insert(level);
            self.fails_in_row += 1;
            // A level that passed would be the lower end of the bracket.
            if self.low.is_none() {
                return self.lower(level);
            }
        }
        let high_enough = self.high.is_some_and(|high| level >= high * WELL_ABOVE);
        let over = outcome == Outcome::Void || broken || self.fails_in_row >= FAILS_MAX || high_enough;
        match self.rung_above(level).filter(|_| !over) {
            Some(next) => Phase::Climb(next),
            None => self.bisect(),
        }
    }

    fn rung_above(&self, level: f64) -> Option<f64> {
        let kind = self.config.kind;
        let closed = (kind == LoadKind::Connections).then_some(f64::from(self.config.in_flight_max));
        let (next, to) = match &self.config.ladder {
            Ladder::Auto if closed.is_some() => (level * 2.0, None),
            Ladder::Auto => (level * search::FACTOR, Some(self.reached.max(1.0) * search::LAST)),
            Ladder::Geometric { to, factor, .. } => (level * factor, *to),
            Ladder::List(levels) => return levels.iter().copied().find(|one| *one > level),
        };
        let to =
            [to, closed, self.config.ceiling].into_iter().flatten().reduce(f64::min).unwrap_or(f64::INFINITY);
        let next = round(kind, next).max(if kind == LoadKind::Connections { level + 1.0 } else { 0.0 });
        // The last rung is the end of the ladder itself.
        let next = if next > to { round(kind, to).min(to) } else { next };
        (next > level).then_some(next)
    }

    fn lower(&mut self, level: f64) -> Phase {
        let next = below(self.config.kind, level, 0.5);
        self.lowered += 1;
        if self.lowered > LOWER_MAX || next >= level { Phase::Done } else { Phase::Lower(next) }
    }

    fn after_lower(&mut self, level: f64, outcome: Outcome) -> Phase {
        self.note(level, outcome);
        if outcome == Outcome::Pass { self.bisect() } else { self.lower(level) }
    }

    /// Moves one end of the bracket.
    fn note(&mut self, level: f64, outcome: Outcome) {
        if outcome == Outcome::Pass { self.low = Some(level) } else { self.high = Some(level) }
    }

    fn bisect(&mut self) -> Phase {
        let (Some(low), Some(high)) = (self.low, self.high) else { return self.approach_break() };
        match between(self.config.kind, low, high, self.config.precision) {
            Some(middle) => Phase::Bisect(middle),
            None => self.confirm(),
        }
    }

    /// Three passes at the lower end, two failures of three a tenth above it. Other results move the ends, at most a
    /// few times.
    fn confirm(&mut self) -> Phase {
        while let Some(low) = self.low
            && self.moves <= MOVES_MAX
        {
            let (passes, fails, voids) = self.count(low);
            if fails > 0 {
                self.moves += 1;
                self.low = Some(below(self.config.kind, low, 1.0 / (1.0 + self.config.precision)));
                continue;
            }
            if voids >= 2 {
                break;
            }
            if passes < PASSES {
                return Phase::Lowest(low);
            }
            match self.confirm_above(low) {
                Some(phase) => return phase,
                None if self.low == Some(low) => break,
                None => self.moves += 1,
            }
        }
        self.approach_break()
    }

    /// Looks for the level that fails above one that passes. `None` if it is found, if it cannot be found, or if the
    /// lower end moved up.
    fn confirm_above(&mut self, low: f64) -> Option<Phase> {
        let mut high = tenth_above(self.config.kind, low);
        for _ in 0..=MOVES_MAX {
            if self.config.ceiling.is_some_and(|ceiling| high > ceiling) {
                return None;
            }
            let (passes, fails, voids) = self.count(high);
            if fails >= FAILS || voids >= 2 {
                self.high = Some(high);
                self.confirmed = fails >= FAILS;
                return None;
            }
            if passes + fails < PASSES {
                return Some(Phase::Highest(high));
            }
            if fails == 0 {
                self.low = Some(high);
                return None;
            }
            // Neither: it lies in between, and so does this.
            high = tenth_above(self.config.kind, high);
        }
        None
    }

    /// Narrows down the level at which the service breaks.
    fn approach_break(&mut self) -> Phase {
        let (held, broke) = self.breaking();
        if let (Some(held), Some(broke)) = (held, broke)
            && let Some(middle) = between(self.config.kind, held, broke, BREAK_PRECISION)
            && self.count(middle) == (0, 0, 0)
        {
            return Phase::Break(middle);
        }
        match self.missing_before() {
            Some(level) => Phase::Before(level),
            None => self.repeat(),
        }
    }

    /// The level that must be tried before the overload, so that it can be compared with itself afterwards; `None` if
    /// one near the capacity passed.
    fn missing_before(&self) -> Option<f64> {
        let low = self.low.filter(|_| self.high.is_some() && self.config.resets)?;
        let level = below(self.config.kind, low, 0.9);
        (self.passed_near(low).is_none() && self.count(level) == (0, 0, 0)).then_some(level)
    }

    /// A level a little below the capacity that passed and never failed.
    fn passed_near(&self, low: f64) -> Option<f64> {
        self.passed_at_most(low * DESCENT[0]).filter(|level| *level >= low * NEAR_CAPACITY)
    }

    /// The highest level up to `most` that passed and never failed.
    fn passed_at_most(&self, most: f64) -> Option<f64> {
        let levels = self.trials.iter().map(|trial| trial.step.load.level());
        levels.filter(|level| *level <= most && matches!(self.count(*level), (1.., 0, _))).reduce(f64::max)
    }

    /// The highest level that held and, above it, the lowest that broke; with several trials at one level, the
    /// majority decides.
    pub(super) fn breaking(&self) -> (Option<f64>, Option<f64>) {
        let valid = |trial: &&FinishedStep| is_up(trial) && trial.judged.outcome != Outcome::Void;
        let broke = |level: f64| {
            let at = || self.trials.iter().filter(valid).filter(|trial| same(trial.step.load.level(), level));
            at().filter(|trial| trial.judged.broken.is_some()).count() * 2 > at().count()
        };
        let levels = || self.trials.iter().filter(valid).map(|trial| trial.step.load.level());
        let held = levels().filter(|level| !broke(*level)).reduce(f64::max);
        let above = levels().filter(|level| broke(*level) && held.is_none_or(|held| *level > held));
        (held, above.reduce(f64::min))
    }

    /// Repeats levels near the knee, if the ladder shows where it is.
    fn repeat(&mut self) -> Phase {
        let levels = self.near_knee();
        let blocks = (0..knee::REPEATS as u64).flat_map(|block| {
            let mut block_levels = levels.clone();
            Random::for_purpose(self.config.seed, ORDER + block).shuffle(&mut block_levels);
            block_levels
        });
        self.repeats = Some(blocks.collect());
        if levels.is_empty() { self.surge() } else { Phase::Repeat(0) }
    }

    fn near_knee(&self) -> Vec<f64> {
        let most = self.breaking().0.zip(self.low);
        let Some((most, _)) = most.filter(|_| self.repeats.is_none()) else { return Vec::new() };
        let found = knee::find(&self.points(), &[]).filter(|knee| !knee.at_the_start && !knee.at_the_end);
        found.map_or(Vec::new(), |knee| knee::levels_near(self.config.kind, knee.level, most))
    }

    fn after_repeat(&mut self, place: usize) -> Phase {
        let last = self.repeats.as_ref().is_none_or(|levels| place + 1 >= levels.len());
        if last { self.surge() } else { Phase::Repeat(place + 1) }
    }

    fn surge(&mut self) -> Phase {
        if self.low.is_none() {
            return Phase::Done;
        }
        let failed = self.trials.iter().filter(|trial| is_up(trial) && trial.judged.outcome == Outcome::Fail);
        let Some(most) = failed.map(|trial| trial.step.load.level()).reduce(f64::max) else {
            return Phase::Done;
        };
        // Not again if the last step was as good.
        let last = self.trials.last().filter(|trial| trial.judged.outcome == Outcome::Fail);
        let near = last.is_some_and(|trial| trial.step.load.level() * WELL_NEAR >= most);
        if near { self.descend() } else { Phase::Surge(most) }
    }

    /// Begins the way down: levels that passed before the overload, and never failed.
    fn descend(&mut self) -> Phase {
        let Some(low) = self.low else { return Phase::Done };
        let first = self.passed_near(low).or_else(|| self.passed_at_most(low));
        let lower = DESCENT[1..].iter().map(|share| self.passed_at_most(low * share));
        self.descent = std::iter::once(first).chain(lower).flatten().collect();
        self.descent.dedup();
        if self.descent.is_empty() { Phase::Done } else { Phase::Descend(0) }
    }

    /// At the first level the service has [`RECOVERY`] seconds to recover. Below that, one step per level finds the level
    /// that it holds. If it did not recover, a reset shows whether the overload or something else changed it.
    fn after_descent(&self, part: usize, outcome: Outcome) -> Phase {
        let here = self.trials.iter().rev().take_while(|trial| {
            trial.step.purpose == Purpose::Descend
                && self
                    .trials
                    .last()
                    .is_some_and(|last| same(last.step.load.level(), trial.step.load.level()))
        });
        let waited: f64 = here.map(|trial| trial.step.warm_up + trial.step.seconds).sum();
        match outcome {
            Outcome::Pass if part == 0 => Phase::Done,
            _ if part == 0 && waited < RECOVERY => Phase::Descend(0),
            Outcome::Fail | Outcome::Void if part + 1 < self.descent.len() => Phase::Descend(part + 1),
            _ if self.config.resets => Phase::Recheck,
            _ => Phase::Done,
        }
    }
}

/// A last step this near to the highest level tried was itself an overload.
const WELL_NEAR: f64 = 1.15;

/// Whether a trial is usable as a result for a level reached from below.
pub(super) fn is_up(trial: &FinishedStep) -> bool {
    !matches!(
        trial.step.purpose,
        Purpose::Probe | Purpose::Repeat | Purpose::Surge | Purpose::Descend | Purpose::Recheck
    )
}

/// Compares exactly: levels are rounded numbers that are reused, never computed in two ways.
pub(super) fn same(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs()
}

/// Seconds of warm-up of a step: a fifth of the measured time, at most three.
fn warm_up(seconds: f64) -> f64 {
    (seconds * 0.2).min(3.0)
}
