//! Which sockets a process and its descendants have open, from `/proc/PID/fd`.
//!
//! Reads the names of the links, never what is behind them.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::process::tree::{family, identity};

/// Most descriptors that are read at once.
const DESCRIPTORS_MAX: usize = 8_192;

/// The sockets of some processes.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    /// Their numbers.
    pub(super) inodes: BTreeSet<u32>,
    /// Whether some descriptors could not be read, or were left out.
    pub(super) is_partial: bool,
}

/// The sockets of a process and its descendants.
pub(super) fn sockets(pid: u32) -> Sockets {
    let mut sockets = Sockets::default();
    let mut left = DESCRIPTORS_MAX;
    for pid in family(pid) {
        let entries = match fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(entries) => entries,
            Err(error) => {
                // A process that has ended has none, also if its parent has not noticed.
                sockets.is_partial |=
                    error.kind() == ErrorKind::PermissionDenied && identity(pid, None).is_ok();
                continue;
            }
        };
        for entry in entries.flatten() {
            if left == 0 {
                sockets.is_partial = true;
                return sockets;
            }
            left -= 1;
            let link = fs::read_link(entry.path()).ok();
            sockets.inodes.extend(link.as_deref().and_then(Path::to_str).and_then(inode));
        }
    }
    sockets
}

/// The number of the socket behind `socket:[NUMBER]`.
fn inode(link: &str) -> Option<u32> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// Why the sockets of a process are not in the list of this machine, if it has a network of its own.
pub(super) fn other_network(pid: u32) -> Option<String> {
    let network = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).ok();
    let (here, there) = (network("self")?, network(&pid.to_string())?);
    (here != there).then(|| "the process has a network of its own, as in a container".to_owned())
}

/// Why the sockets of a process are not known, if its descriptors cannot be read.
pub(super) fn hidden(pid: u32) -> Option<String> {
    let error = fs::read_dir(format!("/proc/{pid}/fd")).err()?;
    let is_refused = error.kind() == ErrorKind::PermissionDenied;
    is_refused.then(|| "only the user of the process and root can read its descriptors".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_of_the_same_user_are_not_hidden_and_those_of_an_ended_process_are_none() {
        assert_eq!(hidden(std::process::id()), None);
        assert_eq!(hidden(u32::MAX), None);
        let ended = sockets(u32::MAX);
        assert!(ended.inodes.is_empty() && !ended.is_partial, "{ended:?}");
    }

    #[test]
    fn the_number_of_a_socket_is_read_from_the_name_of_its_link() {
        let of = ["socket:[3379345]", "socket:[x]", "pipe:[7]", "/dev/null", "socket:[99999999999]"];
        assert_eq!(of.map(inode), [Some(3_379_345), None, None, None, None]);
    }
}
