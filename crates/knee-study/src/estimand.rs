//! What a comparison measures, and everything that is computed from its blocks: estimate, interval, tests, verdict,
//! minimum detectable effect, blocks needed.
//!
//! An [`Estimand`] has a metric with its unit, scale and direction; a contrast, which says how blocks become one value;
//! and whether its figures are lower bounds only. [`Missing`] says why there is no value. Does not choose what is
//! compared, and has no words: reports have.

use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

use crate::metric::{Direction, Metric};
use crate::statistics::paired::{ConfidenceInterval, Paired};
use crate::statistics::power::{self, Level};
use crate::statistics::share::{self, Counted};
use crate::statistics::verdict::Verdict;
use crate::statistics::{location, sign_flip, student};

/// Skewness beyond which reports also show a robust estimate.
const SKEWED: f64 = 1.0;

/// How blocks become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contrast {
    /// One value per block, and their mean.
    PerBlock,
    /// One value of the requests of all blocks together; the error comes from how far each block moves it.
    Merged,
}

/// Which figures are lower bounds only, because requests did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Censored {
    /// None is.
    No,
    /// That of the first side.
    From,
    /// That of the second side, or the only one.
    To,
    /// Both.
    Both,
}

impl Censored {
    /// What `from` and `to` make.
    pub const fn of(from: bool, to: bool) -> Self {
        match (from, to) {
            (false, false) => Self::No,
            (true, false) => Self::From,
            (false, true) => Self::To,
            (true, true) => Self::Both,
        }
    }
}

/// Why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Missing {
    /// No block measured all that is needed.
    NoBlock,
    /// A percentile of too few requests.
    TooFew {
        /// Requests of all blocks of the smaller side.
        requests: u64,
        /// What it takes.
        needed: u64,
        /// Measured time of a trial that would do, with as many blocks; `None` if no request was measured.
        measure: Option<Nanos>,
    },
    /// No request of one side succeeded.
    NoSuccess,
    /// In some blocks nothing was answered, or nothing well, so that there is no ratio. Without these blocks, the others
    /// would say that there was no stall.
    Standstill {
        /// Blocks in which a side stood still.
        blocks: usize,
        /// All blocks.
        of: usize,
    },
}

/// What requests were counted, for shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Of one side.
    Level(Counted),
    /// Of both.
    Change {
        /// The first.
        from: Counted,
        /// The second.
        to: Counted,
    },
}

impl Counts {
    fn interval(self, alpha: f64) -> ConfidenceInterval {
        match self {
            Self::Level(counted) => counted.interval(alpha),
            Self::Change { from, to } => share::difference(from, to, alpha),
        }
    }
}

/// The rule that a verdict follows; fixed before the first trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Level of the tests, and how many are corrected together.
    pub level: Level,
    /// Differences below this do not matter, on the scale of the differences; above 0.
    pub margin: f64,
}

/// A value to be estimated from blocks: a change between two sides, or the level of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimand {
    metric: Metric,
    contrast: Contrast,
    censored: Censored,
    blocks: Vec<usize>,
    paired: Paired,
    counts: Option<Counts>,
}

impl Estimand {
    /// One of these contributions, one per block, on the scale of the metric: differences of a change, or values of a
    /// level. `None` without one.
    pub fn new(
        metric: Metric,
        contrast: Contrast,
        blocks: Vec<usize>,
        contributions: Vec<f64>,
    ) -> Option<Self> {
        let paired = Paired::new(contributions)?;
        Some(Self { metric, contrast, censored: Censored::No, blocks, paired, counts: None })
    }

    /// The same, with figures that are lower bounds.
    #[must_use]
    pub fn censored_by(self, censored: Censored) -> Self {
        Self { censored, ..self }
    }

    /// The same, with the counts of requests behind a share.
    #[must_use]
    pub fn counted(self, counts: Counts) -> Self {
        Self { counts: Some(counts), ..self }
    }

    /// By what.
    pub const fn metric(&self) -> Metric {
        self.metric
    }

    /// How blocks become one value.
    pub const fn contrast(&self) -> Contrast {
        self.contrast
    }

    /// Which figures are lower bounds.
    pub const fn censored(&self) -> Censored {
        self.censored
    }

    /// The blocks, in the order of their contributions.
    pub fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    /// The contribution of each block, on the scale of the metric.
    pub fn contributions(&self) -> &[f64] {
        self.paired.differences()
    }

    /// Standard deviation of the contributions.
    pub const fn deviation(&self) -> f64 {
        self.paired.deviation()
    }

    /// The point estimate, on the scale of the metric.
    pub const fn estimate(&self) -> f64 {
        self.paired.mean()
    }

    /// The Hodges-Lehmann estimate, which is robust against single outliers.
    pub fn robust(&self) -> f64 {
        location::hodges_lehmann(self.contributions())
    }

    /// Whether some blocks lie so far to one side that the robust estimate belongs beside the mean.
    pub fn is_skewed(&self) -> bool {
        self.blocks.len() >= 5 && location::skewness(self.contributions()).abs() > SKEWED
    }

    /// The interval that misses the truth with probability `alpha`, on the scale of the metric: Student's, of the
    /// contributions. For shares, the wider of this and the exact one of the counts at either end: blocks without a
    /// single error agree, and still bound the share from n requests only. An end that a lower bound leaves open is
    /// infinite.
    pub fn interval(&self, alpha: f64) -> ConfidenceInterval {
        let mut interval = self.paired.interval(alpha);
        if let Some(counts) = self.counts {
            let counted = counts.interval(alpha);
            interval.low = interval.low.min(counted.low);
            interval.high = interval.high.max(counted.high);
        }
        if matches!(self.censored, Censored::From | Censored::Both) {
            interval.low = f64::NEG_INFINITY;
        }
        if matches!(self.censored, Censored::To | Censored::Both) {
            interval.high = f64::INFINITY;
        }
        interval
    }

    /// Two-sided p of no difference by Student's test: 1 below two blocks.
    pub fn p(&self) -> f64 {
        let (mean, error) = (self.paired.mean(), self.paired.error());
        if self.blocks.len() < 2 || mean == 0.0 {
            return 1.0;
        }
        student::two_sided_p(mean / error, self.blocks.len() - 1)
    }

    /// Two-sided p of no difference by the exact test, which assumes nothing about the noise.
    pub fn exact_p(&self, seed: u64) -> f64 {
        sign_flip::p_value(self.contributions(), seed)
    }

    /// The verdict. `p_adjusted` is [`Estimand::p`] after Holm's correction, `exact_p` that of the exact test.
    ///
    /// A difference needs both below the level, and an interval without 0. `same` is Schuirmann's two one-sided tests
    /// (Journal of Pharmacokinetics and Biopharmaceutics 15, 1987): the interval at twice alpha lies within the margin. A
    /// small but certain difference gets the verdict of its direction; reports show the margin beside it.
    ///
    /// With fewer blocks than [`Level::least_blocks`] there is no verdict, not even `same`: a few blocks that agree by
    /// chance have an interval that is much too narrow.
    pub fn verdict(&self, p_adjusted: f64, exact_p: f64, rule: &Rule) -> Verdict {
        let alpha = rule.level.alpha;
        if self.blocks.len() < rule.level.least_blocks() {
            return Verdict::Undecided;
        }
        let certain = p_adjusted < alpha && exact_p < alpha;
        if certain { self.by_interval(rule) } else { self.equivalent(rule) }
    }

    fn by_interval(&self, rule: &Rule) -> Verdict {
        let interval = self.interval(rule.level.alpha);
        if !interval.excludes(0.0) {
            return self.equivalent(rule);
        }
        match (self.metric.direction(), interval.low > 0.0) {
            (Direction::More, true) | (Direction::Less, false) => Verdict::Better,
            (Direction::More, false) | (Direction::Less, true) => Verdict::Worse,
            (Direction::None, true) => Verdict::More,
            (Direction::None, false) => Verdict::Less,
        }
    }

    fn equivalent(&self, rule: &Rule) -> Verdict {
        let within = self.interval(2.0 * rule.level.alpha).within(rule.margin);
        if within { Verdict::Same } else { Verdict::Undecided }
    }

    /// Blocks whose removal, one at a time, changes the verdict by the intervals alone. The smallest possible p depends
    /// on the number of blocks, so with p every removal would change it.
    pub fn moved_by(&self, rule: &Rule) -> Vec<usize> {
        let all = self.by_interval(rule);
        let differs = |position: &usize| {
            let rest = self.paired.without(*position);
            rest.is_some_and(|paired| Self { paired, ..self.clone() }.by_interval(rule) != all)
        };
        (0..self.blocks.len()).filter(differs).map(|position| self.blocks[position]).collect()
    }

    /// The smallest difference that these blocks detect with 80 % power by `rule`, on the scale of the metric; `None` if
    /// there is none, as with fewer blocks than a verdict needs.
    pub fn mde(&self, rule: &Rule) -> Option<f64> {
        let deviations = power::mde(self.blocks.len(), rule.level);
        if !deviations.is_finite() || self.censored == Censored::Both {
            return None;
        }
        let Some((square, per_request)) = self.share_variance() else {
            return Some(deviations * self.deviation());
        };
        // A change of a share by d adds d / n to the variance of a block: d^2 = g^2 (square + d per_request). This is the
        // true variance, and `deviations` are of a measured one.
        let as_measured = power::mean_deviation(self.blocks.len()).powi(2);
        let half = deviations * deviations * per_request * as_measured / 2.0;
        let mde = half + half.hypot(deviations * square.sqrt());
        Some(mde).filter(|mde| *mde <= 1.0)
    }

    /// The fewest blocks that decide by `rule` with 80 % power, whether the change is as large as the margin or none;
    /// `None` if no practical number does, or if these blocks are enough: the change is then close to the margin.
    pub fn blocks_needed(&self, rule: &Rule) -> Option<usize> {
        if self.censored != Censored::No {
            return None;
        }
        let deviation = match self.share_variance() {
            Some((square, per_request)) => (square + rule.margin * per_request).sqrt(),
            None => self.deviation(),
        };
        let needed = power::blocks_needed(deviation, rule.margin, rule.level)?;
        Some(needed).filter(|needed| *needed > self.blocks.len())
    }

    /// For a change of a share: the variance of a block's difference as it was measured, and by how much each point of
    /// change adds to it. Blocks can agree by chance, and all the more without a failure: the variance is at least what
    /// independent requests show in 19 of 20 cases.
    fn share_variance(&self) -> Option<(f64, f64)> {
        let Some(Counts::Change { from, to }) = self.counts else { return None };
        let blocks = self.blocks.len() as f64;
        let of = |counted: Counted| blocks / (counted.of.max(1)) as f64;
        let both = from.plus(to).share();
        let independent = both * (1.0 - both) * (of(from) + of(to));
        let least = independent * share::least_by_chance(self.blocks.len());
        Some((self.deviation().powi(2).max(least), of(to)))
    }
}

#[cfg(test)]
mod tests;
