//! Whether a series rises: Theil and Sen's slope with its lower bound.
//!
//! Does not assume any distribution of what lies around the line. Does assume that the points are
//! independent, which the length of a queue is not: neighbours look alike, so the bound is too
//! tight. Who uses it asks for a slope that matters as well.

/// A slope and what it is at least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// The median of the slopes of all pairs of points.
    pub median: f64,
    /// Lower end of its one-sided 95 % interval (Sen, 1968, equation 2.6, by the normal
    /// approximation of Kendall's statistic; good from about ten points on).
    pub low: f64,
}

/// 95 % of a normal distribution lie below this.
const Z_95: f64 = 1.645;

/// The slope through `points` of (time, value); `None` for fewer than four, of which nothing can be said.
pub fn slope(points: &[(f64, f64)]) -> Option<Slope> {
    if points.len() < 4 {
        return None;
    }
    let mut slopes: Vec<f64> = Vec::new();
    for (place, (t1, y1)) in points.iter().enumerate() {
        let later = points[place + 1..].iter().filter(|(t2, _)| t2 > t1);
        slopes.extend(later.map(|(t2, y2)| (y2 - y1) / (t2 - t1)));
    }
    if slopes.is_empty() {
        return None;
    }
    slopes.sort_by(f64::total_cmp);
    let n = points.len() as f64;
    let spread = Z_95 * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let rank = (slopes.len() as f64 - spread) / 2.0;
    let low = slopes[(rank.floor().max(0.0) as usize).min(slopes.len() - 1)];
    Some(Slope { median: median(&slopes), low })
}

/// The median of ascending numbers, of which there is one at least.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { sorted[middle - 1].midpoint(sorted[middle]) } else { sorted[middle] }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(values: &[f64]) -> Vec<(f64, f64)> {
        values.iter().enumerate().map(|(t, value)| (t as f64, *value)).collect()
    }

    #[test]
    fn a_line_has_its_slope_and_one_outlier_does_not_move_it() {
        let mut values: Vec<f64> = (0..11).map(|t| 3.0 * f64::from(t)).collect();
        assert_eq!(slope(&line(&values)), Some(Slope { median: 3.0, low: 3.0 }));
        values[5] = 1e6;
        assert_eq!(slope(&line(&values)).map(|slope| slope.median), Some(3.0));
    }

    #[test]
    fn what_goes_up_and_down_is_not_found_to_rise() {
        let values = [5.0, 9.0, 2.0, 7.0, 4.0, 8.0, 3.0, 6.0, 5.0, 4.0];
        assert!(slope(&line(&values)).unwrap().low <= 0.0);
        assert_eq!(slope(&line(&values[..3])), None);
    }

    proptest! {
        #[test]
        fn the_bound_is_never_above_the_slope_and_both_move_with_a_drift(
            values in prop::collection::vec(-100.0f64..100.0, 4..40),
            drift in -10.0f64..10.0,
        ) {
            let still = slope(&line(&values)).unwrap();
            prop_assert!(still.low <= still.median);
            let moved: Vec<f64> = values.iter().enumerate().map(|(t, value)| value + drift * t as f64).collect();
            let moved = slope(&line(&moved)).unwrap();
            prop_assert!((moved.median - still.median - drift).abs() < 1e-6);
            prop_assert!((moved.low - still.low - drift).abs() < 1e-6);
        }
    }
}
