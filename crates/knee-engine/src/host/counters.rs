//! Counters of this machine and process, read at one moment.
//!
//! Plain values: the platform files fill them in, and `host` computes the changes between two readings.

use knee_core::unit::Nanos;

/// Every counter that the platform has, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Throttled periods and all periods of every CPU quota that applies to this process; first that of its own cgroup.
    pub throttled: Vec<(u64, u64)>,
    /// Time of all CPUs.
    pub cpu_times: Option<CpuTimes>,
    /// Upper bound of the descriptors that are not connections.
    pub descriptors_base: u64,
    /// Limit on descriptors.
    pub descriptors_limit: Option<u64>,
    /// Sockets in `TIME_WAIT`, and the number of local ports.
    pub ports: Option<(u64, u64)>,
    /// Resident memory.
    pub resident_bytes: Option<u64>,
    /// Wall clock minus monotonic clock.
    pub wall_ahead_ns: i64,
    /// Boot-time clock minus monotonic clock: time suspended.
    pub suspended: Option<Nanos>,
}

/// Descriptors that a run holds besides its connections: standard streams, the record, epoll and timers of a few
/// workers.
pub const DESCRIPTORS_BASE: u64 = 32;

/// Time all CPUs together spent, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Everything, idle included.
    pub all: u64,
    /// Everything but idle and waiting for disks.
    pub busy: u64,
    /// Taken by a hypervisor.
    pub steal: u64,
}

/// A thread's counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadTimes {
    /// Time on a CPU.
    pub ran: Nanos,
    /// Time ready and without a CPU.
    pub waited: Option<Nanos>,
}

/// How far the second clock is ahead of the first. Reads the first before and after the second. Tries eight times and
/// takes the try whose readings are closest together, because the thread can wait for a CPU between any two readings.
pub fn ahead(mut first: impl FnMut() -> i64, mut second: impl FnMut() -> i64) -> i64 {
    /// Readings this close need no further try.
    const CLOSE_NS: i64 = 20_000;
    let mut best = (i64::MAX, 0);
    for _ in 0..8 {
        let before = first();
        let there = second();
        let after = first();
        let width = after.saturating_sub(before);
        best = best.min((width, there.wrapping_sub(before.midpoint(after))));
        if width <= CLOSE_NS {
            break;
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_between_two_clocks_is_no_step_of_either() {
        // The thread loses its CPU for 50 ms between the readings, three times.
        let now = std::cell::Cell::new(0_i64);
        let tries = std::cell::Cell::new(0);
        let tick = |by: i64| {
            now.set(now.get() + by);
            now.get()
        };
        let wall = || {
            tries.set(tries.get() + 1);
            tick(if tries.get() <= 3 { 50_000_000 } else { 1_000 }) + 7_000_000_000
        };
        let seen = ahead(|| tick(1_000), wall);
        assert!((seen - 7_000_000_000).abs() < 10_000, "{seen}");
    }
}
