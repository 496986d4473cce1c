//! The counters on Linux: from `/proc`, cgroups and clocks; needs no privilege.
//!
//! If a file is missing or has another format, its field stays empty.

use std::collections::HashMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use knee_core::unit::Nanos;
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::counters::{CpuTimes, DESCRIPTORS_BASE, Reading, ThreadTimes, ahead};

/// Timers here are as exact as the scheduler.
pub const TIMER_SLACK: Nanos = Nanos::ZERO;

/// Reads everything.
pub fn read() -> Reading {
    let monotonic = || clock(ClockId::Monotonic);
    Reading {
        throttled: throttled(),
        cpu_times: cpu_times(),
        descriptors_base: DESCRIPTORS_BASE,
        descriptors_limit: getrlimit(Resource::Nofile).current,
        ports: ports(),
        resident_bytes: resident_bytes(),
        wall_ahead_ns: ahead(monotonic, || clock(ClockId::Realtime)),
        suspended: Some(Nanos(ahead(monotonic, || clock(ClockId::Boottime)).max(0) as u64)),
    }
}

fn clock(id: ClockId) -> i64 {
    let time = clock_gettime(id);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Counters of the calling thread, from `schedstat`: nanoseconds on a CPU, nanoseconds waiting for one, time slices.
pub fn thread_times() -> Option<ThreadTimes> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let mut fields = text.split_ascii_whitespace().map(|field| field.parse().map(Nanos).ok());
    let ran = fields.next().flatten()?;
    Some(ThreadTimes { ran, waited: fields.next().flatten() })
}

/// For the cgroup of this process and every cgroup above it that has a quota: throttled periods and all periods.
fn throttled() -> Vec<(u64, u64)> {
    let Ok(groups) = fs::read_to_string("/proc/self/cgroup") else { return Vec::new() };
    let stats = group_files(&groups, &CPU).into_iter();
    stats.filter_map(|path| periods(&fs::read_to_string(path).ok()?)).collect()
}

/// What cgroups say about one resource.
struct GroupFile {
    /// Name of the controller of version 1.
    controller: &'static str,
    /// Where version 1 has it.
    roots: &'static [&'static str],
    /// Its file in version 2, and in version 1.
    names: [&'static str; 2],
}

/// What a CPU quota did to a group.
const CPU: GroupFile = GroupFile {
    controller: "cpu",
    roots: &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"],
    names: ["cpu.stat", "cpu.stat"],
};

/// How much CPU time a group can use per period: both in one file, or the first of two files.
const CPU_QUOTA: GroupFile = GroupFile {
    controller: "cpu",
    roots: &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"],
    names: ["cpu.max", "cpu.cfs_quota_us"],
};

/// How much memory a group can use, in bytes.
const MEMORY: GroupFile = GroupFile {
    controller: "memory",
    roots: &["/sys/fs/cgroup/memory"],
    names: ["memory.max", "memory.limit_in_bytes"],
};

/// The files of a process in `groups` (`/proc/self/cgroup`): version 2 under `/sys/fs/cgroup`, version 1 under its
/// controller's name; from the process's own group up to the visible root.
fn group_files(groups: &str, file: &GroupFile) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (roots, name): (&[&str], _) = match controllers {
            "" => (&["/sys/fs/cgroup", "/sys/fs/cgroup/unified"], file.names[0]),
            names if names.split(',').any(|name| name == file.controller) => (file.roots, file.names[1]),
            _ => continue,
        };
        for root in roots {
            let own = Path::new(path.trim_start_matches('/'));
            paths.extend(own.ancestors().map(|group| Path::new(root).join(group).join(name)));
        }
    }
    paths
}

/// `cpu.stat` of a group with a quota; the root has no such lines.
fn periods(stat: &str) -> Option<(u64, u64)> {
    let field =
        |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    Some((field("nr_throttled")?, field("nr_periods")?))
}

/// First line of `/proc/stat`: user nice system idle iowait irq softirq steal guest `guest_nice`.
/// Guest time is part of user time already.
fn cpu_times() -> Option<CpuTimes> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_ascii_whitespace().take(8).map_while(|tick| tick.parse().ok()).collect();
    let [_, _, _, idle, waiting, _, _, steal] = ticks[..] else { return None };
    let all = ticks.iter().sum();
    Some(CpuTimes { all, busy: all - idle - waiting, steal })
}

fn ports() -> Option<(u64, u64)> {
    let range = port_range()?;
    let sockets = fs::read_to_string("/proc/net/sockstat").ok()?;
    let tcp = sockets.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = tcp.split_ascii_whitespace();
    let waiting = words.find(|word| *word == "tw").and_then(|_| words.next()?.parse().ok())?;
    Some((waiting, range.end().saturating_sub(*range.start()) + 1))
}

/// The local ports that the kernel gives to connections.
fn port_range() -> Option<RangeInclusive<u64>> {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ends = range.split_ascii_whitespace().map_while(|end| end.parse().ok());
    Some(ends.next()?..=ends.next()?)
}

/// Local ports in use towards the address that has most of them; connections to another address can use
/// the same ports. Takes milliseconds with tens of thousands of sockets.
pub fn ports_of_fullest_address() -> Option<u64> {
    let range = port_range()?;
    let fourth = fs::read_to_string("/proc/net/tcp").ok()?;
    // There is none where IPv6 is switched off.
    let sixth = fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    Some(fullest(&fourth, &range).max(fullest(&sixth, &range)))
}

/// Of a table of sockets (its number, local and remote address, state, …): the largest number that lead from one
/// address and ports in `range` to one address and port.
fn fullest(table: &str, range: &RangeInclusive<u64>) -> u64 {
    let mut ways: HashMap<(&str, &str), u64> = HashMap::new();
    for line in table.lines().skip(1) {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (Some((from, port)), Some(to)) =
            (fields.next().and_then(|own| own.split_once(':')), fields.next())
        else {
            continue;
        };
        if u64::from_str_radix(port, 16).is_ok_and(|port| range.contains(&port)) {
            *ways.entry((from, to)).or_default() += 1;
        }
    }
    ways.into_values().max().unwrap_or(0)
}

fn resident_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

pub fn system() -> String {
    let name = rustix::system::uname();
    format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
}

pub fn cpu_model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

pub fn memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1_024)
}

/// The smallest CPU quota of this process's cgroup and of those above it, in CPUs.
pub fn cpu_quota() -> Option<f64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    smallest_quota(&groups, |path| fs::read_to_string(path).ok())
}

/// The same for the groups of `/proc/self/cgroup` and the files that `read` finds.
fn smallest_quota(groups: &str, read: impl Fn(&Path) -> Option<String>) -> Option<f64> {
    let quota = |path: PathBuf| {
        let text = read(&path)?;
        let mut words = text.split_ascii_whitespace();
        // `max` and -1 are no quota.
        let time: f64 = words.next()?.parse().ok().filter(|time| *time > 0.0)?;
        let second = || read(&path.with_file_name("cpu.cfs_period_us"));
        let period: f64 = words.next().map(str::to_owned).or_else(second)?.trim().parse().ok()?;
        (period > 0.0).then_some(time / period)
    };
    group_files(groups, &CPU_QUOTA).into_iter().filter_map(quota).reduce(f64::min)
}

/// The memory that this process can use: that of the machine, or less if a cgroup limits it.
pub fn memory_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = group_files(&groups, &MEMORY).into_iter();
    let limits = limits.filter_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok());
    memory_bytes().into_iter().chain(limits).min()
}

pub fn raise_descriptor_limit() -> Option<u64> {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        // Where it cannot be raised the old limit stays, and is reported as it is.
        let _ = setrlimit(Resource::Nofile, limit);
    }
    getrlimit(Resource::Nofile).current
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table as the kernel writes it: connections from these ports to these ones.
    fn table(ways: impl IntoIterator<Item = (u16, u16)>) -> String {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt".to_owned();
        let rows = ways.into_iter().enumerate().map(|(at, (from, to))| {
            format!(
                " {at:3}: 0100007F:{from:04X} 0100007F:{to:04X} 06 00000000:00000000 03:00000B2D 00000000"
            )
        });
        std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn quotas_of_all_groups_above_are_looked_at_in_both_versions() {
        let paths = group_files("4:cpu,cpuacct:/docker/abc\n3:cpuset:/\n0::/\n", &CPU);
        let has = |path: &str| paths.iter().any(|known| known == Path::new(path));
        assert!(has("/sys/fs/cgroup/cpu/docker/abc/cpu.stat") && has("/sys/fs/cgroup/cpu/docker/cpu.stat"));
        assert!(has("/sys/fs/cgroup/cpu/cpu.stat") && has("/sys/fs/cgroup/cpu.stat"));
        assert!(!paths.iter().any(|path| path.starts_with("/sys/fs/cgroup/cpuset")));
        assert_eq!(periods("nr_periods 12\nnr_throttled 3\nthrottled_time 9\n"), Some((3, 12)));
        assert_eq!(periods("usage_usec 12\n"), None);
    }

    #[test]
    fn the_smallest_quota_of_all_groups_counts_in_both_versions() {
        let of = |groups: &str, files: &[(&str, &str)]| {
            let files: HashMap<&Path, &str> =
                files.iter().map(|(path, text)| (Path::new(*path), *text)).collect();
            smallest_quota(groups, |path| files.get(path).map(|text| (*text).to_owned()))
        };
        let second = [
            ("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/cpu.max", "400000 100000\n"),
        ];
        assert_eq!(of("0::/a/b\n", &second), Some(1.5));
        assert_eq!(of("0::/a/b\n", &second[..1]), None);
        let first = [
            ("/sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "50000\n"),
            ("/sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(of("4:cpu,cpuacct:/docker\n", &first), Some(0.5));
        assert_eq!(of("", &first), None);
    }

    #[test]
    fn ports_are_counted_towards_one_address_because_another_can_use_the_same_ones() {
        let range = 32_768..=60_999;
        let to = |port: u16, count: u16| (0..count).map(move |at| (40_000 + at, port));
        assert_eq!(fullest(&table(to(8_080, 900).chain(to(8_081, 700))), &range), 900);
        // The other ends of connections are the server's: every one leads to another port.
        assert_eq!(fullest(&table((0..900).map(|at| (8_080, 40_000 + at))), &range), 0);
        assert_eq!(fullest("", &range), 0);
        assert_eq!(fullest("header\nsomething else\n", &range), 0);
    }
}
