//! Random choices that depend on their seed only, on every machine and in every version.
//!
//! Does not create seeds: a resumed study must make the same choices again.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// The stream of a seed for one purpose, independent of those for other purposes.
    pub fn for_purpose(seed: u64, purpose: u64) -> Self {
        let mut stream = ChaCha8Rng::seed_from_u64(seed);
        stream.set_stream(purpose);
        Self(stream)
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniformly distributed whole number below `end` (above 0). Values in the remainder of 2^64 are rejected.
    pub fn below(&mut self, end: usize) -> usize {
        let end = end.max(1) as u64;
        let whole = u64::MAX - u64::MAX % end;
        loop {
            let bits = self.bits();
            if bits < whole {
                return (bits % end) as usize;
            }
        }
    }

    /// A fraction above 0 and below 1.
    pub fn fraction(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// A standard normal value (Box and Muller, Annals of Mathematical Statistics 29, 1958).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.fraction().ln()).sqrt() * (std::f64::consts::TAU * self.fraction()).cos()
    }

    /// Shuffles `items`; all orders are equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (2..=items.len()).rev() {
            items.swap(end - 1, self.below(end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_choices_for_ever() {
        // Kept: a study that was stopped with an older version goes on in the same order.
        let mut random = Random::for_purpose(1, 2);
        assert_eq!([random.below(10), random.below(10), random.below(10), random.below(10)], PINNED);
        let mut other = Random::for_purpose(1, 3);
        assert_ne!(Random::for_purpose(1, 2).bits(), other.bits());
    }

    const PINNED: [usize; 4] = [0, 3, 3, 5];

    #[test]
    fn normal_values_have_their_moments_and_fractions_their_range() {
        let mut random = Random::new(5);
        let values: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = values.iter().sum::<f64>() / 20_000.0;
        let square = values.iter().map(|value| value * value).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.05, "{mean} {square}");
        assert!((0..1_000).map(|_| random.fraction()).all(|fraction| fraction > 0.0 && fraction < 1.0));
    }

    #[test]
    fn every_order_of_three_comes_up_equally_often() {
        let mut random = Random::new(9);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *seen.entry(items).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|times| (850..1_150).contains(times)), "{seen:?}");
    }
}
