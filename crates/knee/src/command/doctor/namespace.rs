//! Tries whether this user can create network and mount namespaces, as `examples/fleet/up` does.
//!
//! Leaves nothing behind: a namespace ends with the process that was started in it.

use std::process::{Command, Stdio};

/// Tries a network namespace.
///
/// # Errors
///
/// The reason why not, in words.
pub(super) fn try_network() -> Result<(), String> {
    try_kind("--net")
}

/// Tries a mount namespace.
///
/// # Errors
///
/// The reason why not, in words.
pub(super) fn try_mount() -> Result<(), String> {
    try_kind("--mount")
}

/// Runs `true` in a new namespace. Users other than root need a user namespace as well.
fn try_kind(flag: &str) -> Result<(), String> {
    let as_root = rustix::process::geteuid().is_root();
    let mut command = Command::new("unshare");
    command.args((!as_root).then_some("--map-root-user")).args([flag, "true"]);
    let done = command.stdin(Stdio::null()).output();
    let done = done.map_err(|_| "there is no program `unshare` (package util-linux)".to_owned())?;
    if done.status.success() {
        return Ok(());
    }
    Err(why(&String::from_utf8_lossy(&done.stderr)))
}

/// The reason in what `unshare` writes, as in `unshare: unshare failed: Operation not permitted`.
fn why(written: &str) -> String {
    let line = written.lines().next().unwrap_or_default();
    let line = line.trim_start_matches("unshare: ").trim();
    if line.is_empty() { "`unshare` failed without a reason".to_owned() } else { line.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_what_unshare_writes_without_its_name() {
        let written = "unshare: unshare failed: Operation not permitted\n";
        assert_eq!(why(written), "unshare failed: Operation not permitted");
        let second = "unshare: write failed /proc/self/uid_map: Operation not permitted\n";
        assert_eq!(why(second), "write failed /proc/self/uid_map: Operation not permitted");
        assert_eq!(why(""), "`unshare` failed without a reason");
    }
}
