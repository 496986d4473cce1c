//! The CPU time of a process and all its descendants, those that ended included.
//!
//! Reads `/proc`. Threads that ended are missing in the exact clock of a process that still runs.

use std::fs;
use std::time::Duration;

/// The kernel counts CPU time of ended processes in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// What the process and its descendants have used until now.
pub fn of_tree(pid: u32) -> Duration {
    let own = threads(pid).iter().filter_map(|thread| run_time(pid, *thread)).sum::<Duration>();
    let below = children(pid).into_iter().map(of_tree).sum::<Duration>();
    own + ended(pid) + below
}

fn threads(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Time on a CPU of one thread, in nanoseconds: the first figure of `schedstat`.
fn run_time(pid: u32, thread: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
    Some(Duration::from_nanos(text.split_ascii_whitespace().next()?.parse().ok()?))
}

/// CPU time of children that ended: `cutime` and `cstime` of `stat`.
fn ended(pid: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name, in parentheses, can contain blanks.
    let fields = text.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks =
        fields.split_ascii_whitespace().skip(13).take(2).filter_map(|field| field.parse::<u32>().ok());
    TICK * ticks.sum::<u32>()
}

fn children(pid: u32) -> Vec<u32> {
    let of_thread = |thread: &u32| fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).ok();
    let lists: Vec<String> = threads(pid).iter().filter_map(of_thread).collect();
    lists.iter().flat_map(|list| list.split_ascii_whitespace()).filter_map(|pid| pid.parse().ok()).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn work_of_a_child_counts_while_it_runs_and_when_it_has_ended() {
        let before = of_tree(std::process::id());
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let status = std::process::Command::new("sh").args(["-c", script]).status().unwrap();
        assert!(status.success());
        assert!(of_tree(std::process::id()) > before + TICK);
    }
}
