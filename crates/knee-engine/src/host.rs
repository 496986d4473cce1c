//! What this machine and this process report about themselves.
//!
//! Samples; does not judge (`knee_core::validity` does). A value that the platform does not report is `None`.

use knee_core::generator::{GeneratorSample, WorkerSample};
use knee_core::record::Machine;
use knee_core::unit::Nanos;

mod counters;
pub mod noise;
#[cfg(all(target_os = "linux", not(knee_portable)))]
#[path = "host/linux.rs"]
mod platform;
#[cfg(any(not(target_os = "linux"), knee_portable))]
#[path = "host/portable.rs"]
mod platform;

use counters::{CpuTimes, Reading, ThreadTimes};

/// Turns readings of this process's counters, which only grow, into shares of the time between them.
#[derive(Debug)]
pub struct Sampler {
    first: Reading,
    last: Reading,
}

impl Sampler {
    /// Takes the first reading.
    pub fn start() -> Self {
        let first = platform::read();
        Self { last: first.clone(), first }
    }

    /// The changes since the last call (or the start), without workers and collector, which sample
    /// themselves.
    /// `connections_open` is the number of connections that are open to all targets together.
    pub fn sample(&mut self, connections_open: u64) -> GeneratorSample {
        let now = platform::read();
        let before = &self.last;
        let sample = GeneratorSample {
            workers: Vec::new(),
            collector: None,
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
            co_located: None,
            timer_slack: platform::TIMER_SLACK,
        };
        self.last = now;
        sample
    }
}

/// The same for the thread that it was made on. A thread reads its own counters, because another thread would be too
/// late for the counters of a thread that has ended.
#[derive(Debug)]
pub struct ThreadSampler {
    last: Option<ThreadTimes>,
    /// Time of the last reading, on the run's clock.
    at: Nanos,
}

impl ThreadSampler {
    /// Takes the first reading, at `at`.
    pub fn start(at: Nanos) -> Self {
        Self { last: platform::thread_times(), at }
    }

    /// What this thread used since the last call (or the start); `None` if no time has passed, or if the platform does
    /// not report it.
    pub fn sample(&mut self, at: Nanos) -> Option<WorkerSample> {
        let span = at.since(self.at);
        if span == Nanos::ZERO {
            return None;
        }
        let now = platform::thread_times();
        let before = std::mem::replace(&mut self.last, now);
        self.at = at;
        let (now, before) = (now?, before?);
        let share = |part: Nanos| part.as_secs_f64() / span.as_secs_f64();
        let waited = now.waited.zip(before.waited);
        // A wait that began before this span is counted when it ends.
        let run_delay = waited.map(|(now, before)| share(now.since(before)).min(1.0));
        Some(WorkerSample { cpu: share(now.ran.since(before.ran)), run_delay })
    }
}

/// Below this share of the range ports cannot run short, and none are counted.
const PORTS_CAN_BE_SHORT: f64 = 0.5;

/// Ports in use towards one address, and the size of the range. `sockets` is the count of the whole machine, so an
/// upper bound. Reading which socket leads to which address takes time, so this happens only if it can matter.
fn ports_taken(sockets: u64, range: u64) -> (u64, u64) {
    if sockets as f64 <= range as f64 * PORTS_CAN_BE_SHORT {
        return (sockets, range);
    }
    (platform::ports_of_fullest_address().map_or(sockets, |taken| taken.min(sockets)), range)
}

fn share(now: Option<CpuTimes>, before: Option<CpuTimes>, part: fn(CpuTimes) -> u64) -> Option<f64> {
    let (now, before) = (now?, before?);
    let all = now.all.saturating_sub(before.all);
    (all > 0).then(|| part(now).saturating_sub(part(before)) as f64 / all as f64)
}

/// The changes under the quota that stopped this process most, of several nested quotas.
fn most_throttled(now: &[(u64, u64)], before: &[(u64, u64)]) -> Option<(u64, u64)> {
    let since = |((throttled, periods), before): (&(u64, u64), &(u64, u64))| {
        (throttled.saturating_sub(before.0), periods.saturating_sub(before.1))
    };
    now.iter().zip(before).map(since).max()
}

/// CPU time that this process has used until now, over all its threads, including those that have ended, but without
/// child processes.
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

/// The memory that this process can use, in bytes, if it is known.
pub fn memory_limit() -> Option<u64> {
    platform::memory_limit()
}

/// The CPUs that the quotas of this process's cgroups allow it at the most; `None` without a quota.
pub fn cpu_quota() -> Option<f64> {
    platform::cpu_quota()
}

/// Raises the limit of open files as far as this process is allowed; returns the limit, if it is known.
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
    fn a_quota_of_a_group_above_counts_like_ones_own() {
        assert_eq!(most_throttled(&[(2, 10), (9, 20)], &[(2, 5), (3, 10)]), Some((6, 10)));
        assert_eq!(most_throttled(&[], &[]), None);
    }
}
