//! The verdicts of a comparison, and the levels of its tests.
//!
//! Does not decide; see [`crate::estimand`].

use serde::{Deserialize, Serialize};

/// The level of a test that is evaluated once.
pub const ALPHA: f64 = 0.05;

/// The level of each evaluation if a second one with twice the blocks can follow. Both together err as often as one
/// test at 0.05 (Pocock, Biometrika 64, 1977, table 1, two looks).
pub const ALPHA_OF_TWO: f64 = 0.0294;

/// The second side of a comparison relative to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better, beyond chance: less time, more good responses per second, fewer errors, less cost.
    Better,
    /// Worse, beyond chance.
    Worse,
    /// More, beyond chance, of a metric that has no better.
    More,
    /// Less, beyond chance, of such a metric.
    Less,
    /// Any difference is smaller than the margin.
    Same,
    /// The blocks do not decide.
    Undecided,
    /// Too few trials of a side are valid, so that nothing is said.
    Open,
}

impl Verdict {
    /// Whether the sides differ.
    pub const fn is_difference(self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::More | Self::Less)
    }
}
