//! Locks that keep a second study out of a folder, and who holds one.
//!
//! The system releases a lock when its process ends, however it ends. Does not wait.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::Error;

/// A lock, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Takes the lock `path` and creates the file if it is missing. `what` names another holder in the error, where the
/// system does not say who it is.
///
/// # Errors
///
/// [`Error::Locked`] if another process has it, [`Error::Unwritable`] if it cannot be created.
pub fn take(path: &Path, what: &'static str) -> Result<Lock, Error> {
    let unwritable = |error| Error::unwritable(path, error);
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(unwritable)?;
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(unwritable)?;
    match file.try_lock() {
        Ok(()) => Ok(Lock { _file: file }),
        Err(TryLockError::WouldBlock) => {
            let holder = holder(&file).map_or_else(|| what.to_owned(), |holder| format!("{what} ({holder})"));
            Err(Error::Locked { holder, path: path.to_owned() })
        }
        Err(TryLockError::Error(error)) => Err(unwritable(error)),
    }
}

/// The command that holds a lock on a file, and its process, as "`knee study labs/todos`, process 4711"; `None` where the
/// system does not report it.
pub fn holder(file: &File) -> Option<String> {
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // proc_locks(5): `1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`; a waiting process has `->` in front.
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let held = words.get(1) == Some(&"FLOCK") && words.get(5)?.ends_with(&inode);
        held.then(|| words[4].parse::<u32>().ok())?
    };
    let pid = locks.lines().find_map(of_line).filter(|pid| *pid != std::process::id())?;
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words: Vec<String> =
        words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    words.pop();
    let program = words.first_mut()?;
    *program = program.rsplit('/').next().unwrap_or_default().to_owned();
    Some(format!("`{}`, process {pid}", words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_is_refused_until_the_first_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/lock");
        let first = take(&path, "somebody else").unwrap();
        let refused = take(&path, "somebody else").unwrap_err();
        assert!(refused.to_string().starts_with("somebody else: `"), "{refused}");
        drop(first);
        take(&path, "somebody else").unwrap();
    }
}
