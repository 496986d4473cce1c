//! Holm's correction for tests of several metrics.
//!
//! Does not choose which tests belong together.

/// Adjusted p of each test, in the order given. A test is significant at level alpha if its adjusted p is below alpha.
/// The chance of any false positive among all tests then stays below alpha, however they depend on each other (Holm,
/// Scandinavian Journal of Statistics 6, 1979).
pub fn adjust(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|first, second| p_values[*first].total_cmp(&p_values[*second]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut greatest = 0.0_f64;
    for (rank, position) in order.into_iter().enumerate() {
        let factor = (p_values.len() - rank) as f64;
        greatest = greatest.max((p_values[position] * factor).min(1.0));
        adjusted[position] = greatest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_p_is_multiplied_most_and_order_is_kept() {
        // Sorted .01 .02 .03 .5 times 4 3 2 1: .04 .06 .06 .5.
        let adjusted = adjust(&[0.03, 0.01, 0.5, 0.02]);
        for (found, expected) in adjusted.iter().zip([0.06, 0.04, 0.5, 0.06]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(adjust(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(adjust(&[]).is_empty());
    }
}
