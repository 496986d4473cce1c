//! The accounting of a study: its trials by validity, variant and workload.
//!
//! Does not judge trials; their validity checks did. Only counts equal warnings.

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use knee_study::study::{Conclusion, Entry, Measured, Totals, TrialResult, TrialWarning};

use super::block::Table;
use super::value;
use crate::number;

/// Trials by validity, in a sentence.
pub(super) fn totals(totals: &Totals) -> String {
    let broken = if totals.broken > 0 {
        format!(", {} without a service", number::count(totals.broken as u64))
    } else {
        String::new()
    };
    format!(
        "{}: {} valid, {} suspect, {} invalid{broken}",
        value::count(totals.trials, "trial"),
        number::count(totals.valid as u64),
        number::count(totals.suspect as u64),
        number::count(totals.invalid as u64),
    )
}

/// Trials of each variant and workload by validity.
pub(super) fn table(conclusion: &Conclusion) -> Table {
    let mut table = Table::new([
        "workload",
        "variant",
        "trials",
        "valid",
        "suspect",
        "invalid",
        "without a service",
        "requests",
    ]);
    for (workload, _) in &conclusion.workloads {
        for variant in &conclusion.variants {
            let here =
                |entry: &&Entry| entry.trial.variant == variant.name && entry.trial.workload == *workload;
            let entries: Vec<&Entry> = conclusion.trials.iter().filter(here).collect();
            if entries.is_empty() {
                continue;
            }
            let count = |state: Validity| measured(&entries).filter(|trial| trial.validity == state).count();
            let broken = entries.len() - measured(&entries).count();
            let numbers = [
                entries.len(),
                count(Validity::Valid),
                count(Validity::Suspect),
                count(Validity::Invalid),
                broken,
            ];
            let requests = measured(&entries).map(|trial| trial.requests).sum();
            let mut row = vec![workload.clone(), variant.name.clone()];
            row.extend(numbers.map(|number| number::count(number as u64)));
            row.push(number::count(requests));
            table.rows.push(row);
        }
    }
    table
}

fn measured<'a>(entries: &'a [&'a Entry]) -> impl Iterator<Item = &'a Measured> {
    entries.iter().filter_map(|entry| match &entry.result {
        TrialResult::Measured(measured) => Some(measured),
        _ => None,
    })
}

/// One kind of warning, and the trials that have it.
struct Warned {
    code: String,
    message: String,
    validity: &'static str,
    trials: usize,
    /// Whether its figures differ between trials.
    varies: bool,
    cells: BTreeMap<String, usize>,
}

/// Why trials are not valid: each warning once with its count, the most frequent first. Warnings of one code, or
/// without a code whose messages differ in their numbers alone, are one, with the message of the first.
pub(super) fn warnings(conclusion: &Conclusion) -> Vec<String> {
    let mut found: BTreeMap<(&str, String), Warned> = BTreeMap::new();
    for entry in &conclusion.trials {
        for (validity, TrialWarning { code, message }) in warnings_of(&entry.result) {
            let kind = if code.is_empty() { without_numbers(&message) } else { code.clone() };
            let warned = found.entry((validity, kind)).or_insert_with(|| Warned {
                code,
                message: message.clone(),
                validity,
                trials: 0,
                varies: false,
                cells: BTreeMap::new(),
            });
            warned.trials += 1;
            warned.varies |= warned.message != message;
            let cell = format!("{}, {}", entry.trial.variant, entry.trial.workload);
            *warned.cells.entry(cell).or_default() += 1;
        }
    }
    let mut found: Vec<Warned> = found.into_values().collect();
    found.sort_by_key(|warned| std::cmp::Reverse(warned.trials));
    let mut sentences: Vec<String> = found.iter().map(sentence).collect();
    if found.iter().any(|warned| !warned.code.is_empty()) {
        sentences.push("cause and remedy of a code: knee explain CODE".to_owned());
    }
    sentences
}

fn warnings_of(result: &TrialResult) -> Vec<(&'static str, TrialWarning)> {
    let first_line = |text: &str| TrialWarning::new("", text.lines().next().unwrap_or_default());
    match result {
        TrialResult::Measured(measured) => {
            measured.warnings.iter().map(|warning| (measured.validity.name(), warning.clone())).collect()
        }
        TrialResult::Died { reason } => vec![("died", first_line(reason))],
        TrialResult::NeverReady { reason } => vec![("never up", first_line(reason))],
    }
}

fn sentence(warned: &Warned) -> String {
    let trials = value::count(warned.trials, "trial");
    let code = if warned.code.is_empty() { String::new() } else { format!(" [{}]", warned.code) };
    let cells: Vec<String> = warned.cells.iter().map(|(cell, count)| format!("{count} of {cell}")).collect();
    let from = match cells.len() {
        1 => warned.cells.keys().cloned().collect(),
        2..=3 => cells.join("; "),
        several => format!("{several} pairs of variant and workload"),
    };
    let such = if warned.varies { "for example: " } else { "" };
    format!("{trials} {}{code} ({from}): {such}{}", warned.validity, warned.message)
}

/// The text with each number replaced by one sign.
fn without_numbers(text: &str) -> String {
    let mut kind = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '0'..='9' | '.' | ',' if kind.ends_with('#') => {}
            '0'..='9' => kind.push('#'),
            letter => kind.push(letter),
        }
    }
    kind
}

/// The warnings of a trial for a table cell: their codes.
pub(super) fn codes(measured: &Measured) -> String {
    let mut codes: Vec<&str> = measured.warnings.iter().map(|warning| warning.code.as_str()).collect();
    codes.iter_mut().filter(|code| code.is_empty()).for_each(|code| *code = "no code");
    codes.dedup();
    codes.join(", ")
}
