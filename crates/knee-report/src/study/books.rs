//! The books of a study: what became of its trials, by arm and workload and one by one.
//!
//! Does not judge a trial; its truth block did. Counts equal lines, no more.

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use knee_study::study::{Conclusion, Entry, Measured, Told};

use super::document::Table;
use super::figure;
use crate::number;

/// What became of the trials of each arm under each workload.
pub(super) fn table(conclusion: &Conclusion) -> Table {
    let mut table = Table::new([
        "workload",
        "arm",
        "trials",
        "valid",
        "suspect",
        "invalid",
        "without a service",
        "requests",
    ]);
    for (workload, _) in &conclusion.workloads {
        for arm in &conclusion.arms {
            let here = |entry: &&Entry| entry.trial.arm == arm.name && entry.trial.workload == *workload;
            let entries: Vec<&Entry> = conclusion.trials.iter().filter(here).collect();
            if entries.is_empty() {
                continue;
            }
            let count = |state: Validity| measured(&entries).filter(|trial| trial.state == state).count();
            let broken = entries.len() - measured(&entries).count();
            let numbers = [
                entries.len(),
                count(Validity::Valid),
                count(Validity::Suspect),
                count(Validity::Invalid),
                broken,
            ];
            let requests = measured(&entries).map(|trial| trial.requests).sum();
            let mut row = vec![workload.clone(), arm.name.clone()];
            row.extend(numbers.map(|number| number::count(number as u64)));
            row.push(number::count(requests));
            table.rows.push(row);
        }
    }
    table
}

fn measured<'a>(entries: &'a [&'a Entry]) -> impl Iterator<Item = &'a Measured> {
    entries.iter().filter_map(|entry| match &entry.told {
        Told::Measured(measured) => Some(measured),
        _ => None,
    })
}

/// One reason, and the trials that gave it.
struct Given {
    text: String,
    state: &'static str,
    trials: usize,
    /// Whether some gave it with other numbers.
    varies: bool,
    cells: BTreeMap<String, usize>,
}

/// Why trials are not valid, each reason once, the most frequent first. Reasons that differ in their numbers alone
/// are one, told with the numbers of the first.
pub(super) fn reasons(conclusion: &Conclusion) -> Vec<String> {
    let mut found: BTreeMap<(&str, String), Given> = BTreeMap::new();
    for entry in &conclusion.trials {
        for (state, text) in told(&entry.told) {
            let given = found.entry((state, without_numbers(&text))).or_insert_with(|| Given {
                text: text.clone(),
                state,
                trials: 0,
                varies: false,
                cells: BTreeMap::new(),
            });
            given.trials += 1;
            given.varies |= given.text != text;
            let cell = format!("{} under {}", entry.trial.arm, entry.trial.workload);
            *given.cells.entry(cell).or_default() += 1;
        }
    }
    let mut found: Vec<Given> = found.into_values().collect();
    found.sort_by_key(|given| std::cmp::Reverse(given.trials));
    found.iter().map(sentence).collect()
}

fn told(told: &Told) -> Vec<(&'static str, String)> {
    let line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    match told {
        Told::Measured(measured) => {
            measured.reasons.iter().map(|reason| (measured.state.name(), reason.clone())).collect()
        }
        Told::Died { reason } => vec![("died", line(reason))],
        Told::NeverReady { reason } => vec![("never up", line(reason))],
    }
}

fn sentence(given: &Given) -> String {
    let trials = figure::counted(given.trials, "trial");
    let cells: Vec<String> = given.cells.iter().map(|(cell, count)| format!("{count} of {cell}")).collect();
    let from = match cells.len() {
        1 => given.cells.keys().cloned().collect(),
        2..=3 => cells.join(", "),
        several => format!("of {several} pairs of arm and workload"),
    };
    let such = if given.varies { "for example: " } else { "" };
    format!("{trials} {} ({from}): {such}{}", given.state, given.text)
}

/// The text with each number as one sign.
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

/// Every trial.
pub(super) fn trials(conclusion: &Conclusion) -> Table {
    let mut table =
        Table::new(["block", "arm", "workload", "attempt", "state", "requests", "figures", "reasons"]);
    table.rows.extend(conclusion.trials.iter().map(|entry| {
        let trial = &entry.trial;
        let (state, requests, figures, reasons) = match &entry.told {
            Told::Measured(measured) => {
                let known = conclusion.metrics.iter().filter_map(|metric| {
                    let figure = measured.figures.get(metric)?;
                    Some(format!("{metric} {}", figure::figure(*metric, figure.value)))
                });
                let figures = if measured.state == Validity::Invalid {
                    String::new()
                } else {
                    known.collect::<Vec<_>>().join(", ")
                };
                (
                    measured.state.name(),
                    number::count(measured.requests),
                    figures,
                    measured.reasons.join("; "),
                )
            }
            Told::Died { reason } => ("died", "–".to_owned(), String::new(), reason.clone()),
            Told::NeverReady { reason } => ("never up", "–".to_owned(), String::new(), reason.clone()),
        };
        let place = [
            (trial.block + 1).to_string(),
            trial.arm.clone(),
            trial.workload.clone(),
            trial.attempt.to_string(),
        ];
        [place.to_vec(), vec![state.to_owned(), requests, figures, reasons]].concat()
    }));
    table
}
