//! What a code of a warning means, in one sentence.
//!
//! Does not know limits and remedies; `knee explain CODE` has them.

use knee_core::validity::rule::RULES;
use knee_study::study::TRIAL_RULES;

/// The usual cause of the warning `code`, in one sentence; `None` for an unknown code.
pub fn cause(code: &str) -> Option<&'static str> {
    let rule = RULES.iter().find(|rule| rule.code == code).map(|rule| rule.cause);
    let trial = || TRIAL_RULES.iter().find(|rule| rule.code == code).map(|rule| rule.meaning);
    rule.or_else(trial).map(first_sentence)
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_a_trial_has_a_cause_of_one_short_sentence() {
        let codes = RULES.iter().map(|rule| rule.code).chain(TRIAL_RULES.iter().map(|rule| rule.code));
        for code in codes {
            let cause = cause(code).unwrap();
            assert!((10..=200).contains(&cause.chars().count()), "{code}: {cause}");
        }
        assert_eq!(cause("nothing"), None);
    }
}
