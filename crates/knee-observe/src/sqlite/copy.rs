//! A copy of a database that a service uses, in a folder for temporary files.
//!
//! Only reads the bytes of the files: takes no lock, does not open the database with SQLite, and writes nothing beside
//! it. So no transaction and no checkpoint of the service waits for a lock of a copy. Whether the service wrote in a way
//! that makes the copy a mix of two states is known afterwards, and then there is another attempt:
//!
//! - With a WAL, pages of the database change only in checkpoints, which write what is in the WAL. The WAL is copied
//!   after the database, so it has these pages too, and SQLite reads them there. It passes over what follows the last
//!   whole transaction. Pages are missing only if the WAL began at its start again, and then its header has another
//!   salt. Where no WAL is there, or an empty one, one can have been written, brought into the database and removed
//!   meanwhile: then the database is another one, as without a WAL.
//! - Without a WAL, a transaction counts in the header of the database, and it has a journal for as long as it writes.
//!   If the service keeps its journal in memory, the time of the last write is what is left to compare.
//!
//! Sources: <https://www.sqlite.org/fileformat2.html> and <https://www.sqlite.org/walformat.html>. The copy has the
//! data of the service. Only this user can read it, and it is removed when it is dropped.

use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::{beginning, beside, file_id, parse};
use crate::host::parse::kibibytes;

/// Most bytes of a database with its WAL that are copied.
pub(super) const BYTES_MAX: u64 = 512 << 20;
/// What stays free where the copy is, and in memory.
const FREE: u64 = 64 << 20;
/// Most links behind each other that are followed.
const LINKS_MAX: usize = 40;
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes that are copied between two looks at the time.
const PART: u64 = 8 << 20;
/// How a journal begins that a transaction needs.
const JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoCopy {
    #[error("the file is no SQLite 3 database")]
    NoDatabase,
    #[error("the database has {has} MiB, and at most {most} MiB are copied")]
    TooLarge { has: u64, most: u64 },
    #[error("the folder for temporary files has no room for a copy of the database")]
    NoRoom,
    #[error("the memory of this machine has no room for a copy of the database")]
    NoMemory,
    #[error("the link to the database leads to another file from here")]
    Elsewhere,
    #[error("a transaction wrote during each attempt to copy the database")]
    Written,
    #[error("the database was not copied in time")]
    Late,
    #[error(transparent)]
    Unreadable(#[from] io::Error),
}

/// A copy.
#[derive(Debug)]
pub(super) struct Copied {
    pub(super) path: PathBuf,
    /// Removed with this.
    _folder: TempDir,
}

/// Copies a database of at most `most` bytes, unless it gets late.
pub(super) fn copy(path: &Path, most: u64, is_late: &dyn Fn() -> bool) -> Result<Copied, NoCopy> {
    // SQLite has the WAL beside the file itself, not beside a link to it.
    let path = followed(path)?;
    Stamp::of(&path)?;
    // Without these permissions, every user of the machine could read the copy.
    let owner_only = Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new().prefix("knee-sqlite-").permissions(owner_only).tempdir()?;
    let copied = Copied { path: folder.path().join("copy.db"), _folder: folder };
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            thread::sleep(PAUSE);
        }
        check_size(&path, &copied.path, most)?;
        // In this order, and in the other one behind the copy: a transaction that has counted already has its journal
        // for as long as it writes.
        let before = Stamp::of(&path)?;
        if has_journal(&path) {
            continue;
        }
        copy_file(&path, &copied.path, most, is_late)?;
        copy_wal(&path, &copied.path, most, is_late)?;
        if !has_journal(&path) && Stamp::of(&path)? == before {
            return Ok(copied);
        }
    }
    Err(NoCopy::Written)
}

/// The file that links lead to. Folders of the path stay as they are: the root of another process, `/proc/PID/root`,
/// looks like a link to the root of this one.
fn followed(given: &Path) -> Result<PathBuf, NoCopy> {
    let mut path = given.to_owned();
    for _ in 0..LINKS_MAX {
        if !fs::symlink_metadata(&path)?.is_symlink() {
            return if file_id(&path) == file_id(given) { Ok(path) } else { Err(NoCopy::Elsewhere) };
        }
        let target = fs::read_link(&path)?;
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(NoCopy::Elsewhere)
}

/// What is another one after a copy that can be a mix of two states.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    /// The header of the WAL; empty without one.
    wal: Vec<u8>,
    /// Without a WAL, or with an empty one: the transactions that changed the database, and when it was written last.
    changes: Option<(u32, i64, i64)>,
    /// The number of the file: another one can have its name.
    file: u64,
}

impl Stamp {
    fn of(path: &Path) -> Result<Self, NoCopy> {
        let header = parse::header(&beginning(path, 100)?).ok_or(NoCopy::NoDatabase)?;
        let metadata = fs::metadata(path)?;
        let changes = (header.changes, metadata.mtime(), metadata.mtime_nsec());
        let wal = beginning(&beside(path, "-wal"), 32).unwrap_or_default();
        let is_alone = !header.is_wal || wal.is_empty();
        Ok(Self { wal, changes: is_alone.then_some(changes), file: metadata.ino() })
    }
}

/// Whether a transaction writes into the database, or died when it did. A journal that is not needed has no such
/// beginning.
fn has_journal(path: &Path) -> bool {
    beginning(&beside(path, "-journal"), 8).is_ok_and(|bytes| bytes == JOURNAL)
}

fn check_size(path: &Path, copy: &Path, most: u64) -> Result<(), NoCopy> {
    let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let bytes = size(path).saturating_add(size(&beside(path, "-wal")));
    if bytes > most {
        return Err(too_large(bytes, most));
    }
    let folder = copy.parent().unwrap_or(copy);
    let room = rustix::fs::statvfs(folder).map_err(io::Error::from)?;
    // What an attempt before has written is there already.
    let copied = size(copy).saturating_add(size(&beside(copy, "-wal")));
    let needed = bytes.saturating_add(FREE).saturating_sub(copied);
    if room.f_bavail.saturating_mul(room.f_frsize) < needed {
        return Err(NoCopy::NoRoom);
    }
    // The folder can be in memory, which the service needs.
    let memory = fs::read_to_string("/proc/meminfo").ok();
    let free = memory.and_then(|text| kibibytes(&text, "MemAvailable"));
    if free.is_some_and(|free| free < needed as f64) { Err(NoCopy::NoMemory) } else { Ok(()) }
}

const fn too_large(bytes: u64, most: u64) -> NoCopy {
    NoCopy::TooLarge { has: bytes.div_ceil(1 << 20), most: most >> 20 }
}

/// The WAL can be gone, now or since an attempt before.
fn copy_wal(path: &Path, copy: &Path, most: u64, is_late: &dyn Fn() -> bool) -> Result<(), NoCopy> {
    let (from, to) = (beside(path, "-wal"), beside(copy, "-wal"));
    if !from.exists() {
        if to.exists() {
            fs::remove_file(&to)?;
        }
        return Ok(());
    }
    match copy_file(&from, &to, most, is_late) {
        // Removed in this moment: the header of the WAL is another one afterwards.
        Err(NoCopy::Unreadable(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn copy_file(from: &Path, to: &Path, most: u64, is_late: &dyn Fn() -> bool) -> Result<(), NoCopy> {
    let (mut from, mut to) = (File::open(from)?, File::create(to)?);
    let mut copied = 0_u64;
    loop {
        if is_late() {
            return Err(NoCopy::Late);
        }
        let part = io::copy(&mut Read::by_ref(&mut from).take(PART), &mut to)?;
        copied = copied.saturating_add(part);
        if part == 0 {
            return Ok(());
        }
        // It has grown since its size was looked at.
        if copied > most {
            return Err(too_large(copied, most));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rusqlite::Connection;

    use super::*;

    const NEVER: &dyn Fn() -> bool = &|| false;

    fn database(path: &Path, mode: &str) -> Connection {
        let database = Connection::open(path).unwrap();
        let script = "PRAGMA synchronous=OFF; CREATE TABLE a (n, filler); CREATE TABLE b (n, filler)";
        database.execute_batch(&format!("PRAGMA journal_mode={mode}; {script}")).unwrap();
        database
    }

    /// One row in each of the two tables, in one transaction.
    fn add(database: &Connection) {
        let row = "(1, hex(randomblob(3000)))";
        let script = format!("BEGIN; INSERT INTO a VALUES {row}; INSERT INTO b VALUES {row}; COMMIT");
        database.execute_batch(&script).unwrap();
    }

    fn rows(database: &Connection, table: &str) -> i64 {
        database.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    /// Fails unless a copy is whole. Returns the number of its transactions.
    fn transactions(copied: &Copied) -> i64 {
        let database = Connection::open(&copied.path).unwrap();
        let check: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
        assert_eq!(
            rows(&database, "a"),
            rows(&database, "b"),
            "a transaction is in it as a whole or not at all"
        );
        rows(&database, "a")
    }

    /// Copies while another thread writes. That thread has the only connection: to close a file gives back the locks of
    /// the process, which is that of the writer in this test.
    fn copies_beside_a_writer(mode: &str, pause: Duration) -> Vec<Copied> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.db");
        let service = database(&path, mode);
        (0..200).for_each(|_| add(&service));
        let is_over = AtomicBool::new(false);
        let writes = || !is_over.load(Ordering::Relaxed);
        thread::scope(|scope| {
            scope.spawn(move || {
                while writes() {
                    add(&service);
                    thread::sleep(pause);
                }
            });
            let copies = (0..10).map(|_| {
                thread::sleep(Duration::from_millis(20));
                copy(&path, BYTES_MAX, NEVER)
            });
            let copies: Vec<_> = copies.collect();
            is_over.store(true, Ordering::Relaxed);
            copies.into_iter().filter_map(Result::ok).collect()
        })
    }

    #[test]
    fn a_copy_of_a_database_that_is_written_meanwhile_is_whole_and_has_what_is_in_the_wal() {
        let copies = copies_beside_a_writer("WAL", Duration::from_millis(2));
        let counts: Vec<i64> = copies.iter().map(transactions).collect();
        assert!(
            counts.last().is_some_and(|last| *last > 200),
            "what was written before and meanwhile: {counts:?}"
        );
    }

    #[test]
    fn a_copy_without_a_wal_is_whole_too() {
        let copies = copies_beside_a_writer("DELETE", Duration::from_millis(30));
        let counts: Vec<i64> = copies.iter().map(transactions).collect();
        assert!(counts.last().is_some_and(|last| *last >= 200), "{counts:?}");
    }

    #[test]
    fn a_wal_that_came_and_went_during_a_copy_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.db");
        drop(database(&path, "WAL"));
        let before = Stamp::of(&path).unwrap();
        assert_eq!(Stamp::of(&path).unwrap(), before);
        thread::sleep(PAUSE);
        let service = Connection::open(&path).unwrap();
        add(&service);
        drop(service);
        assert!(!beside(&path, "-wal").exists(), "the last connection removes it");
        assert_ne!(Stamp::of(&path).unwrap(), before);
    }

    #[test]
    fn no_other_user_can_read_a_copy_and_links_to_a_database_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.db");
        let service = database(&path, "WAL");
        add(&service);
        let (first, second) = (folder.path().join("first.db"), folder.path().join("second.db"));
        std::os::unix::fs::symlink(&path, &first).unwrap();
        std::os::unix::fs::symlink("first.db", &second).unwrap();
        let copied = copy(&second, BYTES_MAX, NEVER).unwrap();
        let mode = fs::metadata(copied.path.parent().unwrap()).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
        assert_eq!(transactions(&copied), 1, "its WAL is that beside the file");
        let endless = folder.path().join("endless.db");
        std::os::unix::fs::symlink("endless.db", &endless).unwrap();
        assert!(copy(&endless, BYTES_MAX, NEVER).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_root_of_a_process_in_a_path_is_not_taken_for_that_of_this_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("shop.db");
        drop(database(&path, "DELETE"));
        let below = Path::new("/proc/self/root").join(path.strip_prefix("/").unwrap());
        assert_eq!(followed(&below).unwrap(), below);
    }

    #[test]
    fn nothing_is_written_beside_the_database_and_the_copy_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.db");
        drop(database(&path, "WAL"));
        let copied = copy(&path, BYTES_MAX, NEVER).unwrap();
        assert_eq!(transactions(&copied), 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a WAL or an index was made");
        let place = copied.path.clone();
        drop(copied);
        assert!(!place.parent().unwrap().exists());
    }

    #[test]
    fn what_is_no_database_too_large_late_or_in_a_transaction_is_not_copied_and_that_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.db");
        let service = database(&path, "DELETE");
        (0..200).for_each(|_| add(&service));
        let reason = |path: &Path, most: u64, is_late: &dyn Fn() -> bool| {
            copy(path, most, is_late).unwrap_err().to_string()
        };
        let large = reason(&path, 1 << 20, NEVER);
        assert!(large.ends_with("MiB, and at most 1 MiB are copied"), "{large}");
        assert_eq!(reason(&path, BYTES_MAX, &|| true), "the database was not copied in time");
        fs::write(beside(&path, "-journal"), JOURNAL).unwrap();
        let written = reason(&path, BYTES_MAX, NEVER);
        assert_eq!(written, "a transaction wrote during each attempt to copy the database");
        let notes = folder.path().join("notes.txt");
        fs::write(&notes, "no database").unwrap();
        assert_eq!(reason(&notes, BYTES_MAX, NEVER), "the file is no SQLite 3 database");
        let gone = folder.path().join("gone.db");
        assert!(!reason(&gone, BYTES_MAX, NEVER).contains("gone.db"), "the source has its name already");
    }
}
