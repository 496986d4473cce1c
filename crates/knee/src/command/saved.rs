//! What a file holds that `knee report` or `knee compare` is given: a run or another result, as a file of its own or
//! within an HTML page.
//!
//! Reports damage. Does not find files (the store does) and does not print results.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use knee_core::record::Run;
use knee_core::record::format::ReadError;
use knee_core::record::run::read;
use knee_report::kept::{self, FILE_BYTES_MAX, KeptResult};
use knee_report::page_data::{self, Carried, PAGE_BYTES_MAX};

use crate::problem::{Problem, on_one_line, reason};
use crate::store;

/// What a file holds.
pub enum Saved {
    /// A run, and whether it was within a page.
    Run(Box<Run>, Place),
    /// Any other result.
    Result(Box<KeptResult>),
}

/// Where a run was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In its record.
    Record,
    /// In a page, without its intervals.
    Page,
}

/// Reads a file and reports its damage.
///
/// # Errors
///
/// When it cannot be read, or holds nothing that knee wrote.
pub fn open(path: &Path, narrate: fn(&str)) -> Result<Saved, Problem> {
    let file = File::open(path).map_err(|error| of_file(path, &reason(&error), "check its permissions"))?;
    if store::is_in_progress(&file) {
        narrate("note: this run is in progress; this is what is saved so far");
    }
    let mut source = BufReader::new(file);
    let unreadable = |error: std::io::Error| of_file(path, &reason(&error), "give the file of a saved run");
    let start = source.fill_buf().map_err(unreadable)?.to_vec();
    if page_data::is_page(&start) {
        return of_page(path, &at_most(source, PAGE_BYTES_MAX as u64).map_err(unreadable)?, narrate);
    }
    if start.starts_with(&kept::MAGIC) {
        let bytes = at_most(source, FILE_BYTES_MAX).map_err(unreadable)?;
        return result(path, &bytes).map(|kept| Saved::Result(Box::new(kept)));
    }
    run(path, source, narrate).map(|run| Saved::Run(Box::new(run), Place::Record))
}

/// Reads the run of a record or of a page.
///
/// # Errors
///
/// As [`open`], and when the file holds another result.
pub fn open_run(path: &Path, narrate: fn(&str)) -> Result<Run, Problem> {
    run_of(path, open(path, narrate)?)
}

/// The run that a file holds.
///
/// # Errors
///
/// When the file holds another result.
pub fn run_of(path: &Path, saved: Saved) -> Result<Run, Problem> {
    match saved {
        Saved::Run(run, _) => Ok(*run),
        Saved::Result(kept) => {
            let what = format!("this is the result of a {}, not a run", kept.summary.kind.name());
            Err(of_file(path, &what, "give a run; `knee history` lists what is saved"))
        }
    }
}

fn of_page(path: &Path, page: &[u8], narrate: fn(&str)) -> Result<Saved, Problem> {
    let carried = page_data::read(page).map_err(|error| {
        let hint =
            "give the whole page as knee wrote it, or the record of the run; `knee history` lists records";
        of_file(path, &error.to_string(), hint)
    })?;
    match carried {
        Carried::Record(bytes) => {
            run(path, &*bytes, narrate).map(|run| Saved::Run(Box::new(run), Place::Page))
        }
        Carried::Result(bytes) => {
            let kept = result(path, &bytes)?;
            let page = String::from_utf8_lossy(page).into_owned();
            Ok(Saved::Result(Box::new(kept.with_page(page))))
        }
    }
}

fn result(path: &Path, bytes: &[u8]) -> Result<KeptResult, Problem> {
    KeptResult::unpack(bytes).map_err(|error| {
        let hint =
            "use the version of knee that wrote it, or give another file; `knee history` lists what is saved";
        of_file(path, &error.to_string(), hint)
    })
}

fn run(path: &Path, source: impl Read, narrate: fn(&str)) -> Result<Run, Problem> {
    let reading = read(source).map_err(|error| {
        let hint = match error {
            ReadError::Version(_) | ReadError::Later { .. } => {
                "use the version of knee that wrote it, or a later one"
            }
            _ => "give the file of a saved run; `knee report --list` lists them",
        };
        of_file(path, &error.to_string(), hint)
    })?;
    for note in &reading.notes {
        narrate(&format!("note: at {}: {}", note.at, on_one_line(&note.text)));
    }
    Ok(reading.run)
}

/// The bytes of a file that is not larger than `limit`; of a larger one, one more.
fn at_most(source: impl Read, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn of_file(path: &Path, what: &str, hint: &str) -> Problem {
    let name = on_one_line(&path.display().to_string());
    Problem::new(format!("`{name}`: {}", on_one_line(what)), hint)
}
