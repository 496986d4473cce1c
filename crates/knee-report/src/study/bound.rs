//! The CPU bound of each variant, and the conclusion for the fastest one, in words.
//!
//! Does not calculate; bounds come with the conclusion.

use knee_core::unit::Nanos;
use knee_study::cpu::CpuFinding;
use knee_study::metric::Metric;
use knee_study::study::{Bound, Component, Conclusion};

use super::block::{Block, Table};
use super::value;
use crate::number;

/// The section; nothing if nothing was measured.
pub(super) fn section(conclusion: &Conclusion) -> Vec<Block> {
    let heading = Block::Heading("What bounds it".to_owned());
    if conclusion.bounds.is_empty() {
        return match unknown(conclusion) {
            Some(why) => vec![heading, Block::Paragraph(why.to_owned())],
            None => Vec::new(),
        };
    }
    let sentences: Vec<String> = conclusion
        .workloads
        .iter()
        .filter_map(|(workload, _)| Some(sentence(fastest(conclusion, workload)?)))
        .collect();
    vec![heading, Block::List(sentences)]
}

/// Why no bound is known.
fn unknown(conclusion: &Conclusion) -> Option<&'static str> {
    let seen = conclusion.timeline.iter().any(|row| row.metric == Metric::CpuPerRequest);
    match (conclusion.timeline.is_empty(), seen) {
        (true, _) => None,
        (_, true) => {
            Some("Unknown: the trials do not say on which CPUs they ran, or other machines made the load.")
        }
        (_, false) => Some("Unknown: the CPU time of the service is not visible from here."),
    }
}

/// The variant with the most requests/s. Among variants that answered all scheduled requests, the one with the least
/// CPU time per request.
fn fastest<'a>(conclusion: &'a Conclusion, workload: &str) -> Option<&'a Bound> {
    let here = || conclusion.bounds.iter().filter(|bound| bound.cell.workload == workload);
    let cheapest = here().filter(|bound| bound.kept_up).max_by(|a, b| a.limit.total_cmp(&b.limit));
    cheapest.or_else(|| here().max_by(|a, b| a.throughput.total_cmp(&b.throughput)))
}

fn sentence(bound: &Bound) -> String {
    let component = |component: &Component| match bound.costs.get(component) {
        Some(time) => format!("{} ({})", component.name(), cost(*time)),
        None => component.name().to_owned(),
    };
    let by: Vec<String> = bound.by.iter().map(component).collect();
    let cpus = if bound.cpus == 1 { "1 CPU".to_owned() } else { format!("{} CPUs", bound.cpus) };
    let fill = if by.len() == 1 { "fills" } else { "fill" };
    let word = limited(bound);
    let unseen = if bound.costs.contains_key(&Component::Generator) {
        ""
    } else {
        "; the generator's CPU time is unknown, so the bound is lower"
    };
    format!(
        "{}, {}: {}/s, {} of the {}/s at which {} {fill} {cpus}: {word}{unseen}",
        bound.cell.variant,
        bound.cell.workload,
        value::three_digits(bound.throughput),
        number::percent(bound.reached),
        value::three_digits(bound.limit),
        by.join(" and "),
    )
}

/// What limits it, in words.
fn limited(bound: &Bound) -> String {
    let busy = bound.host_busy.map_or("unknown".to_owned(), number::percent);
    match bound.finding() {
        CpuFinding::KeptUp => "keeps up with the load".to_owned(),
        CpuFinding::Cpus => "CPU-bound".to_owned(),
        CpuFinding::MostlyCpus => "mostly CPU-bound".to_owned(),
        CpuFinding::OneThread(part) => {
            format!("the {} fills one CPU: one busy process or thread", part.name())
        }
        CpuFinding::AllBusy => {
            format!("no conclusion: all CPUs were {busy} busy, in part with other programs")
        }
        CpuFinding::Shared => {
            format!("no conclusion: the generator shares the CPUs of the service; all CPUs were {busy} busy")
        }
        CpuFinding::Elsewhere => "not CPU-bound: locks, disks, or too little load".to_owned(),
        CpuFinding::Unknown => "no conclusion: the use of all CPUs is unknown".to_owned(),
    }
}

/// The CPU time per request of every variant, and what the CPUs allow.
pub(super) fn table(conclusion: &Conclusion) -> Table {
    let mut table = Table::new([
        "workload",
        "variant",
        "requests/s",
        "generator",
        "service",
        "stores",
        "total",
        "CPUs allow",
        "reached",
    ]);
    table.rows.extend(conclusion.bounds.iter().map(|bound| {
        let component =
            |component: Component| bound.costs.get(&component).map_or("–".to_owned(), |time| cost(*time));
        let all = Nanos(bound.costs.values().map(|time| time.as_nanos()).sum());
        vec![
            bound.cell.workload.clone(),
            bound.cell.variant.clone(),
            value::three_digits(bound.throughput),
            component(Component::Generator),
            component(Component::Service),
            component(Component::Stores),
            cost(all),
            format!("{}/s", value::three_digits(bound.limit)),
            number::percent(bound.reached),
        ]
    }));
    table
}

fn cost(time: Nanos) -> String {
    number::time(time.as_nanos() as f64, None)
}
