//! Linux: finds descendants in `/proc`, places processes by `sched_setaffinity`, and sets CPU shares by cgroups.
//!
//! Does not decide which processes to end; `registry` does.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use knee_core::fixture::division;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::placement::Bounds;
use crate::started::Started;

/// One process as `/proc/PID/stat` shows it.
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    zombie: bool,
    /// When it was started, in clock ticks since the machine was.
    begun: u64,
}

/// Living processes that belong to the process started as `root`: its group and session, its descendants, and
/// processes that left all of these but have `marker` in their environment.
pub(crate) fn members(root: i32, marker: &str) -> Vec<Pid> {
    let processes = processes();
    let belongs =
        |p: &&Process| p.pid == root || p.group == root || p.session == root || carries(p.pid, marker);
    let known = processes.iter().filter(belongs).map(|p| p.pid).collect();
    living(&processes, known)
}

/// Living processes of `known`, with their descendants. Never this process.
fn living(processes: &[Process], mut known: BTreeSet<i32>) -> Vec<Pid> {
    loop {
        let before = known.len();
        let children = processes.iter().filter(|p| known.contains(&p.parent)).map(|p| p.pid);
        known.extend(children.collect::<Vec<_>>());
        if known.len() == before {
            break;
        }
    }
    let own = std::process::id().cast_signed();
    let alive = |p: &&Process| known.contains(&p.pid) && !p.zombie && p.pid != own;
    processes.iter().filter(alive).filter_map(|p| Pid::from_raw(p.pid)).collect()
}

/// Living processes of a fixture that is gone, or whose supervisor is, with their descendants: those with `marker` in
/// their environment, and those in the groups and sessions of the `started` processes. Databases and caches overwrite
/// their environment, and PostgreSQL backends leave their group, so these are also known by working in `folder`.
///
/// A group has the number of the process that began it, which no other process can get while the group has members. If
/// the process is there, when it was started says whether it is the same one. If it has ended, the group can be a later
/// one with the same number: it is then ours only in the session of the supervisor, which no other program joins. A
/// session with that number is a later one, because a process that leads a group cannot begin a session.
pub(crate) fn stragglers(folder: &Path, marker: &str, _groups: &[i32], started: &[Started]) -> Vec<Pid> {
    let processes = processes();
    let leaders: Vec<(&Started, Option<&Process>)> =
        started.iter().map(|start| (start, processes.iter().find(|p| p.pid == start.pid))).collect();
    let is_ours = |p: &Process| {
        leaders.iter().any(|(start, leader)| match leader {
            Some(leader) => leader.begun == start.begun && (p.group == start.pid || p.session == start.pid),
            None => p.group == start.pid && p.session == start.session,
        })
    };
    let known = processes.iter().filter(|p| is_ours(p) || carries(p.pid, marker) || is_store(p.pid, folder));
    living(&processes, known.map(|p| p.pid).collect())
}

/// Identifies a process that was started now, also after it has ended; `None` if it is gone.
pub(crate) fn started(pid: i32) -> Option<Started> {
    let process = process(pid)?;
    Some(Started { boot: boot(), pid, begun: process.begun, session: process.session })
}

/// Identifies this start of the machine.
pub(crate) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Whether a process is a database or a cache and works in `folder`.
fn is_store(pid: i32, folder: &Path) -> bool {
    const NAMES: [&str; 3] = ["postgres", "redis-server", "valkey-server"];
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|place| place.starts_with(folder))
        && fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| NAMES.contains(&name.trim_end()))
}

/// Living children of this process, adopted ones included.
pub(crate) fn children() -> Vec<Pid> {
    own(|child| !child.zombie)
}

/// Children of this process that have ended and still have their numbers, adopted ones included.
pub(crate) fn ended_children() -> Vec<Pid> {
    own(|child| child.zombie)
}

fn own(wanted: impl Fn(&Process) -> bool) -> Vec<Pid> {
    let parent = std::process::id().cast_signed();
    let found = processes().into_iter().filter(|p| p.parent == parent && wanted(p));
    found.filter_map(|p| Pid::from_raw(p.pid)).collect()
}

/// Makes this process adopt every descendant whose parent ends, so that none is lost.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Names of shared memory that `pid` has mapped and that outlives a process that is killed.
pub(crate) fn shared_memory(pid: i32) -> Vec<SharedMemory> {
    let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    text.lines().filter_map(mapped).collect()
}

/// A piece of shared memory that the system keeps until it is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SharedMemory {
    /// A POSIX object: a file below `/dev/shm`.
    File(PathBuf),
    /// A System V segment, by its number.
    Segment(u64),
}

impl SharedMemory {
    /// Removes it if it is still there.
    pub(crate) fn remove(&self) {
        match self {
            Self::File(path) => drop(fs::remove_file(path)),
            // There is no call for it without unsafe code; the program is part of every Linux.
            Self::Segment(id) => {
                let mut command = std::process::Command::new("ipcrm");
                command.arg("-m").arg(id.to_string());
                command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
                let _ = command.stderr(std::process::Stdio::null()).status();
            }
        }
    }
}

/// The shared memory of one line of `/proc/PID/maps`: address, rights, offset, device, inode, name.
fn mapped(line: &str) -> Option<SharedMemory> {
    let mut words = line.split_ascii_whitespace();
    let inode = words.nth(4)?;
    let name = words.next()?;
    if name.starts_with("/SYSV") {
        return inode.parse().ok().map(SharedMemory::Segment);
    }
    let deleted = words.next().is_some();
    (name.starts_with("/dev/shm/") && !deleted).then(|| SharedMemory::File(name.into()))
}

/// CPUs that this process could run on before a fixture placed it, those of the same core beside each other.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    static AT_FIRST: OnceLock<Vec<usize>> = OnceLock::new();
    AT_FIRST.get_or_init(allowed_now).clone()
}

fn allowed_now() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    let mut cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect();
    cpus.sort_by_key(|&cpu| (core_of(cpu), cpu));
    cpus
}

/// The core of a CPU, named by the first of its CPUs.
pub(crate) fn core_of(cpu: usize) -> usize {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let siblings = fs::read_to_string(file).ok().and_then(|text| division::parse(text.trim()));
    siblings.and_then(|siblings| siblings.first().copied()).unwrap_or(cpu)
}

/// Restricts this thread, and everything that it starts, to `cpus`.
pub(crate) fn pin_thread(cpus: &[usize]) -> io::Result<()> {
    Ok(sched_setaffinity(None, &set_of(cpus)?)?)
}

/// Restricts every thread of this process, and the threads that they start, to `cpus`.
pub(crate) fn pin_process(cpus: &[usize]) -> io::Result<()> {
    pin_threads_of("self", &set_of(cpus)?)
}

/// Restricts a process, its descendants and all that they start to `cpus`, as far as the system allows it.
pub(crate) fn pin_tree(pid: u32, cpus: &[usize]) {
    let Ok(set) = set_of(cpus) else { return };
    let root = BTreeSet::from([pid.cast_signed()]);
    for process in living(&processes(), root) {
        // A process can end meanwhile.
        let _ = pin_threads_of(&process.as_raw_pid().to_string(), &set);
    }
}

fn pin_threads_of(process: &str, set: &CpuSet) -> io::Result<()> {
    for entry in fs::read_dir(format!("/proc/{process}/task"))? {
        let name = entry?.file_name();
        let thread = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        match thread.map(|thread| sched_setaffinity(Some(thread), set)) {
            // A thread can end while the list is read.
            None | Some(Ok(()) | Err(rustix::io::Errno::SRCH)) => {}
            Some(Err(error)) => return Err(error.into()),
        }
    }
    Ok(())
}

fn set_of(cpus: &[usize]) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no CPU {cpu}")));
        }
        set.set(cpu);
    }
    Ok(set)
}

/// A new cgroup, or the reason why there is none. All its processes together compete for CPUs with outside processes
/// as one, within its limits.
pub(crate) fn create_group(name: &str, bounds: Bounds) -> Result<PathBuf, String> {
    // A period of 10 ms in place of the usual 100 ms keeps the pauses of a process that used up its share short.
    const PERIOD_US: u64 = 10_000;
    // The weight of a group when none is set, in version 2 and in version 1.
    const USUAL: (f64, f64) = (100.0, 1_024.0);
    let (mut second, mut first) = (Vec::new(), Vec::new());
    if let Some(share) = bounds.share {
        let quota_us = ((share * PERIOD_US as f64) as u64).max(1_000);
        second.push(("cpu.max", format!("{quota_us} {PERIOD_US}")));
        first.push(("cpu.cfs_period_us", PERIOD_US.to_string()));
        first.push(("cpu.cfs_quota_us", quota_us.to_string()));
    }
    if let Some(times) = bounds.generator_weight {
        let of = |usual: f64, least: f64| (usual / f64::from(times)).round().max(least).to_string();
        second.push(("cpu.weight", of(USUAL.0, 1.0)));
        first.push(("cpu.shares", of(USUAL.1, 2.0)));
    }
    create(name, &second, &first)
}

/// Removes a cgroup whose processes have ended. The kernel needs a moment to release the last one.
pub(crate) fn remove_group(path: &Path) {
    const PAUSE: Duration = Duration::from_millis(2);
    for _ in 0..500 {
        match fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(PAUSE),
            _ => return,
        }
    }
}

/// Removes the cgroups whose name begins with `prefix`; they must have no processes left.
pub(crate) fn remove_groups(prefix: &str) {
    for path in groups(prefix) {
        remove_group(&path);
    }
}

/// The cgroups whose name begins with `prefix`.
pub(crate) fn groups(prefix: &str) -> Vec<PathBuf> {
    let parents = [parent_v2(), parent_v1()].into_iter().flatten();
    let entries = parents.flat_map(|parent| fs::read_dir(parent).into_iter().flatten().flatten());
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    ours.map(|entry| entry.path()).collect()
}

/// A new cgroup with the settings of its version: version 2 below the group of this process, otherwise version 1.
fn create(name: &str, second: &[(&str, String)], first: &[(&str, String)]) -> Result<PathBuf, String> {
    let refused = match parent_v2().and_then(|parent| new_group(&parent.join(name), second)) {
        Ok(path) => return Ok(path),
        Err(reason) => reason,
    };
    let older = parent_v1().and_then(|parent| new_group(&parent.join(name), first));
    older.map_err(|older| format!("{refused}; {older}"))
}

/// Where groups of version 2 can be made.
fn parent_v2() -> Result<PathBuf, String> {
    let own = own_group("").ok_or("this process is in no cgroup of version 2")?;
    let mount = mount_of("cgroup2", None).ok_or("no cgroup of version 2 is mounted")?;
    // A group with processes of its own cannot give shares to groups below it, so one beside ours is made.
    let own = mount.join(own.trim_start_matches('/'));
    let parent = if own == mount { own } else { own.parent().unwrap_or(&mount).to_owned() };
    let offered = fs::read_to_string(parent.join("cgroup.subtree_control")).unwrap_or_default();
    if !offered.split_ascii_whitespace().any(|controller| controller == "cpu") {
        return Err(format!("`{}` gives no CPU weights to the groups below it", parent.display()));
    }
    Ok(parent)
}

/// Where groups of version 1 can be made.
fn parent_v1() -> Result<PathBuf, String> {
    let mount = mount_of("cgroup", Some("cpu")).ok_or("no cgroup of version 1 for CPUs is mounted")?;
    let own = own_group("cpu").unwrap_or_default();
    Ok(mount.join(own.trim_start_matches('/')))
}

fn new_group(path: &Path, settings: &[(&str, String)]) -> Result<PathBuf, String> {
    let refuse = |error: &io::Error| format!("`{}`: {}", path.display(), crate::error::reason(error));
    match fs::create_dir(path) {
        // What a start that failed left behind has the name of its fixture, and is empty.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(refuse(&error)),
        _ => {}
    }
    for (file, value) in settings {
        if let Err(error) = fs::write(path.join(file), value) {
            let _ = fs::remove_dir(path);
            return Err(refuse(&error));
        }
    }
    Ok(path.to_owned())
}

/// The group of this process in the hierarchy of `controller`; an empty name is version 2.
fn own_group(controller: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        controllers.split(',').any(|name| name == controller).then(|| path.to_owned())
    })
}

/// Where a file system of `kind` is mounted, with `option` among its options if one is given.
fn mount_of(kind: &str, option: Option<&str>) -> Option<PathBuf> {
    let text = fs::read_to_string("/proc/self/mounts").ok()?;
    text.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let fits = *words.get(2)? == kind
            && option
                .is_none_or(|option| words.get(3).is_some_and(|all| all.split(',').any(|o| o == option)));
        fits.then(|| PathBuf::from(words[1]))
    })
}

fn carries(pid: i32, marker: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    environment.split(|&byte| byte == 0).any(|entry| entry.starts_with(marker.as_bytes()))
}

fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter_map(process).collect()
}

fn process(pid: i32) -> Option<Process> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses can contain anything, so what follows is counted from its end.
    let rest = &text[text.rfind(')')? + 1..];
    let mut words = rest.split_ascii_whitespace();
    let zombie = matches!(words.next()?, "Z" | "X");
    let mut number = || words.next()?.parse().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    // proc(5): the session is field 6, the start field 22.
    let begun = words.nth(15)?.parse().ok()?;
    Some(Process { pid, parent, group, session, zombie, begun })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_known_by_when_it_was_started() {
        let own = std::process::id().cast_signed();
        let now = started(own).unwrap();
        assert_eq!(now, started(own).unwrap());
        let mut leader = Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let pid = leader.id().cast_signed();
        let found = |begun: u64| {
            let known = Started { begun, ..started(pid).unwrap() };
            stragglers(Path::new("/nowhere"), "NO=", &[], &[known]).len()
        };
        let begun = started(pid).unwrap().begun;
        let counts = (found(begun), found(begun + 1));
        leader.kill().unwrap();
        leader.wait().unwrap();
        assert_eq!(counts, (1, 0), "with another start, the number is that of another process");
        assert_eq!(started(i32::MAX), None);
    }

    #[test]
    fn a_group_whose_first_process_has_ended_is_known_by_its_session() {
        let mut leader = Command::new("sh");
        leader.args(["-c", "sleep 60 & read line"]).process_group(0).stdin(Stdio::piped());
        let mut leader = leader.spawn().unwrap();
        let known = started(leader.id().cast_signed()).unwrap();
        let group = Pid::from_child(&leader);
        let found = |session: i32| {
            let known = Started { session, ..known.clone() };
            stragglers(Path::new("/nowhere"), "NO=", &[], &[known]).len()
        };
        // Until the shell has started its child.
        while found(known.session) < 2 {
            thread::yield_now();
        }
        drop(leader.stdin.take());
        leader.wait().unwrap();
        let counts = (found(known.session), found(known.session + 1));
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        assert_eq!(counts, (1, 0), "in another session, the number is that of a later group");
    }

    #[test]
    fn shared_memory_that_outlives_its_process_is_read_from_its_maps() {
        let sysv = "7f1e5f0a4000-7f1e5f0a5000 rw-s 00000000 00:01 32775 /SYSV00a8b1c2 (deleted)";
        assert_eq!(mapped(sysv), Some(SharedMemory::Segment(32_775)));
        let posix = "7f1e55d2b000-7f1e55d32000 rw-s 00000000 00:1a 12 /dev/shm/PostgreSQL.1234";
        assert_eq!(mapped(posix), Some(SharedMemory::File("/dev/shm/PostgreSQL.1234".into())));
        assert_eq!(mapped(&format!("{posix} (deleted)")), None);
        assert_eq!(mapped("7f1e55d2b000-7f1e55d32000 rw-s 00000000 00:1a 12 /usr/lib/libc.so.6"), None);
        assert_eq!(mapped("7f1e55d2b000-7f1e55d32000 rw-p 00000000 00:00 0"), None);
    }
}
