//! The SQLite files that a process has open.
//!
//! Reads `/proc`, and the beginning of each open file. Does not find a database that a process opens anew for each request.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{beginning, file_id, parse};
use crate::process::tree::family;

/// Most files that are returned.
const FILES_MAX: usize = 8;
/// Most descriptors of a process that are looked at.
const DESCRIPTORS_MAX: usize = 4_096;

/// The SQLite files that the process and its descendants have open, in the order of their paths. Empty if there are
/// none, or if the descriptors of the process cannot be read.
pub fn open_databases(pid: u32) -> Vec<PathBuf> {
    let files: BTreeSet<PathBuf> = family(pid).into_iter().flat_map(regular_files).collect();
    files.into_iter().filter(|path| is_database(path)).take(FILES_MAX).collect()
}

/// The regular files that a process has open. One that was removed has a name that leads nowhere, and that of a
/// process with another root, as in a container, can lead to another file from here.
fn regular_files(pid: u32) -> Vec<PathBuf> {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let open = descriptors.flatten().take(DESCRIPTORS_MAX);
    let paths = open.filter_map(|descriptor| {
        let path = fs::read_link(descriptor.path()).ok()?;
        (file_id(&path) == file_id(&descriptor.path())).then_some(path)
    });
    paths.filter(|path| path.is_absolute() && path.is_file()).collect()
}

/// Whether a file begins as a database does. Its WAL and its index do not.
fn is_database(path: &Path) -> bool {
    beginning(path, 100).is_ok_and(|bytes| parse::header(&bytes).is_some())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn the_databases_that_this_process_has_open_are_found_and_other_files_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut header = b"SQLite format 3\0".to_vec();
        header.resize(100, 0);
        (header[16], header[18], header[19]) = (0x10, 2, 2);
        fs::write(path("news.db"), &header).unwrap();
        fs::write(path("closed.db"), &header).unwrap();
        fs::write(path("notes.txt"), "SQLite format 3, said a note").unwrap();
        let _open = ["news.db", "notes.txt"].map(|name| File::open(path(name)).unwrap());
        let _twice = File::open(path("news.db")).unwrap();
        let found = open_databases(std::process::id());
        let below = |found: &&PathBuf| found.starts_with(folder.path().canonicalize().unwrap());
        assert_eq!(found.iter().filter(below).count(), 1, "{found:?}");
        assert!(found.iter().any(|found| found.ends_with("news.db")));
    }
}
