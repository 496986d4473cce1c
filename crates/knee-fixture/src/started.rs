//! Which process was started, and when: which separates it from a later process with the same number.
//!
//! Does not ask the system; `platform` does.

/// A process that was started, so that its number cannot be taken for that of a later process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Started {
    /// The start of the machine during which it was started.
    pub(crate) boot: String,
    /// Its number.
    pub(crate) pid: i32,
    /// When it was started, in the system's own unit.
    pub(crate) begun: u64,
    /// Its session: the supervisor's own.
    pub(crate) session: i32,
}

impl Started {
    /// The line that [`Started::read`] reads.
    pub(crate) fn line(&self) -> String {
        format!("{} {} {} {}\n", self.boot, self.pid, self.begun, self.session)
    }

    /// Reads a line; `None` if it is incomplete.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let boot = words.next()?.to_owned();
        let (pid, begun) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Self { boot, pid, begun, session: words.next()?.parse().ok()? })
    }
}
