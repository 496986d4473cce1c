//! `knee doctor`: looks at this machine, measures its noise for 2 s, and says whether it is fit to measure.
//!
//! Reads files, finds programs and prints; `knee_core::fitness` judges, `knee_engine::host` measures. Sends no load,
//! and changes nothing.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use knee_core::fitness::{Check, Facts, Fitness, Grade, Program, judge};
use knee_core::unit::Nanos;
use knee_engine::host::{Sampler, cpu_quota, machine, noise, raise_descriptor_limit};
use knee_fixture::{find_program, find_stores};
use knee_report::json;

use super::build;
use crate::args::{DoctorArgs, DoctorFormat};
use crate::exit::Exit;
use crate::problem::{Problem, on_one_line};
use crate::settings::output::Sink;

/// Duration of each of the two measurements.
const SPAN: Nanos = Nanos::from_secs(1);

/// Programs that knee can use, or that users load or compare it with, and how they print their version.
const PROGRAMS: [(&str, &str); 3] = [("k6", "version"), ("nginx", "-v"), ("nats-server", "--version")];

/// Columns of the text.
const WIDTH: usize = 80;

/// Runs the command.
///
/// # Errors
///
/// If stdout cannot be written.
pub fn doctor(args: &DoctorArgs) -> Result<Exit, Problem> {
    let fitness = judge(&facts());
    let format = if args.json { DoctorFormat::Json } else { args.format };
    let result = match format {
        DoctorFormat::Json => json::pretty(&fitness),
        DoctorFormat::Text => text(&fitness),
        DoctorFormat::Quiet => String::new(),
    };
    Sink::Stdout.write(result.as_bytes())?;
    Ok(if fitness.fit { Exit::Ok } else { Exit::Invalid })
}

/// Looks at everything.
fn facts() -> Facts {
    let read = |path: &str| fs::read_to_string(path).ok();
    let mut facts = Facts {
        optimized: build().optimized,
        files: raise_descriptor_limit(),
        quota: cpu_quota(),
        programs: programs(),
        ..Facts::read(&read)
    };
    measure(&mut facts);
    facts
}

/// Measures wake-ups while the machine does what it does anyway, then pauses while all CPUs are busy.
fn measure(facts: &mut Facts) {
    let cores = machine().cores as usize;
    let mut cpus = facts.cpus.clone().unwrap_or_else(|| (0..cores).collect());
    // More threads than a quota allows would measure the quota.
    cpus.truncate(cores.max(1));
    let mut sampler = Sampler::start();
    facts.wakes = noise::wakes(&cpus, SPAN);
    let idle = sampler.sample(0);
    facts.pauses = noise::pauses(&cpus, SPAN);
    let full = sampler.sample(0);
    facts.busy = idle.host_busy;
    facts.ports = idle.ports;
    facts.throttled = full.throttled;
    facts.steal = full.steal;
}

/// Looks for programs.
fn programs() -> Vec<Program> {
    let stores = find_stores().into_iter().map(|(name, found)| match found {
        Ok(path) => Program { name, version: Some(version(&path, "--version")), ..Program::default() },
        Err(error) => Program {
            name,
            version: None,
            needed_for: "studies that declare it cannot start it",
            install: error.hint(),
        },
    });
    let others = PROGRAMS.iter().map(|(name, word)| Program {
        name,
        version: find_program(name).map(|path| version(&path, word)),
        ..Program::default()
    });
    stores.chain(others).collect()
}

/// The version that a program prints when it is called with `word`.
fn version(program: &Path, word: &str) -> String {
    let printed = Command::new(program).arg(word).stdin(Stdio::null()).output();
    let found = printed.ok().and_then(|output| {
        // nginx writes to stderr.
        let both = [output.stdout, output.stderr].concat();
        version_in(&String::from_utf8_lossy(&both))
    });
    found.unwrap_or_else(|| "found; it does not say its version".to_owned())
}

/// The first number with a dot, as in `Redis server v=7.0.15` and `nginx/1.18.0`.
fn version_in(text: &str) -> Option<String> {
    let number = |word: &str| {
        let from = word.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = from.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-'));
        let number = &from[..end.unwrap_or(from.len())];
        number.contains('.').then(|| number.trim_end_matches('.').to_owned())
    };
    text.split_ascii_whitespace().find_map(number)
}

/// The answer, then a line per check; below checks that are not ok, the effect and the remedy.
fn text(fitness: &Fitness) -> String {
    let mut text = wrapped(&fitness.answer, 0);
    text.push('\n');
    for check in &fitness.checks {
        let head = format!("{:<8} {:<12} ", check.grade.name(), check.name);
        let found = wrapped(&on_one_line(&check.found), head.len());
        let _ = write!(text, "{head}{}", found.trim_start());
        text += &advice(check, head.len());
    }
    text
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
    use super::*;

    #[test]
    fn versions_are_read_as_the_programs_print_them() {
        let printed = [
            ("postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)", "15.8"),
            ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64", "7.0.15"),
            ("k6 v0.57.0 (commit/50afd82c18, go1.23.6, linux/amd64)", "0.57.0"),
            ("nginx version: nginx/1.22.1\n", "1.22.1"),
            ("nats-server: v2.10.7\n", "2.10.7"),
        ];
        for (text, expected) in printed {
            assert_eq!(version_in(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(version_in("no such flag"), None);
    }

    #[test]
    fn the_text_begins_with_the_answer_and_fits_eighty_columns() {
        let check = |name, grade| Check {
            name,
            grade,
            found: "many words ".repeat(12).trim().to_owned(),
            effect: "an effect".to_owned(),
            remedy: "a remedy".to_owned(),
        };
        let checks = vec![check("cpus", Grade::Limits), check("ports", Grade::Ok)];
        let fitness = Fitness { kind: "doctor", version: 1, answer: "Fit.".to_owned(), fit: true, checks };
        let text = text(&fitness);
        assert!(text.starts_with("Fit.\n\nlimits   cpus         many words"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(text.matches("remedy: a remedy").count(), 1, "only where something limits: {text}");
    }
}
