//! The noise floor of a machine: the result of an A/A test, saved by the caller.
//!
//! Does not save it, and does not know which machine it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Refusal;
use crate::definition::{Definition, Design};
use crate::metric::Metric;
use crate::statistics::student;
use crate::statistics::verdict::ALPHA;

/// Smallest equivalence margin as a multiple of the noise; with a smaller one, two equal services would rarely get the
/// verdict `same`.
const ABOVE_NOISE: f64 = 1.5;

/// Differences between blocks of the same service on one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Description of what was measured, and where, by the caller.
    pub of: String,
    /// Number of blocks.
    pub blocks: usize,
    /// Standard deviation of the blocks' differences by metric, on the scale of the differences; with several
    /// workloads, the largest.
    pub deviations: BTreeMap<Metric, f64>,
    /// Metrics by which the A/A test called the service different from itself. Chance does so once in 20 tests; if it
    /// repeats, something on this machine is not balanced.
    pub suspicious: Vec<Metric>,
}

impl Calibration {
    /// How much noise alone changes the mean of `blocks` blocks: half the width of its 95 % interval, on the scale of
    /// the differences. `None` for a metric that was not measured.
    pub fn floor(&self, metric: Metric, blocks: usize) -> Option<f64> {
        let deviation = self.deviations.get(&metric)?;
        let freedom = blocks.checked_sub(1)?;
        let floor = student::quantile(1.0 - ALPHA / 2.0, freedom) * deviation / (blocks as f64).sqrt();
        floor.is_finite().then_some(floor)
    }

    /// The smallest useful margin, as users state it.
    pub fn least_margin(&self, metric: Metric, blocks: usize) -> Option<f64> {
        Some(metric.as_change(self.floor(metric, blocks)? * ABOVE_NOISE))
    }

    /// [`Calibration::floor`] as users state a change: of a share in points, otherwise relative.
    pub fn change(&self, metric: Metric, blocks: usize) -> Option<f64> {
        self.floor(metric, blocks).map(|floor| metric.as_change(floor))
    }

    /// The largest distance between two consecutive runs of the same service in 19 of 20 cases, on the scale of the
    /// differences: the prediction interval of one more block. Runs at different times differ by more.
    pub fn of_one(&self, metric: Metric) -> Option<f64> {
        let deviation = self.deviations.get(&metric)?;
        let freedom = self.blocks.checked_sub(1)?;
        let one_more = (1.0 + 1.0 / self.blocks.max(1) as f64).sqrt();
        let reach = student::quantile(1.0 - ALPHA / 2.0, freedom) * deviation * one_more;
        reach.is_finite().then_some(reach)
    }

    /// Refuses requested margins that are within the noise.
    pub(super) fn allows(&self, definition: &Definition, quick: bool, blocks: usize) -> Result<(), Refusal> {
        let design: &Design = &definition.design;
        if quick {
            return Ok(());
        }
        for metric in &design.metrics {
            let asked = design.margin_of(*metric);
            let least = self.least_margin(*metric, blocks);
            if let Some((asked, least)) = asked.zip(least).filter(|(asked, least)| asked < least) {
                return Err(Refusal::MarginWithinNoise { metric: *metric, asked, least, blocks });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration() -> Calibration {
        let deviations = [(Metric::P50, 0.05), (Metric::Errors, 0.0)].into();
        Calibration { of: "a server".to_owned(), blocks: 10, deviations, suspicious: Vec::new() }
    }

    #[test]
    fn noise_is_that_of_a_mean_or_of_one_more_run() {
        let known = calibration();
        // 2.2622 * 0.05 / sqrt(10), and 2.2622 * 0.05 * sqrt(1 + 1 / 10).
        let (mean, one) = (known.floor(Metric::P50, 10).unwrap(), known.of_one(Metric::P50).unwrap());
        assert!((mean - 0.035_768).abs() < 1e-5, "{mean}");
        assert!((one - 0.118_631).abs() < 1e-5, "{one}");
        assert_eq!(known.change(Metric::P50, 10), Some(mean.exp_m1()));
        assert_eq!(known.least_margin(Metric::P50, 10), Some((1.5 * mean).exp_m1()));
        assert_eq!(known.of_one(Metric::Goodput), None, "what was not measured is not known");
        assert_eq!(known.floor(Metric::P50, 1), None, "noise cannot be measured with one block");
        assert_eq!(Calibration { blocks: 1, ..known }.of_one(Metric::P50), None);
    }
}
