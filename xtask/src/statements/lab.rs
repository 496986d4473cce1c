//! A lab: the statements of its document and the claims of its studies, and whether the two agree.
//!
//! Reads files and reports every mistake. Does not write anything.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::document::{Document, Statement};
use super::study::Study;

/// A lab: the statements of its document, and its studies.
#[derive(Debug)]
pub(super) struct Lab {
    /// The name of its folder.
    pub name: String,
    /// The statements of its document.
    pub document: Document,
    /// Its own study first, then those in folders of it, by name.
    pub studies: Vec<Study>,
}

/// All labs by name: each folder of `labs/` that has a study, and re-tests a document.
pub(super) fn labs(root: &Path) -> Result<Vec<Lab>> {
    let folders = folders(&root.join("labs"))?;
    folders
        .iter()
        .filter(|folder| has_study(folder) && is_of_document(folder))
        .map(|folder| lab(folder))
        .collect()
}

/// Whether a lab re-tests a document, and is not a trial of the rules of knee with what they should find.
fn is_of_document(folder: &Path) -> bool {
    !folder.join("expected.toml").is_file()
}

fn lab(folder: &Path) -> Result<Lab> {
    let path = folder.join("statements.toml");
    let document = Document::read(&text(&path)?).with_context(|| path.display().to_string())?;
    let mut studies = vec![study("", folder)?];
    for inner in folders(folder)?.iter().filter(|inner| has_study(inner)) {
        studies.push(study(&name(inner), inner)?);
    }
    Ok(Lab { name: name(folder), document, studies })
}

fn study(name: &str, folder: &Path) -> Result<Study> {
    let path = folder.join("study.toml");
    let study = Study::read(name, &text(&path)?).with_context(|| path.display().to_string())?;
    let results = folder.join("RESULTS.md");
    Ok(if results.is_file() { study.with_results(&text(&results)?) } else { study })
}

/// The text of a file.
pub(super) fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn has_study(folder: &Path) -> bool {
    folder.join("study.toml").is_file()
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The folders in a folder, by name.
fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// What is wrong with the statements of a lab, and with its claims as far as statements are concerned.
pub(super) fn mistakes(lab: &Lab) -> Vec<String> {
    let statements = &lab.document.statement;
    let mut found = Vec::new();
    for (index, statement) in statements.iter().enumerate() {
        let mut note = |what: String| found.push(format!("labs/{}: `{}`: {what}", lab.name, statement.id));
        if statements[..index].iter().any(|other| other.id == statement.id) {
            note("there is another statement with this id".to_owned());
        }
        statement.incomplete().into_iter().for_each(&mut note);
        statement.claims.iter().filter_map(|claim| unfit(lab, claim)).for_each(&mut note);
        statement.claims.iter().filter_map(|claim| of_responses(lab, statement, claim)).for_each(&mut note);
    }
    let is_named = |reference: &str| statements.iter().any(|statement| statement.names(reference));
    for study in &lab.studies {
        for (id, claim) in &study.claims {
            let reference = study.reference(id);
            if !claim.goal && !is_named(&reference) {
                let what = "is published and tests no statement; give it a statement or `goal = true`";
                found.push(format!("labs/{}: claim `{reference}` {what}", lab.name));
            }
            if !claim.goal {
                let unlike = claim.unlike().into_iter();
                found.extend(unlike.map(|what| format!("labs/{}: claim `{reference}` {what}", lab.name)));
            }
        }
    }
    found.extend(tested_twice(lab));
    found
}

/// Published claims that two studies have: two results for one statement would both count.
fn tested_twice(lab: &Lab) -> Vec<String> {
    let published = |study: &Study, id: &str| study.claims.get(id).is_some_and(|claim| !claim.goal);
    let mut found = Vec::new();
    for (index, study) in lab.studies.iter().enumerate() {
        for id in study.claims.keys().filter(|id| published(study, id)) {
            for other in lab.studies[..index].iter().filter(|other| published(other, id)) {
                let (one, two) = (other.reference(id), study.reference(id));
                let what = "are one published claim in two studies; test it in one";
                found.push(format!("labs/{}: `{one}` and `{two}` {what}", lab.name));
            }
        }
    }
    found
}

/// Why a claim cannot test a statement; `None` if it can.
fn unfit(lab: &Lab, reference: &str) -> Option<String> {
    match lab.studies.iter().find_map(|study| study.claim(reference)) {
        None => Some(format!("no study of the lab has the claim `{reference}`")),
        Some(claim) if claim.goal => {
            Some(format!("claim `{reference}` is a goal of its study and was not published"))
        }
        Some(_) => None,
    }
}

/// Why a claim cannot test a statement about queries: responses take longer than their queries, and for other reasons.
fn of_responses(lab: &Lab, statement: &Statement, reference: &str) -> Option<String> {
    let mut words = statement.text.split(|letter: char| !letter.is_alphanumeric());
    let is_of_queries = words.any(|word| matches!(word, "query" | "queries"));
    let claim = lab.studies.iter().find_map(|study| study.claim(reference))?;
    (is_of_queries && claim.takes_responses_for_queries())
        .then(|| format!("is about queries, and claim `{reference}` tests responses as like for like"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = "
        title = \"a board\"
        [claims.fast]
        text = \"lists are fast\"
        like_for_like = \"yes\"
        metric = \"goodput\"
        expect = \"faster\"
        [claims.ours]
        text = \"lists are twice as fast\"
        metric = \"goodput\"
        above = \"2/s\"
        goal = true
    ";

    fn lab(statements: &str) -> Lab {
        let document = format!("title = \"A board\"\nsource = \"https://example.org\"\n{statements}");
        Lab {
            name: "board".to_owned(),
            document: Document::read(&document).expect("the test's statements are TOML"),
            studies: vec![Study::read("", STUDY).expect("the test's study is TOML")],
        }
    }

    fn row(id: &str, rest: &str) -> String {
        format!("[[statement]]\nid = \"{id}\"\ntext = \"it is fast\"\nlines = \"3-4\"\n{rest}\n")
    }

    #[test]
    fn statements_with_a_claim_a_reason_or_a_gap_are_complete() {
        let text = row("a", "claims = [\"fast\"]")
            + &row("b", "not_testable = \"a price\"")
            + &row("c", "open = \"a study of prices\"");
        assert_eq!(mistakes(&lab(&text)), [] as [&str; 0]);
    }

    #[test]
    fn a_claim_that_no_study_has_is_a_mistake() {
        let text = row("a", "claims = [\"fast\", \"inner/fast\"]");
        assert_eq!(
            mistakes(&lab(&text)),
            ["labs/board: `a`: no study of the lab has the claim `inner/fast`"]
        );
    }

    #[test]
    fn a_published_claim_without_a_statement_is_a_mistake_and_a_goal_needs_none() {
        let found = mistakes(&lab(&row("a", "open = \"a study\"")));
        assert_eq!(
            found,
            [
                "labs/board: claim `fast` is published and tests no statement; give it a statement or `goal = true`"
            ]
        );
    }

    #[test]
    fn a_statement_about_queries_is_not_tested_like_for_like_by_the_times_of_responses() {
        let of_queries = row("a", "claims = [\"fast\"]").replace("it is fast", "its queries are fast");
        let what = "is about queries, and claim `fast` tests responses as like for like";
        assert_eq!(mistakes(&lab(&of_queries)), [format!("labs/board: `a`: {what}")]);
        for (line, instead) in [("\"yes\"", "\"no: responses here\""), ("\"goodput\"", "\"statement_time\"")]
        {
            let mut lab = lab(&of_queries);
            lab.studies = vec![Study::read("", &STUDY.replacen(line, instead, 1)).expect("it is TOML")];
            assert_eq!(mistakes(&lab), [] as [&str; 0], "{instead}");
        }
    }

    #[test]
    fn a_published_claim_that_does_not_say_whether_it_is_like_for_like_is_a_mistake_and_a_goal_need_not() {
        let mut lab = lab(&row("a", "claims = [\"fast\"]"));
        lab.studies =
            vec![Study::read("", &STUDY.replace("like_for_like = \"yes\"", "")).expect("it is TOML")];
        let what = "does not say in `like_for_like` whether it tests what was published";
        assert_eq!(mistakes(&lab), [format!("labs/board: claim `fast` {what}")]);
    }

    #[test]
    fn a_goal_tests_no_statement() {
        let found = mistakes(&lab(&row("a", "claims = [\"fast\", \"ours\"]")));
        assert_eq!(found, ["labs/board: `a`: claim `ours` is a goal of its study and was not published"]);
    }

    #[test]
    fn a_published_claim_in_two_studies_is_a_mistake() {
        let mut lab = lab(&row("a", "claims = [\"fast\", \"inner/fast\"]"));
        lab.studies.push(Study::read("inner", STUDY).expect("the test's study is TOML"));
        let what = "are one published claim in two studies; test it in one";
        assert_eq!(mistakes(&lab), [format!("labs/board: `fast` and `inner/fast` {what}")]);
    }

    #[test]
    fn two_statements_with_one_id_are_a_mistake() {
        let found =
            mistakes(&lab(&(row("a", "claims = [\"fast\"]") + &row("a", "not_testable = \"a price\""))));
        assert_eq!(found, ["labs/board: `a`: there is another statement with this id"]);
    }
}
