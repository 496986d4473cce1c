//! The programs of this machine that use most CPU time, beside what is observed and what knee started.
//!
//! Reads the `stat` of every process, so it is asked rarely. A program is all processes of one name, such as the many
//! short ones of a build. What a process uses after the last reading before its end is missed. Never reads arguments
//! or variables of a process: they contain secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use knee_core::unit::Nanos;

use super::parse::{self, Stat, stat};
use crate::figures::{Counter, Figures, Seconds, figure};
use crate::text::label;

/// Of a machine with more processes, none is read.
const PROCESSES_MAX: usize = 4_096;

/// Most names that are remembered.
const NAMES_MAX: usize = 4_096;

/// Most programs that are new in one reading, and most of all readings.
const NEW_MAX: usize = 5;
const SHOWN_MAX: usize = 20;

/// CPUs that a program used since the last reading, from which on it is shown.
const CPUS_MIN: f64 = 0.05;

/// Most processes of a program whose CPUs are looked up.
const LOOKED_UP_MAX: usize = 16;

/// The process that all threads of the kernel descend from. Their work is that of the programs, and none of its own.
const KERNEL: (u32, &str) = (2, "kthreadd");

/// CPU time of a program since the last reading, and the numbers of its processes.
#[derive(Debug, Default)]
struct Recent {
    seconds: f64,
    processes: Vec<u32>,
}

/// What other programs use.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// Processes that are left out with their descendants.
    left_out: Vec<u32>,
    /// Those that were left out at the last reading, by their numbers and starts.
    kin: BTreeSet<(u32, u64)>,
    /// CPU time of each process at the last reading, by its number and start.
    last: BTreeMap<(u32, u64), f64>,
    /// What each program has used since the first reading.
    used: BTreeMap<String, f64>,
    /// A program that was shown once is shown to the end.
    shown: BTreeSet<String>,
    /// When it was read first, and last.
    read: Option<(Nanos, Nanos)>,
    too_many: bool,
}

impl Programs {
    /// All programs but these processes and their descendants.
    pub(crate) fn without(left_out: Vec<u32>) -> Self {
        Self { left_out, ..Self::default() }
    }

    /// Why there are no figures, if there are none.
    pub(crate) fn missing(&self) -> Option<String> {
        self.too_many
            .then(|| format!("CPU time of other programs: there are more than {PROCESSES_MAX} processes"))
    }

    /// Adds the figures of those that used most CPU time.
    pub(crate) fn read(&mut self, now: Nanos, figures: &mut Figures) {
        let all = processes();
        self.too_many = all.is_none();
        if let Some(all) = all {
            self.add(now, &all, figures);
        }
    }

    fn add(&mut self, now: Nanos, all: &[(u32, Stat)], figures: &mut Figures) {
        let recent = self.recent(all);
        let Some((first, before)) = self.read else {
            // What was used before the run does not count.
            self.read = Some((now, now));
            return;
        };
        let used_before = |name: &String| self.used.get(name).copied().unwrap_or(0.0);
        let least = CPUS_MIN * now.since(before).as_secs_f64();
        let mut busiest: Vec<&String> = recent
            .iter()
            .filter(|(name, one)| one.seconds > 0.0 && one.seconds >= least && !self.shown.contains(*name))
            .map(|(name, _)| name)
            .collect();
        busiest.sort_by(|one, other| recent[*other].seconds.total_cmp(&recent[*one].seconds));
        busiest.truncate(NEW_MAX.min(SHOWN_MAX.saturating_sub(self.shown.len())));
        let busiest: Vec<(String, f64)> =
            busiest.into_iter().map(|name| (name.clone(), used_before(name))).collect();
        for (name, used) in busiest {
            // Its counter spans the run, although it is shown only from now on.
            for (at, used) in [(first, 0.0), (before, used)] {
                figures.earlier.push((at, vec![figure("host.program.cpu", &name, Seconds, Counter, used)]));
            }
            self.shown.insert(name);
        }
        for (name, one) in &recent {
            if self.used.len() < NAMES_MAX || self.used.contains_key(name) {
                *self.used.entry(name.clone()).or_default() += one.seconds;
            }
        }
        self.read = Some((first, now));
        self.put(&recent, figures);
    }

    /// What each program has used since the last reading.
    fn recent(&mut self, all: &[(u32, Stat)]) -> BTreeMap<String, Recent> {
        let parents: Vec<(u32, u32)> = all.iter().map(|(pid, stat)| (*pid, stat.parent)).collect();
        let kernel = all.iter().any(|(pid, stat)| (*pid, stat.name.as_str()) == KERNEL).then_some(KERNEL.0);
        let roots = self.left_out.iter().copied().chain(kernel);
        let mut left_out: BTreeSet<u32> = roots.flat_map(|root| parse::descendants(root, &parents)).collect();
        // A process whose parent has ended stays left out. All that it has used would count at this reading.
        let is_orphan =
            |(pid, stat): &&(u32, Stat)| !left_out.contains(pid) && self.kin.contains(&(*pid, stat.started));
        let orphans: Vec<u32> = all.iter().filter(is_orphan).map(|(pid, _)| *pid).collect();
        left_out.extend(orphans.into_iter().flat_map(|root| parse::descendants(root, &parents)));
        let kin = all.iter().filter(|(pid, _)| left_out.contains(pid));
        self.kin = kin.map(|(pid, stat)| (*pid, stat.started)).collect();
        let tick = 1.0 / rustix::param::clock_ticks_per_second() as f64;
        let (mut recent, mut seen) = (BTreeMap::<String, Recent>::new(), BTreeMap::new());
        for (pid, stat) in all.iter().filter(|(pid, _)| !left_out.contains(pid)) {
            let cpu = (stat.user + stat.system) * tick;
            let before = self.last.get(&(*pid, stat.started)).copied().unwrap_or(0.0);
            seen.insert((*pid, stat.started), cpu);
            let one = recent.entry(label(&stat.name)).or_default();
            one.seconds += (cpu - before).max(0.0);
            one.processes.push(*pid);
        }
        self.last = seen;
        recent
    }

    fn put(&self, recent: &BTreeMap<String, Recent>, figures: &mut Figures) {
        for name in &self.shown {
            figures.put("host.program.cpu", name, Seconds, Counter, self.used.get(name).copied());
            let Some(one) = recent.get(name).filter(|one| one.seconds > 0.0) else { continue };
            let allowed: Option<Vec<BTreeSet<u32>>> =
                one.processes.iter().take(LOOKED_UP_MAX).map(|pid| allowed(*pid)).collect();
            let Some(allowed) = allowed.filter(|_| one.processes.len() <= LOOKED_UP_MAX) else { continue };
            let numbers: BTreeSet<u32> = allowed.into_iter().flatten().collect();
            let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
            figures.text("host.program.cpus", name.clone(), numbers.join(","));
        }
    }
}

/// The CPUs on which a process can run; `None` if they are unknown.
fn allowed(pid: u32) -> Option<BTreeSet<u32>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(parse::cpus(&status)).filter(|cpus| !cpus.is_empty())
}

/// Every process of this machine; `None` if there are too many.
fn processes() -> Option<Vec<(u32, Stat)>> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let numbers: Vec<u32> = numbers.take(PROCESSES_MAX + 1).collect();
    if numbers.len() > PROCESSES_MAX {
        return None;
    }
    let read = |pid: u32| Some((pid, stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?));
    Some(numbers.into_iter().filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    /// A process with this parent that has used so many seconds.
    fn process(pid: u32, parent: u32, name: &str, seconds: f64) -> (u32, Stat) {
        let ticks = seconds * rustix::param::clock_ticks_per_second() as f64;
        let name = name.to_owned();
        let stat = Stat { name, state: 'R', parent, major_faults: 0.0, user: ticks, system: 0.0, started: 7 };
        (pid, stat)
    }

    /// What is shown after readings at 0 s, 1 s, and so on.
    fn after(programs: &mut Programs, readings: &[Vec<(u32, Stat)>]) -> Figures {
        let mut figures = Figures::default();
        for (second, reading) in readings.iter().enumerate() {
            figures = Figures::default();
            programs.add(Nanos::from_secs(second as u64), reading, &mut figures);
        }
        figures
    }

    #[test]
    fn programs_that_use_cpu_time_beside_the_service_are_counted_by_their_names() {
        let reading = |cc: [f64; 2], sleeper: f64| {
            vec![
                process(11, 1, "cc", cc[0]),
                process(12, 11, "cc", cc[1]),
                process(13, 1, "sleeper", sleeper),
            ]
        };
        let mut programs = Programs::without(vec![99]);
        let first = [reading([5.0, 0.0], 3.0), reading([5.5, 0.2], 3.01)];
        let figures = after(&mut programs, &first);
        assert!((figures.value("host.program.cpu", "cc").unwrap() - 0.7).abs() < 1e-9);
        assert_eq!(figures.value("host.program.cpu", "sleeper"), None, "it used 1 % of a CPU");
        let cc = |value| vec![figure("host.program.cpu", "cc", Seconds, Counter, value)];
        assert_eq!(figures.earlier, [(Nanos::ZERO, cc(0.0)), (Nanos::ZERO, cc(0.0))]);
        let mut figures = Figures::default();
        programs.add(SECOND + SECOND, &reading([6.0, 0.2], 3.9), &mut figures);
        assert!((figures.value("host.program.cpu", "cc").unwrap() - 1.2).abs() < 1e-9);
        assert!((figures.value("host.program.cpu", "sleeper").unwrap() - 0.9).abs() < 1e-9);
        assert_eq!(figures.earlier.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [Nanos::ZERO, SECOND]);
    }

    #[test]
    fn what_is_observed_what_knee_started_and_the_kernel_are_no_other_programs() {
        let reading = |seconds: f64| {
            vec![
                process(2, 0, "kthreadd", 0.0),
                process(5, 2, "kworker/0:1", seconds),
                process(20, 1, "knee", seconds),
                process(21, 20, "python3", seconds),
                process(22, 21, "cc", seconds),
                process(30, 1, "shop", seconds),
            ]
        };
        let mut programs = Programs::without(vec![20, 30]);
        let figures = after(&mut programs, &[reading(0.0), reading(0.9)]);
        assert!(figures.now.is_empty() && figures.earlier.is_empty(), "{figures:?}");
        // In a container, the number of the kernel's process belongs to any program.
        let program = |seconds: f64| vec![process(2, 1, "batch", seconds)];
        let figures = after(&mut Programs::without(Vec::new()), &[program(0.0), program(0.9)]);
        assert!(figures.value("host.program.cpu", "batch").is_some());
    }

    #[test]
    fn what_knee_started_is_no_other_program_after_its_parent_has_ended() {
        let shell = process(21, 20, "sh", 0.0);
        let service = |parent: u32, seconds: f64| process(22, parent, "shop", seconds);
        let readings = [vec![shell, service(21, 50.0)], vec![service(1, 50.9)], vec![service(1, 51.8)]];
        let figures = after(&mut Programs::without(vec![20]), &readings);
        assert!(figures.now.is_empty() && figures.earlier.is_empty(), "{figures:?}");
    }

    #[test]
    fn at_most_five_programs_are_new_at_a_time_and_twenty_in_all() {
        let reading = |seconds: f64| -> Vec<(u32, Stat)> {
            (0..40)
                .map(|pid| process(100 + pid, 1, &format!("job{pid}"), seconds * f64::from(pid + 1)))
                .collect()
        };
        let mut programs = Programs::default();
        after(&mut programs, &[reading(0.0), reading(0.5)]);
        assert_eq!(programs.shown.len(), NEW_MAX);
        assert!(programs.shown.contains("job39") && !programs.shown.contains("job34"));
        for second in 2..10 {
            programs.add(Nanos::from_secs(second), &reading(second as f64), &mut Figures::default());
        }
        assert_eq!(programs.shown.len(), SHOWN_MAX);
    }

    #[test]
    fn a_new_process_with_the_number_of_an_ended_one_begins_at_zero() {
        let mut programs = Programs::default();
        let (pid, mut next) = process(7, 1, "cc", 0.5);
        next.started = 8;
        let figures = after(&mut programs, &[vec![process(7, 1, "cc", 90.0)], vec![(pid, next)]]);
        assert_eq!(figures.value("host.program.cpu", "cc"), Some(0.5));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_of_this_machine_that_computes_is_seen_with_the_cpus_on_which_it_can_run() {
        let own = stat(&fs::read_to_string("/proc/self/stat").unwrap()).unwrap();
        let mut programs = Programs::default();
        programs.read(Nanos::ZERO, &mut Figures::default());
        let ticks = || {
            let now = stat(&fs::read_to_string("/proc/self/stat").unwrap()).unwrap();
            now.user + now.system
        };
        while ticks() < own.user + own.system + 3.0 {
            std::hint::spin_loop();
        }
        let mut figures = Figures::default();
        programs.read(Nanos::from_millis(100), &mut figures);
        let name = label(&own.name);
        assert!(figures.value("host.program.cpu", &name).unwrap() > 0.0);
        let cpus = figures.texts.iter().find(|(text, of, _)| *text == "host.program.cpus" && *of == name);
        assert!(cpus.is_some_and(|(_, _, numbers)| !numbers.is_empty()), "{:?}", figures.texts);
    }
}
