//! In which order the trials of a block run.
//!
//! Every block has every arm once. Which arm comes first, and which comes after which, is balanced over the
//! blocks and otherwise left to the seed, so that neither drift of the machine nor what one arm leaves behind for
//! the next favours any. A function of seed and block alone: a study that is resumed goes on as it began. Does
//! not choose the arms.

use crate::random::Random;

/// What random choices are for; see [`Random::for_purpose`].
const ARMS: u64 = 1 << 32;
const WORKLOADS: u64 = 2 << 32;
const ARRIVALS: u64 = 3 << 32;

/// The order of `arms` arms in a block, as their places.
///
/// Rows of a Williams design (Australian Journal of Scientific Research A2, 1949): over as many consecutive blocks as it
/// has rows, from a multiple of them, every arm stands equally often at every place and equally
/// often right after every other. Two arms make AB and BA, one of each in every two blocks. Which arm takes which
/// column and which row comes when is drawn anew each time round.
pub fn order(seed: u64, block: usize, arms: usize) -> Vec<usize> {
    let mut rows = williams(arms);
    if rows.is_empty() {
        return Vec::new();
    }
    let (round, place) = (block / rows.len(), block % rows.len());
    let mut random = Random::for_purpose(seed, ARMS + round as u64);
    let mut names: Vec<usize> = (0..arms).collect();
    random.shuffle(&mut names);
    random.shuffle(&mut rows);
    rows[place].iter().map(|column| names[*column]).collect()
}

/// The order of workloads in a block: the same for all its arms, so that each finds what the same
/// workloads before it left.
pub fn workload_order(seed: u64, block: usize, workloads: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..workloads).collect();
    Random::for_purpose(seed, WORKLOADS + block as u64).shuffle(&mut order);
    order
}

/// The seed of a trial's arrivals: the same for all arms, so that both sides of a comparison face the same
/// bursts (common random numbers).
pub fn arrival_seed(seed: u64, block: usize, workload: usize) -> u64 {
    let mut random = Random::for_purpose(seed, ARRIVALS + block as u64);
    for _ in 0..workload {
        random.bits();
    }
    // Whole numbers up to 2^53 survive every JSON reader.
    random.bits() >> 11
}

/// How many consecutive blocks balance `arms` arms fully.
pub const fn period(arms: usize) -> usize {
    if arms % 2 == 1 && arms > 1 { arms * 2 } else { arms }
}

/// The rows: 0 1 k-1 2 k-2 … and its shifts; of an odd number of arms their mirror images too.
fn williams(arms: usize) -> Vec<Vec<usize>> {
    let first: Vec<usize> = (0..arms)
        .map(|place| if place % 2 == 1 { place.div_ceil(2) } else { (arms - place / 2) % arms })
        .collect();
    let shifted = |shift: usize| first.iter().map(|column| (column + shift) % arms).collect::<Vec<_>>();
    let mut rows: Vec<Vec<usize>> = (0..arms).map(shifted).collect();
    if period(arms) > arms {
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
    fn two_arms_alternate_which_is_first_within_every_two_blocks() {
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
        fn every_block_has_every_arm_once(seed: u64, block in 0usize..1_000, arms in 1usize..20) {
            let mut found = order(seed, block, arms);
            found.sort_unstable();
            prop_assert_eq!(found, (0..arms).collect::<Vec<_>>());
        }

        #[test]
        fn places_and_neighbours_are_balanced_over_a_period(seed: u64, round in 0usize..9, arms in 2usize..12) {
            let period = period(arms);
            let mut places = vec![vec![0; arms]; arms];
            let mut after = vec![vec![0; arms]; arms];
            for block in round * period..(round + 1) * period {
                let order = order(seed, block, arms);
                order.iter().enumerate().for_each(|(place, arm)| places[*arm][place] += 1);
                order.windows(2).for_each(|pair| after[pair[0]][pair[1]] += 1);
            }
            for arm in 0..arms {
                prop_assert!(places[arm].iter().all(|times| *times == period / arms), "{:?}", places);
                for other in (0..arms).filter(|other| *other != arm) {
                    prop_assert_eq!(after[arm][other], period / arms);
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
