//! The rules of the validity check: one file per rule, and the list of all.
//!
//! A rule finds its evidence in the [`Diagnostics`], rates it, and reports it in a message of at most 12 words; `knee
//! explain CODE` shows cause and remedy. A rule asks how much its figure changed the result: which share of the
//! requests, of the time or of a reported figure the load generator caused. A new rule is a new file here and a line
//! in [`RULES`]. Does not collect figures; see [`super::collect`].

use super::Warning;
use super::diagnostics::Diagnostics;

mod area;
mod arrivals;
mod bent;
mod books;
mod builds;
mod clock;
mod damaged;
mod debug_build;
mod generator_faults;
mod intervals;
pub(super) mod lag;
mod littles_law;
mod loop_lag;
mod no_answer;
mod nothing_measured;
mod offset;
mod parts;
pub(crate) mod ports;
mod rate;
mod rated;
mod run_delay;
mod stall;
mod start;
pub(crate) mod steal;
mod surplus;
mod suspended;
mod throttled;
mod truncated;
mod worker_cpu;

use rated::Rated;

#[cfg(test)]
pub(super) mod testing;

/// Every rule, in the order in which warnings of the same weight are shown: first those that make figures wrong, then
/// those that distort them.
pub const RULES: &[Rule] = &[
    Rule::of::<books::Evidence>(),
    Rule::of::<intervals::Evidence>(),
    Rule::of::<area::Evidence>(),
    Rule::of::<arrivals::Evidence>(),
    Rule::of::<parts::Evidence>(),
    Rule::of::<nothing_measured::Evidence>(),
    Rule::of::<no_answer::Evidence>(),
    Rule::of::<debug_build::Evidence>(),
    Rule::of::<rate::Evidence>(),
    Rule::of::<lag::Evidence>(),
    Rule::of::<stall::Evidence>(),
    Rule::of::<worker_cpu::Evidence>(),
    Rule::of::<throttled::Evidence>(),
    Rule::of::<run_delay::Evidence>(),
    Rule::of::<loop_lag::Evidence>(),
    Rule::of::<generator_faults::Evidence>(),
    Rule::of::<steal::Evidence>(),
    Rule::of::<surplus::Evidence>(),
    Rule::of::<clock::Evidence>(),
    Rule::of::<suspended::Evidence>(),
    Rule::of::<ports::Evidence>(),
    Rule::of::<littles_law::Evidence>(),
    Rule::of::<damaged::Evidence>(),
    Rule::of::<truncated::Evidence>(),
    Rule::of::<start::Evidence>(),
    Rule::of::<offset::Evidence>(),
    Rule::of::<builds::Evidence>(),
];

/// One rule, as lists and `knee explain` show it.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Short, stable name.
    pub code: &'static str,
    /// What the rule looks at.
    pub looks_at: &'static str,
    /// When the result is suspect; empty if never.
    pub suspect: &'static str,
    /// When the result is invalid; empty if never.
    pub invalid: &'static str,
    /// Where the limits come from.
    pub source: &'static str,
    /// What usually causes it, and what it does to the numbers.
    pub cause: &'static str,
    /// What to do.
    pub remedy: &'static str,
    check: fn(&Diagnostics) -> Option<Warning>,
}

impl Rule {
    const fn of<E: Rated>() -> Self {
        Self {
            code: E::CODE,
            looks_at: E::LOOKS_AT,
            suspect: E::SUSPECT,
            invalid: E::INVALID,
            source: E::SOURCE,
            cause: E::CAUSE,
            remedy: E::REMEDY,
            check: check::<E>,
        }
    }

    /// The warning that this rule gives, if any.
    pub fn check(&self, diagnostics: &Diagnostics) -> Option<Warning> {
        (self.check)(diagnostics)
    }
}

fn check<E: Rated>(diagnostics: &Diagnostics) -> Option<Warning> {
    let evidence = E::find(diagnostics)?;
    let validity = evidence.validity()?;
    Some(Warning {
        code: E::CODE.to_owned(),
        validity,
        message: evidence.message(),
        hint: evidence.hint().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_code_of_its_own_a_limit_a_source_a_cause_and_a_remedy() {
        let mut codes: Vec<_> = RULES.iter().map(|rule| rule.code).collect();
        for rule in RULES {
            assert!(!(rule.suspect.is_empty() && rule.invalid.is_empty()), "{}", rule.code);
            for text in [rule.source, rule.cause, rule.remedy] {
                assert!(text.ends_with('.') && !text.contains("  "), "{}: {text}", rule.code);
            }
        }
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), RULES.len());
    }
}
