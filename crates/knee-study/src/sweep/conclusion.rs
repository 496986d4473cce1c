//! What a sweep has shown: capacity, saturation, knee and breaking point as intervals, whether the service recovers,
//! and the models that the steps support.
//!
//! Does not round, and does not lay anything out.

use knee_core::validity::Validity;

use super::bound::{CpuBound, Queue};
use super::cost::{Assumptions, Worth, worth};
use super::course::{Ended, Sweep, is_up};
use super::knee::{self, Knee};
use super::rule::{Broken, Outcome};
use super::usl::{self, Law, Unfit};
use super::{Config, FinishedStep, LevelRange, LoadKind, Purpose, StepLoad};
use crate::statistics::student;

/// An estimate of a level.
#[derive(Clone, Debug, PartialEq)]
pub enum LevelEstimate {
    /// Between these: the service held the lower end, not the upper.
    Between {
        /// Highest pass, lowest fail.
        interval: LevelRange,
        /// Whether repeats confirmed both ends.
        confirmed: bool,
    },
    /// No level failed: it is at least this.
    AtLeast(f64),
    /// No level passed: it is below this.
    Below(f64),
    /// Unknown: the generator might have caused the failures.
    Refused {
        /// The highest level that passed; certain all the same.
        at_least: Option<f64>,
        /// Why; sentences, each once.
        why: Vec<String>,
    },
    /// No usable step.
    Unknown,
}

impl LevelEstimate {
    /// Both ends, if there are two.
    pub const fn interval(&self) -> Option<LevelRange> {
        match self {
            Self::Between { interval, .. } => Some(*interval),
            _ => None,
        }
    }

    /// The level that certainly holds.
    pub const fn low(&self) -> Option<f64> {
        match self {
            Self::Between { interval, .. } => Some(interval.low),
            Self::AtLeast(low) => Some(*low),
            Self::Refused { at_least, .. } => *at_least,
            Self::Below(_) | Self::Unknown => None,
        }
    }
}

/// The highest throughput of any step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// Arrivals answered per second.
    pub rate: f64,
    /// Its 95 % interval over the steps that were overloaded (Student's t), or the range of two overloaded steps; the
    /// same number twice if there is one.
    pub interval: LevelRange,
    /// Whether any step was overloaded; if not, the true value might be higher.
    pub reached: bool,
}

/// Whether the service recovered after an overload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Recovery {
    /// In the first step, at this level.
    AtOnce(f64),
    /// At this level, after about so many seconds.
    After(f64, f64),
    /// Not within 30 s at nine tenths of its capacity; only at this lower level, if at any.
    Metastable(Option<f64>),
    /// It was not tried.
    NotTried,
}

/// What a sweep has shown.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was asked for.
    pub config: Config,
    /// All steps, in their order.
    pub trials: Vec<FinishedStep>,
    /// How it ended.
    pub ended: Ended,
    /// The highest level that meets all rules.
    pub capacity: LevelEstimate,
    /// The highest throughput.
    pub saturation: Option<Saturation>,
    /// The knee of the curve.
    pub knee: Option<Knee>,
    /// The lowest level at which the service breaks.
    pub breaking: LevelEstimate,
    /// How it breaks there.
    pub broken: Option<Broken>,
    /// Whether it recovers.
    pub recovery: Recovery,
    /// The universal scalability law, or why it is not fitted.
    pub law: Result<Law, Unfit>,
    /// What the target's CPU allows, if it was measured.
    pub cpu: Option<CpuBound>,
    /// The service as a plain queue.
    pub queue: Option<Queue>,
    /// Users and cost that the capacity supports, if asked for.
    pub worth: Option<Worth>,
    /// The worst validity of the steps that count. Generator problems of void steps do not count. A debug build makes
    /// the whole sweep invalid.
    pub state: Validity,
    /// Why it is not valid; sentences, each once.
    pub reasons: Vec<String>,
}

/// The facts that the steps do not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    /// CPUs that the target can use, if it is on this machine.
    pub cores: Option<f64>,
    /// Prices and users.
    pub assumptions: Option<Assumptions>,
}

impl Sweep {
    /// The conclusion from the steps so far. Can be called at any time.
    pub fn conclude(&self, facts: Facts) -> Report {
        let capacity = self.capacity();
        let saturation = self.saturation();
        let knee = knee::find(&self.points(), self.config.seed);
        let (state, reasons) = self.validity();
        let worth = facts.assumptions.zip(self.peak(&capacity)).map(|(assumed, peak)| worth(peak, assumed));
        Report {
            ended: self.ended(),
            breaking: self.breaking_point(&capacity),
            broken: self.manner(),
            recovery: self.recovery(),
            law: self.law(knee.as_ref()),
            cpu: facts.cores.and_then(|cores| self.cpu(cores, saturation?.rate)),
            queue: saturation
                .filter(|saturation| saturation.reached)
                .and_then(|found| self.queue(found.rate)),
            config: self.config.clone(),
            trials: self.trials.clone(),
            capacity,
            saturation,
            knee,
            worth,
            state,
            reasons,
        }
    }

    fn capacity(&self) -> LevelEstimate {
        let (Some(high), low) = (self.high, self.low) else { return self.clean() };
        let (_, fails, voids) = self.count(high);
        if voids > 0 && fails == 0 {
            return LevelEstimate::Refused { at_least: low, why: self.void_reasons(high) };
        }
        match low {
            Some(low) if self.confirmed => {
                LevelEstimate::Between { interval: LevelRange { low, high }, confirmed: true }
            }
            Some(_) => self.clean(),
            None => LevelEstimate::Below(high),
        }
    }

    /// The estimate without confirmation: the level up to which nothing ever failed, and the level from which nothing
    /// ever passed.
    fn clean(&self) -> LevelEstimate {
        let levels = |wanted: Outcome| {
            let those = self.trials.iter().filter(move |t| is_up(t) && t.judged.outcome == wanted);
            those.map(|trial| trial.step.load.level())
        };
        let first_fail = levels(Outcome::Fail).fold(f64::INFINITY, f64::min);
        let last_pass = levels(Outcome::Pass).fold(0.0, f64::max);
        let low = levels(Outcome::Pass).filter(|level| *level < first_fail).reduce(f64::max);
        let high = levels(Outcome::Fail).filter(|level| *level > last_pass).reduce(f64::min);
        match (low, high) {
            (Some(low), Some(high)) => {
                LevelEstimate::Between { interval: LevelRange { low, high }, confirmed: false }
            }
            (Some(low), None) => LevelEstimate::AtLeast(low),
            (None, Some(high)) => LevelEstimate::Below(high),
            (None, None) => LevelEstimate::Unknown,
        }
    }

    fn void_reasons(&self, level: f64) -> Vec<String> {
        let mut why: Vec<String> = Vec::new();
        let at = |trial: &&FinishedStep| is_up(trial) && super::course::same(trial.step.load.level(), level);
        for reason in self.trials.iter().filter(at).flat_map(|trial| &trial.judged.void) {
            if !why.contains(reason) {
                why.push(reason.clone());
            }
        }
        why
    }

    /// Usable steps of the ladder.
    fn valid(&self) -> impl Iterator<Item = &FinishedStep> {
        self.trials.iter().filter(|trial| is_up(trial) && trial.judged.outcome != Outcome::Void)
    }

    /// The mean of the steps that were overloaded. With connections, which are never overloaded, the
    /// best level.
    fn saturation(&self) -> Option<Saturation> {
        let all = || self.valid().map(|trial| trial.result.achieved);
        let most = all().reduce(f64::max)?;
        let overloaded: Vec<f64> = self
            .valid()
            .filter(|trial| trial.judged.broken == Some(Broken::Backlog))
            .map(|trial| trial.result.achieved)
            .filter(|rate| *rate >= super::rule::COLLAPSE * most)
            .collect();
        if overloaded.is_empty() {
            let reached = self.config.kind == LoadKind::Connections && self.flattened(most);
            return Some(Saturation { rate: most, interval: LevelRange { low: most, high: most }, reached });
        }
        let (rate, interval) = mean(&overloaded);
        Some(Saturation { rate, interval, reached: true })
    }

    /// Whether more connections than at the best level brought no more throughput.
    fn flattened(&self, most: f64) -> bool {
        let best = self.valid().find(|trial| trial.result.achieved >= most).map(|t| t.step.load.level());
        self.valid().any(|trial| Some(trial.step.load.level()) > best)
    }

    fn points(&self) -> Vec<knee::Point> {
        let point = |trial: &FinishedStep| {
            let response = trial.result.response_mean().filter(|response| *response > 0.0)?;
            let throughput = trial.result.achieved;
            (throughput > 0.0).then(|| knee::Point { level: trial.step.load.level(), throughput, response })
        };
        self.valid().filter_map(point).collect()
    }

    fn breaking_point(&self, capacity: &LevelEstimate) -> LevelEstimate {
        let (held, broke) = self.breaking();
        match (held, broke) {
            (Some(low), Some(high)) => match capacity {
                // The same levels, better confirmed.
                LevelEstimate::Between { interval, confirmed }
                    if super::course::same(interval.low, low) && self.majority_broke(interval.high) =>
                {
                    LevelEstimate::Between { interval: *interval, confirmed: *confirmed }
                }
                _ => LevelEstimate::Between { interval: LevelRange { low, high }, confirmed: false },
            },
            (Some(low), None) => LevelEstimate::AtLeast(low),
            (None, Some(high)) => LevelEstimate::Below(high),
            (None, None) => LevelEstimate::Unknown,
        }
    }

    fn majority_broke(&self, level: f64) -> bool {
        let at = |trial: &&FinishedStep| super::course::same(trial.step.load.level(), level);
        let broke = self.valid().filter(at).filter(|trial| trial.judged.broken.is_some()).count();
        broke * 2 > self.valid().filter(at).count()
    }

    /// How the service is broken at the lowest level at which it is broken.
    fn manner(&self) -> Option<Broken> {
        let (_, broke) = self.breaking();
        let at = |trial: &&FinishedStep| Some(trial.step.load.level()) == broke;
        self.valid().filter(at).find_map(|trial| trial.judged.broken)
    }

    fn recovery(&self) -> Recovery {
        let descent: Vec<&FinishedStep> =
            self.trials.iter().filter(|trial| trial.step.purpose == Purpose::Descend).collect();
        let Some(first) = descent.first() else { return Recovery::NotTried };
        let level = first.step.load.level();
        let here = |trial: &&&FinishedStep| super::course::same(trial.step.load.level(), level);
        let passed = |trial: &FinishedStep| trial.judged.outcome == Outcome::Pass;
        if passed(first) {
            return Recovery::AtOnce(level);
        }
        if descent.iter().all(|trial| trial.judged.outcome == Outcome::Void) {
            return Recovery::NotTried;
        }
        let spent: f64 = descent
            .iter()
            .take_while(|trial| !passed(trial))
            .map(|trial| trial.step.warm_up + trial.step.seconds)
            .sum();
        if descent.iter().filter(here).any(|trial| passed(trial)) {
            return Recovery::After(level, spent);
        }
        let tried_lower = descent.len() > 1 && descent.iter().any(|trial| !here(&trial));
        if spent < super::course::RECOVERY && !tried_lower {
            // Cut short before it had its time.
            return Recovery::NotTried;
        }
        Recovery::Metastable(descent.iter().find(|trial| passed(trial)).map(|t| t.step.load.level()))
    }

    /// The law needs numbers in flight of steady steps; an overloaded open step has none.
    fn law(&self, knee: Option<&Knee>) -> Result<Law, Unfit> {
        let steady = self.valid().filter(|trial| {
            self.config.kind == LoadKind::Connections || trial.judged.broken != Some(Broken::Backlog)
        });
        let in_flight = |trial: &FinishedStep| {
            let response = trial.result.response_mean()?;
            Some((
                trial.result.achieved * trial.result.requests_per_arrival * response,
                trial.result.achieved,
            ))
        };
        let steps: Vec<(f64, f64, f64)> = steady
            .filter_map(|trial| in_flight(trial).map(|(n, x)| (trial.step.load.level(), n, x)))
            .filter(|(_, n, x)| *n > 0.0 && *x > 0.0)
            .collect();
        let nearest = knee.and_then(|knee| {
            let far = |level: f64| (level / knee.level).ln().abs();
            steps.iter().min_by(|a, b| far(a.0).total_cmp(&far(b.0))).map(|(_, n, _)| *n)
        });
        let pairs: Vec<(f64, f64)> = steps.iter().map(|(_, n, x)| (*n, *x)).collect();
        usl::fit(&pairs, nearest)
    }

    fn cpu(&self, cores: f64, saturation: f64) -> Option<CpuBound> {
        let looked = || self.valid().filter(|trial| trial.result.cpu.is_some());
        let cpu: f64 = looked().filter_map(|trial| trial.result.cpu).sum();
        // The CPU was looked at from before the warm-up to after the grace period: that is so many
        // arrivals at the measured pace.
        let arrivals =
            |trial: &FinishedStep| trial.result.achieved * (trial.step.warm_up + trial.result.seconds);
        let near = self.valid().filter(|trial| trial.result.achieved >= super::rule::COLLAPSE * saturation);
        let host_busy = near.filter_map(|trial| trial.result.host_busy).reduce(f64::max);
        CpuBound::of(cpu, looked().map(arrivals).sum(), cores, saturation, host_busy)
    }

    fn queue(&self, saturation: f64) -> Option<Queue> {
        let lowest = self.valid().min_by(|a, b| a.step.load.level().total_cmp(&b.step.load.level()))?;
        let service = lowest.result.response_mean()?;
        let far = |trial: &&FinishedStep| (trial.result.achieved / saturation - 0.8).abs();
        let steady = self.valid().filter(|trial| trial.judged.broken.is_none());
        let at = steady.min_by(|a, b| far(a).total_cmp(&far(b)))?;
        (self.config.kind.is_open() && far(&at) < 0.15)
            .then(|| Queue::of(saturation, service, at.result.achieved, at.result.response_mean()?))?
    }

    /// Arrivals per second at the lower end of the capacity.
    fn peak(&self, capacity: &LevelEstimate) -> Option<f64> {
        let low = capacity.low()?;
        if self.config.kind.is_open() {
            return Some(low);
        }
        let at = |trial: &&FinishedStep| super::course::same(trial.step.load.level(), low);
        self.valid().filter(at).map(|trial| trial.result.goodput).reduce(f64::min)
    }

    fn validity(&self) -> (Validity, Vec<String>) {
        let mut reasons: Vec<String> = Vec::new();
        let mut state = Validity::Valid;
        for trial in &self.trials {
            for reason in trial.result.reasons.iter().filter(|reason| reason.code == "debug_build") {
                state = Validity::Invalid;
                if !reasons.contains(&reason.message) {
                    reasons.push(reason.message.clone());
                }
            }
        }
        if let LevelEstimate::Refused { why, .. } = self.capacity() {
            state = Validity::Invalid;
            reasons.extend(why);
        }
        (state, reasons)
    }
}

/// Mean and 95 % interval.
fn mean(values: &[f64]) -> (f64, LevelRange) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    if values.len() < 3 {
        return (mean, LevelRange { low: least, high: most });
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = student::quantile(0.975, values.len() - 1) * (variance / n).sqrt();
    (mean, LevelRange { low: mean - half, high: mean + half })
}

impl Report {
    /// The unit of levels and arrivals: `requests/s`.
    pub const fn unit(&self) -> &'static str {
        match self.config.kind {
            LoadKind::Requests => "requests/s",
            LoadKind::Iterations => "iterations/s",
            LoadKind::Connections => "connections",
        }
    }

    /// The steps whose level is one of the ladder's, probes left out.
    pub fn ladder(&self) -> impl Iterator<Item = &FinishedStep> {
        self.trials.iter().filter(|trial| trial.step.purpose != Purpose::Probe)
    }

    /// Whether a trial is a probe with connections in a sweep of rates.
    pub fn is_probe(trial: &FinishedStep) -> bool {
        trial.step.purpose == Purpose::Probe && matches!(trial.step.load, StepLoad::Connections(_))
    }
}
