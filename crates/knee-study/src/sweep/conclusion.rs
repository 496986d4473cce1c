//! What a sweep has shown: capacity, saturation, knee and breaking point as intervals, whether the service recovers,
//! and the models that the steps support.
//!
//! Does not round, and does not lay anything out.

use knee_core::validity::Validity;

use super::bound::{CpuBound, CpuUse, ProgramUse, Queue};
use super::cost::{Assumptions, Worth, worth};
use super::course::{Ended, Sweep, is_up};
use super::knee::{self, Knee};
use super::rule::{Broken, Outcome, is_void_by_lateness};
use super::saturating::{self, Saturating};
use super::shedding::{self, Shedding};
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

/// Half of the connections that serve this share of the most: twice as many brought no more than 5 %.
const FLAT: f64 = 0.95;

/// The highest goodput of any step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// Arrivals answered ok per second.
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
    /// Metastable: after the overload, a level that had passed failed for 30 s, and it passed again after a reset of the
    /// service.
    Metastable {
        /// The level.
        at: f64,
        /// The lower level at which the service recovered by itself, if at any that was tried.
        lower: Option<f64>,
    },
    /// After the overload, a level that had passed failed for 30 s. Whether the overload did that is unknown: the service
    /// changed with time or data, or cannot be reset.
    Changed {
        /// The level.
        at: f64,
        /// The lower level that passed, if any that was tried.
        lower: Option<f64>,
        /// Whether it failed after a reset too.
        after_reset: bool,
    },
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
    /// The highest goodput.
    pub saturation: Option<Saturation>,
    /// Whether the service turns away what it cannot serve, and what it keeps serving.
    pub shedding: Option<Shedding>,
    /// The knee of the curve; `None` with too few levels, and for a service that sheds load.
    pub knee: Option<Knee>,
    /// The lowest level at which the service breaks.
    pub breaking: LevelEstimate,
    /// How it breaks there.
    pub broken: Option<Broken>,
    /// Whether it recovers.
    pub recovery: Recovery,
    /// The universal scalability law, or why it is not fitted.
    pub law: Result<Law, Unfit>,
    /// The CPUs near the saturation; `None` if they were not looked at.
    pub cpu: Option<CpuUse>,
    /// The fullest observed resource where the service serves most; `None` if nothing was observed.
    pub resource: Option<Saturating>,
    /// The CPUs that service and load generator can both use; `None` if unknown.
    pub shared_cpus: Option<usize>,
    /// Response times below this, in seconds, cannot be judged: at some level, the generator's own delays were more than
    /// a tenth of them and made the step void. `None` if no step was void for that.
    pub resolution: Option<f64>,
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
    /// CPUs that the target can use, if its processes are known.
    pub cores: Option<f64>,
    /// The CPUs that target and load generator can both use; `None` if unknown.
    pub shared_cpus: Option<usize>,
    /// Prices and users.
    pub assumptions: Option<Assumptions>,
}

impl Sweep {
    /// The conclusion from the steps so far. Can be called at any time.
    pub fn conclude(&self, facts: Facts) -> Report {
        let capacity = self.capacity();
        let saturation = self.saturation();
        let knee = knee::find(&self.points(), &self.blocks());
        let shedding = shedding::find(&self.trials);
        let (state, reasons) = self.validity();
        let worth = facts.assumptions.zip(self.peak(&capacity)).map(|(assumed, peak)| worth(peak, assumed));
        Report {
            ended: self.ended(),
            breaking: self.breaking_point(&capacity),
            shedding,
            broken: self.manner(),
            recovery: self.recovery(),
            law: self.law(knee.as_ref()),
            cpu: saturation.and_then(|found| self.cpu(facts, found)),
            resource: saturating::saturating(self.trials.iter()),
            shared_cpus: facts.shared_cpus,
            resolution: self.resolution(),
            queue: saturation
                .filter(|saturation| saturation.reached)
                .and_then(|found| self.queue(found.rate)),
            config: self.config.clone(),
            trials: self.trials.clone(),
            capacity,
            saturation,
            // Rejections end the waiting, so the greatest power is no load beyond which waiting grows.
            knee: knee.filter(|_| shedding.is_none()),
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

    /// The mean goodput of the steps that were overloaded: those with a backlog, and those that shed load. With
    /// connections, which are never overloaded, the best level.
    fn saturation(&self) -> Option<Saturation> {
        let all = || self.valid().map(|trial| trial.result.goodput);
        let most = all().reduce(f64::max).filter(|most| *most > 0.0)?;
        let overloaded: Vec<f64> = self
            .valid()
            .filter(|trial| matches!(trial.judged.broken, Some(Broken::Backlog | Broken::Rejects)))
            .map(|trial| trial.result.goodput)
            .filter(|rate| *rate >= super::rule::COLLAPSE * most)
            .collect();
        if overloaded.is_empty() {
            let reached = self.config.kind == LoadKind::Connections && self.flattened(most);
            return Some(Saturation { rate: most, interval: LevelRange { low: most, high: most }, reached });
        }
        let (rate, interval) = mean(&overloaded);
        Some(Saturation { rate, interval, reached: true })
    }

    /// Whether more connections than at the best level brought no more goodput, or half as many brought nearly as much.
    fn flattened(&self, most: f64) -> bool {
        let level = |trial: &FinishedStep| trial.step.load.level();
        let Some(best) = self.valid().find(|trial| trial.result.goodput >= most).map(level) else {
            return false;
        };
        let is_flat =
            |trial: &FinishedStep| level(trial) <= best / 2.0 && trial.result.goodput >= FLAT * most;
        self.valid().any(|trial| level(trial) > best || is_flat(trial))
    }

    /// The curve of the way up.
    pub(super) fn points(&self) -> Vec<knee::Point> {
        self.valid().filter_map(point).collect()
    }

    /// The repeats near the knee, by block; only whole blocks, without a void step.
    fn blocks(&self) -> Vec<Vec<knee::Point>> {
        let mut blocks: Vec<Vec<Option<knee::Point>>> = Vec::new();
        let mut seen: Vec<f64> = Vec::new();
        for trial in self.trials.iter().filter(|trial| trial.step.purpose == Purpose::Repeat) {
            let level = trial.step.load.level();
            let block = seen.iter().filter(|other| super::course::same(**other, level)).count();
            seen.push(level);
            let usable = Some(trial).filter(|trial| trial.judged.outcome != Outcome::Void);
            if blocks.len() <= block {
                blocks.push(Vec::new());
            }
            blocks[block].push(usable.and_then(point));
        }
        let levels = blocks.first().map_or(0, Vec::len);
        let whole = blocks.into_iter().filter(|block| block.len() == levels);
        whole.filter_map(|block| block.into_iter().collect()).collect()
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
            .filter(here)
            .take_while(|trial| !passed(trial))
            .map(|trial| trial.step.warm_up + trial.step.seconds)
            .sum();
        if descent.iter().filter(here).any(|trial| passed(trial)) {
            return Recovery::After(level, spent);
        }
        if spent < super::course::RECOVERY {
            // Cut short before it had its time.
            return Recovery::NotTried;
        }
        let lower = descent.iter().find(|trial| passed(trial)).map(|trial| trial.step.load.level());
        match self.trials.iter().find(|trial| trial.step.purpose == Purpose::Recheck) {
            Some(recheck) if passed(recheck) => Recovery::Metastable { at: level, lower },
            recheck => {
                let after_reset = recheck.is_some_and(|trial| trial.judged.outcome == Outcome::Fail);
                Recovery::Changed { at: level, lower, after_reset }
            }
        }
    }

    /// The law needs numbers in flight of steady steps; an overloaded open step has none. Rejected requests are not part
    /// of it: neither their number in flight nor their throughput.
    fn law(&self, knee: Option<&Knee>) -> Result<Law, Unfit> {
        let steady = self.valid().filter(|trial| {
            self.config.kind == LoadKind::Connections || trial.judged.broken != Some(Broken::Backlog)
        });
        let in_flight = |trial: &FinishedStep| {
            let (result, response) = (&trial.result, trial.result.response_mean()?);
            Some((result.goodput * result.requests_per_arrival * response, result.goodput))
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

    /// The CPUs in the steps near the saturation; `None` if they were not looked at.
    fn cpu(&self, facts: Facts, saturation: Saturation) -> Option<CpuUse> {
        // Also void ones: there the generator, or whatever takes its CPUs, was the limit.
        let near = || {
            let up = self.trials.iter().filter(|trial| is_up(trial));
            up.filter(|trial| trial.result.goodput >= super::rule::COLLAPSE * saturation.rate)
        };
        let at_limit = saturation.reached || near().any(|trial| trial.judged.outcome == Outcome::Void);
        let looked = || near().filter(|trial| trial.result.cpu.is_some());
        let sum = |figure: &dyn Fn(&FinishedStep) -> f64| looked().map(figure).sum::<f64>();
        let cpu = sum(&|trial| trial.result.cpu.unwrap_or_default());
        // The CPU was looked at from before the warm-up to after the grace period: that is so many
        // arrivals at the measured pace.
        let seconds = |trial: &FinishedStep| trial.step.warm_up + trial.result.seconds;
        let arrivals = sum(&|trial| trial.result.achieved * seconds(trial));
        let throughput = arrivals / sum(&seconds);
        let bound = facts.cores.and_then(|cores| CpuBound::of(cpu, arrivals, cores, throughput));
        let used = |trial: &FinishedStep| trial.result.programs.iter().map(|one| one.cpus).sum::<f64>();
        let programs = near().max_by(|a, b| used(a).total_cmp(&used(b)))?.result.programs.clone();
        let busy = near().filter_map(|trial| trial.result.host_busy).reduce(f64::max);
        (bound.is_some() || !programs.is_empty()).then(|| {
            CpuUse::judged(bound, busy, facts.shared_cpus, programs, at_limit)
                .beside(self.small(saturation.rate))
        })
    }

    /// The programs during the step with the smallest level; none if its load is not small.
    fn small(&self, saturation: f64) -> &[ProgramUse] {
        let level = |trial: &FinishedStep| trial.step.load.level();
        let smallest = self.trials.iter().min_by(|one, other| level(one).total_cmp(&level(other)));
        let is_small = |trial: &&FinishedStep| trial.result.goodput <= saturating::SMALL * saturation;
        smallest.filter(is_small).map_or(&[], |trial| &trial.result.programs)
    }

    fn resolution(&self) -> Option<f64> {
        let late = self.trials.iter().filter(|trial| is_void_by_lateness(&trial.judged, &trial.result));
        late.filter_map(|trial| trial.result.resolution()).reduce(f64::max)
    }

    fn queue(&self, saturation: f64) -> Option<Queue> {
        let lowest = self.valid().min_by(|a, b| a.step.load.level().total_cmp(&b.step.load.level()))?;
        let service = lowest.result.response_mean()?;
        let far = |trial: &&FinishedStep| (trial.result.goodput / saturation - 0.8).abs();
        let steady = self.valid().filter(|trial| trial.judged.broken.is_none());
        let at = steady.min_by(|a, b| far(a).total_cmp(&far(b)))?;
        (self.config.kind.is_open() && far(&at) < 0.15)
            .then(|| Queue::of(saturation, service, at.result.goodput, at.result.response_mean()?))?
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

/// A step as a point of the curve; `None` without an answer.
fn point(trial: &FinishedStep) -> Option<knee::Point> {
    let response = trial.result.response_mean().filter(|response| *response > 0.0)?;
    let throughput = trial.result.goodput;
    (throughput > 0.0).then(|| knee::Point { level: trial.step.load.level(), throughput, response })
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
