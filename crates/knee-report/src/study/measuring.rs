//! How a study was measured: command, machine, program, days, and on which CPUs everything ran.
//!
//! Does not report the validity.

use std::collections::BTreeMap;

use knee_core::record::{Build, Machine};
use knee_core::unit::Nanos;
use knee_study::study::{Conclusion, Placement, TrialResult};

use super::block::Block;
use super::provenance::{Provenance, Session};
use super::value;
use crate::number;

/// How to read intervals and the minimum detectable effect.
pub(super) const READING: &str = "intervals and verdicts are over blocks, not requests; percentiles are those of the \
    requests of all blocks, where one that failed is slower than each that succeeded; MDE: the smallest change that this \
    many blocks detect with 80 % power, after correction";

/// Sessions that are shown: the first ones, and the last.
const SESSIONS_SHOWN: usize = 6;

/// The section.
pub(super) fn section(conclusion: &Conclusion, provenance: &Provenance) -> Vec<Block> {
    let mut points: Vec<String> =
        conclusion.question.iter().map(|asked| format!("question: {asked}")).collect();
    points.extend(conclusion.source.iter().map(|source| format!("re-tested story: {source}")));
    points.extend(sessions(provenance));
    if provenance.sessions.is_empty() && !conclusion.trials.is_empty() {
        points.push("date and machine were not stored with the trials".to_owned());
    }
    points.extend(placements(conclusion));
    points.extend(weights(conclusion));
    points.extend(unavailable(conclusion));
    points.push(format!(
        "{} in {}; each block runs every variant and workload once, in an order by seed {}",
        value::count(conclusion.trials.len(), "trial"),
        value::count(conclusion.blocks, "block"),
        conclusion.seed
    ));
    points.extend(margins(conclusion));
    points.push(READING.to_owned());
    vec![Block::Heading("How it was measured".to_owned()), Block::List(points)]
}

/// How to repeat the study, and how to see everything that it measured.
pub(super) fn commands(provenance: &Provenance) -> Vec<Block> {
    let Some(commands) = &provenance.commands else { return Vec::new() };
    let about = format!(
        "The first command repeats the study. The second one makes this document again from the saved trials. The third \
         one shows every comparison and every trial. They work in {}.",
        commands.folder
    );
    let all = format!("{} --output-format json", commands.report);
    let lines = vec![commands.repeat.clone(), commands.report.clone(), all];
    vec![Block::Heading("Repeat it".to_owned()), Block::Paragraph(about), Block::Code(lines)]
}

fn sessions(provenance: &Provenance) -> Vec<String> {
    let sessions = &provenance.sessions;
    let hidden = sessions.len().saturating_sub(SESSIONS_SHOWN);
    let shown =
        sessions.iter().take(SESSIONS_SHOWN - 1).chain(sessions.iter().skip(SESSIONS_SHOWN - 1 + hidden));
    let mut points: Vec<String> = shown.map(|session| point(session, provenance)).collect();
    if hidden > 0 {
        points.push(format!("and {} more", value::count(hidden, "session")));
    }
    points
}

fn point(session: &Session, provenance: &Provenance) -> String {
    let from = if provenance.sessions.len() > 1 {
        format!(" from trial {}", number::count(session.first_trial as u64 + 1))
    } else {
        String::new()
    };
    format!("{}{from}: {} on {}", day(session.started), program(&session.build), machine(&session.machine))
}

/// The day and minute, in universal time.
pub(crate) fn day(wall: Nanos) -> String {
    let time = jiff::Timestamp::from_nanosecond(i128::from(wall.as_nanos())).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// The day, in universal time.
pub(super) fn date(wall: Nanos) -> String {
    day(wall).chars().take("2026-01-01".len()).collect()
}

/// The program that measured, with its commit.
pub(crate) fn program(build: &Build) -> String {
    let commit = build.commit.as_ref().map_or_else(String::new, |commit| format!(" ({commit})"));
    let slow = if build.optimized { "" } else { ", debug build" };
    format!("knee {}{commit}{slow}", build.version)
}

/// A machine: cores, CPU, memory, system.
pub(crate) fn machine(machine: &Machine) -> String {
    let cores = match machine.cores {
        1 => "1 core".to_owned(),
        cores => format!("{cores} cores"),
    };
    let cpu = machine.cpu.as_deref().unwrap_or("an unknown CPU");
    let memory =
        machine.memory_bytes.map_or_else(String::new, |bytes| format!(", {}", number::bytes(bytes as f64)));
    format!("{cores} of {cpu} ({}){memory}, {}", machine.arch, machine.system)
}

/// On which CPUs the parts of the trials ran: usually the same in all of them.
fn placements(conclusion: &Conclusion) -> Vec<String> {
    let mut known: BTreeMap<&BTreeMap<String, String>, usize> = BTreeMap::new();
    for placement in trials(conclusion).filter(|placement| !placement.cpus.is_empty()) {
        *known.entry(&placement.cpus).or_default() += 1;
    }
    let several = known.len() > 1;
    let written = known.into_iter().map(|(cpus, trials)| {
        let parts: Vec<String> = cpus.iter().map(|(part, cpus)| format!("{part} on {cpus}")).collect();
        let count = if several { format!(" ({})", value::count(trials, "trial")) } else { String::new() };
        format!("CPUs: {}{count}", parts.join(", "))
    });
    written.collect()
}

/// Whether the generator had precedence over the others.
fn weights(conclusion: &Conclusion) -> Vec<String> {
    let mut known: BTreeMap<u32, usize> = BTreeMap::new();
    trials(conclusion)
        .filter_map(|placement| placement.generator_cpu_weight)
        .for_each(|weight| *known.entry(weight).or_default() += 1);
    let written = known.into_iter().map(|(weight, trials)| {
        let trials = value::count(trials, "trial");
        format!("the generator had {weight} times the CPU weight of others, in {trials}")
    });
    written.collect()
}

/// The equivalence margins of this study; quick studies and noisy machines have wide ones.
fn margins(conclusion: &Conclusion) -> Option<String> {
    let mut known: Vec<(String, Vec<&str>)> = Vec::new();
    for effect in &conclusion.effects {
        let change = value::unsigned(effect.metric, effect.margin);
        let (margin, name) = (change, effect.metric.name());
        match known.iter_mut().find(|(text, _)| *text == margin) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => known.push((margin, vec![name])),
        }
    }
    let parts: Vec<String> =
        known.iter().map(|(margin, names)| format!("{margin} ({})", names.join(", "))).collect();
    (!parts.is_empty())
        .then(|| format!("equivalence margin (a smaller change is \"same\"): {}", parts.join(", ")))
}

fn unavailable(conclusion: &Conclusion) -> Vec<String> {
    let mut known: BTreeMap<(&String, &String), usize> = BTreeMap::new();
    for placement in trials(conclusion) {
        placement.unavailable.iter().for_each(|entry| *known.entry(entry).or_default() += 1);
    }
    let written = known.into_iter().map(|((what, why), trials)| {
        format!("unavailable on this machine, in {}: {what}: {why}", value::count(trials, "trial"))
    });
    written.collect()
}

fn trials(conclusion: &Conclusion) -> impl Iterator<Item = &Placement> {
    conclusion.trials.iter().filter_map(|entry| match &entry.result {
        TrialResult::Measured(measured) => Some(&measured.placement),
        _ => None,
    })
}
