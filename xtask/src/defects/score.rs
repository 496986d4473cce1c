//! What the looks say of the rules: found, missed, wrong.
//!
//! A hint is never a defect that was found, and always counts against precision. Does not print.

use std::collections::BTreeMap;

use super::expected::{Defect, Expected};
use super::saved::{Looked, Saved};

/// What became of a defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A finding names it, and it is the first one.
    First,
    /// A finding names it, behind another one.
    Found,
    /// Only a hint names it.
    Hinted,
    /// Nothing names it.
    Missed,
    /// Nothing names it, and the rules that could have lacked evidence.
    NotLookedFor,
    /// There was no run, or an invalid one, on which no rule runs.
    NoRun,
}

impl Outcome {
    /// Whether a finding names the defect.
    pub const fn is_found(self) -> bool {
        matches!(self, Self::First | Self::Found)
    }
}

/// Successes among trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Share {
    /// Successes.
    pub of: usize,
    /// Trials.
    pub all: usize,
}

impl Share {
    /// From 0 to 1; 0 without trials.
    pub fn value(self) -> f64 {
        if self.all == 0 { 0.0 } else { self.of as f64 / self.all as f64 }
    }

    /// The 95 % interval of Wilson (1927), which holds for shares near 1, too.
    pub fn interval(self) -> (f64, f64) {
        if self.all == 0 {
            return (0.0, 1.0);
        }
        let (n, p, z) = (self.all as f64, self.value(), 1.96);
        let middle = p + z * z / (2.0 * n);
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        let scale = 1.0 + z * z / n;
        (((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0))
    }

    fn add(&mut self, success: bool) {
        self.all += 1;
        self.of += usize::from(success);
    }
}

/// How often a code was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Said {
    /// Of its defects, those that it names as a finding.
    pub found: Share,
    /// As a consequence that is true, or as a hint at its own defect.
    pub beside: usize,
    /// Of other defects.
    pub wrong: usize,
    /// In healthy configurations.
    pub healthy: usize,
}

/// The score of a trial.
#[derive(Debug, Default)]
pub(super) struct Score {
    /// Defects found, of all that are there.
    pub recall: Share,
    /// The same of those for which a rule is meant.
    pub recall_with_rule: Share,
    /// Defects whose first finding names them, of all that are there.
    pub top: Share,
    /// Findings that are right or true consequences, of all findings and hints in all looks. A hint is never right.
    pub precision: Share,
    /// Healthy configurations with a run.
    pub healthy: usize,
    /// Findings in them: all are wrong.
    pub healthy_findings: usize,
    /// Hints in them.
    pub healthy_hints: usize,
    /// Looks that are missing.
    pub missing: usize,
    /// By code.
    pub codes: BTreeMap<String, Said>,
}

/// What became of a defect in its look.
pub(super) fn outcome(defect: &Defect, look: &Looked) -> Outcome {
    if look.problem.is_some() || look.validity == "invalid" {
        return Outcome::NoRun;
    }
    let names = |code: &String| defect.expects.contains(code);
    match look.findings().position(|said| names(&said.code)) {
        Some(0) => Outcome::First,
        Some(_) => Outcome::Found,
        None if look.hints().any(|said| names(&said.code)) => Outcome::Hinted,
        None if lacked(defect, look) => Outcome::NotLookedFor,
        None => Outcome::Missed,
    }
}

/// Whether none of the rules that name a defect could run.
fn lacked(defect: &Defect, look: &Looked) -> bool {
    let could_not_run = |code: &String| look.could_not_run.iter().any(|(other, _)| other == code);
    !defect.expects.is_empty() && defect.expects.iter().all(could_not_run)
}

/// The score of what was looked at.
pub(super) fn score(expected: &Expected, saved: &Saved) -> Score {
    let mut score = Score::default();
    for case in expected.cases() {
        let Some(look) = saved.look(&case.variant, &case.workload) else {
            score.missing += 1;
            continue;
        };
        match expected.defect.iter().find(|defect| defect.name == case.variant) {
            Some(defect) => score.add_defect(defect, look),
            None => score.add_healthy(look),
        }
    }
    score
}

impl Score {
    fn add_defect(&mut self, defect: &Defect, look: &Looked) {
        let outcome = outcome(defect, look);
        self.recall.add(outcome.is_found());
        self.top.add(outcome == Outcome::First);
        if !defect.expects.is_empty() {
            self.recall_with_rule.add(outcome.is_found());
        }
        for code in &defect.expects {
            let is_said = look.findings().any(|said| said.code == *code);
            // A defect with two codes is found by either.
            if is_said || !outcome.is_found() {
                self.codes.entry(code.clone()).or_default().found.add(is_said);
            }
        }
        for said in &look.said {
            let of_code = self.codes.entry(said.code.clone()).or_default();
            let is_expected = defect.expects.contains(&said.code);
            let is_true = is_expected || defect.also.contains(&said.code);
            if !is_true {
                of_code.wrong += 1;
            } else if said.is_hint() || !is_expected {
                of_code.beside += 1;
            }
            self.precision.add(is_true && !said.is_hint());
        }
    }

    fn add_healthy(&mut self, look: &Looked) {
        if look.problem.is_some() {
            self.missing += 1;
            return;
        }
        self.healthy += 1;
        self.healthy_findings += look.findings().count();
        self.healthy_hints += look.hints().count();
        for said in &look.said {
            self.codes.entry(said.code.clone()).or_default().healthy += 1;
            self.precision.add(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::saved;
    use super::*;

    const EXPECTED: &str = "[[defect]]\nname = 'offset'\nof = 'A: a'\nworkload = 'list'\nexpects = ['deep_offset']\n\
        also = ['cpu_full']\n[[defect]]\nname = 'none'\nof = 'A: b'\nworkload = 'list'\nexpects = []\n";

    /// A look; codes in parentheses are hints.
    fn look(variant: &str, validity: &str, codes: &[&str]) -> Looked {
        let said = |code: &&str| saved::Said {
            code: code.trim_matches(['(', ')']).to_owned(),
            confidence: if code.starts_with('(') { "hint" } else { "likely" }.to_owned(),
            statement: String::new(),
        };
        Looked {
            variant: variant.to_owned(),
            workload: "list".to_owned(),
            validity: validity.to_owned(),
            said: codes.iter().map(said).collect(),
            ..Looked::default()
        }
    }

    fn expected() -> Expected {
        Expected::read(EXPECTED).unwrap()
    }

    fn scored(looks: &[Looked]) -> Score {
        let mut saved = Saved::default();
        for look in looks {
            saved.put(look.clone());
        }
        score(&expected(), &saved)
    }

    #[test]
    fn a_defect_is_found_by_a_finding_and_never_by_a_hint_or_an_invalid_run() {
        let expected = expected();
        let of = |validity, codes: &[&str]| outcome(&expected.defect[0], &look("offset", validity, codes));
        assert_eq!(of("valid", &["deep_offset", "cpu_full"]), Outcome::First);
        assert_eq!(of("suspect", &["cpu_full", "deep_offset"]), Outcome::Found);
        assert_eq!(of("valid", &["(deep_offset)"]), Outcome::Hinted);
        assert_eq!(of("valid", &["cpu_full"]), Outcome::Missed);
        assert_eq!(of("invalid", &["deep_offset"]), Outcome::NoRun);
    }

    #[test]
    fn a_rule_that_lacked_evidence_missed_its_defect_for_this_reason() {
        let expected = expected();
        let mut look = look("offset", "valid", &[]);
        look.could_not_run.push(("deep_offset".to_owned(), "a PostgreSQL server".to_owned()));
        assert_eq!(outcome(&expected.defect[0], &look), Outcome::NotLookedFor);
        // A defect without a rule lacks none.
        assert_eq!(outcome(&expected.defect[1], &look), Outcome::Missed);
        assert!(!Outcome::NotLookedFor.is_found());
    }

    #[test]
    fn hints_before_a_finding_do_not_make_it_second() {
        let expected = expected();
        let look = look("offset", "valid", &["(cpu_full)", "deep_offset"]);
        assert_eq!(outcome(&expected.defect[0], &look), Outcome::First);
    }

    #[test]
    fn a_defect_without_a_rule_counts_as_missed() {
        let score =
            scored(&[look("offset", "valid", &["deep_offset"]), look("none", "valid", &["cpu_full"])]);
        assert_eq!(score.recall, Share { of: 1, all: 2 });
        assert_eq!(score.recall_with_rule, Share { of: 1, all: 1 });
        assert_eq!(score.top, Share { of: 1, all: 2 });
    }

    #[test]
    fn hints_count_against_precision_and_consequences_do_not() {
        let score = scored(&[
            look("offset", "valid", &["deep_offset", "cpu_full", "(transfer)", "lock_wait"]),
            look("healthy", "valid", &["(transfer)", "lock_wait"]),
        ]);
        // Right: deep_offset and cpu_full, of four findings and two hints.
        assert_eq!(score.precision, Share { of: 2, all: 6 });
        assert_eq!((score.healthy, score.healthy_findings, score.healthy_hints), (1, 1, 1));
        assert_eq!(score.missing, 1, "the look at `none`");
        let transfer = score.codes["transfer"];
        assert_eq!((transfer.found.all, transfer.wrong, transfer.healthy), (0, 1, 1));
        assert_eq!(score.codes["cpu_full"].beside, 1);
    }

    #[test]
    fn the_interval_is_that_of_wilson() {
        // 9 of 10: (0.9 + 0.19208 ± 1.96 √(0.009 + 0.009604)) / 1.38416 = 0.5958 to 0.9821.
        let (low, high) = Share { of: 9, all: 10 }.interval();
        assert!((low - 0.5958).abs() < 1e-3 && (high - 0.9821).abs() < 1e-3, "{low} {high}");
        assert_eq!(Share { of: 0, all: 0 }.interval(), (0.0, 1.0));
    }
}
