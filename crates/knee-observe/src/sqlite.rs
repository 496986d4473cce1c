//! A SQLite database from outside: its files, its WAL and its locks; and, after a run, plans of statements on a copy.
//!
//! Does not open the database of a service with SQLite and takes no lock on it: closing a descriptor of the file would
//! release the POSIX locks of a process, but only of this one. SQLite opens only copies ([`copy`], [`plan`]). [`parse`]
//! understands headers and `/proc/locks`.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use knee_core::unit::Nanos;

use crate::figures::{Bytes, Count, Counter, Figures};
use crate::sampler::{About, Depth, Sampler, Unreadable};

mod copy;
mod open;
mod parse;
mod plan;

pub use open::open_databases;
use parse::{FileId, Held};
pub(crate) use plan::{can_be_planned, is_cut, plans};

/// Pace of looks at the locks.
const LOOK_PACE: Duration = Duration::from_millis(50);

/// A database.
pub(crate) struct Sqlite {
    path: PathBuf,
    /// The database and its `-shm`.
    files: [Option<FileId>; 2],
    looks: f64,
    held: Held,
    /// The locks at the last look.
    last: parse::Locks,
}

impl Sqlite {
    /// The database in this file.
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            files: [None, None],
            looks: 0.0,
            held: Held::default(),
            last: parse::Locks::default(),
        }
    }
}

impl Sampler for Sqlite {
    fn connect(&mut self) -> Result<(), Unreadable> {
        let header = beginning(&self.path, 100).map_err(|error| Unreadable(error.to_string()))?;
        // A database without any content has no header yet.
        if header.is_empty() || parse::header(&header).is_some() {
            return Ok(());
        }
        Err(Unreadable("the file is no SQLite 3 database".to_owned()))
    }

    fn look_pace(&self, _planned: Option<Nanos>) -> Option<Duration> {
        Some(LOOK_PACE)
    }

    fn look(&mut self) -> Result<(), Unreadable> {
        let Ok(text) = fs::read_to_string("/proc/locks") else { return Ok(()) };
        self.last = parse::locks(&text, self.files);
        self.held.add(&self.last);
        self.looks += 1.0;
        Ok(())
    }

    fn read(&mut self, _: Nanos, _: Depth, figures: &mut Figures) -> Result<(), Unreadable> {
        let header = beginning(&self.path, 100).map_err(|error| Unreadable(error.to_string()))?;
        let shm = beside(&self.path, "-shm");
        self.files = [file_id(&self.path), file_id(&shm)];
        let size = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.len() as f64);
        figures.gauge("sqlite.bytes", Bytes, size(&self.path));
        figures.gauge("sqlite.wal.bytes", Bytes, size(&beside(&self.path, "-wal")));
        figures.gauge("sqlite.journal.bytes", Bytes, size(&beside(&self.path, "-journal")));
        let index = beginning(&shm, 136).ok().and_then(|bytes| parse::index(&bytes));
        if let Some(header) = parse::header(&header) {
            let changes = if header.is_wal { index.map(|index| index.changes) } else { Some(header.changes) };
            figures.counter("sqlite.transactions", Count, changes.map(f64::from));
            figures.text("setting", "journal_mode", if header.is_wal { "wal" } else { "rollback" });
            figures.text("setting", "page_size", header.page_size.to_string());
        }
        if let Some(index) = index {
            figures.gauge("sqlite.wal.frames", Count, f64::from(index.frames));
            figures.gauge("sqlite.wal.backfilled", Count, f64::from(index.backfilled));
            let oldest = index.oldest_reader(&self.last).map(f64::from);
            figures.gauge("sqlite.wal.oldest_reader", Count, oldest);
        }
        figures.counter("sqlite.lock.samples", Count, self.looks);
        for (lock, looks) in self.held.by_name() {
            figures.put("sqlite.lock.held", lock, Count, Counter, looks);
        }
        figures.counter("sqlite.lock.waiting", Count, self.held.waiting());
        Ok(())
    }

    fn about(&self) -> About {
        let hidden = fs::metadata("/proc/locks").is_err();
        let without = hidden.then(|| "locks: /proc/locks cannot be read".to_owned());
        About { without: without.into_iter().collect(), ..About::default() }
    }
}

/// The file with this ending beside a database.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// The first bytes of a file.
fn beginning(path: &Path, bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut read = Vec::new();
    File::open(path)?.take(bytes).read_to_end(&mut read)?;
    Ok(read)
}

fn file_id(path: &Path) -> Option<FileId> {
    let metadata = fs::metadata(path).ok()?;
    let device = metadata.dev();
    Some(FileId { major: rustix::fs::major(device), minor: rustix::fs::minor(device), inode: metadata.ino() })
}
