//! Facts about a machine, and how the kernel's texts are read.
//!
//! Opens nothing: [`Texts`] hands in the text of a path, or nothing if there is none.

use std::collections::BTreeSet;

use super::noise::{Pauses, Wakes};
use crate::fixture::division::{self, CpuSplit};

/// Returns the text of a file, or nothing if this machine does not have the file.
pub type Texts<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Whether a feature of the system can be used, or the reason why not; `None` if this platform does not have it.
pub type Availability = Option<Result<(), String>>;

/// The noise floor of this machine that `knee calibrate` saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NoiseFloor {
    /// None was saved.
    #[default]
    Never,
    /// One was saved, but is not valid; the reason, as a sentence.
    Ignored(String),
    /// The floor by metric, in words.
    Saved(String),
}

/// A program that was looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Its version, or `found` if it does not say; `None` if the program is missing.
    pub version: Option<String>,
    /// What knee cannot do without it; empty if knee does not need it.
    pub needed_for: &'static str,
    /// How to install it; empty if unknown.
    pub install: String,
}

/// Everything that the checks look at. `None` means that the platform does not report it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Whether this is a build with optimizations.
    pub optimized: bool,
    /// The highest limit of open files that this process can set for itself; `None` without a limit.
    pub files: Option<u64>,
    /// Local ports in use towards one address, and all local ports.
    pub ports: Option<(u64, u64)>,
    /// Whether ports in `TIME_WAIT` are used again towards every address after a second.
    pub reuses_ports: bool,
    /// CPUs that this process can use.
    pub cpus: Option<Vec<usize>>,
    /// Number of CPUs of the machine that are switched on.
    pub online: Option<usize>,
    /// How studies divide these CPUs.
    pub split: Option<CpuSplit>,
    /// CPU quota of this process, in CPUs.
    pub quota: Option<f64>,
    /// Periods in which the quota stopped this process during the measurement, and all periods.
    pub throttled: Option<(u64, u64)>,
    /// What decides about the clock frequency of the CPUs.
    pub governors: BTreeSet<String>,
    /// What the kernel counts time with.
    pub clock_source: Option<String>,
    /// Whether this is a virtual machine.
    pub hypervisor: Option<bool>,
    /// Share of the CPU time that the hypervisor took during the measurement.
    pub steal: Option<f64>,
    /// Share of all CPUs that other programs used while knee slept.
    pub busy: Option<f64>,
    /// Pauses of threads that always run.
    pub pauses: Vec<Pauses>,
    /// Wake-ups of threads that sleep.
    pub wakes: Wakes,
    /// The saved noise floor of this machine.
    pub floor: NoiseFloor,
    /// Whether studies can limit the CPU time of a service.
    pub cpu_limit: Availability,
    /// Whether studies can give the generator a higher CPU weight.
    pub cpu_weight: Availability,
    /// Whether this user can create network namespaces.
    pub network_namespace: Availability,
    /// Whether this user can create mount namespaces.
    pub mount_namespace: Availability,
    /// Whether the kernel reports pressure (PSI).
    pub pressure: Option<bool>,
    /// Who can use perf events: `kernel.perf_event_paranoid`.
    pub perf: Option<i64>,
    /// Programs that were looked for.
    pub programs: Vec<Program>,
}

impl Facts {
    /// What the files of a Linux machine say.
    pub fn read(texts: Texts<'_>) -> Self {
        let line = |path: &str| texts(path).map(|text| text.trim().to_owned());
        let cpus = texts("/proc/self/status").and_then(|text| allowed(&text));
        let governor =
            |cpu: &usize| line(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"));
        Self {
            reuses_ports: line("/proc/sys/net/ipv4/tcp_tw_reuse").as_deref() == Some("1"),
            governors: cpus.iter().flatten().filter_map(governor).collect(),
            cpus,
            online: line("/sys/devices/system/cpu/online")
                .and_then(|text| division::parse(&text))
                .map(|cpus| cpus.len()),
            clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            hypervisor: texts("/proc/cpuinfo").and_then(|text| is_virtual(&text)),
            pressure: texts("/proc/stat").map(|_| texts("/proc/pressure/cpu").is_some()),
            perf: line("/proc/sys/kernel/perf_event_paranoid").and_then(|text| text.parse().ok()),
            ..Self::default()
        }
    }
}

/// The CPUs in `/proc/self/status`.
fn allowed(status: &str) -> Option<Vec<usize>> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    division::parse(list.trim()).filter(|cpus| !cpus.is_empty())
}

/// Whether `/proc/cpuinfo` names a hypervisor. Only x86 has the flags that would contain it.
fn is_virtual(cpuinfo: &str) -> Option<bool> {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    Some(flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}
