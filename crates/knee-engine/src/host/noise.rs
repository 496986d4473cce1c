//! Measures what disturbs threads on this machine: pauses of threads that always run, and late wake-ups.
//!
//! Bounded in time, and without effect on anything else except that all CPUs are busy meanwhile. Does not judge
//! (`knee_core::fitness` does).

use std::thread;
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::fitness::{Pauses, Wakes};
use knee_core::unit::Nanos;

/// Shorter gaps between two readings of the clock are interrupts and caches, not another thread.
const GAP: Nanos = Nanos::from_micros(100);

/// How long a thread sleeps at a time.
const SLEEP: Duration = Duration::from_micros(250);

/// Runs a thread on each of `cpus` for `span`, and returns what interrupted each. Without the means to place threads,
/// there are as many threads, and the system places them.
pub fn pauses(cpus: &[usize], span: Nanos) -> Vec<Pauses> {
    on_each(cpus, |cpu| {
        let placed = place(cpu);
        let clock = MonotonicClock::start();
        let mut pauses = Pauses { cpu: placed.then_some(cpu), ..Pauses::default() };
        let mut last = Nanos::ZERO;
        while last < span {
            let now = clock.now();
            let gap = now.since(last);
            if gap >= GAP {
                pauses.paused += gap;
            }
            pauses.longest = pauses.longest.max(gap);
            last = now;
        }
        pauses.measured = last;
        pauses
    })
}

/// Lets a thread per CPU sleep again and again for `span`, and returns how late they woke up.
pub fn wakes(cpus: &[usize], span: Nanos) -> Wakes {
    let each = on_each(cpus, |_| {
        let clock = MonotonicClock::start();
        let mut wakes = Wakes::default();
        let mut before = Nanos::ZERO;
        while before < span {
            thread::sleep(SLEEP);
            let now = clock.now();
            wakes.note(now.since(before).since(SLEEP.into()));
            before = clock.now();
        }
        wakes
    });
    each.into_iter().fold(Wakes::default(), Wakes::and)
}

/// Calls `measure` on a thread for each CPU, all at the same time. A thread that cannot be started is left out.
fn on_each<T: Send>(cpus: &[usize], measure: impl Fn(usize) -> T + Copy + Send) -> Vec<T> {
    thread::scope(|scope| {
        let start = |cpu: &usize| {
            let cpu = *cpu;
            thread::Builder::new().spawn_scoped(scope, move || measure(cpu)).ok()
        };
        let threads: Vec<_> = cpus.iter().filter_map(start).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

/// Restricts this thread to one CPU; says whether that worked.
#[cfg(all(target_os = "linux", not(knee_portable)))]
fn place(cpu: usize) -> bool {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let mut set = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU {
        return false;
    }
    set.set(cpu);
    sched_setaffinity(None, &set).is_ok()
}

/// Threads cannot be placed here.
#[cfg(any(not(target_os = "linux"), knee_portable))]
fn place(_cpu: usize) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_is_measured_for_the_whole_time() {
        let span = Nanos::from_millis(20);
        let pauses = pauses(&[0, 0], span);
        assert_eq!(pauses.len(), 2);
        for one in pauses {
            assert!(one.measured >= span && one.paused <= one.measured, "{one:?}");
            assert!(one.longest > Nanos::ZERO, "{one:?}");
        }
        let wakes = wakes(&[0, 0], span);
        assert!(wakes.count >= 2 && wakes.late <= wakes.count, "{wakes:?}");
    }
}
