//! Samples of a process with its threads and descendants, by perf events of Linux.
//!
//! The kernel takes a sample of each thread per hundredth of a second of CPU time, and of every so many-th system call, and
//! keeps them in rings. [`events`] empties these, [`names`] finds the function at an address, and [`largest`] decides which
//! functions are reported. [`budget`] bounds the descriptors, [`busiest`] finds the threads that get them. Stacks are not
//! read: a function has the time in which it ran itself.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::time::Duration;

use knee_core::unit::Nanos;

use crate::figures::{Count, Counter, Figures};
use crate::process::tree::{family, identity};
use crate::sampler::{About, Depth, Sampler, Unreadable};

mod budget;
mod busiest;
mod compiled;
mod elf;
mod events;
mod kernel;
mod largest;
mod names;
mod parse;
mod readable;
mod syscalls;

use events::{CALLS_PERIOD, Samples, Threads};
use largest::Largest;
use names::Names;

/// How often rings are emptied and new threads are looked for. A thread that lives for less is missed.
const LOOK_PACE: Duration = Duration::from_millis(200);

/// Most processes of a tree that are sampled.
const PROCESSES_MAX: usize = 64;

/// A process whose threads are sampled.
pub(crate) struct Profile {
    pid: u32,
    /// When it was started, so that another process with its number is noticed.
    started: Option<u64>,
    name: String,
    /// The process and its descendants, as of the last reading.
    pids: Vec<u32>,
    threads: Option<Threads>,
    names: Names,
    samples: Samples,
    functions: Largest,
    modules: Largest,
    /// System calls by kind, as far as samples tell.
    calls: BTreeMap<&'static str, u64>,
    lost: u64,
    /// When it was read last.
    last: Option<Nanos>,
}

impl Profile {
    /// The process with this number.
    pub(crate) fn new(pid: u32) -> Self {
        Self {
            pid,
            started: None,
            name: format!("pid {pid}"),
            pids: Vec::new(),
            threads: None,
            names: Names::default(),
            samples: Samples::default(),
            functions: Largest::default(),
            modules: Largest::default(),
            calls: BTreeMap::new(),
            lost: 0,
            last: None,
        }
    }

    fn find_family(&mut self) {
        self.pids = family(self.pid);
        self.pids.truncate(PROCESSES_MAX);
    }

    /// Gives what was sampled to the counters.
    fn count(&mut self) {
        let Samples { spots, calls, lost } = mem::take(&mut self.samples);
        let pids: BTreeSet<u32> =
            self.pids.iter().copied().chain(spots.keys().map(|spot| spot.pid)).collect();
        self.names.begin(&pids);
        let (mut functions, mut modules) = (BTreeMap::new(), BTreeMap::new());
        for (spot, count) in spots {
            let named = self.names.of(spot);
            *functions.entry(named.function).or_insert(0) += count;
            *modules.entry(named.module).or_insert(0) += count;
        }
        self.functions.add(functions);
        self.modules.add(modules);
        for (number, count) in calls {
            *self.calls.entry(syscalls::kind(number)).or_default() += count * CALLS_PERIOD;
        }
        self.lost += lost;
    }
}

impl Sampler for Profile {
    fn connect(&mut self) -> Result<(), Unreadable> {
        let (name, started) = identity(self.pid, None)?;
        (self.name, self.started) = (name, Some(started));
        self.find_family();
        let threads = Threads::open(&self.pids).map_err(Unreadable)?;
        self.names = Names::read(&self.pids, threads.sees_kernel());
        self.threads = Some(threads);
        Ok(())
    }

    fn look_pace(&self, _planned: Option<Nanos>) -> Option<Duration> {
        Some(LOOK_PACE)
    }

    fn look(&mut self) -> Result<(), Unreadable> {
        if let Some(threads) = &mut self.threads {
            threads.look(&self.pids, &mut self.samples);
        }
        Ok(())
    }

    fn read(&mut self, now: Nanos, _: Depth, figures: &mut Figures) -> Result<(), Unreadable> {
        identity(self.pid, self.started)?;
        self.find_family();
        self.look()?;
        self.count();
        self.functions.put("profile.samples", self.last, figures);
        self.modules.put("profile.modules", self.last, figures);
        let Some(threads) = &self.threads else { return Ok(()) };
        if threads.sees_calls() {
            for kind in syscalls::KINDS {
                let calls = self.calls.get(kind).copied().unwrap_or_default();
                figures.put("profile.syscalls", kind, Count, Counter, calls as f64);
            }
        }
        figures.counter("profile.lost", Count, self.lost as f64);
        figures.gauge("profile.threads", Count, threads.count() as f64);
        self.last = Some(now);
        Ok(())
    }

    fn about(&self) -> About {
        let mut without = Vec::new();
        if let Some(threads) = &self.threads {
            without.extend(threads.without());
            without.extend(self.names.without(threads.sees_kernel()));
        }
        if self.lost > 0 {
            without.push("some samples: the rings of the kernel were full (`profile.lost`)".to_owned());
        }
        About { name: Some(format!("profile of {}", self.name)), without, ..About::default() }
    }

    fn disconnect(&mut self) {
        self.threads = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Burns CPU time, and calls nothing: without optimizations, an iterator would have most of the time.
    #[inline(never)]
    fn burn_for_the_profile(rounds: u64) -> u64 {
        let (mut sum, mut round) = (7_u64, 0_u64);
        while round < rounds {
            sum = (sum << 5) ^ (sum >> 3) ^ round;
            round += 1;
        }
        sum
    }

    /// The counters of a name, the largest first.
    fn largest<'f>(figures: &'f Figures, name: &str) -> Vec<(&'f str, f64)> {
        let ours = figures.now.iter().filter(|figure| figure.name == name);
        let mut ours: Vec<(&str, f64)> = ours.map(|figure| (figure.label.as_str(), figure.value)).collect();
        ours.sort_by(|one, other| other.1.total_cmp(&one.1));
        ours
    }

    #[test]
    fn the_function_that_burns_the_time_of_a_process_is_named_also_in_a_thread_that_began_later() {
        let mut profile = Profile::new(std::process::id());
        if let Err(Unreadable(reason)) = profile.connect() {
            return println!("skipped: {reason}");
        }
        profile.read(Nanos::ZERO, Depth::Whole, &mut Figures::default()).unwrap();
        let worker = std::thread::spawn(|| burn_for_the_profile(std::hint::black_box(500_000_000)));
        let mut figures = Figures::default();
        while !worker.is_finished() {
            std::thread::sleep(Duration::from_millis(50));
            profile.look().unwrap();
        }
        profile.read(Nanos::from_secs(1), Depth::Whole, &mut figures).unwrap();
        std::hint::black_box(worker.join().unwrap());
        // Other tests run in this process, too, each of them in some function.
        let functions = largest(&figures, "profile.samples");
        let burning = functions.iter().find(|(function, _)| function.ends_with("::burn_for_the_profile"));
        assert!(burning.is_some_and(|(_, samples)| *samples >= 20.0), "{functions:?}");
        let modules = largest(&figures, "profile.modules");
        let own = modules.iter().find(|(module, _)| module.starts_with("knee_observe"));
        assert!(own.is_some_and(|(_, samples)| *samples >= 20.0), "{modules:?}");
        assert_eq!(figures.value("profile.lost", ""), Some(0.0));
        assert!(profile.about().name.unwrap().starts_with("profile of "));
        assert_eq!(figures.earlier.first().map(|(at, _)| *at), Some(Nanos::ZERO), "new ones begin at zero");
    }

    #[test]
    fn a_process_that_is_not_there_is_refused() {
        let error = Profile::new(4_194_305).connect().unwrap_err();
        assert_eq!(error.to_string(), "there is no such process");
    }
}
