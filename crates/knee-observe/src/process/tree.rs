//! Processes and their descendants, from `/proc`.
//!
//! Says which ones there are and whether a number still stands for the same process; does not read what they use.

use std::fs;

use super::parse::{self, Stat, stat};
use crate::sampler::Unreadable;
use crate::text::label;

/// Most processes of a tree, and most threads of all of them, that are read.
pub(super) const PROCESSES_MAX: usize = 512;
pub(super) const THREADS_MAX: usize = 1_024;

/// The `stat` of a process, if it has not ended, and if it is the one that was started then.
pub(super) fn running(pid: u32, started: Option<u64>) -> Result<Stat, Unreadable> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"));
    let stat = text.ok().and_then(|text| stat(&text)).filter(|stat| !matches!(stat.state, 'Z' | 'X'));
    let stat = stat.ok_or_else(|| Unreadable("there is no such process".to_owned()))?;
    match started {
        Some(started) if started != stat.started => Err(Unreadable("the process has ended".to_owned())),
        _ => Ok(stat),
    }
}

/// How a process is called in reports, and when it was started. `started` as it was read before: then it must be the same
/// process.
pub(crate) fn identity(pid: u32, started: Option<u64>) -> Result<(String, u64), Unreadable> {
    let stat = running(pid, started)?;
    Ok((format!("{} (pid {pid})", label(&stat.name)), stat.started))
}

/// The process and its descendants.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let has_lists = fs::metadata(format!("/proc/{pid}/task/{pid}/children")).is_ok();
    let mut family = vec![pid];
    if has_lists {
        let mut place = 0;
        while let Some(parent) = family.get(place).copied().filter(|_| family.len() <= PROCESSES_MAX) {
            let children = children(parent);
            family.extend(children.into_iter().filter(|child| *child != parent));
            place += 1;
        }
        return family;
    }
    parse::descendants(pid, &parents())
}

/// The children of all threads of a process.
fn children(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = entries
        .flatten()
        .take(THREADS_MAX)
        .filter_map(|entry| fs::read_to_string(entry.path().join("children")).ok());
    let lists: Vec<String> = lists.collect();
    lists.iter().flat_map(|list| list.split_ascii_whitespace()).filter_map(|word| word.parse().ok()).collect()
}

/// Every process of this machine with its parent.
fn parents() -> Vec<(u32, u32)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pair = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = stat(&fs::read_to_string(entry.path().join("stat")).ok()?)?;
        Some((pid, stat.parent))
    };
    entries.flatten().filter_map(pair).collect()
}
