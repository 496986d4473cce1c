//! This machine: CPUs, pressure, memory, disks, network, from `/proc`.
//!
//! Reads files and puts figures together; [`parse`] understands the texts, [`Programs`] says which other programs use
//! the CPUs. A file that is missing leaves its figures out. Only Linux has these files.

use std::fs;

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;

use crate::figures::{Bytes, Count, Counter, Figures, Gauge, Seconds};
use crate::pace::slower;
use crate::process::programs::Programs;
use crate::sampler::{About, Depth, Sampler, Unreadable};
use crate::text::label;

pub(crate) mod parse;

use parse::{Disk, Interface};

/// With more sockets than this, the list of all sockets is not read.
const SOCKETS_MAX: f64 = 2_000.0;

/// Bytes of a sector, in which the kernel counts.
const SECTOR: f64 = 512.0;

/// The programs are read once in so many intervals.
const SLOW: u64 = 5;

/// This machine.
#[derive(Debug)]
pub(crate) struct Host {
    clock: MonotonicClock,
    interval: Nanos,
    programs: Programs,
    /// When the programs are due.
    programs_due: Nanos,
    without: Vec<String>,
}

impl Host {
    /// The machine, whose other programs are all but the `observed` processes, knee, and their descendants.
    pub(crate) fn new(observed: Vec<u32>, clock: MonotonicClock, interval: Nanos) -> Self {
        let mut known = observed;
        known.push(std::process::id());
        let programs = Programs::without(known);
        Self { clock, interval, programs, programs_due: Nanos::ZERO, without: Vec::new() }
    }

    fn read_programs(&mut self, now: Nanos, depth: Depth, figures: &mut Figures) {
        if depth == Depth::Interval && now < self.programs_due {
            return;
        }
        let began = self.clock.now();
        self.programs.read(now, figures);
        let pace = Nanos(self.interval.0.saturating_mul(SLOW));
        self.programs_due = now.saturating_add(slower(pace, self.clock.now().since(began)));
    }
}

impl Sampler for Host {
    fn connect(&mut self) -> Result<(), Unreadable> {
        fs::read_to_string("/proc/stat")
            .map_err(|error| Unreadable(format!("/proc/stat cannot be read: {error}")))?;
        let missing = |file: &str, what: &str| {
            fs::read_to_string(file).is_err().then(|| format!("{what}: {file} cannot be read"))
        };
        self.without = [("/proc/pressure/cpu", "pressure (PSI)"), ("/proc/diskstats", "disks")]
            .iter()
            .filter_map(|(file, what)| missing(file, what))
            .collect();
        Ok(())
    }

    fn read(&mut self, now: Nanos, depth: Depth, figures: &mut Figures) -> Result<(), Unreadable> {
        cpus(figures);
        pressure(figures);
        memory(figures);
        disks(figures);
        network(figures);
        tcp(figures);
        self.read_programs(now, depth, figures);
        Ok(())
    }

    fn about(&self) -> About {
        let version = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
        About {
            version: version.map(|version| format!("Linux {}", label(version.trim()))),
            without: self.without.iter().cloned().chain(self.programs.missing()).collect(),
            ..About::default()
        }
    }
}

/// The text of a file; empty if it cannot be read.
fn text(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

fn cpus(figures: &mut Figures) {
    let tick = 1.0 / rustix::param::clock_ticks_per_second() as f64;
    let stat = parse::stat(&text("/proc/stat"));
    if let Some(all) = stat.all {
        for (mode, ticks) in all.modes() {
            figures.put("host.cpu.time", mode, Seconds, Counter, ticks * tick);
        }
    }
    for (number, times) in &stat.cpus {
        figures.put("host.cpu.busy", &number.to_string(), Seconds, Counter, times.busy() * tick);
    }
    if !stat.cpus.is_empty() {
        figures.gauge("host.cpus", Count, stat.cpus.len() as f64);
    }
    figures.counter("host.switches", Count, stat.switches);
    figures.gauge("host.runnable", Count, stat.runnable);
}

fn pressure(figures: &mut Figures) {
    for resource in ["cpu", "memory", "io"] {
        let pressure = parse::pressure(&text(&format!("/proc/pressure/{resource}")));
        figures.counter(&format!("host.pressure.{resource}.some"), Seconds, pressure.some);
        if resource != "cpu" {
            figures.counter(&format!("host.pressure.{resource}.full"), Seconds, pressure.full);
        }
    }
}

fn memory(figures: &mut Figures) {
    let memory = text("/proc/meminfo");
    let bytes = |name: &str| parse::kibibytes(&memory, name);
    figures.gauge("host.memory.total", Bytes, bytes("MemTotal"));
    figures.gauge("host.memory.available", Bytes, bytes("MemAvailable"));
    figures.gauge("host.memory.dirty", Bytes, bytes("Dirty"));
    let swap = bytes("SwapTotal").zip(bytes("SwapFree")).map(|(total, free)| total - free);
    figures.gauge("host.swap.used", Bytes, swap);
    let events = text("/proc/vmstat");
    for (name, event) in
        [("host.swap.in", "pswpin"), ("host.swap.out", "pswpout"), ("host.faults.major", "pgmajfault")]
    {
        figures.counter(name, Count, parse::word(&events, event));
    }
}

fn disks(figures: &mut Figures) {
    for Disk { name, numbers } in parse::disks(&text("/proc/diskstats")) {
        let device = &label(&name);
        let mut put = |name: &str, unit, place: usize, scale: f64| {
            let value = numbers.get(place).map(|number| number * scale);
            figures.put(name, device, unit, Counter, value);
        };
        put("host.disk.reads", Count, 0, 1.0);
        put("host.disk.read_bytes", Bytes, 2, SECTOR);
        put("host.disk.read_time", Seconds, 3, 1e-3);
        put("host.disk.writes", Count, 4, 1.0);
        put("host.disk.write_bytes", Bytes, 6, SECTOR);
        put("host.disk.write_time", Seconds, 7, 1e-3);
        put("host.disk.busy", Seconds, 9, 1e-3);
        put("host.disk.flushes", Count, 15, 1.0);
        put("host.disk.flush_time", Seconds, 16, 1e-3);
    }
}

fn network(figures: &mut Figures) {
    for Interface { name, numbers } in parse::interfaces(&text("/proc/net/dev")) {
        let interface = &label(&name);
        for (name, unit, place) in [
            ("host.network.receive_bytes", Bytes, 0),
            ("host.network.receive_drops", Count, 3),
            ("host.network.send_bytes", Bytes, 8),
            ("host.network.send_drops", Count, 11),
        ] {
            figures.put(name, interface, unit, Counter, numbers.get(place).copied());
        }
    }
    let queues = parse::softnet(&text("/proc/net/softnet_stat"));
    figures.counter("host.softnet.dropped", Count, queues.map(|(dropped, _)| dropped));
    figures.counter("host.softnet.squeezed", Count, queues.map(|(_, squeezed)| squeezed));
}

fn tcp(figures: &mut Figures) {
    let (basic, extended) = (text("/proc/net/snmp"), text("/proc/net/netstat"));
    for (name, text, protocol, field) in [
        ("host.tcp.opened_active", &basic, "Tcp:", "ActiveOpens"),
        ("host.tcp.opened_passive", &basic, "Tcp:", "PassiveOpens"),
        ("host.tcp.attempt_fails", &basic, "Tcp:", "AttemptFails"),
        ("host.tcp.resets_sent", &basic, "Tcp:", "OutRsts"),
        ("host.tcp.segments_out", &basic, "Tcp:", "OutSegs"),
        ("host.tcp.retransmits", &basic, "Tcp:", "RetransSegs"),
        ("host.tcp.syn_retransmits", &extended, "TcpExt:", "TCPSynRetrans"),
        ("host.tcp.timeouts", &extended, "TcpExt:", "TCPTimeouts"),
        ("host.tcp.listen_overflows", &extended, "TcpExt:", "ListenOverflows"),
        ("host.tcp.listen_drops", &extended, "TcpExt:", "ListenDrops"),
    ] {
        figures.counter(name, Count, parse::protocol(text, protocol, field));
    }
    let sockets = text("/proc/net/sockstat");
    let number = |field: &str| parse::sockets(&sockets, field);
    for (state, field) in [("in_use", "inuse"), ("time_wait", "tw"), ("orphan", "orphan")] {
        figures.put("host.tcp.sockets", state, Count, Gauge, number(field));
    }
    // Sockets that wait for their end are in the list too.
    let listed = number("inuse").unwrap_or(0.0) + number("tw").unwrap_or(0.0);
    if listed <= SOCKETS_MAX {
        let lists = [text("/proc/net/tcp"), text("/proc/net/tcp6")];
        for (state, sockets) in parse::socket_states(&lists) {
            figures.put("host.tcp.sockets", state, Count, Gauge, sockets);
        }
        for (port, waiting) in parse::accept_queues(&lists) {
            figures.put("host.tcp.accept_queue", &port.to_string(), Count, Gauge, waiting);
        }
    }
}
