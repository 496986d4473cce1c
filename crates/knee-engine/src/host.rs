//! What this machine and this process report about themselves.
//!
//! Samples; does not judge (`knee_core::validity` does). What a platform cannot tell is `None`.

use knee_core::generator::{GeneratorSample, WorkerSample};
use knee_core::record::Machine;
use knee_core::unit::Nanos;

#[cfg(all(target_os = "linux", not(knee_portable)))]
#[path = "host/linux.rs"]
mod platform;
#[cfg(any(not(target_os = "linux"), knee_portable))]
#[path = "host/portable.rs"]
mod platform;

pub use platform::thread_id;

/// A thread that does the measuring.
pub type ThreadId = i32;

/// Every counter at one moment, as far as the platform has it.
#[derive(Clone, Debug, Default)]
struct Reading {
    /// When.
    monotonic: Nanos,
    /// By worker.
    threads: Vec<ThreadTimes>,
    /// Throttled periods and all periods of every CPU quota over this process: its own cgroup's first.
    throttled: Vec<(u64, u64)>,
    /// Time of all CPUs.
    cpu_times: Option<CpuTimes>,
    /// Descriptors that are not connections, at the most.
    descriptors_base: u64,
    /// Limit on descriptors.
    descriptors_limit: Option<u64>,
    /// Sockets in `TIME_WAIT`, and the number of local ports.
    ports: Option<(u64, u64)>,
    /// Resident memory.
    resident_bytes: Option<u64>,
    /// Wall clock minus monotonic clock.
    wall_ahead_ns: i64,
    /// Boot-time clock minus monotonic clock: time suspended.
    suspended: Option<Nanos>,
}

/// Descriptors a run holds beside its connections: standard streams, epoll and timers of a few
/// workers, the record.
const DESCRIPTORS_BASE: u64 = 32;

/// Turns readings of counters that only grow into shares of the time between them.
#[derive(Debug)]
pub struct Sampler {
    workers: Vec<ThreadId>,
    first: Reading,
    last: Reading,
}

impl Sampler {
    /// Takes the first reading.
    pub fn start(workers: Vec<ThreadId>) -> Self {
        let first = platform::read(&workers);
        Self { workers, last: first.clone(), first }
    }

    /// What happened since the last call (or the start). `connections_open` is the number of connections that are
    /// open to all targets together.
    pub fn sample(&mut self, connections_open: u64) -> GeneratorSample {
        let now = platform::read(&self.workers);
        let before = &self.last;
        let span = now.monotonic.since(before.monotonic).as_secs_f64().max(1e-9);
        let workers = now
            .threads
            .iter()
            .zip(&before.threads)
            .map(|(now, before)| WorkerSample {
                cpu: now.ran.since(before.ran).as_secs_f64() / span,
                run_delay: match (now.waited, before.waited) {
                    (Some(now), Some(before)) => Some(now.since(before).as_secs_f64() / span),
                    _ => None,
                },
            })
            .collect();
        let sample = GeneratorSample {
            workers,
            throttled: most_throttled(&now.throttled, &before.throttled),
            steal: share(now.cpu_times, before.cpu_times, |times| times.steal),
            host_busy: share(now.cpu_times, before.cpu_times, |times| times.busy),
            descriptors: now.descriptors_limit.map(|limit| (connections_open + now.descriptors_base, limit)),
            ports: now.ports.map(|(time_wait, range)| ports_taken(connections_open + time_wait, range)),
            resident_bytes: now.resident_bytes,
            wall_drift_ns: now.wall_ahead_ns.wrapping_sub(self.first.wall_ahead_ns),
            suspended: match (now.suspended, self.first.suspended) {
                (Some(now), Some(first)) => Some(now.since(first)),
                _ => None,
            },
            loop_lag: None,
            timer_slack: platform::TIMER_SLACK,
        };
        self.last = now;
        sample
    }
}

/// Below this share of the range nobody is short of ports, and nothing is counted.
const PORTS_MAY_BE_SHORT: f64 = 0.5;

/// Ports taken towards one address, and all there are. `sockets` are those of the whole machine, of which there are
/// at least as many; which of them lead where takes time to read, and is asked when it may matter.
fn ports_taken(sockets: u64, range: u64) -> (u64, u64) {
    if sockets as f64 <= range as f64 * PORTS_MAY_BE_SHORT {
        return (sockets, range);
    }
    (platform::ports_of_fullest_address().map_or(sockets, |taken| taken.min(sockets)), range)
}

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

fn share(now: Option<CpuTimes>, before: Option<CpuTimes>, part: fn(CpuTimes) -> u64) -> Option<f64> {
    let (now, before) = (now?, before?);
    let all = now.all.saturating_sub(before.all);
    (all > 0).then(|| part(now).saturating_sub(part(before)) as f64 / all as f64)
}

/// Of several quotas, one above the other, what happened under the one that stopped this process most.
fn most_throttled(now: &[(u64, u64)], before: &[(u64, u64)]) -> Option<(u64, u64)> {
    let since = |((throttled, periods), before): (&(u64, u64), &(u64, u64))| {
        (throttled.saturating_sub(before.0), periods.saturating_sub(before.1))
    };
    now.iter().zip(before).map(since).max()
}

/// Two clocks, read between two readings of a third: how far the second is ahead of the first. Of several tries the
/// one whose readings lie closest together, because this thread may have to wait for a CPU between any two of them.
fn ahead(mut first: impl FnMut() -> i64, mut second: impl FnMut() -> i64) -> i64 {
    /// Readings this close are as good as they get.
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

/// CPU time that this process has used until now, all its threads together: those that ended too, children not.
pub fn cpu_time() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The machine, for the head of a record.
pub fn machine() -> Machine {
    Machine {
        system: platform::system(),
        arch: std::env::consts::ARCH.to_owned(),
        cpu: platform::cpu_model(),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        memory_bytes: platform::memory_bytes(),
    }
}

/// Lets this process open as many files as it may; returns the limit, if there is one to know.
pub fn raise_descriptor_limit() -> Option<u64> {
    platform::raise_descriptor_limit()
}

/// Whether an address belongs to this machine, found by asking the kernel for a route: traffic to
/// an own address leaves from that same address.
pub fn is_local(address: std::net::IpAddr) -> Option<bool> {
    if address.is_loopback() {
        return Some(true);
    }
    let any: std::net::IpAddr = match address {
        std::net::IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        std::net::IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    // Connecting a datagram socket sends nothing; it only chooses a route.
    let socket = std::net::UdpSocket::bind((any, 0)).ok()?;
    socket.connect((address, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip() == address)
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

    #[test]
    fn a_quota_of_a_group_above_counts_like_ones_own() {
        assert_eq!(most_throttled(&[(2, 10), (9, 20)], &[(2, 5), (3, 10)]), Some((6, 10)));
        assert_eq!(most_throttled(&[], &[]), None);
    }
}
