//! Decision records have one form: number, state, the same sections in the same order, and a row in the list.
//!
//! The section "Consequences" can be left out. Does not read what the sections say.

use super::Violation;
use super::tree::{Tree, has_extension};

const FOLDER: &str = "docs/decisions/";
const LIST: &str = "docs/decisions/README.md";

/// The sections, in their order; the second value says whether a record must have it.
const SECTIONS: [(&str, bool); 5] = [
    ("Context", true),
    ("Decision", true),
    ("Alternatives", true),
    ("Consequences", false),
    ("Revisit when", true),
];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let list = tree.text(LIST).unwrap_or_default();
    let records = tree
        .texts()
        .filter(|(path, _)| path.starts_with(FOLDER) && has_extension(path, "md") && *path != LIST);
    records.flat_map(|(path, text)| of_record(path, text, list)).collect()
}

fn of_record(path: &str, text: &str, list: &str) -> Vec<Violation> {
    let name = path.strip_prefix(FOLDER).unwrap_or(path);
    let number = name.split('-').next().unwrap_or_default();
    let mut lines = text.lines();
    let Some(title) = lines.next().and_then(|line| line.strip_prefix(&format!("# {number}: "))) else {
        let text = format!("must begin with `# {number}: ` and the decision");
        return vec![Violation::new(path, 1, text)];
    };
    let mut violations = Vec::new();
    let mut add = |line, text: String| violations.push(Violation::new(path, line, text));
    let state = lines.nth(1).and_then(|line| line.strip_prefix("State: "));
    if state.is_none() {
        add(3, "must say `State: in force`, or another state".to_owned());
    }
    let sections = sections(text);
    if let Some(line) = misplaced(&sections) {
        let order: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
        add(line, format!("must have these sections, in this order: {}", order.join(", ")));
    }
    if !list.lines().any(|row| row.starts_with(&format!("| [{number}]({name}) | {title} | "))) {
        add(1, format!("must have a row with number and title in {LIST}"));
    }
    violations
}

/// The sections with their lines. Code blocks have none.
fn sections(text: &str) -> Vec<(&str, usize)> {
    let mut in_code = false;
    let mut sections = Vec::new();
    for (index, line) in text.lines().enumerate() {
        in_code ^= line.starts_with("```");
        if let Some(name) = line.strip_prefix("## ").filter(|_| !in_code) {
            sections.push((name, index + 1));
        }
    }
    sections
}

/// The line of the first section that is missing, unknown or in another place.
fn misplaced(sections: &[(&str, usize)]) -> Option<usize> {
    let mut rest = sections.iter().peekable();
    for (name, is_needed) in SECTIONS {
        let found = rest.next_if(|(found, _)| *found == name);
        if found.is_none() && is_needed {
            return Some(rest.peek().map_or(0, |(_, line)| *line));
        }
    }
    rest.next().map(|(_, line)| *line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = "| [0007](0007-a.md) | Do it | in force |\n";
    const RECORD: &str = "# 0007: Do it\n\nState: in force; adds to 0001\n\n## Context\n\n## Decision\n\n\
                          ## Alternatives\n\n## Consequences\n\n## Revisit when\n";

    fn found(text: &str) -> Vec<(usize, String)> {
        let tree = Tree::of(&[(LIST, LISTED), ("docs/decisions/0007-a.md", text)]);
        check(&tree).into_iter().map(|violation| (violation.line, violation.text)).collect()
    }

    fn lines(text: &str) -> Vec<usize> {
        found(text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn a_record_of_the_form_passes_with_consequences_and_without() {
        assert_eq!(found(RECORD), []);
        assert_eq!(found(&RECORD.replace("## Consequences\n\n", "")), []);
        assert_eq!(found(&RECORD.replace("## Decision\n", "## Decision\n\n```\n## a comment\n```\n")), []);
    }

    #[test]
    fn a_section_that_is_missing_unknown_or_in_another_place_is_found() {
        assert_eq!(lines(&RECORD.replace("## Alternatives\n\n", "")), [9]);
        assert_eq!(lines(&RECORD.replace("\n\n## Revisit when", "")), [0]);
        assert_eq!(lines(&RECORD.replace("## Consequences", "## Costs")), [11]);
        assert_eq!(lines(&RECORD.replace("Alternatives", "Consequences")), [9]);
        assert_eq!(lines(&format!("{RECORD}\n## Notes\n")), [15]);
    }

    #[test]
    fn a_record_without_its_number_its_state_or_its_row_is_found() {
        assert_eq!(lines(&RECORD.replace("0007", "0008")), [1]);
        assert_eq!(lines(&RECORD.replace("State: ", "Status: ")), [3]);
        assert_eq!(lines(&RECORD.replace("Do it", "Do something else")), [1]);
    }
}
