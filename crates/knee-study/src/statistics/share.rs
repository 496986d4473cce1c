//! Limits of a share of requests, and of the difference of two shares, from counts.
//!
//! Assumes that requests fail independently of each other. Errors that come in bursts have wider limits, which the
//! spread between blocks shows; see [`crate::estimand`], which takes the wider of the two.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF as _};
use statrs::function::beta::beta_reg;

use super::paired::ConfidenceInterval;

/// A number of requests, and how many of them failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Those that failed; at most `of`.
    pub failed: u64,
    /// All of them.
    pub of: u64,
}

impl Counted {
    /// The share that failed; 0 without requests.
    pub fn share(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.failed as f64 / self.of as f64 }
    }

    /// Both counts added.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { failed: self.failed.saturating_add(other.failed), of: self.of.saturating_add(other.of) }
    }

    /// The interval of the share that misses it with probability `alpha` at most (Clopper and Pearson, Biometrika 26,
    /// 1934). For no failure in n requests its upper end is `1 - (alpha / 2)^(1 / n)`: about 3 / n at an alpha of 0.1,
    /// the rule of three (Hanley and Lippman-Hand, JAMA 249, 1983).
    pub fn interval(self, alpha: f64) -> ConfidenceInterval {
        let (failed, rest) = (self.failed as f64, self.of.saturating_sub(self.failed) as f64);
        let low = if self.failed == 0 {
            0.0
        } else {
            solve(|share| beta_reg(failed, rest + 1.0, share), alpha / 2.0)
        };
        let high = if self.failed >= self.of {
            1.0
        } else {
            solve(|share| beta_reg(failed + 1.0, rest, share), 1.0 - alpha / 2.0)
        };
        ConfidenceInterval { low, high }
    }
}

/// The smallest variance between `n_blocks` blocks of independent requests, over the true one, that chance leaves in 19 of
/// 20 cases (the chi-squared distribution of a measured variance). 1 below two blocks.
pub fn least_by_chance(n_blocks: usize) -> f64 {
    let freedom = n_blocks.saturating_sub(1) as f64;
    ChiSquared::new(freedom).map_or(1.0, |distribution| distribution.inverse_cdf(0.05) / freedom)
}

/// The interval of the share of `to` minus that of `from`, from their separate intervals (Newcombe, Statistics in
/// Medicine 17, 1998, method 10, with exact intervals in place of Wilson's, which makes it wider).
pub fn difference(from: Counted, to: Counted, alpha: f64) -> ConfidenceInterval {
    let (before, after) = (from.share(), to.share());
    let (outer, inner) = (from.interval(alpha), to.interval(alpha));
    let difference = after - before;
    ConfidenceInterval {
        low: difference - (after - inner.low).hypot(outer.high - before),
        high: difference + (inner.high - after).hypot(before - outer.low),
    }
}

/// The share at which a rising function of it reaches `target`; halves the range until it is as narrow as two
/// numbers can differ.
fn solve(rising: impl Fn(f64) -> f64, target: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if rising(middle) < target { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(failed: u64, of: u64) -> Counted {
        Counted { failed, of }
    }

    #[test]
    fn the_variance_that_chance_leaves_is_that_of_the_printed_tables() {
        // Chi-squared at 0.05: 3.325 with 9 degrees of freedom, 0.00393 with 1.
        assert!((least_by_chance(10) - 3.325 / 9.0).abs() < 1e-4);
        assert!((least_by_chance(2) - 0.003_93).abs() < 1e-4);
        assert!(least_by_chance(1) >= 1.0 && least_by_chance(0) >= 1.0);
    }

    #[test]
    fn the_interval_is_the_one_of_the_published_table() {
        // Newcombe, Statistics in Medicine 17, 1998, 857-872, table I, method 5.
        for (failed, of, low, high) in [
            (81, 263, 0.2527, 0.3676),
            (15, 148, 0.0578, 0.1617),
            (0, 20, 0.0, 0.1684),
            (1, 29, 0.0009, 0.1776),
        ] {
            let found = counted(failed, of).interval(0.05);
            assert!(
                (found.low - low).abs() < 6e-5 && (found.high - high).abs() < 6e-5,
                "{failed}/{of}: {found:?}"
            );
        }
    }

    #[test]
    fn no_failure_in_n_requests_is_at_most_three_in_n() {
        // 1 - 0.05^(1/27,000) = 0.01109 %.
        let high = counted(0, 27_000).interval(0.1).high;
        assert!((high - 1.1095e-4).abs() < 1e-7, "{high}");
        for whole in [counted(0, 0), counted(5, 5)] {
            assert!(whole.interval(0.1).high >= 1.0, "{whole:?}");
        }
    }

    #[test]
    fn no_failures_on_both_sides_leave_a_difference_of_three_in_n_either_way() {
        let found = difference(counted(0, 3_000), counted(0, 30_000), 0.1);
        assert!((found.low + 9.98e-4).abs() < 1e-6 && (found.high - 9.985e-5).abs() < 1e-7, "{found:?}");
    }

    #[test]
    fn the_difference_of_two_shares_is_about_the_published_one() {
        // Newcombe, Statistics in Medicine 17, 1998, 873-890, table II (a), method 10: 0.0524 to 0.3339. Exact
        // intervals are a little wider than Wilson's.
        let found = difference(counted(48, 80), counted(56, 70), 0.05);
        assert!(found.low < 0.0524 && found.low > 0.035, "{found:?}");
        assert!(found.high > 0.3339 && found.high < 0.35, "{found:?}");
    }
}
