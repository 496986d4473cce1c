//! What a rule is: its texts, and the function that looks at the evidence.
//!
//! Holds no rule; the files below `rules` do, one each.

use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Gain, Remedy, Signal, Subject};
use crate::lack::Lack;

/// One rule, as lists, `knee explain` and `docs/reference/findings.md` show it.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Short, stable name.
    pub code: &'static str,
    /// What it finds, as a phrase.
    pub finds: &'static str,
    /// The evidence that it cannot do without.
    pub needs: &'static str,
    /// The limits of its signals.
    pub limits: &'static str,
    /// Where the limits come from.
    pub source: &'static str,
    /// What usually causes it, and what it does to the service.
    pub cause: &'static str,
    /// What to do.
    pub remedy: &'static str,
    /// Codes of findings that say the same in a more general way. They are left out beside a finding of this rule.
    pub(crate) explains: &'static [&'static str],
    pub(crate) check: fn(&Evidence<'_>) -> Checked,
}

/// What a rule found; an empty list if all is well.
pub(crate) type Checked = Result<Vec<Draft>, Lack>;

/// A finding without what its rule adds.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub subject: Subject,
    pub statement: String,
    pub signals: Vec<Signal>,
    pub remedy: Remedy,
    pub gain: Option<Gain>,
}

impl Rule {
    /// The finding of this rule. The number of signals decides the confidence.
    pub(crate) fn finding(&self, draft: Draft) -> Finding {
        let Draft { subject, statement, signals, remedy, gain } = draft;
        let confidence = Confidence::of(signals.len());
        Finding { code: self.code, subject, statement, evidence: signals, remedy, gain, confidence }
    }
}
