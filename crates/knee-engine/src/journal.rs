//! The record of a run as a file that grows during the run.
//!
//! Does not know the format (`knee_core::record::format` does) nor where the file lies. Does not repeat a write that
//! failed: a record with an error ends there and says why.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

use knee_core::amendment::Amendment;
use knee_core::interval::Interval;
use knee_core::metric::Metrics;
use knee_core::observation::Batch;
use knee_core::record::format::{GAVE_UP, Note, Writer};
use knee_core::record::{Head, Lateness, Tail};
use knee_core::unit::Nanos;

/// Receives the intervals of a run, to keep them.
pub trait Journal {
    /// The load begins now, at `started` by the wall clock.
    ///
    /// # Errors
    /// As [`Journal::interval`].
    fn begin(&mut self, started: Nanos) -> io::Result<()>;

    /// Writes one complete interval.
    ///
    /// # Errors
    /// Those of the file. Nothing more is written afterwards.
    fn interval(&mut self, interval: &Interval) -> io::Result<()>;

    /// Writes a line of text.
    ///
    /// # Errors
    /// As [`Journal::interval`].
    fn note(&mut self, note: &Note) -> io::Result<()>;

    /// Writes a change of the plan.
    ///
    /// # Errors
    /// As [`Journal::interval`].
    fn amendment(&mut self, amendment: &Amendment) -> io::Result<()>;

    /// Writes when the part of an agent began.
    ///
    /// # Errors
    /// As [`Journal::interval`].
    fn lateness(&mut self, lateness: &Lateness) -> io::Result<()>;

    /// Writes what scripts counted.
    ///
    /// # Errors
    /// As [`Journal::interval`].
    fn metrics(&mut self, metrics: Metrics) -> io::Result<()>;

    /// Writes what observers read.
    ///
    /// # Errors
    /// As [`Journal::interval`].
    fn observations(&mut self, batch: &Batch) -> io::Result<()>;

    /// Writes the end of the run, and waits until the whole record is on the disk.
    ///
    /// # Errors
    /// As [`Journal::interval`].
    fn tail(&mut self, tail: &Tail) -> io::Result<()>;
}

/// A file that a record is written to.
pub trait RecordFile: Write {
    /// Removes everything behind the first `length` bytes; the next write continues there.
    ///
    /// # Errors
    /// Those of the system.
    fn cut(&mut self, length: u64) -> io::Result<()>;

    /// Waits until everything is on the disk. What the system has not written yet can still fail, and closing a file
    /// does not report that.
    ///
    /// # Errors
    /// Those of the system.
    fn sync(&mut self) -> io::Result<()>;
}

impl RecordFile for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(drop)
    }

    fn sync(&mut self) -> io::Result<()> {
        match self.sync_all() {
            // Pipes and devices cannot be synced.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
            synced => synced,
        }
    }
}

/// A record being written. Every frame is passed to the kernel in one piece. So if this process dies, only the
/// interval in progress is lost. Writing the tail also syncs the record to disk.
pub struct FileJournal<F: RecordFile> {
    /// `None` if nothing more can be written.
    writer: Option<Writer<F>>,
    /// File and head of a record that is begun with the load.
    waiting: Option<(F, Head)>,
    /// Where the last whole frame begins and ends.
    last: (u64, u64),
    /// End of the last interval, whether it was written or not.
    now: Nanos,
    trouble: Trouble,
}

/// Why a record is incomplete, if it is. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Trouble(Arc<Mutex<Option<String>>>);

impl Trouble {
    /// The reason in words; `None` if the record is complete.
    pub fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, error: &io::Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| reason(error));
    }
}

impl<F: RecordFile> FileJournal<F> {
    /// Writes the head.
    ///
    /// # Errors
    /// Those of the file.
    pub fn begin(file: F, head: &Head) -> io::Result<Self> {
        let writer = Writer::new(file, head)?;
        let last = (0, writer.length());
        Ok(Self { writer: Some(writer), waiting: None, last, now: Nanos::ZERO, trouble: Trouble::default() })
    }

    /// Writes the head only when the load begins, for one that waits at a gate: the head says when it began.
    pub fn waiting(file: F, head: Head) -> Self {
        let (waiting, trouble) = (Some((file, head)), Trouble::default());
        Self { writer: None, waiting, last: (0, 0), now: Nanos::ZERO, trouble }
    }

    /// Where to find out later whether the record is complete.
    pub fn trouble(&self) -> Trouble {
        self.trouble.clone()
    }

    /// Writes a frame, or ends the record with the reason why that is impossible.
    fn write(&mut self, write: impl FnOnce(&mut Writer<F>) -> io::Result<()>) -> io::Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        match write(writer) {
            Ok(()) => self.last = (self.last.1, writer.length()),
            Err(error) => {
                self.give_up(&error);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Cuts off the torn frame and writes the reason into the record. If there is no space for that, the last frame is
    /// removed: the record is a second shorter, but has the reason.
    fn give_up(&mut self, error: &io::Error) {
        self.trouble.set(error);
        let Some(mut writer) = self.writer.take() else { return };
        let note = Note { at: self.now, text: format!("{GAVE_UP}{}", reason(error)) };
        let (begin, end) = self.last;
        // Without its head it would be no record.
        let ends = [end, if begin > 0 { begin } else { end }];
        let noted =
            ends.into_iter().any(|end| writer.sink_mut().cut(end).and_then(|()| writer.note(&note)).is_ok());
        if !noted {
            // A torn frame at the end does no harm: a reader takes it for the end.
            let _ = writer.sink_mut().cut(end);
        }
        // The record has its reason already; a second one would say less.
        let _ = writer.sink_mut().sync();
    }
}

impl<F: RecordFile> Journal for FileJournal<F> {
    fn begin(&mut self, started: Nanos) -> io::Result<()> {
        let Some((file, head)) = self.waiting.take() else { return Ok(()) };
        let writer =
            Writer::new(file, &Head { started, ..head }).inspect_err(|error| self.trouble.set(error))?;
        self.last = (0, writer.length());
        self.writer = Some(writer);
        Ok(())
    }

    fn interval(&mut self, interval: &Interval) -> io::Result<()> {
        self.now = interval.to;
        self.write(|writer| writer.interval(interval))
    }

    fn note(&mut self, note: &Note) -> io::Result<()> {
        self.write(|writer| writer.note(note))
    }

    fn amendment(&mut self, amendment: &Amendment) -> io::Result<()> {
        self.write(|writer| writer.amendment(amendment))
    }

    fn lateness(&mut self, lateness: &Lateness) -> io::Result<()> {
        self.write(|writer| writer.lateness(lateness))
    }

    fn metrics(&mut self, metrics: Metrics) -> io::Result<()> {
        self.write(|writer| writer.metrics(metrics))
    }

    fn observations(&mut self, batch: &Batch) -> io::Result<()> {
        self.write(|writer| writer.observations(batch))
    }

    fn tail(&mut self, tail: &Tail) -> io::Result<()> {
        self.write(|writer| writer.end(tail))?;
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.sink_mut().sync().inspect_err(|error| self.trouble.set(error))
    }
}

/// Why an operation of the system failed, without the number of the error.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let mut text = text.split(" (os error").next().unwrap_or_default().to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    text
}
