//! Location of a sample: mean, spread, median, and an estimate that is robust against outliers.
//!
//! Computes no confidence intervals; see [`super::paired`].

/// Arithmetic mean; NaN for an empty sample.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample variance (divided by n - 1); 0 for fewer than two values.
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// Sample standard deviation; 0 for fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    variance(values).sqrt()
}

/// The median; for an even number of values, the mean of the middle two. NaN for an empty sample.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (half, odd) = (sorted.len() / 2, sorted.len() % 2 == 1);
    match sorted.len() {
        0 => f64::NAN,
        _ if odd => sorted[half],
        _ => sorted[half - 1].midpoint(sorted[half]),
    }
}

/// The Hodges-Lehmann estimate: the median of the means of all pairs of values, including each value with itself
/// (Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963). It stays bounded if up to 29 % of the values are
/// outliers. NaN for an empty sample.
pub fn hodges_lehmann(values: &[f64]) -> f64 {
    let mut means = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (position, first) in values.iter().enumerate() {
        means.extend(values[position..].iter().map(|second| first.midpoint(*second)));
    }
    median(&means)
}

/// Skewness by the third moment (g1); 0 for a sample that does not vary. If it is above 1 or below -1, compare the
/// mean with the Hodges-Lehmann estimate.
pub fn skewness(values: &[f64]) -> f64 {
    let (mean, n) = (mean(values), values.len() as f64);
    let moment = |power: i32| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / n;
    let second = moment(2);
    if second > 0.0 { moment(3) / second.powf(1.5) } else { 0.0 }
}

/// Minimum and maximum; `None` for an empty sample.
pub fn range(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().reduce(f64::min)?;
    let greatest = values.iter().copied().reduce(f64::max)?;
    Some((least, greatest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn mean_spread_and_median_of_a_small_sample() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        close(mean(&values), 5.0);
        // Squares 9 1 1 1 0 0 4 16 = 32 over 7.
        close(variance(&values), 32.0 / 7.0);
        close(median(&values), 4.5);
        close(median(&[3.0, 1.0, 2.0]), 2.0);
        assert!(median(&[]).is_nan());
        assert_eq!(range(&values), Some((2.0, 9.0)));
    }

    #[test]
    fn a_wild_block_moves_the_mean_and_hardly_the_hodges_lehmann_estimate() {
        // Walsh averages of 1 2 3: 1 1.5 2 2 2.5 3.
        close(hodges_lehmann(&[1.0, 2.0, 3.0]), 2.0);
        let calm: Vec<f64> = (0..9).map(|round| f64::from(round) * 0.01).collect();
        let mut wild = calm.clone();
        wild.push(50.0);
        assert!(mean(&wild) > 5.0);
        assert!((hodges_lehmann(&wild) - hodges_lehmann(&calm)).abs() < 0.01);
    }

    #[test]
    fn skewness_has_the_sign_of_the_longer_tail() {
        assert!(skewness(&[0.0, 0.0, 0.0, 0.0, 1.0]) > 1.0);
        assert!(skewness(&[0.0, 1.0, 1.0, 1.0, 1.0]) < -1.0);
        close(skewness(&[1.0, 2.0, 3.0]), 0.0);
        close(skewness(&[1.0, 1.0]), 0.0);
    }
}
