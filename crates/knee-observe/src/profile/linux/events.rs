//! Perf events of the threads of a process: samples of where they run, and of the system calls that they make.
//!
//! Each thread has its own events with a ring of its own: rings cannot be shared with threads that are started later, so
//! new threads are looked for. An event is an open descriptor: of more threads than [`Budget`] has room for, the busiest
//! are sampled. Does not know what is at an address.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use perf_event::events::{Software, Tracepoint};
use perf_event::{Builder, SampleFlag, Sampler as Ring};

use super::budget::Budget;
use super::busiest::{Busiest, PERIOD};
use super::parse::field_offset;

/// A sample is taken of every so many-th system call of a thread. A prime, so that a server that makes the same few calls
/// for each request is not always seen at the same one.
pub(super) const CALLS_PERIOD: u64 = 499;

/// Most threads that are sampled.
const THREADS_MAX: usize = 256;

/// Once in so many looks, that is once per second, it is found out which threads are the busiest.
const LOOKS_PER_CHOICE: u64 = 5;

/// Most threads whose events are refused, before the others wait for the next look.
const REFUSED_MAX: usize = 16;

/// Bytes of a ring: 500 samples of a place, or 100 of a system call.
const RING: usize = 8_192;

/// Most records that are taken from a ring at once, so that one that fills as fast as it is read has an end.
const RECORDS_MAX: usize = 4_096;

/// Most places that wait for their names.
const SPOTS_MAX: usize = 100_000;

/// Kinds of records, and the part of their flags that says in which mode the CPU was.
const SAMPLE: u32 = 9;
const LOST: u32 = 2;
const MODE: u16 = 7;
const KERNEL: u16 = 1;

/// `ESRCH`, and `EPERM`.
const NO_SUCH_THREAD: i32 = 3;
const NOT_PERMITTED: i32 = 1;

/// Where the kernel describes its trace events.
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Where a thread ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) pid: u32,
    pub(super) in_kernel: bool,
    pub(super) address: u64,
}

/// What was sampled since the last reading.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) spots: BTreeMap<Spot, u64>,
    /// Samples of system calls by their numbers.
    pub(super) calls: BTreeMap<i64, u64>,
    /// Samples that found no room in a ring, or here.
    pub(super) lost: u64,
}

/// The trace event of system calls, and where their number is in its data.
#[derive(Clone, Copy, Debug)]
struct Calls {
    event: Tracepoint,
    offset: usize,
}

/// The events of one thread.
struct Thread {
    pid: u32,
    clock: Ring,
    calls: Option<Ring>,
}

/// The events of all threads.
pub(super) struct Threads {
    open: BTreeMap<u32, Thread>,
    /// Whether time in the kernel is sampled, too.
    in_kernel: bool,
    calls: Result<Calls, String>,
    /// Threads at most.
    most: usize,
    looks: u64,
    busiest: Busiest,
    /// Threads that could not be sampled at the last look, and why one of them could not.
    left_out: usize,
    refused: Option<String>,
}

impl Threads {
    /// Opens the events of the threads of these processes.
    ///
    /// # Errors
    /// If those of the first thread are refused: why.
    pub(super) fn open(pids: &[u32]) -> Result<Self, String> {
        let first = pids.first().copied().unwrap_or_default();
        let in_kernel = match clock(first, true) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                clock(first, false).map_err(|error| reason(&error))?;
                false
            }
            Err(error) => return Err(reason(&error)),
        };
        let calls =
            Calls::find().and_then(|calls| calls.ring(first).map(|_| calls).map_err(|error| reason(&error)));
        let mut threads = Self {
            open: BTreeMap::new(),
            in_kernel,
            calls,
            most: THREADS_MAX,
            looks: 0,
            busiest: Busiest::default(),
            left_out: 0,
            refused: None,
        };
        threads.look(pids, &mut Samples::default());
        Ok(threads)
    }

    /// Takes the samples of all threads, forgets those that ended, and opens the events of new ones. If there are more
    /// threads than room, the busiest have it.
    pub(super) fn look(&mut self, pids: &[u32], samples: &mut Samples) {
        for thread in self.open.values_mut() {
            thread.drain(self.calls.as_ref().ok(), samples);
        }
        let alive: Vec<(u32, u32)> = pids.iter().flat_map(|pid| tasks(*pid)).collect();
        let ids: BTreeSet<u32> = alive.iter().map(|(_, thread)| *thread).collect();
        self.open.retain(|thread, _| ids.contains(thread));
        let room = self.room();
        let is_due = self.looks.is_multiple_of(LOOKS_PER_CHOICE);
        self.looks += 1;
        let mut wanted = alive.clone();
        if alive.len() > room && is_due {
            let open = &self.open;
            let chosen = self.busiest.choose(&alive, room, |thread| open.contains_key(&thread));
            self.open.retain(|thread, _| chosen.contains(thread));
            wanted.retain(|(_, thread)| chosen.contains(thread));
        }
        wanted.retain(|(_, thread)| !self.open.contains_key(thread));
        self.left_out = alive.len().saturating_sub(self.open.len());
        self.open_all(&wanted, room);
    }

    /// Opens the events of these threads, as far as there is room.
    fn open_all(&mut self, wanted: &[(u32, u32)], room: usize) {
        self.refused = None;
        let mut refused = 0;
        for (pid, thread) in wanted {
            if self.open.len() >= room || refused == REFUSED_MAX {
                return;
            }
            match Thread::open(*pid, *thread, self.in_kernel, self.calls.as_ref().ok()) {
                Ok(opened) => {
                    self.open.insert(*thread, opened);
                    self.left_out = self.left_out.saturating_sub(1);
                }
                // It has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(NO_SUCH_THREAD) => {
                    self.left_out = self.left_out.saturating_sub(1);
                }
                Err(error) => {
                    refused += 1;
                    self.refused = Some(reason_of_more(&error, self.open.len()));
                }
            }
        }
    }

    /// How many threads can be sampled.
    fn room(&self) -> usize {
        let events = if self.calls.is_ok() { 2 } else { 1 };
        self.most.min(Budget::now().events / events)
    }

    /// How many threads are sampled.
    pub(super) fn count(&self) -> usize {
        self.open.len()
    }

    /// Whether time in the kernel is sampled.
    pub(super) const fn sees_kernel(&self) -> bool {
        self.in_kernel
    }

    /// Whether system calls are sampled.
    pub(super) const fn sees_calls(&self) -> bool {
        self.calls.is_ok()
    }

    /// What is not sampled, in words.
    pub(super) fn without(&self) -> Vec<String> {
        let mut without = Vec::new();
        if !self.in_kernel {
            without.push(format!("time in the kernel: {}, and knee runs without CAP_PERFMON", paranoid()));
        }
        if let Err(reason) = &self.calls {
            without.push(format!("system calls: {reason}"));
        }
        match &self.refused {
            _ if self.left_out == 0 => {}
            Some(reason) => without.push(format!("some threads: {reason}")),
            None => without.push(self.crowded()),
        }
        without
    }

    /// Which threads are sampled if there are more than room, in words.
    fn crowded(&self) -> String {
        let (room, limit) = (self.room(), Budget::now().limit);
        let words = format!("some threads: only the {room} busiest are sampled");
        match limit.filter(|_| room < self.most) {
            Some(limit) => format!(
                "{words}, because the load generator can have {limit} descriptors (`ulimit -Hn`) and needs \
                 them for connections"
            ),
            None => words,
        }
    }
}

impl Thread {
    fn open(pid: u32, thread: u32, in_kernel: bool, calls: Option<&Calls>) -> io::Result<Self> {
        let clock = clock(thread, in_kernel)?;
        let calls = calls.map(|calls| calls.ring(thread)).transpose()?;
        Ok(Self { pid, clock, calls })
    }

    fn drain(&mut self, calls: Option<&Calls>, samples: &mut Samples) {
        let pid = self.pid;
        for_each_record(&mut self.clock, |kind, flags, bytes| match kind {
            SAMPLE => samples.add(pid, flags, bytes),
            LOST => samples.lost += number(bytes, 8).unwrap_or(0),
            _ => {}
        });
        let Some((ring, calls)) = self.calls.as_mut().zip(calls) else { return };
        for_each_record(ring, |kind, _, bytes| match kind {
            SAMPLE => samples.add_call(calls.offset, bytes),
            LOST => samples.lost += number(bytes, 8).unwrap_or(0),
            _ => {}
        });
    }
}

impl Samples {
    /// Adds a sample that consists of an address.
    fn add(&mut self, pid: u32, flags: u16, bytes: &[u8]) {
        let Some(address) = number(bytes, 0) else { return };
        let spot = Spot { pid, in_kernel: flags & MODE == KERNEL, address };
        if self.spots.len() < SPOTS_MAX || self.spots.contains_key(&spot) {
            *self.spots.entry(spot).or_default() += 1;
        } else {
            self.lost += 1;
        }
    }

    /// Adds a sample that consists of the size and the data of a trace event.
    fn add_call(&mut self, offset: usize, bytes: &[u8]) {
        let Some(call) = number(bytes, 4 + offset) else { return };
        // There are fewer calls than this, but programs can pass any number.
        if self.calls.len() < 1_024 || self.calls.contains_key(&call.cast_signed()) {
            *self.calls.entry(call.cast_signed()).or_default() += 1;
        }
    }
}

impl Calls {
    fn find() -> Result<Self, String> {
        let files = TRACING.map(described);
        let mut errors = files.iter().filter_map(|file| file.as_ref().err());
        let is_denied = errors.any(|error| error.kind() == io::ErrorKind::PermissionDenied);
        let Some((id, format)) = files.into_iter().flatten().next() else {
            let reason = if is_denied {
                "only root can read /sys/kernel/tracing"
            } else {
                "/sys/kernel/tracing is not mounted (`mount -t tracefs tracefs /sys/kernel/tracing`)"
            };
            return Err(reason.to_owned());
        };
        let unknown = || "the kernel describes them in a way that is not known here".to_owned();
        let id = id.trim().parse::<u64>().map_err(|_| unknown())?;
        let offset = field_offset(&format, "id").ok_or_else(unknown)?;
        Ok(Self { event: Tracepoint::with_id(id), offset })
    }

    fn ring(&self, thread: u32) -> io::Result<Ring> {
        let mut builder = Builder::new(self.event);
        builder
            .observe_pid(thread.cast_signed())
            .any_cpu()
            // System calls are counted in the kernel.
            .exclude_kernel(false)
            .sample(SampleFlag::RAW)
            .sample_period(CALLS_PERIOD)
            .enabled(true);
        builder.build()?.sampled(RING)
    }
}

/// The number and the format of the trace event of system calls.
fn described(root: &str) -> io::Result<(String, String)> {
    let folder = Path::new(root).join("events/raw_syscalls/sys_enter");
    Ok((fs::read_to_string(folder.join("id"))?, fs::read_to_string(folder.join("format"))?))
}

/// Samples of the places at which a thread runs.
fn clock(thread: u32, in_kernel: bool) -> io::Result<Ring> {
    let mut builder = Builder::new(Software::TASK_CLOCK);
    builder
        .observe_pid(thread.cast_signed())
        .any_cpu()
        .exclude_kernel(!in_kernel)
        .sample(SampleFlag::IP)
        .sample_period(PERIOD)
        .enabled(true);
    builder.build()?.sampled(RING)
}

/// Takes what is in a ring: kind, flags and body of each record.
fn for_each_record(ring: &mut Ring, mut each: impl FnMut(u32, u16, &[u8])) {
    for _ in 0..RECORDS_MAX {
        let Some(record) = ring.next_record() else { return };
        each(record.ty(), record.misc(), &record.to_contiguous());
    }
}

/// Eight bytes of a record.
fn number(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(place..place.checked_add(8)?)?.try_into().ok()?))
}

/// The threads of a process, with the number of the process.
fn tasks(pid: u32) -> Vec<(u32, u32)> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // More than can be sampled, so that it is known that some are left out.
    ids.take(4 * THREADS_MAX).map(|thread| (pid, thread)).collect()
}

/// Why the kernel refuses an event, and what allows it.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "the kernel refuses perf events: {}; up to 2, users can sample their own processes, and root and \
             CAP_PERFMON can sample all, unless a container forbids it",
            paranoid()
        ),
        io::ErrorKind::NotFound | io::ErrorKind::Unsupported => {
            format!("the kernel has no such perf event ({error})")
        }
        _ => format!("perf events cannot be opened: {error}"),
    }
}

/// Why the kernel refuses the events of a thread more, if those of so many others are open.
fn reason_of_more(error: &io::Error, open: usize) -> String {
    // What users must not do has another number (`EACCES`); this one is of the memory of rings.
    if open > 0 && error.raw_os_error() == Some(NOT_PERMITTED) {
        return "the memory that a user can have for rings is used up (kernel.perf_event_mlock_kb, ulimit -l)"
            .to_owned();
    }
    reason(error)
}

/// The level that says who can use perf events here.
fn paranoid() -> String {
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let level = level.map_or_else(|_| "unknown".to_owned(), |level| level.trim().to_owned());
    format!("perf_event_paranoid is {level}")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, mpsc};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn samples_of_places_are_counted_by_place_and_mode() {
        let mut samples = Samples::default();
        let user = 2;
        for (flags, address) in [(KERNEL, 7_u64), (user, 7), (user, 7), (user | 0x4000, 7)] {
            samples.add(42, flags, &address.to_ne_bytes());
        }
        samples.add(42, user, &[1, 2, 3]);
        let spot = |in_kernel| Spot { pid: 42, in_kernel, address: 7 };
        assert_eq!(samples.spots, BTreeMap::from([(spot(true), 1), (spot(false), 3)]));
    }

    #[test]
    fn of_more_threads_than_room_the_one_that_becomes_busy_is_sampled_and_it_is_said_that_others_are_not() {
        let own = std::process::id();
        let mut threads = match Threads::open(&[own]) {
            Ok(threads) => threads,
            Err(reason) => return println!("skipped: {reason}"),
        };
        let end = Arc::new(AtomicBool::new(false));
        let (numbers, started) = mpsc::channel();
        let workers: Vec<_> = (0..9)
            .map(|number| {
                let (end, numbers) = (end.clone(), numbers.clone());
                thread::spawn(move || {
                    if number == 8 {
                        numbers.send(own_thread()).unwrap();
                    }
                    while !end.load(Ordering::Relaxed) {
                        if number < 8 {
                            thread::sleep(Duration::from_millis(5));
                        }
                    }
                })
            })
            .collect();
        let busy = started.recv().unwrap();
        threads.most = 6;
        let mut samples = Samples::default();
        for _ in 0..2 * LOOKS_PER_CHOICE {
            thread::sleep(Duration::from_millis(60));
            threads.look(&[own], &mut samples);
        }
        let (without, open) = (threads.without(), threads.open.contains_key(&busy));
        end.store(true, Ordering::Relaxed);
        for worker in workers {
            worker.join().unwrap();
        }
        assert!(open && threads.count() <= 6, "{busy} of {:?}", threads.open.keys());
        assert!(without.iter().any(|words| words.contains("only the 6 busiest")), "{without:?}");
    }

    /// The number of the thread that asks.
    fn own_thread() -> u32 {
        let path = fs::read_link("/proc/thread-self").unwrap();
        path.file_name().unwrap().to_str().unwrap().parse().unwrap()
    }

    #[test]
    fn samples_of_system_calls_are_counted_by_number() {
        let mut samples = Samples::default();
        let mut bytes = vec![0_u8; 4 + 64];
        bytes[12..20].copy_from_slice(&202_i64.to_ne_bytes());
        samples.add_call(8, &bytes);
        samples.add_call(8, &bytes[..16]);
        assert_eq!(samples.calls, BTreeMap::from([(202, 1)]));
    }

    #[test]
    fn what_the_kernel_refuses_is_said_with_what_allows_it() {
        let denied = reason(&io::Error::from(io::ErrorKind::PermissionDenied));
        assert!(denied.contains("perf_event_paranoid is ") && denied.contains("CAP_PERFMON"), "{denied}");
        let full = io::Error::from_raw_os_error(NOT_PERMITTED);
        assert!(reason_of_more(&full, 80).contains("perf_event_mlock_kb"));
        assert!(reason_of_more(&full, 0).contains("CAP_PERFMON"), "in a container that forbids all of it");
    }
}
