//! The books of a study: what became of its trials, by arm and workload and one by one.
//!
//! Does not judge a trial; its truth block did. Counts equal lines, no more.

use std::collections::BTreeMap;

use knee_core::truth::State;
use knee_study::study::{Conclusion, Entry, Told};

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
        "reasons",
    ]);
    for (workload, _) in &conclusion.workloads {
        for arm in &conclusion.arms {
            let here = |entry: &&Entry| entry.trial.arm == arm.name && entry.trial.workload == *workload;
            let entries: Vec<&Entry> = conclusion.trials.iter().filter(here).collect();
            if entries.is_empty() {
                continue;
            }
            let count = |state: State| measured(&entries).filter(|trial| trial.state == state).count();
            let broken = entries.len() - measured(&entries).count();
            let numbers =
                [entries.len(), count(State::Valid), count(State::Suspect), count(State::Invalid), broken];
            let requests = measured(&entries).map(|trial| trial.requests).sum();
            let mut row = vec![workload.clone(), arm.name.clone()];
            row.extend(numbers.map(|number| number::count(number as u64)));
            row.extend([number::count(requests), reasons(&entries)]);
            table.rows.push(row);
        }
    }
    table
}

fn measured<'a>(entries: &'a [&'a Entry]) -> impl Iterator<Item = &'a knee_study::study::Measured> {
    entries.iter().filter_map(|entry| match &entry.told {
        Told::Measured(measured) => Some(measured),
        _ => None,
    })
}

/// Each reason once, with how often it was given. Reasons that differ in their numbers alone are one, told with
/// the first one's numbers.
fn reasons(entries: &[&Entry]) -> String {
    let mut order: Vec<String> = Vec::new();
    let mut found: BTreeMap<String, (String, usize)> = BTreeMap::new();
    let all = entries.iter().flat_map(|entry| match &entry.told {
        Told::Measured(measured) => measured.reasons.clone(),
        Told::Died { reason } => vec![format!("died: {}", first_line(reason))],
        Told::NeverReady { reason } => vec![format!("never up: {}", first_line(reason))],
    });
    for reason in all {
        let kind = without_numbers(&reason);
        if !found.contains_key(&kind) {
            order.push(kind.clone());
        }
        found.entry(kind).or_insert((reason, 0)).1 += 1;
    }
    let written = order.iter().map(|kind| {
        let (text, times) = &found[kind];
        if *times > 1 { format!("{times} times: {text}") } else { text.clone() }
    });
    written.collect::<Vec<_>>().join("; ")
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The text with each number as one sign.
fn without_numbers(text: &str) -> String {
    let mut kind = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '0'..='9' if kind.ends_with('#') => {}
            '0'..='9' => kind.push('#'),
            '.' | ',' if kind.ends_with('#') => {}
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
                let figures = if measured.state == State::Invalid {
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
