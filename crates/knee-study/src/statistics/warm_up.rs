//! Where the warm-up of a series ends: MSER-5.
//!
//! Does not cut anything; it returns where to cut. For a trend in the rest see [`super::trend`].

use super::location::mean;

/// Number of values that are averaged to one point.
const BATCH: usize = 5;

/// Fewest points for a cut.
const POINTS_MIN: usize = 4;

/// Where a series becomes steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// This many values at the start (0 or more, a multiple of five) are warm-up.
    Until(usize),
    /// The best place to cut lies in the last half or at its edge: the series never settles.
    NeverSteady,
    /// The series is too short to tell.
    TooShort,
}

/// How many values to cut off at the start so that the mean of the rest has the smallest standard error.
///
/// The standard error is computed over means of five values (White, Cobb
/// and Spratt, "A comparison of five steady-state truncation heuristics", Winter Simulation Conference 2000). Values
/// are figures of consecutive intervals, such as medians per second. Fewer than five values left at the end are
/// ignored.
pub fn cut(series: &[f64]) -> WarmUp {
    let points: Vec<f64> = series.chunks_exact(BATCH).map(mean).collect();
    if points.len() < POINTS_MIN {
        return WarmUp::TooShort;
    }
    let half = points.len() / 2;
    let best = (0..=half)
        .map(|cut| (cut, statistic(&points[cut..])))
        // On equal terms the earliest cut: nothing is thrown away without a reason.
        .fold((0, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best });
    if best.0 == half { WarmUp::NeverSteady } else { WarmUp::Until(best.0 * BATCH) }
}

/// The squared standard error, up to a constant.
fn statistic(points: &[f64]) -> f64 {
    let mean = mean(points);
    points.iter().map(|point| (point - mean).powi(2)).sum::<f64>() / (points.len() as f64).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A little noise that repeats.
    fn noise(position: usize) -> f64 {
        [0.3, -0.1, 0.2, -0.4, 0.1, -0.2, 0.0][position % 7]
    }

    #[test]
    fn a_warm_up_is_cut_where_it_ends() {
        let series: Vec<f64> =
            (0..60).map(|position| if position < 10 { 50.0 } else { 10.0 } + noise(position)).collect();
        assert_eq!(cut(&series), WarmUp::Until(10));
    }

    #[test]
    fn a_steady_series_keeps_most_of_itself() {
        let flat = vec![7.0; 40];
        assert_eq!(cut(&flat), WarmUp::Until(0));
    }

    #[test]
    fn a_series_that_keeps_falling_is_never_steady() {
        let series: Vec<f64> = (0..60).map(|position| 100.0 - f64::from(position)).collect();
        assert_eq!(cut(&series), WarmUp::NeverSteady);
        let late: Vec<f64> = (0..60).map(|position| if position < 30 { 50.0 } else { 10.0 }).collect();
        assert_eq!(cut(&late), WarmUp::NeverSteady);
    }

    #[test]
    fn a_short_series_says_nothing() {
        assert_eq!(cut(&[1.0; 19]), WarmUp::TooShort);
        assert_eq!(cut(&[]), WarmUp::TooShort);
    }
}
