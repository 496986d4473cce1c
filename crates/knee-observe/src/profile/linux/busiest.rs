//! Which of many threads have used the most CPU time since they were compared last.
//!
//! Reads `/proc/PID/task/TID/schedstat`. Does not sample.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// CPU time between two samples of a thread, in nanoseconds: 99 samples per second, which fall into step with nothing
/// that is done a hundred times per second.
pub(super) const PERIOD: u64 = 10_101_010;

/// Most threads that are compared.
const COMPARED_MAX: usize = 2_048;

/// The CPU time of each thread as of the last comparison, in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Busiest {
    used: BTreeMap<u32, u64>,
}

impl Busiest {
    /// The `room` busiest of these threads, each of which comes with its process. `has` says which ones have a place
    /// already: of equally busy ones they keep it.
    pub(super) fn choose(
        &mut self,
        threads: &[(u32, u32)],
        room: usize,
        has: impl Fn(u32) -> bool,
    ) -> BTreeSet<u32> {
        let threads = threads.iter().take(COMPARED_MAX);
        let used = threads.map(|(pid, thread)| (*thread, cpu_time(*pid, *thread).unwrap_or(0)));
        let used: BTreeMap<u32, u64> = used.collect();
        let chosen = busiest(&self.used, &used, room, has);
        self.used = used;
        chosen
    }
}

/// Threads whose times differ by less than that between two samples are equally busy.
fn busiest(
    before: &BTreeMap<u32, u64>,
    now: &BTreeMap<u32, u64>,
    room: usize,
    has: impl Fn(u32) -> bool,
) -> BTreeSet<u32> {
    let rank = |(thread, used): (&u32, &u64)| {
        let since = used.saturating_sub(before.get(thread).copied().unwrap_or(0));
        (Reverse(since / PERIOD), !has(*thread), *thread)
    };
    let mut ranked: Vec<_> = now.iter().map(rank).collect();
    ranked.sort_unstable();
    ranked.into_iter().take(room).map(|(_, _, thread)| thread).collect()
}

/// CPU time of a thread, in nanoseconds: the first word. `None` if it has ended, or on a kernel without this file.
fn cpu_time(pid: u32, thread: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_have_become_busy_are_chosen_and_idle_ones_keep_their_places_among_idle_ones() {
        let before = BTreeMap::from([(1, 900 * PERIOD), (2, 0), (3, 5 * PERIOD), (4, 0)]);
        let now = BTreeMap::from([(1, 900 * PERIOD), (2, 3), (3, 9 * PERIOD), (4, 7), (5, 2 * PERIOD)]);
        let chosen = |room, has: &[u32]| {
            let chosen = busiest(&before, &now, room, |thread| has.contains(&thread));
            chosen.into_iter().collect::<Vec<u32>>()
        };
        assert_eq!(chosen(2, &[1, 2]), [3, 5], "a new one with all of its time");
        assert_eq!(chosen(3, &[4]), [3, 4, 5]);
        assert_eq!(chosen(9, &[]), [1, 2, 3, 4, 5]);
        assert!(chosen(0, &[1]).is_empty());
    }

    #[test]
    fn the_time_of_a_thread_of_this_process_is_read() {
        let process = std::process::id();
        let before = cpu_time(process, process);
        assert!(before.is_some(), "the first thread has the number of the process");
        assert_eq!(cpu_time(process, 0), None);
    }
}
