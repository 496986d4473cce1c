//! Whether a figure grows over the run: a robust slope, and a test against chance.
//!
//! Works on numbers in order. Does not remove seasons or autocorrelation.

/// A trend over a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trend {
    /// Change from the first to the last figure along the Theil-Sen slope, as a share of the median.
    pub growth: f64,
    /// Standard score of the Mann-Kendall statistic: above 2.58 with a chance of 0.5 % at most without any trend. Of 8 to
    /// 12 figures, counting all orders gives 0.23 to 0.29 %.
    pub score: f64,
}

/// Fewest figures of a trend.
pub(crate) const FIGURES_MIN: usize = 8;

/// Most figures that are compared with each other; more are thinned evenly.
const FIGURES_MAX: usize = 400;

/// The trend; `None` of fewer than [`FIGURES_MIN`] figures, or if their median is not positive.
pub(crate) fn trend(figures: &[f64]) -> Option<Trend> {
    let step = figures.len().div_ceil(FIGURES_MAX).max(1);
    let figures: Vec<f64> = figures.iter().copied().step_by(step).collect();
    let n = figures.len();
    let median = crate::rhythm::median(&figures).filter(|median| *median > 0.0 && n >= FIGURES_MIN)?;
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    let mut sign = 0i64;
    for (place, earlier) in figures.iter().enumerate() {
        for (gap, later) in figures[place + 1..].iter().enumerate() {
            let rise = later - earlier;
            slopes.push(rise / (gap + 1) as f64);
            sign += i64::from(rise > 0.0) - i64::from(rise < 0.0);
        }
    }
    let slope = crate::rhythm::median(&slopes)?;
    let n = n as f64;
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
    let score = (sign - sign.signum()) as f64 / variance.sqrt();
    Some(Trend { growth: slope * (n - 1.0) / median, score })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;

    #[test]
    fn a_figure_that_doubles_has_grown_by_two_thirds_of_its_median() {
        let figures: Vec<f64> = (0..31).map(|second| 1_000.0 * (1.0 + f64::from(second) / 30.0)).collect();
        let trend = trend(&figures).unwrap();
        assert!((trend.growth - 1.0 / 1.5).abs() < 0.01 && trend.score > 6.0, "{trend:?}");
    }

    #[test]
    fn noise_has_no_trend() {
        let mut found = 0;
        for seed in 1..=400 {
            let mut dice = Dice(seed);
            let figures: Vec<f64> = (0..30).map(|_| 100.0 + 20.0 * dice.share()).collect();
            found += usize::from(trend(&figures).is_some_and(|trend| trend.score > 2.58));
        }
        // 0.5 % of 400 are 2; more than 8 come by chance once in 4,000 times.
        assert!(found <= 8, "{found} of 400");
        assert_eq!(trend(&[1.0; 7]), None);
    }
}
