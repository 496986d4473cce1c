//! The buckets of a histogram: which values each of them holds.
//!
//! Does not count.

use crate::unit::Nanos;

/// log2 of the number of buckets in a doubling.
pub(super) const SUB_BITS: u32 = 10;
pub(super) const SUB: u64 = 1 << SUB_BITS;

/// The largest value that has a bucket: one hour.
pub const HIGHEST: Nanos = Nanos::from_secs(3_600);

/// Index of the bucket that holds [`HIGHEST`].
pub const LAST_INDEX: usize = index_of(HIGHEST.0);

/// The bucket of a value. Monotone; `value` must not exceed [`HIGHEST`].
#[inline]
pub(super) const fn index_of(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    // A value in [2^(10+s), 2^(11+s)) belongs to doubling s; shifting by s leaves 1024..2047.
    let shift = value.ilog2() - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (value >> shift) as usize
}

/// The smallest value of a bucket.
pub(super) const fn lowest_of(index: usize) -> u64 {
    if index < SUB as usize {
        return index as u64;
    }
    let shift = (index >> SUB_BITS) - 1;
    (((index & (SUB as usize - 1)) as u64) | SUB) << shift
}

/// The largest value of a bucket.
pub(super) const fn highest_of(index: usize) -> u64 {
    lowest_of(index + 1) - 1
}
