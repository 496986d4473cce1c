//! The smallest difference that a number of blocks detects, and the number of blocks that a difference needs.
//!
//! Follows the rule that gives verdicts: Student's test at the level that Holm's correction leaves to one of several
//! tests, and the exact test at the level of the study. Uses the spread only, not the effect found: power computed from
//! the observed effect adds no information.

use super::{sign_flip, student};

/// The chance of detecting a difference that exists.
pub const POWER: f64 = 0.8;

/// The largest practical number of blocks; beyond it there is no estimate.
pub const BLOCKS_MAX: usize = 10_000;

/// The tests of a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Chance of a false verdict among all tests that are corrected together, 0 to 1.
    pub alpha: f64,
    /// How many those are; 1 or more. A difference in one of them is then tested at `alpha / tests` (Holm's first step).
    pub tests: usize,
}

impl Level {
    /// The least p that a test of its own must reach.
    pub fn of_one(self) -> f64 {
        self.alpha / self.tests.max(1) as f64
    }

    /// The fewest blocks that can give a verdict: with fewer, chance alone can produce the most extreme result of the
    /// exact test. An interval decides nothing with fewer either: if they agree by chance, it is too narrow.
    pub fn least_blocks(self) -> usize {
        (2..64).find(|blocks| sign_flip::least_p(*blocks) < self.alpha).unwrap_or(64)
    }
}

/// The smallest difference that `blocks` blocks detect with a chance of 80 %, in standard deviations of the blocks'
/// differences as they are measured: on average a little below the true one. Infinite with fewer blocks than a verdict
/// needs.
pub fn mde(n_blocks: usize, level: Level) -> f64 {
    if n_blocks < level.least_blocks() {
        return f64::INFINITY;
    }
    by_student(n_blocks, level.of_one()).max(by_sign_flip(n_blocks, level.alpha)) / mean_deviation(n_blocks)
}

/// The mean of the measured standard deviation of normal differences over the true one (to a thousandth, from five blocks
/// on; Cureton, American Statistician 22, 1968).
pub fn mean_deviation(n_blocks: usize) -> f64 {
    let freedom = n_blocks.saturating_sub(1) as f64;
    4.0 * freedom / (4.0 * freedom + 1.0)
}

/// That of Student's test: its noncentrality at 80 % power, over the root of the number of blocks (Johnson and Welch,
/// Biometrika 31, 1940, their normal approximation; within 1 % of the noncentral t distribution from five degrees of
/// freedom on).
fn by_student(n_blocks: usize, alpha: f64) -> f64 {
    let t = student::quantile(1.0 - alpha / 2.0, n_blocks - 1);
    // The variance of the measured deviation is what its mean leaves of 1.
    let mean = mean_deviation(n_blocks);
    let z = student::normal_quantile(POWER);
    (t * mean + z * (1.0 + t * t * (1.0 - mean * mean)).sqrt()) / (n_blocks as f64).sqrt()
}

/// That of the exact test for normal differences. With many blocks it is Student's test (Lehmann and Romano, Testing
/// Statistical Hypotheses, 15.2); with few, its steps are coarse, and [`BY_SIGN_FLIP`] has what was simulated.
fn by_sign_flip(n_blocks: usize, alpha: f64) -> f64 {
    let known = BY_SIGN_FLIP.iter().find(|(of, _)| alpha >= *of).map(|(_, table)| table);
    let simulated = known.and_then(|table| table.get(n_blocks.checked_sub(BLOCKS_FIRST)?)).copied();
    simulated.filter(|deviations| *deviations > 0.0).unwrap_or_else(|| by_student(n_blocks, alpha))
}

/// The first number of blocks in the tables.
const BLOCKS_FIRST: usize = 6;

/// Differences in standard deviations that the exact test finds in 80 % of 20,000 simulated studies, from six blocks on,
/// at both levels of a study. `cargo test -p knee-study --test simulation exact` repeats the simulation. 0 where no
/// result is significant.
const BY_SIGN_FLIP: [(f64, [f64; 9]); 2] = [
    (0.05, [1.799, 1.329, 1.198, 1.092, 0.999, 0.940, 0.891, 0.850, 0.810]),
    (0.029, [0.0, 1.857, 1.416, 1.225, 1.108, 1.043, 0.984, 0.937, 0.892]),
];

/// The fewest blocks with which a difference of `margin` is detected with a chance of 80 %, and with which services
/// that do not differ get the verdict `same` as often; `None` if more than [`BLOCKS_MAX`]. `deviation` is that of the
/// blocks' differences. Uses the degrees of freedom of the returned number, not of the existing blocks.
pub fn blocks_needed(deviation: f64, margin: f64, level: Level) -> Option<usize> {
    let enough = |blocks: usize| {
        let different = mde(blocks, level) * deviation <= margin;
        different && same_at(blocks, level.alpha) * deviation <= margin
    };
    if !enough(BLOCKS_MAX) {
        return None;
    }
    let (mut too_few, mut sufficient) = (1, BLOCKS_MAX);
    while sufficient - too_few > 1 {
        let middle = usize::midpoint(too_few, sufficient);
        if enough(middle) { sufficient = middle } else { too_few = middle }
    }
    Some(sufficient)
}

/// The margin, in standard deviations, within which two one-sided tests place equal services with a chance of 80 %:
/// each side fails in a tenth of the cases (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987).
fn same_at(n_blocks: usize, alpha: f64) -> f64 {
    let freedom = n_blocks.saturating_sub(1);
    let t = student::quantile(1.0 - alpha, freedom) + student::quantile(f64::midpoint(1.0, POWER), freedom);
    t / (n_blocks as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Level = Level { alpha: 0.05, tests: 1 };

    #[test]
    fn the_noncentrality_is_that_of_the_published_power_tables() {
        // Cohen, Statistical Power Analysis, 1988, one sample, two-sided 0.05, power 0.8: n = 34 detects d = 0.5, n = 15
        // d = 0.78 (noncentral t: 0.4945 and 0.7785).
        for (n_blocks, expected) in [(34, 0.4945), (15, 0.7785)] {
            let found = by_student(n_blocks, 0.05);
            assert!((found - expected).abs() < 0.006, "{n_blocks}: {found}");
        }
    }

    #[test]
    fn more_tests_and_fewer_blocks_detect_less() {
        let four = Level { tests: 4, ..ONE };
        assert!(mde(10, four) > mde(10, ONE) && mde(8, four) > mde(10, four));
        assert!(mde(5, ONE).is_infinite(), "2 / 2^5 is above 0.05");
        assert_eq!((ONE.least_blocks(), Level { alpha: 0.0294, tests: 1 }.least_blocks()), (6, 7));
    }

    #[test]
    fn half_the_margin_needs_about_four_times_the_blocks() {
        let (one, half) = (blocks_needed(0.1, 0.05, ONE), blocks_needed(0.1, 0.025, ONE));
        let ratio = half.unwrap() as f64 / one.unwrap() as f64;
        assert!((3.5..4.1).contains(&ratio), "{one:?} {half:?}");
    }

    #[test]
    fn extreme_noise_needs_no_practical_number_of_blocks_and_none_needs_what_the_exact_test_needs() {
        assert_eq!(blocks_needed(10.0, 0.01, ONE), None);
        assert_eq!(blocks_needed(0.0, 0.05, ONE), Some(6));
    }
}
