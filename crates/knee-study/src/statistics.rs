//! The statistics behind a verdict. Their input is one number per block and comparison.
//!
//! Requests of one run depend on each other, so they are not a sample; blocks are. Every test here takes one
//! difference per block: the logarithm of a ratio between two variants in the same block. Drift over hours therefore
//! cancels, and effects that the runs of one process share count as noise. Does not know what a block measured, and
//! does not choose which blocks count.

pub mod holm;

pub mod location;

pub mod paired;

pub mod power;

pub mod share;

pub mod sign_flip;

pub mod student;

pub mod trend;

pub mod verdict;

pub mod warm_up;
