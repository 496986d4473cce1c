//! Files that only their owner can read: records, logs and results contain URLs, host names and errors.
//!
//! An existing file keeps its permissions, because its owner chose them. Does not encrypt.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Options for a file that only its owner can read, if it is new.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Creates a new file, open for writing.
///
/// # Errors
///
/// If there is one of this name, or it cannot be written.
pub fn create_new(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// Writes a whole file, in place of its content if it exists.
///
/// # Errors
///
/// If it cannot be written.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    options().write(true).create(true).truncate(true).open(path)?.write_all(content)
}

/// Creates a folder and those above it that are missing; only their owner can enter them.
///
/// # Errors
///
/// If one cannot be created.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Creates a folder that only its owner can enter. Of two programs that create it at the same time, one does.
///
/// # Errors
///
/// If it exists, or cannot be created.
pub fn create_new_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_its_owner_can_read_a_new_file_or_enter_a_new_folder() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/b");
        create_folder(&folder).unwrap();
        write(&folder.join("written"), b"text").unwrap();
        create_new(&folder.join("created")).unwrap();
        assert_eq!([mode(&folder), mode(folder.parent().unwrap())], [0o700; 2]);
        assert_eq!([mode(&folder.join("written")), mode(&folder.join("created"))], [0o600; 2]);
    }

    #[test]
    fn of_two_programs_that_want_a_new_folder_one_gets_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run-2");
        create_new_folder(&path).unwrap();
        assert_eq!(create_new_folder(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn an_existing_file_keeps_its_permissions_and_loses_its_old_content() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("shared");
        fs::write(&path, "an old and long text").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!((mode(&path), fs::read_to_string(&path).unwrap().as_str()), (0o644, "new"));
    }
}
