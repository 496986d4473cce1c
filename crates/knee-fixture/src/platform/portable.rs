//! Other systems: finds processes by their group only, and places nothing.
//!
//! Does not find a process that left its group. Unsupported operations return an error.

use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::placement::Bounds;
use crate::started::Started;

/// Kills the group of the process that was started as `root`, and names no process: members of a group cannot be
/// listed here, and an ended leader counts as living until it is reaped.
pub(crate) fn members(root: i32, _marker: &str) -> Vec<Pid> {
    if let Some(group) = Pid::from_raw(root) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    Vec::new()
}

/// Kills `groups`.
pub(crate) fn stragglers(_folder: &Path, marker: &str, groups: &[i32], _started: &[Started]) -> Vec<Pid> {
    groups.iter().flat_map(|&group| members(group, marker)).collect()
}

/// Nothing: the start of a process is not known.
pub(crate) fn started(_pid: i32) -> Option<Started> {
    None
}

/// The start of the machine is not known.
pub(crate) fn boot() -> String {
    String::new()
}

/// Nothing: children that were adopted are not known.
pub(crate) fn children() -> Vec<Pid> {
    Vec::new()
}

/// Nothing: this system has no adopted processes.
pub(crate) fn ended_children() -> Vec<Pid> {
    Vec::new()
}

/// Orphans go where the system sends them.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// Shared memory that outlives a process; not known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SharedMemory {}

impl SharedMemory {
    /// Removes it.
    pub(crate) fn remove(&self) {
        match *self {}
    }
}

/// Nothing is known.
pub(crate) fn shared_memory(_pid: i32) -> Vec<SharedMemory> {
    Vec::new()
}

/// Not known: an empty list stands for all of them.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    Vec::new()
}

/// Not known: each CPU counts as a core.
pub(crate) fn core_of(cpu: usize) -> usize {
    cpu
}

/// Nothing can be placed.
pub(crate) fn pin_tree(_pid: u32, _cpus: &[usize]) {}

/// Only "all CPUs" can be had.
pub(crate) fn pin_thread(cpus: &[usize]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system does not place processes on CPUs"))
}

/// As for a thread.
pub(crate) fn pin_process(cpus: &[usize]) -> io::Result<()> {
    pin_thread(cpus)
}

/// Only Linux has cgroups.
pub(crate) fn create_group(_name: &str, _bounds: Bounds) -> Result<PathBuf, String> {
    Err("only Linux reports how processes share CPUs".to_owned())
}

/// There are none.
pub(crate) fn remove_group(_path: &Path) {}

/// There are none.
pub(crate) fn remove_groups(_prefix: &str) {}

/// There are none.
pub(crate) fn groups(_prefix: &str) -> Vec<PathBuf> {
    Vec::new()
}
