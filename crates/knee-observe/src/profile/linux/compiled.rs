//! The functions that a runtime compiled while it runs (Node.js, the JVM), from `/tmp/perf-PID.map`.
//!
//! The runtime writes this file only if it is started so: `node --perf-basic-prof`, `java -XX:+DumpPerfMapAtExit` or an
//! agent. Reads on where it has stopped. Takes only a regular file of the user of the process: every user can write there.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use rustix::fs::OFlags;

use super::parse::{self, Status};
use crate::text::label;

/// Most bytes that are read at once, and most functions that are known.
const READ_MAX: u64 = 16 << 20;
const FUNCTIONS_MAX: usize = 200_000;

/// The compiled functions of a process.
#[derive(Debug)]
pub(super) struct Compiled {
    path: PathBuf,
    user: Option<u32>,
    /// How far the file was read.
    read: u64,
    /// Where each begins, how long it is, its name as a label: however long the names are, the memory is bounded.
    functions: BTreeMap<u64, (u64, String)>,
}

impl Compiled {
    /// Those of a process, of which nothing is read yet.
    pub(super) fn of(pid: u32, status: Status) -> Self {
        let own = status.own_pid.unwrap_or(pid);
        let path = PathBuf::from(format!("/proc/{pid}/root/tmp/perf-{own}.map"));
        Self { path, user: status.user, read: 0, functions: BTreeMap::new() }
    }

    /// Reads what the runtime has added.
    pub(super) fn read(&mut self) {
        let Some(mut file) = self.open() else { return };
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        if bytes < self.read {
            // Written again from the start.
            self.read = 0;
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
        for line in String::from_utf8_lossy(&added[..end]).lines() {
            let Some((start, bytes, name)) = parse::compiled(line) else { continue };
            if self.functions.len() < FUNCTIONS_MAX || self.functions.contains_key(&start) {
                self.functions.insert(start, (bytes, label(name)));
            }
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
        let mut compiled = Compiled { path: path.clone(), user, read: 0, functions: BTreeMap::new() };
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
        let mut linked = Compiled { path: link, user, read: 0, functions: BTreeMap::new() };
        linked.read();
        assert_eq!(linked.function(0x2000), None);
    }
}
