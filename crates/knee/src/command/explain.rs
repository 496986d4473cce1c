//! `knee explain CODE`: explains a validity warning, a note or a finding: its limits, cause and remedy.
//!
//! Does not judge and does not read runs; the texts are those of the rules.

use std::fmt::Write;

use knee_core::fitness::{self, Facts};
use knee_core::validity::note::NOTES;
use knee_core::validity::rule::{RULES, Rule};
use knee_findings::RULES as FINDING_RULES;
use knee_report::sweep::note::{BUSY_CPUS, BUSY_CPUS_MEANING};
use knee_study::study::{TRIAL_RULES, TrialRule};

use crate::args::ExplainArgs;
use crate::exit::Exit;
use crate::problem::{Problem, printable};
use crate::settings::output::Sink;
use crate::settings::proxy;

/// Columns of a line.
const WIDTH: usize = 80;

/// Runs the command.
///
/// # Errors
///
/// An unknown code, or a stdout that cannot be written.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Problem> {
    let text = match &args.code {
        None => list(),
        Some(code) => one(code.trim_matches(['[', ']'])).ok_or_else(|| unknown(code))?,
    };
    Sink::Stdout.write(text.as_bytes())?;
    Ok(Exit::Ok)
}

fn unknown(code: &str) -> Problem {
    let what = format!("`{}` is not the code of a warning, a note or a finding", printable(code));
    // One wrong letter in three is a slip, more is another word.
    let is_slip = |known: &&str| strsim::damerau_levenshtein(known, code) * 3 <= known.len().max(code.len());
    let near = codes().filter(is_slip).min_by_key(|known| strsim::damerau_levenshtein(known, code));
    let hint = match near {
        _ if is_check(code.trim_matches(['[', ']'])) => {
            "it is a check of `knee doctor`, which prints its effect and its remedy below it".to_owned()
        }
        Some(near) => format!("did you mean `{near}`? `knee explain` lists all codes"),
        None => "`knee explain` lists all codes".to_owned(),
    };
    Problem::new(what, hint)
}

/// Whether `knee doctor` has a check of this name.
fn is_check(name: &str) -> bool {
    fitness::judge(&Facts::default()).checks.iter().any(|check| check.name == name)
}

/// Every code that a report prints in brackets.
fn codes() -> impl Iterator<Item = &'static str> {
    let rules = RULES.iter().map(|rule| rule.code).chain(TRIAL_RULES.iter().map(|rule| rule.code));
    let findings = FINDING_RULES.iter().map(|rule| rule.code);
    rules.chain(NOTES.iter().map(|note| note.code)).chain([BUSY_CPUS, proxy::CODE]).chain(findings)
}

/// All codes, one per line.
fn list() -> String {
    let mut text = "Warnings, which make a result suspect or invalid:\n".to_owned();
    for rule in RULES {
        paragraph(&mut text, &format!("  {:<17} ", rule.code), rule.looks_at);
    }
    text.push_str("\nWarnings that only trials have:\n");
    for rule in TRIAL_RULES {
        in_brief(&mut text, rule.code, rule.meaning);
    }
    text.push_str("\nNotes, which do not affect the validity:\n");
    for note in NOTES {
        in_brief(&mut text, note.code, note.meaning);
    }
    in_brief(&mut text, BUSY_CPUS, BUSY_CPUS_MEANING);
    text.push_str("\nWarnings before a load, which do not affect the validity:\n");
    in_brief(&mut text, proxy::CODE, proxy::MEANING);
    text.push_str("\nFindings, which say what limits the service:\n");
    for rule in FINDING_RULES {
        paragraph(&mut text, &format!("  {:<20} ", rule.code), rule.finds);
    }
    text
}

/// Writes a code and the first sentence of its meaning.
fn in_brief(text: &mut String, code: &str, meaning: &str) {
    let first = meaning.split_inclusive(['.', ':']).next().unwrap_or_default();
    paragraph(text, &format!("  {code:<17} "), first.trim_end_matches(['.', ':']));
}

fn one(code: &str) -> Option<String> {
    let rule = RULES.iter().find(|rule| rule.code == code).map(of_rule);
    let trial = || TRIAL_RULES.iter().find(|rule| rule.code == code).map(of_trial);
    let note = || NOTES.iter().find(|note| note.code == code).map(|note| of_note(note.code, note.meaning));
    let note = || note().or_else(|| (code == BUSY_CPUS).then(|| of_note(BUSY_CPUS, BUSY_CPUS_MEANING)));
    let finding = || FINDING_RULES.iter().find(|rule| rule.code == code).map(of_finding);
    let warning = rule.or_else(trial).or_else(note).or_else(|| (code == proxy::CODE).then(of_proxy));
    warning.or_else(finding)
}

fn of_rule(rule: &Rule) -> String {
    let mut text = format!("{}\n\n", rule.code);
    paragraph(&mut text, "Looks at: ", rule.looks_at);
    for (name, limit) in [("Suspect:  ", rule.suspect), ("Invalid:  ", rule.invalid)] {
        paragraph(&mut text, name, if limit.is_empty() { "never" } else { limit });
    }
    text.push('\n');
    paragraph(&mut text, "Cause:    ", rule.cause);
    paragraph(&mut text, "Remedy:   ", rule.remedy);
    paragraph(&mut text, "Limits:   ", rule.source);
    text
}

fn of_trial(rule: &TrialRule) -> String {
    let mut text = format!("{} (a warning of a trial)\n\n", rule.code);
    paragraph(&mut text, "", rule.meaning);
    text
}

fn of_note(code: &str, meaning: &str) -> String {
    let mut text = format!("{code} (a note: it does not affect the validity)\n\n");
    paragraph(&mut text, "", meaning);
    text
}

fn of_finding(rule: &knee_findings::Rule) -> String {
    let mut text = format!("{} (a finding: what limits the service)\n\n", rule.code);
    paragraph(&mut text, "Finds:    ", rule.finds);
    paragraph(&mut text, "Needs:    ", rule.needs);
    paragraph(&mut text, "Signals:  ", rule.limits);
    text.push('\n');
    paragraph(&mut text, "Cause:    ", rule.cause);
    paragraph(&mut text, "Remedy:   ", rule.remedy);
    paragraph(&mut text, "Limits:   ", rule.source);
    text.push('\n');
    paragraph(&mut text, "", "Two independent signals make a finding. One alone is a hint.");
    text
}

fn of_proxy() -> String {
    let mut text = format!("{} (a warning before a load: it does not affect the validity)\n\n", proxy::CODE);
    paragraph(&mut text, "", proxy::MEANING);
    text
}

/// Wraps words into lines; the first line begins with `head`, the others are indented by its width.
fn paragraph(text: &mut String, head: &str, words: &str) {
    let mut line = head.to_owned();
    let mut is_empty = true;
    for word in words.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{line}");
            (line, is_empty) = (" ".repeat(head.len()), true);
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn every_code_is_listed_and_explained_in_lines_that_fit_a_terminal() {
        let list = list();
        for code in codes() {
            assert!(list.contains(&format!("\n  {code} ")), "{code}");
            let text = one(code).unwrap();
            assert!(
                text.starts_with(code) && text.lines().all(|line| line.chars().count() <= WIDTH),
                "{text}"
            );
        }
    }

    #[test]
    fn a_check_of_the_doctor_is_named_as_one() {
        assert!(unknown("[pauses]").hint.contains("`knee doctor`"));
        assert!(unknown("pause_of_nothing").hint.contains("lists all codes"));
    }

    /// Every `.rs` file below a folder.
    fn sources(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(sources(&path));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
        found
    }

    /// The codes that a source prints: at the end of a text in brackets, or as the code of a warning.
    fn printed(source: &str) -> Vec<&str> {
        let letter = |c: char| c.is_ascii_lowercase() || c == '_';
        let code = |text: &&str| !text.is_empty() && text.chars().all(letter);
        let bracketed = source.match_indices("]\"").filter_map(|(end, _)| {
            let before = &source[..end];
            let begin = before.rfind(" [")?;
            Some(&before[begin + 2..])
        });
        let named =
            ["TrialWarning::new(\"", " code: \"", "CODE: &'static str = \""].into_iter().flat_map(|before| {
                source
                    .match_indices(before)
                    .filter_map(move |(begin, _)| source[begin + before.len()..].split('"').next())
            });
        bracketed.chain(named).filter(code).collect()
    }

    #[test]
    fn every_code_that_any_source_prints_is_explained() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut seen = 0;
        for path in
            sources(crates).iter().filter(|path| path.components().any(|part| part.as_os_str() == "src"))
        {
            let source = std::fs::read_to_string(path).unwrap();
            for code in printed(&source) {
                assert!(one(code).is_some(), "`{code}` of {} is not explained", path.display());
                seen += 1;
            }
        }
        assert!(seen > RULES.len(), "only {seen} codes were found in the sources");
    }

    #[test]
    fn a_code_that_was_mistyped_is_guessed() {
        assert!(one("run_dely").is_none());
        assert!(unknown("run_dely").hint.contains("`run_delay`"));
    }
}
