//! What a number of blocks can see, and how many blocks something takes to be seen.
//!
//! Does not look at the effect found, only at the spread: power after the fact from the effect itself would
//! say nothing new.

use super::student;

/// The chance with which a difference is to be found that is there.
pub const POWER: f64 = 0.8;

/// More blocks than are practical; beyond it the estimate says only "more".
pub const BLOCKS_MAX: usize = 10_000;

/// The smallest difference that `blocks` blocks find with a chance of 80 %, on the scale of the differences:
/// `(t(1 - alpha/2) + t(0.8)) s / sqrt(R)` (Bloom, Evaluation Review 19, 1995). Infinite below two blocks.
pub fn mde(deviation: f64, n_blocks: usize, alpha: f64) -> f64 {
    if n_blocks < 2 {
        return f64::INFINITY;
    }
    let freedom = n_blocks - 1;
    let t = student::quantile(1.0 - alpha / 2.0, freedom) + student::quantile(POWER, freedom);
    t * deviation / (n_blocks as f64).sqrt()
}

/// The fewest blocks that find a difference of `margin` with a chance of 80 %; `None` if that takes more
/// than [`ROUNDS_MAX`]. The degrees of freedom are those of the answer, not of the blocks there were.
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
