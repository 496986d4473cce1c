//! What a study says first: its decisive comparison, and the others in the order of what they changed.
//!
//! Chooses among the primary comparisons; does not judge them and has no words.

use serde::{Deserialize, Serialize};

use super::Effect;
use super::lineup::Relation;
use crate::statistics::verdict::Verdict;

/// The primary comparisons of a study, as indices of its effects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headline {
    /// Those that show a difference, the largest first. Single steps come before the steps of a ladder since its first
    /// variant, which contain them.
    pub decided: Vec<usize>,
    /// Single steps and pairs that show none, in the order of the study.
    pub others: Vec<usize>,
    /// Single steps and pairs of which a side has no valid trial, or too few, in the order of the study.
    #[serde(default)]
    pub open: Vec<usize>,
}

impl Headline {
    /// The primary comparisons of a study with these effects.
    pub(super) fn of(effects: &[Effect]) -> Self {
        let primary =
            || effects.iter().enumerate().filter(|(_, effect)| effect.primary && effect.n_blocks > 0);
        let mut decided: Vec<usize> =
            primary().filter(|(_, effect)| effect.verdict.is_difference()).map(|(index, _)| index).collect();
        decided.sort_by(|a, b| {
            let (a, b) = (&effects[*a], &effects[*b]);
            let rank = |effect: &Effect| is_part(&effect.relation);
            rank(a).cmp(&rank(b)).then(b.distance().total_cmp(&a.distance()))
        });
        let other = |effect: &Effect| !effect.verdict.is_difference() && !is_part(&effect.relation);
        let (open, others): (Vec<_>, Vec<_>) = primary()
            .filter(|(_, effect)| other(effect))
            .partition(|(_, effect)| effect.verdict == Verdict::Open);
        let indices = |found: Vec<(usize, &Effect)>| -> Vec<usize> {
            found.into_iter().map(|(index, _)| index).collect()
        };
        Self { decided, others: indices(others), open: indices(open) }
    }
}

/// Whether other comparisons contain it, or it contains others.
const fn is_part(relation: &Relation) -> bool {
    matches!(relation, Relation::SinceFirst | Relation::Added(_) | Relation::Removed(_))
}
