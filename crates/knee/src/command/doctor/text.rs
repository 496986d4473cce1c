//! The fitness of a machine as text for a terminal.
//!
//! Does not judge; shows the answer first, then the checks area by area.

use std::fmt::Write as _;

use knee_core::fitness::{Check, Fitness, Grade};

use crate::problem::on_one_line;

/// Columns of the text.
const WIDTH: usize = 80;

/// The answer, then a line per check; below checks that are not ok, the effect and the remedy.
pub(super) fn text(fitness: &Fitness) -> String {
    let mut text = wrapped(&fitness.answer, 0);
    text += &off(fitness);
    let mut area = None;
    for check in &fitness.checks {
        if area.replace(check.area) != Some(check.area) {
            let _ = write!(text, "\n{}\n", check.area.title());
        }
        let head = format!("  {:<7} {:<11} ", check.grade.name(), check.name);
        let found = wrapped(&on_one_line(&check.found), head.len());
        let _ = write!(text, "{head}{}", found.trim_start());
        text += &advice(check, head.len());
    }
    text
}

/// The features that are off, in one sentence; empty if there are none.
fn off(fitness: &Fitness) -> String {
    let off = fitness.checks.iter().filter(|check| check.grade == Grade::Off);
    let names: Vec<&str> = off.map(|check| check.name).collect();
    if names.is_empty() {
        return String::new();
    }
    wrapped(&format!("Off, without effect on other measurements: {}.", names.join(", ")), 0)
}

/// The effect and the remedy of a check.
fn advice(check: &Check, indent: usize) -> String {
    if check.grade == Grade::Ok {
        return String::new();
    }
    let effect = Some(&check.effect).filter(|effect| !effect.is_empty());
    let remedy = Some(&check.remedy).filter(|remedy| !remedy.is_empty());
    let lines = effect.map(|effect| format!("effect: {effect}"));
    let lines = lines.into_iter().chain(remedy.map(|remedy| format!("remedy: {remedy}")));
    lines.map(|line| wrapped(&line, indent)).collect()
}

/// `text` in lines of at most [`WIDTH`] columns, each after `indent` spaces; longer words get a line of their own.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(lines, "{:indent$}{line}", "");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    let _ = writeln!(lines, "{:indent$}{line}", "");
    lines
}

#[cfg(test)]
mod tests {
    use knee_core::fitness::Area;

    use super::*;

    fn fitness(grades: &[(&'static str, Area, Grade)]) -> Fitness {
        let check = |(name, area, grade): &(&'static str, Area, Grade)| Check {
            name,
            area: *area,
            grade: *grade,
            found: "many words ".repeat(12).trim().to_owned(),
            effect: "an effect".to_owned(),
            remedy: "a remedy".to_owned(),
        };
        let checks = grades.iter().map(check).collect();
        Fitness { kind: "doctor", version: 1, answer: "Fit.".to_owned(), fit: true, division: None, checks }
    }

    #[test]
    fn the_text_begins_with_the_answer_and_fits_eighty_columns() {
        let limits = ("cpus", Area::Machine, Grade::Limits);
        let text = text(&fitness(&[limits, ("ports", Area::Machine, Grade::Ok)]));
        assert!(text.starts_with("Fit.\n\nMachine\n  limits  cpus        many words"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(text.matches("remedy: a remedy").count(), 1, "only where something limits: {text}");
    }

    #[test]
    fn what_is_off_is_named_below_the_answer_and_each_area_has_one_heading() {
        let text = text(&fitness(&[
            ("noise", Area::Noise, Grade::Off),
            ("cpu_limit", Area::Features, Grade::Ok),
            ("k6", Area::Programs, Grade::Off),
            ("nginx", Area::Programs, Grade::Ok),
        ]));
        let off = "Fit.\nOff, without effect on other measurements: noise, k6.\n\nNoise\n";
        assert!(text.starts_with(off), "{text}");
        assert_eq!(text.matches("\nPrograms\n").count(), 1, "{text}");
    }
}
