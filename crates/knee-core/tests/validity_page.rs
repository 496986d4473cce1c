//! The page on validity lists exactly the rules and notes that there are, with their limits.

use knee_core::validity::note::NOTES;
use knee_core::validity::rule::RULES;

const PAGE: &str = include_str!("../../../docs/concept/validity.md");

#[test]
fn every_rule_and_every_note_is_a_row_of_the_page() {
    let limit = |text: &'static str| if text.is_empty() { "–" } else { text };
    for rule in RULES {
        let row = format!(
            "| `{}` | {} | {} | {} |",
            rule.code,
            rule.looks_at,
            limit(rule.suspect),
            limit(rule.invalid)
        );
        assert!(PAGE.lines().any(|line| line == row), "missing in docs/concept/validity.md:\n{row}");
    }
    for note in NOTES {
        let row = format!("| `{}` | {} |", note.code, note.meaning);
        assert!(PAGE.lines().any(|line| line == row), "missing in docs/concept/validity.md:\n{row}");
    }
    let rows = PAGE.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, RULES.len() + NOTES.len(), "a row is of no rule and no note");
}
