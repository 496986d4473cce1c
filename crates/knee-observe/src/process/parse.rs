//! Understands the texts of `/proc/PID`.
//!
//! Pure: takes the text of a file, returns figures.

use std::collections::{BTreeMap, BTreeSet};

use crate::host::parse::number;

/// Most CPUs of a range that are counted.
const CPUS_MAX: usize = 8_192;

/// `/proc/PID/stat`. Times are in clock ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stat {
    /// The name of the program or thread, which can contain anything.
    pub(super) name: String,
    pub(super) state: char,
    pub(super) parent: u32,
    pub(super) major_faults: f64,
    pub(super) user: f64,
    pub(super) system: f64,
    /// When it was started, in clock ticks since the start of the machine.
    pub(super) started: u64,
}

/// Reads `/proc/PID/stat`: `PID (NAME) STATE PARENT …`. The name ends at the last parenthesis.
pub(super) fn stat(text: &str) -> Option<Stat> {
    let (front, rest) = text.rsplit_once(')')?;
    let (_, name) = front.split_once('(')?;
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let at = |place: usize| words.get(place).copied();
    Some(Stat {
        name: name.to_owned(),
        state: at(0)?.chars().next()?,
        parent: at(1)?.parse().ok()?,
        major_faults: at(9).and_then(number)?,
        user: at(11).and_then(number)?,
        system: at(12).and_then(number)?,
        started: at(19)?.parse().ok()?,
    })
}

/// The name of a state of a thread in reports.
pub(super) const fn state_name(state: char) -> &'static str {
    match state {
        'R' => "running",
        'S' | 'I' => "sleeping",
        'D' => "disk",
        _ => "other",
    }
}

/// Reads `schedstat`: time on a CPU, time that waited for one (both ns), number of turns. In seconds.
pub(super) fn run_delay(text: &str) -> Option<f64> {
    text.split_ascii_whitespace().nth(1).and_then(number).map(|nanos| nanos / 1e9)
}

/// The soft limit of open descriptors, from `/proc/PID/limits`.
pub(super) fn descriptors_max(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next().and_then(number)
}

/// The CPUs of a list such as `0-3,8`, as `Cpus_allowed_list` in `/proc/PID/status`.
pub(super) fn cpus(text: &str) -> BTreeSet<u32> {
    let line = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let mut cpus = BTreeSet::new();
    for part in line.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else { continue };
        cpus.extend((first..=last).take(CPUS_MAX));
    }
    cpus
}

/// A process and its descendants, of pairs of process and parent.
pub(super) fn descendants(pid: u32, parents: &[(u32, u32)]) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (child, parent) in parents {
        children.entry(*parent).or_default().push(*child);
    }
    let mut family = vec![pid];
    let mut place = 0;
    while let Some(parent) = family.get(place) {
        // Removed, so that a loop cannot go on for ever: the pairs were not read at one moment.
        let next = children.remove(parent).unwrap_or_default();
        family.extend(next.into_iter().filter(|child| *child != pid));
        place += 1;
    }
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "4242 (we) (ird)) S 1 4242 4242 0 -1 4194560 500 0 7 0 150 50 0 0 20 0 9 0 123456 1000000 300 \
                        18446744073709551615 0";

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_columns() {
        let stat = stat(STAT).unwrap();
        assert_eq!((stat.name.as_str(), stat.state, stat.parent), ("we) (ird)", 'S', 1));
        assert_eq!((stat.major_faults, stat.user, stat.system, stat.started), (7.0, 150.0, 50.0, 123_456));
        assert_eq!(super::stat("4242 (cut"), None);
        assert_eq!(super::stat("4242 (cut) S 1 2"), None);
    }

    #[test]
    fn limits_and_waits_are_read() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax processes  5 6 processes\nMax open files  1024  4096  \
                      files\n";
        assert_eq!(descriptors_max(limits), Some(1024.0));
        assert_eq!(descriptors_max("Max open files  unlimited  unlimited files\n"), None);
        assert_eq!(run_delay("722442 131181000 3\n"), Some(0.131_181));
    }

    #[test]
    fn lists_of_cpus_are_read() {
        let count = |list: &str| cpus(&format!("Name:\tx\nCpus_allowed_list:\t{list}\n")).len();
        assert_eq!([count("0"), count("0-3,8"), count("1,1-2"), count(""), count("9-2,x")], [1, 5, 2, 0, 0]);
        assert_eq!((count("0-4294967295"), cpus("Name: x").len()), (CPUS_MAX, 0));
    }

    #[test]
    fn descendants_of_descendants_belong_to_the_family_even_if_numbers_go_round() {
        let parents = [(2, 1), (3, 2), (4, 3), (9, 8), (2, 4), (5, 1)];
        let mut family = descendants(2, &parents);
        family.sort_unstable();
        family.dedup();
        assert_eq!(family, [2, 3, 4]);
    }
}
