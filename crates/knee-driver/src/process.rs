//! CPU time and memory of processes and their children, as Linux reports it.
//!
//! CPU time comes from the kernel's CPU clock of each process, in nanoseconds. `/proc/PID/stat` rounds the time of
//! each process down to hundredths of a second, which loses most of the time of a database with forty connections and
//! 5 requests/s. On other systems the figures are absent. Does not decide which processes matter.

use std::collections::BTreeMap;
use std::fs;
#[cfg(target_os = "linux")]
use std::time::Duration;

use knee_core::unit::Nanos;
#[cfg(target_os = "linux")]
use nix::{time::ClockId, unistd::Pid};

use crate::error::Error;

/// The kernel reports the time of ended children in hundredths of a second (`USER_HZ`), whatever its clock. It adds
/// them up before it rounds, so little is lost.
const TICK: Nanos = Nanos::from_millis(10);

/// Resources used by some processes and all their descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// User and system time, including that of ended children.
    pub cpu: Nanos,
    /// Resident memory now, in bytes; pages that processes share are counted by each.
    pub memory: u64,
}

/// The facts needed about one process.
struct Process {
    parent: u32,
    cpu: Nanos,
}

/// The needed fields of `/proc/PID/stat`.
struct Stat {
    parent: u32,
    /// User and system time of ended children.
    ended: Nanos,
}

/// All processes at one moment.
pub struct Snapshot(BTreeMap<u32, Process>);

impl Snapshot {
    /// Reads them now.
    pub fn now() -> Self {
        let Ok(entries) = fs::read_dir("/proc") else { return Self(BTreeMap::new()) };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        Self(pids.filter_map(|pid| Some((pid, process(pid)?))).collect())
    }

    /// CPU time of `roots` and their descendants, as in [`Use`]; `None` if none of them can be seen.
    pub fn cpu(&self, roots: &[u32]) -> Option<Nanos> {
        let members = self.members(roots);
        let times = members.iter().filter_map(|pid| self.0.get(pid)).map(|process| process.cpu.as_nanos());
        (!members.is_empty()).then(|| Nanos(times.sum()))
    }

    /// Resident memory of `roots` and their descendants now, as in [`Use`]; `None` if none of them can be seen.
    pub fn memory(&self, roots: &[u32]) -> Option<u64> {
        let members = self.members(roots);
        (!members.is_empty()).then(|| members.into_iter().filter_map(resident).sum())
    }

    /// Existing processes of `roots`, with their descendants.
    fn members(&self, roots: &[u32]) -> Vec<u32> {
        let mut members: Vec<u32> = roots.iter().copied().filter(|pid| self.0.contains_key(pid)).collect();
        let mut next = 0;
        while let Some(parent) = members.get(next).copied() {
            let children =
                self.0.iter().filter(|(pid, process)| process.parent == parent && !members.contains(pid));
            let children: Vec<u32> = children.map(|(pid, _)| *pid).collect();
            members.extend(children);
            next += 1;
        }
        members
    }
}

/// Resources used by `roots` and their descendants; `None` if none of them is visible.
pub fn used(roots: &[u32]) -> Option<Use> {
    let seen = Snapshot::now();
    let memory = seen.memory(roots).unwrap_or_default();
    seen.cpu(roots).map(|cpu| Use { cpu, memory })
}

/// The same, but `None` if any of them has ended, because a difference to an earlier reading would then be
/// meaningless. Also `None` without processes.
pub fn used_by_all(pids: &[u32]) -> Option<Use> {
    let there = |pid: &u32| stat(*pid).is_some();
    if pids.is_empty() || !pids.iter().all(there) { None } else { used(pids) }
}

/// Refuses processes that cannot be observed.
///
/// # Errors
///
/// When one of them does not exist, or this system does not report CPU time.
pub fn check(pids: &[u32]) -> Result<(), Error> {
    match pids.iter().find(|pid| stat(**pid).is_none()) {
        Some(pid) if cfg!(target_os = "linux") => Err(Error::NoProcess(*pid)),
        Some(_) => Err(Error::NoCpuTime),
        None => Ok(()),
    }
}

fn process(pid: u32) -> Option<Process> {
    let Stat { parent, ended } = stat(pid)?;
    Some(Process { parent, cpu: Nanos(own(pid)?.as_nanos() + ended.as_nanos()) })
}

/// User and system time of a process over all its threads, including ended ones, but without its children.
#[cfg(target_os = "linux")]
fn own(pid: u32) -> Option<Nanos> {
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(pid.try_into().ok()?)).ok()?;
    let time = Duration::from(clock.now().ok()?);
    Some(Nanos(time.as_nanos().try_into().ok()?))
}

/// Only Linux has `/proc`; elsewhere this function is never called.
#[cfg(not(target_os = "linux"))]
fn own(_pid: u32) -> Option<Nanos> {
    None
}

fn stat(pid: u32) -> Option<Stat> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Fields of proc(5), counted from the last parenthesis, because a name can contain anything: the parent is
/// field 4, times of ended children are 16 and 17.
fn parse(stat: &str) -> Option<Stat> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let ended = Nanos((number(16)? + number(17)?) * TICK.as_nanos());
    Some(Stat { parent: number(4)? as u32, ended })
}

/// Resident bytes of a process, which `/proc/PID/status` gives in KiB.
fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_whatever_the_name_of_the_process() {
        let stat = parse("42 (a) b (c)) S 7 2 3 4 5 6 7 8 9 10 100 20 3 1 20 0 1 0 99 4096 12 0").unwrap();
        assert_eq!((stat.parent, stat.ended), (7, Nanos::from_millis(40)));
        assert!(parse("42 (a) S 1").is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn cpu_time_is_not_cut_to_hundredths_of_a_second() {
        use knee_engine::host::cpu_time;

        let me = std::process::id();
        let before = cpu_time();
        let (own, seen) = (own(me).unwrap(), used(&[me]).unwrap().cpu);
        assert!(before <= own && own <= cpu_time(), "{own:?} is not since {before:?}");
        assert!(before <= seen, "{seen:?} is less than what there was before: {before:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_uses_memory_and_one_that_is_not_there_cannot_be_seen() {
        assert!(used(&[std::process::id()]).is_some_and(|used| used.memory > 0));
        assert_eq!(used(&[u32::MAX]), None);
        assert!(used(&[std::process::id(), u32::MAX]).is_some());
        assert_eq!(used_by_all(&[std::process::id(), u32::MAX]), None, "one of them is gone");
        assert_eq!(used_by_all(&[]), None);
        assert!(check(&[std::process::id()]).is_ok());
        assert_eq!(
            check(&[u32::MAX]).unwrap_err().to_string(),
            "there is no process 4294967295 on this machine"
        );
    }
}
