//! Whether a machine is fit to measure: facts about it, one check per property, and the answer in one sentence.
//!
//! Judges only. `knee doctor` reads the files and measures, so that tests can hand in the facts of other machines. The
//! rules of [`crate::validity`] judge a run; where a check foresees what one of them would find, it uses the same
//! limits.

mod answer;
mod check;
mod facts;
mod feature;
mod noise;

pub use answer::{Fitness, judge};
pub use check::{Area, Check, Grade};
pub use facts::{Availability, Facts, NoiseFloor, Program, Texts};
pub use noise::{LATE, Pauses, Wakes};

#[cfg(test)]
mod tests;
