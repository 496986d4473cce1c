//! `knee report`: show a run that was kept, in any form, or list them.
//!
//! Does not measure and does not judge again: a record keeps the verdict it was given.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use knee_core::record::Run;
use knee_core::record::run::read;

use super::{locust, render};
use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::problem::{Problem, printable, reason};
use crate::settings::Surroundings;
use crate::settings::output::{Sink, open_result};
use crate::store::Store;

/// Does it.
///
/// # Errors
///
/// When there is no such record, or it is none.
pub fn report(args: &ReportArgs, narrate: fn(&str)) -> Result<Exit, Problem> {
    let store = Store::of_process()
        .ok_or_else(|| Problem::new("nothing says where runs are kept", "set HOME or KNEE_HOME"))?;
    if args.list {
        let list: Vec<_> = store.list()?.iter().map(|path| path.display().to_string()).collect();
        let list = if list.is_empty() { String::new() } else { list.join("\n") + "\n" };
        Sink::Stdout.write(list.as_bytes())?;
        return Ok(Exit::Ok);
    }
    let path = store.find(&args.record)?;
    let run = open(&path, narrate)?;
    let surroundings = Surroundings::read();
    let color =
        !args.no_color && !surroundings.no_color && surroundings.stdout_terminal && args.output.is_none();
    let Some(format) = args.format.of_one_text() else {
        locust::write(&path, &run, args.output.as_deref())?;
        return Ok(Exit::Ok);
    };
    let text = render(&run, format, color, args.time_unit);
    open_result(args.output.as_deref())?.write(text.as_bytes())?;
    Ok(Exit::Ok)
}

/// Reads a record; what is wrong with a part of it is told.
///
/// # Errors
///
/// When it cannot be read, or is none.
pub(super) fn open(path: &Path, narrate: fn(&str)) -> Result<Run, Problem> {
    let named = |text: String, hint| Problem::new(format!("`{}`: {text}", path.display()), hint);
    let file = File::open(path).map_err(|error| named(reason(&error), "check its permissions"))?;
    let reading = read(BufReader::new(file)).map_err(|error| {
        named(error.to_string(), "give a file that knee wrote; `knee report --list` names them")
    })?;
    for note in &reading.notes {
        narrate(&format!("note: at {}: {}", note.at, printable(&note.text)));
    }
    Ok(reading.run)
}
