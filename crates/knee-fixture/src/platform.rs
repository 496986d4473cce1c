//! What only some systems have: processes by descent, CPU placement, shares of a CPU.
//!
//! Everything that differs between Linux and the rest is in this folder; the rest of the crate does not
//! ask which system it runs on. What a system cannot do is an error with a reason, never silence.

#[cfg(all(target_os = "linux", not(knee_portable)))]
mod linux;
#[cfg(all(target_os = "linux", not(knee_portable)))]
pub(crate) use linux::*;

#[cfg(not(all(target_os = "linux", not(knee_portable))))]
mod portable;
#[cfg(not(all(target_os = "linux", not(knee_portable))))]
pub(crate) use portable::*;

/// A process that was started, so that its number cannot be taken for that of a later process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Started {
    /// The start of the machine during which it was started.
    pub(crate) boot: String,
    /// Its number.
    pub(crate) pid: i32,
    /// When it was started, in the system's own unit.
    pub(crate) begun: u64,
}

impl Started {
    /// The line that [`Started::read`] reads.
    pub(crate) fn line(&self) -> String {
        format!("{} {} {}\n", self.boot, self.pid, self.begun)
    }

    /// Reads a line; `None` if it is incomplete.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let boot = words.next()?.to_owned();
        Some(Self { boot, pid: words.next()?.parse().ok()?, begun: words.next()?.parse().ok()? })
    }
}
