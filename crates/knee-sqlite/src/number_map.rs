//! A map whose keys are numbers that no client chooses: addresses of texts, and hashes of texts.
//!
//! The hash of the standard library protects against keys that were chosen to collide, and takes most of the time of a
//! look-up. These keys need only be spread. Hashes no texts.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by number.
pub(crate) type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Spreads numbers: addresses end with the same bits, and the map looks at the last bits and at the first ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NumberHasher(u64);

/// 2^64 divided by the golden ratio: consecutive multiples of it lie far apart (Knuth, The Art of Computer Programming,
/// volume 3, section 6.4).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let product = (self.0 ^ number).wrapping_mul(FACTOR);
        self.0 = product ^ (product >> 32);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn hash(number: usize) -> u64 {
        let mut hasher = NumberHasher::default();
        hasher.write_usize(number);
        hasher.finish()
    }

    #[test]
    fn addresses_that_end_with_the_same_bits_are_spread_over_the_places_of_a_map() {
        let hashes: Vec<u64> = (0..256).map(|number| hash(0x7f00_0000_0000 + number * 64)).collect();
        let places: BTreeSet<u64> = hashes.iter().map(|hash| hash % 256).collect();
        assert!(places.len() > 120, "{} of 256 places", places.len());
        let tags: BTreeSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
        assert!(tags.len() > 60, "{} of 128 tags", tags.len());
    }

    #[test]
    fn a_map_finds_what_it_was_given() {
        let mut map: NumberMap<usize, usize> = NumberMap::default();
        map.extend((0..1_000).map(|number| (number * 16, number)));
        assert!((0..1_000).all(|number| map.get(&(number * 16)) == Some(&number)));
        assert_eq!(map.get(&1), None);
    }
}
