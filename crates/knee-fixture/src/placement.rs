//! Which CPUs a declaration allows a process; and what is unavailable on this machine.
//!
//! Does not pin processes; `platform` does.

use std::path::Path;

use knee_core::fixture::division;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A requested setting that is unavailable on this machine. Studies report it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unavailable {
    /// The entry of the declaration, as `service.main.cpu_limit`.
    pub what: String,
    /// Why not.
    pub reason: String,
}

/// How the processes of a cgroup share CPUs with those outside of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bounds {
    /// The most that they can use, as a share of one CPU.
    pub(crate) share: Option<f64>,
    /// CPU weight of the generator, which is outside of the cgroup: it gets this many times the CPU time when both
    /// want the same CPU.
    pub(crate) generator_weight: Option<u32>,
}

/// Reports a process that could not be moved into its cgroup. `what` names the entry that asked for the cgroup.
pub(crate) fn outside(group: Option<&Path>, pid: u32, what: &str) -> Option<Unavailable> {
    let inside = std::fs::read_to_string(group?.join("cgroup.procs")).unwrap_or_default();
    if inside.lines().any(|line| line == pid.to_string()) {
        return None;
    }
    let reason = "knee could not move the process into its cgroup".to_owned();
    Some(Unavailable { what: what.to_owned(), reason })
}

/// The CPUs of `0`, `0-1` or `0-1,3`, ascending, each once. `at` names the entry in an error.
pub(crate) fn cpus(text: &str, at: &str) -> Result<Vec<usize>, Error> {
    let wrong = || Error::declared(at, format!("is `{text}`, but must be CPUs as in `0`, `0-1` or `0-1,3`"));
    division::parse(text).ok_or_else(wrong)
}

/// The CPUs of a text. One that this machine does not have is an error.
pub(crate) fn chosen(text: &str, allowed: &[usize], at: &str) -> Result<Vec<usize>, Error> {
    let wanted = cpus(text, at)?;
    match wanted.iter().find(|cpu| !allowed.contains(cpu)) {
        // An empty list is a system that does not tell.
        Some(cpu) if !allowed.is_empty() => {
            let has: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            Err(Error::declared(at, format!("asks for CPU {cpu}; available: {}", has.join(", "))))
        }
        _ => Ok(wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        let error = chosen("0,7", &[0, 1], "service.main.cpus").unwrap_err();
        assert_eq!(error.to_string(), "`service.main.cpus` asks for CPU 7; available: 0, 1");
        let error = chosen("x", &[0, 1], "service.main.cpus").unwrap_err();
        assert!(error.to_string().contains("must be CPUs as in"), "{error}");
    }
}
