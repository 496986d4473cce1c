//! The exact test of no difference: the share of all ways to swap the two sides that give a mean as extreme as the
//! observed one.
//!
//! If both sides of every block are the same service, each difference could equally have the opposite sign
//! (Fisher, The Design of Experiments, 1935, section 21). The test assumes nothing about the shape of the noise.
//! Does not correct for several metrics; see [`super::holm`].

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// Up to this many blocks, all 2^R ways are tried; above, a sample of them.
pub const EXACT_MAX: usize = 20;

/// Size of that sample. Its p is good to about 3 % of itself at 0.01.
const DRAWS: u64 = 100_000;

/// Two-sided p: the share of sign patterns whose mean is as far from 0 as that of the blocks, or farther.
///
/// With R blocks it is never below 2 / 2^R. The `seed` matters only above [`EXACT_MAX`] blocks. 1 without a block.
pub fn p_value(differences: &[f64], seed: u64) -> f64 {
    let scale: f64 = differences.iter().map(|difference| difference.abs()).sum();
    if scale == 0.0 {
        return 1.0;
    }
    // Sums that are equal by arithmetic can differ in their last bits.
    let observed = differences.iter().sum::<f64>().abs() - scale * 1e-9;
    if differences.len() <= EXACT_MAX {
        exact(differences, observed)
    } else {
        sampled(differences, observed, seed)
    }
}

/// The smallest p that `blocks` blocks can give.
pub fn least_p(n_blocks: usize) -> f64 {
    2.0 / 2.0_f64.powi(n_blocks.min(1_000) as i32)
}

/// Counts all patterns in two halves: each sum of one half is compared with the sorted sums of the other (Horowitz and
/// Sahni, Journal of the ACM 21, 1974), which takes 2^(R/2) steps instead of 2^R. The first sign is fixed, because a
/// pattern and its mirror image are equally far from 0.
fn exact(differences: &[f64], observed: f64) -> f64 {
    let Some((first, rest)) = differences.split_first() else { return 1.0 };
    let (one, other) = rest.split_at(rest.len() / 2);
    let (one, mut other) = (sums(*first, one), sums(0.0, other));
    other.sort_unstable_by(f64::total_cmp);
    let far = |sum: &f64| {
        let below = other.partition_point(|rest| sum + rest <= -observed);
        let above = other.len() - other.partition_point(|rest| sum + rest < observed);
        below + above
    };
    let far: usize = one.iter().map(far).sum();
    // Where all sums are 0 up to rounding, a pattern counts on both sides.
    (far as f64 / (one.len() * other.len()) as f64).min(1.0)
}

/// The sums of all sign patterns of `differences` on top of `start`.
fn sums(start: f64, differences: &[f64]) -> Vec<f64> {
    differences.iter().fold(vec![start], |sums, difference| {
        sums.iter().flat_map(|sum| [sum + difference, sum - difference]).collect()
    })
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
            for (position, difference) in chunk.iter().enumerate() {
                sum += if signs >> position & 1 == 1 { *difference } else { -difference };
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
    fn counting_by_halves_counts_what_counting_one_by_one_does() {
        for n_blocks in 1..=11 {
            let differences: Vec<f64> =
                (0..n_blocks).map(|round| 0.01 + f64::sin(f64::from(round * 5))).collect();
            let observed = differences.iter().sum::<f64>().abs();
            let patterns = 1u32 << n_blocks;
            let sum = |signs: u32| {
                let signed = differences.iter().enumerate();
                signed.map(|(position, d)| if signs >> position & 1 == 1 { -d } else { *d }).sum::<f64>()
            };
            let far = (0..patterns).filter(|signs| sum(*signs).abs() >= observed - 1e-9).count();
            close(p_value(&differences, 0), far as f64 / f64::from(patterns));
        }
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
    fn many_blocks_give_the_same_p_for_the_same_seed() {
        let differences: Vec<f64> =
            (0..30).map(|round| 0.01 + 0.05 * f64::cos(f64::from(round * 3))).collect();
        close(p_value(&differences, 3), p_value(&differences, 3));
        assert!(p_value(&[0.1; 30], 3) <= 1.1 / DRAWS as f64);
    }
}
