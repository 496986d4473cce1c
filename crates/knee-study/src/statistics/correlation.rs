//! How many consecutive values say as much as one independent value.
//!
//! Does not model the series.

use super::location::{mean, variance};

/// Batches over which the spread of means is taken.
const BATCHES: usize = 30;

/// The autocorrelation time by batch means: the variance of the means of 30 consecutive batches, times the length of a
/// batch, over the variance of the values (Flegal, Haran and Jones, Statistical Science 23, 2008). 1 for independent
/// values, never below; `None` with fewer than 60 values, or if they do not vary. A batch has to be
/// much longer than the result, or the result is too low: below a tenth of the batch it can be relied on.
pub fn time(series: &[f64]) -> Option<f64> {
    let length = series.len() / BATCHES;
    let spread = variance(series);
    if length < 2 || spread <= 0.0 {
        return None;
    }
    let means: Vec<f64> = series.chunks_exact(length).map(mean).collect();
    Some((length as f64 * variance(&means) / spread).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn autoregressive(phi: f64, length: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut value = 0.0;
        let step = |_| {
            value = phi * value + random.normal();
            value
        };
        (0..length).map(step).collect()
    }

    #[test]
    fn it_is_that_of_the_process() {
        // (1 + phi) / (1 - phi): 1, 3 and 19. Thirty batches know it to about 26 %, so six series are averaged.
        for (phi, expected) in [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)] {
            let times: Vec<f64> =
                (0..6).filter_map(|seed| time(&autoregressive(phi, 30_000, seed))).collect();
            let found = mean(&times);
            assert!((found / expected - 1.0).abs() < 0.3, "phi {phi}: {found}, not {expected}");
        }
    }

    #[test]
    fn a_short_or_flat_series_has_none() {
        assert_eq!(time(&[1.0; 500]), None);
        assert_eq!(time(&[1.0, 2.0, 3.0]), None);
    }
}
