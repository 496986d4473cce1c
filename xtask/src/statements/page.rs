//! `docs/concept/statements.md`: a table of all statements for each lab.
//!
//! Writes what the files say. Results by older rules count as none.

use std::fmt::Write as _;

use super::document::Statement;
use super::lab::Lab;
use super::study::{Claim, Study};

const HEAD: &str = "\
# Statements of the five documents

<!-- Written by `cargo xtask statements` from `labs/*/statements.toml` and the studies. Change those files. -->

Each lab rebuilds a service whose tuning story was published, and re-tests the story. This page lists every statement
of the five documents, in our own words, with its published figure. Each statement has one of three states:

- **tested**: a claim of a study tests the statement. The claim gets its verdict when the study runs.
- **not testable here**: no measurement on the machine of the re-tests can decide the statement, for the given reason.
- **open**: no study tests the statement yet. The table says what a test would need.

A verdict is that of the study's results, with the measured figure. Some studies have not run since the rules of
validity and verdicts were last changed: their older results are linked on the lab's page, and this page does not repeat
them. The lines are those of the published document.
[`statements.toml`](../reference/statements-toml.md) is the format behind this page.
";

/// What becomes of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Tested,
    NotTestable,
    Open,
}

/// The whole page.
pub(super) fn write(labs: &[Lab]) -> String {
    let mut page = HEAD.to_owned();
    page.push_str("\n| lab | statements | tested | not testable here | open |\n|---|---|---|---|---|\n");
    let mut sums = [0; 4];
    for lab in labs {
        let counts = counts(lab);
        let anchor = lab.name.as_str();
        row(&mut page, &format!("[{}](#{anchor})", lab.name), counts);
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    row(&mut page, "all", sums);
    for lab in labs {
        section(&mut page, lab);
    }
    page
}

fn row(page: &mut String, name: &str, [all, tested, not_testable, open]: [usize; 4]) {
    line(page, &format!("| {name} | {all} | {tested} | {not_testable} | {open} |"));
}

/// All statements, and those of each state.
fn counts(lab: &Lab) -> [usize; 4] {
    let states: Vec<State> = lab.document.statement.iter().map(|statement| state(lab, statement)).collect();
    let count = |state: State| states.iter().filter(|found| **found == state).count();
    [states.len(), count(State::Tested), count(State::NotTestable), count(State::Open)]
}

fn state(lab: &Lab, statement: &Statement) -> State {
    let is_tested = claims(lab, statement).any(|(_, claim)| claim.not_testable().is_none());
    match (statement.claims.is_empty(), is_tested) {
        (false, true) => State::Tested,
        (true, _) if statement.open.is_some() => State::Open,
        _ => State::NotTestable,
    }
}

/// The claims that a statement names, each with its study.
fn claims<'a>(lab: &'a Lab, statement: &'a Statement) -> impl Iterator<Item = (&'a Study, &'a Claim)> {
    statement
        .claims
        .iter()
        .filter_map(|name| lab.studies.iter().find_map(|study| Some((study, study.claim(name)?))))
}

fn section(page: &mut String, lab: &Lab) {
    let (name, title, source) = (&lab.name, &lab.document.title, &lab.document.source);
    line(page, &format!("\n## {name}\n"));
    line(page, "| document | re-tested by |\n|---|---|");
    line(page, &format!("| [{title}]({source}) | [{name}](../../labs/{name}/README.md) |\n"));
    line(page, "| line | statement | published | tested by | result or reason |\n|---|---|---|---|---|");
    for statement in &lab.document.statement {
        let cells = [
            statement.lines.clone(),
            escaped(&statement.text),
            statement.published.as_deref().map_or_else(|| "–".to_owned(), escaped),
            tested_by(lab, statement),
            result(lab, statement),
        ];
        line(page, &format!("| {} |", cells.join(" | ")));
    }
}

/// The claims of a statement, each with a link to its study.
fn tested_by(lab: &Lab, statement: &Statement) -> String {
    let links: Vec<String> = statement
        .claims
        .iter()
        .map(|reference| {
            let folder = reference.split_once('/').map_or(String::new(), |(study, _)| format!("/{study}"));
            format!("[`{reference}`](../../labs/{}{folder}/study.toml)", lab.name)
        })
        .collect();
    if links.is_empty() { "–".to_owned() } else { links.join(", ") }
}

/// The result of the claims, or the reason why there are none.
fn result(lab: &Lab, statement: &Statement) -> String {
    const NOT_RUN: &str = "not run with the present rules";
    if let Some(reason) = &statement.not_testable {
        return format!("not testable here: {}", escaped(reason));
    }
    if let Some(needed) = &statement.open {
        return format!("open: {}", escaped(needed));
    }
    let found: Vec<String> = claims(lab, statement)
        .map(|(study, claim)| match (claim.not_testable(), study.verdict(claim)) {
            (Some(reason), _) => format!("not testable here: {}", escaped(reason)),
            (None, Some(verdict)) => verdict.to_owned(),
            (None, None) => NOT_RUN.to_owned(),
        })
        .collect();
    match &found[..] {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => first.clone(),
        _ => {
            let named = statement.claims.iter().zip(&found);
            named.map(|(reference, what)| format!("`{reference}`: {what}")).collect::<Vec<_>>().join("; ")
        }
    }
}

/// Text that stays in its cell.
fn escaped(text: &str) -> String {
    text.trim().replace('|', "\\|").replace('\n', " ").replace('<', "\\<")
}

fn line(page: &mut String, text: &str) {
    // Writing to a string does not fail.
    _ = writeln!(page, "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements::document::Document;

    const STATEMENTS: &str = "
        title = \"A board\"
        source = \"https://example.org\"
        [[statement]]
        id = \"fast\"
        text = \"lists are fast\"
        published = \"2x | 3x\"
        lines = \"3\"
        claims = [\"fast\", \"inner/rate\"]
        [[statement]]
        id = \"rate\"
        text = \"20 lists/s\"
        lines = \"4\"
        claims = [\"inner/rate\"]
        [[statement]]
        id = \"price\"
        text = \"it is cheap\"
        lines = \"5\"
        open = \"a study of prices\"
    ";

    fn lab() -> Lab {
        let study = |name, text| Study::read(name, text).expect("the test's study is TOML");
        Lab {
            name: "board".to_owned(),
            document: Document::read(STATEMENTS).expect("the test's statements are TOML"),
            studies: vec![
                study("", "[claims.fast]\nexpect = \"faster\"\n"),
                study("inner", "[claims.rate]\nmetric = \"goodput\"\nabove = 20\n"),
            ],
        }
    }

    #[test]
    fn each_statement_is_a_row_with_its_claims_and_what_became_of_them() {
        let page = write(&[lab()]);
        for expected in [
            "| [board](#board) | 3 | 1 | 1 | 1 |",
            "| all | 3 | 1 | 1 | 1 |",
            "| 3 | lists are fast | 2x \\| 3x | [`fast`](../../labs/board/study.toml), \
             [`inner/rate`](../../labs/board/inner/study.toml) | `fast`: not run with the present rules; \
             `inner/rate`: not testable here: a figure of other hardware |",
            "| 5 | it is cheap | – | – | open: a study of prices |",
        ] {
            assert!(page.contains(expected), "{expected}\nis not in\n{page}");
        }
    }
}
