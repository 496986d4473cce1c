//! Differences of paired blocks: their mean, its confidence interval, and single blocks on which a result depends.
//!
//! A difference is `y(b) - y(a)` of one block, where `y` is the logarithm of the measured figure. `exp` of a
//! difference is therefore a ratio. Does not decide; see [`super::verdict`].

use super::location::{deviation, mean};
use super::student;

/// Differences of paired blocks, summed up.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    differences: Vec<f64>,
    mean: f64,
    deviation: f64,
}

/// An interval on the scale of the differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceInterval {
    /// Lower end; minus infinity if there is one block only.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl ConfidenceInterval {
    /// Whether all of it lies on one side of 0, farther away than `margin` (0 or more).
    pub fn excludes(self, margin: f64) -> bool {
        self.low > margin || self.high < -margin
    }

    /// Whether all of it lies strictly between `-margin` and `margin`.
    pub fn within(self, margin: f64) -> bool {
        self.low > -margin && self.high < margin
    }

    /// Whether `value` lies in it, ends included.
    pub fn holds(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

impl Paired {
    /// Sums differences up. `None` without one.
    pub fn new(differences: Vec<f64>) -> Option<Self> {
        if differences.is_empty() || differences.iter().any(|difference| !difference.is_finite()) {
            return None;
        }
        let (mean, deviation) = (mean(&differences), deviation(&differences));
        Some(Self { differences, mean, deviation })
    }

    /// The differences, in the order of their blocks.
    pub fn differences(&self) -> &[f64] {
        &self.differences
    }

    /// How many blocks there are; 1 or more.
    pub fn n_blocks(&self) -> usize {
        self.differences.len()
    }

    /// The mean difference: the logarithm of the typical ratio.
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// Standard deviation of the differences.
    pub const fn deviation(&self) -> f64 {
        self.deviation
    }

    /// Standard error of the mean; 0 if all blocks agree to the last digit.
    pub fn error(&self) -> f64 {
        self.deviation / (self.n_blocks() as f64).sqrt()
    }

    /// The interval of the mean that misses the truth with probability `alpha` (Student, Biometrika 6, 1908):
    /// exact for normal differences, and close for others, because the figure of a block is already an average.
    pub fn interval(&self, alpha: f64) -> ConfidenceInterval {
        let reach = if self.n_blocks() < 2 {
            f64::INFINITY
        } else if self.deviation > 0.0 {
            student::quantile(1.0 - alpha / 2.0, self.n_blocks() - 1) * self.error()
        } else {
            0.0
        };
        ConfidenceInterval { low: self.mean - reach, high: self.mean + reach }
    }

    /// The same without block `place` (counted from 0); `None` if no block is left.
    pub fn without(&self, position: usize) -> Option<Self> {
        let mut rest = self.differences.clone();
        if position < rest.len() {
            rest.remove(position);
        }
        Self::new(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_the_one_of_the_textbook() {
        // Mean 0.02, deviation 0.01 over 4 blocks: 3.1824 * 0.01 / 2 either way.
        let step = 0.01 * (3.0_f64 / 4.0).sqrt();
        let paired = Paired::new(vec![0.02 - step, 0.02 - step, 0.02 + step, 0.02 + step]).unwrap();
        let interval = paired.interval(0.05);
        assert!((interval.high - 0.02 - 0.015_912).abs() < 1e-5, "{interval:?}");
        assert!((interval.low - 0.02 + 0.015_912).abs() < 1e-5, "{interval:?}");
    }

    #[test]
    fn blocks_that_agree_exactly_have_an_interval_without_width() {
        let paired = Paired::new(vec![0.5; 6]).unwrap();
        assert_eq!(paired.interval(0.05), ConfidenceInterval { low: 0.5, high: 0.5 });
        let same = Paired::new(vec![0.0; 6]).unwrap();
        assert!(same.interval(0.05).within(0.01));
    }

    #[test]
    fn one_block_has_no_bounds() {
        let interval = Paired::new(vec![1.0]).unwrap().interval(0.05);
        assert!(!interval.excludes(0.0) && !interval.within(100.0));
        assert!(Paired::new(vec![]).is_none());
        assert!(Paired::new(vec![f64::NEG_INFINITY]).is_none());
    }
}
