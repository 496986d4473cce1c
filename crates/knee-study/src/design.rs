//! In which order the trials of a block run.
//!
//! Every block has every variant once. Which variant comes first, and which comes after which, is balanced over the
//! blocks and otherwise left to the seed, so that neither drift of the machine nor what one variant leaves behind for
//! the next favours any. A function of seed and block alone: a study that is resumed goes on as it began. Does
//! not choose the variants.

use crate::random::Random;

/// What random choices are for; see [`Random::for_purpose`].
const VARIANTS: u64 = 1 << 32;
const WORKLOADS: u64 = 2 << 32;
const ARRIVALS: u64 = 3 << 32;

/// The order of `variants` variants in a block, as their places.
///
/// Rows of a Williams design (Australian Journal of Scientific Research A2, 1949): over as many consecutive blocks as it
/// has rows, from a multiple of them, every variant stands equally often at every place and equally
/// often right after every other. Two variants make AB and BA, one of each in every two blocks. Which variant takes which
/// column and which row comes when is drawn anew each time round.
pub fn order(seed: u64, block: usize, variants: usize) -> Vec<usize> {
    let mut rows = williams(variants);
    if rows.is_empty() {
        return Vec::new();
    }
    let (round, position) = (block / rows.len(), block % rows.len());
    let mut random = Random::for_purpose(seed, VARIANTS + round as u64);
    let mut names: Vec<usize> = (0..variants).collect();
    random.shuffle(&mut names);
    random.shuffle(&mut rows);
    rows[position].iter().map(|column| names[*column]).collect()
}

/// The order of workloads in a block: the same for all its variants, so that each finds what the same
/// workloads before it left.
pub fn workload_order(seed: u64, block: usize, workloads: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..workloads).collect();
    Random::for_purpose(seed, WORKLOADS + block as u64).shuffle(&mut order);
    order
}

/// The seed of a trial's arrivals: the same for all variants, so that both sides of a comparison face the same
/// bursts (common random numbers).
pub fn arrival_seed(seed: u64, block: usize, workload: usize) -> u64 {
    let mut random = Random::for_purpose(seed, ARRIVALS + block as u64);
    for _ in 0..workload {
        random.bits();
    }
    // Whole numbers up to 2^53 survive every JSON reader.
    random.bits() >> 11
}

/// How many consecutive blocks balance `variants` variants fully.
pub const fn period(variants: usize) -> usize {
    if variants % 2 == 1 && variants > 1 { variants * 2 } else { variants }
}

/// The rows: 0 1 k-1 2 k-2 … and its shifts; of an odd number of variants their mirror images too.
fn williams(variants: usize) -> Vec<Vec<usize>> {
    let first: Vec<usize> = (0..variants)
        .map(
            |position| {
                if position % 2 == 1 { position.div_ceil(2) } else { (variants - position / 2) % variants }
            },
        )
        .collect();
    let shifted = |shift: usize| first.iter().map(|column| (column + shift) % variants).collect::<Vec<_>>();
    let mut rows: Vec<Vec<usize>> = (0..variants).map(shifted).collect();
    if period(variants) > variants {
        let mirrored: Vec<Vec<usize>> = rows.iter().map(|row| row.iter().rev().copied().collect()).collect();
        rows.extend(mirrored);
    }
    rows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_variants_alternate_which_is_first_within_every_two_blocks() {
        for seed in 0..20 {
            for pair in 0..10 {
                let (one, other) = (order(seed, 2 * pair, 2), order(seed, 2 * pair + 1, 2));
                assert_eq!((one[0], one[1]), (other[1], other[0]), "seed {seed}");
            }
        }
        let firsts: std::collections::BTreeSet<Vec<usize>> =
            (0..20).map(|seed| (0..4).map(|pair| order(seed, 2 * pair, 2)[0]).collect()).collect();
        assert!(firsts.len() > 5, "the seed decides: {firsts:?}");
    }

    #[test]
    fn nothing_has_no_order() {
        assert!(order(1, 0, 0).is_empty());
        assert_eq!(order(1, 5, 1), [0]);
    }

    proptest! {
        #[test]
        fn every_block_has_every_variant_once(seed: u64, block in 0usize..1_000, variants in 1usize..20) {
            let mut found = order(seed, block, variants);
            found.sort_unstable();
            prop_assert_eq!(found, (0..variants).collect::<Vec<_>>());
        }

        #[test]
        fn places_and_neighbours_are_balanced_over_a_period(seed: u64, round in 0usize..9, variants in 2usize..12) {
            let period = period(variants);
            let mut positions = vec![vec![0; variants]; variants];
            let mut after = vec![vec![0; variants]; variants];
            for block in round * period..(round + 1) * period {
                let order = order(seed, block, variants);
                order.iter().enumerate().for_each(|(position, variant)| positions[*variant][position] += 1);
                order.windows(2).for_each(|pair| after[pair[0]][pair[1]] += 1);
            }
            for variant in 0..variants {
                prop_assert!(positions[variant].iter().all(|times| *times == period / variants), "{:?}", positions);
                for other in (0..variants).filter(|other| *other != variant) {
                    prop_assert_eq!(after[variant][other], period / variants);
                }
            }
        }

        #[test]
        fn arrivals_differ_between_blocks_and_workloads(seed: u64, block in 0usize..1_000, workload in 0usize..9) {
            let here = arrival_seed(seed, block, workload);
            prop_assert_eq!(here, arrival_seed(seed, block, workload));
            prop_assert_ne!(here, arrival_seed(seed, block + 1, workload));
            prop_assert_ne!(here, arrival_seed(seed, block, workload + 1));
        }
    }
}
