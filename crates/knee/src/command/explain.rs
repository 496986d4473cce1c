//! `knee explain CODE`: what a validity warning or a note means, its limits, cause and remedy.
//!
//! Does not judge and does not know a run; the texts are those of the rules.

use std::fmt::Write;

use knee_core::validity::note::{NOTES, Note};
use knee_core::validity::rule::{RULES, Rule};

use crate::args::ExplainArgs;
use crate::exit::Exit;
use crate::problem::{Problem, printable};
use crate::settings::output::Sink;

/// Columns of a line.
const WIDTH: usize = 80;

/// Does it.
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
    let known = RULES.iter().map(|rule| rule.code).chain(NOTES.iter().map(|note| note.code));
    let near = known.min_by_key(|known| strsim::levenshtein(known, code)).unwrap_or_default();
    let what = format!("`{}` is not the code of a warning or a note", printable(code));
    Problem::new(what, format!("run `knee explain` for a list, or did you mean `{near}`?"))
}

/// All codes, a line each.
fn list() -> String {
    let mut text = "Warnings, which make a result suspect or invalid:\n".to_owned();
    for rule in RULES {
        paragraph(&mut text, &format!("  {:<17} ", rule.code), rule.looks_at);
    }
    text.push_str("\nNotes, which do not:\n");
    for note in NOTES {
        let first = note.meaning.split_inclusive(['.', ':']).next().unwrap_or_default();
        paragraph(&mut text, &format!("  {:<17} ", note.code), first.trim_end_matches(['.', ':']));
    }
    text
}

fn one(code: &str) -> Option<String> {
    let rule = RULES.iter().find(|rule| rule.code == code).map(of_rule);
    rule.or_else(|| NOTES.iter().find(|note| note.code == code).map(of_note))
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

fn of_note(note: &Note) -> String {
    let mut text = format!("{} (a note: it does not touch the validity)\n\n", note.code);
    paragraph(&mut text, "", note.meaning);
    text
}

/// Words in lines, the first behind `head`, the others below its end.
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
    use super::*;

    #[test]
    fn every_code_is_listed_and_explained_in_lines_that_fit_a_terminal() {
        let list = list();
        for code in RULES.iter().map(|rule| rule.code).chain(NOTES.iter().map(|note| note.code)) {
            assert!(list.contains(&format!("\n  {code} ")), "{code}");
            let text = one(code).unwrap();
            assert!(
                text.starts_with(code) && text.lines().all(|line| line.chars().count() <= WIDTH),
                "{text}"
            );
        }
    }

    #[test]
    fn a_code_that_was_mistyped_is_guessed() {
        assert!(one("run_dely").is_none());
        assert!(unknown("run_dely").hint.contains("`run_delay`"));
    }
}
