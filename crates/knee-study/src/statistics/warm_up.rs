//! Where the warm-up of a series ends: MSER, and a test whether the series keeps rising or falling.
//!
//! Does not cut anything; it returns where to cut.

use super::location::mean;
use super::trend::has_trend;

/// Fewest values for a statement.
pub const VALUES_MIN: usize = 10;

/// Chance of calling independent noise unsteady: that of a two-sided test of its trend. MSER must agree, so it is less.
const ALPHA: f64 = 0.04;

/// Where a series becomes steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// This many values at the start (0 or more) are warm-up.
    Until(usize),
    /// The best place to cut is the middle of the series, and the series has a trend: it never settles.
    NeverSteady,
    /// The series is too short to tell.
    TooShort,
}

/// How many values to cut off at the start so that the mean of the rest has the smallest standard error (White, Cobb
/// and Spratt, "A comparison of five steady-state truncation heuristics", Winter Simulation Conference 2000). Values are
/// figures of consecutive intervals, such as medians per second: each is a batch of its own, so they are not batched
/// again.
///
/// Of independent noise, the smallest standard error often lies in the middle by chance. A series is therefore called
/// unsteady only if it also has a trend.
pub fn cut(series: &[f64]) -> WarmUp {
    if series.len() < VALUES_MIN {
        return WarmUp::TooShort;
    }
    let half = series.len() / 2;
    let best = (0..=half)
        .map(|cut| (cut, statistic(&series[cut..])))
        // On equal terms the earliest cut: nothing is thrown away without a reason.
        .fold((0, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best });
    let late = best.0 + series.len().div_ceil(10) >= half;
    if late && has_trend(series, ALPHA) { WarmUp::NeverSteady } else { WarmUp::Until(best.0) }
}

/// The squared standard error, up to a constant.
fn statistic(points: &[f64]) -> f64 {
    let mean = mean(points);
    points.iter().map(|point| (point - mean).powi(2)).sum::<f64>() / (points.len() as f64).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A little noise that repeats.
    fn noise(position: usize) -> f64 {
        [0.3, -0.1, 0.2, -0.4, 0.1, -0.2, 0.0][position % 7]
    }

    #[test]
    fn a_warm_up_is_cut_where_it_ends() {
        let series: Vec<f64> =
            (0..60).map(|position| if position < 10 { 50.0 } else { 10.0 } + noise(position)).collect();
        // The value after the warm-up is the lowest of the noise.
        assert!(matches!(cut(&series), WarmUp::Until(10..=11)), "{:?}", cut(&series));
    }

    #[test]
    fn a_steady_series_keeps_all_of_itself() {
        assert_eq!(cut(&[7.0; 40]), WarmUp::Until(0));
    }

    #[test]
    fn a_series_that_keeps_falling_is_never_steady() {
        for seconds in [10, 20, 60] {
            let series: Vec<f64> = (0..seconds).map(|position| 100.0 - f64::from(position)).collect();
            assert_eq!(cut(&series), WarmUp::NeverSteady, "{seconds}");
        }
        let late: Vec<f64> = (0..60).map(|position| if position < 30 { 50.0 } else { 10.0 }).collect();
        assert_eq!(cut(&late), WarmUp::NeverSteady);
    }

    #[test]
    fn a_short_series_says_nothing() {
        assert_eq!(cut(&[1.0; VALUES_MIN - 1]), WarmUp::TooShort);
        assert_eq!(cut(&[]), WarmUp::TooShort);
    }

    #[test]
    fn independent_noise_is_rarely_called_unsteady_however_short_the_trial() {
        let mut random = Random::new(7);
        for seconds in [10, 20, 30, 60] {
            let unsteady = (0..2_000).filter(|_| {
                let series: Vec<f64> = (0..seconds).map(|_| (0.1 * random.normal()).exp()).collect();
                cut(&series) == WarmUp::NeverSteady
            });
            let unsteady = unsteady.count();
            assert!(unsteady <= 100, "seed 7, {seconds} s: {unsteady} of 2,000");
        }
    }
}
