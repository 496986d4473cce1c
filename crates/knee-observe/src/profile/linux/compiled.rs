//! The functions that a runtime compiled while it runs (Node.js, the JVM), from `/tmp/perf-PID.map`.
//!
//! The runtime writes this file only if it is asked to: `node --perf-basic-prof`, `jcmd PID Compiler.perfmap` or an
//! agent. Reads on where it has stopped, or from the start if the file was written again. In a container, it is the
//! `/tmp` of the container, and the number that the process has there. Takes only a regular file of the user of the
//! process, or of root: every user can write there.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use rustix::fs::OFlags;

use super::parse::{self, Status};
use crate::text::label;

/// Most bytes that are read at once, and most functions that are known.
const READ_MAX: u64 = 16 << 20;
const FUNCTIONS_MAX: usize = 200_000;

/// Most bytes of the code of a function: what is larger would hide all others.
const CODE_MAX: u64 = 16 << 20;

/// Bytes before the place that was reached, by which a file is recognized that was written again.
const TAIL: usize = 64;

/// The compiled functions of a process.
#[derive(Debug)]
pub(super) struct Compiled {
    path: PathBuf,
    user: Option<u32>,
    /// How far the file was read, and the last bytes before that.
    read: u64,
    tail: Vec<u8>,
    /// Where each begins, how long it is, its name as a label: however long the names are, the memory is bounded.
    functions: BTreeMap<u64, (u64, String)>,
}

impl Compiled {
    /// Those of a process, of which nothing is read yet.
    pub(super) fn of(pid: u32, status: Status) -> Self {
        let own = status.own_pid.unwrap_or(pid);
        let path = PathBuf::from(format!("/proc/{pid}/root/tmp/perf-{own}.map"));
        Self::at(path, status.user)
    }

    pub(super) fn at(path: PathBuf, user: Option<u32>) -> Self {
        Self { path, user, read: 0, tail: Vec::new(), functions: BTreeMap::new() }
    }

    /// Whether there is such a file.
    pub(super) const fn is_there(&self) -> bool {
        self.read > 0
    }

    /// Reads what the runtime has added.
    pub(super) fn read(&mut self) {
        let Some(mut file) = self.open() else { return };
        if !self.goes_on(&file) {
            self.read = 0;
            self.tail.clear();
            self.functions.clear();
        }
        let mut added = Vec::new();
        let is_there = file.seek(SeekFrom::Start(self.read)).is_ok();
        if !is_there || file.take(READ_MAX).read_to_end(&mut added).is_err() {
            return;
        }
        let is_full = added.len() as u64 == READ_MAX;
        let end = added.iter().rposition(|byte| *byte == b'\n').map(|last| last + 1);
        // What has no end of a line in so many bytes is none, and is not read again each time.
        let end = end.unwrap_or(if is_full { added.len() } else { 0 });
        self.read += end as u64;
        if end > 0 {
            self.tail = added[end.saturating_sub(TAIL)..end].to_vec();
        }
        for line in String::from_utf8_lossy(&added[..end]).lines() {
            if let Some((start, bytes, name)) = parse::compiled(line) {
                self.insert(start, bytes, name);
            }
        }
    }

    /// Whether the file still has what was read of it.
    fn goes_on(&self, file: &File) -> bool {
        let mut tail = vec![0; self.tail.len()];
        let from = self.read.saturating_sub(tail.len() as u64);
        file.read_exact_at(&mut tail, from).is_ok() && tail == self.tail
    }

    /// Adds a function. Those whose place it takes are no more.
    fn insert(&mut self, start: u64, bytes: u64, name: &str) {
        if bytes > CODE_MAX {
            return;
        }
        let place = start..start.saturating_add(bytes);
        while let Some(before) = self.functions.range(place.clone()).next().map(|(before, _)| *before) {
            self.functions.remove(&before);
        }
        if self.functions.len() < FUNCTIONS_MAX || self.functions.contains_key(&start) {
            self.functions.insert(start, (bytes, label(name)));
        }
    }

    /// The function at an address.
    pub(super) fn function(&self, address: u64) -> Option<&str> {
        let (start, (bytes, name)) = self.functions.range(..=address).next_back()?;
        (address - start < *bytes).then_some(name.as_str())
    }

    fn open(&self) -> Option<File> {
        // A link of another user is not followed, and a pipe does not stop the observer.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&self.path);
        let file = file.ok()?;
        let metadata = file.metadata().ok()?;
        let is_its = self.user == Some(metadata.uid()) || metadata.uid() == 0;
        (metadata.is_file() && is_its).then_some(file)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn functions_that_are_compiled_during_the_run_are_found_and_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("perf-7.map");
        fs::write(&path, "1000 100 first\n2000 100 sec").unwrap();
        let user = Some(fs::metadata(&path).unwrap().uid());
        let mut compiled = Compiled::at(path.clone(), user);
        compiled.read();
        assert_eq!(
            [0x1000, 0x10ff, 0x1100, 0x2000].map(|at| compiled.function(at)),
            [Some("first"), Some("first"), None, None]
        );
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"ond\n1000 80 again\n").unwrap();
        compiled.read();
        assert_eq!(compiled.function(0x2000), Some("second"));
        assert_eq!(compiled.function(0x1000), Some("again"), "its place was taken by another");
        file.write_all(format!("3000 10 {}\n", "x".repeat(9_000)).as_bytes()).unwrap();
        compiled.read();
        assert!(compiled.function(0x3000).unwrap().len() < 300, "a name is no longer than a label");
        let link = folder.path().join("perf-8.map");
        symlink(&path, &link).unwrap();
        let mut linked = Compiled::at(link, user);
        linked.read();
        assert_eq!(linked.function(0x2000), None);
    }

    #[test]
    fn code_that_takes_the_place_of_several_functions_has_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("perf-7.map");
        fs::write(&path, "1000 40 a\n1040 40 b\n1080 40 c\n1000 80 whole\n0 ffffffffffffffff all\n").unwrap();
        let mut compiled = Compiled::at(path.clone(), Some(fs::metadata(&path).unwrap().uid()));
        compiled.read();
        assert_eq!(
            [0x1000, 0x1050, 0x1080, 0x10c0].map(|at| compiled.function(at)),
            [Some("whole"), Some("whole"), Some("c"), None]
        );
    }

    #[test]
    fn a_map_that_is_written_again_is_read_from_its_start_also_if_it_has_become_longer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("perf-7.map");
        fs::write(&path, "0x1000 0x100 first\n").unwrap();
        let mut compiled = Compiled::at(path.clone(), Some(fs::metadata(&path).unwrap().uid()));
        assert!(!compiled.is_there());
        compiled.read();
        assert!(compiled.is_there());
        for (text, functions) in [
            ("0x5000 0x100 other\n0x6000 0x100 more\n", [None, Some("other"), Some("more")]),
            ("0x6000 0x100 short\n", [None, None, Some("short")]),
        ] {
            fs::write(&path, text).unwrap();
            compiled.read();
            assert_eq!([0x1000, 0x5000, 0x6000].map(|at| compiled.function(at)), functions);
        }
    }

    #[test]
    fn the_map_of_a_process_in_a_container_is_that_of_its_own_folder_and_number() {
        // No process has such a number, so that no other map is in the way.
        let number = 5_000_000 + std::process::id();
        let path = PathBuf::from(format!("/tmp/perf-{number}.map"));
        fs::write(&path, "1000 100 LInterpreter;::run\n").unwrap();
        let user = Some(fs::metadata(&path).unwrap().uid());
        let mut compiled = Compiled::of(std::process::id(), Status { user, own_pid: Some(number) });
        compiled.read();
        let strange = user.map(|user| user + 1);
        let mut foreign = Compiled::of(std::process::id(), Status { user: strange, own_pid: Some(number) });
        foreign.read();
        fs::remove_file(&path).unwrap();
        assert_eq!(compiled.function(0x1010), Some("LInterpreter;::run"));
        // What root wrote counts for all users.
        assert_eq!(foreign.is_there(), user == Some(0), "of another user");
    }
}
