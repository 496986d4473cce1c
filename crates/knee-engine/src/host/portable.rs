//! The counters on platforms without `/proc`: those of the standard library and POSIX.
//!
//! The others are empty, and a note of the validity check says that they were not measured.

use knee_core::unit::Nanos;
use rustix::process::{Resource, getrlimit, setrlimit};

use super::counters::{DESCRIPTORS_BASE, Reading, ThreadTimes, ahead};

/// The timer wheel rounds up to the next millisecond and advances late.
pub const TIMER_SLACK: Nanos = Nanos::from_millis(2);

/// Reads the available counters.
pub fn read() -> Reading {
    let monotonic = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    Reading {
        descriptors_base: DESCRIPTORS_BASE,
        descriptors_limit: getrlimit(Resource::Nofile).current,
        wall_ahead_ns: ahead(monotonic, || knee_core::clock::wall().0 as i64),
        ..Reading::default()
    }
}

/// Times of single threads are unknown here.
pub fn thread_times() -> Option<ThreadTimes> {
    None
}

pub fn system() -> String {
    let name = rustix::system::uname();
    format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
}

pub fn cpu_model() -> Option<String> {
    None
}

pub fn memory_bytes() -> Option<u64> {
    None
}

/// Limits of memory are unknown here.
pub fn memory_limit() -> Option<u64> {
    None
}

/// There are no cgroups here.
pub fn cpu_quota() -> Option<f64> {
    None
}

pub fn raise_descriptor_limit() -> Option<u64> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current
}

/// Which sockets lead to which address is unknown here.
pub fn ports_of_fullest_address() -> Option<u64> {
    None
}
