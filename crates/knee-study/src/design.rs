//! The order of the trials of a block.
//!
//! Every block has every variant once. The position and the predecessor of each variant are balanced over the blocks
//! and otherwise chosen by the seed. So neither drift of the machine nor the after-effects of the previous variant
//! favour any variant. The order depends on seed and block only, so a resumed study continues in the same order. Does
//! not choose the variants.

use crate::random::Random;

/// The purposes of random choices; see [`Random::for_purpose`].
const VARIANTS: u64 = 1 << 32;
const WORKLOADS: u64 = 2 << 32;
const ARRIVALS: u64 = 3 << 32;

/// The order of `variants` variants in a block, as indices.
///
/// Rows of a Williams design (Australian Journal of Scientific Research A2, 1949): consecutive blocks use its rows in
/// turn. Over a full cycle of rows, every variant comes equally often at every position and equally often right after
/// every other variant. Two variants make AB and BA, one of each in every two blocks. Each cycle draws anew which
/// variant takes which column, and in which order the rows come.
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

/// The order of workloads in a block. It is the same for all variants, so that the same workloads precede each of them.
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

/// Number of consecutive blocks that fully balance `variants` variants.
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
