//! The exact test of no difference: which of all ways to exchange the two sides look as lopsided as this one.
//!
//! If both sides of every round are the same service, each difference could as well have the other sign
//! (Fisher, The Design of Experiments, 1935, section 21). Nothing is assumed of the shape of the noise.
//! Does not correct for several metrics; see [`super::holm`].

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// Up to so many rounds all 2^R ways are tried; above, a sample of them.
pub const EXACT_MAX: usize = 20;

/// Size of that sample. Its p is good to about 3 % of itself at 0.01.
const DRAWS: u64 = 100_000;

/// Two-sided p: the share of sign patterns whose mean is as far from 0 as that of the rounds, or farther.
///
/// With R rounds it is never below 2 / 2^R. The `seed` only matters above [`EXACT_MAX`] rounds. 1 without
/// a round.
pub fn p_value(differences: &[f64], seed: u64) -> f64 {
    let scale: f64 = differences.iter().map(|difference| difference.abs()).sum();
    if scale == 0.0 {
        return 1.0;
    }
    // Sums that are equal by arithmetic may differ in their last bits.
    let observed = differences.iter().sum::<f64>().abs() - scale * 1e-9;
    if differences.len() <= EXACT_MAX {
        exact(differences, observed)
    } else {
        sampled(differences, observed, seed)
    }
}

/// The least p that `rounds` rounds can give.
pub fn least_p(rounds: usize) -> f64 {
    2.0 / 2.0_f64.powi(rounds.min(1_000) as i32)
}

/// Walks all patterns in Gray code order, so that each step turns one sign. The first sign stays: a pattern
/// and its mirror image are equally far from 0.
fn exact(differences: &[f64], observed: f64) -> f64 {
    let (Some(first), rest) = (differences.first(), differences.get(1..).unwrap_or_default()) else {
        return 1.0;
    };
    let mut turned = vec![false; rest.len()];
    let mut sum: f64 = first + rest.iter().sum::<f64>();
    let mut far = u64::from(sum.abs() >= observed);
    let patterns = 1u64 << rest.len();
    for step in 1..patterns {
        let place = step.trailing_zeros() as usize;
        sum += if turned[place] { 2.0 * rest[place] } else { -2.0 * rest[place] };
        turned[place] = !turned[place];
        far += u64::from(sum.abs() >= observed);
    }
    far as f64 / patterns as f64
}

/// The pattern that was observed counts as one of those drawn, so that p is never 0 (Phipson and Smyth,
/// Statistical Applications in Genetics and Molecular Biology 9, 2010).
fn sampled(differences: &[f64], observed: f64, seed: u64) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut far = 1u64;
    for _ in 0..DRAWS {
        let mut sum = 0.0;
        for chunk in differences.chunks(64) {
            let signs = random.next_u64();
            for (place, difference) in chunk.iter().enumerate() {
                sum += if signs >> place & 1 == 1 { *difference } else { -difference };
            }
        }
        far += u64::from(f64::abs(sum) >= observed);
    }
    far as f64 / (DRAWS + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn all_patterns_are_counted() {
        // Of +-1 +-2 +-4 only +7 and -7 reach 7; 5 is reached by 7 5 -5 -7.
        close(p_value(&[1.0, 2.0, 4.0], 0), 2.0 / 8.0);
        close(p_value(&[-1.0, 2.0, 4.0], 0), 4.0 / 8.0);
        close(p_value(&[0.1; 10], 0), least_p(10));
        close(least_p(10), 2.0 / 1024.0);
        close(p_value(&[], 0), 1.0);
        close(p_value(&[0.0; 8], 0), 1.0);
    }

    #[test]
    fn equal_sums_count_as_equally_far() {
        // 0.1 + 0.2 - 0.3 is not 0 in binary; all patterns reach at least that sum.
        close(p_value(&[0.1, 0.2, -0.3], 0), 1.0);
    }

    #[test]
    fn the_sample_agrees_with_the_whole() {
        let differences: Vec<f64> =
            (0..16).map(|round| 0.02 + 0.1 * f64::sin(f64::from(round * 7))).collect();
        let observed = differences.iter().sum::<f64>().abs() - 1e-12;
        let (whole, sample) = (exact(&differences, observed), sampled(&differences, observed, 7));
        assert!((whole - sample).abs() < 0.006, "{whole} and {sample}");
    }

    #[test]
    fn many_rounds_give_the_same_p_for_the_same_seed() {
        let differences: Vec<f64> =
            (0..30).map(|round| 0.01 + 0.05 * f64::cos(f64::from(round * 3))).collect();
        close(p_value(&differences, 3), p_value(&differences, 3));
        assert!(p_value(&[0.1; 30], 3) <= 1.1 / DRAWS as f64);
    }
}
