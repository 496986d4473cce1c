//! How fast a series rises or falls: Theil-Sen, least squares on logarithms.
//!
//! Does not remove trends. Assumes that points are independent. Consecutive lengths of a queue are not, so their
//! interval is too narrow; callers therefore also require a minimum slope.

use super::location::{mean, median};
use super::student;

/// The variance of Kendall's score of a series (Mann, Econometrica 13, 1945; ties as in Kendall, Rank Correlation
/// Methods).
fn score_variance(series: &[f64]) -> f64 {
    let part = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted
        .chunk_by(|first, second| first.total_cmp(second).is_eq())
        .map(|tie| part(tie.len() as f64))
        .sum();
    (part(series.len() as f64) - ties) / 18.0
}

/// Whether a series rises or falls, by a two-sided test that finds a trend in independent values with probability
/// `alpha` at most (Mann, Econometrica 13, 1945; the normal approximation with its correction for continuity, good from
/// ten values on).
pub fn has_trend(series: &[f64], alpha: f64) -> bool {
    let mut score = 0_i64;
    for (position, first) in series.iter().enumerate() {
        for later in &series[position + 1..] {
            score += i64::from(later > first) - i64::from(later < first);
        }
    }
    let reach = student::normal_quantile(1.0 - alpha / 2.0) * score_variance(series).sqrt();
    score.abs() as f64 - 1.0 > reach
}

/// A slope with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Change of y per unit of x.
    pub slope: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The Theil-Sen slope: the median of the slopes between all pairs of points, with an interval that misses the true
/// slope with probability `alpha` (Sen, Journal of the American Statistical Association 63, 1968, equation 2.6, by the
/// normal approximation of Kendall's statistic; good from about ten points on). Its lower end alone misses with half
/// that probability. `None` for fewer than four points or without two different x.
pub fn theil_sen(points: &[(f64, f64)], alpha: f64) -> Option<Slope> {
    let mut slopes = Vec::with_capacity(points.len() * points.len() / 2);
    for (position, (x1, y1)) in points.iter().enumerate() {
        let later = points[position + 1..].iter().filter(|(x2, _)| x2.total_cmp(x1).is_ne());
        slopes.extend(later.map(|(x2, y2)| (y2 - y1) / (x2 - x1)));
    }
    if points.len() < 4 || slopes.is_empty() {
        return None;
    }
    slopes.sort_by(f64::total_cmp);
    let series: Vec<f64> = points.iter().map(|point| point.1).collect();
    let reach = student::normal_quantile(1.0 - alpha / 2.0) * score_variance(&series).sqrt();
    let ranks = slopes.len() as f64;
    let at = |rank: f64| slopes[(rank.round().max(0.0) as usize).min(slopes.len() - 1)];
    Some(Slope {
        slope: median(&slopes),
        low: at((ranks - reach) / 2.0 - 1.0),
        high: at(f64::midpoint(ranks, reach)),
    })
}

/// Slope of the least-squares line. `None` for fewer than two points or without two different x.
pub fn least_squares(points: &[(f64, f64)]) -> Option<f64> {
    let x_mean = mean(&points.iter().map(|point| point.0).collect::<Vec<_>>());
    let y_mean = mean(&points.iter().map(|point| point.1).collect::<Vec<_>>());
    let across: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    let along: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    (across > 0.0).then(|| along / across)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(values: &[f64]) -> Vec<(f64, f64)> {
        values.iter().enumerate().map(|(x, value)| (x as f64, *value)).collect()
    }

    #[test]
    fn ties_lower_the_variance_of_the_score() {
        let series = [23.0, 24.0, 29.0, 6.0, 29.0, 24.0, 24.0, 29.0, 23.0];
        // n = 9: 9*8*23 = 1656; ties 3 of 24, 3 of 29: 2 * 3*2*11 = 132; 2 of 23: 2*1*9 = 18.
        assert!((score_variance(&series) - (1656.0 - 150.0) / 18.0).abs() < 1e-9);
    }

    #[test]
    fn a_step_and_a_line_have_a_trend_and_waves_have_none() {
        let step: Vec<f64> = (0..20).map(|position| if position < 10 { 5.0 } else { 1.0 }).collect();
        assert!(has_trend(&step, 0.05));
        assert!(has_trend(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0], 0.05));
        let wave: Vec<f64> = (0..20).map(|position| f64::from(position % 2)).collect();
        assert!(!has_trend(&wave, 0.05) && !has_trend(&[3.0; 20], 0.05));
    }

    #[test]
    fn a_line_has_its_slope_whatever_a_few_wild_points_say() {
        let mut points: Vec<(f64, f64)> = (0..20).map(|x| (f64::from(x), 3.0 * f64::from(x) + 1.0)).collect();
        points[4].1 = 500.0;
        points[11].1 = -900.0;
        let found = theil_sen(&points, 0.05).unwrap();
        assert!((found.slope - 3.0).abs() < 1e-9, "{found:?}");
        assert!(found.low <= 3.0 && found.high >= 3.0, "{found:?}");
        assert_eq!(theil_sen(&points[..3], 0.05), None);
    }

    #[test]
    fn a_power_law_is_a_line_on_logarithms() {
        let points: Vec<(f64, f64)> =
            [1e3, 2e3, 4e3, 8e3].map(|n: f64| (n.ln(), (0.5 * n.powf(1.1)).ln())).to_vec();
        assert!((least_squares(&points).unwrap() - 1.1).abs() < 1e-9);
        assert_eq!(least_squares(&points[..1]), None);
    }

    #[test]
    fn what_goes_up_and_down_is_not_found_to_rise() {
        let values = [5.0, 9.0, 2.0, 7.0, 4.0, 8.0, 3.0, 6.0, 5.0, 4.0];
        assert!(theil_sen(&line(&values), 0.1).unwrap().low <= 0.0);
    }

    proptest! {
        #[test]
        fn the_slope_lies_within_its_interval_and_all_three_move_with_a_drift(
            values in prop::collection::vec(-100.0f64..100.0, 4..40),
            drift in -10.0f64..10.0,
        ) {
            let still = theil_sen(&line(&values), 0.1).unwrap();
            prop_assert!(still.low <= still.slope && still.slope <= still.high);
            let moved: Vec<f64> = values.iter().enumerate().map(|(x, value)| value + drift * x as f64).collect();
            let moved = theil_sen(&line(&moved), 0.1).unwrap();
            prop_assert!((moved.slope - still.slope - drift).abs() < 1e-6);
            prop_assert!((moved.low - still.low - drift).abs() < 1e-6);
            prop_assert!((moved.high - still.high - drift).abs() < 1e-6);
        }
    }
}
