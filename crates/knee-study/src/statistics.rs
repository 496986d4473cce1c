//! The statistics behind a verdict: one number a round and a comparison, and what follows from them.
//!
//! Requests of one run depend on each other, so they are no sample; blocks are. Every test here takes one
//! difference a round (the logarithm of a ratio, variant against variant in the same block), so what drifts over
//! hours cancels, and whatever the runs of one process have in common counts as noise. Does not know what
//! a round measured, and does not choose which blocks count.

pub mod holm;

pub mod location;

pub mod paired;

pub mod power;

pub mod sign_flip;

pub mod student;

pub mod trend;

pub mod verdict;

pub mod warm_up;
