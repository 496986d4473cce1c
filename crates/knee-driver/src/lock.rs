//! Locks that keep a second study out of a folder, and that detect another load on the same machine.
//!
//! The system releases a lock when its process ends, however it ends. Does not wait.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

use crate::error::Error;

/// A lock, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Takes the lock `path` and creates the file if it is missing. `what` names the other holder in the error.
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
        Err(TryLockError::WouldBlock) => Err(Error::Locked { what, path: path.to_owned() }),
        Err(TryLockError::Error(error)) => Err(unwritable(error)),
    }
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
