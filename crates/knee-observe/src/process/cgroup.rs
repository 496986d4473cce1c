//! The limits and the pressure of a process's cgroup, of version 1 and 2.
//!
//! Looks only at the cgroup that the process is in, not at those above it. Changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::figures::{Bytes, Count, Figures, Seconds};
use crate::host::parse::{number, pressure, word};

/// Where cgroups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// A limit of memory from which on version 1 means none.
const NO_LIMIT: f64 = 1e18;

/// Adds the figures of the cgroup of a process.
pub(super) fn put(pid: u32, figures: &mut Figures) {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/cgroup")) else { return };
    let root = Path::new(ROOT);
    if let Some(path) = path_of(&text, None) {
        let mounted = ["", "unified"].map(|mount| below(&root.join(mount), &path));
        if let Some(folder) = mounted.iter().find(|folder| folder.join("cgroup.procs").is_file()) {
            put_unified(folder, figures);
        }
    }
    if let Some(path) = path_of(&text, Some("cpu")) {
        let mounted = ["cpu", "cpu,cpuacct"].map(|mount| below(&root.join(mount), &path));
        if let Some(folder) = mounted.iter().find(|folder| folder.is_dir()) {
            put_cpu(folder, figures);
        }
    }
    if let Some(path) = path_of(&text, Some("memory")) {
        put_memory(&below(&root.join("memory"), &path), figures);
    }
}

/// The path of a process in the hierarchy of a controller, or in the one of version 2: from lines such as
/// `4:cpu,cpuacct:/service` and `0::/service`.
fn path_of(text: &str, controller: Option<&str>) -> Option<String> {
    text.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let found = match controller {
            None => controllers.is_empty(),
            Some(name) => controllers.split(',').any(|one| one == name),
        };
        found.then(|| path.to_owned())
    })
}

fn below(mount: &Path, path: &str) -> PathBuf {
    mount.join(path.trim_start_matches('/'))
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_default()
}

fn put_unified(folder: &Path, figures: &mut Figures) {
    let stat = read(folder, "cpu.stat");
    let limit = cpus_of_version_2(&read(folder, "cpu.max"));
    if limit.is_some() {
        put_throttling(limit, &stat, word(&stat, "throttled_usec").map(|micros| micros / 1e6), figures);
    }
    figures.gauge("process.cgroup.memory.current", Bytes, number(read(folder, "memory.current").trim()));
    figures.gauge("process.cgroup.memory.limit", Bytes, number(read(folder, "memory.max").trim()));
    for resource in ["cpu", "memory", "io"] {
        let some = pressure(&read(folder, &format!("{resource}.pressure"))).some;
        figures.counter(&format!("process.cgroup.pressure.{resource}.some"), Seconds, some);
    }
}

fn put_cpu(folder: &Path, figures: &mut Figures) {
    let quota = read(folder, "cpu.cfs_quota_us").trim().parse::<f64>().ok().filter(|quota| *quota > 0.0);
    let period = number(read(folder, "cpu.cfs_period_us").trim()).filter(|period| *period > 0.0);
    let limit = quota.zip(period).map(|(quota, period)| quota / period);
    if limit.is_some() {
        let stat = read(folder, "cpu.stat");
        put_throttling(limit, &stat, word(&stat, "throttled_time").map(|nanos| nanos / 1e9), figures);
    }
}

fn put_throttling(limit: Option<f64>, stat: &str, throttled_time: Option<f64>, figures: &mut Figures) {
    figures.gauge("process.cgroup.cpu.limit", Count, limit);
    figures.counter("process.cgroup.cpu.periods", Count, word(stat, "nr_periods"));
    figures.counter("process.cgroup.cpu.throttled", Count, word(stat, "nr_throttled"));
    figures.counter("process.cgroup.cpu.throttled_time", Seconds, throttled_time);
}

fn put_memory(folder: &Path, figures: &mut Figures) {
    figures.gauge(
        "process.cgroup.memory.current",
        Bytes,
        number(read(folder, "memory.usage_in_bytes").trim()),
    );
    let limit = number(read(folder, "memory.limit_in_bytes").trim()).filter(|limit| *limit < NO_LIMIT);
    figures.gauge("process.cgroup.memory.limit", Bytes, limit);
}

/// The CPUs of `cpu.max`: a quota and a period in microseconds, or `max` and a period.
fn cpus_of_version_2(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace().map(number);
    let (quota, period) = (words.next()??, words.next()??);
    (period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_process_is_found_in_both_versions() {
        let text = "4:cpu,cpuacct:/a\n3:memory:/b:c\n0::/d/e\n";
        assert_eq!(path_of(text, Some("cpu")).as_deref(), Some("/a"));
        assert_eq!(path_of(text, Some("memory")).as_deref(), Some("/b:c"));
        assert_eq!(path_of(text, None).as_deref(), Some("/d/e"));
        assert_eq!(path_of(text, Some("io")), None);
    }

    #[test]
    fn a_limit_of_cpus_is_quota_by_period_and_missing_without_one() {
        assert_eq!(cpus_of_version_2("150000 100000\n"), Some(1.5));
        assert_eq!(cpus_of_version_2("max 100000\n"), None);
        assert_eq!(cpus_of_version_2(""), None);
    }

    #[test]
    fn the_figures_of_a_folder_are_put_together() {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("cpu.max", "200000 100000\n"),
            ("cpu.stat", "usage_usec 9\nnr_periods 10\nnr_throttled 4\nthrottled_usec 2500000\n"),
            ("memory.current", "1048576\n"),
            ("memory.max", "max\n"),
            ("cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n"),
        ] {
            fs::write(folder.path().join(file), text).unwrap();
        }
        let mut figures = Figures::default();
        put_unified(folder.path(), &mut figures);
        for (name, value) in [
            ("process.cgroup.cpu.limit", Some(2.0)),
            ("process.cgroup.cpu.throttled", Some(4.0)),
            ("process.cgroup.cpu.throttled_time", Some(2.5)),
            ("process.cgroup.memory.current", Some(1_048_576.0)),
            ("process.cgroup.memory.limit", None),
            ("process.cgroup.pressure.cpu.some", Some(1.0)),
            ("process.cgroup.pressure.io.some", None),
        ] {
            assert_eq!(figures.value(name, ""), value, "{name}");
        }
    }
}
