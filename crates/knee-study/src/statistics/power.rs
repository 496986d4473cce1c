//! The smallest difference that a number of blocks detects, and the number of blocks that a difference needs.
//!
//! Uses the spread only, not the effect found: power computed from the observed effect adds no information.

use super::student;

/// The chance of detecting a difference that exists.
pub const POWER: f64 = 0.8;

/// The largest practical number of blocks; beyond it there is no estimate.
pub const BLOCKS_MAX: usize = 10_000;

/// The smallest difference that `blocks` blocks detect with a chance of 80 %, on the scale of the differences:
/// `(t(1 - alpha/2) + t(0.8)) s / sqrt(R)` (Bloom, Evaluation Review 19, 1995). Infinite below two blocks.
pub fn mde(deviation: f64, n_blocks: usize, alpha: f64) -> f64 {
    if n_blocks < 2 {
        return f64::INFINITY;
    }
    let freedom = n_blocks - 1;
    let t = student::quantile(1.0 - alpha / 2.0, freedom) + student::quantile(POWER, freedom);
    t * deviation / (n_blocks as f64).sqrt()
}

/// The fewest blocks that detect a difference of `margin` with a chance of 80 %; `None` if more than [`ROUNDS_MAX`].
/// Uses the degrees of freedom of the returned number, not of the existing blocks.
pub fn blocks_needed(deviation: f64, margin: f64, alpha: f64) -> Option<usize> {
    if mde(deviation, BLOCKS_MAX, alpha) > margin {
        return None;
    }
    let (mut too_few, mut enough) = (1, BLOCKS_MAX);
    while enough - too_few > 1 {
        let middle = usize::midpoint(too_few, enough);
        if mde(deviation, middle, alpha) <= margin { enough = middle } else { too_few = middle }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_blocks_that_vary_by_five_per_cent_detect_five_per_cent() {
        // (2.2622 + 0.8834) * 0.05 / sqrt(10).
        let least = mde(0.05, 10, 0.05);
        assert!((least - 0.049_737).abs() < 1e-4, "{least}");
        assert_eq!(blocks_needed(0.05, 0.05, 0.05), Some(10));
    }

    #[test]
    fn half_the_margin_needs_about_four_times_the_blocks() {
        let (one, half) = (blocks_needed(0.1, 0.05, 0.05), blocks_needed(0.1, 0.025, 0.05));
        let ratio = half.unwrap() as f64 / one.unwrap() as f64;
        assert!((3.5..4.1).contains(&ratio), "{one:?} {half:?}");
    }

    #[test]
    fn extreme_noise_needs_no_practical_number_of_blocks_and_none_needs_two() {
        assert_eq!(blocks_needed(10.0, 0.01, 0.05), None);
        assert_eq!(blocks_needed(0.0, 0.05, 0.05), Some(2));
        assert!(mde(0.01, 1, 0.05).is_infinite());
    }
}
