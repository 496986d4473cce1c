//! Understands the texts of `/proc` that describe a machine.
//!
//! Pure: takes the text of a file, returns figures. What is missing or no number is left out, never zero.

use std::collections::BTreeMap;

/// Times of one CPU or of all, in clock ticks: user, nice, system, idle, iowait, irq, softirq, steal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Times([f64; 8]);

impl Times {
    /// The times by the modes that are reported.
    pub(crate) fn modes(self) -> [(&'static str, f64); 6] {
        let [user, nice, system, idle, iowait, irq, softirq, steal] = self.0;
        [
            ("user", user + nice),
            ("system", system),
            ("irq", irq + softirq),
            ("steal", steal),
            ("iowait", iowait),
            ("idle", idle),
        ]
    }

    /// The time in which the CPU worked.
    pub(crate) fn busy(self) -> f64 {
        let [user, nice, system, _, _, irq, softirq, _] = self.0;
        user + nice + system + irq + softirq
    }
}

/// `/proc/stat`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stat {
    pub(crate) all: Option<Times>,
    /// Each CPU that is online, with its number.
    pub(crate) cpus: Vec<(u32, Times)>,
    pub(crate) switches: Option<f64>,
    pub(crate) runnable: Option<f64>,
}

/// Reads `/proc/stat`.
pub(crate) fn stat(text: &str) -> Stat {
    let mut stat = Stat::default();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(name) = words.next() else { continue };
        match name {
            "cpu" => stat.all = times(words),
            "ctxt" => stat.switches = words.next().and_then(number),
            "procs_running" => stat.runnable = words.next().and_then(number),
            _ => {
                let cpu = name.strip_prefix("cpu").and_then(|number| number.parse().ok());
                stat.cpus.extend(cpu.zip(times(words)));
            }
        }
    }
    stat
}

/// Older kernels have fewer columns.
fn times<'a>(words: impl Iterator<Item = &'a str>) -> Option<Times> {
    let mut times = [0.0; 8];
    let mut known = 0;
    for (time, word) in times.iter_mut().zip(words) {
        *time = number(word)?;
        known += 1;
    }
    (known >= 4).then_some(Times(times))
}

/// Time in which some or all threads waited, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pressure {
    pub(crate) some: Option<f64>,
    pub(crate) full: Option<f64>,
}

/// Reads a file of PSI: lines such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=12`, in microseconds.
pub(crate) fn pressure(text: &str) -> Pressure {
    let total = |kind: &str| {
        let line = text.lines().find(|line| line.split_ascii_whitespace().next() == Some(kind))?;
        let total = line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?;
        number(total).map(|micros| micros / 1e6)
    };
    Pressure { some: total("some"), full: total("full") }
}

/// A figure of `/proc/meminfo` or `/proc/PID/status`, in bytes.
pub(crate) fn kibibytes(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().next().and_then(number).map(|kibibytes| kibibytes * 1024.0)
}

/// The number behind a word at the beginning of a line, as in `/proc/vmstat`, `cpu.stat` and `/proc/PID/io`.
pub(crate) fn word(text: &str, name: &str) -> Option<f64> {
    let value = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let first = words.next()?.trim_end_matches(':');
        (first == name).then(|| words.next().and_then(number))?
    };
    text.lines().find_map(value)
}

/// A device of `/proc/diskstats`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Disk {
    pub(crate) name: String,
    /// The columns behind the name.
    pub(crate) numbers: Vec<f64>,
}

/// Reads `/proc/diskstats`: devices that did anything, without loop devices, RAM disks and partitions.
pub(crate) fn disks(text: &str) -> Vec<Disk> {
    let mut disks: Vec<Disk> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(2);
        let Some(name) = words.next() else { continue };
        let numbers: Vec<f64> = words.map_while(number).collect();
        let is_idle = numbers.iter().all(|number| *number == 0.0);
        let is_part = disks.iter().any(|disk| is_partition(name, &disk.name));
        if !is_idle && !is_part && !name.starts_with("loop") && !name.starts_with("ram") {
            disks.push(Disk { name: name.to_owned(), numbers });
        }
    }
    disks
}

/// `sda1` of `sda`, `nvme0n1p2` of `nvme0n1`.
fn is_partition(name: &str, disk: &str) -> bool {
    let Some(rest) = name.strip_prefix(disk) else { return false };
    let rest = if disk.ends_with(|c: char| c.is_ascii_digit()) { rest.strip_prefix('p') } else { Some(rest) };
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// An interface of `/proc/net/dev`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Interface {
    pub(crate) name: String,
    /// Eight columns of receiving, then those of sending.
    pub(crate) numbers: Vec<f64>,
}

/// Reads `/proc/net/dev`: interfaces that received or sent anything.
pub(crate) fn interfaces(text: &str) -> Vec<Interface> {
    let interface = |line: &str| {
        let (name, rest) = line.rsplit_once(':')?;
        let numbers: Vec<f64> = rest.split_ascii_whitespace().map_while(number).collect();
        let is_used = numbers.len() >= 12 && numbers.iter().any(|number| *number > 0.0);
        is_used.then(|| Interface { name: name.trim().to_owned(), numbers })
    };
    text.lines().filter_map(interface).collect()
}

/// Reads `/proc/net/softnet_stat`: packets dropped, and times that work was left for later, of all CPUs.
pub(crate) fn softnet(text: &str) -> Option<(f64, f64)> {
    let mut sums = None;
    for line in text.lines() {
        let mut words =
            line.split_ascii_whitespace().skip(1).map_while(|word| u64::from_str_radix(word, 16).ok());
        let Some((dropped, squeezed)) = words.next().zip(words.next()) else { continue };
        let (all_dropped, all_squeezed) = sums.unwrap_or((0.0, 0.0));
        sums = Some((all_dropped + dropped as f64, all_squeezed + squeezed as f64));
    }
    sums
}

/// A field of `/proc/net/snmp` or `/proc/net/netstat`: a line of names, then a line of numbers, for each protocol.
pub(crate) fn protocol(text: &str, protocol: &str, field: &str) -> Option<f64> {
    let of_protocol = |line: &&str| line.split_ascii_whitespace().next() == Some(protocol);
    let mut lines = text.lines().filter(of_protocol);
    let (names, numbers) = (lines.next()?, lines.next()?);
    let place = names.split_ascii_whitespace().position(|name| name == field)?;
    numbers.split_ascii_whitespace().nth(place).and_then(number)
}

/// A number of the line `TCP:` of `/proc/net/sockstat`.
pub(crate) fn sockets(text: &str, field: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == field)?;
    words.next().and_then(number)
}

/// By port, the connections that wait for `accept`: the receive queue of sockets that listen, of `/proc/net/tcp` and
/// `/proc/net/tcp6` together.
pub(crate) fn accept_queues(lists: &[String]) -> BTreeMap<u16, f64> {
    const LISTEN: &str = "0A";
    let mut queues = BTreeMap::new();
    for line in lists.iter().flat_map(|list| list.lines()) {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (Some(local), Some(_), Some(LISTEN), Some(sizes)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let port = local.rsplit_once(':').and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
        let waiting = sizes.split_once(':').and_then(|(_, size)| u32::from_str_radix(size, 16).ok());
        if let Some((port, waiting)) = port.zip(waiting) {
            *queues.entry(port).or_insert(0.0) += f64::from(waiting);
        }
    }
    queues
}

/// Sockets by state, of `/proc/net/tcp` and `/proc/net/tcp6` together; none if both are missing.
pub(crate) fn socket_states(lists: &[String]) -> Vec<(&'static str, f64)> {
    const STATES: [(&str, &[&str]); 4] = [
        ("established", &["01"]),
        ("syn_recv", &["03"]),
        ("fin_wait", &["04", "05"]),
        ("close_wait", &["08"]),
    ];
    if lists.iter().all(String::is_empty) {
        return Vec::new();
    }
    let lines = lists.iter().flat_map(|list| list.lines());
    let seen: Vec<&str> = lines.filter_map(|line| line.split_ascii_whitespace().nth(3)).collect();
    let count = |codes: &[&str]| seen.iter().filter(|code| codes.contains(code)).count() as f64;
    STATES.iter().map(|(state, codes)| (*state, count(codes))).collect()
}

/// A number of the kernel: whole and not negative.
pub(crate) fn number(word: &str) -> Option<f64> {
    word.parse::<u64>().ok().map(|number| number as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_times_are_by_mode_and_by_cpu() {
        let text = "cpu  10 1 20 100 5 2 3 4 0 0\ncpu0 6 1 10 50 5 1 1 4 0 0\ncpu1 4 0 10 50 0 1 2 0 0 0\n\
                    intr 99 1 2\nctxt 12345\nprocs_running 3\nprocs_blocked 0\n";
        let stat = stat(text);
        let expected = [
            ("user", 11.0),
            ("system", 20.0),
            ("irq", 5.0),
            ("steal", 4.0),
            ("iowait", 5.0),
            ("idle", 100.0),
        ];
        assert_eq!(stat.all.unwrap().modes(), expected);
        let busy: Vec<(u32, f64)> = stat.cpus.iter().map(|(number, times)| (*number, times.busy())).collect();
        assert_eq!(busy, [(0, 19.0), (1, 17.0)]);
        assert_eq!((stat.switches, stat.runnable), (Some(12345.0), Some(3.0)));
    }

    #[test]
    fn pressure_is_in_seconds_and_missing_where_the_kernel_has_none() {
        let text = "some avg10=88.28 avg60=80.05 avg300=40.69 total=2500000\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(pressure(text), Pressure { some: Some(2.5), full: Some(0.0) });
        assert_eq!(pressure(""), Pressure::default());
    }

    #[test]
    fn memory_is_in_bytes_and_a_longer_name_is_another_one() {
        let text = "MemTotal:  24684084 kB\nSwapCached: 8 kB\nDirty:    1192 kB\nDirtyThrough: 5 kB\n";
        assert_eq!(kibibytes(text, "Dirty"), Some(1192.0 * 1024.0));
        assert_eq!(kibibytes(text, "Swap"), None);
        assert_eq!(word("pgmajfault_x 1\npgmajfault 7\n", "pgmajfault"), Some(7.0));
        assert_eq!(word("rchar: 6976\nwchar: 12\n", "wchar"), Some(12.0));
    }

    #[test]
    fn partitions_and_loop_devices_do_not_count_as_disks() {
        let columns = "1 0 8 2 3 0 16 4 0 5 6";
        let names = ["loop0", "sda", "sda1", "nvme0n1", "nvme0n1p2", "dm-0", "ram0"];
        let lines: Vec<String> =
            names.iter().map(|name| format!("   8       0 {name} {columns}\n")).collect();
        let text = lines.concat();
        let text = text + "   8       0 sdb 0 0 0 0 0 0 0 0 0 0 0\n";
        let found: Vec<String> = disks(&text).into_iter().map(|disk| disk.name).collect();
        assert_eq!(found, ["sda", "nvme0n1", "dm-0"]);
        assert_eq!(disks(&text)[0].numbers.get(9), Some(&5.0));
    }

    #[test]
    fn interfaces_without_traffic_are_left_out() {
        let text = "Inter-|   Receive      |  Transmit\n face |bytes packets|bytes packets\n    \
                    lo: 700 16 0 4 0 0 0 0 900 16 0 5 0 0 0 0\n  ifb0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        let found = interfaces(text);
        assert_eq!((found.len(), found[0].name.as_str()), (1, "lo"));
        assert_eq!((found[0].numbers[8], found[0].numbers[11]), (900.0, 5.0));
    }

    #[test]
    fn fields_of_protocols_are_found_by_name() {
        let text = "Tcp: RtoMin ActiveOpens RetransSegs\nTcp: 200 17 3\nUdp: InDatagrams\nUdp: 5\n";
        assert_eq!(protocol(text, "Tcp:", "RetransSegs"), Some(3.0));
        assert_eq!(protocol(text, "Udp:", "RetransSegs"), None);
        assert_eq!(protocol("Tcp: A B\n", "Tcp:", "A"), None, "without numbers");
        let text = "sockets: used 101\nTCP: inuse 42 orphan 0 tw 242 alloc 42 mem 28\nUDP: inuse 7 mem 0\n";
        assert_eq!((sockets(text, "inuse"), sockets(text, "tw")), (Some(42.0), Some(242.0)));
    }

    #[test]
    fn queues_of_accept_are_those_of_sockets_that_listen() {
        let header = "  sl  local_address rem_address   st tx_queue rx_queue tr\n";
        let four = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000005 00:00000000\n\
                    1: 0100007F:1F90 0100007F:C350 01 00000000:00000009 00:00000000\n";
        let six = "   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A \
                   00000000:00000001 00:00000000\n";
        let queues = accept_queues(&[format!("{header}{four}"), format!("{header}{six}")]);
        assert_eq!(queues, BTreeMap::from([(8080, 6.0)]));
    }

    #[test]
    fn sockets_are_counted_by_state_and_unknown_where_there_is_no_list() {
        let header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n";
        let line =
            |code: &str| format!("   0: 0100007F:1F90 0100007F:C350 {code} 00000000:00000000 00:00000000\n");
        let four = ["01", "03", "04", "05", "08", "08", "0A"].map(line).concat();
        let states = socket_states(&[format!("{header}{four}"), format!("{header}{}", line("01"))]);
        let expected = [("established", 2.0), ("syn_recv", 1.0), ("fin_wait", 2.0), ("close_wait", 2.0)];
        assert_eq!(states, expected);
        assert!(socket_states(&[String::new(), String::new()]).is_empty());
    }

    #[test]
    fn dropped_packets_of_all_cpus_are_added() {
        assert_eq!(softnet("04fb6df1 00000002 00000013\n058424ae 00000001 00000010 0\n"), Some((3.0, 35.0)));
        assert_eq!(softnet(""), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_a_parser_fail(text in "[ -~\n]{0,400}") {
            let _ = (stat(&text), pressure(&text), disks(&text), interfaces(&text), softnet(&text));
            let _ = (accept_queues(std::slice::from_ref(&text)), sockets(&text, "tw"), protocol(&text, "Tcp:", "A"));
            let _ = (kibibytes(&text, "A"), word(&text, "A"), socket_states(std::slice::from_ref(&text)));
        }
    }
}
