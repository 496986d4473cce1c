//! The checks: one function per property of a machine that limits measurements.
//!
//! Each returns what was found, its grade, its effect on results, and the remedy. Does not check features that a
//! machine can lack; `feature` does.

use std::cmp::Reverse;

use serde::Serialize;

use super::facts::{Facts, NoiseFloor};
use super::noise::LATE;
use crate::fixture::division::CpuSplit;
use crate::unit::Nanos;
use crate::validity::figure::{count, percent};
use crate::validity::rule::{ports, steal};

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Name of the check: one word.
    pub name: &'static str,
    /// The part of the list that it belongs to.
    pub area: Area,
    /// Whether it limits what can be measured.
    pub grade: Grade,
    /// What was found, in a few words.
    pub found: String,
    /// What it means for results; empty if nothing follows from it.
    pub effect: String,
    /// What to do about it; empty if there is nothing to do.
    pub remedy: String,
}

/// The parts of the list of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// What the machine has.
    Machine,
    /// What disturbs measurements on it.
    Noise,
    /// What the system lets knee do.
    Features,
    /// Programs that studies or examples start.
    Programs,
}

impl Area {
    /// The heading shown.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Machine => "Machine",
            Self::Noise => "Noise",
            Self::Features => "Features",
            Self::Programs => "Programs",
        }
    }
}

/// What a check means for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// No limit.
    Ok,
    /// Some results are less exact, or some loads cannot be sent.
    Limits,
    /// Results would be invalid.
    Unfit,
    /// A feature of knee is not available; other measurements are not affected.
    Off,
    /// This platform does not report it.
    Unknown,
}

impl Grade {
    /// The word shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Limits => "limits",
            Self::Unfit => "unfit",
            Self::Off => "off",
            Self::Unknown => "unknown",
        }
    }
}

/// Files that a run holds open besides its connections.
const FILES_BESIDE_CONNECTIONS: u64 = 32;

/// Connections of a load without `-c`.
const DEFAULT_CONNECTIONS: u64 = 50;

/// How long Linux keeps a port after its connection was closed, in seconds.
const TIME_WAIT_S: f64 = 60.0;

/// Late wake-ups beyond which the p99, and the p90, of send delays are late.
const LATE_AT_P99: f64 = 0.01;
const LATE_AT_P90: f64 = 0.1;

/// Clocks that programs read without a system call.
const FAST_CLOCKS: [&str; 5] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource"];

/// Most connections to one address at the same time: descriptors and ports limit them.
pub(super) fn connections(facts: &Facts) -> Option<u64> {
    let by_files = facts.files.map(|files| files.saturating_sub(FILES_BESIDE_CONNECTIONS));
    let by_ports = facts.ports.map(|(_, range)| range);
    by_files.into_iter().chain(by_ports).min()
}

/// A check without effect.
pub(super) fn plain(name: &'static str, grade: Grade, found: impl Into<String>) -> Check {
    Check {
        name,
        area: Area::Machine,
        grade,
        found: found.into(),
        effect: String::new(),
        remedy: String::new(),
    }
}

pub(super) fn limit(name: &'static str, grade: Grade, found: String, effect: &str, remedy: &str) -> Check {
    Check { name, area: Area::Machine, grade, found, effect: effect.to_owned(), remedy: remedy.to_owned() }
}

pub(super) fn unknown(name: &'static str) -> Check {
    plain(name, Grade::Unknown, "this system does not report it")
}

pub(super) fn build(facts: &Facts) -> Check {
    if facts.optimized {
        return plain("build", Grade::Ok, "with optimizations");
    }
    limit(
        "build",
        Grade::Unfit,
        "a build without optimizations".to_owned(),
        "knee rates every result of this build invalid",
        "build with `cargo build --release`",
    )
}

pub(super) fn files(facts: &Facts) -> Check {
    let Some(files) = facts.files else { return plain("files", Grade::Ok, "no limit of open files") };
    let connections = files.saturating_sub(FILES_BESIDE_CONNECTIONS);
    let found = format!("limit of {} open files, for {} connections", count(files), count(connections));
    if connections < DEFAULT_CONNECTIONS {
        let effect = "a load with the default of 50 connections fails";
        return limit("files", Grade::Unfit, found, effect, "raise the hard limit, as in `ulimit -Hn 65536`");
    }
    plain("files", Grade::Ok, found)
}

pub(super) fn ports_in_use(facts: &Facts) -> Check {
    let Some((taken, range)) = facts.ports.filter(|(_, range)| *range > 0) else { return unknown("ports") };
    let rate = (range as f64 * ports::LIMIT / TIME_WAIT_S) as u64;
    let new = if facts.reuses_ports {
        String::new()
    } else {
        format!("; for up to {} new connections/s to one address", count(rate))
    };
    let found = format!("{} of {} local ports in use{new}", count(taken), count(range));
    if taken as f64 / range as f64 <= ports::LIMIT {
        return plain("ports", Grade::Ok, found);
    }
    let effect = "opening a connection is slow, and fails when no port is left";
    limit("ports", Grade::Limits, found, effect, "wait a minute, or widen net.ipv4.ip_local_port_range")
}

pub(super) fn cpus(facts: &Facts) -> Check {
    let Some(cpus) = facts.cpus.as_ref().map(Vec::len) else { return unknown("cpus") };
    let of = match facts.online.filter(|online| *online > cpus) {
        Some(online) => format!(" of {online} (taskset or a cpuset leaves out the others)"),
        None => String::new(),
    };
    let plural = if cpus == 1 { "" } else { "s" };
    let found = format!("{cpus} CPU{plural}{of}");
    if cpus > 1 {
        return plain("cpus", Grade::Ok, found + &split(facts.split.as_ref(), cpus));
    }
    let effect = "knee and a service on this machine take CPU time from each other";
    limit("cpus", Grade::Limits, found, effect, "load services on other machines, or use more CPUs")
}

/// Which CPUs studies give to the generator, and which to everything else.
fn split(split: Option<&CpuSplit>, cpus: usize) -> String {
    let Some(CpuSplit { division, cores, by_pilot }) = split else {
        return "; studies divide them between generator and services".to_owned();
    };
    if let Some(why) = division.shared {
        return format!("; studies do not divide them: {}", why.reason());
    }
    let of_cores = match cores {
        1 => "; one core".to_owned(),
        cores if *cores < cpus => format!("; {cores} cores"),
        _ => String::new(),
    };
    let pilot = if *by_pilot { " at first; a pilot decides how many each side gets" } else { "" };
    let named = |list: &str, count: usize| format!("{} {list}", if count == 1 { "CPU" } else { "CPUs" });
    let generator = named(&division.generator, division.generator_cpus());
    let others = named(&division.others, division.other_cpus());
    format!("{of_cores}; studies give {generator} to the generator, {others} to services and stores{pilot}")
}

pub(super) fn quota(facts: &Facts) -> Check {
    let cpus = facts.cpus.as_ref().map_or(f64::INFINITY, |cpus| cpus.len() as f64);
    let Some(quota) = facts.quota.filter(|quota| *quota < cpus) else {
        return plain("quota", Grade::Ok, "no CPU quota below the number of CPUs");
    };
    let stopped = match facts.throttled.filter(|(stopped, _)| *stopped > 0) {
        Some((stopped, periods)) => format!("; it stopped knee in {stopped} of {periods} periods"),
        None => String::new(),
    };
    let found = format!("a cgroup allows {quota:.2} CPUs{stopped}");
    let effect = "a load that needs more CPU time is stopped for parts of a second [throttled]";
    limit("quota", Grade::Limits, found, effect, "raise the CPU limit of the container or the cgroup")
}

pub(super) fn governor(facts: &Facts) -> Check {
    if facts.governors.is_empty() {
        return plain("governor", Grade::Unknown, "this system does not show who sets the CPU frequency");
    }
    let names: Vec<&str> = facts.governors.iter().map(String::as_str).collect();
    if names == ["performance"] {
        return plain("governor", Grade::Ok, "performance");
    }
    let effect = "CPUs can be slower at low rates, and times longer";
    let remedy = "to compare rates, set it with `sudo cpupower frequency-set -g performance`";
    limit("governor", Grade::Limits, names.join(", "), effect, remedy)
}

pub(super) fn clock(facts: &Facts) -> Check {
    let Some(source) = facts.clock_source.clone() else { return unknown("clock") };
    if FAST_CLOCKS.contains(&source.as_str()) {
        return plain("clock", Grade::Ok, source);
    }
    let effect = "each reading of the clock is a system call, so requests cost more CPU time";
    let remedy = "see /sys/devices/system/clocksource/clocksource0/available_clocksource";
    limit("clock", Grade::Limits, source, effect, remedy)
}

/// By the limits of the rule `steal`.
fn by_share(share: f64) -> Grade {
    match share {
        share if share > steal::INVALID => Grade::Unfit,
        share if share > steal::SUSPECT => Grade::Limits,
        _ => Grade::Ok,
    }
}

pub(super) fn stolen(facts: &Facts) -> Check {
    let Some(share) = facts.steal else { return unknown("steal") };
    let machine = match facts.hypervisor {
        Some(true) => "a virtual machine",
        Some(false) => "no virtual machine",
        None => "virtual or not is unknown",
    };
    let found = format!("{machine}; other machines took {} of the CPU time", percent(share));
    match by_share(share) {
        Grade::Ok => plain("steal", Grade::Ok, found),
        grade => {
            let effect = "throughput of a service that is limited by CPUs is lower by this share";
            limit("steal", grade, found, effect, "measure at another time, or on another machine")
        }
    }
}

/// CPU time that others take from threads which always run lowers throughput like stolen time.
pub(super) fn pauses(facts: &Facts) -> Check {
    let measured: u64 = facts.pauses.iter().map(|one| one.measured.0).sum();
    if measured == 0 {
        return unknown("pauses");
    }
    let paused: u64 = facts.pauses.iter().map(|one| one.paused.0).sum();
    let share = paused as f64 / measured as f64;
    let mut worst: Vec<_> = facts.pauses.iter().collect();
    worst.sort_by_key(|one| Reverse(one.longest));
    // A machine can have hundreds of CPUs.
    let longest: Vec<String> = worst.iter().take(4).map(|one| longest(one.cpu, one.longest)).collect();
    let found = format!(
        "busy threads stood still for {} of the test; longest {}",
        percent(share),
        longest.join(", ")
    );
    match by_share(share) {
        Grade::Ok => plain("pauses", Grade::Ok, found),
        grade => {
            let effect = "under full load, throughput is lower by this share and times contain the pauses";
            limit("pauses", grade, found, effect, "stop other programs on this machine")
        }
    }
}

fn longest(cpu: Option<usize>, pause: Nanos) -> String {
    cpu.map_or_else(|| pause.to_string(), |cpu| format!("{pause} on CPU {cpu}"))
}

pub(super) fn wakes(facts: &Facts) -> Check {
    let wakes = facts.wakes;
    if wakes.count == 0 {
        return unknown("timers");
    }
    let share = wakes.late as f64 / wakes.count as f64;
    let busy = match facts.busy {
        Some(busy) => format!("; CPUs were {} busy", percent(busy)),
        None => String::new(),
    };
    let (late, all, latest) = (count(wakes.late), count(wakes.count), wakes.latest);
    let found = format!("{late} of {all} wake-ups over {LATE} late, at most {latest}{busy}");
    let (grade, effect) = match share {
        share if share > LATE_AT_P90 => {
            (Grade::Unfit, "over 10 %, so the p90 of fast services is invalid [lag]")
        }
        share if share > LATE_AT_P99 => {
            (Grade::Limits, "over 1 %, so the p99 of fast services is suspect [lag]")
        }
        _ => return plain("timers", Grade::Ok, found),
    };
    limit("timers", grade, found, effect, "stop other programs on this machine")
}

/// The noise of whole results, beside the short measurements above: what `knee calibrate` saved.
pub(super) fn floor(facts: &Facts) -> Check {
    let effect = "comparisons and studies cannot refuse margins below the noise of this machine";
    let remedy = "run `knee calibrate`";
    match &facts.floor {
        NoiseFloor::Saved(floor) => plain("noise", Grade::Ok, floor.clone()),
        NoiseFloor::Never => limit("noise", Grade::Off, "no noise floor is saved".to_owned(), effect, remedy),
        NoiseFloor::Ignored(why) => {
            limit("noise", Grade::Off, format!("the saved noise floor is ignored: {why}"), effect, remedy)
        }
    }
}
