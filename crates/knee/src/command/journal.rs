//! The record of a run as a file that grows during the run.
//!
//! Does not know the format (`knee_core::record::format` does) nor where the file lies
//! ([`crate::store`] does).

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use knee_core::clock::MonotonicClock;
use knee_core::interval::Interval;
use knee_core::record::format::{GAVE_UP, Note, Writer};
use knee_core::record::{Head, Tail};
use knee_engine::run::Journal;

use crate::problem::{Problem, on_one_line, reason};
use crate::store::NewRecord;

/// A record being written. Every frame is passed to the kernel in one piece. So if this process dies, only the
/// interval in progress is lost. Writing the tail also syncs the record to disk.
pub struct FileJournal {
    /// `None` if nothing more can be written.
    writer: Option<Writer<File>>,
    /// The same open file, to measure and to sync it.
    file: File,
    /// Where the last whole frame begins and ends.
    last: (u64, u64),
    clock: MonotonicClock,
    trouble: Trouble,
}

/// A record and its state, for the program that made it.
pub struct Record {
    /// Its name.
    pub path: PathBuf,
    trouble: Trouble,
}

impl Record {
    /// After the run: the problem of a record that lacks a part of its run. `hint` says what to do.
    pub fn problem(&self, hint: &str) -> Option<Problem> {
        let why = self.trouble.get()?;
        Some(Problem::new(format!("the record `{}` is incomplete: {why}", self.path.display()), hint))
    }
}

/// Writes the head of a record that was opened. A record that cannot be written is a warning: the run goes on without.
pub fn begin(
    opened: Result<NewRecord, String>,
    head: &Head,
    narrate: fn(&str),
) -> Option<(FileJournal, Record)> {
    let begun = opened.and_then(|NewRecord { file, path }| match FileJournal::begin(file, head) {
        Ok(journal) => {
            let trouble = journal.trouble.clone();
            Ok((journal, Record { path, trouble }))
        }
        Err(error) => {
            // What was written of it is no record.
            let _ = std::fs::remove_file(&path);
            Err(format!("this run is not saved: `{}`: {}", path.display(), reason(&error)))
        }
    });
    begun.map_err(|warning| narrate(&format!("warning: {}", on_one_line(&warning)))).ok()
}

/// Why a record is incomplete, if it is. Clones are the same.
#[derive(Clone, Debug, Default)]
struct Trouble(Arc<Mutex<Option<String>>>);

impl Trouble {
    /// The reason in words; `None` if the record is complete.
    fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, error: &io::Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| reason(error));
    }
}

impl FileJournal {
    /// Writes the head.
    ///
    /// # Errors
    ///
    /// Those of the file.
    fn begin(file: File, head: &Head) -> io::Result<Self> {
        let same = file.try_clone()?;
        let writer = Some(Writer::new(file, head)?);
        let mut journal = Self {
            writer,
            file: same,
            last: (0, 0),
            clock: MonotonicClock::start(),
            trouble: Trouble::default(),
        };
        journal.mark();
        Ok(journal)
    }

    /// Marks everything so far as whole frames.
    fn mark(&mut self) {
        // A pipe has no position; nothing can be cut off it either.
        self.last = (self.last.1, self.file.stream_position().unwrap_or(0));
    }

    /// Cuts off the torn frame and writes the reason into the record. If there is no space for that, the last interval
    /// is removed: the record is a second shorter, but has the reason.
    fn give_up(&mut self, error: &io::Error) {
        self.trouble.set(error);
        let Some(mut writer) = self.writer.take() else { return };
        let text = format!("{GAVE_UP}{}", reason(error));
        let note = Note { at: self.clock.now(), text };
        let (begin, end) = self.last;
        // Without its head it would be no record.
        let ends = [end, if begin > 0 { begin } else { end }];
        let noted = ends.into_iter().any(|end| {
            let cut = self.file.set_len(end).and_then(|()| self.file.seek(SeekFrom::Start(end)));
            cut.and_then(|_| writer.note(&note)).is_ok()
        });
        if !noted {
            let _ = self.file.set_len(end);
        }
        let _ = self.file.sync_all();
    }
}

/// Waits until a file is on the disk.
fn synced(file: &File) -> io::Result<()> {
    match file.sync_all() {
        // Pipes and devices cannot be synced.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

impl Journal for FileJournal {
    fn interval(&mut self, interval: &Interval) -> io::Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let written = writer.interval(interval);
        match &written {
            Ok(()) => self.mark(),
            Err(error) => self.give_up(error),
        }
        written
    }

    fn tail(&mut self, tail: &Tail) -> io::Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        if let Err(error) = writer.end(tail) {
            self.give_up(&error);
            return Err(error);
        }
        // What the system has not written yet can still fail. Closing a file reports no errors, syncing it does.
        synced(&self.file).inspect_err(|error| self.trouble.set(error))
    }
}
