//! Which programs of this machine use its CPUs, and on which CPUs service and generator can run, as Linux reports it.
//!
//! Reads every process and thread before and after a step, outside of its measured time. Times are in hundredths of a
//! second, as `/proc` has them: little in a step of seconds. On other systems nothing is known. Does not judge.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;
use knee_study::sweep::bound::{ProgramUse, Role};

/// Programs that are reported, at most.
const PROGRAMS_MAX: usize = 5;

/// Programs that used fewer CPUs are not reported.
const CPUS_MIN: f64 = 0.05;

/// `/proc` counts time in hundredths of a second (`USER_HZ`), whatever the kernel's clock.
const TICKS_PER_SECOND: f64 = 100.0;

/// Looks at the programs of this machine.
#[derive(Clone, Debug)]
pub struct CpuWatch {
    clock: MonotonicClock,
    pids: Vec<u32>,
    generator: BTreeSet<usize>,
    service: Option<BTreeSet<usize>>,
}

/// A look.
#[derive(Clone, Debug)]
pub struct Look {
    at: Nanos,
    processes: BTreeMap<u32, Process>,
    /// Ticks of each CPU: busy, all.
    cpus: BTreeMap<usize, (u64, u64)>,
}

/// A process, with its ticks and those of its threads.
#[derive(Clone, Debug)]
struct Process {
    name: String,
    parent: u32,
    ticks: u64,
    /// When it began, in ticks since the system did: tells it from another process of the same number.
    started: u64,
    threads: BTreeMap<u32, u64>,
}

/// What was used between two looks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Used {
    /// The programs that used the most, most first.
    pub programs: Vec<ProgramUse>,
    /// Busy share, 0 to 1, of the CPUs that the service can use, if those are not all of them.
    pub busy: Option<f64>,
}

impl CpuWatch {
    /// Watches this machine; `pids` are processes of the service, if they are known.
    pub fn new(pids: &[u32]) -> Self {
        let sets: Vec<BTreeSet<usize>> = pids.iter().filter_map(|pid| allowed(&pid.to_string())).collect();
        let union = sets.iter().flatten().copied().collect();
        Self {
            clock: MonotonicClock::start(),
            pids: pids.to_vec(),
            generator: allowed("self").unwrap_or_default(),
            service: (!sets.is_empty()).then_some(union),
        }
    }

    /// The number of CPUs that the service can use, if its processes are known.
    pub fn cores(&self) -> Option<f64> {
        self.service.as_ref().map(|cpus| cpus.len() as f64)
    }

    /// The CPUs that service and generator can both use, ascending. A service whose processes are unknown runs
    /// somewhere on this machine: if the generator can use all of its CPUs, they share some of them.
    pub fn shared(&self) -> Option<Vec<usize>> {
        if self.generator.is_empty() {
            return None;
        }
        if let Some(service) = &self.service {
            return Some(self.generator.intersection(service).copied().collect());
        }
        let all: BTreeSet<usize> = cpus().into_keys().collect();
        (!all.is_empty() && self.generator.is_superset(&all)).then(|| all.into_iter().collect())
    }

    /// Looks now.
    pub fn look(&self) -> Look {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let processes = pids.filter_map(|pid| Some((pid, process(pid)?))).collect();
        Look { at: self.clock.now(), processes, cpus: cpus() }
    }

    /// What was used between two looks.
    pub fn used(&self, before: &Look, after: &Look) -> Used {
        let seconds = after.at.since(before.at).as_secs_f64();
        let service = self.members(after);
        let mut programs: BTreeMap<(&str, bool), ProgramUse> = BTreeMap::new();
        for (pid, process) in &after.processes {
            let role = match *pid {
                own if own == std::process::id() => Role::Generator,
                pid if service.contains(&pid) => Role::Service,
                _ => Role::Other,
            };
            // Not one that took over the number of another. Names do not tell: kernel threads change theirs.
            let earlier = before.processes.get(pid).filter(|earlier| earlier.started == process.started);
            let since = |now: u64, then: Option<u64>| {
                now.saturating_sub(then.unwrap_or_default()) as f64 / TICKS_PER_SECOND / seconds.max(1e-9)
            };
            let cpus = since(process.ticks, earlier.map(|earlier| earlier.ticks));
            let threads = process
                .threads
                .iter()
                .map(|(tid, now)| since(*now, earlier.and_then(|earlier| earlier.threads.get(tid)).copied()));
            let program = programs.entry((&process.name, role == Role::Other)).or_insert_with(|| {
                ProgramUse { name: process.name.clone(), role, processes: 0, cpus: 0.0, busiest_thread: 0.0 }
            });
            program.processes += 1;
            program.cpus += cpus;
            program.busiest_thread = threads.fold(program.busiest_thread, f64::max);
        }
        let mut programs: Vec<ProgramUse> =
            programs.into_values().filter(|program| program.cpus >= CPUS_MIN).collect();
        programs.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
        programs.truncate(PROGRAMS_MAX);
        Used { programs, busy: self.busy(before, after) }
    }

    fn busy(&self, before: &Look, after: &Look) -> Option<f64> {
        let service = self.service.as_ref().filter(|service| service.len() < after.cpus.len())?;
        let differences =
            after.cpus.iter().filter(|(cpu, _)| service.contains(cpu)).filter_map(|(cpu, now)| {
                let then = before.cpus.get(cpu)?;
                Some((now.0.saturating_sub(then.0), now.1.saturating_sub(then.1)))
            });
        let (busy, all) = differences.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (all > 0).then(|| busy as f64 / all as f64)
    }

    /// The processes of the service and their descendants.
    fn members(&self, look: &Look) -> BTreeSet<u32> {
        let mut members: BTreeSet<u32> = self.pids.iter().copied().collect();
        loop {
            let born = look
                .processes
                .iter()
                .filter(|(pid, process)| members.contains(&process.parent) && !members.contains(pid));
            let born: Vec<u32> = born.map(|(pid, _)| *pid).collect();
            if born.is_empty() {
                return members;
            }
            members.extend(born);
        }
    }
}

fn process(pid: u32) -> Option<Process> {
    let Stat { name, parent, ticks, started } = stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let threads = entries.filter_map(|entry| {
        let of_thread = stat(&fs::read_to_string(entry.path().join("stat")).ok()?)?;
        Some((entry.file_name().to_str()?.parse().ok()?, of_thread.ticks))
    });
    Some(Process { name, parent, ticks, started, threads: threads.collect() })
}

/// The needed fields of proc(5): name, parent (4), user and system time (14 and 15), start (22).
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    name: String,
    parent: u32,
    ticks: u64,
    started: u64,
}

/// Reads them; fields are counted from the last parenthesis, because a name can contain anything.
fn stat(text: &str) -> Option<Stat> {
    let (head, rest) = text.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let (parent, ticks, started) = (number(4)? as u32, number(14)? + number(15)?, number(22)?);
    Some(Stat { name: name.to_owned(), parent, ticks, started })
}

/// Ticks of each CPU since the system started: busy, all.
fn cpus() -> BTreeMap<usize, (u64, u64)> {
    fs::read_to_string("/proc/stat").map(|text| text.lines().filter_map(cpu).collect()).unwrap_or_default()
}

/// A line of `/proc/stat` about one CPU: user, nice, system, idle, iowait, irq, softirq, steal. Guests are part of user.
fn cpu(line: &str) -> Option<(usize, (u64, u64))> {
    let (name, times) = line.split_once(' ')?;
    let number = name.strip_prefix("cpu")?.parse().ok()?;
    let times: Vec<u64> = times.split_whitespace().take(8).map_while(|time| time.parse().ok()).collect();
    let all: u64 = times.iter().sum();
    let idle: u64 = times.iter().skip(3).take(2).sum();
    Some((number, (all - idle, all)))
}

/// The CPUs that a process can use.
fn allowed(process: &str) -> Option<BTreeSet<usize>> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().split(',').filter_map(range).flatten().collect())
}

/// `0-3` or `5`.
fn range(part: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    Some(usize::from(first)..=usize::from(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(name: &str, parent: u32, ticks: u64, threads: &[(u32, u64)]) -> Process {
        let threads = threads.iter().copied().collect();
        Process { name: name.to_owned(), parent, ticks, started: 1, threads }
    }

    fn look(seconds: u64, processes: &[(u32, Process)], busy: [u64; 2]) -> Look {
        let all = seconds * 100;
        Look {
            at: Nanos::from_secs(seconds),
            processes: processes.iter().cloned().collect(),
            cpus: [(0, (busy[0], all)), (1, (busy[1], all))].into(),
        }
    }

    fn watch(service: Option<BTreeSet<usize>>) -> CpuWatch {
        let clock = MonotonicClock::start();
        CpuWatch { clock, pids: vec![7], generator: [0, 1].into(), service }
    }

    #[test]
    fn programs_are_named_with_their_busiest_thread_and_children_belong_to_the_service() {
        let before = look(
            10,
            &[
                (7, process("master", 1, 100, &[(7, 100)])),
                (8, process("worker", 7, 500, &[(8, 200), (9, 300)])),
                (20, process("postgres", 1, 0, &[(20, 0)])),
                (21, process("postgres", 20, 0, &[(21, 0)])),
            ],
            [0, 0],
        );
        let after = look(
            20,
            &[
                (7, process("master", 1, 101, &[(7, 101)])),
                (8, process("worker", 7, 1_700, &[(8, 250), (9, 1_270), (10, 180)])),
                (20, process("postgres", 1, 300, &[(20, 300)])),
                (21, process("postgres", 20, 400, &[(21, 400)])),
            ],
            [900, 700],
        );
        let used = watch(None).used(&before, &after);
        let shown: Vec<_> = used
            .programs
            .iter()
            .map(|one| (one.name.as_str(), one.role, one.processes, one.cpus, one.busiest_thread))
            .collect();
        assert_eq!(
            shown,
            [("worker", Role::Service, 1, 1.2, 0.97), ("postgres", Role::Other, 2, 0.7, 0.4)],
            "the master used too little to be named"
        );
        assert_eq!(used.busy, None, "a run knows how busy all CPUs were");
        let pinned = watch(Some([0].into()));
        assert_eq!(pinned.used(&before, &after).busy, Some(0.9), "only the CPU that the service can use");
        assert_eq!((pinned.cores(), pinned.shared()), (Some(1.0), Some(vec![0])));
    }

    #[test]
    fn a_generator_that_is_bound_to_some_cpus_shares_only_those() {
        let bound =
            |service: [usize; 3]| CpuWatch { generator: [4, 5].into(), ..watch(Some(service.into())) };
        assert_eq!(bound([3, 4, 5]).shared(), Some(vec![4, 5]));
        assert_eq!(bound([5, 6, 7]).shared(), Some(vec![5]));
        assert_eq!(bound([0, 1, 2]).shared(), Some(Vec::new()));
    }

    #[test]
    fn a_program_that_changes_its_name_keeps_what_it_used_before() {
        let kernel = |name: &str, ticks| [(3, process(name, 2, ticks, &[(3, ticks)]))];
        let (before, after) = (
            look(10, &kernel("kworker/0:1", 9_000), [0; 2]),
            look(20, &kernel("kworker/0:1-ext4", 9_100), [0; 2]),
        );
        let used = watch(None).used(&before, &after);
        assert!((used.programs[0].cpus - 0.1).abs() < 1e-9, "{used:?}");
        let mut again = kernel("kworker/0:1", 300);
        again[0].1.started = 1_500;
        let used = watch(None).used(&before, &look(20, &again, [0; 2]));
        assert!((used.programs[0].cpus - 0.3).abs() < 1e-9, "another process of the same number: {used:?}");
    }

    #[test]
    fn fields_are_found_whatever_the_name_of_the_process() {
        let text = "42 (a) b (c)) S 7 2 3 4 5 6 7 8 9 10 100 20 3 1 20 0 1 0 99 4096 12 0";
        assert_eq!(
            stat(text),
            Some(Stat { name: "a) b (c)".to_owned(), parent: 7, ticks: 120, started: 99 })
        );
        assert_eq!(stat("42 (a) S 1"), None);
        assert_eq!(cpu("cpu1 10 0 20 60 5 0 5 0 0 0"), Some((1, (35, 100))));
        assert_eq!((cpu("cpu  10 0"), cpu("intr 1 2")), (None, None));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_the_generator_and_a_busy_thread_of_it_is_seen() {
        let watch = CpuWatch::new(&[]);
        let before = watch.look();
        let end = Nanos(watch.clock.now().0 + 300_000_000);
        while watch.clock.now() < end {}
        let used = watch.used(&before, &watch.look());
        let own = used.programs.iter().find(|program| program.role == Role::Generator).unwrap();
        assert!(own.busiest_thread > 0.0 && own.cpus >= own.busiest_thread - 1e-9, "{own:?}");
    }
}
