//! A process with its threads and descendants, from `/proc/PID` and its cgroup.
//!
//! Adds the figures of all processes together, so that counters do not fall when a descendant ends. [`parse`]
//! understands the texts, [`cgroup`] finds the limits, [`crate::calls`] looks at the connections that they opened,
//! [`programs`] says what all others use. Never reads arguments or variables of a process: they contain secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use knee_core::observation::FigureUnit;
use knee_core::unit::Nanos;

use crate::calls::Calls;
use crate::figures::{Bytes, Count, Counter, Figures, Gauge, Seconds, Share};
use crate::host::parse::{kibibytes, word};
use crate::sampler::{About, Depth, Sampler, Unreadable};
use crate::text::label;

mod cgroup;
mod parse;
pub(crate) mod programs;
pub(crate) mod tree;

use parse::stat;
use tree::{PROCESSES_MAX, THREADS_MAX, family, identity, running};

/// How often its connections are looked at.
const LOOK_PACE: Duration = Duration::from_millis(100);

/// Most threads that are reported.
const BUSY_THREADS_MAX: usize = 64;

/// Counters of one process or of all, in the order of [`COUNTERS`].
type Counts = [f64; 10];

/// The counters that are added over all processes.
const COUNTERS: [(&str, FigureUnit); 10] = [
    ("process.cpu.user", Seconds),
    ("process.cpu.system", Seconds),
    ("process.faults.major", Count),
    ("process.io.read_chars", Bytes),
    ("process.io.write_chars", Bytes),
    ("process.io.read_calls", Count),
    ("process.io.write_calls", Count),
    ("process.io.read_bytes", Bytes),
    ("process.io.write_bytes", Bytes),
    ("process.run_delay", Seconds),
];

/// What was seen of one thread.
#[derive(Clone, Debug)]
struct Thread {
    label: String,
    cpu: f64,
    /// CPU time when it was seen first.
    first: f64,
    switches: [f64; 2],
}

/// A process with its descendants.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    /// When it was started, so that another process with its number is noticed.
    started: Option<u64>,
    name: String,
    /// What each process had counted at the last reading, by its number and start.
    last: BTreeMap<(u32, u64), Counts>,
    /// What all processes have counted, those that ended included.
    sums: Counts,
    /// Which of the sums are known.
    known: [bool; 10],
    threads: BTreeMap<(u32, u32), Thread>,
    switches: [f64; 2],
    /// Threads that were reported once are reported until they end.
    shown: BTreeSet<(u32, u32)>,
    left_out: u64,
    hidden_io: bool,
    /// What it asks of other services.
    calls: Calls,
}

impl Process {
    /// The process with this number.
    pub(crate) fn new(pid: u32) -> Self {
        Self {
            pid,
            started: None,
            name: format!("pid {pid}"),
            last: BTreeMap::new(),
            sums: [0.0; 10],
            known: [false; 10],
            threads: BTreeMap::new(),
            switches: [0.0; 2],
            shown: BTreeSet::new(),
            left_out: 0,
            hidden_io: false,
            calls: Calls::default(),
        }
    }
}

impl Sampler for Process {
    fn connect(&mut self) -> Result<(), Unreadable> {
        let (name, started) = identity(self.pid, None)?;
        (self.name, self.started) = (name, Some(started));
        self.calls.begin(self.pid);
        Ok(())
    }

    fn look_pace(&self, _planned: Option<Nanos>) -> Option<Duration> {
        Some(LOOK_PACE)
    }

    fn look(&mut self) -> Result<(), Unreadable> {
        self.calls.look(self.pid);
        Ok(())
    }

    fn read(&mut self, _: Nanos, _: Depth, figures: &mut Figures) -> Result<(), Unreadable> {
        running(self.pid, self.started)?;
        let family = family(self.pid);
        self.left_out = family.len().saturating_sub(PROCESSES_MAX) as u64;
        let mut levels = Levels::default();
        let mut threads = BTreeMap::new();
        let mut seen = BTreeMap::new();
        for pid in family.iter().take(PROCESSES_MAX) {
            let Some((started, counts)) = self.read_process(*pid, &mut levels, figures) else { continue };
            seen.insert((*pid, started), counts);
            read_threads(*pid, &mut threads, &mut levels);
        }
        if seen.is_empty() {
            return Err(Unreadable("the process has ended".to_owned()));
        }
        self.add(seen);
        for (place, (name, unit)) in COUNTERS.into_iter().enumerate() {
            if self.known[place] {
                figures.counter(name, unit, self.sums[place]);
            }
        }
        self.add_threads(threads, figures);
        levels.put(figures);
        cgroup::put(self.pid, figures);
        self.calls.take(figures);
        Ok(())
    }

    fn about(&self) -> About {
        let hidden =
            self.hidden_io.then(|| "bytes and calls: only its user and root can read them".to_owned());
        About {
            name: Some(self.name.clone()),
            without: hidden.into_iter().chain(self.calls.without()).collect(),
            left_out: self.left_out,
            ..About::default()
        }
    }
}

impl Process {
    fn read_process(
        &mut self,
        pid: u32,
        levels: &mut Levels,
        figures: &mut Figures,
    ) -> Option<(u64, Counts)> {
        let folder = format!("/proc/{pid}");
        let read = |file: &str| fs::read_to_string(format!("{folder}/{file}")).ok();
        let stat = stat(&read("stat")?)?;
        let tick = 1.0 / rustix::param::clock_ticks_per_second() as f64;
        let (io, status) = (read("io"), read("status").unwrap_or_default());
        self.hidden_io |= io.is_none();
        let of_io = |name: &str| io.as_deref().and_then(|io| word(io, name));
        let counts = [
            Some(stat.user * tick),
            Some(stat.system * tick),
            Some(stat.major_faults),
            of_io("rchar"),
            of_io("wchar"),
            of_io("syscr"),
            of_io("syscw"),
            of_io("read_bytes"),
            of_io("write_bytes"),
            run_delay(Path::new(&folder)),
        ];
        for (known, count) in self.known.iter_mut().zip(&counts) {
            *known |= count.is_some();
        }
        levels.processes += 1.0;
        levels.cpus.extend(parse::cpus(&status));
        levels.resident += kibibytes(&status, "VmRSS").unwrap_or(0.0);
        levels.swap += kibibytes(&status, "VmSwap").unwrap_or(0.0);
        if let Ok(descriptors) = fs::read_dir(format!("{folder}/fd")) {
            let open = descriptors.count() as f64;
            let limit = read("limits").and_then(|limits| parse::descriptors_max(&limits));
            let share = limit.filter(|limit| *limit > 0.0).map_or(0.0, |limit| open / limit);
            levels.descriptors = Some(levels.descriptors.unwrap_or(0.0) + open);
            levels.descriptors_share = levels.descriptors_share.max(share);
        }
        levels.outputs.extend([1, 2].iter().filter_map(|stream| output(&folder, *stream)));
        figures.text("process.command", pid.to_string(), label(&stat.name));
        Some((stat.started, counts.map(|count| count.unwrap_or(0.0))))
    }

    /// Adds what the processes have counted since the last reading.
    fn add(&mut self, seen: BTreeMap<(u32, u64), Counts>) {
        for (process, counts) in &seen {
            let before = self.last.get(process).copied().unwrap_or_default();
            for ((sum, count), before) in self.sums.iter_mut().zip(counts).zip(before) {
                // What threads had counted that ended is missing in some counters.
                *sum += (count - before).max(0.0);
            }
        }
        self.last = seen;
    }

    fn add_threads(&mut self, threads: BTreeMap<(u32, u32), Thread>, figures: &mut Figures) {
        for (id, thread) in &threads {
            let known = self.threads.get(id);
            for (place, sum) in self.switches.iter_mut().enumerate() {
                let before = known.map_or(0.0, |known| known.switches[place]);
                *sum += (thread.switches[place] - before).max(0.0);
            }
        }
        let kept = threads.into_iter().map(|(id, mut thread)| {
            thread.first = self.threads.get(&id).map_or(thread.first, |known| known.first);
            (id, thread)
        });
        self.threads = kept.collect();
        figures.counter("process.switches.voluntary", Count, self.switches[0]);
        figures.counter("process.switches.involuntary", Count, self.switches[1]);
        let mut busiest: Vec<_> =
            self.threads.iter().map(|(id, thread)| (*id, thread.cpu - thread.first)).collect();
        busiest.sort_by(|one, other| other.1.total_cmp(&one.1));
        // While there is room, all are shown from the start on; later ones only if they are busy.
        let room = BUSY_THREADS_MAX.saturating_sub(self.shown.len());
        let new = busiest.into_iter().map(|(id, _)| id).filter(|id| !self.shown.contains(id)).take(room);
        let new: Vec<_> = new.collect();
        self.shown.extend(new);
        for id in &self.shown {
            let Some(thread) = self.threads.get(id) else { continue };
            figures.put("process.thread.cpu", &thread.label, Seconds, Counter, thread.cpu);
        }
    }
}

/// Levels of all processes together.
#[derive(Debug, Default)]
struct Levels {
    processes: f64,
    cpus: BTreeSet<u32>,
    resident: f64,
    swap: f64,
    descriptors: Option<f64>,
    descriptors_share: f64,
    threads: f64,
    states: BTreeMap<&'static str, f64>,
    waiting: BTreeMap<String, f64>,
    /// Sizes of the files behind stdout and stderr, by device and number; processes can share one.
    outputs: BTreeMap<(u64, u64), u64>,
}

impl Levels {
    fn put(self, figures: &mut Figures) {
        figures.gauge("process.count", Count, self.processes);
        figures.gauge("process.threads", Count, self.threads);
        let cpus = (!self.cpus.is_empty()).then_some(self.cpus.len() as f64);
        figures.gauge("process.cpus", Count, cpus);
        if !self.cpus.is_empty() {
            let numbers: Vec<String> = self.cpus.iter().map(u32::to_string).collect();
            figures.text("process.cpus.allowed", "", numbers.join(","));
        }
        figures.gauge("process.memory.resident", Bytes, self.resident);
        figures.gauge("process.memory.swap", Bytes, self.swap);
        figures.gauge("process.descriptors", Count, self.descriptors);
        let share = self.descriptors.map(|_| self.descriptors_share);
        figures.gauge("process.descriptors.share", Share, share);
        for state in ["running", "sleeping", "disk", "other"] {
            let threads = self.states.get(state).copied().unwrap_or(0.0);
            figures.put("process.threads.state", state, Count, Gauge, threads);
        }
        for (function, threads) in &self.waiting {
            figures.put("process.threads.waiting", function, Count, Gauge, *threads);
        }
        if !self.outputs.is_empty() {
            let bytes = self.outputs.values().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
            figures.counter("process.output_bytes", Bytes, bytes as f64);
        }
    }
}

/// The file behind stdout (1) or stderr (2) of a process, and its size; `None` for pipes, terminals and devices.
fn output(folder: &str, stream: u8) -> Option<((u64, u64), u64)> {
    let file = fs::metadata(format!("{folder}/fd/{stream}")).ok().filter(Metadata::is_file)?;
    Some(((file.dev(), file.ino()), file.len()))
}

fn read_threads(pid: u32, threads: &mut BTreeMap<(u32, u32), Thread>, levels: &mut Levels) {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return };
    let tick = 1.0 / rustix::param::clock_ticks_per_second() as f64;
    for entry in entries.flatten() {
        let Some(tid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        levels.threads += 1.0;
        if threads.len() == THREADS_MAX {
            continue;
        }
        let read = |file: &str| fs::read_to_string(entry.path().join(file)).ok();
        let Some(stat) = read("stat").and_then(|text| stat(&text)) else { continue };
        *levels.states.entry(parse::state_name(stat.state)).or_insert(0.0) += 1.0;
        let waiting = read("wchan").filter(|name| stat.state != 'R' && !name.is_empty() && name != "0");
        if let Some(function) = waiting {
            *levels.waiting.entry(label(&function)).or_insert(0.0) += 1.0;
        }
        let cpu = (stat.user + stat.system) * tick;
        let status = read("status").unwrap_or_default();
        let switches = ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"];
        let switches = switches.map(|name| word(&status, name).unwrap_or(0.0));
        let label = format!("{pid}/{tid} {}", label(&stat.name));
        threads.insert((pid, tid), Thread { label, cpu, first: cpu, switches });
    }
}

/// Time that a process waited for a CPU, of all its threads. `/proc/PID/schedstat` has only that of its first thread.
fn run_delay(folder: &Path) -> Option<f64> {
    let entries = fs::read_dir(folder.join("task")).ok()?;
    let delays = entries
        .flatten()
        .take(THREADS_MAX)
        .filter_map(|entry| parse::run_delay(&fs::read_to_string(entry.path().join("schedstat")).ok()?));
    delays.reduce(|sum, delay| sum + delay)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_read_with_its_children_until_it_ends() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 100 & sleep 100 & echo ready; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(shell.stdout.take().unwrap()), &mut line)
            .unwrap();
        let pid = shell.id();
        let mut process = Process::new(pid);
        process.connect().unwrap();
        let mut figures = Figures::default();
        process.read(Nanos::ZERO, Depth::Whole, &mut figures).unwrap();
        assert_eq!(figures.value("process.count", ""), Some(3.0));
        assert!(figures.value("process.memory.resident", "").unwrap() > 1e5);
        assert!(process.about().name.unwrap().ends_with(&format!("(pid {pid})")));
        let family = family(pid);
        for child in &family {
            let child = rustix::process::Pid::from_raw(child.cast_signed()).unwrap();
            rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
        let error = process.read(Nanos::ZERO, Depth::Whole, &mut Figures::default()).unwrap_err();
        assert_eq!(error.to_string(), "there is no such process");
    }

    #[test]
    fn bytes_are_counted_that_a_process_writes_to_the_file_behind_its_output() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let (out, errors) = (log.reopen().unwrap(), log.reopen().unwrap());
        let mut shell = Command::new("sh")
            .args(["-c", "echo twelve bytes; exec sleep 100"])
            .stdout(out)
            .stderr(errors)
            .spawn()
            .unwrap();
        let written = || log.as_file().metadata().unwrap().len();
        while written() < 13 {
            std::thread::yield_now();
        }
        let mut process = Process::new(shell.id());
        process.connect().unwrap();
        let mut figures = Figures::default();
        process.read(Nanos::ZERO, Depth::Whole, &mut figures).unwrap();
        assert_eq!(
            figures.value("process.output_bytes", ""),
            Some(13.0),
            "a file that both share counts once"
        );
        shell.kill().unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn what_a_process_had_counted_stays_when_it_ends() {
        let mut process = Process::new(1);
        let counts = |value: f64| [value; 10];
        process.add(BTreeMap::from([((1, 7), counts(1.0)), ((2, 8), counts(5.0))]));
        process.add(BTreeMap::from([((1, 7), counts(2.0))]));
        process.add(BTreeMap::from([((1, 7), counts(2.0)), ((2, 9), counts(3.0))]));
        assert_eq!(process.sums.map(|sum| sum as u64), [10; 10], "1 and 5, 1 more, and 3 of a new process");
    }
}
