//! What the CPUs say about a service near its saturation, in words.
//!
//! Does not judge; [`knee_study::cpu`] does.

use knee_core::unit::Nanos;
use knee_study::cpu::CpuFinding;
use knee_study::sweep::bound::{CpuBound, CpuUse, ProgramUse, Role};

use crate::clean;
use crate::number::{self, level};

/// The sentences: what limits the service, and who used the CPUs.
pub fn sentences(used: &CpuUse) -> Vec<String> {
    let end = finding(used);
    let first = match &used.bound {
        Some(CpuBound { demand, cores, bound, share }) => format!(
            "CPU: {} per request on {} allows {} requests/s; the service reached {} of that: {end}.",
            Nanos::from_secs_f64(*demand),
            cpus(*cores as usize),
            level(*bound),
            number::percent(*share)
        ),
        None => format!("CPU: {end}."),
    };
    let mut sentences = vec![first];
    if !used.programs.is_empty() {
        let programs: Vec<String> = used.programs.iter().map(program).collect();
        sentences.push(format!("CPUs used near saturation: {}.", programs.join(", ")));
    }
    sentences.extend(used.waited_for.iter().map(|name| {
        let name = quoted(name);
        format!("One thread of `{name}` fills a CPU: if the service waits for it, it is the limit.")
    }));
    sentences
}

/// Which program fills the CPUs, for a headline without a capacity; begins with a space.
pub fn full(used: &CpuUse) -> Option<String> {
    let first = used.programs.first()?;
    match &used.finding {
        CpuFinding::OneThread(name) => Some(format!(" One thread of `{}` fills a CPU.", clean::line(name))),
        CpuFinding::Cpus | CpuFinding::AllBusy => {
            Some(format!(" The CPUs are full: `{}` uses {}.", name(first), amount(first.cpus)))
        }
        _ => None,
    }
}

fn finding(used: &CpuUse) -> String {
    let busy = used.busy.map(number::percent);
    match (&used.finding, busy) {
        (CpuFinding::KeptUp, _) => "no conclusion, because the service kept up".to_owned(),
        (CpuFinding::Cpus, _) => "CPU-bound".to_owned(),
        (CpuFinding::MostlyCpus, _) => "mostly CPU-bound".to_owned(),
        (CpuFinding::OneThread(name), _) => {
            format!("one thread of `{}` fills a CPU, so more CPUs do not help", clean::line(name))
        }
        (CpuFinding::AllBusy, busy) => format!(
            "no conclusion about the service, because all programs together kept its CPUs {} busy",
            busy.unwrap_or_default()
        ),
        (CpuFinding::Shared, busy) => format!(
            "no conclusion, because the load generator shares its CPUs, which were {} busy",
            busy.unwrap_or_default()
        ),
        (CpuFinding::Elsewhere, _) => {
            "not CPU-bound: check locks, pools and other waits of the service".to_owned()
        }
        (CpuFinding::Unknown, _) if used.bound.is_none() => {
            "no conclusion about the service, because its processes are unknown (`--pid PID`)".to_owned()
        }
        (CpuFinding::Unknown, None) => {
            "no conclusion, because the CPU use of this machine is unknown".to_owned()
        }
        (CpuFinding::Unknown, Some(_)) => {
            "no conclusion, because it is unknown whether the load generator shares its CPUs".to_owned()
        }
    }
}

fn program(one: &ProgramUse) -> String {
    let whose = match one.role {
        Role::Generator => " (load generator)",
        Role::Service => " (service)",
        Role::Other => "",
    };
    let count = if one.processes == 1 { String::new() } else { format!(" in {} processes", one.processes) };
    format!("`{}`{whose} {:.2}{count}", name(one), one.cpus)
}

fn name(one: &ProgramUse) -> String {
    quoted(&one.name)
}

/// For backticks around it.
fn quoted(name: &str) -> String {
    clean::line(name).replace('`', "'")
}

fn amount(used: f64) -> String {
    format!("{used:.2} CPUs")
}

/// A number of CPUs.
pub fn cpus(count: usize) -> String {
    if count == 1 { "1 CPU".to_owned() } else { format!("{count} CPUs") }
}
