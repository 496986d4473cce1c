//! The record of a run as a file that grows while the run goes on.
//!
//! Does not know the format (`knee_core::record::format` does) nor where the file lies
//! ([`crate::store`] does).

use std::fs::File;
use std::io;

use knee_core::interval::Interval;
use knee_core::record::format::Writer;
use knee_core::record::{Head, Tail};
use knee_engine::run::Journal;

/// A record being written. Every frame is handed to the kernel whole and at once, so that the
/// death of this process, at any moment, costs the interval in progress and no more.
pub struct FileJournal {
    /// `None` once the tail was written.
    writer: Option<Writer<File>>,
}

impl FileJournal {
    /// Writes the head.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn begin(file: File, head: &Head) -> io::Result<Self> {
        Ok(Self { writer: Some(Writer::new(file, head)?) })
    }
}

impl Journal for FileJournal {
    fn interval(&mut self, interval: &Interval) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.interval(interval))
    }

    fn tail(&mut self, tail: &Tail) -> io::Result<()> {
        self.writer.take().map_or(Ok(()), |writer| writer.tail(tail).map(drop))
    }
}
