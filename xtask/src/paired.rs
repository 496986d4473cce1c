//! Intervals of paired differences: for the chores that measure one thing with and without another, alternately.
//!
//! Student's t, not what `knee compare` does: a figure of BENCHMARKS.md needs no decision rule.

/// The mean of paired differences with its 95 % interval, as low, mean, high.
pub fn interval(differences: &[f64]) -> (f64, f64, f64) {
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let squares: f64 = differences.iter().map(|one| (one - mean).powi(2)).sum();
    let half = students_t(differences.len() - 1) * (squares / (count - 1.0) / count).sqrt();
    (mean - half, mean, mean + half)
}

/// The interval of a ratio from pairs of positive figures, in percent of change.
pub fn change(pairs: impl Iterator<Item = (f64, f64)>) -> (f64, f64, f64) {
    let logs: Vec<f64> = pairs.map(|(with, without)| (with / without).ln()).collect();
    let (low, mean, high) = interval(&logs);
    let percent = |log: f64| (log.exp() - 1.0) * 100.0;
    (percent(low), percent(mean), percent(high))
}

/// The 97.5 % quantile of Student's t, rounded up between the rows of its table.
fn students_t(degrees: usize) -> f64 {
    const TABLE: [(usize, f64); 10] = [
        (100, 1.984),
        (60, 2.0),
        (40, 2.021),
        (30, 2.042),
        (20, 2.086),
        (15, 2.131),
        (10, 2.228),
        (7, 2.365),
        (4, 2.776),
        (2, 4.303),
    ];
    TABLE.iter().find(|(least, _)| degrees >= *least).map_or(12.706, |(_, t)| *t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_differences_is_students() {
        // Mean 2, standard deviation 1, five values: 2.776 / sqrt(5) either way.
        let (low, mean, high) = interval(&[1.0, 1.5, 2.0, 2.0, 3.5]);
        let deviation = ((1.0 + 0.25 + 2.25) / 4.0_f64).sqrt();
        let half = 2.776 * deviation / 5f64.sqrt();
        assert!(
            (mean - 2.0).abs() < 1e-12
                && (high - mean - half).abs() < 1e-12
                && (mean - low - half).abs() < 1e-12
        );
    }

    #[test]
    fn a_change_that_is_the_same_in_every_pair_has_an_interval_without_width() {
        let (low, mean, high) = change([(1.1, 1.0), (2.2, 2.0), (3.3, 3.0)].into_iter());
        assert!([low, mean, high].iter().all(|percent| (percent - 10.0).abs() < 1e-9), "{low} {mean} {high}");
    }
}
