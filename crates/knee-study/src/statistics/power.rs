//! What a number of rounds can see, and how many rounds something takes to be seen.
//!
//! Does not look at the effect found, only at the spread: power after the fact from the effect itself would
//! say nothing new.

use super::student;

/// The chance with which a difference is to be found that is there.
pub const POWER: f64 = 0.8;

/// More rounds than anybody runs; beyond it "more" is all that is said.
pub const ROUNDS_MAX: usize = 10_000;

/// The smallest difference that `rounds` rounds find with a chance of 80 %, on the scale of the differences:
/// `(t(1 - alpha/2) + t(0.8)) s / sqrt(R)` (Bloom, Evaluation Review 19, 1995). Infinite below two rounds.
pub fn detectable(deviation: f64, rounds: usize, alpha: f64) -> f64 {
    if rounds < 2 {
        return f64::INFINITY;
    }
    let freedom = rounds - 1;
    let t = student::quantile(1.0 - alpha / 2.0, freedom) + student::quantile(POWER, freedom);
    t * deviation / (rounds as f64).sqrt()
}

/// The fewest rounds that find a difference of `margin` with a chance of 80 %; `None` if that takes more
/// than [`ROUNDS_MAX`]. The degrees of freedom are those of the answer, not of the rounds there were.
pub fn rounds_needed(deviation: f64, margin: f64, alpha: f64) -> Option<usize> {
    if detectable(deviation, ROUNDS_MAX, alpha) > margin {
        return None;
    }
    let (mut too_few, mut enough) = (1, ROUNDS_MAX);
    while enough - too_few > 1 {
        let middle = usize::midpoint(too_few, enough);
        if detectable(deviation, middle, alpha) <= margin { enough = middle } else { too_few = middle }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_rounds_that_vary_by_five_per_cent_see_five_per_cent() {
        // (2.2622 + 0.8834) * 0.05 / sqrt(10).
        let least = detectable(0.05, 10, 0.05);
        assert!((least - 0.049_737).abs() < 1e-4, "{least}");
        assert_eq!(rounds_needed(0.05, 0.05, 0.05), Some(10));
    }

    #[test]
    fn half_the_margin_takes_about_four_times_the_rounds() {
        let (one, half) = (rounds_needed(0.1, 0.05, 0.05), rounds_needed(0.1, 0.025, 0.05));
        let ratio = half.unwrap() as f64 / one.unwrap() as f64;
        assert!((3.5..4.1).contains(&ratio), "{one:?} {half:?}");
    }

    #[test]
    fn noise_beyond_measure_is_said_and_none_at_all_needs_two_rounds() {
        assert_eq!(rounds_needed(10.0, 0.01, 0.05), None);
        assert_eq!(rounds_needed(0.0, 0.05, 0.05), Some(2));
        assert!(detectable(0.01, 1, 0.05).is_infinite());
    }
}
