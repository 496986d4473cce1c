//! Folders: creates them with an owner, copies them, removes them whatever they contain, and reads the last lines of
//! files.
//!
//! Copies are as cheap as the file system allows: `std::fs::copy` shares the blocks where it can (btrfs, XFS,
//! APFS) and copies inside of the kernel elsewhere. Does not know what is in a folder.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::Path;

use crate::error::{Error, is_full};

/// A user without privileges, as which processes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// Creates a folder that only `owner` can use; without an owner, only this process's user.
pub(crate) fn create(path: &Path, owner: Option<User>) -> Result<(), Error> {
    DirBuilder::new().mode(0o700).create(path).map_err(|error| Error::folder("create", path, error))?;
    give(path, owner)
}

/// Makes `owner` the owner of one file or folder.
pub(crate) fn give(path: &Path, owner: Option<User>) -> Result<(), Error> {
    let Some(User { uid, gid }) = owner else { return Ok(()) };
    std::os::unix::fs::chown(path, Some(uid), Some(gid))
        .map_err(|error| Error::folder("hand over", path, error))
}

/// A file with `text`, readable by its owner alone.
pub(crate) fn write(path: &Path, text: &str, owner: Option<User>) -> Result<(), Error> {
    fs::write(path, text).map_err(|error| Error::folder("write", path, error))?;
    let private = Permissions::from_mode(0o600);
    fs::set_permissions(path, private).map_err(|error| Error::folder("write", path, error))?;
    give(path, owner)
}

/// Makes `to`, which must not exist, a copy of the folder `from`: folders, files and links with their permissions.
/// Omits sockets and pipes; programs create them again.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(from).map_err(|error| Error::folder("read", from, error))?;
    create(to, None)?;
    for entry in entries {
        let entry = entry.map_err(|error| Error::folder("read", from, error))?;
        copy_entry(&entry, &to.join(entry.file_name()))?;
    }
    let rights = fs::metadata(from).and_then(|metadata| fs::set_permissions(to, metadata.permissions()));
    rights.map_err(|error| Error::folder("copy", from, error))
}

fn copy_entry(entry: &fs::DirEntry, to: &Path) -> Result<(), Error> {
    let from = entry.path();
    let failed = |error: io::Error| {
        if is_full(&error) {
            return Error::DiskFull { what: format!("a copy of `{}`", from.display()), path: to.to_owned() };
        }
        Error::folder("copy", &from, error)
    };
    let kind = entry.file_type().map_err(failed)?;
    if kind.is_dir() {
        copy(&from, to)
    } else if kind.is_symlink() {
        fs::read_link(&from).and_then(|target| symlink(target, to)).map_err(failed)
    } else if kind.is_file() {
        fs::copy(&from, to).map(drop).map_err(failed)
    } else {
        Ok(())
    }
}

/// Removes a folder with everything in it, even if a program removed its own write permission. A missing folder is not
/// an error.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    let mut result = fs::remove_dir_all(path);
    // A process that is being ended can still write a file; a program can have locked a folder.
    for _ in 0..5 {
        match &result {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => unlock(path),
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
        result = fs::remove_dir_all(path);
    }
    result.map_err(|error| Error::folder("remove", path, error))
}

/// Sets the permissions that are needed to remove the content of one of our folders.
fn unlock(path: &Path) {
    if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return;
    }
    let _ = fs::set_permissions(path, Permissions::from_mode(0o700));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        unlock(&entry.path());
    }
}

/// The last `lines` lines of a file, without its control characters; of its last 64 KiB. None when it cannot be read.
pub(crate) fn last_lines(path: &Path, lines: usize) -> Vec<String> {
    const LOOK_BACK: u64 = 64 * 1024;
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOOK_BACK)))?;
        let mut bytes = Vec::new();
        file.take(LOOK_BACK).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let Ok(bytes) = read() else { return Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].iter().map(|line| clean(line)).collect()
}

fn clean(line: &str) -> String {
    const LONGEST: usize = 300;
    line.chars().filter(|c| !c.is_control() || *c == '\t').take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temporary() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_copy_has_folders_files_links_and_rights() {
        let folder = temporary();
        let from = folder.path().join("from");
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/file"), "text").unwrap();
        fs::set_permissions(from.join("a/b/file"), Permissions::from_mode(0o640)).unwrap();
        symlink("b/file", from.join("a/link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(from.join("socket")).unwrap();
        let to = folder.path().join("to");
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/link")).unwrap(), "text");
        assert_eq!(fs::metadata(to.join("a/b/file")).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(!to.join("socket").exists());
    }

    #[test]
    fn a_folder_that_its_program_locked_is_removed_too() {
        let folder = temporary();
        let locked = folder.path().join("x/locked");
        fs::create_dir_all(&locked).unwrap();
        fs::write(locked.join("file"), "").unwrap();
        fs::set_permissions(&locked, Permissions::from_mode(0o500)).unwrap();
        remove(&folder.path().join("x")).unwrap();
        assert!(!folder.path().join("x").exists());
        remove(&folder.path().join("x")).unwrap();
    }

    #[test]
    fn the_last_lines_of_a_log_cannot_steer_a_terminal() {
        let folder = temporary();
        let log = folder.path().join("log");
        fs::write(&log, "one\n\ntwo\u{1b}[2J\nthree\n").unwrap();
        assert_eq!(last_lines(&log, 2), ["two[2J", "three"]);
        assert!(last_lines(&folder.path().join("none"), 2).is_empty());
    }

    #[test]
    fn an_unreadable_folder_is_named() {
        let error = copy(Path::new("/nowhere/at/all"), &temporary().path().join("to")).unwrap_err();
        assert_eq!(error.to_string(), "cannot read `/nowhere/at/all`: no such file or directory");
    }
}
