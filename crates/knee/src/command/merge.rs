//! `knee merge`: one result from the records of several machines that each did a part of a load.
//!
//! Does not add anything up; [`knee_core::record::merge`] does.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;

use knee_core::record::Run;
use knee_core::record::format::Reader;
use knee_core::record::merge::{MergeError, Merged, Place};
use knee_core::unit::Nanos;

use super::failed::{Failed, failed, refused};
use super::load::exit_of;
use super::{render, why_invalid};
use crate::args::{Format, MergeArgs};
use crate::exit::Exit;
use crate::problem::{Problem, on_one_line, reason};
use crate::settings::Surroundings;
use crate::settings::output::open_result;
use crate::store::{self, NewRecord, Store};

/// Runs the command.
///
/// # Errors
///
/// When a record cannot be read, does not belong to the others, or the result cannot be written.
pub fn merge(args: &MergeArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let paths = find(&args.records).map_err(refused)?;
    let mut sink = open_result(args.output.as_deref()).map_err(refused)?;
    let started = first_start(&paths).map_err(refused)?;
    let name = args.name.as_deref().unwrap_or("merged");
    let record = store::open_record(args.record.as_deref(), Store::of_process().as_ref(), started, name);
    let (run, path) = match record.map_err(refused)? {
        Ok(record) => saved(&paths, record)?,
        Err(warning) => {
            narrate(&format!("warning: {}", on_one_line(&warning)));
            (merged(&paths, std::io::sink())?.run, None)
        }
    };
    let surroundings = Surroundings::read();
    let color =
        !args.no_color && !surroundings.no_color && surroundings.stdout_terminal && args.output.is_none();
    let written = sink.write(render(&run, args.output_format, color, args.time_unit).as_bytes());
    if let Some(path) = path.filter(|_| args.output_format != Format::Quiet || written.is_err()) {
        narrate(&format!("record: {}", on_one_line(&path.display().to_string())));
    }
    written.map_err(failed)?;
    if let Some(line) = why_invalid(&run, args.output_format) {
        narrate(&line);
    }
    Ok(exit_of(&run.ending, run.validity.validity))
}

/// The files of the records.
fn find(records: &[String]) -> Result<Vec<PathBuf>, Problem> {
    let store = Store::of_process();
    let path = |record: &String| match &store {
        Some(store) => store.find_run(record),
        None => Ok(PathBuf::from(record)),
    };
    records.iter().map(path).collect()
}

fn open(path: &PathBuf) -> Result<BufReader<File>, Problem> {
    let file = File::open(path).map_err(|error| {
        let what = format!("`{}`: {}", on_one_line(&path.display().to_string()), reason(&error));
        Problem::new(what, "check the name and the permissions of the file")
    })?;
    Ok(BufReader::new(file))
}

/// When the first part began, for the name of the merged record.
fn first_start(paths: &[PathBuf]) -> Result<Nanos, Problem> {
    let mut first = Nanos::MAX;
    for (place, path) in (0..).map(Place).zip(paths) {
        let reader =
            Reader::new(open(path)?).map_err(|error| of_merge(paths, &MergeError::Read { place, error }))?;
        first = first.min(reader.head().started);
    }
    Ok(first)
}

/// Merges into a new file, which is removed again if that fails.
fn saved(paths: &[PathBuf], record: NewRecord) -> Result<(Run, Option<PathBuf>), Failed> {
    let NewRecord { file, path } = record;
    let done = merged(paths, BufWriter::new(file)).and_then(|Merged { run, sink }| {
        let synced =
            sink.into_inner().map_err(std::io::IntoInnerError::into_error).and_then(|file| file.sync_all());
        synced.map_err(|error| failed(of_merge(paths, &MergeError::Write(error))))?;
        Ok(run)
    });
    match done {
        Ok(run) => Ok((run, Some(path))),
        Err(problem) => {
            // What was written of it is no record.
            let _ = std::fs::remove_file(&path);
            Err(problem)
        }
    }
}

fn merged<W: std::io::Write>(paths: &[PathBuf], sink: W) -> Result<Merged<W>, Failed> {
    let sources = paths.iter().map(open).collect::<Result<_, _>>().map_err(refused)?;
    knee_core::record::merge::merge(sources, sink).map_err(|error| match error {
        MergeError::Write(_) => failed(of_merge(paths, &error)),
        _ => refused(of_merge(paths, &error)),
    })
}

/// The error with the names of the files instead of their places.
fn of_merge(paths: &[PathBuf], error: &MergeError) -> Problem {
    let name = |place: &Place| {
        let path = paths.get(place.0).map(|path| path.display().to_string()).unwrap_or_default();
        format!("`{}`", on_one_line(&path))
    };
    let (what, hint) = match error {
        MergeError::Read { place, error } => (
            format!("{}: {error}", name(place)),
            "give the file of a saved run; `knee report --list` lists them",
        ),
        MergeError::NotAPart { place } => (
            format!("{} is not the record of a part of a load", name(place)),
            "run each part with `--execution-segment`, as in `knee URL --execution-segment 0:1/2`",
        ),
        MergeError::Steered { place } => (
            format!("{} was steered by hand, so the parts are none of one plan", name(place)),
            "run the parts again without changing their rate",
        ),
        MergeError::Share { place, error } => {
            (format!("{}: {error}", name(place)), "give the record as knee wrote it")
        }
        MergeError::Different { one, other, what } => (
            format!("{} and {} are parts of different loads: {what} differs", name(one), name(other)),
            "run all parts with the same flags except `--execution-segment`",
        ),
        MergeError::Twice { one, other, segment } => (
            format!("{} and {} are both of the part {segment}", name(one), name(other)),
            "give one record of each part",
        ),
        MergeError::None => ("there is no record to merge".to_owned(), "give the records of all parts"),
        MergeError::Write(error) => (
            format!("cannot write the merged record: {}", reason(error)),
            "free some space, or use `--record FILE`",
        ),
    };
    Problem::new(what, hint)
}
