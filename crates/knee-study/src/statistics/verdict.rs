//! Four words: faster, slower, same, undecided.
//!
//! Does not calculate; it reads intervals and p values by rules that were fixed before the first trial.

use serde::{Deserialize, Serialize};

use super::paired::Paired;

/// The level of a test that is evaluated once.
pub const ALPHA: f64 = 0.05;

/// The level of each evaluation if a second one with twice the blocks can follow. Both together err as often as one
/// test at 0.05 (Pocock, Biometrika 64, 1977, table 1, two looks).
pub const ALPHA_OF_TWO: f64 = 0.0294;

/// The second side of a comparison relative to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better, beyond chance: less time, more requests per second, fewer errors, less cost.
    Faster,
    /// Worse, beyond chance.
    Slower,
    /// Any difference is smaller than the margin.
    Same,
    /// The blocks do not decide.
    Undecided,
}

impl Verdict {
    /// The word shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Undecided => "undecided",
        }
    }
}

/// The rules for a verdict; fixed before the first trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Chance of a false verdict, 0 to 1; see [`ALPHA`] and [`ALPHA_OF_TWO`].
    pub alpha: f64,
    /// Differences below this do not matter, on the scale of the differences; above 0.
    pub margin: f64,
    /// Only a change above the margin counts as an effect; for short studies, which detect nothing smaller.
    pub large_only: bool,
    /// Whether a rise is an improvement.
    pub more_is_better: bool,
}

/// Reads the verdict. `p` is the exact p of the comparison after Holm's correction.
///
/// `faster` and `slower` need both a significant p and an interval without 0. `same` is Schuirmann's two one-sided
/// tests (Journal of Pharmacokinetics and Biopharmaceutics 15, 1987): the interval at twice alpha lies within the
/// margin. A small but certain difference gets the verdict of its direction; reports show the margin beside it.
pub fn read(paired: &Paired, p: f64, rule: &Rule) -> Verdict {
    if p < rule.alpha { by_interval(paired, rule) } else { equivalent(paired, rule) }
}

/// The verdict by the intervals alone. Used to find blocks whose removal changes the verdict: the smallest possible p
/// depends on the number of blocks, so with p every removal would change it.
pub fn by_interval(paired: &Paired, rule: &Rule) -> Verdict {
    let beyond = if rule.large_only { rule.margin } else { 0.0 };
    if !paired.interval(rule.alpha).excludes(beyond) {
        return equivalent(paired, rule);
    }
    if (paired.mean() > 0.0) == rule.more_is_better { Verdict::Faster } else { Verdict::Slower }
}

fn equivalent(paired: &Paired, rule: &Rule) -> Verdict {
    if paired.interval(2.0 * rule.alpha).within(rule.margin) { Verdict::Same } else { Verdict::Undecided }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::sign_flip;

    const RULE: Rule = Rule { alpha: ALPHA, margin: 0.048_79, large_only: false, more_is_better: false };

    /// Ten blocks around `mean` that vary by about `spread`.
    fn blocks(mean: f64, spread: f64) -> Paired {
        let shape = [-1.3, 0.4, 1.1, -0.2, 0.9, -1.0, 0.3, -0.6, 1.2, -0.8];
        Paired::new(shape.iter().map(|position| mean + spread * position).collect()).unwrap()
    }

    fn verdict(paired: &Paired, rule: &Rule) -> Verdict {
        read(paired, sign_flip::p_value(paired.differences(), 0), rule)
    }

    #[test]
    fn the_four_words() {
        assert_eq!(verdict(&blocks(0.10, 0.03), &RULE), Verdict::Slower);
        assert_eq!(verdict(&blocks(-0.10, 0.03), &RULE), Verdict::Faster);
        assert_eq!(verdict(&blocks(0.002, 0.02), &RULE), Verdict::Same);
        assert_eq!(verdict(&blocks(0.03, 0.10), &RULE), Verdict::Undecided);
    }

    #[test]
    fn more_requests_per_second_are_faster() {
        let rule = Rule { more_is_better: true, ..RULE };
        assert_eq!(verdict(&blocks(0.10, 0.03), &rule), Verdict::Faster);
    }

    #[test]
    fn a_small_difference_that_is_certain_is_called_by_its_direction() {
        assert_eq!(verdict(&blocks(0.02, 0.002), &RULE), Verdict::Slower);
    }

    #[test]
    fn a_p_that_does_not_survive_the_correction_decides_nothing() {
        assert_eq!(read(&blocks(0.10, 0.03), 0.06, &RULE), Verdict::Undecided);
    }

    #[test]
    fn a_short_study_tells_only_large_changes() {
        let rule = Rule { large_only: true, margin: 0.25_f64.ln_1p(), ..RULE };
        assert_eq!(verdict(&blocks(0.10, 0.03), &rule), Verdict::Same);
        assert_eq!(verdict(&blocks(0.22, 0.03), &rule), Verdict::Undecided);
        assert_eq!(verdict(&blocks(0.50, 0.03), &rule), Verdict::Slower);
    }
}
