//! CPU time of processes of this machine, as the kernel counts it.
//!
//! Linux only: elsewhere nothing can be told, and asking for it is an error. Does not find out which
//! process serves.

use crate::problem::Problem;

/// Refuses processes that cannot be looked at.
///
/// # Errors
///
/// When one of them is not there, or this system does not say.
pub fn check(pids: &[u32]) -> Result<(), Problem> {
    match pids.iter().find(|pid| seconds(**pid).is_none()) {
        Some(pid) if cfg!(target_os = "linux") => Err(Problem::new(
            format!("there is no process {pid} on this machine"),
            "give the process of the service, as `pgrep` or `ss -ltnp` tell it",
        )),
        Some(_) => Err(Problem::new(
            "this system does not tell the CPU time of a process",
            "leave `--pid` out; it works on Linux",
        )),
        None => Ok(()),
    }
}

/// Seconds of CPU that all of them have used so far; `None` without any, or if one is gone.
pub fn cpu_seconds(pids: &[u32]) -> Option<f64> {
    if pids.is_empty() {
        return None;
    }
    pids.iter().map(|pid| seconds(*pid)).sum()
}

/// The kernel counts in hundredths of a second for programs, whatever its own clock does
/// (`USER_HZ`, 100 on every architecture that Rust runs Linux on but Alpha).
const TICKS: f64 = 100.0;

fn seconds(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    ticks(&stat).map(|ticks| ticks as f64 / TICKS)
}

/// User and system time of the process and of its children that have ended: fields 14 to 17 (proc(5)).
/// The name before them may contain anything, so they are counted from its last parenthesis.
fn ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let times: Vec<u64> =
        rest.split_whitespace().skip(11).take(4).filter_map(|field| field.parse().ok()).collect();
    (times.len() == 4).then(|| times.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_whatever_the_name_of_the_process() {
        let stat = "42 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 100 20 3 1 20 0 1 0";
        assert_eq!(ticks(stat), Some(124));
        assert_eq!(ticks("42 (a) S 1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_used_some_and_one_that_is_not_there_is_refused() {
        assert!(cpu_seconds(&[std::process::id()]).is_some_and(|seconds| seconds >= 0.0));
        assert_eq!(cpu_seconds(&[]), None);
        assert_eq!(check(&[u32::MAX]).unwrap_err().what, "there is no process 4294967295 on this machine");
    }
}
