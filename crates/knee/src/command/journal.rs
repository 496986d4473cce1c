//! The record of a run, for the program that made it: begun in a new file, and its problem named afterwards.
//!
//! Does not write frames ([`knee_engine::journal`] does) nor choose the file ([`crate::store`] does).

use std::fs::File;
use std::path::PathBuf;

use knee_core::record::Head;
use knee_engine::journal::{FileJournal, Trouble};

use crate::problem::{Problem, on_one_line, reason};
use crate::store::NewRecord;

/// A record and its state, for the program that made it.
pub struct Record {
    /// Its name.
    pub path: PathBuf,
    trouble: Trouble,
}

impl Record {
    /// A whole record that was merged from others.
    pub fn merged(path: PathBuf) -> Self {
        Self { path, trouble: Trouble::default() }
    }

    /// After the run: the problem of a record that lacks a part of its run. `hint` says what to do.
    pub fn problem(&self, hint: &str) -> Option<Problem> {
        let why = self.trouble.get()?;
        Some(Problem::new(format!("the record `{}` is incomplete: {why}", self.path.display()), hint))
    }
}

/// The same for a load that waits for its start: the head is written then.
pub fn waiting(opened: NewRecord, head: &Head) -> (FileJournal<File>, Record) {
    let journal = FileJournal::waiting(opened.file, head.clone());
    let trouble = journal.trouble();
    (journal, Record { path: opened.path, trouble })
}

/// Writes the head of a record that was opened. A record that cannot be written is a warning: the run goes on without.
pub fn begin(
    opened: Result<NewRecord, String>,
    head: &Head,
    narrate: fn(&str),
) -> Option<(FileJournal<File>, Record)> {
    let begun = opened.and_then(|NewRecord { file, path }| match FileJournal::begin(file, head) {
        Ok(journal) => {
            let trouble = journal.trouble();
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
